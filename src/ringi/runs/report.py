"""report.md (RN-12): what was asked, what was done, and what is known about each acceptance criterion."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from ringi.approvals.document import ProofKind, Strength
from ringi.approvals.forge import page_of
from ringi.engine.instruction import ANSWER, NO_REASON, REASON, Instruction, language_of
from ringi.engine.run_plan import RunPlan, RunStep
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.kernel.text import COMMIT_SHOWN, GRANT_SHOWN, Text, in_language, restore_text, visible
from ringi.models.budget import SpentOn, by_phase, limit_of
from ringi.models.usage import RunBudget
from ringi.runs import machine
from ringi.runs.criteria import StepResult, as_code, criteria, one_line, results_of, steps, summary
from ringi.runs.document import Attempt, Evidence, Finding, Run, RunApproval, RunFacts, StepState, StopCode
from ringi.runs.files import log_path

Say = Callable[[Text], str]
_PHASE: Final = {
    SpentOn.PLANNING: Text("planning"),
    SpentOn.EXECUTION: Text("execution"),
    SpentOn.REFLECTION: Text("reflection"),
}
_DIGEST_SHOWN: Final = 16
_MINUTE: Final = 60
_SHORT: Final = 10
"""Seconds shown with a fraction."""
_SECOND: Final = len("2026-01-01T00:00:00")

PHASE: Final = {
    RunPhase.PLANNING: Text("waits to be started"),
    RunPhase.EXECUTING: Text("running"),
    RunPhase.INTEGRATING: Text("being put together"),
    RunPhase.COMPLETED: Text("done"),
    RunPhase.NEEDS_INPUT: Text("needs you"),
    RunPhase.CANCELLED: Text("cancelled"),
    RunPhase.FAILED: Text("failed"),
}
_NOT_CHECKED: Final = Text(
    "The commands below ran after the steps that are linked to a criterion. How they ended does not say "
    "whether the criterion holds: look at the commits."
)
_UNDER_WAY: Final = frozenset([StepStatus.WORKING, StepStatus.TESTING, StepStatus.REVIEWING])
STEP: Final = {
    StepStatus.WAITING: Text("not begun"),
    StepStatus.WORKING: Text("being worked on"),
    StepStatus.TESTING: Text("being tested"),
    StepStatus.REVIEWING: Text("being reviewed"),
    StepStatus.PROPOSED: Text("waits for your approval"),
    StepStatus.DONE: Text("done"),
}

_PROOF: Final = {
    ProofKind.TYPED: Text("typed"),
    ProofKind.SIGNED: Text("signed"),
    ProofKind.GRANT: Text("a standing approval"),
    ProofKind.REVIEW: Text("a review on the forge"),
    ProofKind.CONFIGURED: Text("the configuration"),
}
_STRENGTH: Final = {
    Strength.WEAK: Text("weak"),
    Strength.MEDIUM: Text("medium strength"),
    Strength.STRONG: Text("strong"),
}


def phase_of(run: Run) -> Text:
    return Text("undone") if run.undone else PHASE[run.phase]


def report_of_run(run: Run, plan: RunPlan | None, facts: RunFacts) -> str:
    """In the language of the request, whatever the language of the user."""
    return report(run, plan, facts, in_language(language_of(run.instruction)))


def report(run: Run, plan: RunPlan | None, facts: RunFacts, say: Say) -> str:
    """The whole document; `say` translates."""
    title = plan.context.summary if plan else run.instruction
    parts = [
        [f"# {say(Text('Report: {title}', title=one_line(title.strip().split(chr(10))[0])))}"],
        _head(run, say),
        _request_lines(run, plan, say),
        *(
            [_criteria(run, plan, say), _steps(run, plan, facts, say), _deviations(run, plan, say)]
            if plan
            else []
        ),
        _next(run, say),
    ]
    return "\n\n".join(text for part in parts if (text := "\n".join(part))) + "\n"


def _head(run: Run, say: Say) -> Iterator[str]:
    yield f"**{say(phase_of(run))}**" + (f" · `{run.stop.reason_code}`" if run.stop else "")
    yield ""
    lines = [
        (Text("Request"), as_code(run.request_id) if run.request_id else ""),
        (Text("Asked for in"), _page(run)),
        (Text("Run"), as_code(run.run_id)),
        (Text("Planning session"), as_code(run.planning_session_id) if run.planning_session_id else ""),
        (Text("Plans anew"), as_code(run.replaces) if run.replaces else ""),
        (Text("Planned anew as"), as_code(run.replaced_by) if run.replaced_by else ""),
        (Text("Branch"), _branch(run, say)),
        (Text("Began"), _moment(run.created_at)),
        (Text("Last change"), _moment(run.updated_at)),
        (Text("Time of the roles"), say(duration(run.spent.seconds)) if run.spent.seconds else ""),
        (Text("Tokens and cost"), _cost(run, say)),
        (Text("Tokens by phase"), say(words) if (words := phases(run)) else ""),
        (Text("Steps that nobody looked at"), ", ".join(one.step_id for one in steps_nobody_saw(run))),
    ]
    yield from (f"- {say(name)}: {value}" for name, value in lines if value)


def _page(run: Run) -> str:
    """Of the issue or change that it came from."""
    return page_of(run.forge.project, run.forge.item) if run.forge and run.forge.item else ""


def _branch(run: Run, say: Say) -> str:
    if not run.work_branch:
        return ""
    base = run.base_commit[:COMMIT_SHOWN] or "?"
    return say(Text("{branch}, from {base} ({commit})", branch=as_code(run.work_branch),
                    base=as_code(run.base_branch), commit=as_code(base)))  # fmt: skip


def _cost(run: Run, say: Say) -> str:
    spent = run.spent
    if not (spent.input_tokens or spent.output_tokens or spent.dollars):
        return ""
    return say(cost(spent.input_tokens, spent.output_tokens, spent.dollars))


def cost(given: int, written: int, dollars: float) -> Text:
    if not dollars:  # the cost is unknown, or it was free
        return Text("{given} tokens in, {written} out", given=given, written=written)
    return Text("{given} tokens in, {written} out, ${dollars}",
                given=given, written=written, dollars=f"{dollars:.4f}")  # fmt: skip


def phases(run: Run) -> Text | None:
    """What models took against what they may; None if that says no more than the cost."""
    spent, taken = run.spent, by_phase(run.spent)
    if not any(taken.values()) or (
        run.budget == RunBudget() and taken[SpentOn.EXECUTION] == sum(taken.values())
    ):
        return None
    words = [_of_phase(_PHASE[phase], taken[phase], limit_of(run.budget, phase)) for phase in SpentOn]
    whole = _of_phase(Text("in all"), spent.input_tokens + spent.output_tokens, run.budget.tokens)
    return Text("{planning} · {execution} · {reflection} · read from the project: {read} · {whole}",
                planning=words[0], execution=words[1], reflection=words[2],
                read=f"{spent.material_tokens:,}", whole=whole)  # fmt: skip


def _of_phase(name: Text, taken: int, most: int | None) -> Text:
    if most is None:
        return Text("{phase} {taken}", phase=name, taken=f"{taken:,}")
    return Text("{phase} {taken} of {most}", phase=name, taken=f"{taken:,}", most=f"{most:,}")


def _request_lines(run: Run, plan: RunPlan | None, say: Say) -> Iterator[str]:
    yield f"## {say(Text('Request'))}"
    yield ""
    # Without a session the instruction repeats the criteria of the plan, which come below.
    planned = run.planning_session_id or plan is None
    told = Instruction.read(run.instruction if planned and run.instruction else _summary(plan))
    yield from (f"> {visible(line)}".rstrip() for line in told.asked.strip().splitlines())
    for items in filter(None, (told.answers, told.decisions)):
        yield ""
        yield from (visible(_answer(line)) for line in items.split("\n") if line != NO_REASON)


def _answer(line: str) -> str:
    label = next(filter(line.startswith, (ANSWER, REASON)), "")
    return f"  → {line.removeprefix(label)}" if label else line


def _summary(plan: RunPlan | None) -> str:
    return plan.context.summary if plan else ""


def _criteria(run: Run, plan: RunPlan, say: Say) -> Iterator[str]:
    results = criteria(run, plan)
    yield f"## {say(summary(results, as_code))}"
    if results:
        yield ""
        yield say(_NOT_CHECKED)
    for one in results:
        asked = one.criterion
        yield ""
        yield f"### {one_line(asked.id)} — {say(Text('not checked'))}"
        yield ""
        given, when, then = (one_line(words) for words in (asked.given, asked.when, asked.then))
        yield say(Text("Given {given}; when {when}; then {then}", given=given, when=when, then=then))
        yield ""
        for step in one.steps:
            yield f"- {_step_title(step.step)} — {_commit_or_status(step.state, say)}"
            yield from (f"  - {_proof(proof, say)}" for proof in results_of(step.state))
            if step.state.changed_since_tested:
                yield f"  - {say(Text('changed since it was tested'))}"
        if one.lacks is not None:
            yield f"- {say(one.lacks)}"


def _step_title(step: RunStep) -> str:
    return f"{step.step_id} {one_line(step.title)}"


def _commit_or_status(state: StepState, say: Say) -> str:
    if state.commit:
        return say(Text("commit {commit}", commit=as_code(state.commit[:COMMIT_SHOWN])))
    return say(STEP[state.status])


def status_of(run: Run, state: StepState) -> Text:
    """The step at which a run has stopped is not under way, unless it is the person's."""
    stop = run.stop
    if run.phase is RunPhase.CANCELLED and state.status in _UNDER_WAY:
        return Text("stopped here")
    if run.phase is RunPhase.CANCELLED and state.status is StepStatus.PROPOSED:
        return Text("was not approved")
    ours = stop is not None and stop.reason_code is not StopCode.PERSON_NEEDED
    if ours and state.status in _UNDER_WAY and state in run.steps[machine.current(run) :][:1]:
        return Text("stopped here")
    return STEP[state.status]


