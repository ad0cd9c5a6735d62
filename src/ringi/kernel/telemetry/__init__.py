"""What a process tells about itself while it works: spans for a receiver, lines for a log."""
