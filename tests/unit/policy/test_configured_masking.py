"""What a person configured is masked; what a project configured only once it is trusted."""

from pathlib import Path

import pytest

from ringi.config.load import executable, load
from ringi.config.pins import Trust
from ringi.kernel.places import project_file
from ringi.models.configured import mask_of


@pytest.mark.req("PP-17")
def test_a_projects_patterns_mask_once_it_is_trusted(tmp_path: Path):
    environment = {"HOME": str(tmp_path / "home")}
    root = tmp_path / "ws"
    project_file(root).parent.mkdir(parents=True)
    project_file(root).write_text("logs: {mask: ['PIN (\\d+)']}\n")
    before = load(root, environment)
    assert "logs.mask is ignored until the project is trusted" in str(before.notes[0])
    assert mask_of(before, environment)("PIN 4711") == "PIN 4711"
    Trust(root, environment).pin(executable(root), at="", by="hanako", channel="tty")
    after = load(root, environment)
    assert not after.notes
    assert mask_of(after, environment)("PIN 4711") == "PIN (masked: a configured secret)"


@pytest.mark.req("PP-17")
def test_a_pattern_without_an_end_lets_nothing_through(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "RINGI_LOGS_MASK": "(a+)+$,PIN .*"}
    mask = mask_of(load(None, environment), environment)
    found = mask("PIN 4711 " + "a" * 500 + "b")
    assert found == "(masked: all of it, because a pattern of logs.mask took too long)"
    assert mask("PIN 4711") == "(masked: a configured secret)"
