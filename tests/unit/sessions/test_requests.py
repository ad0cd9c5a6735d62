"""A new request: a template that is a request once it is filled in, under a number of its own."""

import gettext
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.engine.request import read_request
from ringi.errors import BadInstruction, PathRefused
from ringi.kernel.problems import Level
from ringi.kernel.text import Text
from ringi.sessions import request_files as requests
from ringi.sessions.request_files import new_request
from tests.helpers import open_scratch

LOCALES = Path(requests.__file__).parents[1] / "locale"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as workspace:
        yield workspace


def saying(language: str) -> Callable[[Text], str]:
    catalogue = gettext.translation("ringi", LOCALES, [language], fallback=True)
    return lambda text: catalogue.gettext(text.template).format_map(text.details)


@pytest.mark.req("RN-13")
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_section_of_the_template_is_read_once_it_is_filled_in(ws: Workspace, language: str):
    path = new_request(ws, "Sort  by\ndate", saying(language))
    assert path.parent == ws.places.root / "requests"
    text = path.read_text()
    untouched = read_request(text)
    assert untouched.raw["title"] == "Sort by date"
    assert untouched.raw["acceptance_criteria"] == []
    assert [one.code for one in untouched.problems if one.level is Level.FAIL] == []
    filled = read_request(text.replace("<!-- ", "").replace("-->", ""))
    assert [one for one in filled.problems if one.level is Level.FAIL and "[1]" in one.path] == []
    raw = filled.raw
    assert any(one["id"] == "AC-01" and one.get("then") for one in raw["acceptance_criteria"])
    assert raw["test_instructions"]["unit"][-1] == "make test"
    assert raw["allowed_paths"][-1] == "src/"
    assert raw["forbidden_paths"][-1] == "docs/"
    assert len(raw["constraints"]) == 2


@pytest.mark.req("RN-13")
def test_numbers_follow_each_other_and_what_the_ledger_knows(ws: Workspace):
    first, second = (new_request(ws, "", saying("en")) for _ in range(2))
    assert [first.stem[-3:], second.stem[-3:]] == ["001", "002"]
    assert any(
        one.path == "$.title" for one in read_request(first.read_text()).problems if one.level is Level.FAIL
    )
    first.unlink()
    assert new_request(ws, "", saying("en")).stem.endswith("-003")


@pytest.mark.req("RN-13")
def test_many_at_once_get_numbers_of_their_own(tmp_path: Path):
    with open_scratch(tmp_path):
        pass
    made: list[Path] = []

    def make() -> None:
        with open_scratch(tmp_path) as workspace:
            made.append(new_request(workspace, "", saying("en")))

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({path.name for path in made}) == 4


@pytest.mark.req("RN-13")
def test_a_link_in_place_of_the_folder_is_not_followed(ws: Workspace, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    (ws.places.root / "requests").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathRefused):
        new_request(ws, "x", saying("en"))
    assert list((tmp_path / "elsewhere").iterdir()) == []
    with pytest.raises(BadInstruction):
        new_request(ws, "x" * 201, saying("en"))
