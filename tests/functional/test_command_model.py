"""`command:claude` and the like look around in a copy of the project that they cannot change."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.functional.beside_desk import HomeDesk, home_desk, walled
from tests.functional.worlds import without_bubblewrap
from tests.helpers import PYTHON

# It asks what it saw as a question.
AGENT = f"""#!{PYTHON}
import json, os, pathlib, sys
given = sys.stdin.read()
seen = dict(argv=sys.argv[1:], cwd=os.getcwd(), files=sorted(os.listdir()))
seen["agent"] = os.environ.get("RINGI_WITH", "")
seen["copy"] = "read-only copy of the project" in given
try:
    seen["text"] = pathlib.Path("sample.py").read_text()
except OSError:
    pass
for place in (".", os.path.expanduser("~"), "/tmp") if seen["copy"] else ():
    try:
        pathlib.Path(place, "left-behind").write_text("x")
        seen.setdefault("wrote", []).append(place)
    except OSError:
        pass
question = dict(type="scope", question="?", context="", options=[])
with open(os.path.expanduser("~/.claude/seen.json"), "w") as file:
    json.dump(seen, file)
answer = dict(questions=[question])
known = "--print" in sys.argv
print(json.dumps(dict(type="result", result=json.dumps(answer)) if known else answer))
"""


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path, tmp_path: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        (desk.root / "sample.py").write_text("def answer() -> int:\n    return 42\n")
        (desk.root / ".gitignore").write_text("secret\n")
        (desk.root / "secret").write_text("hunter2")
        (desk.home / ".claude").mkdir(exist_ok=True)
        (bin_ := tmp_path / "bin").mkdir()
        for name in ("claude", "unknown"):
            (bin_ / name).write_text(AGENT)
            (bin_ / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
        yield desk


def _seen(desk: HomeDesk, model: str) -> dict[str, Any]:
    done = desk.process("plan", "Say why", RINGI_MODEL=model)
    assert done.returncode == 3, done.stdout + done.stderr
    return json.loads((desk.home / ".claude/seen.json").read_text())


@walled
@pytest.mark.req("IP-3")
def test_it_reads_the_project_and_changes_nothing(desk: HomeDesk):
    before = sorted(path.name for path in desk.root.iterdir())
    seen = _seen(desk, "command:claude")
    assert seen["cwd"] == str(desk.root)
    assert "return 42" in seen["text"]
    assert "secret" not in seen["files"]
    assert seen["copy"]
    assert seen["agent"]  # below it nobody is a person
    assert seen["argv"][-2:] == ["--tools", "Read,Glob,Grep"]
    # Both vanish with the sandbox.
    assert set(seen["wrote"]) <= {str(desk.home), "/tmp"}
    assert not (desk.home / "left-behind").exists()
    assert not Path("/tmp/left-behind").exists()
    after = sorted(path.name for path in desk.root.iterdir() if path.name != ".agent")
    assert after == [name for name in before if name != ".agent"]
    assert not [*desk.home.glob("**/tree/sample.py")], "the copy is gone"


@pytest.mark.parametrize("model", ["command:claude", "command:unknown"])
def test_without_a_sandbox_or_without_known_tools_it_sees_nothing(desk: HomeDesk, model: str):
    if model == "command:claude":
        desk.world = without_bubblewrap()
    seen = _seen(desk, model)
    assert seen["files"] == []
    assert not seen["copy"]


@walled
@pytest.mark.req("IP-3")
def test_where_files_are_kept_from_models_it_sees_only_the_context(
    desk: HomeDesk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RINGI_CONTEXT_NEVER_SEND", "sample.py")
    seen = _seen(desk, "command:claude")
    assert seen["files"] == []
    assert not seen["copy"]


def test_where_a_sandbox_is_required_nothing_starts(desk: HomeDesk):
    desk.world = without_bubblewrap()
    done = desk.process("plan", "Say why", RINGI_MODEL="command:claude", RINGI_WITH_SANDBOX="required")
    assert done.returncode not in {0, 3}
    assert not (desk.home / ".claude/seen.json").exists()
