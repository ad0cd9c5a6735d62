"""`ringi verify RANGE`: in any clone, whose approval covers each file that differs.

It needs no ledger: the proofs are notes on the files themselves, so a rebase or a squash does not lose them.
Signers come from the base side or the person's own list; what is verified has no say in who may approve it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Final, NamedTuple, TypeVar

from msgspec import UNSET

from ringi.approvals.forge import ReviewWitness
from ringi.approvals.signing import SignerList
from ringi.approvals.statement import NOT_THERE, NOTES, FileAt, PathChange
from ringi.config.pins import SIGNERS
from ringi.errors import NoSuchCommit
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.provenance.chain import Link, find_strongest, level_of, links_of_merges, uses_twice
from ringi.provenance.commits import PathHistory, attribute_to_runs, find_related, group_by_path, judge_commit
from ringi.provenance.envelope import Grounds, Judged, judge, why_refused
from ringi.provenance.notes_of_clone import CloneNotes
from ringi.provenance.ports import History, PastCommit, PastSignatures
from ringi.provenance.replay import Diff, Replay, learn, part_of, rerender_diff
from ringi.provenance.unlabelled_agent_commits import find_agent_commits
from ringi.provenance.verdict import (
    Evidence,
    FileVerdict,
    Level,
    Mode,
    ProofProblem,
    RangeVerdict,
    Side,
    at_least,
    suffices,
)

PROJECTS: Final = f".agent/{SIGNERS}"
_AT_ONCE: Final = 16
_MOST_REPLAYED: Final = 200
_MOST_REASONS: Final = 5
_SHOWN: Final = 7
S = TypeVar("S")
T = TypeVar("T")


class Asked(NamedTuple):
    subject: str
    """range, commit, run or branch."""
    name: str
    base: str
    """Empty to compare with nothing."""
    head: str
    mode: Mode
    only: str = ""
    """The one path to look at; empty for all."""
    trusted: str = ""
    """The commit that says whose keys count and which repository it is; empty for the base."""


class Findings(NamedTuple):
    document: RangeVerdict
    why: Mapping[str, tuple[Text, ...]]
    """By path as in the document, its reasons as translatable sentences."""
    problems: tuple[ProofProblem, ...]


class Signing(NamedTuple):
    signatures: PastSignatures
    own: SignerList | None
    """The person's own list."""
    now: datetime
    reviews: ReviewWitness | None = None
    """Who confirms reviews on a forge."""
    forge: str = ""
    """The project that is asked then."""


def range_of(history: History, name: str, mode: Mode) -> Asked:
    """`A..B` is what B has that A has not; a commit stands for itself. Raises NoSuchCommit."""
    if ".." in name:
        old, _, new = name.replace("...", "..", 1).partition("..")
        trusted, head = history.commit(old or "HEAD"), history.commit(new or "HEAD")
        return Asked("range", name, history.base_of(trusted, head), head, mode, trusted=trusted)
    head = history.commit(name)
    try:
        base = history.commit(f"{head}^1")
    except NoSuchCommit:
        base = ""
    return Asked("commit", name, base, head, mode)


def verify_range(history: History, asked: Asked, signing: Signing) -> Findings:
    return _Examined(history, asked, signing).findings()


