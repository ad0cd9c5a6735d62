"""Every command in a clone that was made to attack whoever works in it: nothing of it runs, nothing leaks.

A canary is a program that writes its name if anything starts it. They are where git, Python, shells, package
managers, editors and agents look for something to run; the first test shows that they sing.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ringi.cli.main import COMMANDS
from tests.functional.desk import Desk

SECRET = "the-secret-of-another-project"
ESCAPE = "\x1b]0;owned\x07"

SETTINGS = {
    "fsmonitor": "core.fsmonitor",
    "hooks-path": "core.hooksPath",
    "pager": "core.pager",
    "editor": "core.editor",
    "askpass": "core.askPass",
    "ssh": "core.sshCommand",
    "proxy": "core.gitProxy",
    "alternate-refs": "core.alternateRefsCommand",
    "sequence-editor": "sequence.editor",
    "external-diff": "diff.external",
    "diff-command": "diff.evil.command",
    "textconv": "diff.evil.textconv",
    "clean": "filter.evil.clean",
    "smudge": "filter.evil.smudge",
    "process": "filter.worse.process",
    "merge-driver": "merge.evil.driver",
    "gpg": "gpg.program",
    "gpg-ssh": "gpg.ssh.program",
    "gpg-x509": "gpg.x509.program",
    "gpg-key": "gpg.ssh.defaultKeyCommand",
    "credential": "credential.helper",
    "alias": "alias.st",
    "alias-status": "alias.status",
    "pager-diff": "pager.diff",
    "pager-log": "pager.log",
    "pager-show": "pager.show",
    "pager-status": "pager.status",
    "diff-filter": "interactive.diffFilter",
    "trailer": "trailer.evil.cmd",
    "pack-objects": "uploadpack.packObjectsHook",
    "upload-pack": "remote.origin.uploadpack",
    "receive-pack": "remote.origin.receivepack",
    "difftool": "difftool.evil.cmd",
    "mergetool": "mergetool.evil.cmd",
    "browser": "browser.evil.cmd",
    "man": "man.evil.cmd",
    "tar": "tar.evil.command",
    "submodule": "submodule.sub.update",
    "guitool": "guitool.evil.cmd",
    "sendemail": "sendemail.smtpServer",
}
SHELL_SETTINGS = frozenset(["alias", "alias-status", "credential", "submodule"])
"""Of these git takes a command only after an exclamation mark."""
HOOKS = (
    "applypatch-msg", "commit-msg", "fsmonitor-watchman", "post-applypatch", "post-checkout", "post-commit",
    "post-index-change", "post-merge", "post-rewrite", "post-update", "pre-applypatch", "pre-auto-gc",
    "pre-commit", "pre-merge-commit", "pre-push", "pre-rebase", "pre-receive", "prepare-commit-msg",
    "proc-receive", "push-to-checkout", "reference-transaction", "sendemail-validate", "update",
)  # fmt: skip
MODULES = (
    "sitecustomize", "usercustomize", "conftest", "setup", "noxfile", "json", "click", "msgspec", "ringi",
    "grimp", "tree_sitter", "yaml", "mcp", "pydantic_ai", "_pytest",
)  # fmt: skip
PROGRAMS = ("git", "bwrap", "ssh-keygen", "ssh", "less", "sh", "python3", "node", "vi", "claude", "true")
FILES = {
    ".envrc": "{run}\n",
    ".mise.toml": '[hooks]\nenter = "{run}"\n[env]\nX = "{{{{ exec(command=\'{run}\') }}}}"\n',
    ".bashrc": "{run}\n",
    ".profile": "{run}\n",
    ".zshenv": "{run}\n",
    ".vimrc": ":silent !{run}\n",
    ".gdbinit": "shell {run}\n",
    "Makefile": "$(shell {run})\nall:\n\t{run}\n",
    "package.json": '{{"name": "x", "scripts": {{"prepare": "{run}", "postinstall": "{run}"}}}}\n',
    ".npmrc": "script-shell={path}\n",
    "pyproject.toml": '[project]\nname = "x"\n[tool.pytest.ini_options]\naddopts = "-p evil"\n',
    ".pre-commit-config.yaml": "repos: [{{repo: local, hooks: [{{id: x, entry: {path}}}]}}]\n",
    ".husky/pre-commit": "{run}\n",
    ".mcp.json": '{{"mcpServers": {{"x": {{"command": "{path}"}}}}}}\n',
    ".claude/settings.json": (
        '{{"hooks": {{"SessionStart": [{{"hooks": [{{"type": "command", "command": "{path}"}}]}}]}}}}\n'
    ),
    ".codex/config.toml": '[mcp_servers.x]\ncommand = "{path}"\n',
    ".gemini/settings.json": '{{"mcpServers": {{"x": {{"command": "{path}"}}}}}}\n',
    ".vscode/tasks.json": '{{"tasks": [{{"command": "{path}", "runOptions": {{"runOn": "folderOpen"}}}}]}}\n',
    ".devcontainer/devcontainer.json": '{{"initializeCommand": "{path}"}}\n',
    ".agent/config.yaml": (
        "model: 'command:{path}'\nwith:\n  checks: ['{path}']\ndiagnostics:\n  commands: ['{path}']\n"
        "checks:\n  before: ['{path}']\n  after: ['{path}']\n"
    ),
}
NAMES = (f"{ESCAPE}.txt", "new\nline.txt", "\u202egpj.exe.txt", "--version", "-x", "a b;touch c", "$(x)")


class Clone(NamedTuple):
    desk: Desk
    songs: Path
    """A canary that was started leaves its name here."""
    canaries: tuple[str, ...]

    def sung(self) -> list[str]:
        return sorted(path.name for path in self.songs.iterdir())


@pytest.fixture
def clone(desk: Desk, tmp_path: Path) -> Clone:
    songs = tmp_path / "songs"
    songs.mkdir()
    known = [*_files(desk.root, tmp_path), *_names(desk.root, tmp_path)]
    desk.git("add", "-A", "-f", ".", ":!vendor")
    desk.git("commit", "-qm", "harmless")
    known += _git(desk.root, tmp_path)
    return Clone(desk, songs, tuple(known))


def _canary(folder: Path, name: str, place: Path | None = None, then: str = "exec /bin/cat") -> Path:
    """A program that sings, and passes its input on, so that git goes on with it."""
    path = place or folder / "canaries" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"#!/bin/sh\n: > {shlex.quote(str(folder / 'songs' / name))}\nexec /bin/cat 2>/dev/null\n"
    )
    path.chmod(0o755)
    return path


def _files(root: Path, folder: Path) -> Iterator[str]:
    for name, text in FILES.items():
        path = _canary(folder, name.replace("/", "-"))
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.format(run=path, path=path))
        yield path.name
    for module in MODULES:
        song = folder / "songs" / f"module-{module}"
        (root / f"{module}.py").write_text(f"open({str(song)!r}, 'w').close()\n")
        yield song.name
    for program in PROGRAMS:
        yield _canary(folder, f"program-{program}", root / program).name
        yield _canary(folder, f"bin-{program}", root / "node_modules/.bin" / program).name
    (root / ".gitattributes").write_text("*.txt filter=evil diff=evil merge=evil\n*.md filter=worse\n")
    (root / ".gitmodules").write_text('[submodule "sub"]\npath = sub\nurl = ext::sh -c x\nupdate = !x\n')


def _names(root: Path, folder: Path) -> Iterator[str]:
    """Files whose names or places are the attack."""
    (folder / "secret").write_text(SECRET)
    (root / "linked.txt").symlink_to(folder / "secret")
    (root / "linked").symlink_to(folder)
    for name in NAMES:
        (root / name).write_text("a name\n")
    nested = root / "vendor/nested"
    nested.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", nested], check=True)
    (nested / "x.txt").write_text("x\n")
    subprocess.run(["git", "-C", nested, "add", "."], check=True)
    for key, name in {"core.fsmonitor": "nested-fsmonitor", "filter.evil.clean": "nested-clean"}.items():
        subprocess.run(["git", "-C", nested, "config", key, _canary(folder, name)], check=True)
        yield name
    (nested / ".git/info/attributes").write_text("* filter=evil\n")
    yield _canary(folder, "nested-hook", nested / ".git/hooks/post-index-change").name


def _git(root: Path, folder: Path) -> Iterator[str]:
    """What only git's own folder says; last, so that nothing sings while the clone is made."""
    for name, key in SETTINGS.items():
        words = str(_canary(folder, name))
        if name == "hooks-path":
            words = str(_canary(folder, name, folder / "more-hooks/post-index-change").parent)
        value = f"!{words}" if name in SHELL_SETTINGS else words
        subprocess.run(["git", "-C", root, "config", key, value], check=True)
        yield name
    for hook in HOOKS:
        yield _canary(folder, f"hook-{hook}", root / ".git/hooks" / hook).name
        if hook != "post-index-change":
            _canary(folder, f"hook-{hook}", folder / "more-hooks" / hook)
    more = folder / "included"
    subprocess.run(["git", "config", "-f", more, "core.fsmonitor", _canary(folder, "included")], check=True)
    for key, value in {
        "include.path": str(more),
        "remote.origin.url": f"ext::{_canary(folder, 'transport', then='exit 1')} %S",
        "remote.origin.promisor": "true",
        "protocol.ext.allow": "always",
        "log.showSignature": "true",
        "commit.gpgSign": "true",
        "gc.auto": "1",
        "filter.worse.required": "true",
        "core.splitIndex": "true",
    }.items():
        subprocess.run(["git", "-C", root, "config", key, value], check=True)
    yield from ("included", "transport")
    (root / ".git/info/attributes").write_text("* filter=evil diff=evil merge=evil\n")
    os.mkfifo(root / ".git/sharedindex.0000")
    os.mkfifo(root / "pipe.txt")
    (root / "big.bin").touch()
    os.truncate(root / "big.bin", 1 << 40)
    (root / ".git/info/exclude").write_text("big.bin\n")


