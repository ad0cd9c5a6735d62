"""Planning sessions at the command line: a dialogue for people, single steps and files for scripts."""

from typing import Final

CHOOSE: Final = ""
"""As the id of a session: the person picks one from the list."""
