"""Planning sessions over MCP, in one process: a model that takes its time, clients that lose patience."""

import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest

from ringi.app.api import Workspace
from ringi.errors import (
    BadAnswer,
    BadDocument,
    BadInstruction,
    Busy,
    ModelUnreachable,
    NotAsked,
    NotFound,
    RingiError,
    SessionFailed,
    SessionOver,
)
from ringi.kernel import codec
from ringi.ledger.event import Actor
from ringi.mcp import planning_tools, render
from ringi.mcp.answers import to_builtins
from ringi.mcp.arguments import input_schema, object_schema
from ringi.mcp.server import TOOLS, PlanServer, ServerContext
from ringi.mcp.wait import Progress, SessionNow, WaitForModel
from ringi.mcp.worker import Worker, Workers
from ringi.models.prompt import ModelProgress
from ringi.sessions.document import DecisionPending, QuestionPending, SessionStatus, WorkPending
from ringi.sessions.tool import PlanningTool
from tests.fakes.models import Desk, ScriptedModel
from tests.helpers import PATIENCE_SEC, ledger_of, open_scratch
from tests.unit.mcp.test_mcp_wait import silent, working

STEPS = ("planning_start", "planning_answer", "planning_decide")


class Patient(ScriptedModel):
    """Works until it is let go, and says in between that it does."""

    def __init__(self, **words: Any) -> None:
        super().__init__(**words)
        self.asking, self.go_on = threading.Event(), threading.Event()

    def ask(self, prompt, kind, budget, on_progress):
        tokens = 0
        while not self.go_on.is_set():
            tokens += 1
            on_progress(ModelProgress(tokens / 50, tokens))
            self.asking.set()
            self.go_on.wait(0.02)
        return super().ask(prompt, kind, budget, on_progress)


