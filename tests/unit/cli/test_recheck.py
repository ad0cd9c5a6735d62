import os
from pathlib import Path

import pytest

from ringi import ActionSpec, SpecKind
from ringi.cli.recheck import Recheck
from ringi.kernel.text import Text
from ringi.plans.check import add_checks
from ringi.tree.check_result import CheckResult
from tests.helpers import environment_of, open_scratch, proposed


@pytest.fixture
def plan(tmp_path: Path) -> str:
    """With a check that its proposer ran."""
    with open_scratch(tmp_path) as workspace:
        plan_id = proposed(workspace, ActionSpec(SpecKind.CREATE, "new.txt", "new\n"))
        add_checks(workspace, plan_id, [CheckResult("true", 0, 0.0, "", "")])
    return plan_id


def test_why_they_could_not_run(tmp_path: Path, plan: str) -> None:
    environment = {**os.environ, **environment_of(tmp_path, RINGI_RUN_SANDBOX="off")}
    checking = Recheck(tmp_path / "ws", plan, environment)
    checking.wait()
    why = checking.why_not
    assert why is not None
    assert isinstance(why.details["why"], Text)
    assert "the checks of a plan under review run in one only" in str(why)


@pytest.mark.req("PT-16")
def test_the_project_answers_for_no_import(
    tmp_path: Path, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "ws"
    for name in ("contextlib", "click", "msgspec"):
        (project / f"{name}.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'taken')!r})\n")
    monkeypatch.chdir(project)
    environment = {**os.environ, **environment_of(tmp_path, RINGI_RUN_SANDBOX="off")}
    checking = Recheck(project, plan, environment)
    checking.wait()
    assert not (tmp_path / "taken").exists()
    assert checking.why_not is not None


def test_stopped_they_say_so(tmp_path: Path, plan: str) -> None:
    checking = Recheck(tmp_path / "ws", plan, {**os.environ, **environment_of(tmp_path)})
    checking.stop()
    assert checking.ended
    assert str(checking.why_not) == "Interrupted."
