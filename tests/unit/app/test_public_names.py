"""What `import ringi` offers, and how it refuses what it cannot use."""

from pathlib import Path

import pytest

import ringi
from ringi.errors import BadDocument
from tests.helpers import open_scratch
from tests.tables import each

PT_5 = (
    "MessageRef SpecSelection ValidationReport PlanPreview DiffSummary PlanRef ApprovedPlan FileOpOutcome"
    " ExecutionResult"
)


@pytest.mark.req("PT-5")
@each("name", PT_5.split())
def test_every_document_of_the_specification_is_offered(name: str):
    assert name in ringi.__all__
    assert getattr(ringi, name).__name__ == name


@pytest.mark.req("PT-4", "PT-5")
@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"kind": "write"}, "it is dict, not ActionSpec"),
        ("write", "it is str, not ActionSpec"),
        (ringi.ActionSpec("paint", "a.txt", "x"), "Invalid enum value 'paint'"),
        (ringi.ActionSpec(ringi.SpecKind.WRITE, 7, "x"), "Expected `str`, got `int`"),
        (ringi.ActionSpec(ringi.SpecKind.WRITE, "a.txt", "x", optional="yes"), "Expected `bool`, got `str`"),
    ],
)
def test_a_wrong_type_is_refused_in_words(tmp_path: Path, spec: object, why: str):
    with open_scratch(tmp_path) as ws:
        plan_id = ws.plan.propose("A plan")
        for call in (
            lambda: ws.plan.set_action_specs(plan_id, [spec]),
            lambda: ws.plan.propose_specs("Another", [spec]),
        ):
            with pytest.raises(BadDocument) as error:
                call()
            assert why in str(error.value)
        with pytest.raises(BadDocument, match="not MessageRef"):
            ws.plan.propose("x", [("m1", "now")])
