"""Agents: one record each, how they are started in a copy, resumed, confined and recognised.

`table` has the records, `launch` runs an agent in a copy and makes a plan of what it changed, `resume`
sends the person's feedback back to it, `sandbox` and `state` say what it can see and keep, `claude_hook`
decides which edits Claude Code may make, `setup` adds ringi to the agents' own configuration.

Start with `table` and `launch`. An agent proposes; nothing here lets one approve.
"""