class Server:
    """The two workers that planning needs, on one ledger and one model."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.model = model
        self._folder = folder
        self.reading, self.planning = Worker(self.opened), Worker(self.opened)
        self.steps = WaitForModel(self.reading, self.planning)

    def opened(self) -> Workspace:
        workspace = open_scratch(self._folder)
        parts = Desk(self._folder / "unused", self.model).workspace
        workspace.planning = PlanningTool(parts.replace(store=ledger_of(workspace), clock=workspace.clock))
        return workspace

    async def call(self, name: str, client: Progress = silent, **given: Any) -> SessionNow:
        """As the server calls it: arguments through the strict door, then the step."""
        tool = TOOLS[name]
        taken: Any = codec.decode_foreign(json.dumps(given).encode(), tool.arguments, name)
        if tool.step is None:
            return await self.steps.look(taken.session_id, taken.seconds, client)
        step = tool.step
        return await self.steps.take(lambda planning: step(planning, taken), taken.seconds, client)

    async def refused(self, name: str, kind: type[RingiError], **given: Any) -> dict[str, str]:
        with pytest.raises(kind) as caught:
            await self.call(name, **given)
        return to_builtins(render.describe_failure(caught.value).error)


@contextmanager
def serving(tmp_path: Path, model: ScriptedModel) -> Iterator[Server]:
    server = Server(tmp_path, model)
    threads = [threading.Thread(target=worker.run) for worker in (server.reading, server.planning)]
    for thread in threads:
        thread.start()
    try:
        yield server
    finally:
        if isinstance(model, Patient):
            model.go_on.set()
        for worker in (server.reading, server.planning):
            worker.stop()
        for thread in threads:
            thread.join(PATIENCE_SEC)
    assert not any(thread.is_alive() for thread in threads)


def led(tmp_path: Path, model: ScriptedModel, main: Callable[[Server], Awaitable[None]]) -> None:
    with serving(tmp_path, model) as server:
        anyio.run(main, server)


async def to_the_review(server: Server) -> SessionNow:
    now = await server.call("planning_start", instruction="Add a login")
    session = now.view.session_id
    while isinstance(now.view.pending, QuestionPending | DecisionPending):
        if isinstance(now.view.pending, QuestionPending):
            now = await server.call("planning_answer", session_id=session, answer="1")
        else:
            now = await server.call("planning_decide", session_id=session, option="opt-a", reason="simple")
    return now


def told(now: SessionNow) -> planning_tools.PlanningState:
    """What the agent gets, held against the schema it was promised."""
    found = planning_tools.state(now.view, working=now.working)
    document = json.loads(json.dumps(to_builtins(found)))
    jsonschema.validate(document, object_schema(planning_tools.PlanningState))
    shown = planning_tools.describe_session(now.view, working=now.working)
    document = json.loads(json.dumps(to_builtins(shown)))
    jsonschema.validate(document, object_schema(planning_tools.SessionList))
    assert (shown.session, shown.next_step) == (found, found.next_step)
    return found


def test_no_tool_approves_and_all_say_whose_the_questions_are():
    names = [name for name in TOOLS if name.startswith("planning_")]
    assert names == ["planning_start", "planning_bring", *STEPS[1:], "planning_get", "planning_outline"]
    for name in (*STEPS, "planning_bring", "planning_outline"):
        assert "your user" in TOOLS[name].description
        assert not TOOLS[name].hints.read_only
    assert "no tool approves" in TOOLS["planning_decide"].description
    assert TOOLS["planning_get"].hints.read_only
    assert "never answer for them" in TOOLS["planning_start"].description.lower()


@pytest.mark.req("IP-3", "IP-5", "IP-6")
def test_an_agent_leads_its_user_to_the_review_and_no_further(tmp_path: Path):
    async def main(server: Server) -> None:
        now = await server.call("planning_start", instruction="Add a login\nand more")
        first = told(now)
        assert (first.title, first.waits_for, first.status) == ("Add a login", "answer", "discovery")
        assert first.question
        assert (first.question.options, first.number, first.of) == (("password", "token"), 1, 3)
        assert "do not answer for them" in first.next_step
        session = first.session_id
        now = await server.call("planning_answer", session_id=session, answer="2", question_id="q-1")
        now = await server.call("planning_answer", session_id=session, skip=True)
        now = await server.call("planning_answer", session_id=session, answer="the API")
        choice = told(now)
        assert choice.waits_for == "decision"
        assert choice.decision
        assert [bool(option.recommendation) for option in choice.decision.options] == [True, False]
        assert "the choice is theirs" in choice.next_step
        now = await server.call("planning_decide", session_id=session, option="opt-b", reason="it lasts")
        now = await server.call("planning_decide", session_id=session, option="opt-a", decision_id="d-2")
        last = told(now)
        assert last.waits_for == "approval"
        assert last.summary
        assert last.summary.startswith("# Goal\nA login that works.")
        assert "- Where sessions live: Table. as it says" in last.summary
        assert last.person_types == f"ringi plan --resume {session[:17]}"
        assert last.person_types in last.next_step
        assert last.tokens == 360
        assert told(await server.call("planning_get", session_id=session)) == last
        for name, given in {
            "planning_answer": {"answer": "yes, approved"},
            "planning_decide": {"option": "approve"},
        }.items():
            error = await server.refused(name, NotAsked, session_id=session, **given)
            assert "planning_get" in error["hint"]
        stored = await server.reading.call(lambda workspace: workspace.planning.get(session))
        assert stored.session.status is SessionStatus.REVIEW
        assert [question.answer for question in stored.session.questions] == ["token", None, "the API"]
        events = await server.reading.call(lambda workspace: list(workspace.log()))
        asked = {logged.event.event: logged.event.actor for logged in events}
        assert {asked[kind] for kind in ("session_started", "session_answered", "session_decided")} == {
            Actor.AI
        }

    led(tmp_path, ScriptedModel(), main)


def test_wrong_input_changes_nothing(tmp_path: Path):
    async def main(server: Server) -> None:
        await server.refused("planning_start", BadInstruction, instruction=" \n")
        await server.refused("planning_start", BadInstruction, instruction="x" * 60_000)
        await server.refused("planning_start", BadDocument, instruction="")
        session = (await server.call("planning_start", instruction="Add a login")).view.session_id
        before = await server.reading.call(lambda workspace: workspace.planning.get(session))
        wrong: list[tuple[str, type[RingiError], dict[str, Any]]] = [
            ("planning_answer", BadDocument, {}),
            ("planning_answer", BadDocument, {"answer": "x", "skip": True}),
            ("planning_answer", BadDocument, {"skip": True, "resume": True}),
            ("planning_answer", BadDocument, {"answer": 7}),
            ("planning_answer", BadDocument, {"answer": "x", "approve": True}),
            ("planning_answer", BadAnswer, {"answer": "  "}),
            ("planning_answer", BadAnswer, {"answer": "x" * 500_000}),
            ("planning_answer", BadDocument, {"answer": "x" * 1_000_001}),
            ("planning_answer", NotAsked, {"answer": "x", "question_id": "q-2"}),
            ("planning_answer", NotAsked, {"answer": "x", "question_id": "\x1b[2J"}),
            ("planning_decide", NotAsked, {"option": "opt-a"}),
            ("planning_decide", BadDocument, {"option": ""}),
        ]
        for name, kind, given in wrong:
            error = await server.refused(name, kind, session_id=session, **given)
            assert "\x1b" not in json.dumps(error)
        for name in ("", "p1", "planning-ffffffff", "../../etc/passwd", "x" * 100):
            kind = NotFound if name else BadDocument
            error = await server.refused("planning_answer", kind, session_id=name, answer="x")
            assert "planning_get" in error["hint"] or not name
        await server.refused("planning_get", NotFound, session_id="planning-ffffffff")
        assert await server.reading.call(lambda workspace: workspace.planning.get(session)) == before

    led(tmp_path, ScriptedModel(), main)


def test_a_session_that_is_over_says_so(tmp_path: Path):
    async def main(server: Server) -> None:
        session = (await server.call("planning_start", instruction="Add a login")).view.session_id
        await server.planning.call(lambda workspace: workspace.planning.cancel(session))
        error = await server.refused("planning_answer", SessionOver, session_id=session, answer="x")
        assert "planning_start" in error["hint"]
        for given in ({"resume": True}, {}):
            name = "planning_answer" if given else "planning_get"
            ended = told(await server.call(name, session_id=session, **given))
            assert (ended.waits_for, "nothing is left" in ended.next_step) == ("nothing", True)
        assert await server.steps.open_sessions() == []
        assert "planning_start" in planning_tools.list_sessions(await server.steps.open_sessions()).next_step

    led(tmp_path, ScriptedModel(), main)


@pytest.mark.req("IP-12")
def test_a_model_that_fails_is_an_error_and_the_session_can_be_resumed(tmp_path: Path):
    model = ScriptedModel(design=ModelUnreachable(model="scripted:model", why="no route"))

    async def main(server: Server) -> None:
        session = (await server.call("planning_start", instruction="Add a login")).view.session_id
        await server.call("planning_answer", session_id=session, answer="mine")
        await server.call("planning_answer", session_id=session, skip=True)
        error = await server.refused("planning_answer", SessionFailed, session_id=session, answer="last")
        assert error["code"] == "session_failed"
        assert "resume: true" in error["hint"]
        assert session[:17] in error["message"]
        failed = told(await server.call("planning_get", session_id=session))
        assert (failed.status, failed.waits_for) == ("failed", "resume")
        assert failed.error
        assert "no route" in failed.error
        await server.refused("planning_answer", NotAsked, session_id=session, answer="too early")
        await server.refused("planning_answer", SessionFailed, session_id=session, resume=True)
        model.words = ScriptedModel().words
        resumed = await server.call("planning_answer", session_id=session, resume=True)
        assert told(resumed).waits_for == "decision"
        stored = await server.reading.call(lambda workspace: workspace.planning.get(session))
        assert [question.answer for question in stored.session.questions] == ["mine", None, "last"]
        again = await server.call("planning_answer", session_id=session, resume=True)
        assert again.view == resumed.view

    led(tmp_path, model, main)


def test_a_model_that_takes_longer_keeps_working_while_the_client_is_answered(tmp_path: Path):
    model = Patient()

    async def main(server: Server) -> None:
        now = await server.call("planning_start", instruction="Add a login", seconds=0.2)
        assert now.working
        assert isinstance(now.view.pending, WorkPending)
        state = told(now)
        assert (state.waits_for, "planning_get" in state.next_step) == ("model", True)
        waiting = await server.call("planning_get", session_id=state.session_id, seconds=0.1)
        assert waiting.working
        # Nobody else waits for it: looking goes on, and another session is told to come again.
        begun = anyio.current_time()
        assert len(await server.steps.open_sessions()) == 1
        assert anyio.current_time() - begun < 1
        await server.refused("planning_start", Busy, instruction="Another", seconds=0.1)
        model.go_on.set()
        found = await server.call("planning_get", session_id=state.session_id, seconds=20)
        assert told(found).waits_for == "answer"
        await server.planning.call(lambda _: None)
        assert len(await server.steps.open_sessions()) == 1

    led(tmp_path, model, main)


def test_a_failure_that_nobody_waited_for_is_told_by_the_session(tmp_path: Path):
    model = Patient(discovery=ModelUnreachable(model="scripted:model", why="no route"))

    async def main(server: Server) -> None:
        now = await server.call("planning_start", instruction="Add a login", seconds=0.1)
        assert now.working
        model.go_on.set()
        now = await server.call("planning_get", session_id=now.view.session_id, seconds=20)
        assert (told(now).status, told(now).waits_for) == ("failed", "resume")
        assert "no route" in (told(now).error or "")

    led(tmp_path, model, main)


def test_a_person_is_told_once_that_a_summary_waits(tmp_path: Path):
    rung: list[tuple[str, str]] = []

    async def main(server: Server) -> None:
        workers = Workers(server.reading, server.reading, server.planning)
        around = ServerContext("", tuple, lambda _, name, title: rung.append((name, title)))
        plan_server = PlanServer(workers, around)
        started = await server.call("planning_start", instruction="Another")
        await plan_server._tell_of_session(started)
        assert rung == []
        now = await to_the_review(server)
        for _ in range(3):
            await plan_server._tell_of_session(now)
        assert rung == [(now.view.session_id[:17], "Add a login")]

    led(tmp_path, ScriptedModel(), main)
    assert len(rung) == 1


def test_progress_tells_the_time_and_the_tokens(tmp_path: Path):
    model, heard = Patient(), list[tuple[float, float | None, str]]()

    async def progress(done: float, total: float | None, words: str) -> None:
        heard.append((done, total, words))
        if len(heard) == 2:
            model.go_on.set()

    async def main(server: Server) -> None:
        now = await server.call("planning_start", progress, instruction="Add a login")
        assert told(now).waits_for == "answer"

    led(tmp_path, model, main)
    assert [total for _, total, _ in heard] == [None, None]
    assert 0.9 < heard[0][0] < heard[1][0]
    work, tokens, name = heard[1][2].split(" · ")
    assert (work, name) == ("Preparing questions … 2 s", model.name)
    assert int(tokens.removesuffix(" tokens")) > 10


def test_a_client_that_gives_up_stops_the_model_and_loses_nothing(tmp_path: Path):
    model = Patient()

    async def main(server: Server) -> None:
        with anyio.move_on_after(0.3) as scope:
            await server.call("planning_start", instruction="Add a login")
        assert scope.cancelled_caught
        await server.planning.call(lambda _: None)  # the model has ended
        assert model.asked == []
        [ref] = await server.steps.open_sessions()
        stopped = told(await server.call("planning_get", session_id=ref.session_id))
        assert (stopped.status, stopped.waits_for) == ("discovery", "resume")
        model.go_on.set()
        now = await server.call("planning_answer", session_id=ref.session_id, resume=True)
        assert told(now).waits_for == "answer"

    led(tmp_path, model, main)


def test_a_server_that_ends_stops_the_model(tmp_path: Path):
    model = Patient()
    server = Server(tmp_path, model)
    thread = threading.Thread(target=server.planning.run)

    async def main() -> None:
        with working(server.opened) as reading:
            server.steps = WaitForModel(reading, server.planning)
            now = await server.call("planning_start", instruction="Add a login", seconds=0.2)
            assert now.working
            server.planning.stop()
            await anyio.to_thread.run_sync(thread.join, 10)
            assert not thread.is_alive()
            left = await server.call("planning_get", session_id=now.view.session_id)
            assert isinstance(left.view.pending, WorkPending)

    thread.start()
    anyio.run(main)
    assert model.asked == []


def test_two_clients_answer_one_question_once(tmp_path: Path):
    refused: list[RingiError] = []

    async def main(server: Server) -> None:
        session = (await server.call("planning_start", instruction="Add a login")).view.session_id

        async def answer(words: str) -> None:
            try:
                await server.call("planning_answer", session_id=session, answer=words, question_id="q-1")
            except NotAsked as error:
                refused.append(error)

        async with anyio.create_task_group() as group:
            group.start_soon(answer, "one")
            group.start_soon(answer, "other")
        stored = await server.reading.call(lambda workspace: workspace.planning.get(session))
        assert stored.session.questions[0].answer in {"one", "other"}
        assert stored.session.questions[1].answer is None

    led(tmp_path, ScriptedModel(), main)
    assert len(refused) == 1


def test_where_another_process_lets_the_model_work_the_step_is_saved_all_the_same(tmp_path: Path):
    class Taken(ScriptedModel):
        def ask(self, *_):
            raise Busy(holder="another process")

    async def main(server: Server) -> None:
        now = await server.call("planning_start", instruction="Add a login")
        assert told(now).waits_for == "resume"
        assert len(await server.steps.open_sessions()) == 1

    led(tmp_path, Taken(), main)


def test_open_sessions_are_listed(tmp_path: Path):
    async def main(server: Server) -> None:
        now = await to_the_review(server)
        found = planning_tools.list_sessions(await server.steps.open_sessions())
        assert [one.session_id for one in found.open_sessions] == [now.view.session_id]
        document = json.loads(json.dumps(to_builtins(found)))
        jsonschema.validate(document, object_schema(planning_tools.SessionList))

    led(tmp_path, ScriptedModel(), main)


def test_schema_and_decoder_refuse_alike():
    for wrong in (
        {},
        {"instruction": ""},
        {"instruction": "x", "seconds": 301},
        {"instruction": "x", "a": 1},
    ):
        with pytest.raises(BadDocument):
            codec.decode_foreign(json.dumps(wrong).encode(), TOOLS["planning_start"].arguments, "x")
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, input_schema(TOOLS["planning_start"].arguments))
