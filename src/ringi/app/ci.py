"""`ringi init --ci`: what a forge runs to verify what is to be merged, as an ordinary plan.

Both files have the same rules. Nothing of the head is checked out or run: `ringi verify` reads objects and
notes in a bare clone. Which file decides is said by the forge, so that of the base is asked for. The token
travels in the environment, never in an argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.approvals.forge import ForgeKind
from ringi.beside.setup import present_text, propose_files
from ringi.errors import InTheWay
from ringi.kernel.text import Text

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

GITHUB_FILE: Final = ".github/workflows/ringi.yml"
GITLAB_FILE: Final = ".gitlab/ringi.yml"
GITLAB_ROOT: Final = ".gitlab-ci.yml"

_GITHUB: Final = """\
# Written by: ringi init --ci github. It says whose approval covers each file that a pull request changes.
#
# pull_request_target takes this file from the default branch, so that a pull request cannot change its own
# check. The price: the job may see more than one from a fork should. So nothing of the pull request is
# checked out or run here, no value of it is written into a script, and the token can only read.
# If you edit this file, keep it so.
name: ringi
on:
  pull_request_target:
    # edited: ringi edits the pull request after it has pushed the proof of a review.
    types: [opened, synchronize, reopened, ready_for_review, edited]
    # A check belongs to a commit: one against another base must not count for this branch.
    branches: [@BRANCH@]
  push:
    branches: [@BRANCH@]
permissions:
  contents: read
  issues: read
  pull-requests: read
concurrency:
  group: ringi-${{ github.event.pull_request.number || github.sha }}
  cancel-in-progress: true
env:
  # report says what is not covered, and stays green. agents demands approvals for what agents had a part in;
  # make the check a required one then.
  MODE: report
  # What pip installs; keep it pinned.
  RINGI: @RINGI@
jobs:
  verify:
    name: ringi verify
    runs-on: ubuntu-24.04
    timeout-minutes: 15
    steps:
      - name: Install ringi
        run: |
          python3 -m venv "$RUNNER_TEMP/ringi"
          "$RUNNER_TEMP/ringi/bin/pip" install --quiet --disable-pip-version-check "$RINGI"
      - name: Verify
        env:
          GITHUB_TOKEN: ${{ github.token }}
          NUMBER: ${{ github.event.pull_request.number }}
          BASE: ${{ github.event.pull_request.base.ref || github.ref_name }}
          HEAD: ${{ github.event.pull_request.head.sha || github.sha }}
          BEFORE: ${{ github.event.before }}
        run: |
          # Names of files are printed below; none of them is a command to the runner.
          echo "::stop-commands::$(python3 -c 'import secrets; print(secrets.token_hex(16))')"
          git init --quiet --bare "$RUNNER_TEMP/clone"
          cd "$RUNNER_TEMP/clone"
          git remote add origin "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git"
          basic="$(printf 'x-access-token:%s' "$GITHUB_TOKEN" | base64 | tr -d '\\n')"
          fetch() {
            GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.$GITHUB_SERVER_URL/.extraHeader" \\
            GIT_CONFIG_VALUE_0="Authorization: Basic $basic" \\
              git fetch --quiet --no-tags origin "+refs/heads/$BASE:refs/heads/base" "$@" \\
              '+refs/notes/ringi*:refs/notes/ringi*'
          }
          if [ -n "$NUMBER" ]; then
            fetch "+refs/pull/$NUMBER/head:refs/heads/head"
            range="refs/heads/base..$HEAD"
          else
            fetch
            range="$BEFORE..$HEAD"
          fi
          "$RUNNER_TEMP/ringi/bin/ringi" verify "$range" --mode "$MODE" --reviews
