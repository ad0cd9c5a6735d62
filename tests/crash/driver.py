"""A warm process that carries out plans in children of its own, which are killed from inside or outside.

It reads one JSON line per child and answers with one: how the child ended. The children run nothing but
the program; where they die is decided by an audit hook or by strace.
"""

import contextlib
import ctypes
import json
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import ringi
from ringi.domain.approval import TypedAnswer
from ringi.usecases.plan_merge import merge_if_clean
from ringi.usecases.reviewed_plan import ReviewedPlan
from tests.fakes.people import SeatedPerson

_PR_SET_PTRACER = 0x59616D61
_ANY_PROCESS = ctypes.c_ulong(-1)
_COUNTED = ("open", "os.", "sqlite3.", "ctypes.", "fcntl.", "shutil.", "pathlib.")


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
    from ringi.fs import calls
    from ringi.store import integrity

    calls._exchange_function()
    assert integrity


def _child(task: Mapping[str, Any], tell: int) -> None:
    code = 70
    try:
        with _opened(task) as workspace:
            if task["attach"]:
                _wait_for_tracer(tell)
            if task.get("event"):
                _die_at(task["event"])
            code = 0 if _act(workspace, task) else 71
            # Not the end of the process: closing the ledger is no part of the execution.
            os._exit(code)
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
    if task.get("merge"):
        return merge_if_clean(ReviewedPlan(workspace, task["plan"])) is not None
    if answer := task.get("answer"):
        proof = TypedAnswer(answer, answer[:6])
        return workspace.plan.undo(task["plan"], "person", proof).overall_success
    return workspace.plan.execute(task["plan"]).overall_success


def _die_at(event: int) -> None:
    left = event

    def hook(name: str, arguments: object) -> None:
        nonlocal left
        if name.startswith(_COUNTED):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def _wait_for_tracer(tell: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PTRACER, _ANY_PROCESS, 0, 0, 0)
    os.write(tell, b"!")
    signal.sigwait([signal.SIGUSR1])


if __name__ == "__main__":
    main()
