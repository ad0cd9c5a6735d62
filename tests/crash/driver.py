"""A warm process that carries out plans in children of its own, which are killed from inside or outside.

It reads one JSON line per child and answers with one: how the child ended. The children run nothing but
the program; where they die is decided by an audit hook, a profile or strace.
"""

import contextlib
import ctypes
import itertools
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import ringi
from ringi.approvals.document import TypedAnswer
from ringi.cli.main import main as ringi_main
from ringi.engine.process import ActionState
from ringi.engine.run_state import OVER, StepStatus
from ringi.forges.offer import offer_run
from ringi.plans.document import NewContent, PlanStatus
from ringi.plans.review_merge import merge_if_clean
from ringi.plans.reviewed_plan import ReviewedPlan
from ringi.runs.document import Run, StopCode
from ringi.runs.drive import RunOptions, cancel_run, run_steps
from ringi.runs.replan import replan
from ringi.runs.start import ReviewedRun, covering
from tests.fakes.people import SeatedPerson
from tests.helpers import approve

_PR_SET_PTRACER = 0x59616D61
_ANY_PROCESS = ctypes.c_ulong(-1)
_COUNTED = ("open", "os.", "sqlite3.", "ctypes.", "fcntl.", "shutil.", "pathlib.")
_CHANGING = ("os.link", "os.remove", "os.rename", "os.symlink", "os.truncate", "subprocess.Popen")
"""Where something becomes visible to others; in between files are written that nobody knows yet."""


def main() -> None:
    _warm()
    # Before the fork, so that the signal cannot come too early.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    _say("ready")
    for line in sys.stdin:
        task = json.loads(line)
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            _child(task, tell)
        os.close(tell)
        if task["attach"] and os.read(ready, 1):
            _say({"pid": pid})
        os.close(ready)
        _, status = os.waitpid(pid, 0)
        _say({"code": os.waitstatus_to_exitcode(status)})


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _warm() -> None:
    """Imports that an execution would do, so that a child does nothing but execute."""
    import mcp
    import pydantic_ai.models.openai

    from ringi.app import integrity
    from ringi.forges import github, gitlab
    from ringi.kernel import fs
    from ringi.models import http_backend
    from ringi.provenance import exchange
    from ringi.tools import mcp_servers

    fs._exchange_function()
    from ringi.forges import publishing

    assert all([exchange, github, gitlab, publishing])
    assert all([http_backend, integrity, mcp, mcp_servers, pydantic_ai.models.openai])


def _child(task: Mapping[str, Any], tell: int) -> None:
    code = 70
    try:
        if "run" in task and task.get("event"):  # also while the work of an earlier one is recovered
            _die_at(task["event"], _CHANGING)
        if "save" in task:
            _die_at_save(task["moment"], task["save"], task["saved_by"])
        if "words" in task:
            code = _command(task)
            os._exit(code)
        with _opened(task) as workspace:
            if task["attach"]:
                _wait_for_tracer(tell)
            if task.get("event") and "run" not in task:
                _die_at(task["event"], _COUNTED)
            code = 0 if _act(workspace, task) else 71
            # Not the end of the process: closing the ledger is no part of the execution.
            os._exit(code)
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        os._exit(code)


@contextlib.contextmanager
def _opened(task: Mapping[str, Any]) -> Iterator[ringi.Workspace]:
    # At once: another thread would make what happens when it is killed a matter of chance.
    with ringi.open_workspace(
        task["root"], environment=task["environment"], person=SeatedPerson(), at_once=True
    ) as opened:
        yield opened


def _act(workspace: ringi.Workspace, task: Mapping[str, Any]) -> bool:
    if task.get("offer"):
        offer = offer_run(workspace, task["offer"]).offer
        return offer is not None and not offer.left
    if task.get("cancel"):
        return cancel_run(workspace, task["run"]).phase in OVER
    if task.get("run"):
        return _carry_on(workspace, task["run"], RunOptions(**task["options"]), task["edits"])
    if task.get("merge"):
        return merge_if_clean(ReviewedPlan(workspace, task["plan"])) is not None
    if answer := task.get("answer"):
        proof = TypedAnswer(answer, answer[:6])
        return workspace.plan.undo(task["plan"], "person", proof).overall_success
    return workspace.of_plan(task["plan"]).plan.execute(task["plan"]).overall_success