def _proof(one: Evidence, say: Say) -> str:
    words = [
        say(Text("{command}: exit code {code}", command=as_code(one.command), code=one.exit_code)),
        say(duration(one.duration_sec)),
        say(Text("output {digest}", digest=as_code(f"sha256:{one.output_sha256[:_DIGEST_SHOWN]}"))),
    ]
    words += [say(Text("time was up"))] if one.timed_out else []
    words += [] if one.sandboxed else [say(Text("not in a sandbox"))]
    words += (
        [say(Text("may be about other files: {why}", why=say(_translate(one.doubt))))] if one.doubt else []
    )
    return " · ".join(words)


def _steps(run: Run, plan: RunPlan, facts: RunFacts, say: Say) -> Iterator[str]:
    results = steps(run, plan)
    done = sum(one.state.status is StepStatus.DONE for one in results)
    yield f"## {say(Text('Steps: {done} of {count} done', done=done, count=len(results)))}"
    for approval in facts.approvals:
        if not approval.step_id:
            yield ""
            yield say(Text("The plan: {approval}", approval=_describe_approval(approval)))
    for one in results:
        yield ""
        yield f"### {_step_title(one.step)} — {say(status_of(run, one.state))}"
        yield ""
        yield from (f"- {line}" for line in _step_lines(run, one, facts, say))


