"""The plan tool and planning sessions for agents, over the Model Context Protocol.

`server` assembles it, `tools`, `planning_tools`, `run_tools` and `outline_tool` are its calls,
`arguments` and `answers` their documents, `worker` the threads that own a workspace, `wait` the calls
that wait for a person, `handshake` the first answer while the SDK loads.

Start with `server` and `tools`. It parses, calls and renders; no tool approves.
"""
