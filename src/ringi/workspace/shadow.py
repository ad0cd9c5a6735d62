"""The person's own tree, read without trusting the repository in it."""

import os
import shutil
from pathlib import Path

from ringi.workspace.git import Git, Repository, read_small, require_version, settings
from ringi.workspace.kept_index import IndexPlaces, signature
from ringi.workspace.private_git import (
    Captured,
    PrivateGit,
    Surroundings,
    is_nested,
    tracked_files,
    tracked_links,
)


class Shadow(PrivateGit):
    """That of the person's own tree, in or outside git."""

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
            self.folder.prepare(self.around)  # a directory to ask in
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
        """Nested repositories that the person's own index knows, be they ignored."""
        return tracked_links(self._listing()) if (self.work_tree / ".gitmodules").is_file() else set()

    def _tracked(self) -> set[bytes]:
        return tracked_files(self._listing())

    def skipped(self) -> list[bytes]:
        """Files of the person's own index that a sparse checkout left away."""
        tagged = self._listing("-t").split(b"\0")
        names = [line[2:] for line in tagged if line.startswith(b"S ")]
        top = os.fsencode(self.work_tree) + b"/"
        return [name for name in names if not os.path.lexists(top + name)]

    def _listing(self, form: str = "-s") -> bytes:
        """All that the person's own index says."""
        if self.repository is None or not (index := self.repository.git_dir / "index").is_file():
            return b""
        for shared in index.parent.glob("sharedindex.*"):  # a split index looks for its other half beside us
            shutil.copyfile(shared, self.git_dir / shared.name)
        return Git(self.git_dir, self.work_tree, index=index).run("ls-files", form, "-z")

    def _unlearn(self, git: Git, places: IndexPlaces) -> None:
        """A repository that was made where the index knows plain files would be taken for plain files."""
        top = os.fsencode(self.work_tree) + b"/"
        for name in places.folders:
            # Asked first, because it is asked of every folder.
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
    return Path(os.path.expanduser(name))  # noqa: PTH111  # that of pathlib raises where there is no home
