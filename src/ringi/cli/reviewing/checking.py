"""The plan's checks run again while the person looks on: in a process of their own, which can be stopped."""

import contextlib
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ringi.cli.app import App
from ringi.errors import Interrupted, NoSandbox, RingiError
from ringi.wiring.assemble import commands_of

_PATIENCE_SEC: Final = 5.0
_TICK_SEC: Final = 0.2


def can_check(app: App) -> bool:
    """Whoever only wanted to look at a plan has not said that its code may run here: in a sandbox only."""
    workspace = app.workspace
    commands = commands_of(workspace.places, workspace.configuration.config, app.environment)
    try:
        return commands.sandboxed()
    except NoSandbox:
        return False


class Checking:
    """One run of them; `wake` is called when it has ended."""

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
            [sys.executable, "-m", __name__, str(root), plan_id],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Keys that are typed here are not for them.
            start_new_session=True,
        )
        self._said = b""
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        self._said = self._process.communicate()[0]
        with contextlib.suppress(OSError):  # the screen was left meanwhile
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
    def error(self) -> RingiError | None:
        """Why they could not run; None where they did, whatever they said."""
        if not self._said:
            return None if self._process.returncode == 0 else Interrupted()
        found = pickle.loads(self._said)  # noqa: S301  # of our own process
        return found if isinstance(found, RingiError) else Interrupted()

    def stop(self) -> None:
        """Ends the checks and what they started."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)  # it removes its copy before it goes
        self._thread.join(_PATIENCE_SEC)
        if not self.ended:
            self._process.kill()


def main(root: str, plan_id: str) -> int:
    from ringi.api import open_workspace  # noqa: PLC0415  # only in the other process

    try:
        with open_workspace(root) as workspace:
            workspace.plan.check_again(plan_id)
    except RingiError as error:
        sys.stdout.buffer.write(pickle.dumps(error))
        return 1
    except KeyboardInterrupt:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
