"""A clone in which everything is a trap: what would run a program, hang a reader or lead to a secret.

Each trap has a `spring`: a shell command that sets it off, so that a trap that cannot shut is found out.
"""

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tests.functional.desk import RINGI

SECRET: Final = "canary-3f9c1e7a-do-not-show"  # that is the point


class Trap(NamedTuple):
    name: str
    plant: Callable[["Clone", str], None]
    """Told the command that reports it."""
    spring: str


class Clone:
    """A repository with files, and a folder that shows which traps have shut."""

    def __init__(self, root: Path, aside: Path) -> None:
        self.root = root
        self._fired = aside / "fired"
        self._programs = aside / "programs"
        self.home = aside / "elsewhere"
        for folder in (self._fired, self._programs, self.home):
            folder.mkdir(parents=True)
        (self.home / "secret.txt").write_text(SECRET + "\n")

    @property
    def fired(self) -> set[str]:
        return {path.name for path in self._fired.iterdir()}

    def plant(self, trap: Trap) -> None:
        program = self._programs / trap.name
        # A filter gives back what it got, so that git goes on.
        then = "cat\n" if trap.name in {"filter.clean", "filter.smudge"} else ""
        program.write_text(f"#!/bin/sh\n: > {shlex.quote(str(self._fired / trap.name))}\n{then}")
        program.chmod(0o755)
        trap.plant(self, str(program))

    def spring(self, trap: Trap) -> None:
        subprocess.run(
            ["sh", "-c", f'ringi() {{ {shlex.join(RINGI)} "$@"; }}\n{trap.spring}'],
            cwd=self.root,
            env={**os.environ, "REPORT": str(self._programs)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True)

    def config(self, name: str, value: str) -> None:
        self.git("config", name, value)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as stream:
            stream.write(text)
        file.chmod(mode)


def _configured(name: str, spring: str, *, key: str = "", value: str = "{}", attributes: str = "") -> Trap:
    def plant(clone: Clone, program: str) -> None:
        clone.config(key or name, value.format(program))
        if attributes:
            clone.write(".git/info/attributes", attributes + "\n")

    return Trap(name.replace("/", "-"), plant, spring)


def _hook(name: str, spring: str) -> Trap:
    def plant(clone: Clone, program: str) -> None:
        clone.write(f".git/hooks/{name}", f"#!/bin/sh\nexec {program}\n", 0o755)

    return Trap(f"hook-{name}", plant, spring)


def _program(path: str) -> Trap:
    """A program that a tool may look for in a project."""

    def plant(clone: Clone, program: str) -> None:
        clone.write(path, f"#!/bin/sh\nexec {program}\n", 0o755)

    return Trap("program-" + path.replace("/", "-"), plant, f"./{path}")


def _module(name: str) -> Trap:
    """A module that Python finds first if the project's folder is on its path."""

    def plant(clone: Clone, program: str) -> None:
        clone.write(f"{name}.py", f"import subprocess\nsubprocess.run([{program!r}], stdin=-3)\n")

    # Some systems have a sitecustomize of their own, which is loaded at the start.
    return Trap(
        f"module-{name}", plant, f"python3 -c 'import sys; sys.modules.pop(\"{name}\", None); import {name}'"
    )


def _setting(section: str, text: str, spring: str) -> Trap:
    """A setting of the project that nobody has trusted; in the person's own configuration it counts."""

    def plant(clone: Clone, program: str) -> None:
        clone.write(".agent/config.yaml", text.format(program) + "\n")

    own = 'mkdir "$XDG_CONFIG_HOME/ringi"; mv .agent/config.yaml "$XDG_CONFIG_HOME/ringi"; '
    return Trap(f"setting-{section}", plant, own + spring)


def _pipe(path: str) -> Trap:
    """A reader waits forever for somebody to write."""

    def plant(clone: Clone, program: str) -> None:
        clone.write(path, "")
        (clone.root / path).unlink()
        os.mkfifo(clone.root / path)

    return Trap(
        "pipe-" + path.replace("/", "-"), plant, f"test -p {path} && $REPORT/pipe-{path.replace('/', '-')}"
    )


def _link(path: str, target: str) -> Trap:
    """Leads to a secret."""

    def plant(clone: Clone, program: str) -> None:
        clone.write(path, "")
        (clone.root / path).unlink()
        (clone.root / path).symlink_to(clone.home / target)

    name = "link-" + path.replace("/", "-")
    return Trap(name, plant, f"grep -rq {SECRET} {path}/ {path} && $REPORT/{name}")


def _included(clone: Clone, program: str) -> None:
    clone.write(".git/more", f"[core]\n\tfsmonitor = {program}\n")
    clone.config("include.path", "more")


def _worktree_config(clone: Clone, program: str) -> None:
    clone.config("extensions.worktreeConfig", "true")
    clone.write(".git/config.worktree", f"[core]\n\tfsmonitor = {program}\n")


_CHANGE: Final = "echo more >> app/hello.py; "
_COMMIT: Final = _CHANGE + "git add -A; git commit -qm more"
_OTHER: Final = "git checkout -qb other; git commit --allow-empty -qm x; git checkout -q -; "
_BOTH: Final = (
    "git checkout -qb other; echo a >> app/hello.py; git commit -qam a; git checkout -q -; "
    "echo b >> app/hello.py; git commit -qam b; git merge other"
)
_ASKED: Final = "echo url=https://127.0.0.1:1/x | git credential fill"
_SIGNED: Final = "commit -S --allow-empty -m x"

_CONFIGURED: Final = (
    _configured("core.fsmonitor", "git status"),
    _configured("core.pager", "script -qc 'git log' /dev/null"),
    _configured("pager.diff", _CHANGE + "script -qc 'git diff' /dev/null"),
    _configured("core.editor", _CHANGE + "git add -A; git commit"),
    _configured("sequence.editor", _COMMIT + "; git rebase -i HEAD~1"),
    _configured("core.askPass", _ASKED),
    _configured("credential.helper", _ASKED, value="!{}"),
    _configured("core.sshCommand", "git ls-remote ssh://127.0.0.1:1/x"),
    _configured("core.gitProxy", "git ls-remote git://127.0.0.1:1/x"),
    _configured("diff.external", _CHANGE + "git diff"),
    _configured("diff.command", _CHANGE + "git diff", key="diff.a.command", attributes="*.py diff=a"),
    _configured("diff.textconv", _CHANGE + "git diff", key="diff.b.textconv", attributes="*.py diff=b"),
    _configured("filter.clean", _CHANGE + "git add -A", key="filter.c.clean", attributes="*.py filter=c"),
    _configured("filter.smudge", "rm app/*; git checkout .", key="filter.d.smudge", attributes="* filter=d"),
    _configured("filter.process", _CHANGE + "git add .", key="filter.e.process", attributes="* filter=e"),
    _configured("merge.driver", _BOTH, key="merge.f.driver", attributes="*.py merge=f"),
    _configured("alias.st", "git st", value="!{}"),
    _configured("gpg.program", f"git -c user.signingKey=x {_SIGNED}"),
    _configured("gpg.ssh.program", f"git -c gpg.format=ssh -c user.signingKey=x {_SIGNED}"),
    _configured("gpg.ssh.defaultKeyCommand", f"git -c gpg.format=ssh {_SIGNED}"),
    _configured("difftool.cmd", _CHANGE + "git difftool -y -t g", key="difftool.g.cmd"),
    _configured(
        "remote.url",
        "git -c protocol.ext.allow=always ls-remote origin",
        key="remote.origin.url",
        value="ext::{}",
    ),
    _configured("tar.command", "git archive --format=h HEAD", key="tar.h.command"),
    Trap("include.path", _included, "git status"),
    Trap("config.worktree", _worktree_config, "git status"),
)
_HOOKS: Final = (
    *(_hook(name, _COMMIT) for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")),
    _hook("reference-transaction", _COMMIT),
    _hook("post-index-change", "git read-tree HEAD"),
    _hook("post-checkout", "git checkout -qb other"),
    _hook("applypatch-msg", "git format-patch -1 --root --stdout | git am"),
    _hook("post-rewrite", "git commit --amend -qm x"),
    _hook("pre-rebase", _COMMIT + "; git rebase -f HEAD~1"),
    _hook("post-merge", _OTHER + "git merge other"),
    _hook("pre-merge-commit", _OTHER + "git merge --no-ff -m y other"),
    _hook("fsmonitor-watchman", "git -c core.fsmonitor=.git/hooks/fsmonitor-watchman status"),
)
_NAMES: Final = ("git", "sh", "bwrap", "ssh-keygen", "ssh-add", "python3", "node", "ruff", "eslint", "less")
_PATHS: Final = (".venv/bin/python", ".venv/bin/ruff", "venv/bin/mypy", "node_modules/.bin/eslint")
_MODULES: Final = ("json", "msgspec", "click", "supervisor", "yaml", "pygments", "sitecustomize")
_SETTINGS: Final = (
    _setting("diagnostics", "diagnostics:\n  commands: [{}]", "ringi state capture"),
    _setting(
        "with", "with:\n  checks: [{}]", "export RINGI_WITH_SANDBOX=off; ringi with -- sh -c 'echo x >> new'"
    ),
    _setting("model", "model: command:{}", "ringi plan 'Add a page' </dev/null"),
)
_PIPES: Final = (".worktreeinclude", "deep/pyproject.toml", "deep/package.json", "deep/AGENTS.md", "pipe.py")
_LINKS: Final = (_link("letter.txt", "secret.txt"), _link("deep/README.md", "secret.txt"), _link("docs", "."))

TRAPS: Final = (
    *_CONFIGURED,
    *_HOOKS,
    *map(_program, (*_NAMES, "notify-send", *_PATHS)),
    *map(_module, _MODULES),
    *_SETTINGS,
    *map(_pipe, _PIPES),
    *_LINKS,
)
