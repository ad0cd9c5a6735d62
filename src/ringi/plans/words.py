"""How documents are put into words: statuses, risks, reasons, one line for a plan."""

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import msgspec

from ringi.errors import NoSandbox
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.patch.conflict import Clash, Conflict, ConflictChoice, Decision
from ringi.plans.change_plan import DiagnosticRef, Trigger
from ringi.plans.document import PlanRef, PlanStatus
from ringi.policy.risk_level import CATEGORY, Category, Risk, RiskCode, RiskReason
from ringi.policy.scripts import CODES
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt
from ringi.tree.check_result import CheckPhase, CheckResult

if TYPE_CHECKING:  # a list of plans is shown without them
    from ringi.approvals.document import CommitSubject
    from ringi.models.usage import Spent, TokenUsage
    from ringi.plans.commit import Announced
    from ringi.tree.commands import Commands

STATUS: Final = {
    PlanStatus.PROPOSED: Text("proposed"),
    PlanStatus.PENDING_REVIEW: Text("waiting for you"),
    PlanStatus.APPROVED: Text("approved, not carried out"),
    PlanStatus.SCHEDULED: Text("about to run"),
    PlanStatus.EXECUTING: Text("running"),
    PlanStatus.COMPLETED: Text("done"),
    PlanStatus.ABORTED: Text("not finished"),
    PlanStatus.DISCARDED: Text("discarded"),
}
NO_PLANS: Final = Text("There are no plans yet.")
NO_CURRENT_PLAN: Final = Text("There is no current plan.")
BY_MODEL: Final = Text("made by the model from the plan's text")
"""Characters of a commit id."""
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
RISK: Final = {Risk.LOW: Text("low"), Risk.MEDIUM: Text("medium"), Risk.HIGH: Text("HIGH")}
RISK_STYLE: Final = {Risk.LOW: Style.GOOD, Risk.MEDIUM: Style.WARNING, Risk.HIGH: Style.BAD}


def _your_lines(path: str, count: str) -> Text:
    if count == "0":
        return Text("{path}: your own version of it is replaced", path=path)
    return Text(
        "{path} loses 1 line you wrote meanwhile",
        "{path} loses {count} lines you wrote meanwhile",
        path=path,
        count=count,
    )


# Each of a path and of the reason's subject, which for some is the path they are about: of a move, the other.
_REASONS: Final[Mapping[RiskCode, Callable[[str, str], Text]]] = {
    RiskCode.LARGE_OVERWRITE: lambda path, n: Text(
        "{path} changes in 1 line", "{path} changes in {count} lines", path=path, count=n
    ),
    RiskCode.LARGE_REWRITE: lambda path, n: Text(
        "{path} changes in 1 byte", "{path} changes in {count} bytes", path=path, count=n
    ),
    RiskCode.DELETE: lambda path, _: Text("{path} is deleted", path=path),
    RiskCode.EMPTIED: lambda path, _: Text("{path} loses most of its content", path=path),
    RiskCode.YOUR_LINES: _your_lines,
    RiskCode.MUTABLE_STATE: lambda _, path: Text("{path} is a database or a file of state", path=path),
    RiskCode.MANY_FILES: lambda _, n: Text("1 file changes", "{count} files change", count=n),
    RiskCode.HIDDEN_NAME: lambda _, path: Text(
        "the name {path} holds characters that hide something", path=path
    ),
    **dict.fromkeys(
        (RiskCode.UNSHOWN, RiskCode.BINARY),
        lambda path, _: Text("{path} is not text, so its content is not shown", path=path),
    ),
    RiskCode.CRITICAL_SOURCE: lambda _, path: Text("{path} is critical, and is renamed or copied", path=path),
    RiskCode.COMMAND: lambda _, subject: Text("{subject} runs in your workspace", subject=subject),
    RiskCode.FOREIGN_COMMAND: lambda _, subject: Text(
        "{subject} runs in your workspace, and run.allowed does not name it", subject=subject
    ),
    RiskCode.TOOL_CALL: lambda _, subject: Text("{subject} changes something outside", subject=subject),
}


def reason(path: str, given: RiskReason) -> Text:
    subject = given.subject
    if words := _REASONS.get(given.code):
        return words(path, subject)
    if given.code is RiskCode.CRITICAL_FILE:
        return Text("{path} is {what}", path=path, what=CATEGORY[Category(subject)])
    if given.code in {RiskCode.LOOKALIKES, RiskCode.MIXED_SCRIPTS} and not _is_strange_word(subject):
        return Text("the name {path} mixes letters of several alphabets", path=subject)
    return Text("{path} gets {what}", path=path, what=_finding(subject))


def _is_strange_word(subject: str) -> bool:
    return subject.startswith(tuple(map(str, CODES)))


