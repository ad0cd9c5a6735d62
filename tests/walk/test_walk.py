"""Whole journeys through the installed program: `make walk`. How one is written: README.md."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tools import walk as sources

from tests.walk.journeys import JOURNEYS, TWINS, Fault, Journey
from tests.walk.known import LIST, read_known
from tests.walk.person import RINGI
from tests.walk.projects import CLONES, PROJECTS, clone_of

if not os.environ.get("RINGI_WALK"):
    pytest.skip("it needs the installed program and projects of others: make walk", allow_module_level=True)

KEEP = os.environ.get("RINGI_WALK_KEEP", "")
"""A folder for what stood on the screens of each journey."""
KNOWN = read_known(LIST.read_text(encoding="utf-8"), {one.id for one in JOURNEYS})
WALKED = [one for one in JOURNEYS if one.core or os.environ.get("RINGI_WALK") == "all"]


@pytest.mark.parametrize("journey", WALKED, ids=lambda one: one.id)
def test_journey(journey: Journey, record_property: Callable[[str, object], None]):
    """Green if it ends well and is not on the list, or fails as the list says."""
    known = KNOWN.get(journey.id)
    if journey.project in CLONES and not clone_of(CLONES[journey.project]):
        listed = ", and its line on the list is unproven" if known else ""
        record_property("walk", [journey.id, f"not walked here: there is no clone of it{listed}"])
        pytest.skip("there is no clone of it: make walk MIRROR=…")
    fault, seen, began = "", "", os.times()
    try:
        seen = journey.walk()
    except Fault as found:
        fault, seen = found.args
    took = sum(os.times()[:4]) - sum(began[:4])
    record_property("walk", [journey.id, f"{fault or 'ends well'} ({took:.1f} s of processor)"])
    if KEEP:
        Path(KEEP, journey.id.replace("/", "-")).write_text(f"{seen}\n## {fault}\n", encoding="utf-8")
    if known:
        assert fault, f"{journey.id} ends well now. Take its line off {LIST.name}."
        assert not known.missing(fault + seen), (
            f"{journey.id} fails in another way than {LIST.name} says: {fault}\n{seen}"
        )
    else:
        assert not fault, f"{journey.id}: {fault}\n{seen}"


def test_every_project_journey_and_twin_is_walked_in_ci():
    core = [one for one in JOURNEYS if one.core]
    assert {one.project for one in core} == set(PROJECTS)
    assert {one.twin for one in core} == {"", *TWINS}
    assert {one.kind for one in core} == {one.kind for one in JOURNEYS}
    honest = {(one.kind, one.project) for one in JOURNEYS if not one.twin and one.kind != "brief"}
    assert {(one.kind, one.project) for one in JOURNEYS if one.twin} == honest
    for twin in TWINS:
        assert len([one for one in JOURNEYS if one.twin == twin]) >= 2, twin


def test_program_is_the_installed_one():
    assert RINGI.is_file(), "make walk installs it"
    assert "site-packages" in str(next(RINGI.parents[1].glob("lib/python3*/site-packages/ringi/cli")))


def test_projects_are_what_they_are_chosen_for():
    """A source layout with setuptools-scm, a C extension, tests under tox, tests that are red, one of npm."""
    at = {name: sources.prepared(name) / "project" for name in PROJECTS}
    assert "setuptools-scm" in (at["pluggy"] / "pyproject.toml").read_text()
    assert (at["pluggy"] / "src").is_dir()
    assert list(at["markupsafe"].glob("src/markupsafe/_speedups*.so"))
    assert (at["humanize"] / "tox.ini").exists()
    assert shutil.which("tox", path="/usr/bin:/bin") is None, "the walk needs a machine without tox"
    assert "test_tlz.py::test_tlz" not in (at["toolz"].parent / "passing.json").read_text()
    assert (at["shell-quote"] / "node_modules" / "tape").is_dir()
