"""The person's own repository is the same after every command: index, stash, refs, objects, settings."""

import json
import shutil
import subprocess
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from ringi.cli.main import COMMANDS
from ringi.errors import NotesFailed, NotFound
from tests.functional.desk import MENU, RINGI, Desk
from tests.functional.mcp_desk import RawClient
from tests.functional.run_desk import a_plan, a_step, by_step
from tests.helpers import fingerprint

CHANGE = "printf 'def hello():\\n    return \"hi\"\\n' > app/hello.py; echo new > notes.txt"
COMMITS = (
    "echo x >> README.md; git add -A; git commit -qm theirs; git tag t; git stash list; git config a.b c"
)
APPROVED = frozenset(["app/hello.py", "notes.txt"])


def runs(*calls: str) -> Callable[[Desk], None]:
    def run(desk: Desk) -> None:
        for call in calls:
            done = desk.run(*call.split())
            assert done.returncode == 0, f"{call}: {done.stderr}"

    return run


def works_beside(desk: Desk) -> None:
    desk.agent(COMMITS)
    assert desk.process("with", "--", "sh", "-c", "exit 3").returncode != 0
    desk.agent(CHANGE)


def looks_and_leaves(desk: Desk) -> None:
    assert desk.run("review").returncode == 3
    terminal = desk.terminal("review", "--plain")
    terminal.answer(MENU, "q")
    terminal.end()


def asks_and_leaves(desk: Desk) -> None:
    name = f"p{desk.json('current')['number']}"
    assert desk.run("apply", name).returncode == 3
    terminal = desk.terminal("apply", name)
    terminal.answer(MENU, "q")
    terminal.end()


def discards(desk: Desk) -> None:
    runs("propose --title Unwanted")(desk)
    scripted("discard PLAN")(desk)


def applies(desk: Desk) -> None:
    terminal = desk.terminal("review", "--plain")
    terminal.answer(MENU, "a")
    code, rest = terminal.end()
    assert code == 0, rest
    assert (desk.root / "notes.txt").exists()


def takes_back(desk: Desk) -> None:
    applies(desk)
    terminal = desk.terminal("undo")
    terminal.answer(r"\[y/n\]", "y")
    assert terminal.end()[0] == 0
    assert not (desk.root / "notes.txt").exists()


def _uncopied(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == ".agent" or Path(folder, name).is_fifo()]


def proposes(desk: Desk) -> None:
    (desk.root.parent / "new.txt").write_text("# Other\n")
    twin = desk.root.parent / "twin"
    shutil.copytree(desk.root, twin, symlinks=True, ignore=_uncopied)
    (twin / "README.md").write_text("# Changed\n")
    runs(
        f"propose --file README.md={desk.root.parent / 'new.txt'} --trigger refactor",
        f"propose --tree {twin} --trigger refactor",
        "show --as patch",
        "show --as change-plan",
        "show --as workspace-edit",
        "propose --again p1",
    )(desk)


def scripted(*calls: str) -> Callable[[Desk], None]:
    """As `runs`, about the current plan."""

    def run(desk: Desk) -> None:
        name = f"p{desk.json('current')['number']}"
        runs(*(call.replace("PLAN", name) for call in calls))(desk)

    return run


def sets_specs(desk: Desk) -> None:
    path = desk.root.parent / "specs.json"
    runs("propose --title Scripted")(desk)
    for text in ("one", "two"):
        path.write_text(json.dumps([{"kind": "create", "path": "script.txt", "content": f"{text}\n"}]))
        scripted(f"specs PLAN --file {path}", "specs PLAN")(desk)


def approves(desk: Desk) -> None:
    terminal = desk.terminal("approve", f"p{desk.json('current')['number']}")
    terminal.answer(r"\[y/n\]", "y")
    code, rest = terminal.end()
    assert code == 0, rest


def serves(desk: Desk) -> None:
    talk = RawClient(desk.root)
    with talk.process:
        talk.greet()
        talk.waiting_plan({"kind": "create", "path": "mcp.txt", "content": "from an agent\n"})
        assert talk.end() == 0


def serves_an_editor(desk: Desk) -> None:
    assert desk.process("acp", "--", "cat").returncode == 0


