"""The scripts of the workflows that `ringi init --ci` writes, run as a runner runs them."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ringi.cli.app import EXIT_PERSON_NEEDED
from ringi.domain.forge import ForgeKind
from ringi.usecases.ci import GITHUB_FILE, GITLAB_FILE
from tests.functional.desk import Desk
from tests.functional.warm import RINGI

EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")


def proposed(desk: Desk, forge: ForgeKind, *words: str) -> dict[Any, Any]:
    """The workflow as the first plan of a desk has it."""
    found = yaml.safe_load(text_of(desk, forge, *words))
    assert isinstance(found, dict)
    return found


def text_of(desk: Desk, forge: ForgeKind, *words: str) -> str:
    assert desk.run("init", "--ci", str(forge), *words).returncode == EXIT_PERSON_NEEDED
    wanted = GITHUB_FILE if forge is ForgeKind.GITHUB else GITLAB_FILE
    bases = [spec["base"] for spec in desk.json("specs", "p1")]
    return str(next(base["content"] for base in bases if base["path"] == wanted))


def scripts(workflow: Mapping[Any, Any], forge: ForgeKind) -> list[str]:
    """To install ringi, and to verify."""
    if forge is ForgeKind.GITHUB:
        return [step["run"] for step in workflow["jobs"]["verify"]["steps"]]
    return list(workflow["ringi verify"]["script"])


def settings(workflow: Mapping[Any, Any], forge: ForgeKind) -> dict[str, str]:
    """The variables that the file itself sets."""
    if forge is ForgeKind.GITHUB:
        return {name: str(value) for name, value in workflow["env"].items()}
    return {name: str(value) for name, value in workflow["ringi verify"]["variables"].items()}


def evaluated(workflow: Mapping[Any, Any], event: Mapping[str, Any]) -> dict[str, str]:
    """The variables of the step on GitHub, for an event; knows names and `||`, as the file needs."""

    def value(expression: str) -> str:
        for name in expression.split("||"):
            found: Any = event
            for part in name.strip().removeprefix("github.").split("."):
                found = found.get(part) if isinstance(found, dict) else None
            if found:
                return str(found)
        return ""

    given = workflow["jobs"]["verify"]["steps"][-1]["env"]
    return {name: EXPRESSION.sub(lambda match: value(match.group(1)), text) for name, text in given.items()}


def with_program(folder: Path) -> Path:
    """As if the first step had been done: this very ringi, where the second step looks for it."""
    program = folder / "ringi" / "bin" / "ringi"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {" ".join(RINGI)} "$@"\n')
    program.chmod(0o755)
    return folder


def run(script: str, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """With the options of GitHub's runner, which are the stricter ones."""
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
