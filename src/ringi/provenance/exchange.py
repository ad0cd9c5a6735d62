"""Notes and branches to and from a remote, with the person's own git, network and credentials.

Git works in an empty directory of our own that borrows the objects of the clone. So a clone can say where its
remote is, but name no program: no hook, no transport, no credential helper. Those come from the person's own
configuration. The one change in the clone is its notes, and only from the commit that was merged.
"""

import base64
import os
import re
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from ringi.approvals.statement import NOTES, Synced
from ringi.errors import (
    BranchOvertaken,
    CopyFailed,
    NoRemote,
    NotesFailed,
    PushFailed,
    PushRefused,
    SyncFailed,
)
from ringi.kernel.process.durable import SWITCH, durable, sync_refs
from ringi.kernel.process.git import Git, quote
from ringi.kernel.process.repository import Repository
from ringi.kernel.text import Text
from ringi.provenance.history import clone_around, lay_out, list_notes
from ringi.provenance.notes import NOBODY, TRIES, is_lost_race, notes_tip, pause
from ringi.tree.personal_git import GitFailed, PersonalGit
from ringi.tree.remotes import usual_remote

_THEIRS: Final = "refs/ringi/theirs"
_TIME_LIMIT: Final = 3600.0
# Those that say which repository git works in.
_LOCAL: Final = frozenset(
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES", "COMMON_DIR", "CONFIG", "CONFIG_PARAMETERS", "DIR", "GRAFT_FILE",
        "IMPLICIT_WORK_TREE", "INDEX_FILE", "INTERNAL_SUPER_PREFIX", "NAMESPACE", "NO_REPLACE_OBJECTS",
        "OBJECT_DIRECTORY", "PREFIX", "QUARANTINE_PATH", "REPLACE_REF_BASE", "SHALLOW_FILE", "WORK_TREE",
    )
)  # fmt: skip
_SETTINGS: Final = (
    r"^(credential|http|url|ssh|protocol|user|author|committer|remote)\."
    r"|^core\.(sshcommand|askpass|gitproxy)$"
)
_PERSONAL: Final = frozenset(["system", "global"])
# What the clone itself may say: data, and nothing that weakens the way to the server.
_HARMLESS: Final = re.compile(
    r"http\.(?:.*\.)?extraheader|url\..*\.(?:push)?insteadof|(?:user|author|committer)\.(?:name|email)"
    r"|credential\.(?:.*\.)?(?:username|usehttppath)|remote\..*\.(?:push)?url",
    re.DOTALL,
)
_PROGRAMS: Final = re.compile(
    r"core\.(?:sshcommand|askpass|gitproxy)|credential\.(?:.*\.)?helper|remote\..*\.(?:uploadpack|receivepack)"
)
# An address that is no path here; of transports that git has to start, it allows few.
_ELSEWHERE: Final = re.compile(r"(?!file://)[^/:]+:")
# Git adds to these; what it has read already begins the list otherwise.
_LISTS: Final = re.compile(r"credential\.(?:.*\.)?helper|http\.(?:.*\.)?extraheader", re.DOTALL)
_FETCH: Final = (
    "fetch", "--quiet", "--no-tags", "--no-filter", "--no-write-fetch-head", "--no-auto-maintenance",
    "--no-recurse-submodules", "--refmap=",
)  # fmt: skip
_PUSH: Final = ("push", "--porcelain", "--no-follow-tags", "--recurse-submodules=no", "--no-signed")
_NO_NOTES: Final = "couldn't find remote ref"
_FASTER: Final = re.compile(r"\[rejected\]|cannot lock ref|failed to update ref|incorrect old value|\.lock'")
# What git adds to every failure.
_USUAL: Final = re.compile(
    r"hint:.*|To .*|Done|Please make sure you have.*|and the repository exists\."
    r"|error: failed to push some refs.*|fatal: [Cc]ould not read from remote repository\."
    r"|fatal: the remote end hung up.*"
)
_PREFIX: Final = re.compile(r"(?:(?:fatal|error|remote|warning): *)+")
_SHOWN: Final = 4
_SYNC_TRIES: Final = 5


class GitLogin(NamedTuple):
    """What git tells a server that asks who it is. Only the environment of its process has it."""

    url: str
    """Of the server: it is told to no other, and no redirection is followed with it."""
    user: str
    password: str
    certificates: str = ""
    """A file with those that count for it."""

    def __repr__(self) -> str:
        return f"GitLogin({self.url!r}, {self.user!r}, …)"

    def settings(self) -> Iterator[tuple[str, str]]:
        if self.certificates:
            yield f"http.{self.url}.sslCAInfo", self.certificates
        if self.password:
            told = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            yield f"http.{self.url}.followRedirects", "false"
            yield f"http.{self.url}.extraheader", f"Authorization: Basic {told}"


