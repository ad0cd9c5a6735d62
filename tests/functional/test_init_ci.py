"""`ringi init --ci`: a plan for a workflow, and its steps run for real on a repository with approvals."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.ci import GITHUB_FILE, GITLAB_FILE, GITLAB_ROOT
from ringi.approvals.forge import ForgeKind
from tests.functional.desk import MENU, Desk
from tests.functional.range_desk import AGENT, NOTES, Office
from tests.support import ci_steps
from tests.support.ci_steps import Runner, proposed
from tests.support.forge_server import ForgeServer

GITHUB, GITLAB = ForgeKind.GITHUB, ForgeKind.GITLAB
PATH = "acme/app"


def written(desk: Desk, forge: ForgeKind, *words: str) -> str:
    """By a person who reads the plan and applies it; answers with what was shown."""
    terminal = desk.terminal("init", "--ci", str(forge), *words)
    shown = terminal.answer(MENU, "a")
    terminal.type(terminal.wanted())
    code, rest = terminal.end()
    assert code == 0, rest
    return shown + rest


@pytest.mark.parametrize(("forge", "files"), [(GITHUB, {GITHUB_FILE}), (GITLAB, {GITLAB_FILE, GITLAB_ROOT})])
def test_a_plan_that_undo_takes_back(repo: Path, forge: ForgeKind, files: set[str]) -> None:
    desk = Desk(repo)
    before = desk.files()
    shown = written(desk, forge)
    assert "+    MODE: report" in shown or "+  MODE: report" in shown
    assert "It only reports until you set MODE" in shown
    assert set(desk.files()) - set(before) == files
    again = desk.run("init", "--ci", str(forge))
    assert (again.returncode, "CI is set up" in again.stdout) == (0, True)
    terminal = desk.terminal("undo")
    terminal.answer(r"Go\? \[y/n\]", "y")
    assert terminal.end()[0] == 0
    assert desk.files() == before


def test_files_of_the_person_are_left_alone(repo: Path) -> None:
    desk = Desk(repo)
    for name in (GITHUB_FILE, GITLAB_ROOT):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text("mine: true\n")
    done = desk.run("init", "--ci", "github")
    assert (done.returncode, "is left as it is: it is there already" in done.stdout) == (0, True)
    shown = written(desk, GITLAB)
    assert f"Add this to {GITLAB_ROOT}:" in shown
    assert "- project: $CI_PROJECT_PATH" in shown
    assert {(repo / name).read_text() for name in (GITHUB_FILE, GITLAB_ROOT)} == {"mine: true\n"}
    (repo / GITLAB_ROOT).write_text(f"include: {GITLAB_FILE}\n")
    assert "CI is set up" in desk.run("init", "--ci", "gitlab").stdout
    (repo / GITHUB_FILE).unlink()
    (repo / GITHUB_FILE).symlink_to("/etc/passwd")
    assert "is left as it is" in desk.run("init", "--ci", "github").stdout


def test_what_is_installed_is_pinned_and_the_branch_is_that_of_the_remote(repo: Path) -> None:
    desk = Desk(repo)
    desk.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
    desk.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    wanted = "ringi @ git+https://example.invalid/it's@0123"
    workflow = proposed(desk, GITHUB, "--install", wanted)
    assert workflow["env"] == {"MODE": "report", "RINGI": wanted}
    assert workflow[True]["push"] == {"branches": ["trunk"]}  # YAML 1.1 reads `on` so
    assert workflow[True]["pull_request_target"]["branches"] == ["trunk"]


def test_the_workflow_of_github_can_only_read_and_has_nothing_of_the_head_in_a_script(repo: Path) -> None:
    workflow = proposed(Desk(repo), GITHUB)
    assert set(workflow[True]) == {"pull_request_target", "push"}
    assert workflow["permissions"] == {"contents": "read", "issues": "read", "pull-requests": "read"}
    job = workflow["jobs"]["verify"]
    assert "permissions" not in job
    assert not [step for step in job["steps"] if "uses" in step]  # checks nothing out
    for script in ci_steps.scripts(workflow, GITHUB):
        assert "${{" not in script
    used = {value for step in job["steps"] for value in step.get("env", {}).values()}
    assert not [value for value in used if "head.ref" in value or "title" in value or "body" in value]


class Hosted:
    """The office's repository on a forge: main, the notes, and a change 7 that is to be merged."""

    def __init__(self, office: Office, forge: ForgeServer, folder: Path) -> None:
        self.office, self._forge = office, forge
        token = forge.user("ci", bot=True).token
        repo = forge.project(PATH, {"a": "a"}, {"ci": "write"})
        office.git("remote", "add", "origin", str(repo.folder))
        office.git("push", "-q", "-f", "origin", "main", NOTES)
        workflow = proposed(office.desk, forge.kind)
        self._runner = Runner(workflow, forge.kind, forge.url, PATH, token, folder)

    def offer(self, commit: str, *more: str) -> None:
        name = "pull" if self._forge.kind is GITHUB else "merge-requests"
        self.office.git("push", "-q", "-f", "origin", f"{commit}:refs/{name}/7/head", *more)

    def verified(self, head: str, *, before: str = "", mode: str = "") -> tuple[int, str]:
        return self._runner.verified(head, number=7, before=before, mode=mode)


