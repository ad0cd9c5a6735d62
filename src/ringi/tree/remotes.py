"""The remotes of a clone, and what git's credential helpers know. Nothing of the clone is run."""

import os
import re
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from ringi.tree.personal_git import GitFailed, PersonalGit

_TIME_LIMIT: Final = 30.0
_URL: Final = re.compile(r"remote\.(.*)\.url", re.DOTALL)


class Login(NamedTuple):
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Login({self.user!r}, …)"


def usual_remote(git: PersonalGit, named: Collection[str]) -> str:
    """The one of the branch, origin, or the only one; empty if none of these is there."""
    branch = git.line("symbolic-ref", "-q", "--short", "HEAD")
    chosen = git.line("config", f"branch.{branch}.remote") if branch else ""
    only = named if len(named) == 1 else ()
    return next((one for one in (chosen, "origin", *only) if one in named), "")


class Remotes:
    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._git = PersonalGit(root, environment)

    def names(self) -> tuple[str, ...]:
        try:
            listed = self._git.look(
                "config", "-z", "--name-only", "--get-regexp", _URL.pattern, fine=(0, 1, 128)
            )
        except GitFailed:
            return ()
        found = (_URL.fullmatch(name) for name in os.fsdecode(listed).split("\0"))
        return tuple(dict.fromkeys(one[1] for one in found if one))

    def usual(self) -> str:
        return usual_remote(self._git, self.names())

    def address(self, name: str) -> str:
        """As git would use it; empty if there is no such remote."""
        if name.startswith("-") or name not in self.names():
            return ""
        return self._git.line("remote", "get-url", name)


def find_stored_login(root: Path, environment: Mapping[str, str], url: str) -> Login | None:
    """What the person's own credential helpers know about the place; nobody is asked."""
    git, parts = PersonalGit(root, environment), urlsplit(url)
    asked = f"protocol={parts.scheme}\nhost={parts.netloc}\npath={parts.path.lstrip('/')}\n\n"
    with tempfile.TemporaryDirectory(prefix="ringi-login-") as folder:
        try:
            done = subprocess.run(
                [git.program(), "credential", "fill"],
                cwd=folder,
                env={
                    **git.outside_environment(),
                    # In no repository, which could name a helper of its own.
                    "GIT_CEILING_DIRECTORIES": str(Path(folder).parent),
                    "GIT_TERMINAL_PROMPT": "0",
                    "GIT_ASKPASS": "false",
                    "SSH_ASKPASS": "false",
                },
                input=asked.encode(),
                capture_output=True,
                timeout=_TIME_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    lines = (line.partition("=") for line in os.fsdecode(done.stdout).splitlines())
    told = {name: value for name, _, value in lines}
    if done.returncode or not told.get("password"):
        return None
    return Login(told.get("username", ""), told["password"])
