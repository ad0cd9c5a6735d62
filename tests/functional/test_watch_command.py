"""`ringi watch` as a command: what it prints, and how it ends."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import RunPhase
from ringi.forges.watch import lock_watching
from tests.functional.desk import RINGI, Desk
from tests.functional.run_desk import FIX, a_plan, a_step
from tests.functional.watch_desk import WatchDesk, each_forge, github, gitlab, watch_desk
from tests.helpers import PATIENCE_SEC

pytestmark = pytest.mark.req("PP-20")
ONE = a_plan(a_step(1))


@pytest.fixture
def desk(kind: ForgeKind, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchDesk]:
    with watch_desk(kind, monkeypatch, implementer=FIX) as made:
        yield made


@each_forge
def test_its_exit_code_says_how_things_stand(desk: WatchDesk):
    command = Desk(desk.root)
    done = command.process("watch", "--once")
    assert (done.returncode, "Nothing to watch" in done.stdout) == (0, True)
    assert "ringi run --issue" in done.stdout
    desk.begin(ONE)
    done = command.process("--json", "watch", "--once", desk.run_id)
    assert done.returncode == 3, done.stderr
    [line] = [json.loads(line) for line in done.stdout.splitlines()]
    assert (line["about"], line["kind"]) == (desk.run_id, "worked")
    assert "waits for a review" in line["message"]
    assert line["url"].startswith(desk.repo.url)
    assert f"ringi status {desk.run_id}" in done.stderr
    run = desk.run()
    assert run.offer
    assert run.offer.url in done.stderr
    change = desk.repo.changes[run.offer.number]
    desk.repo.review(change.number, "bob", "approve")
    with lock_watching(desk.state()):
        assert command.process("watch", "--once").returncode == 7
    done = command.process("watch", "--once")
    assert done.returncode == 0, done.stderr
    assert "S01 approved by bob@" in done.stdout
    assert f"  completed\n  {run.offer.url}\n" in done.stdout
    assert desk.run().phase is RunPhase.COMPLETED
    assert command.process("watch", "--once", desk.run_id).returncode == 0
    assert command.process("watch", "--once", "20990101").returncode == 2
    for said in (done.stdout, done.stderr):
        assert desk.forge.users["ringi"].token not in said


@github
def test_it_watches_until_it_is_interrupted(desk: WatchDesk):
    desk.begin(ONE)
    with subprocess.Popen(
        [*RINGI, "watch"], cwd=desk.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        lines = []
        while not lines or "Ctrl-C ends it" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], lines
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(PATIENCE_SEC) == 130
    assert "nothing is half-written" in rest
    assert "→ ringi watch" in rest
    with lock_watching(desk.state()):
        pass
    assert desk.run().offer


@gitlab
def test_a_token_that_is_missing_or_refused_is_said_with_what_to_do(
    desk: WatchDesk, monkeypatch: pytest.MonkeyPatch
):
    desk.begin(ONE)
    desk.forge.revoke("ringi")
    done = Desk(desk.root).process("watch", "--once")
    assert done.returncode == 1
    assert "refused the token" in done.stderr
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    done = Desk(desk.root).process("watch", "--once")
    assert done.returncode == 2, done.stderr
    assert "_TOKEN" in done.stderr
    assert os.environ.get("GITHUB_TOKEN") is None
