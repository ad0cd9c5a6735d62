"""A run: its steps as they are, what ran after them, what it took, and what is next."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ringi.engine.instruction import title_of
from ringi.engine.process import Process
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import OVER, RunPhase, StepStatus
from ringi.kernel.lines import Line, Style, TextSpan, line, prose, step
from ringi.kernel.text import COMMIT_SHOWN, GRANT_SHOWN, Text, moment
from ringi.plans.words import age, format_reused
from ringi.runs import machine
from ringi.runs.criteria import CriterionResult, criteria, results_of, summary
from ringi.runs.document import Evidence, Finding, Offer, Run, StepState
from ringi.runs.report import cost, duration, phase_of, phases, status_of, steps_nobody_saw

MARKS: Final = {
    StepStatus.WAITING: "·",
    StepStatus.WORKING: "▸",
    StepStatus.TESTING: "▸",
    StepStatus.REVIEWING: "▸",
    StepStatus.PROPOSED: "?",
    StepStatus.DONE: "✓",
}
_STYLES: Final = {
    StepStatus.WAITING: Style.FAINT,
    StepStatus.DONE: Style.GOOD,
    StepStatus.PROPOSED: Style.WARNING,
}
_PHASE_STYLES: Final = {
    RunPhase.COMPLETED: Style.GOOD,
    RunPhase.NEEDS_INPUT: Style.WARNING,
    RunPhase.FAILED: Style.BAD,
}
_LINES_SHOWN: Final = 3
_DETAIL_SHOWN: Final = 12


def run_facts(run: Run, *, working: bool = False) -> Text:
    phase = phase_now(run, working=working)
    return Text("{run} · {age} · {phase}", run=run.run_id, age=age(run.updated_at), phase=phase)


def phase_now(run: Run, *, working: bool = False) -> Text:
    done = sum(one.status is StepStatus.DONE for one in run.steps)
    phase = Text("at work now") if working else Text("interrupted") if _is_cut_off(run) else phase_of(run)
    return with_progress(phase, done, len(run.steps))


def _is_cut_off(run: Run) -> bool:
    """It is under way, and no process works on it."""
    under_way = run.phase in {RunPhase.EXECUTING, RunPhase.INTEGRATING}
    return under_way and not run.undone and not machine.is_paused(run)


def with_progress(phase: Text, done: int, count: int) -> Text:
    if not count or done == count:
        return phase
    return Text("{phase}, {done} of {count} steps done", phase=phase, done=done, count=count)


def head_lines(run: Run, *, working: bool = False) -> Iterator[Line]:
    yield prose(title_of(run.instruction), Style.STRONG)
    style = Style.GOOD if working else _PHASE_STYLES.get(run.phase, Style.PLAIN)
    yield prose(run_facts(run, working=working), style, indent=2)
    if run.work_branch:
        yield prose(Text("branch {branch}", branch=run.work_branch), Style.FAINT, indent=2)
    if run.offer:
        yield from _offer_lines(run.run_id, run.offer, over=run.phase in OVER)
    if run.planning_session_id:
        yield prose(Text("from {session}", session=run.planning_session_id), Style.FAINT, indent=2)


def _offer_lines(run_id: str, offer: Offer, *, over: bool) -> Iterator[Line]:
    if offer.url:
        yield prose(Text("review: {url}", url=offer.url), Style.FAINT, indent=2)
    if offer.left and over:  # else it is why the run has stopped
        yield from remainder_lines(run_id, offer)


def remainder_lines(run_id: str, offer: Offer) -> Iterator[Line]:
    """What the forge does not know yet."""
    yield prose(offer.why_left, Style.WARNING, indent=2, mark="! ")
    yield step(f"ringi continue {run_id}", indent=2)


def step_lines(
    run: Run, plan: RunPlan | None, printed: Sequence[str], plans: Mapping[str, str], most: int
) -> Iterator[Line]:
    """At most so many, those around the current one; below it the last lines that its command printed."""
    titles = {one.step_id: one.title for one in plan.steps} if plan else {}
    current = machine.current(run)
    begin = max(0, min(current - most // 2, len(run.steps) - most))
    if begin:
        yield line(Text("1 step before", "{count} steps before", count=begin), Style.FAINT, indent=2)
    for index, state in enumerate(run.steps[begin : begin + most], begin):
        yield _step(run, state, titles.get(state.step_id, ""), plans.get(state.step_id, ""))
        if index == current and state.status is not StepStatus.DONE:
            yield from (
                line(Text("{line}", line=one), Style.FAINT, indent=9) for one in printed[-_LINES_SHOWN:]
            )
    if (left := len(run.steps) - begin - most) > 0:
        yield line(Text("1 step after", "{count} steps after", count=left), Style.FAINT, indent=2)


def _step(run: Run, state: StepState, title: str, plan: str) -> Line:
    over = run.phase is RunPhase.CANCELLED and state.status is StepStatus.PROPOSED
    shown = StepStatus.WAITING if over else state.status
    spans = [TextSpan(title or state.step_id, _STYLES.get(shown, Style.STRONG))]
    for text in (*([plan] if plan else ()), *step_facts(state, status_of(run, state))):
        spans += [TextSpan(" · ", Style.FAINT), TextSpan(text)]
    return Line(tuple(spans), indent=2, mark=f"{MARKS[shown]} {state.step_id}  ", folds=True)


def step_facts(state: StepState, status: Text) -> Iterator[Text]:
    yield status
    if state.commit:
        yield Text("commit {commit}", commit=state.commit[:COMMIT_SHOWN])
    if state.grant:
        yield Text("standing approval {grant}", grant=state.grant[:GRANT_SHOWN])
    if state.tree and state.tree != state.base_tree:
        yield describe_size(state)
    if found := results_of(state):
        yield describe_tests(found)
    if state.changed_since_tested:
        yield Text("changed since it was tested")
    if state.findings:
        yield count_findings(state.findings)
    if state.cycle:
        yield Text("try {number}", number=state.cycle + 1)


def describe_size(state: StepState) -> Text:
    lines = Text("1 line", "{count} lines", count=state.lines)
    return Text("1 file, {lines}", "{count} files, {lines}", count=state.files, lines=lines)


def describe_tests(found: Sequence[Evidence]) -> Text:
    failed = [one for one in found if not one.passed]
    if failed:
        return Text("{command} failed", command=failed[0].command)
    return Text("tests: exit code 0")


def count_findings(findings: Sequence[Finding]) -> Text:
    return Text("1 finding of a machine", "{count} findings of a machine", count=len(findings))


def finding_line(one: Finding, indent: int) -> Line:
    where = f"{one.path}:{one.line}" if one.path and one.line else one.path
    words = Text("a machine's opinion ({role}, {severity}): {message}",
                 role=one.role, severity=one.severity, message=one.message)  # fmt: skip
    return prose(
        Text("{place}: {words}", place=where, words=words) if where else words, Style.REMARK, indent=indent
    )


def cost_line(run: Run) -> Line | None:
    spent = run.spent
    parts = [Text("worked for {time}", time=duration(spent.seconds))] if spent.seconds else []
    if spent.input_tokens or spent.output_tokens or spent.dollars:
        parts.append(cost(spent.input_tokens, spent.output_tokens, spent.dollars))
    parts += [format_reused(spent)] if spent.reused else []
    if not parts:
        return None
    words = parts[0]
    for part in parts[1:]:
        words = Text("{time} · {cost}", time=words, cost=part)
    return line(words, Style.FAINT, indent=2)


def stop_lines(run: Run) -> Iterator[Line]:
    """Why it stopped, and how it goes on."""
    if run.stop is None:
        yield from map(step, _next_steps(run))
        if _is_to_merge_there(run) and run.offer:
            yield prose(Text("Mark it as ready and merge it there: {url}", url=run.offer.url), indent=2)
        return
    stop = run.stop
    where = Text("{step}: {why}", step=stop.step_id, why=stop.why) if stop.step_id else stop.why
    bad = run.phase is RunPhase.FAILED
    yield prose(where, Style.BAD if bad else Style.WARNING, indent=2)
    yield from (line(Text("{line}", line=one), Style.FAINT, indent=4) for one in _last(stop.detail))
    if stop.next_action.startswith("ringi "):
        yield step(stop.next_action)
    else:
        # A path in it is copied: it is not folded.
        yield line(Text("→ {action}", action=stop.todo), indent=2)
        if "ringi " not in stop.next_action:
            yield step(f"ringi continue {run.run_id}")


def _next_steps(run: Run) -> Iterator[str]:
    if run.undone:
        return
    if run.phase is RunPhase.COMPLETED:
        yield f"ringi report {run.run_id}"
        if run.work_branch and not run.in_place and not _is_to_merge_there(run):
            yield f"git merge {run.work_branch}"
    elif run.phase not in OVER:
        yield f"ringi continue {run.run_id}"
    elif any(one.commit for one in run.steps):
        yield f"ringi undo {run.run_id}"


def _is_to_merge_there(run: Run) -> bool:
    return run.phase is RunPhase.COMPLETED and not run.undone and bool(run.offer and run.offer.url)


def _last(detail: str) -> list[str]:
    return detail.strip("\n").split("\n")[-_DETAIL_SHOWN:] if detail.strip() else []


def next_command(phase: RunPhase, run_id: str, next_action: str = "") -> str:
    """What to type for a run that can go on."""
    if next_action.startswith("ringi "):
        return next_action
    return f"ringi continue {run_id}" + (" --retry" if phase is RunPhase.FAILED else "")


def run_lines(
    run: Run,
    plan: RunPlan | None,
    printed: Sequence[str] = (),
    plans: Mapping[str, str] = {},
    *,
    working: bool = False,
    most: int = 99,
    standing: Sequence[tuple[str, str]] = (),
    processes: Sequence[Process] = (),
) -> Iterator[Line]:
    """`plans`: by step, the short name of its plan. `standing`: approvals for its steps, each until when."""
    yield from head_lines(run, working=working)
    for grant, until in standing:
        words = Text("unattended until {when} UTC: standing approval {grant}",
                     when=moment(until), grant=grant[:GRANT_SHOWN])  # fmt: skip
        yield line(words, Style.FAINT, indent=2)
    yield from step_lines(run, plan, printed, plans, most)
    if not working:
        from ringi.runs.revision_view import revision_lines  # noqa: PLC0415  # planning: most screens show none

        yield from revision_lines(processes)
    if (spent := cost_line(run)) is not None:
        yield spent
    if (by_phase := phases(run)) is not None:
        yield prose(Text("tokens: {phases}", phases=by_phase), Style.FAINT, indent=2)
    if plan and run.phase is RunPhase.COMPLETED:
        yield from criteria_lines(criteria(run, plan))
        yield from () if run.undone else nobody_saw_lines(run)
    if not working:
        yield from stop_lines(run)


def nobody_saw_lines(run: Run) -> Iterator[Line]:
    found = steps_nobody_saw(run)
    if found:
        names = ", ".join(one.step_id for one in found)
        yield prose(
            Text("Nobody has looked at {steps}. Before you merge the branch:", steps=names),
            Style.WARNING,
            indent=2,
        )
        yield step(f"git log -p {shlex.quote(f'{run.base_branch}..{run.work_branch}')}")


def criteria_lines(results: Sequence[CriterionResult]) -> Iterator[Line]:
    yield prose(summary(results), Style.WARNING, indent=2)
    for one in results:
        if one.lacks is not None:
            yield prose(Text("{criterion}: {what}", criterion=one.criterion.id, what=one.lacks), indent=4)
