"""What is wrong with a plan from any source (PP-16). A plan with a finding is refused.

Only what would be carried out is judged: tools, paths, commands and what to do on failure. A description may
speak of anything; "document why sudo is needed" is a sound task. Secrets are searched everywhere.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ringi.engine.document import Finding, PlannedAction, PlanningDocument, Subtask
from ringi.engine.order import Cycle, Unordered, normal, order_subtasks
from ringi.kernel import codec
from ringi.kernel.document import OpenDocument
from ringi.policy.files import is_credential
from ringi.policy.leaks import secrets
from ringi.tools.effects import FindingKind
from ringi.tools.rules import ToolRules, refusal

_K = FindingKind
_MOST_SAME: Final = 3
"""An action that stands there more often than this goes round in circles."""
_MOST_ACTIONS_PER_TASK: Final = 10
_MOST_BYTES: Final = 1024 * 1024
_LONGEST_SUBJECT: Final = 120
_DEEPEST: Final = 20
_COMMAND_KEYS: Final = frozenset(["argv", "args", "command", "cmd", "script", "shell", "run"])
_PATH_KEYS: Final = frozenset(["path", "file", "target", "filename", "paths", "files"])
_START: Final = r"(?:^|[\s;&|(`/])"
_END: Final = r"(?=[\s;&|)`]|$)"
_COMMANDS: Final[Mapping[FindingKind, re.Pattern[str]]] = {
    _K.ENDLESS_LOOP: re.compile(
        rf"{_START}(?:while\s+(?:true|:|1|\[\s*1\s*\]){_END}|until\s+false{_END}|yes{_END}|watch\s)|for\s*\(\(\s*;\s*;"
        r"|while\s+True\s*:|tail\s+(?:\S+\s+)*-[a-z]*[fF]\b"
    ),
    _K.RESOURCE_EXHAUSTION: re.compile(
        rf":\(\)\s*\{{|/dev/(?:zero|urandom|random|full)|{_START}(?:stress|stress-ng|fallocate|mkfs\S*)\s"
        r"|\bforkbomb\b|os\.fork\(|-j\s*\d{3,}|\btruncate\s+-s\s*\d+[TGP]|\bulimit\s+\S*\s*unlimited"
    ),
    _K.PRIVILEGE_ESCALATION: re.compile(
        rf"{_START}(?:sudo|doas|pkexec|su|setcap|visudo|usermod|gpasswd|chroot|nsenter|setenforce){_END}"
        rf"|{_START}chmod\s+(?:\S+\s+)*(?:[ugoa]*\+[rwx]*s|0?[2467][0-7]{{3}}|0?777)"
        rf"|{_START}chown\s+(?:\S+\s+)*root|--privileged\b|-v\s*/:|docker\.sock|/etc/(?:sudoers|passwd|shadow)"
        rf"|{_START}ringi\s+(?:\S+\s+)*?(?:approve|execute|grant|trust|signers|review|recover|undo){_END}"
    ),
    _K.LEAKING_SECRETS: re.compile(
        rf"{_START}(?:printenv|env){_END}(?!\s+\S+=)|/dev/tcp/|{_START}(?:nc|ncat|netcat|socat|scp|sftp)\s"
        rf"|{_START}curl\s.*(?:\s-d|\s--data|\s-F|\s--form|\s-T|\s--upload-file)|{_START}wget\s.*--post-"
    ),
}
_NO_END: Final = re.compile(
    r"\b(?:forever|indefinitely|endlessly|infinitely)\b"
    r"|\buntil (?:it|this|that|they|the \w+) (?:works?|succeeds?|pass(?:es)?)\b"
    r"|\bwithout (?:a )?limit\b|無限に|永久に|(?:成功|完了)するまで(?:何度でも)?(?:繰り返|再試行|リトライ)",
    re.IGNORECASE,
)
_OURS: Final = frozenset([".git", ".agent"])


class PlanRules(NamedTuple):
    tools: ToolRules
    most_subtasks: int


def findings(plan: PlanningDocument, rules: PlanRules) -> tuple[Finding, ...]:
    """Each once, in the order of the plan."""
    return tuple(dict.fromkeys(_all(plan, rules)))


def _all(plan: PlanningDocument, rules: PlanRules) -> Iterator[Finding]:
    subtasks, actions = plan.subtasks, plan.actions
    yield from _too_much(plan, subtasks, actions, rules)
    found = order_subtasks(subtasks)
    if isinstance(found, Unordered):
        for problem in found.problems:
            if isinstance(problem, Cycle):
                yield _finding(_K.ENDLESS_LOOP, problem.path[0], " → ".join(problem.path))
    yield from _again_and_again(actions)
    for task in subtasks:
        yield from _of_subtask(task, rules)
    for action in actions:
        yield from _of_action(action, rules)
    yield from _secrets(plan, subtasks, actions)


def _too_much(
    plan: PlanningDocument, subtasks: Sequence[Subtask], actions: Sequence[PlannedAction], rules: PlanRules
) -> Iterator[Finding]:
    counts = {"subtasks": (len(subtasks), rules.most_subtasks)}
    counts["actions"] = (len(actions), rules.most_subtasks * _MOST_ACTIONS_PER_TASK)
    counts["bytes"] = (len(codec.canonical(plan)), _MOST_BYTES)
    for what, (count, most) in counts.items():
        if count > most:
            yield _finding(_K.RESOURCE_EXHAUSTION, "", f"{count} {what} > {most}")


def _again_and_again(actions: Sequence[PlannedAction]) -> Iterator[Finding]:
    counts = Counter(codec.canonical(action) for action in actions)
    for action in actions:
        if counts[codec.canonical(action)] > _MOST_SAME:
            yield _finding(_K.ENDLESS_LOOP, action.task_id or "", f"{action.tool or action.purpose or '…'}")


def _of_subtask(task: Subtask, rules: PlanRules) -> Iterator[Finding]:
    for tool in task.required_tools or ():
        yield from _tool(tool, task.id, rules)
    for path in task.reads or ():
        yield from _read(path, task.id)
    for target in task.writes or ():
        yield from _place(target.path, task.id)


def _of_action(action: PlannedAction, rules: PlanRules) -> Iterator[Finding]:
    task = action.task_id or ""
    if action.tool:
        yield from _tool(action.tool, task, rules)
    if action.file:
        yield from _place(action.file, task)
    if action.fallback_strategy and (match := _NO_END.search(action.fallback_strategy)):
        yield _finding(_K.ENDLESS_LOOP, task, match[0])
    given = {**(action.arguments or {}), **{key: action.extra[key] for key in action.extra}}
    for key, text in _strings(given):
        if key in _COMMAND_KEYS:
            yield from _command(text, task)
        elif key in _PATH_KEYS:
            yield from _read(text, task)
        elif key == "tool":
            yield from _tool(text, task, rules)


def _tool(name: str, task: str, rules: PlanRules) -> Iterator[Finding]:
    if kind := refusal(name, rules.tools):
        yield _finding(kind, task, name)


def _place(path: str, task: str) -> Iterator[Finding]:
    """Outside the workspace, or in what decides about approvals and hooks."""
    plain = unicodedata.normalize("NFKC", normal(path).replace("\\", "/"))
    first = plain.casefold().split("/")[0].rstrip(". ")
    outside = plain.startswith(("/", "~")) or first in {"..", ""} or re.match(r"[A-Za-z]:", plain)
    if (outside or first in _OURS) and plain != ".":
        yield _finding(_K.PRIVILEGE_ESCALATION, task, path)


def _read(path: str, task: str) -> Iterator[Finding]:
    yield from _place(path, task)
    if is_credential(normal(path)):
        yield _finding(_K.LEAKING_SECRETS, task, path)


def _command(text: str, task: str) -> Iterator[Finding]:
    for kind in dangers(text):
        yield _finding(kind, task, text)


def dangers(command: str) -> tuple[FindingKind, ...]:
    """What is wrong with a command line, for every caller."""
    plain = re.sub(r"[\"'\\]", "", unicodedata.normalize("NFKC", command))
    return tuple(kind for kind, pattern in _COMMANDS.items() if pattern.search(plain))


def _strings(given: object, key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every string below a mapping, with its nearest key; a list of words is one command."""
    match given:
        case str():
            yield key.casefold(), given
        case dict():
            inner: Mapping[Any, Any] = given
            for name, one in inner.items() if depth < _DEEPEST else ():
                yield from _strings(one, str(name), depth + 1)
        case list() | tuple():
            if key.casefold() in _COMMAND_KEYS and all(isinstance(one, str) for one in given):
                yield key.casefold(), " ".join(given)
            else:
                for one in given if depth < _DEEPEST else ():
                    yield from _strings(one, key, depth + 1)


def _secrets(
    plan: PlanningDocument, subtasks: Sequence[Subtask], actions: Sequence[PlannedAction]
) -> Iterator[Finding]:
    """The kind is named, the secret is not repeated."""
    parts: list[tuple[str, OpenDocument]] = [
        ("", one) for one in (plan.goal_understanding, plan.error) if one
    ]
    parts += [(task.id, task) for task in subtasks]
    parts += [(action.task_id or "", action) for action in actions]
    for task, part in parts:
        for kind, _ in secrets(codec.canonical(part)):
            yield _finding(_K.LEAKING_SECRETS, task, str(kind))


def _finding(kind: FindingKind, task: str, subject: str) -> Finding:
    def short(text: str) -> str:
        sound = text.encode("utf-8", "replace").decode()
        return sound if len(sound) <= _LONGEST_SUBJECT else f"{sound[:_LONGEST_SUBJECT]}…"

    return Finding(kind, short(task), short(subject))
