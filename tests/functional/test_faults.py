"""Damage, full disks, closed folders: a clean error, nothing half written, and a way back."""

import os
import random
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from ringi.app.doctor import REPAIR, Doctor, DoctorFinding, Mark
from ringi.errors import LedgerCorrupt, RingiError, StorageFailed
from ringi.plans.document import PlanStatus
from tests.functional.disks import PAGE, fill, small_disk
from tests.helpers import (
    NOBODY,
    approve,
    approved,
    assert_whole,
    create,
    environment_of,
    fingerprint,
    in_child,
    ledger_of,
    open_descriptors,
    open_scratch,
    proposed,
    reachable_folder,
    untouched,
    write,
)

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "header": lambda data: b"not a database at all!" + data[22:],
    "middle page": lambda data: data[: 3 * PAGE] + b"\xa5" * PAGE + data[4 * PAGE :],
    "every page but the first": lambda data: data[:PAGE] + bytes(len(data) - PAGE),
    "truncated in a page": lambda data: data[: len(data) // 2 + 100],
    "truncated at a page": lambda data: data[: 4 * PAGE],
    "only text": lambda data: b"hello\n",
    "random": lambda data: random.Random(7).randbytes(len(data)),
    "schema page": lambda data: data[:100] + b"\xff" * (PAGE - 100) + data[PAGE:],
}


def ledger_file(tmp_path: Path) -> Path:
    return next((tmp_path / "state").glob("*/ringi.db"))


def mend(tmp_path: Path) -> list[str]:
    def no_copy(*_: object) -> None:
        pytest.fail("there is no copy")

    return [str(one.text) for one in Doctor(tmp_path / "ws", environment_of(tmp_path)).repair(no_copy)]


@pytest.fixture
def damaged(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[list[str], bytes]:
    with open_scratch(tmp_path) as ws:
        done = approved(ws, write("README.md", "x\n"))
        ws.plan.execute(done)
        ready = approved(ws, create("new.txt", "x\n"))
        ws.plan.propose("Words only, long enough to fill pages. " * 500)
        with suppress(RingiError):
            ledger_of(ws).database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    path = ledger_file(tmp_path)
    path.write_bytes(DAMAGES[request.param](path.read_bytes()))
    return [done, ready], path.read_bytes()


def look_around(tmp_path: Path) -> None:
    with open_scratch(tmp_path) as ws:
        ws.plan.list()
        ws.verify_log()
        for ref in ws.plan.list():
            ws.plan.get(ref.id)


@pytest.mark.parametrize("damaged", DAMAGES, indirect=True)
def test_a_damaged_ledger_is_named_and_set_aside(damaged, tmp_path: Path):
    ids, data = damaged
    path = ledger_file(tmp_path)
    with pytest.raises(LedgerCorrupt) as caught:
        look_around(tmp_path)
    assert str(path) in str(caught.value)
    assert caught.value.exit_code == 1
    assert "doctor --repair" in caught.value.hint
    assert path.read_bytes() == data
    findings = Doctor(tmp_path / "ws", environment_of(tmp_path)).examine()
    assert [finding.mend for finding in findings if finding.mark is Mark.BAD] == [REPAIR]
    with untouched(tmp_path / "ws"):
        said = mend(tmp_path)
    kept = next(path.parent.glob("ringi.db.damaged-*"))
    assert kept.read_bytes() == data
    assert any(str(kept) in line for line in said)
    assert any("3 plans came back from .agent as proposed" in line for line in said)
    with open_scratch(tmp_path) as ws:
        assert {ref.status for ref in ws.plan.list()} == {PlanStatus.PROPOSED}
        assert {ref.id for ref in ws.plan.list()} >= set(ids)
        assert ledger_of(ws).approvals.of(ids[1]) == ()
        assert ws.plan.get_state(ids[1]).approvals == ()
        with untouched(tmp_path / "ws"), pytest.raises(RingiError):
            ws.plan.execute(ids[1])
        assert_whole(ws)
        # What came back can be set, decided and carried out again.
        ws.plan.set_action_specs(ids[1], [create("new.txt", "x\n")])
        approve(ws, ids[1])
        assert ws.plan.execute(ids[1]).overall_success
    assert [finding for finding in examined(tmp_path) if finding.mark is Mark.BAD] == []
    assert mend(tmp_path) == []


def examined(tmp_path: Path) -> list[DoctorFinding]:
    return Doctor(tmp_path / "ws", environment_of(tmp_path)).examine()


@pytest.mark.parametrize("seed", range(25))
def test_any_damage_is_an_error_of_ours_or_none(tmp_path: Path, seed: int):
    """Wherever bytes are turned, looking at the ledger ends with our error, and repair with a sound one."""
    chance = random.Random(seed)
    with open_scratch(tmp_path) as ws:
        approved(ws, write("README.md", "x\n"))
        ws.plan.execute(approved(ws, create("new.txt", "x\n")))
    path = ledger_file(tmp_path)
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice([1, 5, 50])):
        at = chance.randrange(len(data))
        data[at : at + 4] = chance.randbytes(4)
    path.write_bytes(data)
    with suppress(RingiError):
        look_around(tmp_path)
    assert all(finding.mend for finding in examined(tmp_path) if finding.mark is Mark.BAD)
    with suppress(RingiError):
        mend(tmp_path)


