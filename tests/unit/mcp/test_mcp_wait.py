"""Workers and waiting, in one process: a person acts while a client waits."""

import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
import pytest

from ringi.app.api import Workspace
from ringi.errors import Busy, Interrupted, NotFound
from ringi.kernel.places import places_of
from ringi.kernel.process.ancestors import Ancestor
from ringi.mcp.server import ServerOptions, client_below
from ringi.mcp.wait import WaitForPerson
from ringi.mcp.worker import Opening, Worker
from ringi.tree.copy import Supervisor, WorkCopy
from tests.helpers import (
    PATIENCE_SEC,
    Person,
    approve,
    environment_of,
    ledger_of,
    open_scratch,
    proposed,
    write,
)


@contextmanager
def working(
    opener: Callable[[], Workspace], is_current: Callable[[], bool] = lambda: True
) -> Iterator[Worker]:
    worker = Worker(opener, is_current)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(PATIENCE_SEC)
    assert not thread.is_alive()


async def silent(*_: object) -> None:
    return None


def waiting(tmp_path: Path, main: Callable[[Worker, Workspace, str], Awaitable[None]]) -> None:
    with open_scratch(tmp_path) as person, working(lambda: open_scratch(tmp_path)) as worker:
        plan_id = proposed(person, write("README.md", "# Other\n"))
        anyio.run(main, worker, person, plan_id)


@asynccontextmanager
async def meanwhile(act: Callable[[], object]) -> AsyncIterator[None]:
    async def later() -> None:
        await anyio.sleep(0.2)
        await anyio.to_thread.run_sync(act)

    async with anyio.create_task_group() as group:
        group.start_soon(later)
        yield


def test_it_returns_when_the_person_decides(tmp_path: Path):
    async def main(worker: Worker, person: Workspace, plan_id: str) -> None:
        begun = anyio.current_time()
        async with meanwhile(lambda: approve(person, plan_id)):
            found = await WaitForPerson(worker).wait("p1", 30, silent)
        assert found.outcome == "approved"
        assert anyio.current_time() - begun < 5

    waiting(tmp_path, main)


def test_a_comment_wakes_it_and_is_told_once(tmp_path: Path):
    async def main(worker: Worker, person: Workspace, plan_id: str) -> None:
        waiter = WaitForPerson(worker)
        async with meanwhile(lambda: person.plan.comment(plan_id, "README.md", 1, "why?")):
            found = await waiter.wait("p1", 30, silent)
        assert [one.text for one in found.comments] == ["why?"]
        assert (found.outcome, found.call_again) == (None, True)
        begun = anyio.current_time()
        assert (await waiter.wait("p1", 0.3, silent)).call_again
        assert anyio.current_time() - begun > 0.25

    waiting(tmp_path, main)


def test_cancelling_leaves_nothing_behind(tmp_path: Path):
    async def main(worker: Worker, _: Workspace, __: str) -> None:
        with anyio.move_on_after(0.3) as scope:
            await WaitForPerson(worker).wait("p1", 300, silent)
        assert scope.cancelled_caught
        looked = await worker.call(lambda workspace: ledger_of(workspace).plans.count())
        assert looked == 1

    waiting(tmp_path, main)


def test_too_many_at_once_are_refused(tmp_path: Path):
    refused: list[Busy] = []

    async def main(worker: Worker, _: Workspace, __: str) -> None:
        waiter = WaitForPerson(worker)

        async def one() -> None:
            try:
                await waiter.wait("p1", 0.2, silent)
            except Busy as error:
                refused.append(error)

        async with anyio.create_task_group() as group:
            for _number in range(103):
                group.start_soon(one)
        assert (await waiter.wait("p1", 0, silent)).call_again

    waiting(tmp_path, main)
    assert len(refused) == 3


def test_progress_is_told_at_once(tmp_path: Path):
    told: list[tuple[float, float, str]] = []

    async def progress(done: float, total: float, words: str) -> None:
        told.append((done, total, words))

    async def main(worker: Worker, _: Workspace, __: str) -> None:
        await WaitForPerson(worker).wait("p1", 0.2, progress)

    waiting(tmp_path, main)
    assert [(total, "ringi review p1" in words) for _, total, words in told] == [(0.2, True)]