def _step_lines(run: Run, one: StepResult, facts: RunFacts, say: Say) -> Iterator[str]:
    state = one.state
    if one.step.intent != one.step.title:
        yield one_line(one.step.intent)
    if state.tree:
        expected = one.step.expected_diff
        changed = Text(
            "files: {files} (expected: at most {most_files}), lines: {lines} (expected: at most {most})",
            files=state.files,
            lines=state.lines,
            most_files=expected.files_max,
            most=expected.lines_max,
        )
        yield say(changed)
    if state.commit:
        yield say(Text("commit {commit}", commit=as_code(state.commit)))
    if name := facts.plans.get(one.step.step_id):
        yield say(Text("plan {plan}", plan=as_code(name)))
    yield from (
        say(_describe_approval(approval))
        for approval in facts.approvals
        if approval.step_id == one.step.step_id
    )
    if state.started_at:
        begin, end = _moment(state.started_at), _moment(state.ended_at) or "…"
        yield say(Text("{begin} to {end}", begin=begin, end=end))
    yield from (" · ".join([_attempt(attempt, say), *_log(run, attempt.log)]) for attempt in state.attempts)
    yield from (" · ".join([_proof(proof, say), *_log(run, proof.log)]) for proof in results_of(state))
    if state.changed_since_tested:
        yield say(Text("changed since it was tested"))
    yield from (_finding(finding, say) for finding in state.findings)


def steps_nobody_saw(run: Run) -> tuple[StepState, ...]:
    """Steps that were committed under a standing approval."""
    return tuple(one for one in run.steps if one.grant)


def _describe_approval(approval: RunApproval) -> Text:
    if approval.grant:
        return Text("covered by the standing approval {grant} of {who}, {when}; nobody looked at it",
                    grant=as_code(approval.grant[:GRANT_SHOWN]), who=one_line(approval.approver),
                    when=_moment(approval.at))  # fmt: skip
    return Text("approved by {who}, {when} ({proof}, {strength})", who=one_line(approval.approver),
                when=_moment(approval.at), proof=_PROOF[approval.proof],
                strength=_STRENGTH[approval.strength])  # fmt: skip


def _attempt(one: Attempt, say: Say) -> str:
    words = [say(Text("{role}: {who}", role=one.role, who=one_line(one.who)))]
    if one.exit_code is not None:
        words.append(say(Text("exit code {code}", code=one.exit_code)))
    if one.spent.seconds:
        words.append(say(duration(one.spent.seconds)))
    if one.spent.input_tokens or one.spent.output_tokens or one.spent.dollars:
        words.append(say(cost(one.spent.input_tokens, one.spent.output_tokens, one.spent.dollars)))
    if one.spent.reused:
        words.append(say(Text("from the cache, answered {when}", when=_moment(one.spent.reused_from))))
    if one.problem:
        words.append(say(Text("had to work again: {why}", why=say(_translate(one.problem)))))
    return " · ".join(words)


