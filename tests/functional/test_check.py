"""`ringi check`: every kind of document, as files and from a pipe, whole and broken."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from ringi.kernel.problems import ReasonCode
from tests.functional.desk import RINGI, Desk
from tests.tables import each

SAMPLE = (Path(__file__).parents[1] / "unit/engine/planning-sample.json").read_bytes()


def check(desk: Desk, data: bytes, name: str = "file") -> tuple[int, str, list[dict[str, str]]]:
    """The exit code, what it took the file for, and the problems."""
    (desk.root.parent / name).write_bytes(data)
    done = desk.run("--json", "check", str(desk.root.parent / name))
    return done.returncode, done.stderr, json.loads(done.stdout)


@pytest.mark.req("RN-1", "RN-2")
def test_the_sample_of_the_specification(desk: Desk):
    (desk.root.parent / "planning.json").write_bytes(SAMPLE)
    done = desk.run("check", "../planning.json")
    assert done.returncode == 0
    first, warning, last = done.stdout.splitlines()
    assert first == "../planning.json is read as planning.json, the plan of a run"
    assert warning.startswith("AC_UNLINKED $.context.acceptance_criteria[0] no step is linked to AC-01")
    assert last == "✓ valid, warnings: 1"
    code, _, rows = check(desk, SAMPLE)
    assert code == 0
    [row] = rows
    assert list(row) == ["code", "level", "path", "message"]
    assert (row["code"], row["level"]) == ("AC_UNLINKED", "WARN")


def test_from_a_pipe_without_a_workspace(tmp_path: Path):
    done = subprocess.run(
        [*RINGI, "check", "-"], input=SAMPLE, cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert b"- is read as planning.json" in done.stdout
    assert list(tmp_path.iterdir()) == []


CHANGE_PLAN = {
    "version": "1.0",
    "planId": "p",
    "createdAt": 1,
    "basis": {"trigger": "refactor", "relatedDiagnostics": []},
    "scope": {"targetFiles": ["a.py"], "affectedFiles": []},
    "changes": [{"file": "a.py", "diff": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n"}],
    "validations": {"projectStateComplete": True, "noConflictFiles": []},
    "risk": {"level": "low", "reasons": []},
    "explanation": {"summary": "", "details": ""},
    "approval": {"status": "pending"},
}
SESSION = {
    "sessionId": "planning-00000000-0000-4000-8000-000000000000",
    "instruction": "Sort",
    "status": "discovery",
    "questions": [],
    "decisions": [],
    "designSummary": None,
    "conversationHistory": [],
    "plannerSessionId": None,
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-01T00:00:00Z",
}
QUESTION = {"id": "q-1", "type": "scope", "question": "?"}
OTHERS = [
    (CHANGE_PLAN, "a change plan", []),
    (CHANGE_PLAN | {"version": "2.0"}, "a change plan", ["VERSION_UNSUPPORTED $.version"]),
    (CHANGE_PLAN | {"changes": [{"file": "b.py", "diff": "nothing"}]}, "a change plan",
     ["SCHEMA_INVALID $.changes[0].diff", "SCHEMA_INVALID $.scope.targetFiles[0]",
      "SCHEMA_INVALID $.scope.targetFiles"]),
    (CHANGE_PLAN | {"risk": 1, "basis": {}},
     "a change plan",
     ["SCHEMA_INVALID $.basis.trigger",
      "SCHEMA_INVALID $.basis.relatedDiagnostics", "SCHEMA_INVALID $.risk"]),
    (SESSION, "a planning session", []),
    (SESSION | {"schemaVersion": 2}, "a planning session", ["VERSION_UNSUPPORTED $.schemaVersion"]),
    (SESSION | {"sessionId": "x", "instruction": " ", "questions": [QUESTION, QUESTION]},
     "a planning session",
     ["SCHEMA_INVALID $.sessionId", "SCHEMA_INVALID $.instruction", "SCHEMA_INVALID $.questions"]),
    ([], "a list of action specs", []),
    ([{"kind": "create", "path": "a"}, {"kind": "paint"}, {"kind": "run", "path": "../b"}, 1,
      {"kind": "delete", "path": "a", "content": "x"}], "a list of action specs",
     ["SCHEMA_INVALID $[1].kind", "SCHEMA_INVALID $[3]", "SCHEMA_INVALID $[2]", "SCHEMA_INVALID $[4]"]),
    ({"plan": {}, "state": {"status": "new"}}, "a plan",
     [f"SCHEMA_INVALID $.plan.{field}" for field in
      ("id", "title", "content", "sources", "rationale", "tags", "created_at", "version")]
     + ["SCHEMA_INVALID $.state.status"]),
]  # fmt: skip


@pytest.mark.req("RN-2")
@each(("raw", "kind", "problems"), OTHERS)
def test_other_documents(desk: Desk, raw: object, kind: str, problems: list[str]):
    code, said, rows = check(desk, json.dumps(raw).encode())
    assert f"is read as {kind}" in said
    assert [f"{row['code']} {row['path']}" for row in rows] == problems
    assert code == (6 if problems else 0)


HOSTILE = [
    (b"", "JSON_PARSE_ERROR"),
    (b"\xff\xfe{}", "JSON_PARSE_ERROR"),
    (b'{"steps": [', "JSON_PARSE_ERROR"),
    (b'{"version": "1.0", "version": "1.0"}', "JSON_PARSE_ERROR"),
    (b'{"version": NaN}', "JSON_PARSE_ERROR"),
    (b'{"version": 1e999}', "JSON_PARSE_ERROR"),
    (b'{"version": "\\ud800"}', "JSON_PARSE_ERROR"),
    (b"[" * 100_000, "JSON_PARSE_ERROR"),
    (b'{"steps":' * 100_000, "JSON_PARSE_ERROR"),
    (b" " * (64 * 1024 * 1024 + 1), "JSON_PARSE_ERROR"),
    (b"words without a title", "JSON_PARSE_ERROR"),
    (b"null", "SCHEMA_INVALID"),
    (b"{}", "SCHEMA_INVALID"),
    (b'{"hello": "world", "version": 1}', "SCHEMA_INVALID"),
    (b"[" + b"[]," * 10_000 + b"[]]", "SCHEMA_INVALID"),
    (b'{"steps": [' + b'{"step_id": "S01"},' * 5_000 + b'{}], "gates": {}}', "STEP_ID_DUPLICATE"),
]


@pytest.mark.req("RN-2")
@each(("data", "code"), HOSTILE)
def test_hostile_input(desk: Desk, data: bytes, code: ReasonCode):
    for name in ("file", "planning.json"):
        returned, _, rows = check(desk, data, name)
        assert returned == 6
        assert code in {row["code"] for row in rows}
        assert len(rows) <= 1_000


@each("data", [b"# T\n\xff", b"# T\n" + b"x" * 2_000_000])
def test_a_hostile_request(desk: Desk, data: bytes):
    returned, said, [row] = check(desk, data, "RQ-1.md")
    assert (returned, row["code"]) == (6, "SCHEMA_INVALID")
    assert "is read as a request" in said


def test_escapes_in_a_document_do_not_reach_the_terminal(desk: Desk):
    raw = json.loads(SAMPLE)
    raw["steps"][0]["step_id"] = "\x1b[2J\u202e"
    raw["\x1b]0;x\x07"] = 1
    (desk.root / "p.json").write_text(json.dumps(raw))
    for words in (("check", "p.json"), ("--json", "check", "p.json")):
        done = desk.run(*words)
        assert done.returncode == 6
        assert not {"\x1b", "\u202e", "\x07"} & set(done.stdout + done.stderr)


def test_files_that_are_none(desk: Desk):
    assert desk.run("check", "missing.json").returncode == 2
    assert desk.run("check", ".").returncode == 1
    os.mkfifo(desk.root / "pipe")
    assert desk.run("check", "pipe").returncode == 6
