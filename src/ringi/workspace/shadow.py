"""Trees read without trusting the repository in them: the person's own, and what an agent made of a copy."""

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import CopyFailed
from ringi.text import Text
from ringi.workspace.git import TIME_LIMIT, Git, Repository, read_small, require_version, settings
from ringi.workspace.kept_index import IndexPlaces, signature
from ringi.workspace.private_git import (
    Captured,
    PrivateGit,
    Surroundings,
    is_nested,
    tracked_files,
    tracked_links,
)

ABSENT: Final = "000000"
_SECOND: Final = 1_000_000_000


class Shadow(PrivateGit):
    """Reads the person's own tree, in or outside git."""

    def __init__(self, git_dir: Path, work_tree: Path) -> None:
        super().__init__(git_dir, work_tree)
        self.repository = Repository.at(work_tree)
        self.around = Surroundings()

    def capture(self) -> Captured:
        self.folder.make_folders()
        return super().capture()

    def _refresh(self) -> None:
        if not (self.git_dir / "HEAD").exists():
            require_version()
            self.folder.prepare(self.around)  # git needs a directory to run in
        self.repository = Repository.at(self.work_tree)
        self.around = self._look_around()
        self.folder.prepare(self.around)

    def _look_around(self) -> Surroundings:
        repository = self.repository
        git_dir = repository.git_dir if repository else self.git_dir
        asked = Git(git_dir, self.work_tree, personal=True, time_limit=30)
        found = settings(
            asked, r"^(core\.(excludesfile|ignorecase|precomposeunicode)|extensions\.objectformat)$"
        )
        facts = Surroundings(personal_excludes=_personal_excludes(found, self.work_tree))
        if repository is None:
            return facts
        own = {name: value for (scope, name), value in found.items() if scope == "local"}
        return facts._replace(
            alternates=repository.alternates(),
            excludes=read_small(repository.common / "info" / "exclude"),
            object_format="sha256" if own.get("extensions.objectformat") == "sha256" else "sha1",
            ignorecase=own.get("core.ignorecase") == "true",
            precompose=own.get("core.precomposeunicode") == "true",
        )

    def submodules(self) -> set[bytes]:
        """Nested repositories in the person's own index, even if ignored."""
        return tracked_links(self._listing()) if (self.work_tree / ".gitmodules").is_file() else set()

    def _tracked(self) -> set[bytes]:
        return tracked_files(self._listing())

    def skipped(self) -> list[bytes]:
        """Files of the person's own index that a sparse checkout left out."""
        tagged = self._listing("-t").split(b"\0")
        names = [line[2:] for line in tagged if line.startswith(b"S ")]
        top = os.fsencode(self.work_tree) + b"/"
        return [name for name in names if not os.path.lexists(top + name)]

    def _listing(self, form: str = "-s") -> bytes:
        """All entries of the person's own index."""
        if self.repository is None or not (index := self.repository.git_dir / "index").is_file():
            return b""
        for shared in index.parent.glob("sharedindex.*"):  # a split index needs its other half beside it
            shutil.copyfile(shared, self.git_dir / shared.name)
        return Git(self.git_dir, self.work_tree, index=index).run("ls-files", form, "-z")

    def _unlearn(self, git: Git, places: IndexPlaces) -> None:
        """If plain files of a folder are in the index, git would not notice a repository made there since."""
        top = os.fsencode(self.work_tree) + b"/"
        for name in places.folders:
            # The cheap test first: this runs for every folder.
            there = os.access(top + name + b"/.git", os.F_OK)
            if there and is_nested(self.work_tree / os.fsdecode(name)):
                known = git.run("ls-files", "-z", "--", f":(literal){os.fsdecode(name)}")
                git.run("update-index", "--force-remove", "-z", "--stdin", stdin=known)

    def _tracked_mark(self) -> bytes:
        return signature(self.repository.git_dir / "index" if self.repository else None)


