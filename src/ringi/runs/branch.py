"""The branch of a run, and the folder in which its steps are carried out and committed.

The folder is a repository of its own that borrows the objects of the person's. Their repository gets what was
committed there: objects and one ref. Their checkout, index, stash and settings stay as they are, unless the
run works in place: then the folder is their checkout, switched to the work branch.
"""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import (
    BaseBranchMissing,
    BranchMerged,
    BranchMoved,
    CopyFailed,
    DetachedHead,
    NoGit,
    StorageFailed,
    UnbornBranch,
    WorkBranchExists,
)
from ringi.kernel.fs import OsFileSystem, open_for_block, replace_file
from ringi.kernel.places import Places
from ringi.kernel.process.durable import DurableGit, durable, sync_refs
from ringi.kernel.process.environment import CACHE_VARIABLE
from ringi.kernel.process.erase import erase
from ringi.kernel.process.git import Git, keep, names_in, override, quote, require_version, settings
from ringi.kernel.process.ref_files import glance, read_ref
from ringi.kernel.process.refs import commit_at, commits_at, is_whole
from ringi.kernel.process.repository import Repository, read_small
from ringi.kernel.text import COMMIT_SHOWN, Text, why_failed
from ringi.runs.document import Run
from ringi.tree.copy_layout import carry_over, private_folder
from ringi.tree.private_git import OWN
from ringi.tree.revision import find_filtered