class _Examined:
    def __init__(self, history: History, asked: Asked, signing: Signing) -> None:
        self._history = history
        self._asked = asked
        self._net = {
            change.path: change
            for change in history.net(asked.base, asked.head)
            if asked.only in {"", change.path}
        }
        self._notes = CloneNotes(history, self._net)
        self._judged: list[Judged] = []
        self._commits: dict[str, PathHistory] = {}
        self._chains: dict[str, tuple[Link, ...] | None] = dict.fromkeys(self._net)
        trusted = asked.trusted or asked.base
        roots = history.roots(trusted or asked.head)
        self._cut_off = roots is None
        self._grounds = Grounds(
            signing.signatures,
            tuple(_read_lists(history, trusted, signing.own)),
            roots or frozenset(),
            begins=not trusted,
            now=signing.now,
            reviews=signing.reviews,
        )
        self._forge = signing.forge

    def findings(self) -> Findings:
        if not self._cut_off:
            self._notes.follow(at.blob for one in self._net.values() for at in (one.before, one.after))
            self._find(self._net)
            if open_ := [path for path in self._net if self._level(path) is not Level.SIGNED]:
                self._read_commits(open_)
                self._find(open_)
                self._doubt([path for path in open_ if at_least(Level.UNASSISTED, self._level(path))])
            if open_ := self._improvable():
                self._notes.follow_all()
                self._find(open_)
                self._replay(self._improvable())
        return self._report()

    def _improvable(self) -> list[str]:
        """The paths that could be covered better; a report tells the best that is known."""
        mode = Mode.AGENTS if self._asked.mode is Mode.AGENTS else Mode.STRICT
        return [path for path in self._net if not suffices(self._level(path), mode)]

    def _level(self, path: str) -> Level:
        return level_of(self._chains[path])

    # What counts.

    def _find(self, paths: Iterable[str]) -> None:
        fresh = self._notes.approvals[len(self._judged) :]
        self._judged += _map_in_threads(lambda one: judge(one, self._grounds), fresh)
        for path in paths:
            change = self._net[path]
            self._chains[path] = find_strongest(change.before, change.after, self._links(path))

    def _list_given(self, path: str) -> Iterator[tuple[PathChange, Judged]]:
        """The approvals of the path, whether they count or not."""
        for step, places in self._notes.steps.get(path, {}).items():
            yield from ((step, self._judged[place]) for place in places)
        told = self._notes.steps.get(path, {})
        for place, one in enumerate(self._judged):
            # Several steps of a run may change a file: the person saw what came of them.
            if one.net and path in one.net and place not in told.get(one.net[path], ()):
                yield one.net[path], one

    def _links(self, path: str) -> list[Link]:
        found = [Link(step.before, step.after, given.evidence) for step, given in self._list_counting(path)]
        if commit := self._commits.get(path):
            found += commit.links
            found += links_of_merges(commit.merges, found, commit.made - {self._net[path].before})
        return found

    def _list_counting(self, path: str) -> list[tuple[PathChange, Judged]]:
        """The approvals that no later signature took back."""
        given = [(step, one) for step, one in self._list_given(path) if why_refused(one, step) is None]
        back: dict[tuple[FileAt, FileAt], str] = {}
        for step, one in given:
            if one.evidence.level is Level.SIGNED:
                way = step.after, step.before
                back[way] = max(one.evidence.at, back.get(way, ""))
        return [
            (step, one) for step, one in given if back.get((step.before, step.after), "") <= one.evidence.at
        ]

    def _read_commits(self, paths: Sequence[str]) -> None:
        wanted = frozenset(paths)
        touching, parents = list[PastCommit](), dict[str, tuple[str, ...]]()
        for commit in self._history.commits(self._asked.base, self._asked.head):
            parents[commit.id] = commit.parents
            if any(step.path in wanted for step in commit.changes):
                touching.append(commit)
        touching.reverse()
        ours = parents.keys() if self._grounds.begins else find_related(parents)
        signed = [one if one.id in ours else one._replace(signature="") for one in touching]
        proven = _map_in_threads(lambda commit: judge_commit(commit, self._grounds), signed)
        self._commits = group_by_path(wanted, zip(touching, proven, strict=True))
        self._notes.follow(state.blob for one in self._commits.values() for state in one.states)

    def _doubt(self, paths: Sequence[str]) -> None:
        """Notes hang on what runs made, which may be in neither tree. All are read, none is judged."""
        silent = [path for path in paths if self._commits[path].links or self._commits[path].merges]
        if silent:
            self._notes.follow_all()
        made = {path: found for path in silent if (found := list(self._notes.find_made(path)))}
        past = _read_past(self._history, self._asked.trusted or self._asked.base, made)
        for path, found in made.items():
            steps = past.get(path, ())
            known = attribute_to_runs(self._commits[path], found, steps)
            self._commits[path] = known.reassign(find_agent_commits(self._history, known, found, steps))
        if taken := [path for path in made if self._commits[path].runs]:
            self._find(taken)

    # What was approved for other bytes.

    def _replay(self, paths: Sequence[str]) -> None:
        diffs = {path: found for path in paths if (found := list(_diffs(self._list_counting(path))))}
        ends = {path: list(_ends(self._net[path], self._commits.get(path))) for path in diffs}
        blobs = {before.blob for path in diffs for before, _ in ends[path]}
        # Words that do not count may still lead to bytes that do.
        told = {path: list(_diffs(self._list_given(path), _MOST_REPLAYED)) for path in diffs}
        blobs |= {diff.step.before.blob for found in told.values() for diff in found}
        past = _read_past(self._history, self._asked.base, diffs)
        blobs |= {step.before.blob for steps in past.values() for step in steps}
        known = self._history.contents(blobs - {""})
        for path, all_found in diffs.items():
            learn(told[path], known)
            found = [one for one in (_drop_unsigned_words(diff, known) for diff in all_found) if one]
            given = [Link(step.before, step.after, one.evidence) for step, one in self._list_given(path)]
            used = _find_used(given, Replay(found, known), past.get(path, ()))
            replay = Replay([diff for diff in found if diff.step not in used], known)
            links = self._links(path)
            for before, after in ends[path]:
                links += replay.links(before, after) or ()
                chain = find_strongest(self._net[path].before, self._net[path].after, links)
                if chain is None or uses_twice(chain):
                    continue
                if not suffices(self._level(path), Mode.STRICT):
                    self._chains[path] = chain

    # What is told.

    def _report(self) -> Findings:
        asked, problems = self._asked, tuple(self._problems())
        why = {
            _printable(path): tuple(self._reasons(path))
            for path in self._net
            if not suffices(self._level(path), asked.mode)
        }
        files = [_file(change, self._chains[path], why) for path, change in self._net.items()]
        document = RangeVerdict(
            subject=asked.subject,
            name=asked.name,
            base=asked.base,
            head=asked.head,
            mode=asked.mode,
            covered=not why,
            cut_off=self._cut_off,
            notes=len(self._notes.approvals),
            unread=len(self._history.unread),
            files=tuple(sorted(files, key=_order)),
            problems=tuple(str(one.what) for one in problems),
            forge=self._forge or UNSET,
        )
        return Findings(document, why, problems)

    def _problems(self) -> Iterator[ProofProblem]:
        if self._cut_off:
            what = Text("This clone is shallow: which repository it is of cannot be known, so nothing counts")
            yield ProofProblem(what, ("git fetch --unshallow",))
            return
        if self._net and not self._grounds.lists:
            what = Text(
                "No signers are listed in {list} of the base, and none in your own list", list=PROJECTS
            )
            yield ProofProblem(what, ("ringi init --key",))
        covered = all(suffices(self._level(path), Mode.AGENTS) for path in self._net)
        # Whoever asks about reviews expects some: a squash may name no agent, and only a note knows better.
        if not self._notes.any and (self._forge or not covered):
            what = Text("This clone has no notes, and they have the approvals")
            yield ProofProblem(what, ("ringi sync", f"git fetch origin {NOTES}:{NOTES}"))
        # One of them may take back what covers a file here.
        if count := len(self._history.unread):
            what = Text(
                "1 note cannot be read here; a partial clone leaves it out",
                "{count} notes cannot be read here; a partial clone leaves them out",
                count=count,
            )
            yield ProofProblem(what, ("git fetch --refetch --no-filter origin",))

    def _reasons(self, path: str) -> Iterator[Text]:
        if self._cut_off:
            return
        found = [
            *map(_why_weak, self._chains[path] or ()),
            *self._gaps(path),
            *_by_agents(self._commits.get(path)),
        ]
        yield from list(dict.fromkeys(one for one in found if one))[:_MOST_REASONS] or [
            Text("nobody approved it")
        ]

    def _gaps(self, path: str) -> Iterator[Text]:
        change = self._net[path]
        blobs = {change.after.blob, change.before.blob if change.after == NOT_THERE else ""}
        for blob in blobs & self._notes.damaged.keys():
            yield Text("a note on it does not count: {why}", why=self._notes.damaged[blob])
        used = {link.evidence for link in self._chains[path] or ()}
        other: list[tuple[Evidence, PathChange]] = []
        counting = self._list_counting(path)
        for step, given in self._list_given(path):
            if why := why_refused(given, step):
                yield Text("the approval of {name} does not count: {why}", name=given.evidence.by, why=why)
            elif (step, given) not in counting and step.after == change.after:
                yield Text("the approval of {name} was taken back later", name=given.evidence.by)
            elif (step, given) not in counting or given.evidence in used:
                continue
            elif step != change:
                other.append((given.evidence, step))
            elif why := _why_weak(Link(step.before, step.after, given.evidence)):
                yield why
        if other:
            yield _why_other_bytes(change, *max(other, key=lambda pair: pair[0].at))


