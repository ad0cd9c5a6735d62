"""What a work copy is filled with: a repository like the person's own, and carried folders; its removal."""

import os
import re
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from ringi.errors import CopyFailed, NotFound, PathRefused
from ringi.kernel.fs import folder_unusable
from ringi.kernel.process.erase import erase, plain_run
from ringi.kernel.process.git import LINK_MODE, Git, index_entries, join_names, quote, settings
from ringi.kernel.process.repository import Repository, read_small
from ringi.kernel.text import Text
from ringi.tree.paths import normalise
from ringi.tree.private_git import OWN
from ringi.tree.tree_capture import WorktreeCapture

_REFS: Final = ("refs/heads", "refs/tags", "refs/remotes")
# Other readers of repositories insist on this line, and on what it promises: the commit behind each tag.
_PACKED: Final = b"# pack-refs with: peeled fully-peeled sorted \n"
_REF: Final = "--format=%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)"
_PERSON: Final = ("user.name", "user.email")
_GUEST: Final = {"user.name": "ringi", "user.email": "ringi@localhost"}
# Settings about the file system and line endings. None of them can name a program.
_FACTS: Final = frozenset(
    [
        "core.autocrlf",
        "core.eol",
        "core.filemode",
        "core.ignorecase",
        "core.precomposeunicode",
        "core.symlinks",
    ]
)
_PLAIN: Final = frozenset(["true", "false", "input", "lf", "crlf", "native"])
_COMMIT: Final = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH: Final = re.compile(rb"ref: (refs/heads/[^\0\n\r]{1,1000})")


class Checkout(NamedTuple):
    """The branch, history and settings that the person works with."""

    branch: bytes
    """The full name of the branch; empty when the head is detached."""
    commit: str | None
    """None before the first commit."""
    packed_refs: bytes
    settings: Mapping[str, str]
    shallow: bytes


def checkout_of(shadow: WorktreeCapture) -> Checkout:
    repository, root = shadow.repository, shadow.work_tree
    if repository is None:
        return Checkout(b"refs/heads/main", None, b"", _borrow_settings(shadow.git_dir, root), b"")
    git = Git(repository.git_dir, root)
    with (
        git.start("for-each-ref", _REF, *_REFS) as refs,
        git.start("symbolic-ref", "-q", "HEAD") as branch,
        git.start("rev-parse", "-q", "--verify", "HEAD^{commit}") as commit,
    ):
        return Checkout(
            branch.finish().out.strip(),
            commit.finish().out.decode("ascii").strip() or None,
            refs.result(),
            _borrow_settings(repository.git_dir, root),
            read_small(repository.common / "shallow"),
        )


def branch_of(root: Path) -> str:
    """The branch that is checked out; empty outside git and when the head is detached."""
    repository = Repository.at(root)
    if repository is None:
        return ""
    with Git(repository.git_dir, root).start("symbolic-ref", "-q", "--short", "HEAD") as branch:
        return branch.finish().out.decode("utf-8", "replace").strip()


def _borrow_settings(git_dir: Path, root: Path) -> dict[str, str]:
    found = settings(Git(git_dir, root, personal=True, time_limit=30), r"^(user\.(name|email)|core\.[a-z]+)$")
    # Git prints the scopes in order; the last one wins.
    person = {name: value for (_, name), value in found.items() if name in _PERSON}
    local = {name: value for (scope, name), value in found.items() if scope == "local" and name in _FACTS}
    return _GUEST | person | {name: value for name, value in local.items() if value in _PLAIN}


def make_repository(
    git_dir: Path,
    tree: Path,
    shadow: WorktreeCapture,
    index: Path,
    base: str,
    lent: Path,
    ignored: Sequence[str],
) -> str | None:
    """For the tree, to which nothing is written. Returns the commit it starts from.

    `lent` is the folder of what it borrows.
    """
    start = checkout_of(shadow)
    objects, excludes = lent_by(shadow, ignored)
    links = lend(lent, objects)
    for folder in ("objects/info", "refs/heads", "refs/tags", "info"):
        (git_dir / folder).mkdir(parents=True)
    (git_dir / "config").write_bytes(_config(start.settings, shadow.around.object_format))
    (git_dir / "objects" / "info" / "alternates").write_bytes(b"".join(map(_alternate, links)))
    (git_dir / "info" / "exclude").write_bytes(excludes)
    (git_dir / "HEAD").write_bytes(b"ref: " + start.branch + b"\n" if start.branch else _line(start.commit))
    if start.shallow:
        (git_dir / "shallow").write_bytes(start.shallow)
    git = Git(git_dir, tree)
    commit, refs = start.commit, start.packed_refs
    if shadow.repository is None:
        commit = git.run("commit-tree", base, stdin=b"state before\n").decode("ascii").strip()
        refs = commit.encode() + b" " + start.branch + b"\n"
    if refs:
        (git_dir / "packed-refs").write_bytes(_PACKED + refs)
    if commit:
        shutil.copyfile(index, git_dir / "index")
        # Nobody has touched the files since we wrote them: git need not recheck those of the last second.
        later = time.time() + 2
        os.utime(git_dir / "index", (later, later))
        git.run("read-tree", "--reset", commit)
    return commit


def lent_by(shadow: WorktreeCapture, ignored: Sequence[str]) -> tuple[tuple[Path, ...], bytes]:
    """The folders of objects that a copy borrows, and the patterns that git ignores in it."""
    excludes = shadow.around.excludes + b"".join(b"\n" + os.fsencode(name) for name in ignored)
    return (shadow.git_dir / "objects", *shadow.around.objects), excludes


