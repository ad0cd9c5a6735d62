"""What nobody has approved yet has no token of a forge: it could push and merge without a review."""

from collections.abc import Iterator

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.runs.document import StopCode
from tests.functional.beside_desk import walled
from tests.functional.forge_desk import KINDS, ForgeDesk, forge_desk
from tests.functional.run_desk import FIX, UNIT, a_plan, a_step

pytestmark = pytest.mark.req("PP-25")
# Backwards, because a log masks what it recognises.
TELL = "env; env | rev; cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | rev"
NAMES = '"GITHUB_TOKEN", "GITLAB_TOKEN"'
SHORTENED = f"python3 -c 'import os; print(*(os.environ.get(n, str())[:-4] for n in ({NAMES})))'"


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeDesk]:
    roles = {"implementer": f"{TELL}; {SHORTENED}\n{FIX}"}
    with forge_desk(monkeypatch, request.param, **roles) as desk:
        yield desk


@walled
def test_neither_the_implementer_nor_the_tests_of_a_run_have_the_token(desk: ForgeDesk) -> None:
    desk.begin(a_plan(a_step(1, commands={"unit": [f"{TELL}; {SHORTENED}; {UNIT}"]})))
    run = desk.go()
    assert run.stop is not None
    assert (run.stop.reason_code, run.offer is not None) == (StopCode.APPROVAL_NEEDED, True)
    logs = {path.name: path.read_text() for path in (desk.root / ".agent/runs").rglob("*.log")}
    told = {name for name, text in logs.items() if "\nRINGI_WITH=" in f"\n{text}"}
    assert any("unit" in name for name in told)
    assert any("implementer" in name for name in told)
    name = "GITHUB_TOKEN" if desk.forge.kind is ForgeKind.GITHUB else "GITLAB_TOKEN"
    token = desk.forge.environment("ringi")[name]
    for text in logs.values():
        assert name not in text
        assert name[::-1] not in text
        assert token[:-4] not in text
        assert token[::-1] not in text
