"""Commits in the person's repository, with git itself as the judge."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.errors import NoCommit
from ringi.tree.commit_order import CommitOrder, CommitPlace, Committed
from ringi.tree.commits import GitCommits
from tests.helpers import make_files

MARKS = ("Ringi-Plan: 1", "Ringi-Approval: 2")
MESSAGE = "A change\n\nRingi-Plan: 1\nRingi-Approval: 2\n"
ODD = [
    "with space.txt",
    "new\nline.txt",
    "日本語/ファイル.txt",
    "-dash.txt",
    ":(top)README.md",
    ":!README.md",
    "*.py",
    'quo"te\\.txt',
    "a/b/c/d.txt",
    "tab\there.txt",
]


def git(root: Path, *words: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=root, input=stdin, capture_output=True, check=True)
    return os.fsdecode(done.stdout)


def names(root: Path, commit: str = "HEAD") -> list[str]:
    out = git(root, "show", "-z", "--format=", "--name-only", "--no-renames", commit)
    return sorted(name for name in out.split("\0") if name)


def blob(root: Path, path: str, commit: str = "HEAD") -> bytes:
    listing = git(root, "ls-tree", "-r", "-z", "--full-tree", commit)
    oid = {line.partition("\t")[2]: line.split()[2] for line in listing.split("\0") if line}[path]
    return subprocess.run(["git", "cat-file", "blob", oid], cwd=root, capture_output=True, check=True).stdout


def hook(root: Path, name: str, script: str) -> None:
    path = root / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def commits_in(root: Path) -> GitCommits:
    return GitCommits(root, dict(os.environ))


def found_by(commits: GitCommits, parent: str, *marks: str) -> str:
    found = commits.find(CommitOrder(parent, "", marks or MARKS, {}))
    return found.commit if found else ""


def head(root: Path) -> str:
    return commits_in(root).place([]).parent


def order(root: Path, files: Mapping[str, str | bytes | None], message: str = MESSAGE) -> CommitOrder:
    """As an execution leaves it: the files are written."""
    data = {path: value.encode() if isinstance(value, str) else value for path, value in files.items()}
    make_files(root, {path: value for path, value in data.items() if value is not None})
    for path in [path for path, value in data.items() if value is None and (root / path).is_file()]:
        (root / path).unlink()
    return CommitOrder(head(root), message, MARKS, data)


def made(root: Path, files: Mapping[str, str | bytes | None]) -> str:
    outcome = commits_in(root).make(order(root, files))
    assert outcome.commit, outcome.why
    assert outcome.why == ""
    assert git(root, "rev-parse", "HEAD").strip() == outcome.commit
    return outcome.commit


def test_only_its_own_paths_are_committed_and_the_rest_stays_as_it_was(repo: Path):
    make_files(repo, {"staged.txt": "staged\n", "both.txt": "one\n", "loose.txt": "loose\n"})
    git(repo, "add", "staged.txt", "both.txt")
    make_files(repo, {"both.txt": "two\n", "README.md": "# mine\n"})
    git(repo, "rm", "-q", "--cached", "app/hello.py")
    before = git(repo, "diff", "--cached"), git(repo, "diff"), git(repo, "status", "--porcelain")
    made(repo, {"new.txt": "new\n"})
    assert names(repo) == ["new.txt"]
    assert (git(repo, "diff", "--cached"), git(repo, "diff"), git(repo, "status", "--porcelain")) == before


def test_created_written_deleted_moved_and_made_executable(repo: Path):
    (repo / "run.sh").write_text("echo\n")
    (repo / "run.sh").chmod(0o755)
    files = {
        "README.md": "# other\n",
        "app/hello.py": None,
        "app/bye.py": "def hello(): ...\n",
        "run.sh": "echo\n",
    }
    made(repo, files)
    assert names(repo) == ["README.md", "app/bye.py", "app/hello.py", "run.sh"]
    assert git(repo, "ls-tree", "HEAD", "run.sh").startswith("100755 ")
    assert git(repo, "status", "--porcelain") == ""
    git(repo, "diff-files", "--quiet")
    git(repo, "fsck", "--strict")


def test_a_folder_becomes_a_file_and_a_file_a_folder(repo: Path):
    (repo / "app/hello.py").unlink()
    (repo / "app").rmdir()
    (repo / "README.md").unlink()
    made(repo, {"app/hello.py": None, "app": "a file\n", "README.md": None, "README.md/in.txt": "in\n"})
    assert names(repo) == ["README.md", "README.md/in.txt", "app", "app/hello.py"]
    assert git(repo, "status", "--porcelain") == ""


def test_paths_are_taken_literally(repo: Path):
    files = {path: f"{number}\n" for number, path in enumerate(ODD)}
    place = commits_in(repo).place(ODD)
    made(repo, files)
    assert place.branch == "main"
    assert names(repo) == sorted(ODD)
    assert [blob(repo, path).decode() for path in ODD] == list(files.values())
    assert git(repo, "status", "--porcelain") == ""


def test_the_first_commit_of_a_repository(tmp_path: Path):
    git(tmp_path, "init", "-q", "-b", "trunk")
    assert commits_in(tmp_path).place(["a.txt"]) == CommitPlace("trunk", "", ())
    make_files(tmp_path, {"mine.txt": "mine\n"})
    git(tmp_path, "add", "mine.txt")
    made(tmp_path, {"a.txt": "a\n"})
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD") == "a.txt\n"
    assert git(tmp_path, "status", "--porcelain") == "A  mine.txt\n"


def test_a_detached_head_and_a_linked_worktree(repo: Path, tmp_path: Path):
    git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    git(repo, "checkout", "-q", "--detach")
    assert commits_in(repo).place([]).branch == ""
    made(repo, {"here.txt": "here\n"})
    assert commits_in(tmp_path / "side").place([]).branch == "side"
    commit = made(tmp_path / "side", {"there.txt": "there\n"})
    assert git(repo, "rev-parse", "side").strip() == commit
    assert (git(repo, "status", "--porcelain"), git(tmp_path / "side", "status", "--porcelain")) == ("", "")


def test_a_repository_that_hashes_with_sha256(tmp_path: Path):
    git(tmp_path, "init", "-q", "--object-format=sha256")
    assert len(made(tmp_path, {"a.txt": "a\n"})) == 64
    assert len(made(tmp_path, {"a.txt": "b\n", "c.txt": "c\n"})) == 64
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_thousand_files(repo: Path):
    files = {f"f{number % 10}/{number}.txt": f"{number}\n" for number in range(1000)}
    made(repo, files)
    assert names(repo) == sorted(files)
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("setting", "kept"), [("true", b"a\nb\n"), ("input", b"a\nb\n"), ("false", b"a\r\nb\r\n")]
)
def test_line_ends_are_converted_as_the_person_has_it(repo: Path, setting: str, kept: bytes):
    git(repo, "config", "core.autocrlf", setting)
    made(repo, {"dos.txt": b"a\r\nb\r\n"})
    assert blob(repo, "dos.txt") == kept
    assert (repo / "dos.txt").read_bytes() == b"a\r\nb\r\n"
    assert git(repo, "status", "--porcelain") == ""


def test_a_filter_of_the_person_is_used(repo: Path):
    git(repo, "config", "filter.shout.clean", "tr a-z A-Z")
    git(repo, "config", "filter.shout.smudge", "tr A-Z a-z")
    make_files(repo, {".gitattributes": "*.loud filter=shout\n"})
    made(repo, {"a.loud": "quiet\n"})
    assert blob(repo, "a.loud") == b"QUIET\n"
    assert git(repo, "status", "--porcelain") == "?? .gitattributes\n"


def test_hooks_run_in_their_order_and_are_named_beforehand(repo: Path):
    for name in ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-auto-gc"):
        hook(repo, name, 'basename "$0" >> "$(git rev-parse --git-dir)/ran"')
    (repo / ".git/hooks/post-merge").write_text("#!/bin/sh\n")
    assert commits_in(repo).place([]).hooks == (
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "pre-auto-gc",
    )
    made(repo, {"a.txt": "a\n"})
    ran = (repo / ".git/ran").read_text().split()
    assert ran == ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]


def test_hooks_elsewhere_count_and_those_that_may_not_run_do_not(repo: Path):
    hook(repo, "pre-commit", "exit 1")
    (repo / ".git/hooks/pre-commit").chmod(0o644)
    assert commits_in(repo).place([]).hooks == ()
    (repo / "own").mkdir()
    (repo / "own/commit-msg").write_text("#!/bin/sh\n")
    (repo / "own/commit-msg").chmod(0o755)
    git(repo, "config", "core.hooksPath", "own")
    assert commits_in(repo).place([]).hooks == ("commit-msg",)


@pytest.mark.parametrize(("version", "hooks"), [("2.53.1", ()), ("2.54.0", ("pre-commit",))])
def test_a_hook_can_be_a_setting_if_git_is_new_enough(repo: Path, tmp_path: Path, version: str, hooks: tuple):
    real, own = shutil.which("git"), tmp_path / "bin" / "git"
    own.parent.mkdir()
    own.write_text(f'#!/bin/sh\n[ "$*" = version ] && exec echo git version {version}\nexec {real} "$@"\n')
    own.chmod(0o755)
    git(repo, "config", "hook.linter.event", "pre-commit")
    path = f"{own.parent}{os.pathsep}{os.environ['PATH']}"
    assert GitCommits(repo, {**os.environ, "PATH": path}).place([]).hooks == hooks


def test_looking_runs_nothing_of_the_repository(repo: Path):
    for name in ("pre-commit", "post-index-change", "reference-transaction"):
        hook(repo, name, "touch ran")
    git(repo, "config", "core.fsmonitor", "touch ran")
    git(repo, "config", "filter.x.clean", "touch ran; cat")
    git(repo, "config", "diff.external", "touch ran")
    make_files(repo, {".gitattributes": "* filter=x\n", "README.md": "# other\n"})
    index = (repo / ".git/index").read_bytes()
    commits = commits_in(repo)
    parent = commits.place(["README.md", "new.txt"]).parent
    found = commits.files(parent, ["README.md", "none"])
    assert found == {"README.md": Committed("100644", b"# Sample\n"), "none": None}
    assert found_by(commits, parent) == ""
    assert not (repo / "ran").exists()
    assert (repo / ".git/index").read_bytes() == index


@pytest.mark.parametrize("name", ["pre-commit", "prepare-commit-msg", "commit-msg", "reference-transaction"])
def test_a_hook_that_fails_leaves_everything_as_it_was(repo: Path, name: str):
    make_files(repo, {"staged.txt": "staged\n"})
    git(repo, "add", "staged.txt")
    hook(repo, name, "echo trying; echo this is forbidden >&2; exit 3")
    ordered = order(repo, {"README.md": "# other\n"})
    index = (repo / ".git/index").read_bytes()
    outcome = commits_in(repo).make(ordered)
    assert outcome.commit == ""
    assert "this is forbidden" in outcome.why
    assert (repo / ".git/index").read_bytes() == index
    assert head(repo) == ordered.parent
    assert git(repo, "status", "--porcelain") == " M README.md\nA  staged.txt\n"


def test_nobody_knows_who_the_person_is(repo: Path, isolated: Path):
    (isolated / "gitconfig").write_text("[user]\n    useConfigOnly = true\n")
    outcome = commits_in(repo).make(order(repo, {"a.txt": "a\n"}))
    assert outcome.commit == ""
    assert "no email was given" in outcome.why or "who you are" in outcome.why


def test_a_hook_that_rewrites_is_told(repo: Path):
    hook(repo, "pre-commit", "echo formatted > a.txt; echo more > b.txt; git add a.txt b.txt")
    hook(repo, "commit-msg", 'echo "Change-Id: I1" >> "$1"')
    outcome = commits_in(repo).make(order(repo, {"a.txt": "a\n"}))
    assert outcome.commit
    assert "a.txt, b.txt" in outcome.why
    assert "the message" in outcome.why
    assert names(repo) == ["a.txt", "b.txt"]
    assert git(repo, "status", "--porcelain") == "", "the index follows what the hook added"


def test_a_hook_that_takes_out_our_lines_or_amends_is_followed(repo: Path):
    hook(repo, "commit-msg", 'echo "Something else" > "$1"')
    outcome = commits_in(repo).make(order(repo, {"a.txt": "a\n"}))
    assert outcome.commit == head(repo)
    (repo / ".git/hooks/commit-msg").unlink()
    hook(
        repo,
        "post-commit",
        "[ -n \"$ONCE\" ] || ONCE=1 git commit -q --amend --no-edit --author='A B <a@b.invalid>'",
    )
    outcome = commits_in(repo).make(order(repo, {"a.txt": "b\n"}))
    assert outcome.commit == head(repo)
    assert git(repo, "status", "--porcelain") == ""


def test_a_git_of_the_repository_is_not_the_persons(repo: Path):
    """Although a folder of it is in their path, as that of an environment or of its scripts."""
    make_files(repo, {"bin/git": "#!/bin/sh\ntouch ran\n", "bin/linter": "#!/bin/sh\ntouch linted\n"})
    for name in ("git", "linter"):
        (repo / "bin" / name).chmod(0o755)
    hook(repo, "pre-commit", "linter")
    commits = GitCommits(repo, {**os.environ, "PATH": f"{repo}/bin:{os.environ['PATH']}"})
    assert commits.place(["a.txt"]).hooks == ("pre-commit",)
    assert commits.make(order(repo, {"a.txt": "a\n"})).commit == head(repo)
    assert not (repo / "ran").exists()
    assert (repo / "linted").exists()  # a hook finds what it would find without us


def test_a_commit_that_cannot_be_withdrawn_is_told(repo: Path):
    ordered = order(repo, {"a.txt": "a\n"})
    git(repo, "commit", "-q", "--allow-empty", "-m", "theirs")
    hook(repo, "post-commit", '[ -n "$ONCE" ] || ONCE=1 git commit -q --allow-empty -m on-top')
    outcome = commits_in(repo).make(ordered)
    assert outcome.commit == git(repo, "rev-parse", "HEAD~1").strip()
    assert "at the same moment" in outcome.why


def test_somebody_who_commits_at_the_same_moment_loses_nothing(repo: Path):
    ordered = order(repo, {"a.txt": "a\n"})
    make_files(repo, {"theirs.txt": "theirs\n"})
    git(repo, "add", "theirs.txt")
    git(repo, "commit", "-q", "-m", "theirs")
    theirs = head(repo)
    outcome = commits_in(repo).make(ordered)
    assert outcome.commit == ""
    assert "at the same moment" in outcome.why
    assert head(repo) == theirs
    assert git(repo, "status", "--porcelain") == "?? a.txt\n"


def test_somebody_who_writes_at_the_same_moment_is_noticed(repo: Path):
    ordered = order(repo, {"a.txt": "a\n"})
    (repo / "a.txt").write_text("theirs\n")
    outcome = commits_in(repo).make(ordered)
    assert (outcome.commit, outcome.why) == ("", "a.txt was changed meanwhile")
    assert head(repo) == ordered.parent


def test_nothing_to_commit(repo: Path):
    outcome = commits_in(repo).make(order(repo, {"README.md": "# Sample\n"}))
    assert outcome.commit == ""
    assert "nothing" in outcome.why


@pytest.mark.parametrize(
    "name", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"]
)
def test_not_while_something_else_is_under_way(repo: Path, name: str):
    (repo / ".git" / name).touch()
    with pytest.raises(NoCommit, match="is under way"):
        commits_in(repo).place(["README.md"])


def test_a_real_merge_in_conflict(repo: Path):
    git(repo, "checkout", "-q", "-b", "side")
    make_files(repo, {"README.md": "# side\n"})
    git(repo, "commit", "-q", "-am", "side")
    git(repo, "checkout", "-q", "main")
    make_files(repo, {"README.md": "# main\n"})
    git(repo, "commit", "-q", "-am", "main")
    subprocess.run(["git", "merge", "-q", "side"], cwd=repo, capture_output=True, check=False)
    with pytest.raises(NoCommit, match="a merge is under way"):
        commits_in(repo).place(["README.md"])
    (repo / ".git/MERGE_HEAD").unlink()
    with pytest.raises(NoCommit, match=r"README\.md is in conflict"):
        commits_in(repo).place(["README.md"])


def test_what_git_ignores_or_another_repository_has_is_refused(repo: Path, tmp_path: Path):
    make_files(repo, {".gitignore": "*.log\n", "tracked.log": "x\n"})
    git(repo, "add", "-f", "tracked.log")
    git(repo, "init", "-q", "nested")
    git(repo, "init", "-q", str(tmp_path / "module"))
    git(tmp_path / "module", "commit", "-q", "--allow-empty", "-m", "x")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "module"), "sub")
    commits = commits_in(repo)
    with pytest.raises(NoCommit, match=r"git ignores new\.log"):
        commits.place(["README.md", "new.log"])
    assert commits.place(["tracked.log"]).branch == "main"
    for path in ("nested/a.txt", "sub/a.txt", "sub/deep/a.txt"):
        with pytest.raises(NoCommit, match=f"{path} belongs to the repository"):
            commits.place([path])


def test_without_a_repository_of_its_own(repo: Path, tmp_path: Path):
    (repo / "inner").mkdir()
    for folder in (repo / "inner", tmp_path):
        with pytest.raises(NoCommit, match="no git repository"):
            commits_in(folder).place(["a.txt"])
    (repo / "inner/.git").write_text("gitdir: nowhere\n")
    with pytest.raises(NoCommit):
        commits_in(repo / "inner").place(["a.txt"])


def test_variables_that_would_lead_elsewhere_do_not(repo: Path, tmp_path: Path):
    git(tmp_path, "init", "-q", "other")
    astray = {
        "GIT_DIR": str(tmp_path / "other/.git"),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_WORK_TREE": str(tmp_path / "other"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.hooksPath",
        "GIT_CONFIG_VALUE_0": "/nowhere",
        "GIT_AUTHOR_NAME": "Hanako",
    }
    outcome = GitCommits(repo, {**os.environ, **astray}).make(order(repo, {"a.txt": "a\n"}))
    assert outcome.commit == head(repo)
    assert git(repo, "log", "-1", "--format=%an").strip() == "Hanako"
    assert not (tmp_path / "index").exists()


def test_the_message_is_kept_to_the_byte(repo: Path):
    git(repo, "config", "commit.cleanup", "strip")
    git(repo, "config", "i18n.commitEncoding", "ISO-8859-1")
    git(repo, "config", "commit.template", "/nowhere")
    message = "# 題名 é\n\n  indented\n#no comment\n\n\nafter two\n\n" + "\n".join(MARKS) + "\n"
    outcome = commits_in(repo).make(order(repo, {"a.txt": "a\n"}, message))
    assert outcome.why == ""
    raw = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=repo, capture_output=True, check=True
    ).stdout
    head_lines, _, body = raw.partition(b"\n\n")
    assert body == message.encode()
    assert b"encoding" not in head_lines


def test_it_is_signed_where_the_person_signs(repo: Path, tmp_path: Path):
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "signers").write_text("person@example.invalid " + (tmp_path / "key.pub").read_text())
    for name, value in (
        ("commit.gpgSign", "true"), ("gpg.format", "ssh"), ("user.signingKey", str(key)),
        ("gpg.ssh.allowedSignersFile", str(tmp_path / "signers")),
    ):  # fmt: skip
        git(repo, "config", name, value)
    made(repo, {"a.txt": "a\n"})
    git(repo, "verify-commit", "HEAD")
    git(repo, "config", "user.signingKey", str(tmp_path / "none"))
    outcome = commits_in(repo).make(order(repo, {"a.txt": "b\n"}))
    assert outcome.commit == ""
    assert git(repo, "status", "--porcelain") == " M a.txt\n"


def test_an_index_that_somebody_holds_is_waited_for(repo: Path):
    hook(
        repo,
        "post-commit",
        'lock="$(git rev-parse --git-dir)/index.lock"; touch "$lock"\n'
        '(sleep 0.7; rm "$lock") >/dev/null 2>&1 &',
    )
    made(repo, {"a.txt": "a\n"})
    assert git(repo, "status", "--porcelain") == ""


def test_what_a_crash_left_is_found_and_finished(repo: Path):
    """The commit was made, and the index was not brought along."""
    parent = head(repo)
    make_files(repo, {"staged.txt": "staged\n"})
    git(repo, "add", "staged.txt")
    index = (repo / ".git/index").read_bytes()
    commit = made(repo, {"README.md": "# other\n", "new.txt": "new\n", "app/hello.py": None})
    (repo / ".git/index").write_bytes(index)
    commits = commits_in(repo)
    assert found_by(commits, parent) == commit
    assert found_by(commits, parent, "Ringi-Plan: other") == ""
    git(repo, "branch", "made")
    git(repo, "checkout", "-q", "-f", "-b", "elsewhere", parent)
    assert found_by(commits, parent) == commit, "on another branch by now"
    git(repo, "checkout", "-q", "-f", "main")
    (repo / "staged.txt").write_text("staged\n")
    (repo / ".git/index").write_bytes(index)
    commits.settle(commit)
    assert git(repo, "status", "--porcelain") == "A  staged.txt\n"
    (repo / ".git/index").write_bytes(index)
    make_files(repo, {"README.md": "# third\n"})
    git(repo, "add", "README.md")
    commits.settle(commit)
    assert git(repo, "status", "--porcelain") == "M  README.md\nA  staged.txt\n", (
        "theirs, staged since, stays"
    )


STATES = st.sampled_from(["none", "tracked", "staged", "changed", "both", "removed"])
CHANGES = st.sampled_from(["none", "write", "delete"])


@settings(max_examples=15)
@given(st.lists(st.tuples(STATES, CHANGES), min_size=1, max_size=5))
def test_whatever_is_staged_only_the_plans_own_paths_go_along(
    tmp_path_factory: pytest.TempPathFactory, files: list[tuple[str, str]]
):
    root = tmp_path_factory.mktemp("any")
    paths = {f"f{number}.txt": pair for number, pair in enumerate(files)}
    tracked = [path for path, (state, _) in paths.items() if state != "none"]
    git(root, "init", "-q")
    make_files(root, {path: f"{path}\n" for path in [*tracked, "always"]})
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    for path, (state, _) in paths.items():
        if state in {"staged", "both"}:
            (root / path).write_text("staged\n")
            git(root, "add", path)
        if state in {"changed", "both"}:
            (root / path).write_text("changed\n")
        if state == "removed":
            git(root, "rm", "-q", "--cached", path)
    others = [path for path, (_, change) in paths.items() if change == "none"] + ["always"]
    before = git(root, "ls-files", "-s", "--", *others), git(root, "diff", "--", *others)
    wanted = {path: None if change == "delete" else f"plan {path}\n"
              for path, (_, change) in paths.items() if change != "none"}  # fmt: skip
    outcome = commits_in(root).make(order(root, wanted))
    assert (git(root, "ls-files", "-s", "--", *others), git(root, "diff", "--", *others)) == before
    expected = sorted(path for path, data in wanted.items() if data is not None or path in tracked)
    assert bool(outcome.commit) is bool(expected)
    if expected:
        assert names(root) == expected
        assert [blob(root, path) for path, data in wanted.items() if data] == [
            data.encode() for data in wanted.values() if data
        ]
        assert git(root, "status", "--porcelain", "--", *expected) == ""


def test_a_commit_that_is_gone(repo: Path):
    with pytest.raises(NoCommit):
        commits_in(repo).files("0" * 40, ["README.md"])


def test_what_is_staged_and_in_no_file_is_not_lost(repo: Path):
    oid = git(repo, "hash-object", "-w", "--stdin", stdin=b"# Only staged\n").strip()
    git(repo, "update-index", "--cacheinfo", f"100644,{oid},README.md")
    with pytest.raises(NoCommit, match=r"README\.md is staged otherwise"):
        commits_in(repo).place(["README.md"])
    assert commits_in(repo).place(["app/hello.py"]).parent
    (repo / "README.md").write_text("# Only staged\n")
    assert commits_in(repo).place(["README.md"]).parent
