"""The configuration: every key, how files and environment are merged, and what a project may not decide.

`keys` is the one table of keys with type, default, bounds and guard; `load` merges defaults, the user's file,
the project's file and the environment; `file` reads strict YAML with line numbers. What a project's own files
would run does nothing until a person has trusted it: `pins` remembers the digest of what they saw.

Start with `keys`. Packages get the sections they need and never read a file or a variable themselves.
"""

from typing import Final

HELP_LABEL: Final = "coding agent help needed"
"""Says on an issue that a person is needed. Documents have it as a default, too, and load no keys for it."""