_MADE: Final = "made"
PUBLISHED: Final = "refs/ringi/published"
"""In our folder: what the person's repository got last."""
_MOST_NAMED: Final = 20
# Laying out files must start no program: nothing is approved yet.
_NO_FILTER: Final = b"* -filter\n"
_FILTERS: Final = r"^filter\..*\.(clean|process)$"
# Who commits and signs; a condition on the folder of a repository would not hold in ours.
_IDENTITY: Final = r"^(user|author|committer|gpg|commit)\."
_SCOPES: Final = ("system", "global", "local", "worktree")
_CONFIG: Final = b"""\
[core]
\tbare = false
\tworktree = %(tree)s
\thookspath = %(hooks)s
\tsparsecheckout = false
\tfsmonitor = false
\tuntrackedcache = false
\tsplitindex = false
[index]
\tsparse = false
[submodule]
\trecurse = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""


class BranchOf(NamedTuple):
    """What a run says about its branch."""

    run_id: str
    base_branch: str
    base_commit: str
    work_branch: str
    in_place: bool = False
    tip: str = ""
    """The newest commit of the run that the ledger knows; empty if there is none yet."""
    earlier: tuple[str, ...] = ()
    """Those before it, the oldest first."""

    @property
    def ref(self) -> str:
        return _ref(self.work_branch)

    @property
    def commits(self) -> tuple[str, ...]:
        return (*self.earlier, self.tip) if self.tip else ()

    @property
    def start(self) -> str:
        return self.tip or self.base_commit

    @classmethod
    def run(cls, run: Run) -> "BranchOf":
        *earlier, tip = [step.commit for step in run.steps if step.commit] or [""]
        return cls(
            run.run_id, run.base_branch, run.base_commit, run.work_branch, run.in_place, tip, tuple(earlier)
        )


def base_of(root: Path, base_branch: str) -> str:
    """The commit that a run begins with: the base branch's, which is checked out.

    Raises NoGit, UnbornBranch, DetachedHead, BaseBranchMissing.
    """
    git = Git(_repository(root).git_dir)
    branch = _line(git, "symbolic-ref", "-q", "HEAD").removeprefix("refs/heads/")
    head = commit_at(git, "HEAD")
    if not branch:
        raise DetachedHead(branch=base_branch)
    if not head:
        raise UnbornBranch(branch=branch)
    base = head if branch == base_branch else commit_at(git, _ref(base_branch))
    if not base:
        raise BaseBranchMissing(branch=base_branch, why=Text("there is no such branch"))
    if base != head:
        raise BaseBranchMissing(branch=base_branch, why=Text("{branch} is checked out", branch=branch))
    return head


def require_free(root: Path, work_branch: str) -> None:
    """Raises WorkBranchExists if a branch has this name, or one that leaves no room for it."""
    git = Git(_repository(root).git_dir)
    parts = work_branch.split("/")
    above = [_ref("/".join(parts[:count])) for count in range(1, len(parts) + 1)]
    # Matches each of them, and whatever is below the last.
    out = _line(git, "for-each-ref", "--format=%(refname)", *above).splitlines()
    taken = [ref for ref in out if ref in above or ref.startswith(above[-1] + "/")]
    if taken:
        raise WorkBranchExists(branch=taken[0].removeprefix("refs/heads/"))


def main_of_remotes(root: Path) -> frozenset[str]:
    """The branches that the remotes call their own."""
    git = Git(_repository(root).git_dir)
    heads = _line(git, "for-each-ref", "--format=%(refname) %(symref)", "refs/remotes/").splitlines()
    pairs = (line.split(" ", 1) for line in heads if line.count(" ") == 1)
    return frozenset(
        target.removeprefix(name.removesuffix("HEAD")) for name, target in pairs if name.endswith("/HEAD")
    )


def dirty_files(root: Path) -> tuple[str, ...]:
    """Files that differ from the newest commit, without ignored ones; not all of very many."""
    git_dir = _repository(root).git_dir
    off = dict[str, str]()
    for name in _filters(Git(git_dir, root, personal=True)):
        # Git stops at a filter that is required and empty.
        off |= {name: "", name.rpartition(".")[0] + ".required": "false"}
    git = Git(git_dir, root, personal=True, variables=override(off))
    words = ("status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames")
    out = git.run(*words, "--ignore-submodules=all")
    names = [os.fsdecode(line[3:]) for line in names_in(out)]
    return tuple(name for name in names if name.split("/", 1)[0] != OWN)[:_MOST_NAMED]


class RunBranch:
    def __init__(self, places: Places, of: BranchOf) -> None:
        self.of = of
        self.folder = places.copies.with_name(f"{places.copies.name}.runs") / of.run_id
        self.root = places.root if of.in_place else self.folder / "tree"
        """Where its steps are carried out."""
        self._places = places
        self.person = places.root
        """Where their repository is."""
        self._ref = _ref(of.work_branch)

    @property
    def _head(self) -> bytes:
        """The file HEAD of the folder."""
        return b"ref: " + os.fsencode(self._ref) + b"\n"

    @property
    def places(self) -> Places:
        """As if the folder were a workspace; the ledger is the person's."""
        if self.of.in_place:
            return self._places
        return self._places._replace(root=self.root, state=self.folder / "state")

    @property
    def is_made(self) -> bool:
        if self.of.in_place:
            return _line(_reader(self.person), "symbolic-ref", "-q", "HEAD") == self._ref
        return (self.folder / _MADE).is_file() and (self.root / ".git" / "HEAD").is_file()

    def make(self) -> None:
        """Safe to call again, also after it was killed.

        Raises NoGit, WorkBranchExists or BranchMoved; in place also the errors of `base_of`.
        """
        require_version()
        if self.of.in_place:
            self._switch()
        elif not self.is_made:
            self._require_start()
            try:
                erase(self.folder)
                self._lay_out()
            except OSError as error:
                raise StorageFailed(what=str(self.folder), why=why_failed(error)) from None

    def tip(self) -> str:
        """The newest commit of the work branch, published or not."""
        return commit_at(self._git(), self._ref)

    def find_published(self) -> str:
        """The newest commit, if the files of both repositories say that it is published; starts no git."""
        theirs = Repository.at(self.person)
        own = None if self.of.in_place or not self.is_made else Repository.at(self.root)
        if not own or not theirs or glance(theirs, self._ref):
            return ""
        named = {read_ref(own, self._ref), read_ref(own, PUBLISHED), read_ref(theirs, self._ref)}
        return named.pop().value if len(named) == 1 else ""

    def publish(self) -> str:
        """Brings new commits into the person's repository. Never forced; a second call has nothing to do.

        Returns the newest commit. Raises BranchMoved, or WorkBranchExists before anything was published.
        """
        if done := self.find_published():
            return done
        if not self.is_made and self.of.tip and commit_at(_reader(self.person), self._ref) == self.of.tip:
            return self.of.tip  # all of it was, and the folder is removed
        new, last = commits_at(self._git(), self._ref, PUBLISHED)
        if self.of.in_place or new == self.of.base_commit:
            return new
        now = commit_at(_reader(self.person), self._ref)
        if now != new:
            self._require_ours(now, new, last)
            self._bring(now, new)
        if last != new:
            _writer(self.root).write("update-ref", PUBLISHED, new, refs=(PUBLISHED,))
        return new

    def reset(self, files: Mapping[str, tuple[bytes, int] | None] = {}) -> None:
        """The folder as its newest commit says, with these files (bytes, permission bits) on top.

        Never in place, where the files are the person's.
        """
        if self.of.in_place or not self.is_made:
            return
        git, since = Git(self.root / ".git", self.root, more=durable()), time.time_ns()
        if read_small(self.root / ".git" / "HEAD") != self._head:
            git.run("symbolic-ref", "HEAD", self._ref)
        with _no_filters(self.root, self.person):
            git.run("read-tree", "--reset", "-u", "HEAD")
        sync_refs(_repository(self.root), ("HEAD",), since)
        git.run("clean", "-ffdxq", "-e", f"/{OWN}")
        self._take_filtered()
        for name, new in files.items():
            path = self.root / name
            path.unlink(missing_ok=True)
            if new is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(new[0])
                path.chmod(new[1])

    def remove(self) -> None:
        """The folder only; what was published stays."""
        if os.path.lexists(self.folder):
            erase(self.folder)

    # ------------------------------------------------------------------ making it

    def _require_start(self) -> None:
        theirs, of = _reader(self.person), self.of
        if not of.tip:
            require_free(self.person, of.work_branch)
        elif (now := commit_at(theirs, self._ref)) and now != of.tip:
            raise self._branch_moved(Text("it has commits that the run did not make"))
        whole = is_whole(theirs, of.tip, of.base_commit) if of.tip else bool(commit_at(theirs, of.start))
        if not whole:
            raise self._branch_moved(Text("commit {id} is gone", id=of.start[:COMMIT_SHOWN]))

    def _lay_out(self) -> None:
        private_folder(self.folder.parent, CACHE_VARIABLE)
        git_dir = self.root / ".git"
        for folder in ("objects/info", "refs/heads", "info"):
            (git_dir / folder).mkdir(parents=True)
        self.folder.chmod(0o700)
        repository = _repository(self.person)
        lent = b"".join(quote(folder) + b"\n" for folder in repository.objects())
        (git_dir / "objects" / "info" / "alternates").write_bytes(lent)
        (git_dir / "HEAD").write_bytes(self._head)
        (git_dir / "config").write_bytes(_config(self.root, self.person, repository))
        excludes = read_small(repository.common / "info" / "exclude")
        (git_dir / "info" / "exclude").write_bytes(excludes + b"\n/" + OWN.encode() + b"/\n")
        if shallow := read_small(repository.common / "shallow"):
            (git_dir / "shallow").write_bytes(shallow)
        git = self._git(personal=True)
        own = _writer(self.root)
        own.write("update-ref", self._ref, self.of.start, refs=(self._ref,))
        if self.of.tip:
            own.write("update-ref", PUBLISHED, self.of.tip, refs=(PUBLISHED,))
        with _no_filters(self.root, self.person):
            git.read_tree_counted(Text("Copying files"), "--reset", "-u", "HEAD")
        self._take_filtered()
        # A mark that outlasts a loss of power must not stand for files that do not.
        fs = OsFileSystem()
        with open_for_block(fs, fs.open_root(self.folder)) as top:
            fs.sync_everything(top)
        replace_file(self.folder / _MADE, b"")

    def _take_filtered(self) -> None:
        """Files that a filter makes are as in the person's checkout."""
        for name in find_filtered(self.root):
            theirs = self.person / name
            if theirs.is_file() and not theirs.is_symlink():
                (self.root / name).unlink(missing_ok=True)
                carry_over(self.person, self.root, name)

    def _switch(self) -> None:
        """The person's checkout to the work branch: the same commit, so no file changes."""
        theirs, of = _reader(self.person), self.of
        if self.is_made:
            return
        now = commit_at(theirs, self._ref)
        if of.tip or now not in {"", of.base_commit}:
            raise (
                self._branch_moved(Text("it is not checked out"))
                if of.tip
                else WorkBranchExists(branch=of.work_branch)
            )
        if base_of(self.person, of.base_branch) != of.base_commit:
            raise self._branch_moved(Text("{branch} has new commits", branch=of.base_branch))
        if not now:
            require_free(self.person, of.work_branch)
            _writer(self.person).write("update-ref", self._ref, of.base_commit, "", refs=(self._ref,))
        said = f"checkout: moving from {of.base_branch} to {of.work_branch}"
        _writer(self.person).write("symbolic-ref", "-m", said, "HEAD", self._ref, refs=("HEAD",))

    # ------------------------------------------------------------------ publishing it

    def _require_ours(self, now: str, new: str, last: str) -> None:
        """`last` is what was published last."""
        if not now and last:
            raise self._branch_moved(Text("it was deleted"))
        if now and now != last:
            # A crash may have kept us from noting what was published.
            made = _line(self._git(), "rev-list", new, f"^{self.of.base_commit}").split()
            if now not in made:
                if not last:
                    raise WorkBranchExists(branch=self.of.work_branch)
                raise self._branch_moved(Text("it has commits that the run did not make"))
        if place := checkout_folder(_reader(self.person), self._ref):
            raise self._branch_moved(Text("it is checked out in {folder}", folder=place))

    def _bring(self, now: str, new: str) -> None:
        bring_objects(self._git(), self.person, self.of, new, now)
        said = f"ringi: run {self.of.run_id}"
        try:
            _writer(self.person).write("update-ref", "-m", said, self._ref, new, now, refs=(self._ref,))
        except CopyFailed as error:
            if commit_at(_reader(self.person), self._ref) != now:
                raise self._branch_moved(Text("somebody changed it at the same moment")) from None
            raise CopyFailed(why=error.details["why"]) from None

    def _branch_moved(self, why: Text) -> BranchMoved:
        return BranchMoved(branch=self.of.work_branch, why=why, run=self.of.run_id)

    def _git(self, *, personal: bool = False) -> Git:
        git_dir = _repository(self.person).git_dir if self.of.in_place else self.root / ".git"
        return Git(git_dir, self.root, personal=personal)