def test_a_worker_hands_errors_over_and_continues(tmp_path: Path):
    def broken(_: Workspace) -> None:
        raise KeyError("a mistake")

    async def main() -> None:
        with pytest.raises(KeyError):
            await worker.call(broken)
        with pytest.raises(NotFound):
            await worker.call(lambda workspace: workspace.plan.get("p9"))
        assert await worker.call(lambda workspace: ledger_of(workspace).plans.count()) == 0

    with working(lambda: open_scratch(tmp_path)) as worker:
        anyio.run(main)


def test_settings_and_a_ledger_that_changed_count_from_the_next_call_on(repo: Path, tmp_path: Path):
    environment = environment_of(tmp_path)
    opening = Opening(repo, environment, Person)

    async def main() -> None:
        async def critical() -> tuple[str, ...]:
            return await worker.call(lambda workspace: workspace.config.risk.critical)

        async def opened() -> int:
            return await worker.call(id)

        before, first = await critical(), await opened()
        assert await opened() == first
        write_config(repo, "risk:\n  critical: [guarded.txt]\n")
        assert await critical() == (*before, "guarded.txt")
        await worker.call(lambda workspace: workspace.plan.propose("Something"))
        state = places_of(repo, environment).state
        state.rename(state.with_name("damaged"))
        assert await worker.call(lambda workspace: ledger_of(workspace).plans.count()) == 0
        assert state.is_dir()

    with working(opening.open, opening.is_current) as worker:
        anyio.run(main)


def write_config(root: Path, text: str) -> None:
    (root / ".agent").mkdir(exist_ok=True)
    (root / ".agent" / "config.yaml").write_text(text)


def test_a_call_that_was_cancelled_before_its_turn_never_runs(tmp_path: Path):
    began, go_on, ran = threading.Event(), threading.Event(), list[str]()

    def slow(_: Workspace) -> None:
        began.set()
        go_on.wait(60)

    async def main() -> None:
        first = worker.begin(slow)
        await anyio.to_thread.run_sync(began.wait)
        with anyio.move_on_after(0.05):
            await worker.call(lambda _: ran.append("cancelled"))
        go_on.set()
        await first
        await worker.call(lambda _: ran.append("later"))

    with working(lambda: open_scratch(tmp_path)) as worker:
        anyio.run(main)
    assert ran == ["later"]


def test_a_signal_during_a_command_ends_the_worker(tmp_path: Path):
    def interrupted(_: Workspace) -> None:
        raise Interrupted

    async def main() -> None:
        with pytest.raises(Interrupted):
            await worker.call(interrupted)

    worker = Worker(lambda: open_scratch(tmp_path))
    thread = threading.Thread(target=worker.run)
    thread.start()
    anyio.run(main)
    thread.join(PATIENCE_SEC)
    assert not thread.is_alive()


def test_who_asks_is_the_agent_below_whose_supervisor_the_server_was_started(repo: Path, tmp_path: Path):
    environment = environment_of(tmp_path)
    places = places_of(repo, environment)
    copy = WorkCopy.make(repo, places.state, places.copies)
    with_, shell = Ancestor(70, "now", "python3", ("ringi",)), Ancestor(71, "now", "sh", ("sh",))

    def requester(*above: Ancestor) -> str:
        client = client_below(above, ServerOptions(environment, repo, "a label"))
        assert client.agent() is not None
        return client.requester()

    copy.note(supervisor=Supervisor(70, "now"), command=("/usr/bin/claude", "--resume"), taken=False)
    assert requester(with_) == requester(shell, with_) == "with:claude"
    person = requester(shell)
    assert person.startswith("user:")
    assert requester(with_._replace(start="earlier")) == person
    copy.note(supervisor=Supervisor(70, "later"), command=("/usr/bin/claude",), taken=False)
    assert requester(with_) == person
    assert requester(shell, with_._replace(argv=("ringi", "with", "claude"))) == "with:"
