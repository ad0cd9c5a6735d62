"""Metrics from what is recorded (PP-13, PP-21, PP-26): reads the ledger once and starts nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ringi.config.keys import Config
from ringi.kernel.text import Text
from ringi.metrics.code import syntax_of
from ringi.metrics.coverage import NoCoverage, read_report
from ringi.metrics.document import Metrics
from ringi.metrics.figures import MOST_TASKS, Facts, make_groups, plot
from ringi.metrics.people import PeopleFacts, PlanCounts, count_plans, mask_reasons, read_events
from ringi.metrics.tasks import MeasuredTask, Prices, tasks_of

if TYPE_CHECKING:
    from ringi.app.store import Store

_LONGEST_NAME: Final = 80
"""Of an agent: the proposer of a plan chooses it."""


def measure(
    history: Store, config: Config, root: Path, now: str, mask: Callable[[str], str], since: str = ""
) -> Metrics:
    """From `since` on: tasks that began, plans that were proposed, decisions that were made."""
    with history.one_moment():
        read = read_events(history, since)
        plans = count_plans(history.plans.every(), read, since)
        found = tasks_of(
            history, read.reasons, config.planning.complexity_threshold, Prices(config.llm.price_by_model)
        )
        tasks = [task for task in found if task.began_at >= since]
        syntax = syntax_of(history, plans.generated)
        said = _remarks(history, tasks, read, plans, since)
    report = config.quality_metrics.coverage_report
    coverage = (
        read_report(root, report) if report else NoCoverage(Text("set quality_metrics.coverage_report"))
    )
    facts = Facts(tasks, read, plans, said, syntax, coverage)
    return Metrics(
        created_at=now,
        since=since,
        events=read.events,
        groups=make_groups(config, facts),
        agents=tuple(replace(agent, agent=mask(agent.agent)[:_LONGEST_NAME]) for agent in plans.agents),
        reasons=() if config.logs.confidential else tuple(mask_reasons(read.said_no, plans.names, mask)),
        tasks=tuple(plot(task) for task in tasks[-MOST_TASKS:]),
        days=read.days,
    )


def _remarks(
    history: Store, tasks: Sequence[MeasuredTask], read: PeopleFacts, plans: PlanCounts, since: str
) -> dict[str, int]:
    """Findings of roles that judge, and what people said: rejections, comments on lines, feedback on runs."""
    found: Counter[str] = Counter()
    for step in (step for task in tasks for run in task.steps for step in run):
        found.update(step.findings)
    people = plans.comments + sum(count for plan, count in read.rejects.items() if plan in plans.names)
    for run in history.runs.all():
        if run.created_at >= since:
            people += sum(not one.agent for one in history.processes.feedback(run.run_id))
    found["people"] += people
    return dict(found)
