"""Who works on a step of a run, and who judges it: a command, a model or a person, as configured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec.structs import replace

from ringi.agents.output import documents
from ringi.agents.sandbox import agent_sandbox
from ringi.agents.state import SandboxContext
from ringi.config.keys import RoleConfig, RoleHow
from ringi.engine.instruction import language_of
from ringi.engine.run_plan import RunPlan, RunRole, RunStep, e2e_commands
from ringi.errors import BudgetUsed, Interrupted, NoSuchProgram, NotFound, RingiError, RoleTimeout
from ringi.kernel.document import prepare
from ringi.kernel.process.capture import CommandResult
from ringi.kernel.process.program import program_name, program_of
from ringi.kernel.text import Text, visible
from ringi.models.prompt import Material, NewVerdict, Prompt
from ringi.models.usage import PLAYBOOK, Purpose, Spent, total
from ringi.policy.files import is_credential
from ringi.policy.gh import runs_gh
from ringi.policy.globs import globs
from ringi.runs.brief import JUDGES, BriefFacts, SessionDecision, brief_of
from ringi.runs.document import Finding, Stop, StopCode, stop_for
from ringi.runs.gates import unit_commands
from ringi.runs.model_budget import price_of, role_left, run_budget, run_left
from ringi.runs.role_command import RoleRun, run_command, words_of
from ringi.runs.role_model import VERDICT_RULES, BudgetedModel, ModelLimits, TurnTime, files_shown
from ringi.runs.role_planner import Planner, PlannerTools
from ringi.runs.role_process import StepOrder, process_of, sum_uncounted, work_with_tools
from ringi.runs.role_work import RoleTask, RoleWork, describe_timeout, gh_stop, no_role_stop, time_key
from ringi.sessions.document import DecisionPoint, Question
from ringi.tree.copy_steps import list_changed_paths

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_CONTEXT_TOKENS: Final = 1_500
_FILES_TOKENS: Final = 24_000
_TELL_COST: Final = "command:claude"
_LONGEST: Final = 600
_AGAIN: Final = "Your last answer was no verdict: "
_MOST_BYTES_READ: Final = 1_000_000


class ConfiguredRoles:
    """Implements `Roles`. `commands` replace what is configured, for one run."""

    def __init__(self, workspace: Workspace, commands: Mapping[RunRole, str] | None = None) -> None:
        self._workspace = workspace
        self._commands = commands or {}
        self._by_model = False

    def by_model(self) -> ConfiguredRoles:
        """The same, with a model in every role; only a command that was given replaces one."""
        found = ConfiguredRoles(self._workspace, self._commands)
        found._by_model = True
        return found

    def _role(self, name: RunRole) -> RoleConfig:
        found = self._workspace.config.role(name, by_model=self._by_model)
        if command := self._commands.get(name, ""):
            return replace(found, how=RoleHow.COMMAND, command=command)
        return found

    def has(self, role: RunRole) -> bool:
        return self._role(role).worker is not None

    # ------------------------------------------------------------------ before anything runs

    def check(self, plan: RunPlan) -> Stop | None:
        for command in _commands_of(plan):
            if runs_gh(command):
                return gh_stop(command, Text("Remove it from the plan: ringi run starts with a new one"))
        wanted = [*(step.role for step in plan.steps), *filter(self.has, sorted(JUDGES))]
        return next(filter(None, map(self._check_role, dict.fromkeys(wanted))), None)

    def _check_role(self, name: RunRole) -> Stop | None:
        role = self._role(name)
        match role.worker:
            case None:
                return no_role_stop(name, self._workspace.config)
            case RoleHow.COMMAND:
                return self._check_command(name, role)
            case RoleHow.MODEL:
                return self._check_model(name, role)
        return None

    def _check_command(self, name: RunRole, role: RoleConfig) -> Stop | None:
        key = f"roles.{name}.command"
        if runs_gh(role.command):
            return gh_stop(role.command, Text("Change {key}", key=key))
        if role.token_limit is not None or role.dollar_limit is not None:
            message = Text(
                "roles.{role} has a budget, but a command does not say what it spends: it cannot be kept.",
                role=name,
            )
            return stop_for(StopCode.NO_ROLE, message, Text("Remove the budget, or use a model"))
        try:
            words = words_of(role.command)
            program_of(words, self._workspace.places.root, self._workspace.environment)
        except NoSuchProgram as error:
            program = error.details["name"]
        else:
            return None
        if name in self._commands:  # given for this run: there may be no such key
            then = Text("Install it, or name another: ringi continue --retry --with COMMAND")
            return stop_for(StopCode.NO_ROLE, Text("There is no program {name}.", name=program), then)
        message = Text("{key}: there is no program {name}.", key=key, name=program)
        return stop_for(StopCode.NO_ROLE, message, Text("Install it, or change {key}", key=key))

    def _check_model(self, name: RunRole, role: RoleConfig) -> Stop | None:
        model, key = role.model, f"roles.{name}.model"
        if model == PLAYBOOK:
            message = Text("The playbook cannot do the work of roles.{role}.", role=name)
            return stop_for(StopCode.NO_ROLE, message, Text("Set {key} to a language model", key=key))
        try:
            self._workspace.named_model(model)
        except RingiError as error:
            hint = Text(error.hint, **error.details) if error.hint else Text("Change {key}", key=key)
            return stop_for(StopCode.NO_ROLE, Text(error.message, **error.details), hint)
        limited = role.dollar_limit is not None or self._workspace.config.runs.dollar_limit is not None
        if limited and self._price(model) is None and model != _TELL_COST:
            message = Text("Dollars are limited, and what {model} costs is not known.", model=model)
            example = f'llm: {{prices: ["{model} 1.25 10"]}}'
            return stop_for(
                StopCode.NO_ROLE,
                message,
                Text("Say what a million tokens cost, in and out: {example}", example=example),
            )
        return None

    def _price(self, model: str) -> tuple[float, float] | None:
        return price_of(model, self._workspace.config.llm.price_by_model)

    # ------------------------------------------------------------------ before there is a run

    def planner(self) -> Planner | None:
        """None if the role is unfilled, or a person has it, who plans in a session."""
        role = self._role(RunRole.PLANNER)
        if role.worker not in {RoleHow.COMMAND, RoleHow.MODEL}:
            return None
        workspace = self._workspace

        def caller(spent: Spent) -> BudgetedModel:
            left = (
                *run_left(run_budget(workspace.config.runs), spent),
                *role_left(RunRole.PLANNER, role, spent),
            )
            limits = ModelLimits(left, self._price(role.model))
            turn = TurnTime(time_key(RunRole.PLANNER), role.timeout_sec)
            return BudgetedModel(workspace.named_model(role.model), limits, workspace.budget, turn)

        tools = PlannerTools(workspace, lambda: self._check_role(RunRole.PLANNER), caller)
        return Planner(tools, role, _who(role))

    # ------------------------------------------------------------------ at work

    def work(self, task: RoleTask) -> RoleWork:
        return self._take_turn(task, _RoleTurn.work)

    def judge(self, task: RoleTask) -> RoleWork:
        return self._take_turn(task, _RoleTurn.judge)

    def _take_turn(self, task: RoleTask, act: Callable[[_RoleTurn], RoleWork]) -> RoleWork:
        role = self._role(task.role)
        if task.state.fallback and task.role is task.step.role:
            role = _fallback_role(role, task.step)
        if role.worker is None:
            why = no_role_stop(task.role, self._workspace.config)
            problem = Text("{message} {next}", message=why.why, next=why.todo)
            return RoleWork(RoleHow.PERSON, "", 1, problem=problem, code=why.reason_code)
        turn = _RoleTurn(self._workspace, role, task, self._price(role.model))
        if task.copy.is_gone:
            return turn.report_lost_copy()
        try:
            return act(turn)
        except BudgetUsed as error:
            return turn.report_failure(error, StopCode.BUDGET_EXCEEDED)
        except RoleTimeout as error:
            return turn.report_failure(error, StopCode.ROLE_TIMEOUT)._replace(timed_out=True)
        except Interrupted:  # the step begins anew when the run goes on
            raise
        except RingiError as error:
            return turn.report_failure(error)


def _fallback_role(role: RoleConfig, step: RunStep) -> RoleConfig:
    """As the step's fallback names it, such as {"how": "command", "command": "codex"}."""
    named = step.fallback or {}
    command, model = str(named.get("command", "")), str(named.get("model", ""))
    usual = RoleHow.COMMAND if command else RoleHow.MODEL if model else RoleHow.PERSON
    how = RoleHow(named["how"]) if named.get("how") in set(RoleHow) else usual
    return replace(role, how=how, command=command or role.command, model=model or role.model)