def test_an_empty_file_in_its_place_is_an_empty_ledger_that_doctor_notices(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        plan_id = proposed(ws, write("README.md", "x\n"))
    ledger_file(tmp_path).write_bytes(b"")
    bad = [finding for finding in examined(tmp_path) if finding.mark is Mark.BAD]
    assert str(bad[0].text) == "the ledger has no plan, but .agent has 1"
    assert bad[0].mend == REPAIR
    mend(tmp_path)
    with open_scratch(tmp_path) as ws:
        assert ws.plan.get_state(plan_id).status is PlanStatus.PROPOSED


# --- a full disk ----------------------------------------------------------------------------------


STEPS: dict[str, Callable[..., object]] = {
    "propose": lambda ws, _: ws.plan.propose("Words " * 5000),
    "specs": lambda ws, plan: ws.plan.set_action_specs(plan, [create("big.txt", "x\n" * 20_000)]),
    "request": lambda ws, plan: ws.plan.request_approval(plan),
    "execute": lambda ws, plan: ws.plan.execute(plan),
}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
@pytest.mark.parametrize("where", ["state", "workspace"])
@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk(tmp_path: Path, step: str, where: str):
    """With ever more room: each call fails cleanly or works, and works once there is room."""
    failed = succeeded = 0
    with small_disk(tmp_path / "disk", 6000) as disk:
        for free in range(0, 60 * PAGE, 5 * PAGE):
            place = tmp_path / f"{free}"
            place.mkdir()
            inside = disk / f"{free}"
            inside.mkdir()
            if where == "state":
                (place / "state").symlink_to(inside)
            else:
                (inside / ".agent").mkdir()
                (inside / "README.md").write_text("# Sample\n")
                place.joinpath("ws").symlink_to(inside)
            with open_scratch(place) as ws:
                plan_id = ws.plan.propose("A change")
                if step in {"request", "execute"}:
                    ws.plan.set_action_specs(plan_id, [create("big.txt", "x\n" * 20_000)])
                if step == "execute":
                    approve(ws, plan_id)
            filler = fill(disk, free)
            count = len(full_call(place, step, plan_id))
            failed, succeeded = failed + count, succeeded + 1 - count
            filler.unlink()
            with open_scratch(place) as ws:
                if count and not ws.recovered:
                    STEPS[step](ws, plan_id)
                else:
                    ws.plan.propose("Goes on")
                assert ws.upkeep._projection.problem is None
                assert_whole(ws)
                assert sorted(path.name for path in (place / "ws" / ".agent" / "tmp").glob("*")) == []
            shutil.rmtree(inside, ignore_errors=True)
    assert succeeded
    # In the workspace only the execution itself needs room; what is written out for people can wait.
    assert failed or (where == "workspace" and step != "execute")


def full_call(place: Path, step: str, plan_id: str) -> list[RingiError]:
    root = (place / "ws").resolve()
    before = fingerprint(root)
    try:
        with open_scratch(place) as ws:
            STEPS[step](ws, plan_id)
    except StorageFailed as error:
        # After the intent all files are in place and only the result is missing; recovery writes it.
        after = fingerprint(root)
        assert after == before or (step == "execute" and (root / "big.txt").read_text() == "x\n" * 20_000)
        return [error]
    return []


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("limit", [0, 1000, 20_000, 39_999, 120_000])
def test_a_limit_on_the_size_of_files(tmp_path: Path, step: str, limit: int):
    """As on a full disk, for machines where none can be mounted."""
    with open_scratch(tmp_path) as ws:
        plan_id = ws.plan.propose("A change")
        if step in {"request", "execute"}:
            ws.plan.set_action_specs(plan_id, [create("big.txt", "x\n" * 20_000)])
        if step == "execute":
            approve(ws, plan_id)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        full_call(tmp_path, step, plan_id)

    assert in_child(work) == 0
    with open_scratch(tmp_path) as ws:
        if step == "execute" and ws.plan.get_state(plan_id).status is PlanStatus.APPROVED:
            ws.plan.execute(plan_id)
        ws.plan.propose("Goes on")
        assert_whole(ws)
    if step == "execute":
        assert (tmp_path / "ws" / "big.txt").read_text() == "x\n" * 20_000


# --- folders that may not be written, as somebody who is not root ---------------------------------


@contextmanager
def of_another_user() -> Iterator[Path]:
    """A folder with a workspace that belongs to somebody without privileges, as long as we are root."""
    with reachable_folder() as folder:

        def make() -> None:
            with open_scratch(folder) as ws:
                approved(ws, write("README.md", "x\n"), create("new/file.txt", "y\n"))

        assert in_child(make, uid=NOBODY) == 0
        try:
            yield folder
        finally:
            for path in (folder, *folder.rglob("*")):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o777)


