"""`ringi verify RANGE` in real repositories with real keys: what survives a rewrite, what does not count."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from ringi.approvals.statement import NOTES
from ringi.kernel.places import signatures_file
from tests.functional.desk import RINGI
from tests.functional.range_desk import AGENT, AT, NUMBERS, SIGNERS, Clone, Office, line
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, project
from tests.helpers import ROOT

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


@pytest.fixture
def work(office: Office) -> Office:
    office.two_steps()
    return office


# What rewrites commits.


def test_a_branch_as_it_was_approved_in_a_fresh_clone(work: Office) -> None:
    clone = work.cloned("clone")
    shown = clone.accepted("main..origin/work")
    assert "✓ new.txt  signed by alice · step S2 of run run-1, request request-1" in shown
    assert "✓ numbers.txt  signed by alice · step S2 of run run-1, request request-1 · 2 steps" in shown
    assert shown.splitlines()[-1] == "✓ Changed files: 2 signed"
    assert not (clone.root / ".agent" / "config.yaml").exists()


@pytest.mark.parametrize("how", ["rebase", "fixup", "squash", "merge", "cherry-pick", "amend"])
def test_rewritten_commits_stay_covered(work: Office, how: str) -> None:
    if how == "rebase":
        work.git("rebase", "-q", "main", "work")
    elif how == "fixup":
        edit = "sed -i 2s/^pick/fixup/"
        work.git("rebase", "-q", "-i", "main", "work", GIT_SEQUENCE_EDITOR=edit)
    elif how == "squash":
        work.git("checkout", "-q", "-b", "other")
        work.git("merge", "-q", "--squash", "work")
        work.commit("All of it")
    elif how == "merge":
        work.git("checkout", "-q", "-b", "other")
        work.git("merge", "-q", "--no-ff", "-m", "Merge", "work")
    elif how == "cherry-pick":
        work.git("checkout", "-q", "-b", "other")
        work.git("cherry-pick", "work~1", "work")
    else:
        work.git("checkout", "-q", "work")
        work.git("commit", "-q", "--amend", "-m", "Other words")
    clone = work.cloned("clone")
    assert clone.levels("origin/main..HEAD") == {"new.txt": "signed", "numbers.txt": "signed"}
    clone.accepted("origin/main..HEAD")


def test_one_byte_more_is_refused(work: Office) -> None:
    work.git("merge", "-q", "--squash", "work")
    work.write("new.txt", "new!\n")
    work.commit(f"All of it{AGENT}")
    clone = work.cloned("clone")
    shown = clone.refused("HEAD^..HEAD")
    assert "✗ new.txt" in shown
    assert "alice approved other bytes" in shown
    assert "✓ numbers.txt" in shown
    assert shown.splitlines()[-1] == "✗ Changed files: 1 signed, 1 by nobody; 1 not covered"


@pytest.mark.parametrize("same", [True, False], ids=["same-file", "other-file"])
def test_a_merge_with_one_byte_more_is_red_and_a_commit_on_top_is_its_authors(
    work: Office, same: bool
) -> None:
    if same:
        work.write("numbers.txt", f"zero\n{NUMBERS}")
        work.commit("The same file")
    work.git("checkout", "-q", "-b", "merged")
    work.git("merge", "-q", "--no-ff", "-m", "Merge", "work")
    work.accepted("main..HEAD", "agents")
    work.git("checkout", "-q", "-b", "more", "main")
    work.git("merge", "-q", "--no-ff", "--no-commit", "work")
    work.edit("numbers.txt", "\n50\n", "\n50\n51\n")
    work.commit("Merge")
    shown = work.refused("main..HEAD", "agents")
    assert "✗ numbers.txt" in shown
    assert "names no agent, but" in shown
    work.git("checkout", "-q", "merged")
    work.edit("numbers.txt", "\n50\n", "\n50\n51\n")
    work.commit("Mine")
    work.accepted("main..HEAD", "agents")


# Kinds of files.


def test_renames_modes_links_submodules_pointers_and_line_ends(office: Office) -> None:
    office.git("checkout", "-q", "-b", "work")
    office.write(".gitattributes", "crlf.txt text eol=crlf\n")
    office.write("crlf.txt", "one\r\ntwo\r\n")
    office.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    (office.root / "link").symlink_to("numbers.txt")
    office.git("mv", "numbers.txt", "moved.txt")
    (office.root / "docs" / "page.md").chmod(0o755)
    office.write('naïve "name".txt', "x\n")
    office.git("update-index", "--add", "--cacheinfo", f"160000,{office.base},sub")
    office.git("add", ".gitattributes", "crlf.txt", "big.bin", "link", "docs", 'naïve "name".txt')
    office.git("commit", "-q", "-m", f"Everything{AGENT}")
    names = {
        ".gitattributes", "crlf.txt", "big.bin", "link", "moved.txt", "numbers.txt", "docs/page.md", "sub",
        'naïve "name".txt',
    }  # fmt: skip
    assert office.levels("main..work") == dict.fromkeys(names, "none")
    office.approve("main", "work")
    found = office.cloned("clone").levels("origin/main..HEAD")
    assert found == dict.fromkeys(names, "signed")


def test_a_name_that_is_no_text(office: Office) -> None:
    office.git("checkout", "-q", "-b", "work")
    with open(os.fsencode(office.root) + b"/\xff.txt", "wb") as file:  # noqa: PTH123
        file.write(b"x")
    office.commit(f"Bytes{AGENT}")
    assert office.levels("main..work") == {"\\xff.txt": "none"}


# Whose signatures count.


def test_a_signer_who_is_added_in_the_range_does_not_count_yet(office: Office) -> None:
    office.git("checkout", "-q", "-b", "work")
    office.write(SIGNERS, line("alice", office.alice) + line("bob", office.bob))
    office.write("new.txt", "new\n")
    office.commit(f"Both{AGENT}")
    office.approve("main", "work", office.bob)
    shown = office.refused("main..work")
    assert "a key that is not listed" in shown
    office.git("checkout", "-q", "-b", "next")
    office.write("new.txt", "newer\n")
    office.commit(f"Later{AGENT}")
    office.approve("work", "next", office.bob)
    office.accepted("work..next")


def test_a_signer_who_is_removed_in_the_range_counts_until_then(office: Office) -> None:
    office.git("checkout", "-q", "-b", "work")
    office.write(SIGNERS, line("bob", office.bob))
    office.commit(f"Alice leaves{AGENT}")
    office.approve("main", "work")
    office.accepted("main..work")
    office.write("new.txt", "new\n")
    office.commit(f"After her{AGENT}")
    office.approve("work^", "work")
    assert "not listed" in office.refused("work^..work")


def test_a_key_counts_while_it_is_valid(office: Office) -> None:
    valid = 'namespaces="ringi-approval",valid-after="20250101",valid-before="20260101"'
    office.write(SIGNERS, line("alice", office.alice, valid))
    office.commit("Until the new year")
    office.git("checkout", "-q", "-b", "work")
    office.write("new.txt", "new\n")
    office.commit(f"New{AGENT}")
    office.approve("main", "work")
    assert "not at this time" in office.refused("main..work")
    office.approve("main", "work", at="2025-06-01T00:00:00.000000Z")
    office.accepted("main..work")


def test_ones_own_list_counts_too(office: Office, isolated: Path) -> None:
    office.git("checkout", "-q", "-b", "work")
    office.write("new.txt", "new\n")
    office.commit(f"New{AGENT}")
    office.approve("main", "work", office.bob)
    office.refused("main..work")
    own = Path(os.environ.get("XDG_CONFIG_HOME") or isolated / ".config") / "ringi" / "allowed_signers"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(line("bob", office.bob))
    own.chmod(0o600)
    assert "signed by bob" in office.accepted("main..work")


# Kinds of clones.


def test_a_bare_clone_and_a_partial_one(work: Office) -> None:
    bare = work.cloned("bare.git", "--bare")
    assert bare.levels("main..work") == {"new.txt": "signed", "numbers.txt": "signed"}
    work.git("config", "uploadpack.allowFilter", "true")
    partial = work.cloned("partial", "--filter=blob:none", "--branch", "main")
    shown = partial.refused("origin/main..origin/work", "agents")
    assert "notes cannot be read here; a partial clone leaves them out" in shown
    assert "→ git fetch --refetch --no-filter origin" in shown
    partial.git("fetch", "-q", "--refetch", "--no-filter", "origin", f"{NOTES}:{NOTES}")
    partial.git("remote", "set-url", "origin", "/nowhere")
    assert partial.levels("origin/main..origin/work") == {"new.txt": "signed", "numbers.txt": "signed"}


def test_a_clone_that_lacks_the_list_of_signers_is_not_guessed_at(work: Office) -> None:
    work.git("config", "uploadpack.allowFilter", "true")
    partial = work.cloned("partial", "--filter=blob:none", "--no-checkout")
    partial.git("remote", "set-url", "origin", "/nowhere")
    done = partial.desk.run("verify", "origin/main..origin/work")
    assert done.returncode == 1
    assert f"the contents of {SIGNERS} are missing" in done.stderr


def test_nothing_is_written_to_the_clone_and_nothing_of_it_runs(work: Office) -> None:
    clone = work.cloned("clone")
    mark = clone.root.parent / "ran"
    hooks = clone.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    clone.git("config", "core.fsmonitor", str(hooks / "fsmonitor-watchman"))
    clone.git("config", "diff.external", f"touch {mark}")
    clone.git("config", "diff.x.textconv", f"touch {mark}")
    (clone.root / ".git" / "info" / "attributes").write_text("* diff=x filter=x\n")
    mark.unlink(missing_ok=True)
    before = _listing(clone.root)
    clone.accepted("main..origin/work")
    assert _listing(clone.root) == before
    assert not mark.exists()


def _listing(root: Path) -> list[str]:
    return sorted(str(path) for path in root.rglob("*"))


# Names and answers.


def test_the_json_answer_is_complete_even_if_it_refuses(work: Office) -> None:
    work.git("merge", "-q", "--squash", "work")
    work.write("new.txt", "new!\n")
    work.commit("All of it")
    done = work.desk.run("--json", "verify", "HEAD", "--mode", "strict")
    assert done.returncode == 6
    found = json.loads(done.stdout)
    assert not found["covered"]
    assert [file["path"] for file in found["files"]] == ["new.txt", "numbers.txt"]
    assert found["files"][0]["why"]
    link = found["files"][1]["chain"][0]
    assert (link["by"], link["step"]["request_id"], link["at"]) == ("alice", "request-1", AT)


def test_good_signatures_are_remembered(work: Office) -> None:
    work.accepted("main..work")
    kept = signatures_file(os.environ)
    before = kept.read_bytes()
    assert b"alice" in before
    assert kept.stat().st_mode & 0o077 == 0
    kept.write_bytes(before.replace(b"alice", b"carol"))
    # Only what is remembered can say so.
    assert "signed by carol" in work.accepted("main..work")


def test_a_run_is_verified_by_its_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    with at_home(monkeypatch) as base:
        root = project(base / "project")
        desk = RunDesk(root, implementer=FIX)
        desk.start(a_plan(a_step(1)))
        desk.go()
        run = desk.decide("S01")
        clone = Clone(root)
        shown = clone.accepted(run.run_id[:12], "report")
        first, problem, _command, file, last = shown.splitlines()
        assert problem.startswith("! No signers are listed")
        assert first.startswith(f"Run {run.run_id}: {run.base_commit[:12]} to ")
        assert file.startswith("· calc.py  typed by ")
        assert file.endswith(f" · step S01 of run {run.run_id}, request {run.request_id}")
        assert last == "✓ Changed files: 1 typed"
        assert "which proves nothing in a clone" in clone.refused(run.run_id, "agents")
        assert clone.desk.run("verify", "p1", "--mode", "strict").returncode == 2
        assert "There is no plan, run or commit nothing" in clone.desk.run("verify", "nothing").stderr


@pytest.mark.skipif(shutil.which("jq") is None, reason="what the page uses")
def test_an_envelope_is_checked_with_the_shell_alone(office: Office) -> None:
    """As the page on notes says, and no longer once a byte was changed."""
    page = (ROOT / "docs" / "design" / "0042-proof-in-notes.md").read_text()
    [script] = re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    office.git("checkout", "-q", "-b", "work")
    office.edit("numbers.txt", "\n10\n", "\nten\n")
    office.commit(f"Step{AGENT}")
    office.approve("main", "work", office.bob)
    office.approve("main", "work")
    clone = office.cloned("clone")

    def checked(name: str) -> int:
        environment = {**os.environ, "BASE": office.base, "NAME": name, "FILE": "numbers.txt"}
        words = ["bash", "-e", "-c", script]
        return subprocess.run(words, cwd=clone.root, env=environment, check=False).returncode

    assert checked("alice") == 0
    assert checked("bob") != 0
    clone.edit("numbers.txt", "ten", "tin")
    clone.commit("One byte", "--amend")
    clone.git("notes", "--ref", NOTES, "copy", office.id("work:numbers.txt"), clone.id("HEAD:numbers.txt"))
    assert checked("alice") != 0


# On a server.


@pytest.fixture
def server(work: Office) -> Clone:
    """A bare repository that has main, and verifies what is pushed to it."""
    made = Clone(work.root.parent / "server.git")
    work.git(
        "clone", "-q", "--bare", "--single-branch", "--branch", "main", work.root.as_uri(), str(made.root)
    )
    done = made.desk.process("init", "--hook", "pre-receive")
    assert done.returncode == 0, done.stderr
    assert "pushes to this repository are verified in the mode agents" in done.stdout
    work.git("remote", "add", "server", made.root.as_uri())
    return made


def test_the_first_push_gets_in_and_one_byte_more_is_refused(work: Office, server: Clone) -> None:
    work.git("push", "-q", "server", "work", NOTES)
    assert server.id("work") == work.id("work")
    work.git("checkout", "-q", "work")
    work.write("new.txt", "new!\n")
    work.commit(f"A little more{AGENT}")
    said = work.git("push", "-q", "server", "work", fails=True)
    assert "✗ new.txt" in said
    assert "changed it with an agent" in said
    assert "Not covered by an approval that counts: 1 of 1 changed files" in said
    assert server.id("work") == work.id("work^")
    work.approve("work^", "work")
    work.git("push", "-q", "server", "work", NOTES)
    assert server.id("work") == work.id("work")


def test_notes_that_came_before_count_and_without_them_nothing_gets_in(work: Office, server: Clone) -> None:
    assert "no notes" in work.git("push", "-q", "server", "work", fails=True)
    work.git("push", "-q", "server", NOTES)
    work.git("push", "-q", "server", "work")
    work.git("push", "-q", "server", "work:again", "work~1:refs/tags/one")
    work.git("push", "-q", "server", ":again", ":refs/tags/one")


def test_what_a_forced_push_takes_back_must_be_approved_too(work: Office, server: Clone) -> None:
    work.git("push", "-q", "server", "work", NOTES)
    said = work.git("push", "-q", "-f", "server", "work~1:work", fails=True)
    assert "✗ new.txt" in said


def test_a_persons_push_gets_in_in_the_mode_of_agents_only(work: Office, server: Clone) -> None:
    work.write("mine.txt", "mine\n")
    work.commit("Mine")
    work.git("push", "-q", "server", "main")
    done = server.desk.process("--json", "init", "--hook", "pre-receive", "--mode", "strict")
    assert json.loads(done.stdout) == {
        "hook": str(server.root / "hooks" / "pre-receive"), "mode": "strict", "new": False
    }  # fmt: skip
    work.write("mine.txt", "mine!\n")
    work.commit("Mine again")
    said = work.git("push", "-q", "server", "main", fails=True)
    assert "is not signed by a listed key" in said


def test_the_first_push_of_all(work: Office) -> None:
    """There is no list of signers yet that could count, except the server's own."""
    server = Clone(work.root.parent / "empty.git")
    work.git("init", "-q", "--bare", "-b", "main", str(server.root))
    assert server.desk.process("init", "--hook", "pre-receive").returncode == 0
    work.git("push", "-q", server.root.as_uri(), f"{work.base}:refs/heads/main")
    said = work.git("push", "-q", server.root.as_uri(), "work", fails=True)
    assert "✗ new.txt" in said
    work.git("push", "-q", server.root.as_uri(), "work", NOTES)


def test_a_foreign_hook_is_left_alone(work: Office) -> None:
    hook = work.root / ".git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    done = work.desk.run("init", "--hook", "pre-receive")
    assert done.returncode == 1
    assert "it is a hook of somebody else" in done.stderr
    assert "verify --pre-receive --mode agents" in done.stderr
    assert hook.read_text() == "#!/bin/sh\nexit 0\n"
    hook.unlink()
    hook.symlink_to("/etc/passwd")
    assert work.desk.run("init", "--hook", "pre-receive").returncode == 1
    work.git("config", "core.hooksPath", "elsewhere")
    assert "git looks for hooks in elsewhere" in work.desk.run("init", "--hook", "pre-receive").stderr


def test_what_git_would_never_give_to_a_hook(work: Office) -> None:
    done = subprocess.run(
        [*RINGI, "verify", "--pre-receive"],
        cwd=work.root,
        input="one two\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
