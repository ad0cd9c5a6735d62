"""Plans and executes a task: the only importer of both planning and, through a port, of what runs it."""
