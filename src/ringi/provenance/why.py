"""`ringi why FILE:LINE`: the approval, the step and the request behind one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from ringi.approvals.statement import Approved
from ringi.engine.instruction import title_of
from ringi.errors import NotFound
from ringi.kernel.text import Text
from ringi.patch.render import lines_of, matching_blocks
from ringi.provenance.notes_of_clone import CloneNotes
from ringi.provenance.ports import History
from ringi.provenance.replay import part_of
from ringi.provenance.verdict import Evidence, LineVerdict, Mode
from ringi.provenance.verify_range import Signing, range_of, verify_range

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_FILE = Text("file in the newest commit")
_LINE = Text("line")


def why(history: History, signing: Signing, path: str, line: int, now: bytes | None) -> LineVerdict:
    """`now` is the file in the work tree; None stands for the one in the newest commit."""
    head = history.commit("HEAD")
    committed = history.file(head, path)
    if committed is None and now is None:
        raise NotFound(what=_FILE, name=path, see="git ls-files")
    there = lines_of(committed or b"" if now is None else now)
    if not 1 <= line <= len(there):
        raise NotFound(what=_LINE, name=f"{path}:{line}", see=f"wc -l {path}")
    text = there[line - 1].rstrip(b"\r\n")
    told = LineVerdict(path=path, line=line, text=text.decode("utf-8", "backslashreplace"))
    before = _line_before(lines_of(committed or b""), there, line)
    if before is None:
        return told
    origin = history.origin(head, path, before)
    asked = range_of(history, origin.commit, Mode.REPORT)._replace(only=origin.path)
    [file, *_] = verify_range(history, asked, signing).document.files or [None]
    found = _find_bringing(history, origin.path, text, file.chain) if file else None
    return replace(told, commit=origin.commit, title=origin.title, **({"approval": found} if found else {}))


def _line_before(old: list[bytes], new: list[bytes], line: int) -> int | None:
    """The number of the line in the commit; None if it is not in it. Line ends do not count."""
    plain = [[one.rstrip(b"\r\n") for one in lines] for lines in (old, new)]
    for block in matching_blocks(*plain):
        if block.b < line <= block.b + block.size:
            return line - block.b + block.a
    return None


def _find_bringing(history: History, path: str, text: bytes, chain: tuple[Evidence, ...]) -> Evidence | None:
    """The newest link of the chain whose diff adds the line; the last one if no diff tells."""
    notes = CloneNotes(history, [path])
    notes.follow_all()
    diffs = {_key(one.statement.predicate): one.statement.predicate.diff for one in notes.approvals}
    for evidence in reversed(chain):
        diff = diffs.get((evidence.plan.id, evidence.plan.version, evidence.at)) if evidence.plan else None
        if diff and b"+" + text in (part_of(diff, path) or b"").split(b"\n"):
            return evidence
    return chain[-1] if chain else None


def _key(said: Approved) -> tuple[str, int, str] | None:
    return (said.plan.id, said.plan.version, said.at) if said.plan else None


def with_ledger(told: LineVerdict, workspace: Workspace) -> LineVerdict:
    """Adds what only the ledger of this workspace has: the request, the step and the decisions."""
    store, step = workspace.store, told.approval.step if told.approval else UNSET
    try:
        run, plan = (store.runs.get(step.run_id), store.runs.plan(step.run_id)) if step else (None, None)
        session = (
            store.sessions.get(run.planning_session_id).session if run and run.planning_session_id else None
        )
    except NotFound:
        return told
    if not step or run is None:
        return told
    titles = {one.step_id: one.title for one in plan.steps} if plan else {}
    chosen = [(one.topic, one.selected) for one in session.decisions] if session else []
    return replace(
        told,
        request=title_of(run.instruction),
        step=titles.get(step.step_id, ""),
        decisions=tuple(f"{topic}: {option.name}" for topic, option in chosen if option),
    )