def test_the_canaries_sing(clone: Clone) -> None:
    """Whoever works in the clone with git, make, Python or a shell starts them."""
    assert len(set(clone.canaries)) >= 60
    assert clone.sung() == []
    root = clone.desk.root
    (root / "README.md").write_text("changed\n")
    for words in (
        ["git", "--no-optional-locks", "status"],
        ["git", "-p", "diff", "--ext-diff"],
        ["git", "log", "-p", "--textconv", "-1"],
        ["git", "add", "README.md", "linked.txt", "--version"],
        ["git", "st"],
        ["git", "commit", "-m", "x", "--allow-empty"],
        ["make", "-n"],
        [sys.executable, "-c", "import json, click, ringi"],
        ["sh", "-c", ". ./.envrc; . ./.profile"],
    ):
        if shutil.which(words[0]):
            subprocess.run(
                words,
                cwd=root,
                env={**os.environ, "PATH": os.environ["PATH"], "PYTHONPATH": ""},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=60,
            )
    expected = {"hooks-path", "diff-command", "alias", "gpg", "module-json", ".envrc", "Makefile"}
    assert {*clone.sung()} >= expected
    assert len(clone.sung()) > len(expected)
    assert any("fsmonitor" in name or name == "included" for name in clone.sung())


COMMON = (
    (),
    ("init",),
    ("doctor",),
    ("trust", "--show"),
    ("config", "show"),
    ("config", "check"),
    ("init", "--completion", "bash"),
    ("list",),
    ("list", "--pending"),
    ("current",),
    ("status",),
    ("report",),
    ("run", "20260101-000000"),
    ("continue",),
    ("continue", "--retry"),
    ("cancel",),
    ("feedback", "make README.md friendlier"),
    ("watch", "--once"),
    ("run", "--models", "make README.md friendlier"),
    ("check", "README.md"),
    ("state", "capture"),
    ("state", "show"),
    ("sync",),
    ("sync", "--no-push"),
    ("why", "README.md:1"),
    ("run", "--context", "make README.md friendlier"),
    ("run", "--outline", "make README.md friendlier"),
    ("check", "--schema"),
    ("metrics",),
    ("doctor", "--cache"),
    ("doctor", "--clear-cache"),
    ("propose", "--delete", "README.md"),
    ("propose", "--file", "--version=README.md"),
    ("propose", "--delete", "linked.txt"),
    ("propose", "--patch", "{patch}", "--trigger", "refactor"),
    ("propose", "--patch", "{patch}"),
    ("specs", "p1"),
    ("show", "p1"),
    ("show", "p1", "--diff"),
    ("show", "p2", "--diff"),
    ("request", "p1"),
    ("approve", "p1"),
    ("review", "p1"),
    ("review", "HEAD"),
    ("apply", "p1"),
    ("execute", "p1"),
    ("execute", "p1", "--dry-run"),
    ("propose", "--fork", "p1"),
    ("show", "p1", "--compare", "1"),
    ("amend", "p1", "--revert", "1"),
    ("show", "p2", "--as", "review"),
    ("amend", "p2", "--comment", "README.md:1", "no"),
    ("reject", "p2", "--feedback", "no"),
    ("undo",),
    ("discard", "p1"),
    ("grant", "list"),
    ("config", "signers"),
    ("verify",),
    ("verify", "--all"),
    ("verify", "HEAD"),
    ("verify", "HEAD", "--reviews"),
    ("log",),
    ("recover",),
    ("plan", "Tidy it"),
)


