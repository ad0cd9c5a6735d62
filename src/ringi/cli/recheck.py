"""Run a plan's checks again during a review, in a separate process that can be stopped."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from ringi.app.api import open_workspace
from ringi.errors import Interrupted, RingiError
from ringi.kernel.text import Text

_PATIENCE_SEC: Final = 5.0
_TICK_SEC: Final = 0.2


class Recheck:
    """One run of the checks; calls `wake` when it ends."""

    def __init__(
        self,
        root: Path,
        plan_id: str,
        environment: Mapping[str, str],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        self._began = time.monotonic()
        self._wake = wake
        self._process = subprocess.Popen(
            # -P: nothing is imported from the project's folder.
            [sys.executable, "-P", "-m", __name__, str(root), plan_id, str(os.getpid())],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Keys typed in the review are not for them.
            start_new_session=True,
        )
        self._said = b""
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        with self._process as process:
            # Not `communicate`: it would close the standard input, which tells the process that we are gone.
            self._said = process.stdout.read() if process.stdout else b""
        self._wake()

    def wait(self) -> None:
        while not self.ended:
            self._thread.join(_TICK_SEC)  # in between, Python listens to Ctrl-C

    @property
    def seconds(self) -> int:
        return int(time.monotonic() - self._began)

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    @property
    def why_not(self) -> Text | None:
        """Why they could not run; None if they ran, whatever the result."""
        if self._process.returncode == 0:
            return None
        return _from_json(json.loads(self._said)) if self._said else Text(Interrupted.message)

    def stop(self) -> None:
        """Ends the checks and every process they started."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)  # it removes its copy before it exits
        self._thread.join(_PATIENCE_SEC)
        if not self.ended:
            self._process.kill()


def _to_json(value: object) -> object:
    """Encodes a sentence for the other process, which translates it."""
    if isinstance(value, Text):
        details = {name: _to_json(detail) for name, detail in value.details.items()}
        return [value.template, value.plural, details]
    return str(value)


def _from_json(told: Any) -> Any:
    if isinstance(told, str):
        return told
    template, plural, details = told
    return Text(template, plural, **{name: _from_json(detail) for name, detail in details.items()})


def _end_with_review() -> None:
    """Exit when standard input closes, which it does whenever the review ends."""
    review = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # commands started from here get no input
    os.close(nothing)

    def wait() -> None:
        os.read(review, 1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=wait, daemon=True).start()


def main(root: str, plan_id: str, reviewer: str) -> int:
    _end_with_review()
    try:
        with open_workspace(root) as workspace:
            # A step of a run is tested on the files of its branch.
            workspace.of_plan(plan_id).plan.check_again(plan_id, reviewer=int(reviewer))
    except RingiError as error:
        sys.stdout.write(json.dumps(_to_json(Text(error.message, **error.details))))
        return 1
    except KeyboardInterrupt:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
