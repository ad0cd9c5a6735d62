"""What a large text costs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.desk import RINGI, Desk

TEXT_MB = 50
MOST_TIMES = 12
"""It was 24 times the text; alone on a machine it is 8."""
# Its own process, so that no other child counts.
MEASURED = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.req("PT-7")
def test_a_large_text_is_proposed(desk: Desk, tmp_path: Path):
    line = "a line of text, as long as lines in a program often are\n"
    specs = tmp_path / "specs.json"
    content = line * (TEXT_MB * 1_000_000 // len(line))
    specs.write_text(json.dumps([{"kind": "create", "path": "large.txt", "content": content}]))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *RINGI, "propose", "--specs", str(specs), "--title", "Large"],
        cwd=desk.root,
        env={**os.environ, "RINGI_LIMITS_MAX_FILE_BYTES": str(10**9)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, most = map(int, done.stdout.split())
    assert code == 0, done.stderr
    unit = 1 if sys.platform == "darwin" else 1024
    assert most * unit <= MOST_TIMES * TEXT_MB * 1_000_000
