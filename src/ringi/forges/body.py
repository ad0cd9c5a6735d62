"""The text of a run's pull or merge request: the report, and how to check it."""

from collections.abc import Iterator
from typing import Final

from ringi.approvals.forge import ForgeTerms
from ringi.approvals.view import item_number
from ringi.engine.instruction import title_of
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import RunPhase
from ringi.forges.markdown import defuse
from ringi.forges.progress import LONGEST, Say
from ringi.kernel.text import Text, visible
from ringi.runs.document import Run

_TITLE: Final = 200
_NOTES: Final = "refs/notes/ringi"


def change_title(run: Run, plan: RunPlan | None) -> str:
    words = plan.context.summary if plan and plan.context.summary.strip() else title_of(run.instruction)
    line = visible(" ".join(words.strip().split("\n")[0].split()), keep="")
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


def change_body(
    run: Run,
    plan: RunPlan | None,
    terms: ForgeTerms,
    report: str,
    say: Say,
    *,
    counts: bool = True,
    reviewed: bool = False,
) -> str:
    """`counts`: a review there does. `reviewed`: one has approved some of it.

    The report may quote people; here it notifies none of them, and links only the item of the run.
    """
    head = [f"Refs {item_number(terms.project, terms.item)}"] if terms.item else []
    end = "\n".join(_verifying(run, plan, terms, say, reviewed=reviewed))
    room = LONGEST - len(end) - 200
    shown = defuse(report.strip())
    if len(shown) > room:
        cut = Text(
            "The rest of the report is where the run is: {command}", command=f"`ringi report {run.run_id}`"
        )
        shown = f"{shown[:room].rpartition(chr(10))[0]}\n\n{say(cut)}"
    return "\n\n".join([*head, say(_state(run, counts=counts)), shown, end]) + "\n"


def _state(run: Run, *, counts: bool) -> Text:
    if run.phase is RunPhase.COMPLETED:
        return Text(
            "Every commit here was approved, and the notes of this repository prove it. It is still a draft: "
            "mark it as ready and merge it."
        )
    if not counts:
        return Text(
            "Nobody has approved these commits yet, and a review here approves nothing: a person approves "
            "them where the run is, with {command}. Requested changes go back to the run. The report below "
            "is as it will be once they are approved.",
            command="`ringi review`",
        )
    return Text(
        "Nobody has approved these commits yet. An approving review of the newest one by a person who may "
        "write to this project approves all of them; requested changes go back to the run. The report below "
        "is as it will be once they are approved."
    )


def _verifying(
    run: Run, plan: RunPlan | None, terms: ForgeTerms, say: Say, *, reviewed: bool
) -> Iterator[str]:
    yield f"## {say(Text('How to verify'))}"
    yield ""
    head = run.offer.head if run.offer else ""
    words = [f"git fetch {terms.remote} {run.work_branch}", f"git switch --detach {head}"]
    steps = plan.steps if plan else ()
    words += dict.fromkeys(
        command
        for step in steps
        for command in (*(run.tests or step.commands.unit or ()), *(step.commands.e2e or ()))
        if "\n" not in command
    )
    if run.phase is RunPhase.COMPLETED:
        asking = " --reviews" if reviewed else ""  # else it counts no more than a typed answer
        words += [f"git fetch {terms.remote} +{_NOTES}:{_NOTES}"]
        words += [f"ringi verify {run.base_commit}..{head}{asking}"]
    ticks = "`" * max([3, *(len(word) + 1 for word in " ".join(words).split() if set(word) == {"`"})])
    yield from [f"{ticks}sh", *(visible(word, keep="") for word in words), ticks]
