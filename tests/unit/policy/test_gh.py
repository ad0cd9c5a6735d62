import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.policy.gh import runs_gh
from tests.tables import each

pytestmark = pytest.mark.req("RN-8")
RUNS = [
    "gh", "gh pr create", "/usr/bin/gh pr", "~/bin/gh x", "./gh", "bin/gh pr", "cd x && bin/gh pr",
    "env gh x", "X=1 gh", "sudo -u me gh", "xargs gh", "make; gh pr", "a | gh api -", "(gh)",
    "$(gh auth token)", "`gh x`", "sh -c 'cd x && gh pr merge'", 'bash -lc "exec gh pr"', "GH=gh; $GH pr",
    "gh.exe pr", "make\ngh pr",
    "g\\h pr", "g''h pr", 'sh -c "g\\"\\"h pr"', "sh -c \"sh -c 'g\\h pr'\"", "gh 'open",
    """python -c "import subprocess; subprocess.run(['gh','pr'])" """,
]  # fmt: skip
RUNS_NOT = [
    "", "make test", "pytest tests/gh", "pytest tests/gh/test_x.py", "make ghost", "pytest -k high",
    "echo ghp", "npm run github", "ls .config/gh", "GH_TOKEN=x make", "GH=1 make", "git log", "ghc --make",
]  # fmt: skip


@each("command", RUNS)
def test_gh_is_found_wherever_it_is(command: str):
    assert runs_gh(command)


@each("command", RUNS_NOT)
def test_other_commands_are_left_alone(command: str):
    assert not runs_gh(command)


@given(st.text(max_size=40), st.sampled_from(["gh pr create", "/usr/bin/gh auth token"]))
def test_a_script_with_gh_in_it_is_found_whatever_is_around_it(before: str, gh: str):
    assert runs_gh(shlex.join(["sh", "-c", f"{before}\n{gh}"]))