def finds_no(call: str) -> Callable[[Desk], None]:
    def run(desk: Desk) -> None:
        assert desk.run(*call.split()).returncode == NotFound.exit_code

    return run


def reaches_nobody(desk: Desk) -> None:
    assert desk.run("sync").returncode in {NotesFailed.exit_code, NotFound.exit_code}


def refuses_an_edit(desk: Desk) -> None:
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(desk.root / "README.md")}}
    done = subprocess.run(
        [*RINGI, "hook", "claude"],
        cwd=desk.root,
        input=json.dumps(edit).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2


def plans_a_session(desk: Desk) -> None:
    """With the playbook, up to the summary."""
    path = desk.root.parent / "answers.yaml"
    path.write_text("otherwise: recommended\n")
    done = desk.run("plan", "Add an option to the tool", "--answers", str(path))
    assert done.returncode == 3, done.stderr
    [session] = desk.json("status")["planning"]
    desk.json("status", "--session", session["sessionId"])
    assert desk.run("plan", "--resume", session["sessionId"], "--cancel").returncode == 5


class Case(NamedTuple):
    use: Callable[[Desk], None]
    writes: frozenset[str] = frozenset()
    """The files that a person approved with it."""


# In this order, in one workspace. Every command has at least one entry.
CASES: tuple[tuple[str, Case], ...] = (
    ("", Case(runs("--version", "--help"))),
    ("init", Case(runs("init"))),
    ("doctor", Case(runs("doctor", "doctor --repair", "doctor --cache", "doctor --clear-cache"))),
    ("config", Case(runs("config show", "config check", "config signers"))),
    ("check", Case(runs("check README.md", "check --schema", "check --schema plan"))),
    ("hook", Case(refuses_an_edit)),
    ("trust", Case(runs("trust --show", "trust --revoke"))),
    ("state", Case(runs("state capture", "state show"))),
    ("run", Case(runs("run --context greet", "run --outline greet", "--json run --outline greet"))),
    ("propose", Case(proposes)),
    ("specs", Case(sets_specs)),
    ("current", Case(runs("current"))),
    ("show", Case(scripted("show PLAN --compare 1"))),
    ("amend", Case(scripted("amend PLAN --revert 1"))),
    ("propose", Case(scripted("propose --fork PLAN"))),
    ("amend", Case(scripted("--json show PLAN --as review", "amend PLAN --comment script.txt:1 no"))),
    ("reject", Case(scripted("reject PLAN --feedback no"))),
    (
        "request",
        Case(
            scripted(
                "request PLAN --pending",
                "request PLAN --no-pending",
                "request PLAN --pending",
                "request PLAN",
            )
        ),
    ),
    ("approve", Case(approves)),
    ("execute", Case(scripted("execute PLAN --dry-run", "execute PLAN"), frozenset(["script.txt"]))),
    ("discard", Case(discards)),
    ("help", Case(runs("help", "help run"))),
    ("init", Case(runs("init --completion bash", "init --completion zsh", "init --completion fish"))),
    ("verify", Case(runs("verify", "verify --all", "verify HEAD", "verify HEAD..HEAD --mode strict"))),
    ("sync", Case(reaches_nobody)),
    ("why", Case(runs("why README.md:1"))),
    ("grant", Case(runs("grant list"))),
    ("recover", Case(runs("recover"))),
    ("plan", Case(plans_a_session)),
    ("status", Case(runs("status", "--json status"))),
    ("report", Case(finds_no("report"))),
    ("run", Case(finds_no("run --session 20260101-000000"))),
    ("continue", Case(finds_no("continue"))),
    ("continue", Case(finds_no("continue --retry"))),
    ("cancel", Case(finds_no("cancel"))),
    ("feedback", Case(finds_no("feedback shorter"))),
    ("watch", Case(runs("watch --once"))),
    ("run", Case(finds_no("run --models shorter"))),
    ("mcp", Case(serves)),
    ("acp", Case(serves_an_editor)),
    ("with", Case(works_beside)),
    ("", Case(runs("", "--json"))),
    ("list", Case(runs("list", "list --pending", "--json list --all"))),
    ("show", Case(runs("show", "show --diff", "--json show"))),
    ("log", Case(runs("log", "log --verify"))),
    ("metrics", Case(runs("metrics", "--json metrics --since 7d"))),
    ("review", Case(looks_and_leaves)),
    ("undo", Case(takes_back)),
    ("with", Case(works_beside)),
    ("apply", Case(asks_and_leaves)),
    ("review", Case(applies, APPROVED)),
)


class Facts(NamedTuple):
    git: Mapping[str, str]
    """Every file of the repository and of the one inside it: index, objects, refs, logs, configuration.
    Without the notes that prove approvals.
    """
    stash: str
    refs: str
    status: frozenset[str]
    files: Mapping[str, str]
    """All others, but for the program's own folder."""

    def without(self, paths: frozenset[str]) -> "Facts":
        return self._replace(
            status=frozenset(line for line in self.status if line.split(" ")[-1] not in paths),
            files={path: facts for path, facts in self.files.items() if path not in paths},
        )


def of_notes(path: str, objects: Collection[str]) -> bool:
    """Whether git has this file, or folder, for the notes of approvals."""
    name = path.removeprefix(".git/objects/").replace("/", "")
    folder = path.startswith(".git/objects/") and "/" not in path.removeprefix(".git/objects/")
    return name in objects or folder or "refs/notes" in path


def packs_of(root: Path, objects: Collection[str]) -> set[str]:
    """The files of packs that have nothing but these."""
    found = set[str]()
    for index in (root / ".git" / "objects" / "pack").glob("*.idx"):
        told = subprocess.run(
            ["git", "show-index"], cwd=root, input=index.read_bytes(), capture_output=True, check=True
        )
        held = {line.split()[1].decode() for line in told.stdout.splitlines()}
        if held <= set(objects):
            found |= {str(one.relative_to(root)) for one in (index, index.with_suffix(".pack"))}
    return found


def facts(desk: Desk) -> Facts:
    def git(*words: str) -> str:
        # Asking must not change what is asked about.
        return desk.git("--no-optional-locks", *words)

    notes = set(git("rev-list", "--objects", "--no-object-names", "--glob=refs/notes/*").split())
    packs = packs_of(desk.root, notes)
    status = git("status", "--porcelain=v2", "--branch", "-uall", "--ignored", "--", ".", ":(exclude).agent")
    found = fingerprint(desk.root)
    inside = {path for path in found if ".git" in Path(path).parts}
    return Facts(
        git={path: found[path] for path in inside if path not in packs and not of_notes(path, notes)},
        stash=git("stash", "list", "-p"),
        refs=git("for-each-ref", "refs/heads", "refs/tags", "refs/stash", "refs/remotes"),
        status=frozenset(status.splitlines()),
        files={path: said for path, said in found.items() if path not in inside},
    )


@pytest.fixture
def busy_desk(desk: Desk) -> Desk:
    """In the middle of work: a stash, a branch, files staged, dirty, new and ignored, a repository inside."""
    (desk.root / ".gitignore").write_text("*.log\n")
    (desk.root / "README.md").write_text("# Stashed\n")
    desk.git("stash")
    desk.git("branch", "other")
    (desk.root / "staged.txt").write_text("staged\n")
    desk.git("add", "staged.txt")
    (desk.root / "staged.txt").write_text("and changed\n")
    (desk.root / "README.md").write_text("# Dirty\n")
    (desk.root / "new.txt").write_text("new\n")
    (desk.root / "x.log").write_text("ignored\n")
    desk.git("init", "-q", "inner")
    (desk.root / "inner" / "file.txt").write_text("inner\n")
    desk.git("-C", "inner", "add", "-A")
    desk.git("-C", "inner", "commit", "-qm", "inner")
    desk.git("status")
    return desk


@pytest.mark.req("PT-13", "CP-10")
def test_every_command_leaves_git_as_it_was(busy_desk: Desk) -> None:
    before = facts(busy_desk)
    assert before.stash
    assert any(path.startswith("inner/.git/objects/") for path in before.git)
    for name, case in CASES:
        case.use(busy_desk)
        after = facts(busy_desk)
        assert after.without(case.writes) == before.without(case.writes), f"ringi {name}"
        assert after.git == before.git, f"ringi {name}"
        before = after
    assert (busy_desk.root / "notes.txt").read_text() == "new\n"


BRANCH = "aiflow/RQ-20260101-001/20260101-000000"


@pytest.fixture
def planned_desk(busy_desk: Desk) -> tuple[Desk, list[str]]:
    """With a run of two steps, and the words that start it."""
    folder = busy_desk.root.parent
    scope = {"target_paths": ["app/", "notes.txt"]}
    plan = a_plan(
        *(a_step(number, scope=scope, commands={"unit": ["true"]}) for number in (1, 2)),
        base_branch=busy_desk.git("symbolic-ref", "--short", "HEAD").strip(),
        gates={"require_clean_worktree": False},
    )
    (folder / "planning.json").write_text(json.dumps(plan))
    script = by_step(CHANGE.partition(";")[0], f"echo more > notes.txt; {COMMITS_ITSELF}")
    (folder / "role").write_text(script)
    role = f"sh {folder / 'role'} {{brief}}"
    return busy_desk, ["run", "--plan", str(folder / "planning.json"), "--with", role]


COMMITS_ITSELF = "git commit -qam mine; git tag t; git branch b; git config a.b c; git stash list"
"""What a role does to git in its copy."""


@pytest.mark.req("RN-5", "RN-8", "PT-13")
def test_a_whole_run_adds_one_branch_and_its_objects(planned_desk: tuple[Desk, list[str]]) -> None:
    desk, words = planned_desk
    before = facts(desk)
    assert before.stash
    with desk.terminal(*words) as terminal:
        terminal.answer(r"Approve\? \[y/n\]", "y")
        terminal.read(MENU)
        assert facts(desk) == before, "nothing is there before somebody approves"
        terminal.type("a")
        code, rest = terminal.end()
    assert code == 0, rest
    after = facts(desk)
    assert after._replace(git={}, refs="") == before._replace(git={}, refs="")
    [new] = {*after.refs.splitlines()} - {*before.refs.splitlines()}
    assert new.endswith(f"\trefs/heads/{BRANCH}")
    assert {*before.refs.splitlines()} < {*after.refs.splitlines()}
    changed = {path for path, said in before.git.items() if after.git.get(path) != said}
    assert changed == set()
    places = (".git/objects", ".git/refs/heads/aiflow", ".git/logs/refs/heads/aiflow")
    assert [path for path in {*after.git} - {*before.git} if not path.startswith(places)] == []
    assert desk.git("fsck", "--strict", "--no-dangling") == ""
    for command in ("status", "report", "list", "log --verify"):
        runs(command)(desk)
    assert facts(desk) == after
    with desk.terminal("undo", "20260101-000000-a1b2c3") as terminal:
        terminal.answer(r"Go\? \[y/n\]", "y")
        assert terminal.end()[0] == 0
    assert facts(desk)._replace(git={}) == before._replace(git={})


@pytest.mark.req("RN-8", "PT-13")
def test_a_run_that_stops_and_is_cancelled_leaves_nothing(planned_desk: tuple[Desk, list[str]]) -> None:
    desk, words = planned_desk
    before = facts(desk)
    with desk.terminal(*words[:-1], "sh -c 'exit 1'") as terminal:
        terminal.answer(r"Approve\? \[y/n\]", "y")
        assert terminal.end()[0] == 1
    assert facts(desk) == before
    for command, code in (("continue", 1), ("continue --retry", 1), ("cancel", 0), ("report", 0)):
        assert desk.process(*command.split()).returncode == code, command
        assert facts(desk) == before, command


@pytest.mark.req("PT-13")
def test_without_notes_the_object_store_stays_as_it_was(busy_desk: Desk) -> None:
    for notes in ("off", "on"):
        plan = busy_desk.agent(f"echo {notes} > one.txt")
        approves(busy_desk)
        before = fingerprint(busy_desk.root / ".git")
        done = busy_desk.run("execute", plan, RINGI_PROVENANCE_NOTES=notes)
        assert done.returncode == 0, done.stderr
        assert (fingerprint(busy_desk.root / ".git") == before) is (notes == "off")


@pytest.mark.req("PT-13")
def test_no_command_is_left_out() -> None:
    assert {name for name, _ in CASES if name} == set(COMMANDS)
