"""Commands as processes: started, supervised, sandboxed, and ended with all their children."""
