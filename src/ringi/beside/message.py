"""The message with which an agent is resumed: what a person decided, said and changed.

It is for a program, so it is not translated. It quotes the person's words and the checks' output line by
line, filtered as on a screen, because it becomes a command-line argument.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ringi.approvals.feedback import Feedback, FeedbackKind, LineComment, Side
from ringi.kernel.text import visible
from ringi.plans.document import Difference, OutcomeKind, PlanAnswer, PlanStatus
from ringi.tree.check_result import CheckResult

_MOST_DIFF: Final = 12_000
_MOST_OUTPUT: Final = 4_000
_MOST_PATHS: Final = 50
_DECIDED: Final[Mapping[OutcomeKind | None, str]] = {
    OutcomeKind.APPROVED: "approved it, but it has not been executed yet",
    OutcomeKind.DECLINED: "declined it",
    OutcomeKind.CANCELLED: "did not decide; the request was cancelled",
    OutcomeKind.EXPIRED: "did not decide in time",
}
_UNDECIDED: Final = "has not decided yet"
_CHANGED: Final = {
    Difference.ADDED: "added",
    Difference.REMOVED: "dropped",
    Difference.CHANGED: "edited",
    Difference.BASIS: "changed meanwhile",
}
CUT_OFF: Final = (
    "You were interrupted while working in this folder. Your changes are still here. Continue where you"
    " stopped. When you exit, the difference becomes a plan that a person reviews."
)


APPLIED: Final = "applied it to the project"
UNDONE: Final = "applied it to the project, and undid that later"
DISCARDED: Final = "threw it away"
_AT_EXIT: Final = "When you exit"
AFTER_TURN: Final = "At the end of your turn"


def message_of(
    answer: PlanAnswer,
    checks: Sequence[CheckResult],
    *,
    since: str = "",
    applied: str = "",
    then: str = _AT_EXIT,
) -> str:
    """Everything new since that time, and the decision so far. `applied` says what became of the plan,
    `then` when the next one is made.
    """
    feedback = [one for one in answer.feedback if one.timestamp > since]
    first = (
        f"A person reviewed your change (plan {answer.name}, version {answer.version}) and {applied}."
        f" This folder is a fresh copy of the project as it is now. {then}, the difference becomes a"
        " new plan."
        if applied
        else f"A person reviewed your change (plan {answer.name}, version {answer.version}) and"
        f" {_decision(answer, feedback)}. Your change is still in this folder: continue here. {then},"
        " the difference becomes the next version of the same plan."
    )
    parts = [
        first,
        *_feedback_part(feedback),
        *_comments([one for one in answer.comments if one.timestamp > since]),
        *_note(answer),
        *_changes(answer, applied=bool(applied)),
        *_check_failures(checks),
    ]
    if len(parts) == 1:
        parts.append("They gave no further feedback.")
    return "\n\n".join(parts) + "\n"


def has_news(answer: PlanAnswer, since: str) -> bool:
    """Whether the person decided, said or changed something since then."""
    said = [one.timestamp for one in answer.feedback] + [one.timestamp for one in answer.comments]
    return answer.status is PlanStatus.APPROVED or bool(answer.changed) or max(said, default="") > since


def describe_moves(changed: Sequence[str], torn: Sequence[str]) -> str:
    """What changed in the project meanwhile."""
    if torn:
        return (
            "The project changed since your last turn, but this folder did not: it would contradict what you"
            f" changed in {_list_paths(torn)}. Changed in the project: {_list_paths(changed)}. Go on here;"
            " a person merges the two.\n"
        )
    return (
        "The project changed since your last turn. This folder has that now, beside your own changes. Read"
        f" these again before you use them: {_list_paths(changed)}\n"
    )


LACKS_IGNORED: Final = (
    "Files that git ignores, such as generated ones, are not in this folder. If something fails because one"
    " is missing, say so instead of making it.\n"
)


def _list_paths(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_PATHS} more" if len(paths) > _MOST_PATHS else ""
    return ", ".join(map(_one_line, paths[:_MOST_PATHS])) + more


def message_anew(answer: PlanAnswer, *, since: str = "") -> str:
    """For whoever makes the same change from the beginning: what the person said about it before."""
    feedback = [one for one in answer.feedback if one.timestamp > since]
    comments = [one for one in answer.comments if one.timestamp > since]
    first = "A person declined what was made of this step before. It is not in this folder: make it anew."
    return "\n\n".join([first, *_feedback_part(feedback), *_comments(comments)]) + "\n"


def _decision(answer: PlanAnswer, feedback: Sequence[Feedback]) -> str:
    """About the agent's last version; it was already told the outcome of earlier ones."""
    if answer.status is PlanStatus.APPROVED:
        return _DECIDED[OutcomeKind.APPROVED]
    if any(one.kind is FeedbackKind.DECLINED for one in feedback):
        return _DECIDED[OutcomeKind.DECLINED]
    if answer.outcome in {OutcomeKind.CANCELLED, OutcomeKind.EXPIRED}:
        return _DECIDED[answer.outcome]
    return _UNDECIDED


def _feedback_part(feedback: Sequence[Feedback]) -> Iterator[str]:
    if feedback:
        yield "Their feedback:\n" + "\n".join(_quote(one.text) for one in feedback)


def _comments(comments: Sequence[LineComment]) -> Iterator[str]:
    if comments:
        yield "Comments on lines:\n" + "\n".join(map(_comment, comments))


def _comment(one: LineComment) -> str:
    before = " (as it was before your change)" if one.side is Side.OLD else ""
    place, text, quote = map(_one_line, (one.path, one.text, one.quote))
    return f"{place}:{one.line}: {text}\n    the line{before}: {quote}"


def _note(answer: PlanAnswer) -> Iterator[str]:
    if answer.note:
        yield "They wrote with their approval:\n" + _quote(answer.note)


def _changes(answer: PlanAnswer, *, applied: bool) -> Iterator[str]:
    if not answer.changed:
        return
    lines = [f"- {_CHANGED[one.what]}: {_one_line(one.path)}" for one in answer.changed]
    first = (
        "They changed these files before they applied it. Keep their changes:"
        if applied
        else "They changed these files themselves. Keep their changes; they are already in this folder,"
        " except in files that you have changed since:"
    )
    yield "\n".join([first, *lines])
    diff = "\n".join(one.diff.rstrip("\n") for one in answer.changed)
    yield "Diff from your version to theirs:\n" + _quote(_beginning(diff, _MOST_DIFF))


def _check_failures(checks: Sequence[CheckResult]) -> Iterator[str]:
    for check in checks:
        if check.exit_code:
            output = check.output.strip()[-_MOST_OUTPUT:]
            yield f"This check {check.ended}: {_one_line(check.command)}\n" + _quote(output)


def _beginning(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    shown = text[:most].rpartition("\n")[0]
    return f"{shown}\n… {len(text) - len(shown)} characters more"


def _quote(text: str) -> str:
    return "\n".join(f"> {visible(line)}" for line in text.splitlines() or [""])


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
