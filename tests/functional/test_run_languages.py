"""Whole runs as somebody reads them in Japanese, and at a terminal that knows only ASCII."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.functional.beside_desk import walled
from tests.functional.desk import Desk, Terminal
from tests.functional.run_desk import FILES, FIX, a_plan, a_step, at_home, by_step, git, project

RUN_ID = "20260101-000000-a1b2c3"
BRANCH = "aiflow/RQ-20260101-001/20260101-000000"
SUMMARY = "足し算を直してください。"
TITLES = ["足し算を直す", "説明を書く — “計算”"]
CRITERION = {"given": "電卓", "when": "足すとき", "then": "正しい"}
ASCII = {"LANG": "C", "PYTHONIOENCODING": "ascii"}
"""Three words in a row."""


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    with at_home(monkeypatch) as base:
        root = project(base / "計算", {**FILES, "計算.md": "# 計算\n"})
        steps = (
            a_step(1, title=TITLES[0], intent="足すようにする。"),
            a_step(2, title=TITLES[1], intent="説明を足す。", scope={"target_paths": ["計算.md"]}),
        )
        criteria = [{"id": f"AC-{n:02}", **CRITERION} for n in (1, 2, 3)]
        plan = a_plan(*steps, context={"summary": SUMMARY, "acceptance_criteria": criteria})
        (base / "planning.json").write_text(json.dumps(plan), encoding="utf-8")
        role = base / "role"
        role.write_text(f"set -e\n{by_step(FIX, 'echo 足し算です。 >> 計算.md')}\n", encoding="utf-8")
        yield Desk(root)


def at_terminal(desk: Desk, *words: str, answers: dict[str, str] | None = None, **variables: str) -> str:
    """Everything that stood on the screen."""
    with Terminal(desk.root, words, variables, rows=40) as terminal:
        for pattern, answer in (answers or {}).items():
            terminal.answer(pattern, answer)
        code, _rest = terminal.end()
        assert code == 0, terminal.seen
        return terminal.seen


def whole_run(desk: Desk, **variables: str) -> dict[str, str]:
    """What each command showed."""
    base = desk.root.parent
    start = ("run", "--plan", str(base / "planning.json"), "--with", f"sh {base / 'role'} {{brief}}")
    answers = {r"\[y/n\]": "y", r"\[q\]": "a"}
    shown = {"run": at_terminal(desk, *start, answers=answers, **variables)}
    for words in (["status"], ["status", RUN_ID], ["report"], ["list"], []):
        shown[" ".join(words)] = at_terminal(desk, *words, **variables)
    assert git(desk.root, "log", "--reverse", "--format=%s", f"main..{BRANCH}").splitlines() == TITLES
    assert git(desk.root, "show", f"{BRANCH}:計算.md").endswith("足し算です。")
    return shown


@pytest.mark.req("RN-12")
@walled
def test_a_whole_run_at_a_terminal_that_knows_only_ascii(desk: Desk):
    shown = whole_run(desk, **ASCII)
    for command, text in shown.items():
        assert text.isascii(), command
        # Signs of ours are said in letters, names as codes.
        assert not re.search(r"\\u2|\\xb7", text), command
    assert "ok S01 approved and committed" in shown["run"]
    assert f"-> ringi report {RUN_ID}" in shown["run"]
    assert r"\u8aac\u660e\u3092\u66f8\u304f -- " in shown[f"status {RUN_ID}"]
    document = desk.process("--json", "status", RUN_ID, **ASCII)
    assert document.stdout.isascii()
    assert json.loads(document.stdout)["instruction"].startswith(SUMMARY)
    assert json.loads(desk.process("--json", "list", **ASCII).stdout)[0]["title"] == TITLES[1]


def test_a_locale_that_cannot_name_a_file_is_no_mistake_of_ours(desk: Desk):
    done = desk.process("run", "--context", "add", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 1
    assert "LC_ALL=C.UTF-8" in done.stderr