def _config(tree: Path, person: Path, repository: Repository) -> bytes:
    """The person's own settings, with their identity and hooks as they are in their repository."""
    git = Git(repository.git_dir, person, personal=True)
    found = settings(git, rf"{_IDENTITY}|^core\.hookspath$|^extensions\.objectformat$")
    wide = found.get(("local", "extensions.objectformat")) == "sha256"
    effective = {name: found[scope, name] for wanted in _SCOPES for scope, name in found if scope == wanted}
    effective.pop("extensions.objectformat", None)
    hooks = effective.pop("core.hookspath", "")
    parts = [b"[core]\n\trepositoryformatversion = %d\n" % (1 if wide else 0)]
    if wide:
        parts.append(b"[extensions]\n\tobjectformat = sha256\n")
    files = (repository.common / "config", repository.git_dir / "config.worktree")
    parts += (b"[include]\n\tpath = " + quote(file) + b"\n" for file in files)
    parts += (_setting(name, value) for name, value in effective.items())
    own = Path(hooks).expanduser() if hooks else repository.common / "hooks"
    values = {b"tree": quote(tree), b"hooks": quote(person / own)}
    return b"".join([*parts, _CONFIG % values])


@contextlib.contextmanager
def _no_filters(tree: Path, person: Path) -> Iterator[None]:
    """No filter runs inside; afterwards they do, as in the person's repository."""
    own = read_small(_repository(person).common / "info" / "attributes")
    file = tree / ".git" / "info" / "attributes"
    keep(file, own + b"\n" + _NO_FILTER)
    yield
    keep(file, own)


