"""What every command gets: the person's environment, the printer, the workspace."""

import contextlib
import gc
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from ringi.cli.ui import Ui
from ringi.errors import NoWorkspace
from ringi.kernel.places import Places, find_root, places_of
from ringi.kernel.text import COMMIT_SHOWN, Text, restore_text

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ringi.app.api import Workspace
    from ringi.errors import RingiError
    from ringi.ledger.event import Actor, LoggedEvent
    from ringi.ledger.ledger import Ledger
    from ringi.plans.rows import Plans
    from ringi.tree.commit_order import CommitOutcome

EXIT_PERSON_NEEDED: Final = 3
EVERYTHING: Final = "ringi.everything"
"""In the root context: its help page names all commands."""
EXIT_STALE: Final = 4
EXIT_DECLINED: Final = 5
_WAIT_SEC: Final = 2.0


class App:
    def __init__(self, environment: Mapping[str, str], start: Path, ui: Ui) -> None:
        self.environment = environment
        self.start = start
        self.ui = ui
        self.above: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext
        """Around what is written while a line below it is rewritten."""
        self.tells_damage = False
        """Whether the command itself says which refs are damaged."""
        self._opened: Workspace | None = None
        self._turned: Workspace | None = None
        self._ledger: Ledger | None = None

    @cached_property
    def root(self) -> Path:
        return find_root(self.start)

    @cached_property
    def places(self) -> Places:
        return places_of(self.root, self.environment)

    @property
    def has_ledger(self) -> bool:
        try:
            return self.places.database.is_file()
        except NoWorkspace:  # a bare repository
            return False

    @cached_property
    def ledger(self) -> "Ledger":
        """For commands that only read: opening no workspace, they start in half the time."""
        from ringi.ledger.ledger import Ledger  # noqa: PLC0415  # not needed to show help
        from ringi.plans.rows import Plans  # noqa: PLC0415

        self._ledger = Ledger(self.places.state, _WAIT_SEC)
        if Plans(self._ledger).any_unfinished():
            # Finish or undo what a crash interrupted before anything is shown.
            self._open()
        return self._ledger

    @cached_property
    def plans(self) -> "Plans":
        from ringi.plans.rows import Plans  # noqa: PLC0415  # as above

        return Plans(self.ledger)

    @property
    def workspace(self) -> "Workspace":
        """With the files that the command is about: those of a run's branch after `find_plan`."""
        return self._turned or self._open()

    def find_plan(self, name: str) -> str:
        """The id of the plan. From here on the workspace is where that plan is carried out."""
        plan_id = self.workspace.plan.find(name)
        self.switch_to(plan_id)
        return plan_id

    def switch_to(self, plan_id: str | None) -> None:
        """None: to the person's own checkout."""
        self._turned = None if plan_id is None else self._open().of_plan(plan_id)

    @property
    def actor(self) -> "Actor":
        """Who typed the command."""
        from ringi.approvals.who import actor_at  # noqa: PLC0415  # not needed to show help

        return actor_at(self.workspace.person)

    def _open(self) -> "Workspace":
        if self._opened is None:
            from ringi.app.api import open_workspace  # noqa: PLC0415  # not needed to show help

            # Disabled at the start; from here on there is garbage to collect.
            gc.enable()
            self._opened = open_workspace(
                self.start,
                environment=self.environment,
                sinks=[self._tell_command],
                on_progress=self.tell_progress,
            )
            self._tell_recovered(self._opened)
        return self._opened

    def _tell_recovered(self, workspace: "Workspace") -> None:
        for result in workspace.recovered:
            name = workspace.plan.ref(result.plan_id).name
            in_part = any(outcome.status == "done" for outcome in result.results)
            if result.overall_success:
                line = Text("An interrupted execution of {plan} was finished.", plan=name)
            elif in_part:
                line = Text("An interrupted execution of {plan} was done in part.", plan=name)
            else:
                line = Text("An interrupted execution of {plan} was rolled back.", plan=name)
            self.ui.line(line, style="yellow")
            if in_part and not result.overall_success:
                self.ui.next_step(f"ringi show {name}")
            for outcome in result.results:
                if outcome.status == "conflict":
                    line = Text("{path} stays as it is: somebody wrote to it meanwhile", path=outcome.path)
                    self.ui.line(line, style="yellow", indent=2)
            if result.commit:
                self._tell_commit(result.commit, name)
            for path in result.kept:
                self.ui.line(Text("Somebody wrote meanwhile; their bytes are in {path}", path=path), indent=2)

    def _tell_commit(self, commit: "CommitOutcome", plan: str) -> None:
        if commit.commit:
            self.ui.line(Text("Its commit {id} was made.", id=commit.commit[:COMMIT_SHOWN]), indent=2)
        else:
            self.ui.line(
                Text("There is no commit: {why}", why=restore_text(commit.why)), style="yellow", indent=2
            )
            self.ui.next_step(f"ringi show {plan}")

    def _tell_command(self, event: "LoggedEvent") -> None:
        if event.event.event == "command_started":
            _, _, command = event.event.reason.partition(" ")
            self.tell_progress(Text("running: {command} …", command=command))

    def tell_progress(self, words: Text) -> None:
        # The reader may be gone; the work matters more.
        with contextlib.suppress(OSError), self.above():
            self.ui.line(words, style="dim")

    def _tell_unwritten(self, problem: "RingiError") -> None:
        why = Text(problem.message, **problem.details)
        self.ui.line(
            Text("! saved in the ledger, but the files in .agent could not be written: {why}", why=why),
            style="yellow",
        )
        self.ui.next_step("ringi doctor --repair")

    def fail(self, error: "RingiError") -> NoReturn:
        """If the result was printed as JSON already, print the error for people only."""
        if not self.ui.as_json:
            raise error
        self.ui.error(error)
        raise click.exceptions.Exit(error.exit_code)

    def _tell_damaged(self) -> None:
        """A command that writes to a ref has mended it by now."""
        from ringi.app.damaged_refs import glance_at_refs  # noqa: PLC0415  # not needed to show help

        for damage in glance_at_refs(self.places.root, self.places.state):
            line = Text("! {ref} in the repository is damaged: {why}", ref=damage.ref, why=damage.why)
            self.ui.line(line, style="yellow")
            self.ui.next_step("ringi recover")

    def close(self) -> None:
        if self._ledger is not None:
            self._ledger.close()
        if self._opened is not None:
            self._opened.flush()
            if problem := self._opened.upkeep.problem():
                self._tell_unwritten(problem)
            self._opened.close()
        if (self._ledger or self._opened) and not self.tells_damage:
            self._tell_damaged()


pass_app = click.make_pass_decorator(App)