def _diffs(counting: Iterable[tuple[PathChange, Judged]], most: int = 0) -> Iterator[Diff]:
    """Oldest first; of more than `most` the newest."""
    for step, given in sorted(counting, key=lambda pair: pair[1].evidence.at)[-most:]:
        diff = given.statement.predicate.diff
        if diff and (part := part_of(diff, step.path)):
            yield Diff(step, part, given.evidence)


def _drop_unsigned_words(diff: Diff, known: Mapping[str, bytes]) -> Diff | None:
    """A key signs the diff; of a review only the bytes are confirmed."""
    evidence = diff.evidence
    return rerender_diff(diff, known) if evidence.level is Level.CONFIRMED and evidence.review else diff


def _file(
    change: PathChange, chain: tuple[Link, ...] | None, why: Mapping[str, tuple[Text, ...]]
) -> FileVerdict:
    path = _printable(change.path)
    return FileVerdict(
        path=path,
        before=_side(change.before),
        after=_side(change.after),
        level=level_of(chain),
        covered=path not in why,
        chain=tuple(link.evidence for link in chain or ()),
        why=tuple(map(str, why.get(path, ()))),
    )


def _by_agents(commits: PathHistory | None) -> Iterator[Text]:
    """The newest first."""
    for before, after, oid in reversed(commits.assisted[-_MOST_REASONS:] if commits else ()):
        made, short = commits.runs.get(oid) if commits else None, oid[:COMMIT_SHOWN]
        if made is None:
            yield Text("commit {id} changed it with an agent", id=short)
        elif made.after == after:
            yield Text("commit {id} names no agent, but run {run} made these bytes", id=short, run=made.run)
        elif made.before != before:
            yield Text(
                "commit {id} names no agent, but has lines that run {run} wrote: "
                "approve these bytes, or sign the commit if it is your own work (git commit --amend -S)",
                id=short,
                run=made.run,
            )
        else:
            yield Text(
                "commit {id} names no agent, but run {run} changed this file from the same bytes to others: "
                "approve these, or sign the commit if it is your own work (git commit --amend -S)",
                id=short,
                run=made.run,
            )