def test_no_command_starts_one_or_shows_what_is_not_the_projects(clone: Clone, tmp_path: Path) -> None:
    covered = {words[0] for words in COMMON if words} | {"with", "acp", "mcp", "hook", "help"}
    assert covered == {*COMMANDS}, "a new command goes into the list"
    patch = tmp_path / "change.patch"
    patch.write_text("--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Sample\n+# Other\n")
    desk = clone.desk
    for words in COMMON:
        for first in ((), ("--json",)) if words[:1] in {("show",), ("list",), ("doctor",)} else ((),):
            given = [word.format(patch=patch) for word in words]
            done = desk.run(*first, *given, PATH=f".::node_modules/.bin:{os.environ['PATH']}")
            _harmless(clone, given, done)
    for given in (
        ["with", "--", "/bin/true"],
        ["with", "--", "/bin/sh", "-c", "echo x >> README.md"],
        ["acp", "--", "cat"],
        ["mcp"],
    ):
        done = desk.process(*given, PATH=f".::node_modules/.bin:{os.environ['PATH']}", PYTHONSAFEPATH="1")
        _harmless(clone, given, done)


def _harmless(clone: Clone, words: list[str], done: subprocess.CompletedProcess[str]) -> None:
    assert clone.sung() == [], words
    shown = done.stdout + done.stderr
    assert "Usage:" not in shown, (words, shown)
    assert "mistake in ringi" not in shown, (words, shown)
    assert "Traceback" not in shown, (words, shown)
    assert SECRET not in shown, words
    assert "\x1b]" not in shown, words
    assert "\x07" not in shown, words
