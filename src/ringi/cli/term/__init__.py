"""A full screen on any terminal: cells, keys, drawing. Standard library only, so that it starts at once."""