class GitTransport:
    """Git in an empty directory, with what the person has set up for the network."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        prompts: bool = False,
        login: GitLogin | None = None,
        objects: Iterable[Path] = (),
        rewrites: bool = True,
    ) -> None:
        """`prompts`: git may ask for a password at the terminal. `objects` are folders of more of them.

        `rewrites`: the clone may say that an address leads to another one.
        """
        place = clone_around(folder)
        self._repository = Repository(place.git_dir, place.common)
        self._since = time.time_ns()
        self.person = PersonalGit(place.root, environment)
        self.clone = Git(place.git_dir)
        self._own = Path(tempfile.mkdtemp(prefix="ringi-sync-"))
        weakref.finalize(self, shutil.rmtree, self._own, ignore_errors=True)
        variables = {"GIT_OBJECT_DIRECTORY": str(place.common / "objects")}
        if lent := os.pathsep.join(os.fsdecode(quote(one)) for one in objects):
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = lent
        self.git = Git(self._own, variables=variables)
        lay_out(self._own, self.person.line("rev-parse", "--show-object-format") or "sha1")
        self.settings = self._read_settings()
        kept = {name: value for name, value in environment.items() if name not in {*_LOCAL, SWITCH}}
        usable = [
            (scope, name, value)
            for scope, name, value in self.settings
            if rewrites or scope in _PERSONAL or not name.startswith("url.")
        ]
        added = [*_select_usable(usable), *(_login_settings(login, self.settings) if login else ())]
        self._environment = {
            **_add_settings(kept, added),
            **variables,
            "GIT_DIR": str(self._own),
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "1" if prompts else "0",
            "PATH": self.person.outside,
            "LANGUAGE": "en",  # its words are matched
        }

    def keep(self, ref: str) -> None:
        """After it, the clone's ref and what came outlast a loss of power. Raises StorageFailed."""
        sync_refs(self._repository, (ref,), self._since)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        # Its objects are the clone's, whatever directory it works in.
        try:
            return subprocess.run(
                [self.person.program(), "--no-pager", *durable(), *words],
                cwd=self.person.root,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="backslashreplace",
                timeout=_TIME_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitFailed(str(error)) from None

    def _read_settings(self) -> list[tuple[str, str, str]]:
        """Scope, name and value, the weakest first."""
        words = ("config", "-z", "--show-scope", "--get-regexp", _SETTINGS)
        fields = os.fsdecode(self.person.look(*words, fine=(0, 1))).split("\0")
        found = []
        for scope, pair in zip(fields[::2], fields[1::2], strict=False):
            name, given, value = pair.partition("\n")
            found.append((scope, name, value if given else "true"))
        return found

    def name_unused(self, why: Text | str) -> Text | str:
        """Also what of the clone was left out, which may be why."""
        unused = {
            name for scope, name, _ in self.settings if scope not in _PERSONAL and _PROGRAMS.fullmatch(name)
        }
        if not unused:
            return why
        return Text(
            "{why} ({names} of this repository is not used: it names a program)",
            why=why, names=", ".join(sorted(unused)),
        )  # fmt: skip


class MergedNotes(NamedTuple):
    before: str
    """The newest commit of our notes; empty if there was none."""
    after: str


def sync_notes(
    exchange: "NotesExchange",
    name: str,
    *,
    push: bool = True,
    on_progress: Callable[[Text], None] = lambda _: None,
) -> Synced:
    """Notes from a remote and to it. An empty name is the remote that git would choose.

    Raises NoRemote, NotesFailed, SyncFailed, or PushRefused once what the remote had is merged.
    """
    remote, first = exchange.remote(name), None
    for attempt in range(_SYNC_TRIES):
        on_progress(Text("fetching the notes of {remote} …", remote=remote))
        theirs = exchange.fetch(remote)
        merged = exchange.merge(theirs)
        first = merged.before if first is None else first
        came = exchange.count(merged.after, first) if merged.after != first else 0
        waiting = exchange.count(merged.after, theirs) if merged.after != theirs else 0
        total = exchange.count(merged.after, "")
        done = Synced(remote=remote, came=came, went=0, waiting=waiting, total=total)
        if not push or merged.after == theirs:
            return done
        on_progress(Text("pushing notes to {remote} …", remote=remote))
        if exchange.push(remote, merged.after):
            return replace(done, went=waiting, waiting=0)
        pause(attempt)
    raise PushRefused(remote=remote, why=Text("others kept pushing at the same moment"))


class NotesExchange:
    """Notes to and from a remote. See `GitTransport` for what is given."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        prompts: bool = False,
        login: GitLogin | None = None,
    ) -> None:
        try:
            self._way = GitTransport(folder, environment, prompts=prompts, login=login)
        except GitFailed as error:
            raise NotesFailed(why=str(error)) from None
        self._person, self._clone, self._git = self._way.person, self._way.clone, self._way.git
        self._settings = self._way.settings

    def remote(self, name: str) -> str:
        """A remote or an address; if it is empty, the remote that git would choose. Raises NoRemote."""
        named = {
            key.removeprefix("remote.").rpartition(".")[0]
            for _, key, _ in self._settings
            if re.fullmatch(r"remote\..*\.url", key, re.DOTALL)
        }
        if name:
            if name.startswith("-") or not (name in named or "/" in name or ":" in name):
                raise NoRemote(why=Text("there is no remote {name}", name=name))
            return self._require_outside(name)
        return self._require_outside(self._choose_remote(named))

    def _choose_remote(self, named: Collection[str]) -> str:
        if usual := usual_remote(self._person, named):
            return usual
        several = Text("there are several remotes: {names}", names=", ".join(sorted(named)))
        raise NoRemote(why=several if named else Text("this repository has no remote"))

    def _require_outside(self, remote: str) -> str:
        """Git would run the hooks of a repository in this one, which came with it."""
        for _, key, address in self._settings:
            if key in {f"remote.{remote}.url", f"remote.{remote}.pushurl"} and not _ELSEWHERE.match(address):
                path = unquote(address.removeprefix("file://"))
                if Path(os.path.realpath(self._person.root / path)).is_relative_to(self._person.root):
                    raise NoRemote(why=Text("{name} leads into this very repository", name=remote))
        return remote

    def fetch(self, remote: str) -> str:
        """The newest commit of its notes; empty if it has none. Raises SyncFailed."""
        # What the remote need not send; a partial clone may have notes without their contents.
        partial = any(re.fullmatch(r"remote\..*\.promisor", key, re.DOTALL) for _, key, _ in self._settings)
        if not partial and (ours := notes_tip(self._clone)):
            self._run_or_fail("update-ref", NOTES, ours)
        done = self._run(*_FETCH, "--", remote, f"+{NOTES}:{_THEIRS}")
        if done.returncode and _NO_NOTES in done.stderr:
            return ""
        found = "" if done.returncode else notes_tip(self._git, _THEIRS)
        if not found:
            why = _explain(done) if done.returncode else Text("{ref} there is not a commit", ref=NOTES)
            raise SyncFailed(remote=remote, why=self._way.name_unused(why))
        return found

    def merge(self, theirs: str) -> MergedNotes:
        """Into ours, line by line; what others write meanwhile stays. Raises NotesFailed."""
        for attempt in range(TRIES):
            ours = notes_tip(self._clone)
            new = self._merge_commits(ours, theirs)
            if new == ours:
                return MergedNotes(ours, new)
            zero = "0" * len(new)
            quietly = ("-c", f"core.hooksPath={os.devnull}")
            try:
                self._person.work(
                    *quietly, "update-ref", "-m", "ringi sync", NOTES, new, ours or zero, LC_ALL="C"
                )
            except GitFailed as error:
                # Another approval was written at the same moment; it is merged too.
                if not is_lost_race(self._clone, ours, error) or attempt == TRIES - 1:
                    raise NotesFailed(why=str(error)) from None
                pause(attempt)
            else:
                self._way.keep(NOTES)
                return MergedNotes(ours, new)
        raise AssertionError  # the last attempt returns or raises

    def _merge_commits(self, ours: str, theirs: str) -> str:
        if not (ours and theirs) or ours == theirs:
            return ours or theirs
        who = () if self._run("var", "GIT_COMMITTER_IDENT").returncode == 0 else NOBODY
        self._run_or_fail("update-ref", NOTES, ours)
        self._run_or_fail(*who, "notes", "--ref", NOTES, "merge", "-q", "-s", "cat_sort_uniq", theirs)
        return notes_tip(self._git)

    def push(self, remote: str, commit: str) -> bool:
        """False if another push came first. Raises PushRefused."""
        done = self._run(*_PUSH, "--", remote, f"{commit}:{NOTES}")
        if done.returncode and not _FASTER.search(done.stdout + done.stderr):
            raise PushRefused(remote=remote, why=self._way.name_unused(_explain(done)))
        return not done.returncode

    def count(self, commit: str, without: str) -> int:
        """How many notes the commit has that the other lacks, or has with other lines. Raises NotesFailed."""
        try:
            new, old = (
                {
                    blob: sorted(entry.oid for entry in entries)
                    for blob, entries in list_notes(self._git, tip).items()
                }
                for tip in (commit, without)
            )
        except CopyFailed as error:
            raise NotesFailed(why=error.details["why"]) from None
        return sum(old.get(blob) != notes for blob, notes in new.items())

    def _run_or_fail(self, *words: str) -> None:
        done = self._run(*words)
        if done.returncode:
            raise NotesFailed(why=_explain(done))

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return self._way.run(*words)
        except GitFailed as error:
            raise NotesFailed(why=str(error)) from None


class BranchExchange:
    """Branches of one remote. `objects` are those of a run's branch."""

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        address: str,
        *,
        login: GitLogin | None = None,
        objects: Iterable[Path] = (),
    ) -> None:
        self._address = address
        try:
            self._way = GitTransport(folder, environment, login=login, objects=objects, rewrites=False)
        except GitFailed as error:
            raise self._make_error(str(error)) from None

    def tip(self, branch: str) -> str:
        """The newest commit of the branch there; empty if there is no such branch. Raises PushFailed."""
        ref = f"refs/heads/{branch}"
        done = self._run("ls-remote", "--quiet", "--", self._address, ref)
        if done.returncode:
            raise self._make_error(_explain(done))
        found = (line.split("\t", 1) for line in done.stdout.splitlines())
        return next((oid for oid, *name in found if name == [ref]), "")

    def push(self, branch: str, commit: str, expected: str) -> None:
        """Only if the branch there is at `expected`; empty: if there is none.

        Raises BranchOvertaken if it is not, PushFailed.
        """
        ref = f"refs/heads/{branch}"
        # The plus allows what the lease allows, and nothing else.
        words = (f"--force-with-lease={ref}:{expected}", "--", self._address, f"{commit}:{ref}")
        done = self._run(*_PUSH, *words)
        if not done.returncode:
            return
        if _FASTER.search(done.stdout + done.stderr) and self.tip(branch) != expected:
            raise BranchOvertaken(remote=self._address, branch=branch)
        raise self._make_error(_explain(done))

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return self._way.run(*words)
        except GitFailed as error:
            raise self._make_error(str(error)) from None

    def _make_error(self, why: str) -> PushFailed:
        way = getattr(self, "_way", None)
        return PushFailed(remote=self._address, why=way.name_unused(why) if way else why)


