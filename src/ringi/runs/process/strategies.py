"""What is tried after an error, by its kind and without a model (PP-24).

A strategy is a word that can be remembered with how often it helped. What a model thought of is remembered by
what it did: add_action:search, modify_action:read.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from ringi.engine.document import (
    AddAction,
    Change,
    ModifyAction,
    PlannedAction,
    PlanningDocument,
    PlanRevision,
    RemoveAction,
    Subtask,
)
from ringi.engine.process import ActionRecord, Process, RecoveryRecord
from ringi.kernel.text import Text
from ringi.runs.process.due import actions_of
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolInfo

_E = ErrorKind


class Strategy(StrEnum):
    FALLBACK = "fallback"
    """The tool that the plan itself names if this one fails."""
    FIND = "find"
    """Search or list before it."""
    READ = "read"
    """Read the file before it."""
    NEW_CALL = "new_call"
    """The same tool; the model is asked for the call once more."""
    REMOVE = "remove"


_S = Strategy
_USUAL: Final = (_S.FALLBACK, _S.NEW_CALL)
_TRIED: Final[Mapping[ErrorKind, tuple[Strategy, ...]]] = {
    _E.NOT_FOUND: (_S.FIND, *_USUAL),
    _E.MISMATCH: (_S.READ, *_USUAL),
    _E.UNEXPECTED: (_S.FALLBACK, _S.FIND, _S.NEW_CALL),
    _E.PRECONDITION: (_S.READ, _S.FIND, _S.FALLBACK),
    _E.UNKNOWN_OUTCOME: (_S.READ, _S.FIND),
    # Never the same again.
    _E.NOT_ALLOWED: (_S.FALLBACK, _S.REMOVE),
    # A person said no: another way to the same thing would go around them.
    _E.DECLINED: (_S.REMOVE,),
}
_GUARDED: Final = frozenset([_E.NOT_ALLOWED, _E.DECLINED])
_AGAIN: Final = Text("The last try failed: look at its result, and call it differently.")
_ADVICE: Final[Mapping[ErrorKind, Text]] = {
    _E.NOT_FOUND: Text("Check the path by hand, and say which file is meant."),
    _E.NOT_ALLOWED: Text("Check whether the rules for tools forbid something that the task needs."),
    _E.UNKNOWN_TOOL: Text("Check whether the server with that tool is configured."),
    _E.TIMEOUT: Text("Give it more time (planning.execution.action_timeout), or ask for less."),
    _E.DIED: Text("Check whether the tool's server starts: ringi doctor."),
    _E.COMMAND_FAILED: Text("Run the command by hand, and say what it needs."),
    _E.PRECONDITION: Text("Provide what the task relies on, or say what to do without it."),
    _E.DECLINED: Text("You said no to a call that the task needs: say what to do instead."),
    _E.UNKNOWN_OUTCOME: Text("Look at what the call has done, run ringi recover, and say how it ended."),
    _E.NO_ANSWER: Text("Ask for a smaller part of the task, or use another model."),
}
_ANY_ADVICE: Final = Text("Look at the result, and say what to do instead.")


def strategies_for(kind: ErrorKind) -> tuple[Strategy, ...]:
    """The usual ones first."""
    return _TRIED.get(kind, _USUAL)


def advice_for(kind: ErrorKind) -> Text:
    """What a person can do."""
    return _ADVICE.get(kind, _ANY_ADVICE)


_FIND_WORDS: Final = ("search", "find", "grep", "query", "glob", "list", "ls", "tree", "directory")
_READ_WORDS: Final = ("read", "get", "cat", "show", "view", "contents")
_QUERY_KEYS: Final = ("query", "pattern", "q", "text", "keyword", "search", "name")
_PATH_KEYS: Final = ("path", "file", "file_path", "filename", "target", "uri")
_FOLDER_KEYS: Final = ("path", "directory", "dir", "folder", "root")
_HEADER: Final = re.compile(r"^(?:\+\+\+|---) (?:[ab]/)?(?!/dev/null)([^\t\n]+)", re.MULTILINE)


class FailureCase(NamedTuple):
    """What went wrong, and what there is to mend it with."""

    kind: ErrorKind
    record: ActionRecord
    process: Process
    tools: Mapping[str, ToolInfo]
    say: Callable[[Text], str]

    @property
    def task(self) -> str:
        return self.record.task_id

    @property
    def planned(self) -> PlannedAction | None:
        return find_planned_action(self.process.plan, self.record)

    @property
    def target(self) -> str:
        """How a change names it: by its task, if that has only this one."""
        return self.task if len(actions_of(self.process.plan, self.task)) <= 1 else self.record.action_id

    @property
    def by_turn(self) -> bool:
        """The model chose the call; the plan has none."""
        return not self.planned or self.planned.tool != self.record.tool or "_turn_" in self.record.action_id

    @property
    def is_help(self) -> bool:
        """A revision put it before another task."""
        return bool(self.planned and self.planned.before_task)


def find_planned_action(plan: PlanningDocument, record: ActionRecord) -> PlannedAction | None:
    """The one of the plan that was carried out; the task's only one if it names no tool."""
    found = dict(actions_of(plan, record.task_id))
    return found.get(record.action_id) or next(iter(found.values()), None)


