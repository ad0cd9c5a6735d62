"""What a person is told about a project's model and its address, before and after it is trusted."""

import re
from pathlib import Path

import pytest

from tests.functional.desk import Desk

CONFIG = "model: command:their-agent -p\nllm:\n  base_url: http://models.invalid/v1\n"
ASKS = r"type [0-9a-f]{6}:"


@pytest.fixture
def desk(repo: Path) -> Desk:
    (repo / ".agent").mkdir()
    (repo / ".agent" / "config.yaml").write_text(CONFIG)
    return Desk(repo)


def test_a_model_and_an_address_are_shown_with_what_they_get(desk: Desk) -> None:
    shown = desk.json("config", "show")
    assert shown["model"]["value"] == "playbook"
    assert shown["model"]["from"] == "project (not trusted, ignored)"
    assert shown["llm.base_url"]["value"] == ""
    assert shown["logs.mask"] == {"value": [], "from": "default", "where": ""}
    checked = desk.run("config", "check").stdout
    assert "model is ignored until the project is trusted" in checked
    assert "llm.base_url is ignored until the project is trusted" in checked

    terminal = desk.terminal("trust")
    seen = terminal.read(ASKS)
    words = re.sub(r"\s+", " ", seen)
    assert "command:their-agent -p" in words
    assert "http://models.invalid/v1" in words
    assert "The model is told what you ask; if it is named command:, it runs with your rights." in words
    assert "gets all that is sent to the model, and your key for it." in words
    assert "these commands run" not in words
    terminal.type(seen[-7:-1])
    assert terminal.end()[0] == 0

    lines = desk.run("config", "show").stdout.splitlines()
    [model] = [line for line in lines if line.startswith("model ")]
    assert "command:their-agent -p" in model
    assert "the project's file" in model
    assert desk.json("config", "show")["llm.base_url"]["value"] == "http://models.invalid/v1"
    # Once more by the environment, which is the person's own.
    overridden = desk.run("--json", "config", "show", RINGI_MODEL="ollama:small")
    assert '"ollama:small"' in overridden.stdout


@pytest.mark.req("PP-17")
def test_a_projects_patterns_are_named_and_do_nothing_until_they_are_trusted(desk: Desk) -> None:
    (desk.root / ".agent" / "config.yaml").write_text("logs:\n  mask: ['PIN (\\d+)']\n")
    assert desk.json("config", "show")["logs.mask"]["value"] == []
    assert "logs.mask is ignored until the project is trusted" in desk.run("config", "check").stdout
    terminal = desk.terminal("trust")
    seen = terminal.read(ASKS)
    words = re.sub(r"\s+", " ", seen)
    assert "PIN (\\d+)" in words
    assert "What the patterns of logs.mask match is taken out of logs." in words
    assert "these commands run" not in words
    terminal.type(seen[-7:-1])
    assert terminal.end()[0] == 0
    assert desk.json("config", "show")["logs.mask"]["value"] == ["PIN (\\d+)"]
