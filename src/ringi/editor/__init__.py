"""The Agent Client Protocol: an editor on one side, an agent in a copy of the project on the other."""
