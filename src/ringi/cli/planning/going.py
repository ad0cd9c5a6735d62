"""One session, as a command goes on with it: the model does what is due, and the end becomes an exit code."""

import sys
from functools import cached_property
from pathlib import Path
from typing import Final

from ringi.cli.app import EXIT_DECLINED, EXIT_PERSON_NEEDED, App
from ringi.cli.planning.naming import short_names
from ringi.cli.planning.progress import Progress
from ringi.cli.planning.showing import show_approval, show_given, totals
from ringi.cli.planning.wrapping import paragraph
from ringi.cli.ui import translated
from ringi.domain.approval import SignedAnswer
from ringi.domain.events import Actor
from ringi.domain.session_view import (
    ApprovedSession,
    CancelledSession,
    FailedPending,
    SessionView,
    WorkPending,
)
from ringi.errors import NoChannel, SessionRace
from ringi.planning.tool import PlanningTool
from ringi.text import Text

EXIT_INTERRUPTED: Final = 130


class Going:
    def __init__(self, app: App, session_id: str) -> None:
        self.app = app
        self.ui = app.ui
        self.tool: PlanningTool = app.workspace.planning
        self.session_id = session_id

    @cached_property
    def name(self) -> str:
        """What people type."""
        ids = [ref.session_id for ref in self.tool.list()]
        return short_names(ids).get(self.session_id, self.session_id)

    @property
    def command(self) -> str:
        return f"ringi plan --resume {self.name}"

    @cached_property
    def actor(self) -> Actor:
        return actor_at(self.app)

    def refuses_agent(self) -> bool:
        """Says why where an agent is at work: to reject and to cancel are a person's acts."""
        why = self.app.workspace.parts.person.agent()
        if why is not None:
            self.ui.error(NoChannel(why=why, command=self.command))
        return why is not None

    def worked(self, view: SessionView) -> SessionView:
        """Until a person is needed: what failed is tried again, and the model does what is due."""
        if isinstance(view.pending, FailedPending):
            view = self.tool.resume(self.session_id)
        if not isinstance(view.pending, WorkPending):
            return view
        rewrites = self.ui.out.isatty() and self.app.environment.get("TERM") != "dumb"
        with Progress(self.ui, rewrites=rewrites) as progress:
            return self.tool.go_on(self.session_id, progress)

    def view(self) -> SessionView:
        return self.tool.view(self.session_id)

    def user(self) -> str:
        return self.app.workspace.parts.person.user()

    def signed(self, key: Path, digest: str) -> SignedAnswer:
        """Only what the digest is of: somebody may have gone on since."""
        from ringi.integrations.signing import sign  # noqa: PLC0415  # only where one signs

        statement = self.tool.statement(self.session_id, self.user())
        if digest not in statement:
            raise SessionRace(session=self.name)
        return SignedAnswer(statement, sign(key, statement.encode(), self.app.environment))

    def tell_saved(self) -> None:
        self._tell(Text("Everything you said is saved. Go on with:"))
        self.ui.next_step(self.command)

    def tell_totals(self, view: SessionView) -> None:
        if (words := totals(view.usage)) is not None:
            self.ui.line(words, style="dim")

    def tell_given(self) -> None:
        """What an agent said in it, before a person decides about it."""
        show_given(self.ui, self.app.workspace.log(self.session_id))

    def tell_approval(self) -> None:
        """Who approved it, and how that is known."""
        approval = self.app.workspace.parts.ledger.session_approval(self.session_id)
        if approval is not None:
            show_approval(self.ui, approval)

    def tell_run(self, run_id: str) -> None:
        self.ui.line(Text("✓ approved; its run is {run}", run=run_id), style="green")
        self.tell_approval()

    def tell_run_waits(self, run_id: str) -> None:
        """Until runs can be carried out, nothing is promised that does not work."""
        self._tell(Text("This version of ringi cannot carry out runs yet; {run} waits.", run=run_id))
        self._tell(Text("A later one starts it with: ringi run {run}", run=run_id), indent=2)
        self._tell(Text("See it now:"), indent=2)
        self.ui.next_step(f"ringi status --session {run_id}")

    def _tell(self, words: Text, indent: int = 0) -> None:
        paragraph(self.ui, translated(words), indent=indent)


def actor_at(app: App) -> Actor:
    """Who says what is said here: an agent, where one is known to be at work."""
    return Actor.USER if app.workspace.parts.person.agent() is None else Actor.AI


def exit_code(view: SessionView) -> int:
    """A person is needed, until it has ended one way or the other."""
    if isinstance(view.pending, ApprovedSession):
        return 0
    return EXIT_DECLINED if isinstance(view.pending, CancelledSession) else EXIT_PERSON_NEEDED


def at_terminal(app: App) -> bool:
    """Whether somebody can be asked and shown something; with --json a program reads."""
    return not app.ui.as_json and sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