class _Briefs:
    """What the holder of a role reads."""

    def __init__(self, workspace: Workspace, how: RoleHow | None, task: RoleTask) -> None:
        self._workspace = workspace
        self._how = how
        self._task = task

    def write(self, again: str = "") -> str:
        task, by_model = self._task, self._how is RoleHow.MODEL
        asked, points = self._session_answers()
        facts = BriefFacts(
            task.plan,
            task.step,
            task.role,
            language_of(task.run.instruction or task.plan.context.summary),
            answers=tuple((one.question, one.answer) for one in asked if one.answer),
            decisions=tuple(_decisions(points)),
            commits=[("", one) for _, one in task.commits] if by_model else task.commits,
            feedback="\n\n".join(filter(None, [task.feedback, again])),
            context="" if by_model else self.context,
            diff="" if by_model else task.diff,
            by_model=by_model,
            answers_in_json=task.role in JUDGES and self._how is RoleHow.COMMAND,
            allowed=task.run.allowed,
            tests=(*unit_commands(task.run, task.plan, task.step), *e2e_commands(task.plan, task.step)),
        )
        text = brief_of(facts)
        task.keep(f"briefs/{task.step.step_id}-{task.role}-{len(task.state.attempts) + 1}.md", text)
        return text

    @cached_property
    def context(self) -> str:
        step, targets = self._task.step, self._task.step.scope.target_paths
        request = "\n".join([step.title, step.intent, *targets])
        # A model sees nothing else; everybody else can search, and does not wait until all is read.
        about = () if self._how is RoleHow.MODEL else targets
        return self._workspace.code.gather(request, tokens=_CONTEXT_TOKENS, about=about).context.text

    def _session_answers(self) -> tuple[Sequence[Question], Sequence[DecisionPoint]]:
        """What the planning session asked and let a person choose."""
        if self._task.run.planning_session_id:
            with suppress(NotFound):
                session = self._workspace.store.sessions.get(self._task.run.planning_session_id).session
                return session.questions, session.decisions
        return (), ()