def closed(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o555)


def test_a_state_folder_that_may_not_be_written():
    with of_another_user() as folder:
        for path in (folder / "state").rglob("*"):
            if path.is_file():
                path.chmod(0o444)

        def work() -> None:
            for call in (
                lambda ws: ws.plan.propose("x"),
                lambda ws: ws.plan.mark_pending("p1", True),
                lambda ws: ws.plan.execute("p1"),
            ):
                with (
                    untouched(folder / "ws"),
                    pytest.raises(StorageFailed) as caught,
                    open_scratch(folder) as ws,
                ):
                    call(ws)
                assert caught.value.exit_code == 1
            assert list((folder / "ws" / ".agent" / "tmp").iterdir()) == []
            bad = [finding for finding in examined(folder) if finding.mark is Mark.BAD]
            assert bad
            assert all(finding.mend for finding in bad)

        assert in_child(work, uid=NOBODY) == 0


def test_a_workspace_that_may_not_be_written():
    """Deciding goes on, and says that the files in .agent were not written; carrying out does not."""
    with of_another_user() as folder:
        closed(folder / "ws")

        def work() -> None:
            with open_scratch(folder) as ws:
                with untouched(folder / "ws", agent=True):
                    ws.plan.propose("Another")
                assert isinstance(ws.upkeep._projection.problem, StorageFailed)
                with untouched(folder / "ws", agent=True), pytest.raises(RingiError) as caught:
                    ws.plan.execute("p1")
                assert caught.value.exit_code == 1
                assert ws.verify_log() == []

        assert in_child(work, uid=NOBODY) == 0
        for path in (folder / "ws", *(folder / "ws").rglob("*")):
            if path.is_dir():
                path.chmod(0o755)

        def again() -> None:
            with open_scratch(folder) as ws:
                ws.plan.execute("p1")
                assert_whole(ws)

        assert in_child(again, uid=NOBODY) == 0
        assert (folder / "ws" / "new" / "file.txt").read_text() == "y\n"


def test_one_folder_that_may_not_be_written_stops_the_whole_group():
    with of_another_user() as folder:
        (folder / "ws" / "app").chmod(0o555)

        def work() -> None:
            with open_scratch(folder) as ws:
                specs = [write(path, "z\n", group="g") for path in ("README.md", "app/hello.py")]
                plan_id = approved(ws, *specs)
                with untouched(folder / "ws"):
                    result = ws.plan.execute(plan_id)
                assert not result.overall_success
                assert ws.plan.get_state(plan_id).status is PlanStatus.ABORTED
                assert_whole(ws)

        assert in_child(work, uid=NOBODY) == 0


def test_files_and_folders_that_may_not_be_read():
    with of_another_user() as folder:
        (folder / "ws" / "app" / "hello.py").chmod(0)
        (folder / "ws" / "closed").mkdir()
        (folder / "ws" / "closed").chmod(0)

        def work() -> None:
            with open_scratch(folder) as ws:
                plan_id = ws.plan.propose("A change")
                report = ws.plan.set_action_specs(
                    plan_id, [write("app/hello.py", "z\n"), write("closed/file.txt", "z\n")]
                )
                assert len(report.issues) == 2
                assert all("Permission denied" in issue for issue in report.issues)
                ws.plan.preview(plan_id)

        assert in_child(work, uid=NOBODY) == 0


def test_somebody_elses_state_is_not_used():
    if os.getuid() != 0:
        pytest.skip("needs two users")
    with of_another_user() as folder:
        with pytest.raises(StorageFailed, match="it belongs to another user"):
            open_scratch(folder)
        bad = [finding for finding in examined(folder) if finding.mark is Mark.BAD]
        assert len(bad) == 1
        assert bad[0].mend


def test_a_linked_state_folder_is_refused(tmp_path: Path):
    with open_scratch(tmp_path) as ws:
        state = ws.places.state
    state.rename(tmp_path / "elsewhere")
    state.symlink_to(tmp_path / "elsewhere")
    with untouched(tmp_path / "elsewhere"), pytest.raises(StorageFailed, match="it is a symbolic link"):
        open_scratch(tmp_path)
    assert all(finding.mend for finding in examined(tmp_path) if finding.mark is Mark.BAD)


def test_the_connection_is_closed_when_opening_fails(tmp_path: Path):
    with open_scratch(tmp_path) as ws, closing(ws):
        ws.plan.propose("x")
    ledger_file(tmp_path).write_bytes(b"broken" * 1000)
    before = open_descriptors()
    for _ in range(5):
        with pytest.raises(LedgerCorrupt):
            open_scratch(tmp_path)
    # Fewer are fine: what an earlier test left to the collector may close meanwhile.
    assert set(open_descriptors()) <= set(before)