def lend(folder: Path, objects: Sequence[Path]) -> tuple[Path, ...]:
    """Gives borrowed objects a path that is the same inside a sandbox, where the copy hides theirs."""
    if folder.is_dir():
        erase(folder)
    folder.mkdir()
    links = tuple(folder / str(number) for number in range(len(objects)))
    for link, lent in zip(links, objects, strict=True):
        link.symlink_to(lent)
    return links


def _alternate(folder: Path) -> bytes:
    """Unquoted if possible: other readers of repositories know no quotes."""
    line = os.fsencode(folder)
    return (quote(folder) if b"\n" in line else line) + b"\n"


def complete(tree: Path) -> None:
    """Files in the commit that the captured tree leaves out. Nobody may work in the tree yet."""
    git = Git(tree / ".git", tree)
    listing = git.run("ls-files", "-s", "-z")
    if LINK_MODE not in listing and b"\t" + OWN.encode() not in listing:
        return  # most have none, and reading a long list takes long
    entries = list(index_entries(listing))
    for entry in entries:
        if entry.is_link:  # an empty folder is a submodule that was not fetched: no change
            (tree / os.fsdecode(entry.path)).mkdir(parents=True, exist_ok=True)
    if own := [entry.path for entry in entries if entry.path.startswith(OWN.encode() + b"/")]:
        git.run("checkout-index", "-u", "-z", "--stdin", stdin=join_names(own))


def _config(chosen: Mapping[str, str], object_format: str) -> bytes:
    wide = object_format == "sha256"
    lines = {
        "core.repositoryformatversion": "1" if wide else "0",
        "core.bare": "false",
        "core.logallrefupdates": "true",
        # No background process may run in the copy after the agent has ended.
        "gc.auto": "0",
        "maintenance.auto": "false",
    } | dict(chosen)
    if wide:
        lines["extensions.objectformat"] = "sha256"
    text = ""
    for name, value in lines.items():
        section, _, key = name.partition(".")
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        text += f'[{section}]\n\t{key} = "{escaped}"\n'
    return os.fsencode(text)


def _line(commit: str | None) -> bytes:
    return f"{commit}\n".encode() if commit else b"ref: refs/heads/main\n"


def head_of(git_dir: Path) -> str | None:
    """The current commit of an untrusted repository, read from its plain files; None if in doubt."""
    if git_dir.is_symlink() or not git_dir.is_dir():
        return None
    head = read_small(git_dir / "HEAD").strip()
    if named := _BRANCH.fullmatch(head):
        name = named.group(1)
        parts = name.split(b"/")
        if b".." in parts or b"." in parts:
            return None
        head = read_small(git_dir / os.fsdecode(name)).strip()
        if not head:
            for line in read_small(git_dir / "packed-refs").splitlines():
                commit, _, ref = line.partition(b" ")
                if ref == name:
                    head = commit
    return head.decode("ascii") if _COMMIT.fullmatch(head) else None


# Carried folders.


_ENVIRONMENT: Final = ("pyvenv.cfg", "conda-meta")
_PACKAGES: Final = frozenset(
    ["node_modules", "bower_components", ".yarn", ".pnpm-store", ".pixi", ".tox", ".nox", "vendor", "Pods"]
)


def holds_dependencies(root: Path, name: str) -> bool:
    """Whether an ignored folder has an interpreter or installed packages: nobody's work, and large."""
    folder = root / name
    if not name.endswith("/") or folder.is_symlink():
        return False
    return folder.name in _PACKAGES or any(os.path.lexists(folder / mark) for mark in _ENVIRONMENT)


def is_cache(root: Path, name: str) -> bool:
    """Whether an ignored file or folder is in one that is made again by itself, as its tag says."""
    path = PurePosixPath(name)
    folders = [path, *path.parents][:-1] if name.endswith("/") else path.parents[:-1]
    return any(
        folder.name == "__pycache__" or os.path.lexists(root / folder / "CACHEDIR.TAG") for folder in folders
    )


def carriable(root: Path, name: str) -> str:
    parts = normalise(name.rstrip("/") or name)
    place = root
    for part in parts[:-1]:
        place /= part
        if place.is_symlink():
            raise PathRefused(path=name, why=Text("{part} is a symbolic link", part=part))
    if not os.path.lexists(place / parts[-1]):
        raise NotFound(what=Text("file or folder"), name=name, see="git status --ignored")
    return "/".join(parts)


def carry_over(source: Path, target: Path, name: str) -> None:
    """A real copy, cheap if the file system can share blocks; links inside stay links."""
    if os.path.lexists(target / name):
        raise PathRefused(path=name, why=Text("it is in the copy already"))
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    ways = (["-Rpc"], ["-Rp"]) if sys.platform == "darwin" else (["-a", "--reflink=auto"], ["-a"])
    problem = ""
    for way in ways:
        done = plain_run("cp", *way, "--", str(source / name), str(target / name))
        if done.returncode == 0:
            return
        problem = done.stderr.decode("utf-8", "backslashreplace").strip().partition("\n")[0]
        erase(target / name)
    raise CopyFailed(why=Text("{path} could not be carried: {problem}", path=name, problem=problem))


def private_folder(folder: Path, variable: str) -> None:
    """`variable` is the one that moves it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise folder_unusable(folder, error, variable) from None