def _decisions(points: Iterable[DecisionPoint]) -> Iterator[SessionDecision]:
    for point in points:
        if option := point.selected:
            yield SessionDecision(point.topic, option.name, option.description, point.rationale or "")


class _RoleTurn:
    """One turn of a role at a step."""

    def __init__(
        self,
        workspace: Workspace,
        role: RoleConfig,
        task: RoleTask,
        price: tuple[float, float] | None,
    ) -> None:
        self._workspace = workspace
        self._role = role
        self._task = task
        self._price = price
        self._spent = Spent()
        self._briefs = _Briefs(workspace, role.worker, task)
        self._who = _who(role)
        self._time = TurnTime(time_key(task.role), role.timeout_sec)

    def work(self) -> RoleWork:
        match self._role.worker:
            case RoleHow.COMMAND:
                return self._report_end(self._run(self._briefs.write()))
            case RoleHow.MODEL:
                return self._change_by_model()
        return self._by_person()

    def judge(self) -> RoleWork:
        match self._role.worker:
            case RoleHow.COMMAND:
                return self._judge_by_command()
            case RoleHow.MODEL:
                return self._judge_by_model()
        return self._result(None)  # the person who decides about the step

    # ------------------------------------------------------------------ how it ended

    def _result(self, exit_code: int | None, **more: Any) -> RoleWork:
        how = self._role.worker or RoleHow.PERSON
        return RoleWork(how, self._who, exit_code, spent=self._spent, **more)

    def report_lost_copy(self) -> RoleWork:
        path = str(self._task.copy.tree)
        problem = Text("The copy in which the step was made is gone: {path}", path=path)
        return self._result(1, problem=problem, code=StopCode.COPY_LOST)

    def report_failure(self, error: RingiError, code: StopCode | None = None) -> RoleWork:
        problem = Text(error.message, **error.details)
        if error.hint:
            problem = Text("{what} {next}", what=problem, next=Text(error.hint, **error.details))
        missing = StopCode.NO_ROLE if isinstance(error, NoSuchProgram) else None
        return self._result(1, problem=problem, code=code or missing)

    def _report_end(self, ran: CommandResult) -> RoleWork:
        if self._task.copy.is_gone:
            return self.report_lost_copy()
        if ran.timed_out:
            problem = describe_timeout(self._who, self._task.role, self._role.timeout_sec)
            return self._result(ran.exit_code, timed_out=True, problem=problem, code=StopCode.ROLE_TIMEOUT)
        return self._result(ran.exit_code)

    def _by_person(self) -> RoleWork:
        self._briefs.write()
        path = str(self._task.copy.tree)
        problem = Text("Make the change in {path}, then run: ringi continue", path=path)
        return self._result(None, problem=problem, code=StopCode.PERSON_NEEDED)

    # ------------------------------------------------------------------ by a command

    def _run(self, brief: str, *, reading: bool = False) -> CommandResult:
        workspace, task = self._workspace, self._task
        order = RoleRun(
            workspace, workspace.environment, task.copy, self._time.seconds_left(),
            self._role.output_bytes, task.log, reading,
        )  # fmt: skip
        ran = run_command(order, words_of(self._role.command), brief)
        self._spent = total([self._spent, Spent(seconds=round(ran.duration_sec, 3))])
        return ran

    def _judge_by_command(self) -> RoleWork:
        why = ""
        for _ in range(2):
            ran = self._run(self._briefs.write(_AGAIN + why if why else ""), reading=True)
            ended = self._report_end(ran)
            if ended.problem:
                return ended
            if _has_changed_files(self._workspace, self._task):
                return self._result(1, problem=Text("{who} changed files instead of judging.", who=self._who))
            verdict, why = _verdict(ran)
            if verdict is not None:
                return self._result(0, findings=_findings(self._task, verdict))
        problem = Text("{who} gave no verdict that can be read: {why}", who=self._who, why=why)
        return self._result(1, problem=problem)

    # ------------------------------------------------------------------ by a model

    @cached_property
    def _process_id(self) -> str:
        return process_of(self._task)

    def _caller(self) -> BudgetedModel:
        workspace, role, task = self._workspace, self._role, self._task
        now = sum_uncounted(workspace.store, task.run)
        mine = [one.spent for step in task.run.steps for one in step.attempts if one.role == task.role]
        if task.role is RunRole.IMPLEMENTER:
            mine.append(now)
        left = (
            *run_left(run_budget(workspace.config.runs), total([task.run.ended, now])),
            *role_left(task.role, role, total(mine)),
        )
        model = workspace.named_model(role.model, task)
        return BudgetedModel(model, ModelLimits(left, self._price), workspace.budget, self._time)

    def _change_by_model(self) -> RoleWork:
        task, caller = self._task, self._caller()
        brief, *shown = self._material()
        order = StepOrder(self._process_id, task, brief.text, tuple(shown))
        try:
            worked = work_with_tools(self._workspace, order, caller)
        finally:
            self._spent = sum_uncounted(self._workspace.store, task.run)
        if worked.waits is None:
            return self._result(0)
        return self._result(1, problem=worked.why, code=worked.waits, waits=worked.then)

    def _judge_by_model(self) -> RoleWork:
        caller = self._caller()
        material = (*self._material(), Material("diff", self._workspace.mask_lines(self._task.diff)))
        prompt = Prompt(Purpose.VERDICT, VERDICT_RULES, material, session=self._task.run.run_id)
        try:
            verdict = caller.ask(prompt, NewVerdict)
            caller.settle(usable=True)
        finally:
            self._spent = caller.spent
        return self._result(0, findings=_findings(self._task, verdict))

    def _material(self) -> tuple[Material, ...]:
        step, workspace = self._task.step, self._workspace
        hints = step.inputs.code_files_hint or ()
        known = [path for path in (*step.scope.target_paths, *hints) if "*" not in path]
        never = globs(workspace.config.context.never_send)
        shown = files_shown(
            self._task.copy,
            [*_changes_of_step(self._task), *known],
            lambda path: not is_credential(path) and not never.match(path),
            workspace.mask_lines,
            _FILES_TOKENS,
        )
        project = self._briefs.context
        return (
            Material("brief", self._briefs.write()),
            *([Material("project", project)] if project else []),
            *([Material("files", shown)] if shown else []),
        )