def format_lost(count: int) -> Text:
    """Lines of the person's that a plan deletes."""
    return Text(
        "! Applying this deletes 1 line you wrote meanwhile (marked !)",
        "! Applying this deletes {count} lines you wrote meanwhile (marked !)",
        count=count,
    )


def clash(kind: Clash, who: str) -> Text:
    """Why a person has to decide."""
    who = who or "?"
    said = {
        Clash.TEXT: Text("you and {who} changed the same lines", who=who),
        Clash.LINE_ENDS: Text(
            "yours and {who}'s differ in line ends; [=] takes the change with yours", who=who
        ),
        Clash.BINARY: Text("you and {who} changed it, and it is not text", who=who),
        Clash.TOO_LARGE: Text("you and {who} changed it, and it is too large to merge", who=who),
        Clash.LINK: Text("you and {who} made it a link to different places", who=who),
        Clash.KIND: Text("for one of you and {who} it is a link, for the other it is not", who=who),
        Clash.MODE: Text("you and {who} made it, one of you executable", who=who),
        Clash.DELETED_BY_OURS: Text("you deleted it, {who} changed it", who=who),
        Clash.DELETED_BY_THEIRS: Text("you changed it, {who} deletes it", who=who),
    }
    return said[kind]


def format_decision(decision: Decision | None, who: str) -> Text:
    """How a conflict was decided."""
    match decision:
        case None:
            return Text("undecided")
        case ConflictChoice.OURS:
            return Text("→ yours")
        case ConflictChoice.THEIRS:
            return Text("→ {who}'s", who=who)
        case ConflictChoice.BOTH:
            return Text("→ both")
    return Text("→ as you edited it")


def format_merged(lines: int) -> Text:
    """With what the person wrote meanwhile; 0 if they only took lines out or decided for the other's."""
    if not lines:
        return Text("merged with your changes")
    return Text("merged with your 1 line", "merged with your {count} lines", count=lines)


def conflict(found: Conflict, who: str) -> Text:
    return Text("! conflict in {place}: {why}", place=place(found), why=clash(found.kind, who))


def place(found: Conflict) -> str:
    return f"{found.path}:{found.line}" if found.line else found.path


def _finding(subject: str) -> Text:
    """Documents store it in English; the finding and the place are translated separately."""
    what, _, lines = subject.rpartition(" in lines ")
    if what:
        return Text("{what} in lines {lines}", what=Text(what), lines=lines)
    what, _, line = subject.rpartition(" in line ")
    return Text("{what} in line {line}", what=Text(what), line=line)


def action(spec: ActionSpecExt) -> Text:
    """What a spec does, in one line."""
    path = spec.base.path
    if spec.base.kind is SpecKind.RUN:
        return Text("run {command}", command=shlex.join(spec.base.argv))
    if spec.base.kind is SpecKind.CALL:
        return Text("call {tool}", tool=spec.base.tool or "")
    if old := spec.old_path:
        return Text("rename {old} → {new}", old=old, new=spec.base.target or path)
    if spec.also:
        [source] = spec.also
        return Text("copy {old} → {new}", old=source.path, new=path)
    if spec.only_mode and spec.before and spec.after:
        old, new = spec.before.mode, spec.after.mode
        return Text("permissions of {path}: {old} → {new}", path=path, old=old, new=new)
    kind: Text | str = str(spec.base.kind)
    if spec.base.kind is SpecKind.PATCH and spec.validated and spec.before is None:
        kind = "create"
    elif spec.base.kind is SpecKind.PATCH and spec.validated and spec.after is None:
        kind = "delete"
    return Text("{kind} {path}", kind=kind, path=path)


def subject(spec: ActionSpec) -> str:
    """What a spec is about: a path, a command line or a tool."""
    if spec.kind is SpecKind.RUN:
        return shlex.join(spec.argv)
    return spec.tool or spec.path


def status(ref: PlanRef) -> Text:
    if ref.superseded:
        return Text("superseded")
    return Text("undone") if ref.undone else STATUS[ref.status]


def size(files: int, added: int, removed: int) -> Text:
    return Text(
        "1 file  +{added} -{removed}",
        "{count} files  +{added} -{removed}",
        count=files,
        added=added,
        removed=removed,
    )


def format_written(count: int, *, commands: bool = False) -> Text:
    """Says nothing about the index if the plan ran `commands`, which may have used git."""
    if commands:
        return Text("✓ files written: {count}", count=count)
    return Text(
        "✓ 1 file written, nothing staged, your index untouched",
        "✓ {count} files written, nothing staged, your index untouched",
        count=count,
    )


def format_committed(count: int) -> Text:
    return Text(
        "✓ 1 file written and committed; your other staged changes stay staged",
        "✓ {count} files written and committed; your other staged changes stay staged",
        count=count,
    )


