"""Tools of MCP servers (PP-15): started or reached when they are needed, cut off when they misbehave.

`mcp_servers` holds the servers, `mcp_connection` speaks with one of them, `mcp_child` starts it,
`mcp_offer` says which of its tools are offered, and `mcp_answers` turns its answers into results. `ports`
and `ports_process` are what callers see.

Start with `mcp_servers`. Which tools may be used is decided in `policy.tools`, who approves a call in
`plans`.
"""