def delete_branch(root: Path, of: BranchOf) -> None:
    """Takes the work branch out of the person's repository, unless other work is built on it.

    Raises BranchMoved, or BranchMerged if another branch has its commits.
    """
    git, ref = _reader(root), _ref(of.work_branch)
    now = commit_at(git, ref)
    if not now:
        return
    if now != of.tip:
        why = Text("it has commits that the run did not make")
        raise BranchMoved(branch=of.work_branch, why=why, run=of.run_id)
    first = _line(git, "rev-list", "--reverse", now, f"^{of.base_commit}").split()[:1] or [now]
    form = ("for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes", "refs/tags")
    others = [one for one in _line(git, *form, f"--contains={first[0]}").splitlines() if one != ref]
    if others and first[0] != of.base_commit:
        raise BranchMerged(
            branch=of.work_branch, other=_short_name(others[0]), base=of.base_commit[:COMMIT_SHOWN]
        )
    if place := checkout_folder(git, ref):
        why = Text("it is checked out in {folder}", folder=place)
        raise BranchMoved(branch=of.work_branch, why=why, run=of.run_id)
    _writer(root).write("update-ref", "-d", ref, now, refs=(ref,))


def _short_name(ref: str) -> str:
    return ref.split("/", 2)[2]


def checkout_folder(git: Git, ref: str) -> str:
    """The folder in which the branch is checked out; empty if it is in none."""
    for part in os.fsdecode(git.run("worktree", "list", "--porcelain")).split("\n\n"):
        lines = part.splitlines()
        if f"branch {ref}" in lines:
            return lines[0].removeprefix("worktree ")
    return ""


