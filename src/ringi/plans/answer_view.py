"""A person's answer to a plan, as its proposer reads it."""

from collections.abc import Iterable, Iterator
from typing import Final

from ringi.kernel.lines import Line, Style, line, prose
from ringi.kernel.text import Text
from ringi.plans.answer_document import Difference, OutcomeKind, PlanAnswer, SpecDifference
from ringi.plans.feedback import Feedback, LineComment

_OUTCOME: Final = {
    None: Text("no decision yet"),
    OutcomeKind.APPROVED: Text("approved"),
    OutcomeKind.DECLINED: Text("declined"),
    OutcomeKind.CANCELLED: Text("the request ended without a decision"),
    OutcomeKind.EXPIRED: Text("the request is too old"),
    OutcomeKind.NO_CHANNEL: Text("nobody could be asked"),
}


def answer_lines(answer: PlanAnswer) -> Iterator[Line]:
    facts = Text(
        "{plan}  {outcome} ({status} · version {version})",
        plan=answer.name,
        outcome=_OUTCOME[answer.outcome],
        status=str(answer.status),
        version=answer.version,
    )
    yield line(facts, Style.STRONG)
    yield from said_lines(answer.feedback, answer.comments)
    for one in answer.changed:
        yield line(_change(one), indent=2)
        for row in one.diff.removesuffix("\n").split("\n"):
            yield line(row, indent=4)


def said_lines(feedback: Iterable[Feedback], comments: Iterable[LineComment]) -> Iterator[Line]:
    for said in feedback:
        yield line(Text("The person said ({kind}):", kind=said.kind), indent=2)
        yield prose(said.text, Style.REMARK, indent=4)
    for one in comments:
        place = Text(
            "Comment on {path}:{line} ({side}, version {version}):",
            path=one.path,
            line=one.line,
            side=one.side,
            version=one.version,
        )
        yield line(place, indent=2)
        yield prose(one.text, Style.REMARK, indent=4)
        yield prose(one.quote, Style.FAINT, indent=4, mark="line: ")


def _change(one: SpecDifference) -> Text:
    if one.what is Difference.ADDED:
        return Text("The person added {path}:", path=one.path)
    if one.what is Difference.REMOVED:
        return Text("The person dropped {path}:", path=one.path)
    if one.what is Difference.BASIS:
        return Text("{path} changed in the project meanwhile:", path=one.path)
    return Text("The person edited {path}:", path=one.path)
