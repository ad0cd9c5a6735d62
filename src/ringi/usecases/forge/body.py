"""The text of a run's pull or merge request: the report, and how anybody can check it."""

from collections.abc import Iterator
from typing import Final

from ringi.domain.forge import ForgeKind, ForgeTerms, ItemKind
from ringi.domain.run import Run, RunPhase
from ringi.domain.run_plan import RunPlan
from ringi.text import Text, lazy_pattern, visible
from ringi.usecases.forge.progress import LONGEST, Say
from ringi.views.run import title_of

_TITLE: Final = 200
_NOTES: Final = "refs/notes/ringi"
_FENCE: Final = lazy_pattern(r" {0,3}(`{3,}|~{3,})")
_CALLS: Final = lazy_pattern(
    r"(?P<code>(`+)(?:(?!\2).)+?\2)"
    r"|(?P<call>(?<![\w`/])@\w[\w.-]*|(?<![\w`&/])[#!]\d+\b"
    r"|https?://\S+?/(?:issues|work_items|pull|merge_requests)/\d+[^\s<>()]*)"
)


def change_title(run: Run, plan: RunPlan | None) -> str:
    words = plan.context.summary if plan and plan.context.summary.strip() else title_of(run.instruction)
    line = visible(" ".join(words.strip().split("\n")[0].split()), keep="")
    return line if len(line) <= _TITLE else f"{line[: _TITLE - 1]}…"


def change_body(run: Run, plan: RunPlan | None, terms: ForgeTerms, report: str, say: Say) -> str:
    """The report may quote anybody; here it calls nobody, and refers to nothing but the item of the run."""
    head = [f"Refs {_item(terms)}"] if terms.item else []
    end = "\n".join(_verifying(run, plan, terms, say))
    room = LONGEST - len(end) - 200
    shown = calm(report.strip())
    if len(shown) > room:
        cut = Text(
            "The rest of the report is where the run is: {command}", command=f"`ringi report {run.run_id}`"
        )
        shown = f"{shown[:room].rpartition(chr(10))[0]}\n\n{say(cut)}"
    return "\n\n".join([*head, say(_state(run)), shown, end]) + "\n"


def _state(run: Run) -> Text:
    if run.phase is RunPhase.COMPLETED:
        return Text("Every commit here was approved, and the notes of this repository prove it.")
    return Text(
        "Nobody has approved these commits yet. An approving review of the newest one by a person who may "
        "write to this project approves all of them; requested changes go back to the run. The report is as "
        "it will be once they are approved."
    )


def _item(terms: ForgeTerms) -> str:
    if not terms.item:
        return ""
    merge = terms.item.kind is ItemKind.CHANGE and terms.project.kind is ForgeKind.GITLAB
    return f"{'!' if merge else '#'}{terms.item.number}"


def _verifying(run: Run, plan: RunPlan | None, terms: ForgeTerms, say: Say) -> Iterator[str]:
    yield f"## {say(Text('How to verify'))}"
    yield ""
    head = run.offer.head if run.offer else ""
    words = [f"git fetch {terms.remote} {run.work_branch}", f"git switch --detach {head}"]
    steps = plan.steps if plan else ()
    words += dict.fromkeys(
        command
        for step in steps
        for command in (*(step.commands.unit or ()), *(step.commands.e2e or ()))
        if "\n" not in command
    )
    if run.phase is RunPhase.COMPLETED:
        words += [f"git fetch {terms.remote} +{_NOTES}:{_NOTES}", f"ringi verify {run.base_commit}..{head}"]
    ticks = "`" * max([3, *(len(word) + 1 for word in " ".join(words).split() if set(word) == {"`"})])
    yield from [f"{ticks}sh", *(visible(word, keep="") for word in words), ticks]


def calm(text: str) -> str:
    """Markdown in which names, numbers and addresses of issues are code: a forge would call and link them."""
    lines, fence = list[str](), ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark:
            closes = bool(fence) and mark[1].startswith(fence) and line.strip() == mark[1]
            fence = "" if closes else fence or mark[1]
        shown = line if fence or mark else _CALLS.sub(lambda one: one["code"] or f"`{one['call']}`", line)
        lines.append(f"\\{shown}" if not fence and shown.startswith("/") else shown)
    return "\n".join(lines)