def _log(run: Run, path: str) -> list[str]:
    return [as_code(log_path(run.request_id, run.run_id, path))] if path else []


def _finding(one: Finding, say: Say) -> str:
    where = f"{one.path}:{one.line}" if one.path and one.line else one.path
    about = " · ".join(one_line(part) for part in (one.criterion, where) if part)
    words = say(Text("a machine's opinion ({role}, {severity}): {message}",
                     role=one.role, severity=one.severity, message=one_line(one.message)))  # fmt: skip
    return f"{words} ({about})" if about else words


def deviations(run: Run, plan: RunPlan) -> Iterator[Text]:
    """Where the result is not what was planned."""
    for step, state, _why in steps(run, plan):
        name, expected = step.step_id, step.expected_diff
        if state.status is not StepStatus.DONE:
            yield Text("{step} is not done: {status}", step=name, status=status_of(run, state))
        if state.lines > expected.lines_max:
            yield Text("{step} changed {lines} lines; at most {most} were expected",
                       step=name, lines=state.lines, most=expected.lines_max)  # fmt: skip
        most = min(expected.files_max, plan.limits.max_files_changed or expected.files_max)
        if state.files > most:
            yield Text("{step} changed {files} files; at most {most} were expected",
                       step=name, files=state.files, most=most)  # fmt: skip
        again = sum(1 for one in state.attempts if one.problem)
        if again:
            yield _count_extra_turns(name, again)
        if state.plan_version > 1:
            yield Text("{step} was changed after it was first proposed", step=name)
        if any(not one.sandboxed for one in results_of(state)):
            yield Text("the tests of {step} ran after the approval, because there is no sandbox", step=name)
    for one in criteria(run, plan):
        if one.lacks is not None:
            yield Text("{criterion}: {what}", criterion=one_line(one.criterion.id), what=one.lacks)
    yield from _amendments(run)


def _amendments(run: Run) -> Iterator[Text]:
    """What a person added while it was under way."""
    if run.allowed:
        paths = ", ".join(as_code(path) for path in run.allowed)
        yield Text("a person let the steps also change {paths}", paths=paths)
    if run.tests:
        commands = ", ".join(as_code(command) for command in run.tests)
        yield Text(
            "a person had steps tested with {commands} instead of what the plan names", commands=commands
        )


def _count_extra_turns(step_id: str, count: int) -> Text:
    if count == 1:
        return Text("{step} was worked on once more than planned", step=step_id)
    return Text(
        "{step} was worked on once more than planned",
        "{step} was worked on {count} times more than planned",
        step=step_id,
        count=count,
    )


def _deviations(run: Run, plan: RunPlan, say: Say) -> Iterator[str]:
    yield f"## {say(Text('Deviations from the plan'))}"
    yield ""
    found = [say(one) for one in deviations(run, plan)] or [say(Text("none"))]
    yield from (f"- {one}" for one in found)
    for title, lines in ((Text("Assumed"), plan.assumptions), (Text("Risks"), plan.risks)):
        if lines:
            yield ""
            yield f"## {say(title)}"
            yield ""
            yield from (f"- {one_line(line)}" for line in lines)


def _next(run: Run, say: Say) -> Iterator[str]:
    if run.stop is None:
        return
    yield f"## {say(Text('What to do next'))}"
    yield ""
    yield one_line(say(run.stop.why))
    yield ""
    yield f"→ {one_line(say(run.stop.todo))}"
    if run.stop.detail:
        yield ""
        yield from _fence(run.stop.detail)


def _fence(text: str) -> Iterable[str]:
    lines = [visible(line) for line in text.strip("\n").splitlines()]
    fence = "`" * max([3, *(len(line) - len(line.lstrip("`")) + 1 for line in lines)])
    return [fence, *lines, fence]


def duration(seconds: float) -> Text:
    if seconds < _SHORT:
        return Text("{seconds} s", seconds=f"{seconds:.1f}")
    if seconds < 2 * _MINUTE:
        return Text("{seconds} s", seconds=round(seconds))
    return Text("{minutes} min {seconds} s", minutes=int(seconds // _MINUTE), seconds=int(seconds % _MINUTE))


def _moment(at: str) -> str:
    """To the second, in UTC, as everything in the ledger is."""
    return f"{one_line(at)[:_SECOND].replace('T', ' ')} UTC" if at else ""


def _translate(words: str) -> Text:
    """Translated if it is a sentence of ours; on one line."""
    return restore_text(one_line(words))