def _personal_excludes(found: dict[tuple[str, str], str], folder: Path) -> bytes:
    name = found.get(("global", "core.excludesfile")) or found.get(("system", "core.excludesfile"))
    if name:
        return read_small(folder / _expanded(name))
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return read_small(_expanded(home) / "git" / "ignore")


def _expanded(name: str) -> Path:
    return Path(os.path.expanduser(name))  # noqa: PTH111  # that of pathlib raises if there is no home


def doubt(entry: "os.DirEntry[str]", laid_at: int) -> None:
    """Makes git read a file that was written so early that its times alone do not show the change."""
    found = entry.stat(follow_symlinks=False)
    later = (laid_at // _SECOND + 2) * _SECOND
    # Only times that a file written by us can have: leave those of an unpacked archive alone.
    like_laid = laid_at - int(TIME_LIMIT) * _SECOND <= found.st_mtime_ns < later
    if like_laid and found.st_ctime_ns >= laid_at:
        with suppress(OSError):
            os.utime(entry.path, ns=(later, later), follow_symlinks=False)


class Raw(NamedTuple):
    path: bytes
    before: str
    after: str
    old_blob: str
    blob: str


class CopyShadow(PrivateGit):
    """Reads a work copy, without using the repository in it, which the agent may have changed at will."""

    def __init__(self, git_dir: Path, work_tree: Path, base: str, around: Surroundings) -> None:
        super().__init__(git_dir, work_tree)
        self._base = base
        self._around = around

    def trust_files(self, now: Path) -> int:
        """Makes git trust the files just written, although they are as old as its index.

        Returns the time that a file made `now` has; git must be told about files written from then on, see
        `doubt`.
        """
        now.touch()
        laid_at = now.stat().st_ctime_ns
        following = laid_at // _SECOND + 1
        os.utime(self.git_dir / "index", (following, following))
        return laid_at

    def guard_again(self) -> None:
        self.folder.guard(self._around)  # the agent could write to it

    def _refresh(self) -> None:
        self.guard_again()

    def _tracked(self) -> set[bytes]:
        """The original files, and what the agent has added to git."""
        found = self._files_of_base()
        index = self.work_tree / ".git" / "index"
        if index.is_file():
            git = Git(self.git_dir, self.work_tree, index=index, time_limit=60)
            listing = git.attempt("ls-files", "-s", "-z")
            if listing.code == 0:
                found |= tracked_files(listing.out)
        return found

    def _tracked_mark(self) -> bytes:
        return secrets.token_bytes(8)  # taken once or twice: not worth remembering

    def began_with(self, paths: Sequence[bytes]) -> bool:
        """Whether one of these, or something below it, was there originally."""
        folders = tuple(path + b"/" for path in paths)
        return any(name in paths or name.startswith(folders) for name in self._files_of_base())

    def _files_of_base(self) -> set[bytes]:
        return set(self.git.run("ls-tree", "-r", "-z", "--name-only", self._base).split(b"\0")) - {b""}

    def changes(self, tree: str) -> Iterator[Raw]:
        out = self.git.run("diff-tree", "-r", "-z", "--no-renames", "--raw", "--no-abbrev", self._base, tree)
        fields = out.split(b"\0")
        for facts, path in zip(fields[::2], fields[1::2], strict=False):
            before, after, old_blob, blob, _ = facts.decode("ascii").lstrip(":").split(" ")
            yield Raw(path, before, after, old_blob, blob)

    def blobs(self, ids: list[str]) -> dict[str, bytes]:
        wanted = "".join(f"{blob}\n" for blob in dict.fromkeys(ids))
        out = self.git.run("cat-file", "--batch", stdin=wanted.encode()) if wanted else b""
        found, at = {}, 0
        while at < len(out):
            end = out.index(b"\n", at)
            blob, _, *rest = out[at:end].decode("ascii").split(" ")
            if not rest:  # pruned from the repository we borrowed it from
                raise CopyFailed(why=Text("the object {blob} is missing", blob=blob))
            size = rest[0]
            at = end + 1 + int(size) + 1
            found[blob] = out[end + 1 : at - 1]
        return found
