"""Asks the person at the terminal about the revision of a plan that a run waits with."""

from pathlib import Path
from typing import Final

from ringi.approvals.prompter import ask_approval
from ringi.cli.app import App
from ringi.cli.ask import LinePrompter, sign_statement
from ringi.errors import NotFound, RevisionExpired
from ringi.kernel.text import Text
from ringi.runs.revision import ReviewedRevision
from ringi.runs.revision_view import proposed_lines

_WORDS: Final = Text("What should be different? (Enter leaves it open)")


class RevisionDecisions:
    """A key signs the revision that waited when the command was given: nobody has seen a later one."""

    def __init__(self, app: App, run_id: str, key: Path | None) -> None:
        self._app = app
        self._run_id = run_id
        self._key = key
        waiting = self._waiting() if key else None
        self._signed = waiting.digest if waiting else ""

    def _waiting(self) -> ReviewedRevision | None:
        timeout = self._app.workspace.config.planning.revision.approval_timeout
        try:
            return ReviewedRevision(self._app.workspace, self._run_id, timeout)
        except NotFound:
            return None

    def signs(self) -> bool:
        waiting = self._waiting() if self._signed else None
        return waiting is not None and waiting.digest == self._signed

    def decide(self) -> bool:
        """Whether anything was decided, so that the run can go on."""
        found = self._waiting()
        if found is None or found.is_expired:
            return True  # the run says what became of it
        self._app.ui.show(proposed_lines(found.process, found.record, found.lines))
        try:
            return self._signs(found) if found.digest == self._signed else self._ask(found)
        except RevisionExpired as error:  # while the person read it
            self._app.ui.error(error)
            return True
        except EOFError:
            return False

    def _signs(self, found: ReviewedRevision) -> bool:
        app = self._app
        if self._key is not None:
            found.approve(sign_statement(app, self._key, found.statement(app.workspace.person.user())))
        return self._key is not None

    def _ask(self, found: ReviewedRevision) -> bool:
        self._app.workspace.signers.require_typing(found.signing)
        prompter = LinePrompter(self._app)
        if (proof := ask_approval(prompter, found.digest)) is not None:
            found.approve(proof)
        elif words := (prompter.ask(_WORDS) or "").strip():
            found.decline(words)
        else:
            return False
        return True