def subtask_of(plan: PlanningDocument, task: str) -> Subtask | None:
    return next((one for one in plan.subtasks if one.id == task), None)


class StrategyAttempt(NamedTuple):
    strategy: str
    changes: tuple[Change, ...]


def attempts(case: FailureCase, remembered: Sequence[RecoveryRecord] = ()) -> Iterator[StrategyAttempt]:
    """What can be tried, best first; nothing that was tried for this task before."""
    tried = {one.strategy for one in case.process.revisions if _is_about(one.reflection.action, case.task)}
    known = [str(one) for one in strategies_for(case.kind)]
    if case.is_help:
        known = [_S.FALLBACK, _S.REMOVE]
    best, worst = rank(case, remembered)
    usual = [one for one in known if one not in worst]
    order = [*best, *usual, *(one for one in known if one in worst)]
    for strategy in dict.fromkeys(order):
        if strategy not in tried and (changes := changes_for(case, strategy)):
            yield StrategyAttempt(strategy, changes)


def find_remembered(case: FailureCase, remembered: Sequence[RecoveryRecord]) -> StrategyAttempt | None:
    """The best that helped more often than not, if it can be tried here."""
    best, _ = rank(case, remembered)
    return next((one for one in attempts(case, remembered) if one.strategy in best), None)


def rank(case: FailureCase, remembered: Sequence[RecoveryRecord]) -> tuple[list[str], frozenset[str]]:
    """Those that helped more often than not, best first, and those that mostly did not.

    A record with the same tool counts more than one with another.
    """
    allowed = {str(one) for one in strategies_for(case.kind)}
    usable = [
        one
        for one in remembered
        if one.kind is case.kind and (one.strategy in allowed or case.kind not in _GUARDED)
    ]
    own = {one.strategy: one for one in usable if one.tool == case.record.tool}
    judged = [own.get(one.strategy, one) for one in usable]
    good = [one for one in judged if one.helped > one.failed]
    good.sort(key=lambda one: (one.tool != case.record.tool, -_rate(one), -one.helped, one.strategy))
    bad = frozenset(one.strategy for one in judged if one.failed > one.helped)
    return list(dict.fromkeys(one.strategy for one in good)), bad


def _rate(one: RecoveryRecord) -> float:
    return (one.helped + 1) / (one.helped + one.failed + 2)


def strategy_of(revision: PlanRevision) -> str:
    """The word for what a model thought of: its first change."""
    for change in revision.changes or ():
        match change:
            case AddAction():
                return f"add_action:{change.action.tool or ''}"
            case ModifyAction():
                return f"modify_action:{change.updates.get('tool') or ''}"
            case RemoveAction():
                return _S.REMOVE
    return ""


