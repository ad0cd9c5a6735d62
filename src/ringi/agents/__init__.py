"""One record per agent: its state, how it starts and resumes, its MCP entry, its hook, how it is recognised."""