def check(result: CheckResult) -> Text:
    """Never "passed": we cannot know whether the command tested anything."""
    if result.timeout_sec is not msgspec.UNSET:
        limit = f"{result.timeout_sec:g}"
        return Text(
            "stopped after {seconds} s (checks.timeout_sec): {command}", seconds=limit, command=result.command
        )
    if result.exit_code != 0:
        return Text("failed with exit code {code}: {command}", code=result.exit_code, command=result.command)
    if result.doubt:
        return Text(
            "exit code 0, but perhaps on other bytes: {what} leads to the project itself: {command}",
            what=result.doubt,
            command=result.command,
        )
    if result.phase is CheckPhase.BEFORE:
        return Text("exit code 0 before anything was changed: {command}", command=result.command)
    if result.phase is CheckPhase.AFTER:
        return Text("exit code 0 after it was carried out: {command}", command=result.command)
    return Text("exit code 0 on exactly these bytes: {command}", command=result.command)


def tests(result: CheckResult) -> Text:
    return Text("tests: {result}", result=check(result))


TRIGGER: Final = {
    Trigger.ERROR: Text("fixes an error"),
    Trigger.USER_REQUEST: Text("somebody asked for it"),
    Trigger.REFACTOR: Text("a refactoring"),
}


def diagnostic(found: DiagnosticRef) -> Text:
    if found.line is None:
        return Text("{file}: {message}", file=found.file, message=found.message)
    return Text("{file}:{line}: {message}", file=found.file, line=found.line, message=found.message)


def some(names: Sequence[str], most: int = 5) -> Text:
    """The first few names, and how many more."""
    listed = ", ".join(names[:most])
    if len(names) <= most:
        return Text("{names}", names=listed)
    return Text("{names} and {count} more", names=listed, count=len(names) - most)


def terms(spec: ActionSpecExt, how: Text | None, *, by_model: bool = False) -> Iterator[Text]:
    """What an approval of the spec covers besides the file changes."""
    if by_model:
        yield BY_MODEL
    if spec.base.kind is SpecKind.RUN and how is not None:
        seconds, folder = spec.base.timeout_sec or 0, spec.base.path or "."
        yield Text("in {folder}, at most {seconds} s, {how}", folder=folder, seconds=seconds, how=how)
    if spec.base.arguments is not None:
        arguments = msgspec.json.format(msgspec.json.encode(spec.base.arguments), indent=0).decode()
        yield Text("with {arguments}", arguments=arguments)
    if not spec.only_mode and (mode := _new_mode(spec)):
        yield Text("permission bits become {mode}", mode=mode)
    if spec.base.optional:
        yield Text("optional: if it fails, the rest continues")


def sandbox(commands: "Commands") -> Text:
    """How a command would run now; the approval covers that too."""
    try:
        inside = commands.uses_sandbox()
    except NoSandbox as error:
        return Text("not at all: {why}", why=Text(error.message, **error.details))
    return Text("in a sandbox without network") if inside else Text("NOT in a sandbox")


def _new_mode(spec: ActionSpecExt) -> str | None:
    before = spec.before or next((file.before for file in spec.also or ()), None)
    if before and spec.after and before.mode != spec.after.mode:
        return spec.after.mode
    return spec.base.mode or None


def commit(subject: "CommitSubject") -> Text:
    hooks = Text("hooks: {hooks}", hooks=", ".join(subject.hooks)) if subject.hooks else Text("no hooks")
    branch, title = subject.branch or Text("a detached HEAD"), subject.message.partition("\n")[0]
    return Text("then commits on {branch}: {title} ({hooks})", branch=branch, title=title, hooks=hooks)


def format_mixed(found: "Announced") -> Iterator[Text]:
    for path in found.mixed:
        yield Text("! {path} has changes that are not committed yet; they go into the same commit", path=path)


def format_reused(taken: "TokenUsage | Spent") -> Text:
    """Of answers from the cache: an old one must not pass for a new one."""
    return Text(
        "answers from the cache: {count}, made {age}, {tokens} tokens saved",
        count=taken.reused,
        age=age(taken.reused_from),
        tokens=f"{taken.saved_tokens:,}",
    )


def age(moment: str) -> Text:
    """How long ago, as a person would say it."""
    seconds = seconds_since(moment)
    if seconds is None:
        return Text("{moment}", moment=moment)
    if seconds < _MINUTE:
        return Text("just now")
    if seconds < _HOUR:
        return Text("{count} min ago", count=seconds // _MINUTE)
    if seconds < 2 * _DAY:  # so that there is no "1 days"
        return Text("{count} h ago", count=seconds // _HOUR)
    return Text("1 day ago", "{count} days ago", count=seconds // _DAY)


def seconds_since(moment: str) -> int | None:
    try:
        then = datetime.fromisoformat(moment[:19]).replace(tzinfo=UTC)
    except ValueError:
        return None
    return max(0, int(time.time() - then.timestamp()))