def _login_settings(login: GitLogin, settings: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    """A server refuses two answers to who one is; a job's checkout may have left one."""
    place = urlsplit(login.url).netloc
    told = any(
        value.lower().startswith("authorization:") and urlsplit(name[len("http.") :]).netloc == place
        for _, name, value in settings
        if re.fullmatch(r"http\..*\.extraheader", name, re.DOTALL)
    )
    return (login._replace(password="") if told else login).settings()


def _select_usable(settings: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str]]:
    seen = set()
    for scope, name, value in settings:
        if scope not in _PERSONAL and not _HARMLESS.fullmatch(name):
            continue
        if scope not in _PERSONAL and name.startswith("url.") and not _ELSEWHERE.match(name[len("url.") :]):
            continue
        if _LISTS.fullmatch(name) and name not in seen:
            yield name, ""
        seen.add(name)
        yield name, value


def _add_settings(environment: Mapping[str, str], added: Iterable[tuple[str, str]]) -> dict[str, str]:
    """After those that the environment has already. A file could be read by others, and some are secrets."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    number = int(count) if count.isdigit() else 0
    found = dict(environment)
    for name, value in added:
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        number += 1
    return {**found, "GIT_CONFIG_COUNT": str(number)}


def _explain(done: subprocess.CompletedProcess[str]) -> str:
    """What git and the server said, without what git says at every failure."""
    lines = [line.strip() for line in f"{done.stderr}\n{done.stdout}".splitlines()]
    refused = [line.rpartition("\t")[2] for line in lines if line.startswith("!\t")]
    said = [line for line in lines if line and not line.startswith("!\t") and not _USUAL.fullmatch(line)]
    kept = [_PREFIX.sub("", line) for line in said] + refused
    return "; ".join([line for line in kept if line][:_SHOWN]) or f"exit {done.returncode}"
