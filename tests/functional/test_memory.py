"""What a large text costs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.functional.desk import RINGI, Desk

TEXT_MB = 20
MOST_MB = 250
# Its own process, so that no other child counts.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


LINE = "a line of text, as long as lines in a program often are\n"
LINES = TEXT_MB * 1_000_000 // len(LINE)
PATCH = (
    "diff --git a/large.txt b/large.txt\nnew file mode 100644\n--- /dev/null\n+++ b/large.txt\n"
    f"@@ -0,0 +1,{LINES} @@\n"
)


def as_specs(path: Path) -> list[str]:
    path.write_text(json.dumps([{"kind": "create", "path": "large.txt", "content": LINE * LINES}]))
    return ["--specs", str(path)]


def as_patch(path: Path) -> list[str]:
    path.write_text(PATCH + f"+{LINE}" * LINES)
    return ["--patch", str(path)]


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("written", [as_specs, as_patch])
def test_a_large_text_is_proposed(desk: Desk, tmp_path: Path, written: Callable[[Path], list[str]]):
    given = written(tmp_path / "given")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *RINGI, "propose", *given, "--title", "Large"],
        cwd=desk.root,
        env={**os.environ, "RINGI_LIMITS_MAX_FILE_BYTES": str(10**9)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, most = map(int, done.stdout.split())
    assert code == 0, done.stderr
    unit = 1 if sys.platform == "darwin" else 1024
    assert most * unit <= MOST_MB * 1_000_000