def _is_about(action: str, task: str) -> bool:
    return action == task or action.startswith((f"{task}_action_", f"{task}_turn_"))


# --- as changes ---


def changes_for(case: FailureCase, strategy: str) -> tuple[Change, ...]:
    """Empty if it cannot be tried here."""
    if case.record.effect is ToolEffect.OUTSIDE and case.kind is _E.UNKNOWN_OUTCOME:
        return ()  # a person has to look
    kind, _, tool = strategy.partition(":")
    if tool:
        return _again_with(case, kind, tool)
    if strategy == _S.NEW_CALL:
        return _add_note(case, _AGAIN)
    makers: Mapping[str, Callable[[FailureCase], tuple[Change, ...]]] = {
        _S.FALLBACK: _fallback,
        _S.FIND: _find,
        _S.READ: _read,
        _S.REMOVE: _remove,
    }
    maker = makers.get(strategy)
    return maker(case) if maker else ()


def _again_with(case: FailureCase, kind: str, tool: str) -> tuple[Change, ...]:
    """What a model thought of, with another file."""
    info = case.tools.get(tool)
    if info is None:
        return ()
    if kind == "modify_action":
        return _with_tool(case, tool)
    purpose = Text("Helped before: {tool} first", tool=tool)
    return _before(case, info, purpose) if info.effect is ToolEffect.READS else ()


def _fallback(case: FailureCase) -> tuple[Change, ...]:
    words = (case.planned.fallback_strategy or "") if case.planned else ""
    named = [name for name in case.tools if name != case.record.tool and _names(words, name)]
    return _with_tool(case, max(named, key=len)) if named else ()


def _names(words: str, tool: str) -> bool:
    """Names with an underscore are no words; others must be meant as a tool: use read, "read", read tool."""
    name = re.escape(tool)
    if words.strip().casefold() == tool.casefold():
        return True
    if "_" in tool:
        return re.search(rf"(?<!\w){name}(?!\w)", words, re.IGNORECASE | re.ASCII) is not None
    meant = (
        rf"\b(?:use|try|call|using|with|via)\s+(?:the\s+)?[`\"']?{name}\b|[`\"'「]{name}[`\"'」]"
        rf"|\b{name}\s+tool\b|(?<![A-Za-z]){name}\s*(?:を使|を試|ツール)"
    )
    return re.search(meant, words, re.IGNORECASE) is not None


def _with_tool(case: FailureCase, tool: str) -> tuple[Change, ...]:
    if tool == case.record.tool:
        return ()
    if case.by_turn:
        return _add_note(case, Text("{tool} did not work: use {other}.", tool=case.record.tool, other=tool))
    given = fit_arguments(case.tools[tool].schema, case.record.arguments)
    return (ModifyAction(action_id=case.target, updates={"tool": tool, "arguments": given}),)


def _find(case: FailureCase) -> tuple[Change, ...]:
    """As in chapter 15.2.1 of the specification."""
    info = _find_reading_tool(case, _FIND_WORDS)
    path = next(iter(paths_of(case.record)), "")
    if info is None or info.name == case.record.tool:
        return ()
    purpose = Text("Find the file that is meant by {path}", path=path) if path else Text("Find what is there")
    return _before(case, info, purpose)


def _read(case: FailureCase) -> tuple[Change, ...]:
    info, path = _find_reading_tool(case, _READ_WORDS), next(iter(paths_of(case.record)), "")
    if info is None or not path or info.name == case.record.tool:
        return ()
    return _before(case, info, Text("Read {path} as it is now", path=path))


def _before(case: FailureCase, info: ToolInfo, purpose: Text) -> tuple[Change, ...]:
    words = case.say(purpose)
    given = fill_arguments(info, case.record)
    action = PlannedAction(
        action_type="tool_call",
        tool=info.name,
        purpose=words,
        description=words,
        before_task=case.task,
        arguments=UNSET if given is None else given,
    )
    return (AddAction(action=action),)


