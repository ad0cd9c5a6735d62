"""Agents: one record each, how they are started, confined, read and recognised.

`table` has the records, `command_line` and `record` say how each is called, `output` reads what it prints,
`sandbox` and `state` say what it can see and keep, `agent_above` tells whether one started us, `claude_hook`
decides which edits Claude Code may make, `editors` and `entries` add ringi to their own configuration.

Start with `table`. Nothing here knows of plans: what happens to an agent's changes is in `beside`.
"""
