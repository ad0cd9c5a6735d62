"""What a person said about a plan, put into words for the agent that goes on with it.

The words are for a program and so not translated. What the person wrote, and what a check printed, stands
in them as data, each line marked and filtered as on a screen: it becomes a word of a command line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ringi.domain.answer import OutcomeKind, PlanAnswer
from ringi.domain.feedback import Feedback, FeedbackKind, LineComment, Side
from ringi.domain.plan import CheckResult, PlanStatus
from ringi.domain.versions import Difference
from ringi.text import visible

_MOST_DIFF: Final = 12_000
_MOST_OUTPUT: Final = 4_000
_DECIDED: Final[Mapping[OutcomeKind | None, str]] = {
    OutcomeKind.APPROVED: "approved it, but it was not carried out yet",
    OutcomeKind.DECLINED: "declined it",
    OutcomeKind.CANCELLED: "did not decide; the question was taken back",
    OutcomeKind.EXPIRED: "did not decide in time",
}
_UNDECIDED: Final = "has not decided yet"
_CHANGED: Final = {
    Difference.ADDED: "added",
    Difference.REMOVED: "dropped",
    Difference.CHANGED: "edited",
}
CUT_OFF: Final = (
    "You were cut off while you worked in this folder; what you had changed is still here. Go on where you"
    " were. When you end, the difference becomes a plan that a person looks at."
)


def message_of(answer: PlanAnswer, checks: Sequence[CheckResult], *, since: str = "") -> str:
    """All that is new since that moment, and how things stand."""
    feedback = [one for one in answer.feedback if one.timestamp > since]
    first = (
        f"A person looked at your change (plan {answer.name}, version {answer.version}) and"
        f" {_decision(answer, feedback)}. Go on in this folder, where your change still is. When you end, the"
        " difference becomes the next version of the same plan."
    )
    parts = [
        first,
        *_said(feedback),
        *_comments([one for one in answer.comments if one.timestamp > since]),
        *_changes(answer),
        *_failed(checks),
    ]
    if len(parts) == 1:
        parts.append("They said nothing more about it.")
    return "\n\n".join(parts) + "\n"


def _decision(answer: PlanAnswer, feedback: Sequence[Feedback]) -> str:
    """About the version that the agent left: an outcome of an earlier one was told with that."""
    if answer.status is PlanStatus.APPROVED:
        return _DECIDED[OutcomeKind.APPROVED]
    if any(one.kind is FeedbackKind.DECLINED for one in feedback):
        return _DECIDED[OutcomeKind.DECLINED]
    if answer.outcome in {OutcomeKind.CANCELLED, OutcomeKind.EXPIRED}:
        return _DECIDED[answer.outcome]
    return _UNDECIDED


def _said(feedback: Sequence[Feedback]) -> Iterator[str]:
    if feedback:
        yield "What they said:\n" + "\n".join(_quoted(one.text) for one in feedback)


def _comments(comments: Sequence[LineComment]) -> Iterator[str]:
    if comments:
        yield "About single lines:\n" + "\n".join(map(_comment, comments))


def _comment(one: LineComment) -> str:
    before = " (as it was before your change)" if one.side is Side.OLD else ""
    place, text, quote = map(_one_line, (one.path, one.text, one.quote))
    return f"{place}:{one.line}: {text}\n    the line{before}: {quote}"


def _changes(answer: PlanAnswer) -> Iterator[str]:
    if not answer.changed:
        return
    lines = [f"- {_CHANGED[one.what]}: {_one_line(one.path)}" for one in answer.changed]
    yield (
        "What they changed in it themselves, which is theirs to decide; unless you had gone on with a file,"
        " it is in this folder already:\n" + "\n".join(lines)
    )
    diff = "\n".join(one.diff.rstrip("\n") for one in answer.changed)
    yield "From your version to theirs:\n" + _quoted(_beginning(diff, _MOST_DIFF))


def _failed(checks: Sequence[CheckResult]) -> Iterator[str]:
    for check in checks:
        if check.exit_code:
            output = check.output.strip()[-_MOST_OUTPUT:]
            yield (
                f"This check failed with exit code {check.exit_code}: {_one_line(check.command)}\n"
                + _quoted(output)
            )


def _beginning(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    shown = text[:most].rpartition("\n")[0]
    return f"{shown}\n… {len(text) - len(shown)} characters more"


def _quoted(text: str) -> str:
    return "\n".join(f"> {visible(line)}" for line in text.splitlines() or [""])


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