@pytest.fixture(params=[GITHUB, GITLAB], ids=str)
def hosted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hosted]:
    office = Office(tmp_path)
    office.two_steps()
    with ForgeServer(request.param, tmp_path / "forge") as forge:
        yield Hosted(office, forge, tmp_path / "runner")


@pytest.mark.req("PP-25")
def test_a_change_as_approved_is_green_and_one_byte_more_is_red(hosted: Hosted) -> None:
    office = hosted.office
    hosted.offer("work", NOTES)
    code, said = hosted.verified(office.id("work"))
    assert (code, "✓ Changed files: 2 signed" in said) == (0, True), said
    assert hosted.verified(office.id("work"), mode="agents")[0] == 0
    office.git("checkout", "-q", "work")
    office.write("new.txt", "new!\n")
    more = office.commit(f"One byte{AGENT}")
    hosted.offer("work", NOTES)
    code, said = hosted.verified(more)
    assert (code, "✗ new.txt" in said) == (0, True), said  # it only reports
    code, said = hosted.verified(more, mode="agents")
    assert (code, "✗ new.txt" in said) == (6, True), said


@pytest.mark.req("PP-25")
def test_the_squashed_result_is_green_on_main_and_one_byte_more_is_red(hosted: Hosted) -> None:
    office = hosted.office
    before = office.id("main")
    office.git("merge", "-q", "--squash", "work")
    merged = office.commit("Improve the numbers (#7)")
    office.git("push", "-q", "origin", "main", NOTES)
    code, said = hosted.verified(merged, before=before, mode="strict")
    assert (code, "2 signed" in said) == (0, True), said
    office.write("new.txt", "new!\n")
    more = office.commit(f"And more{AGENT}")
    office.git("push", "-q", "origin", "main")
    code, said = hosted.verified(more, before=before, mode="agents")
    assert (code, "✗ new.txt" in said) == (6, True), said


def test_signers_and_configuration_of_the_head_decide_nothing(hosted: Hosted) -> None:
    office = hosted.office
    office.git("checkout", "-q", "-b", "mine", "main")
    office.write(".agent/allowed_signers", office.bob.public)
    office.write("new.txt", "mine\n")
    office.commit(f"Sign it myself{AGENT}")
    office.approve("main", "mine", office.bob)
    hosted.offer("mine", NOTES)
    code, said = hosted.verified(office.id("mine"), mode="agents")
    assert (code, "✗ new.txt" in said) == (6, True), said


def test_a_repository_without_notes_is_told_so_and_not_refused_in_the_first_mode(hosted: Hosted) -> None:
    office = hosted.office
    office.git("push", "-q", "origin", f":{NOTES}")
    hosted.offer("work")
    code, said = hosted.verified(office.id("work"))
    assert (code, "✗ new.txt" in said) == (0, True), said