def _find_reading_tool(case: FailureCase, words: Sequence[str]) -> ToolInfo | None:
    """A reading tool for that; one of the same server first, then by the order of the words."""
    server = case.record.tool.partition("_")[0] if "_" in case.record.tool else ""

    def place(info: ToolInfo) -> tuple[bool, int]:
        parts = re.split(r"[\W_]+", info.name.casefold())
        own = bool(server) == info.name.startswith(f"{server}_") if server else "_" not in info.name
        return not own, min(words.index(part) for part in parts if part in words)

    found = [
        info
        for info in case.tools.values()
        if info.effect is ToolEffect.READS and set(re.split(r"[\W_]+", info.name.casefold())) & set(words)
    ]
    return min(found, key=place, default=None)


def _add_note(case: FailureCase, note: Text) -> tuple[Change, ...]:
    """Our own words only: what a tool said is shown to the model as what it is, a result."""
    words, own = case.say(note), subtask_of(case.process.plan, case.task)
    planned = case.planned
    before = (own.description if own else "") or (planned.description or "" if planned else "")
    if words in before:
        return ()
    after = f"{before}\n{words}".strip()
    updates: dict[str, Any] = {"description": after, "arguments": None}
    return (ModifyAction(action_id=case.target, updates=updates),)


def _remove(case: FailureCase) -> tuple[Change, ...]:
    """Only what can be spared: help for another task, or a reading that no task waits for."""
    plan, over = case.process.plan, {case.task, *case.process.done}
    own, left = subtask_of(plan, case.task), [one for one in plan.subtasks if one.id not in over]
    if own is None or not left:
        return ()
    needed = own.writes or own.criteria or any(case.task in (one.dependencies or ()) for one in left)
    if needed and not case.is_help:
        return ()
    return (RemoveAction(action_id=case.task),)


# --- arguments ---


def paths_of(record: ActionRecord) -> tuple[str, ...]:
    """Those that a call names, in its arguments or in a patch."""
    return tuple(dict.fromkeys(path for path in _paths(record.arguments) if path))


def _paths(given: Mapping[str, Any]) -> Iterator[str]:
    for name, value in given.items():
        if name.casefold() in {*_PATH_KEYS, "paths", "files"}:
            yield from _texts(value)
        elif isinstance(value, str) and name.casefold() in {"patch", "diff"}:
            yield from (match[1].strip() for match in _HEADER.finditer(value))


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple):
        return (text for one in value for text in _texts(one))
    if isinstance(value, Mapping):
        return _paths(value)
    return ()


def fit_arguments(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any] | None:
    """These arguments for another tool; None if it needs others, and the call is asked for anew."""
    properties, required = _parts(schema)
    chosen = {name: value for name, value in given.items() if name in properties}
    return chosen if chosen and required <= chosen.keys() else None


def fill_arguments(info: ToolInfo, record: ActionRecord) -> dict[str, Any] | None:
    """What a search or a reading is called with: the same owner and place, and what was looked for."""
    properties, required = _parts(info.schema)
    path = next(iter(paths_of(record)), "")
    stem = posixpath.basename(path).partition(".")[0] or posixpath.basename(path)
    reads = bool(set(re.split(r"[\W_]+", info.name.casefold())) & set(_READ_WORDS))
    wanted = dict.fromkeys(_PATH_KEYS, path) if reads else dict.fromkeys(_FOLDER_KEYS, ".")
    if not reads:
        wanted |= dict.fromkeys(_QUERY_KEYS, stem)
    found = {name: wanted[name] for name in properties if wanted.get(name) and name in required}
    if not found.keys() & wanted.keys():
        found |= {name: wanted[name] for name in properties if wanted.get(name)}
    found |= {
        name: record.arguments[name] for name in required if name in record.arguments.keys() - wanted.keys()
    }
    return found if found and required <= found.keys() else None


def _parts(schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], set[str]]:
    properties, required = schema.get("properties"), schema.get("required")
    names = {one for one in required if isinstance(one, str)} if isinstance(required, list | tuple) else set()
    return (properties if isinstance(properties, Mapping) else {}), names
