"""The scripts of the workflows that `ringi init --ci` writes, run as a runner runs them."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from ringi.app.ci import GITHUB_FILE, GITLAB_FILE
from ringi.approvals.forge import ForgeKind
from ringi.cli.app import EXIT_PERSON_NEEDED
from tests.functional.desk import Desk
from tests.functional.warm import RINGI

_OURS = ("RINGI_", "GITHUB_", "GH_", "GITLAB_", "CI_")
EXPRESSION = re.compile(r"\$\{\{ *(.*?) *\}\}")


def proposed(desk: Desk, forge: ForgeKind, *words: str) -> dict[Any, Any]:
    """The workflow as its plan has it."""
    found = yaml.safe_load(text_of(desk, forge, *words))
    assert isinstance(found, dict)
    return found


def text_of(desk: Desk, forge: ForgeKind, *words: str) -> str:
    done = desk.run("--json", "init", "--ci", str(forge), *words)
    assert done.returncode == EXIT_PERSON_NEEDED, done.stderr
    wanted = GITHUB_FILE if forge is ForgeKind.GITHUB else GITLAB_FILE
    plan = f"p{json.loads(done.stdout)['plan']['number']}"
    bases = [spec["base"] for spec in desk.json("specs", plan)]
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


class Runner:
    """Of one forge, for one project. Each job has a folder of its own, and knows no variable of ours."""

    def __init__(
        self, workflow: Mapping[Any, Any], forge: ForgeKind, server: str, path: str, token: str, folder: Path
    ) -> None:
        self.workflow, self.forge = workflow, forge
        self._server, self._path, self._token = server, path, token
        self._folder = folder
        self._jobs = count(1)

    def verified(
        self, head: str, *, number: int = 0, before: str = "", mode: str = "", reviews: bool = True
    ) -> tuple[int, str]:
        """Of a change into main, or of what was pushed there since `before`: the exit code, and what it says.

        `reviews`: on GitLab, somebody set GITLAB_TOKEN.
        """
        folder = self._folder / f"job-{next(self._jobs)}"
        program = folder / "ringi" / "bin" / "ringi"
        program.parent.mkdir(parents=True)
        # As if the first step had been done.
        program.write_text(f'#!/bin/sh\nexec {shlex.join(RINGI)} "$@"\n')
        program.chmod(0o755)
        if self.forge is ForgeKind.GITHUB:
            given = self._github(folder, head, number, before)
        else:
            given = self._gitlab(head, number, before) | ({"GITLAB_TOKEN": self._token} if reviews else {})
        given |= settings(self.workflow, self.forge) | ({"MODE": mode} if mode else {})
        _, verify = scripts(self.workflow, self.forge)
        first = f'folder="{folder}"\n' if self.forge is ForgeKind.GITLAB else ""
        done = run(first + verify, folder, {**given, "HOME": str(folder)})
        said = done.stdout + done.stderr
        assert self._token not in said
        return done.returncode, said

    def _github(self, folder: Path, head: str, number: int, before: str) -> dict[str, str]:
        event: dict[str, Any] = {"token": self._token, "ref_name": "main", "sha": head}
        if before:
            event["event"] = {"before": before}
        else:
            change = {"number": number, "base": {"ref": "main"}, "head": {"sha": head}}
            event |= {"event": {"pull_request": change}, "sha": ""}
        return evaluated(self.workflow, event) | {
            "GITHUB_SERVER_URL": self._server,
            "GITHUB_API_URL": f"{self._server}/api/v3",
            "GITHUB_REPOSITORY": self._path,
            "RUNNER_TEMP": str(folder),
        }

    def _gitlab(self, head: str, number: int, before: str) -> dict[str, str]:
        given = {
            "CI_SERVER_URL": self._server,
            "CI_PROJECT_PATH": self._path,
            "CI_JOB_TOKEN": self._token,
            "CI_COMMIT_SHA": head,
        }
        if before:
            return given | {"CI_COMMIT_BRANCH": "main", "CI_COMMIT_BEFORE_SHA": before}
        return given | {
            "CI_MERGE_REQUEST_IID": str(number),
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_MERGE_REQUEST_PROJECT_PATH": self._path,
        }


def run(script: str, folder: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """With the options of GitHub's runner, which are the stricter ones."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**known, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