def _carry_on(workspace: ringi.Workspace, run_id: str, options: RunOptions, edits: Mapping[str, str]) -> bool:
    """To its end: whatever waits is approved and carried out, whatever is too large is planned anew."""
    while (run := _newest(workspace, run_id)).phase not in OVER:
        if run.stop and run.stop.reason_code is StopCode.STEP_TOO_LARGE:
            replan(workspace, run.run_id)
            continue
        if covering(workspace, run.run_id) is None:
            reviewed = ReviewedRun(workspace, run.run_id)
            reviewed.approve(TypedAnswer(reviewed.digest, "yes"))
        made = [step for step in run.steps if step.status is StepStatus.PROPOSED]
        if run.stop and made:
            _decide(workspace.of_plan(made[0].plan_id), made[0].plan_id, edits.get(made[0].step_id))
        _decide_calls(workspace, run)
        now = run_steps(workspace, run.run_id, options)
        if (now.phase, now.steps, now.stop) == (run.phase, run.steps, run.stop):
            plans = [(ref.id, str(ref.status)) for ref in workspace.plan.list()]
            sys.stderr.write(f"{now.stop} {plans}\n")
            return False
    return True


def _newest(workspace: ringi.Workspace, run_id: str) -> Run:
    run = workspace.store.runs.get(run_id)
    return _newest(workspace, run.replaced_by) if run.replaced_by else run


def _decide(there: ringi.Workspace, plan_id: str, edit: str | None) -> None:
    document = there.plan.get(plan_id)
    if document.state.status is not PlanStatus.PENDING_REVIEW:
        return
    if edit is not None and document.plan.version == 1:
        there.plan.amend(plan_id, [NewContent(document.state.action_specs[0].id, edit)])
    approve(there, plan_id)
    there.plan.execute(plan_id)


def _decide_calls(workspace: ringi.Workspace, run: Run) -> None:
    """A person sees them in the list of what waits, also if the run was killed before it could say so."""
    for process in workspace.store.processes.of(run.run_id):
        for record in workspace.store.processes.actions(process.process_id):
            if record.state is not ActionState.WAITING:
                continue
            if workspace.plan.get_state(record.plan_id).status is PlanStatus.APPROVED:
                workspace.plan.execute(record.plan_id)
            _decide(workspace, record.plan_id, None)


def _command(task: Mapping[str, Any]) -> int:
    """What a person types, without a terminal; the folder `told` gets what it printed."""
    os.chdir(task["root"])
    os.environ.clear()
    os.environ.update(task["environment"])
    told = Path(task["told"])
    for number, file in enumerate((Path(os.devnull), told / "out", told / "errors")):
        os.dup2(os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    called = _die_at_call(task["calls"]) if "calls" in task else None
    code = ringi_main(task["words"])
    sys.setprofile(None)
    sys.stdout.flush()
    if called:
        (told / "calls").write_text(str(next(called)))
    return code


def _die_at_call(number: int) -> Iterator[int]:
    """Before so many calls of functions, in whichever thread; 0 is never. Counts them."""
    calls = itertools.count(1)

    def counted(_: FrameType, event: str, __: object) -> None:
        if event in {"call", "c_call"} and next(calls) == number:
            _die()

    threading.setprofile(counted)
    sys.setprofile(counted)
    return calls


def _die_at_save(moment: str, number: int, saved_by: str) -> None:
    """`moment` is "call", before a transition of a run or a process is saved, or "return", after it was."""
    left = number

    def watched(frame: FrameType, event: str, _: object) -> None:
        nonlocal left
        if event == moment and frame.f_code.co_qualname == saved_by:
            left -= 1
            if left == 0:
                _die()

    sys.setprofile(watched)


def _die_at(event: int, counted: tuple[str, ...]) -> None:
    left = event

    def hook(name: str, _: object) -> None:
        nonlocal left
        if name.startswith(counted):
            left -= 1
            if left == 0:
                _die()
            if name == "subprocess.Popen":
                left -= 1
                if left == 0:
                    sys.setprofile(_die_once_started)

    sys.addaudithook(hook)


def _die_once_started(frame: FrameType, event: str, _: object) -> None:
    if event == "return" and frame.f_code.co_qualname == "Popen._execute_child":
        _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _wait_for_tracer(tell: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY_PROCESS, 0, 0, 0)
    os.write(tell, b"!")
    signal.sigwait([signal.SIGUSR1])


if __name__ == "__main__":
    main()
