"""A whole planning session with a real language model: `make test-model`.

The model is very small, so its words are poor. Every document is valid all the same, and if the model fails,
the session fails as it should and can be resumed.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tools import real_model

from ringi.app.api import Workspace, open_workspace
from ringi.engine.run_state import RunPhase
from ringi.errors import SessionFailed
from ringi.kernel.codec import decode_foreign
from ringi.runs.document import Run
from ringi.sessions.document import (
    ApprovalPending,
    ApprovedSession,
    DecisionPending,
    FailedPending,
    PlanningSession,
    QuestionPending,
    SessionStatus,
    SessionView,
    WorkPending,
)
from ringi.sessions.playbook import Playbook
from ringi.sessions.tool import PlanningTool
from tests.fakes.people import SeatedPerson
from tests.fakes.signing import RealKey
from tests.helpers import accept_signers

if os.environ.get("RINGI_REAL_MODEL") != "1":
    pytest.skip("a real model takes minutes: make test-model", allow_module_level=True)

PATIENCE_SEC = 120.0
TRIES = 2
NAME = "tester@example.invalid"


@contextmanager
def served() -> Iterator[str]:
    """The address; its process ends with the block, whatever happens in it."""
    command = [str(real_model.PYTHON), real_model.__file__, "serve"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), f"exit code {process.poll()}"
        yield address
    finally:
        assert process.stdin
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served() as found:
        yield found


class Story:
    """A session as it went, and everything that was checked on the way."""

    def __init__(self, root: Path, workspace: Workspace) -> None:
        self.root = root
        self.workspace = workspace
        self.tool: PlanningTool = workspace.planning
        self.session_id = ""
        self.lines: list[str] = []

    def begin(self, instruction: str) -> SessionView:
        self.session_id = self.tool.start(instruction).session_id
        return self.worked()

    def worked(self) -> SessionView:
        """After the model. Where it failed a few times, the session goes on without one."""
        for number in range(TRIES + 1):
            if number == TRIES:
                self.tool = PlanningTool(self.workspace.planning._workspace.replace(model=Playbook))
            began = time.monotonic()
            phase = self.document().status
            try:
                view = self.tool.go_on(self.session_id)
            except SessionFailed as error:
                self.note(f"failed in {phase}", began, error)
                self.check_failure()
                self.tool.resume(self.session_id)
            else:
                self.note(f"worked in {phase}", began)
                assert not isinstance(view.pending, WorkPending | FailedPending)
                self.document()
                return view
        raise AssertionError("\n".join(self.lines))

    def note(self, what: str, began: float, error: Exception | None = None) -> None:
        usage, document = self.tool.view(self.session_id).usage, self.document()
        words = f"{what}: {time.monotonic() - began:.1f} s; {len(document.questions)} questions, "
        words += f"{len(document.decisions)} decisions; in all {usage.requests} requests, "
        words += f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
        self.lines.append(f"{words}: {str(error)[:300]}" if error else words)

    def document(self) -> PlanningSession:
        """As everybody finds it in the workspace, read strictly; and the same as in the ledger."""
        self.workspace.flush()
        file = self.root / ".agent/planning-sessions" / f"{self.session_id}.json"
        found = decode_foreign(file.read_bytes(), PlanningSession, file.name)
        assert found == self.tool.get(self.session_id).session
        return found

    def check_failure(self) -> None:
        document = self.document()
        assert document.status is SessionStatus.FAILED
        assert document.error_message
        logs = [document.discovery_log_path, document.design_log_path, document.review_log_path]
        texts = [(self.root / ".agent" / log).read_text() for log in logs if log]
        assert any("Traceback (most recent call last)" in text for text in texts)

    def to_the_summary(self, view: SessionView) -> SessionView:
        """Answers the first question, skips the others; takes the first option everywhere."""
        while not isinstance(view.pending, ApprovalPending):
            match view.pending:
                case QuestionPending(question, number):
                    if number == 1:
                        self.tool.answer(self.session_id, "The simplest that works.", question_id=question.id)
                    else:
                        self.tool.skip(self.session_id, question_id=question.id)
                case DecisionPending(decision):
                    first = decision.options[0]
                    self.tool.decide(self.session_id, first.id, "It comes first.", decision_id=decision.id)
                case other:
                    raise AssertionError(other)
            view = self.worked()
        return view


@pytest.fixture
def environment(address: str, tmp_path: Path, isolated: Path) -> dict[str, str]:
    return {
        **os.environ,
        "RINGI_MODEL": "openai:smollm2",
        "RINGI_LLM_BASE_URL": f"{address}/v1",
        "RINGI_LLM_TIMEOUT_SEC": str(PATIENCE_SEC),
        "RINGI_LLM_MAX_OUTPUT_TOKENS": "1500",
    }


def approve(story: Story, key: RealKey) -> SessionView:
    signed = key.sign(story.tool.statement(story.session_id, NAME))
    return story.tool.approve(story.session_id, NAME, signed)


@pytest.mark.req("IP-1", "IP-2", "IP-12")
@pytest.mark.parametrize(
    "instruction",
    [
        "Add a --json option to the report command, so that other programs can read the report.",
        "報告コマンドに --json オプションを追加する",
    ],
    ids=["english", "japanese"],
)
def test_a_whole_session(
    repo: Path, tmp_path: Path, environment: dict[str, str], instruction: str, record_property: Any
):
    key = RealKey(tmp_path, "key")
    signers = Path(environment["XDG_CONFIG_HOME"], "ringi/allowed_signers")
    signers.parent.mkdir(parents=True, exist_ok=True)
    signers.write_text(f"{NAME} {key.public}\n")
    began = time.monotonic()
    with open_workspace(repo, environment=environment, person=SeatedPerson()) as workspace:
        accept_signers(workspace)
        story = Story(repo, workspace)
        try:
            view = story.to_the_summary(story.begin(instruction))
            assert isinstance(view.pending, ApprovalPending)
            story.tool.reject(story.session_id, "Say how it is tested.")
            view = story.to_the_summary(story.worked())
            assert story.document().reject_count == 1
            view = approve(story, key)
            assert isinstance(view.pending, ApprovedSession)
            document = story.document()
            run = workspace.planning.run(view.pending.run_id)
            check_handed_over(document, run, instruction)
            assert workspace.verify_log() == []
        finally:
            story.lines.append(f"{time.monotonic() - began:.0f} s in all")
            record_property("story", story.lines)


def check_handed_over(document: PlanningSession, run: Run, instruction: str) -> None:
    assert document.status is SessionStatus.APPROVED
    assert document.planner_session_id == run.run_id
    assert run.phase is RunPhase.PLANNING
    assert run.instruction.startswith(f"Original Instruction: {instruction}")
    assert document.design_summary
    assert document.design_summary.strip() in run.instruction


@pytest.mark.req("IP-12")
def test_a_limit_that_no_answer_fits_in_fails_the_session_as_it_should(
    repo: Path, environment: dict[str, str]
):
    tight = {**environment, "RINGI_LLM_MAX_OUTPUT_TOKENS": "64"}
    with open_workspace(repo, environment=tight) as workspace:
        story = Story(repo, workspace)
        story.session_id = story.tool.start("Add a login").session_id
        try:
            view = story.tool.go_on(story.session_id)
        except SessionFailed:
            story.check_failure()
        else:  # it had little to say
            assert not isinstance(view.pending, WorkPending | FailedPending)
            story.document()


def test_a_service_that_goes_away_fails_the_session_and_it_goes_on_when_it_is_back(
    repo: Path, environment: dict[str, str]
):
    with served() as gone:
        pass
    nobody = {**environment, "RINGI_LLM_BASE_URL": f"{gone}/v1", "RINGI_LLM_TIMEOUT_SEC": "10"}
    with open_workspace(repo, environment=nobody) as workspace:
        story = Story(repo, workspace)
        session_id = story.session_id = story.tool.start("Add a login").session_id
        with pytest.raises(SessionFailed):
            story.tool.go_on(session_id)
        story.check_failure()
    with open_workspace(repo, environment=environment, person=SeatedPerson()) as workspace:
        story = Story(repo, workspace)
        story.session_id = session_id
        story.tool.resume(session_id)
        view = story.worked()
        assert isinstance(view.pending, QuestionPending | DecisionPending | ApprovalPending)
