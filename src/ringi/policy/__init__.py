"""Verdicts on facts: risk, secrets, lookalikes, permissions, tools.

`risk` computes how risky a spec or a command is and why, `leaks` finds secrets by their shape, `masking`
hides them in what is written to a log, `files` knows critical and mutable files by name, `tools` and
`permissions` say what may be used and by whom.

Start with `risk`. Nothing here asks a person, reads a file of the workspace, or listens to a model's
opinion.
"""