"""

_GITLAB: Final = """\
# Written by: ringi init --ci gitlab. It says whose approval covers each file that a merge request changes.
#
# GitLab takes the pipeline from the branch that is to be merged, so whoever can push that branch can change
# this job or leave it out. To make it a required check, take the pipeline from the default branch: Settings,
# CI/CD, General pipelines, CI/CD configuration file: .gitlab-ci.yml@GROUP/PROJECT:main
# Nothing of the merge request is checked out or run here.
ringi verify:
  stage: test
  image: python:3.13
  inherit:
    default: false
    variables: false
  rules:
    - if: $CI_PIPELINE_SOURCE == "merge_request_event"
    - if: $CI_PIPELINE_SOURCE == "push" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH
  interruptible: true
  timeout: 15 minutes
  variables:
    # report says what is not covered, and stays green. agents demands approvals for what agents had a part
    # in.
    MODE: report
    # What pip installs; keep it pinned.
    RINGI: @RINGI@
    GIT_STRATEGY: none
  script:
    - |
      set -eu
      folder="$(mktemp -d)"
      python3 -m venv "$folder/ringi"
      "$folder/ringi/bin/pip" install --quiet --disable-pip-version-check "$RINGI"
    - |
      git init --quiet --bare "$folder/clone"
      cd "$folder/clone"
      basic="$(printf 'gitlab-ci-token:%s' "$CI_JOB_TOKEN" | base64 | tr -d '\\n')"
      git remote add origin "$CI_SERVER_URL/${CI_MERGE_REQUEST_PROJECT_PATH:-$CI_PROJECT_PATH}.git"
      fetch() {
        GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0="http.$CI_SERVER_URL/.extraHeader" \\
        GIT_CONFIG_VALUE_0="Authorization: Basic $basic" \\
          git fetch --quiet --no-tags origin "$@" '+refs/notes/ringi*:refs/notes/ringi*'
      }
      if [ -n "${CI_MERGE_REQUEST_IID:-}" ]; then
        fetch "+refs/heads/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME:refs/heads/base" \\
          "+refs/merge-requests/$CI_MERGE_REQUEST_IID/head:refs/heads/head"
        range="refs/heads/base..${CI_MERGE_REQUEST_SOURCE_BRANCH_SHA:-$CI_COMMIT_SHA}"
      else
        fetch "+refs/heads/$CI_COMMIT_BRANCH:refs/heads/base"
        range="$CI_COMMIT_BEFORE_SHA..$CI_COMMIT_SHA"
      fi
      # A job token may not read approvals. A project access token (Reporter, read_api) in the variable
      # GITLAB_TOKEN, masked, may; then reviews count.
      set --
      if [ -n "${GITLAB_TOKEN:-}" ]; then set -- --reviews; fi
      "$folder/ringi/bin/ringi" verify "$range" --mode "$MODE" "$@"
"""

_GITLAB_ROOT: Final = """\
include:
  - project: $CI_PROJECT_PATH
    ref: @BRANCH@
    file: /.gitlab/ringi.yml
"""


class CiOffer(NamedTuple):
    """What the project would get."""

    files: Mapping[str, bytes]
    """Nothing for files that are as they should be."""
    problems: Mapping[str, object]
    """Files that are left alone, and why."""
    lines: tuple[str, ...] = ()
    """What only the person can add, to a file of their own."""


def offer_ci(workspace: Workspace, forge: ForgeKind, *, branch: str, requirement: str) -> CiOffer:
    """Never changes a file that is there."""

    def fill(text: str) -> str:
        return text.replace("@BRANCH@", _quote(branch)).replace("@RINGI@", _quote(requirement))

    wanted = {GITHUB_FILE: fill(_GITHUB)} if forge is ForgeKind.GITHUB else {GITLAB_FILE: fill(_GITLAB)}
    lines: tuple[str, ...] = ()
    if forge is ForgeKind.GITLAB:
        include = fill(_GITLAB_ROOT)
        theirs = _text(workspace, GITLAB_ROOT)
        if theirs == "":
            wanted[GITLAB_ROOT] = include
        elif theirs is None or GITLAB_FILE not in theirs:
            lines = tuple(include.splitlines())
    files, problems = {}, {}
    for file, text in wanted.items():
        try:
            there = present_text(workspace, file)
        except InTheWay as error:
            problems[file] = error.details["why"]
            continue
        if not there:
            files[file] = text.encode()
        elif there != text:
            problems[file] = Text("it is there already, and differs from what would be written now")
    return CiOffer(files, problems, lines)


def propose_ci(workspace: Workspace, offer: CiOffer, proposer: str) -> str:
    """The plan that creates the files; one that waits already is taken again."""
    return propose_files(workspace, "Verify approvals in CI", offer.files, proposer)


def _text(workspace: Workspace, file: str) -> str | None:
    try:
        return present_text(workspace, file)
    except InTheWay:
        return None


def _quote(value: str) -> str:
    """As YAML in single quotes, which know no escapes but their own."""
    return "'" + value.replace("'", "''") + "'"
