"""The tour of `make try`."""

import signal
import subprocess
import sys
from pathlib import Path

TOUR = Path(__file__).parents[2] / "tools" / "try.py"


def test_ctrl_c_ends_it_without_a_traceback(tmp_path: Path) -> None:
    tour = subprocess.Popen(
        [sys.executable, str(TOUR)],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tour.stdout is not None
    assert "scratch repository" in tour.stdout.readline()
    tour.send_signal(signal.SIGINT)
    out, errors = tour.communicate(timeout=60)
    assert "Stopped." in out
    assert tour.returncode == 130
    assert "Traceback" not in errors