def _who(role: RoleConfig) -> str:
    match role.worker:
        case RoleHow.COMMAND:
            with suppress(NoSuchProgram):
                return program_name(words_of(role.command))
            return role.command
        case RoleHow.MODEL:
            return role.model
    return ""


def _has_changed_files(workspace: SandboxContext, task: RoleTask) -> bool:
    """A role that judges cannot write in a sandbox, so this is checked without one."""
    if agent_sandbox(workspace).bwrap is not None or not task.state.tree:
        return False
    return task.copy.shadow.capture().tree != task.state.tree


def _changes_of_step(task: RoleTask) -> tuple[str, ...]:
    """The files of the step, if it was measured."""
    if not task.base_tree or not task.state.tree:
        return ()
    return list_changed_paths(task.copy, task.base_tree, task.state.tree)


def _findings(task: RoleTask, verdict: NewVerdict) -> tuple[Finding, ...]:
    """A machine's words, for people and for the next turn; nothing of ours follows them."""
    known, changed = {one.id for one in task.plan.context.acceptance_criteria}, _changes_of_step(task)
    found = []
    for one in verdict.findings:
        path = one.path.removeprefix("./")
        there = path in changed
        found.append(
            Finding(
                role=task.role,
                severity=one.severity,
                message=visible(" ".join(one.message.split()))[:_LONGEST],
                path=path if there else "",
                line=one.line if there else 0,
                criterion=one.criterion if one.criterion in known else "",
            )
        )
    return tuple(found)


def _verdict(ran: CommandResult) -> tuple[NewVerdict | None, str]:
    """The last JSON object that it printed."""
    text = ran.output[-_MOST_BYTES_READ:].decode("utf-8", "replace")
    found = [one for one in documents(text) if "passed" in one or "findings" in one]
    if not found:
        return None, "there is no JSON object with passed and findings on a line of its own"
    try:
        return msgspec.convert(found[-1], type=prepare(NewVerdict)), ""
    except msgspec.ValidationError as error:
        return None, str(error)


def _commands_of(plan: RunPlan) -> Iterator[str]:
    for step in plan.steps:
        yield from step.commands.unit or ()
        yield from step.commands.e2e or ()
        if isinstance(instead := (step.fallback or {}).get("command"), str):
            yield instead
    for told in plan.context.test_instructions.values():
        yield from (told,) if isinstance(told, str) else told