def _repository(root: Path) -> Repository:
    found = Repository.at(root)
    if found is None:
        raise NoGit(folder=str(root))
    return found


def bring_objects(own: Git, person: Path, of: BranchOf, new: str, now: str = "") -> None:
    """From the run's folder into the person's repository: what leads to `new`, without what `now` has."""
    wanted = "".join(f"{line}\n" for line in (new, f"^{of.base_commit}", f"^{now}" if now else ""))
    pack = own.run("pack-objects", "--revs", "--stdout", "-q", stdin=wanted.encode())
    _writer(person).write("index-pack", "--stdin", stdin=pack)


def _writer(root: Path) -> DurableGit:
    return DurableGit(_repository(root))


def _reader(root: Path) -> Git:
    """Git in the person's repository."""
    return Git(_repository(root).git_dir)


def _ref(branch: str) -> str:
    return f"refs/heads/{branch}"


def _line(git: Git, *words: str) -> str:
    """Empty if git has no answer."""
    return os.fsdecode(git.attempt(*words).out).strip()


def _filters(git: Git) -> list[str]:
    """The settings that name a program git would start to compare a file."""
    return sorted({name for _, name in settings(git, _FILTERS)})


def _setting(name: str, value: str) -> bytes:
    """A line of a configuration file, from a name such as user.email or gpg.ssh.program."""
    section, _, rest = name.partition(".")
    middle, _, key = rest.rpartition(".")
    head = f'[{section} "{middle}"]' if middle else f"[{section}]"
    return os.fsencode(head) + b"\n\t" + os.fsencode(key) + b" = " + quote(value) + b"\n"
