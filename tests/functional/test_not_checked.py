"""No criterion is called met: a role that only adds a comment line passes every test, and proves nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringi.engine.run_state import RunPhase
from ringi.forges.progress import describe_run
from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.run_desk import RunDesk, a_plan, a_step, at_home, project
from tests.tables import each

COMMENT = "echo '# done' >> calc.py"
ADDS = "def add(a, b):\n    return a + b\n"
PASSES = "from calc import add\n\nassert add(2, 3) == 5\n"
UNIT = "python3 test_calc.py"
CLAIMS = re.compile(
    r"\bmet\b|fulfil|achieved\W+true|satisfied|\bproves?\b|\bproven\b|criteria (?:pass|hold)|all criteria"
    r"|満た|達成|充足|証明済",
    re.IGNORECASE,
)
LOCALES = ("en", "ja")


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[RunDesk]:
    with at_home(monkeypatch) as base:
        made = RunDesk(
            project(base / "project", {"calc.py": ADDS, "test_calc.py": PASSES}), implementer=COMMENT
        )
        made.start(a_plan(a_step(1, commands={"unit": [UNIT]})))
        assert made.go().stop is not None
        assert made.decide("S01").phase is RunPhase.COMPLETED
        yield made


def without_targets(document: Any) -> Any:
    """Figures of metrics have targets, and say of these whether they are met."""
    if isinstance(document, dict):
        return {key: without_targets(value) for key, value in document.items() if key != "met"}
    return [*map(without_targets, document)] if isinstance(document, list) else document


@pytest.mark.req("RN-12", "PP-21")
@walled
@each("language", LOCALES)
def test_whoever_adds_a_comment_is_told_no_criterion_is_met(desk: RunDesk, language: str) -> None:
    there = Desk(desk.root)
    said = {
        " ".join(words): there.run("--lang", language, *words).stdout
        for words in (["status", desk.run_id], ["report"], ["continue"], ["log"], ["list"], ["metrics"], [])
    }
    for words in (["status", desk.run_id], ["report"], ["metrics"]):
        answer = there.run("--lang", language, "--json", *words)
        said[f"--json {words[0]}"] = json.dumps(
            without_targets(json.loads(answer.stdout)), ensure_ascii=False
        )
    with desk.open() as workspace:
        run, plan = workspace.store.runs.get(desk.run_id), workspace.store.runs.plan(desk.run_id)
        said["forge"] = describe_run(run, plan).body
    files = [path for path in desk.root.glob(".agent/**/*") if path.is_file() and path.suffix != ".lock"]
    said |= {str(path.relative_to(desk.root)): path.read_text(errors="replace") for path in files}
    assert any(name.endswith("report.md") for name in said)
    assert any(name.endswith("stage.json") for name in said)
    claims = {name: found[0] for name, text in said.items() if (found := CLAIMS.search(text))}
    assert not claims
    word = {"en": "not checked", "ja": "未確認"}[language]
    for name in (f"status {desk.run_id}", "report", "metrics"):
        assert word in said[name], name


@pytest.mark.req("RN-12")
@walled
def test_json_has_facts_and_no_verdict_but_not_checked(desk: RunDesk) -> None:
    document = Desk(desk.root).json("report")
    commit = document["steps"][0]["commit"]
    for one in document["criteria"]:
        assert "met" not in one
        assert (one["verdict"], one["lacks"], one["steps"]) == ("not_checked", None, ["S01"])
        assert one["commits"] == [commit]
        assert [(ran["command"], ran["exit_code"]) for ran in one["evidence"]] == [(UNIT, 0)]
    assert f"Acceptance criteria: 3, not checked (ran: `{UNIT}`, exit code 0)" in document["report"]


@pytest.mark.req("RN-16")
@walled
def test_a_criterion_whose_step_is_not_committed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with at_home(monkeypatch) as base:
        desk = RunDesk(
            project(base / "project", {"calc.py": ADDS, "test_calc.py": PASSES}), implementer=COMMENT
        )
        desk.start(a_plan(a_step(1, links_to_ac=["AC-01"], commands={"unit": [UNIT]})))
        desk.go()
        [first, second, _] = Desk(desk.root).json("report")["criteria"]
        assert (first["verdict"], first["lacks"]) == ("not_checked", "S01 is not done")
        assert (second["verdict"], second["lacks"]) == ("not_checked", "no step is linked to it")


def test_the_pages_claim_nothing(pytestconfig: pytest.Config) -> None:
    pages = [
        *Path(pytestconfig.rootpath, "docs").rglob("*.md"),
        *Path(pytestconfig.rootpath).glob("README*.md"),
    ]
    claim = re.compile(r"\d of \d met|— met|criteria (?:are|a run) me|基準が満たされた|条件を満たした")
    assert not [str(page) for page in pages if claim.search(page.read_text())]
