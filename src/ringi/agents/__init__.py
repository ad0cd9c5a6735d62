"""One record per agent: its state, how to resume it, its MCP entry, its hook, how to recognise it."""
