"""One record per agent: its state, start and resume, its MCP entry, its hook, how it is recognised."""