def _why_other_bytes(change: PathChange, evidence: Evidence, step: PathChange) -> Text:
    if step.after == change.after:
        return Text(
            "{name} approved these bytes in place of {approved}, and here they replace {found}",
            name=evidence.by,
            approved=_short(step.before),
            found=_short(change.before),
        )
    return Text(
        "{name} approved other bytes: {approved}, and here are {found}",
        name=evidence.by,
        approved=_short(step.after),
        found=_short(change.after),
    )


def _short(at: FileAt) -> str | Text:
    return at.blob[:_SHOWN] or Text("no file")


def _why_weak(link: Link) -> Text | None:
    """Why a link that counts for something is not enough."""
    evidence = link.evidence
    if evidence.level is Level.TYPED and evidence.review:
        return Text(
            "no forge was asked about the review of {name}: ringi verify … --reviews", name=evidence.by
        )
    if evidence.level is Level.CONFIRMED and evidence.review:
        return Text("{name} reviewed it on a forge, and no key signed it", name=evidence.by)
    if evidence.level is Level.TYPED:
        return Text("{name} typed the approval, which proves nothing in a clone", name=evidence.by)
    if evidence.level is Level.CONFIRMED:
        return Text("it came through a standing approval, whose use nobody signs")
    if evidence.level is Level.UNASSISTED:
        return Text("commit {id} is not signed by a listed key", id=evidence.commit[:COMMIT_SHOWN])
    return None


def _read_lists(history: History, trusted: str, own: SignerList | None) -> Iterator[SignerList]:
    projects = history.file(trusted, PROJECTS) if trusted else None
    if projects is not None:
        yield SignerList(PROJECTS, projects)
    if own is not None:
        yield own


def _read_past(history: History, base: str, paths: Collection[str]) -> dict[str, list[PathChange]]:
    """For each path what the base and the commits before it did to it, the newest first."""
    found: dict[str, list[PathChange]] = {}
    for step in history.steps_to(base, paths) if base and paths else ():
        known = found.setdefault(step.path, [])
        if len(known) < _MOST_REPLAYED:
            known.append(step)
    return found


def _ends(change: PathChange, commits: PathHistory | None) -> Iterator[tuple[FileAt, FileAt]]:
    """All at once, and commit by commit where nothing else leads on."""
    yield change.before, change.after
    if commits:
        yield from ((before, after) for before, after, _ in commits.assisted[-_MOST_REPLAYED:])


def _find_used(given: Sequence[Link], replay: Replay, past: Iterable[PathChange]) -> set[PathChange]:
    """What the base has already: replayed, it would bring back what was taken out since."""
    used: set[PathChange] = set()
    for step in past:
        chain = find_strongest(step.before, step.after, given)
        if chain is not None:
            used |= {PathChange(step.path, link.before, link.after) for link in chain}
        else:
            used |= replay.steps(step.before, step.after)
    return used


def _map_in_threads(work: Callable[[S], T], given: Sequence[S]) -> list[T]:
    """In order; in threads if there is more than one, because each mostly waits for ssh-keygen."""
    shares = [given[at::_AT_ONCE] for at in range(min(_AT_ONCE, len(given)))]
    if len(shares) <= 1:
        return [work(one) for one in given]
    with ThreadPoolExecutor(len(shares)) as pool:
        done = list(pool.map(lambda share: [work(one) for one in share], shares))
    return [done[at % len(shares)][at // len(shares)] for at in range(len(given))]


def _order(file: FileVerdict) -> tuple[bool, str]:
    return file.covered, file.path


def _printable(path: str) -> str:
    """A document has only text; a name that is none has its bytes spelled out."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _side(at: FileAt) -> Side | None:
    return None if at == NOT_THERE else Side(at.mode, at.blob)
