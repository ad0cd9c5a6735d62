"""Planning sessions at the command line: a dialogue for people, single steps and files for scripts."""

from typing import Final

CHOOSE: Final = ""
"""In place of a session id: the person picks one from a list."""
