"""A scratch copy that is used again is exactly what a fresh one would be, whatever ran in it before."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ringi.config.keys import RunConfig
from ringi.errors import Interrupted
from ringi.kernel.places import Places, places_of
from ringi.kernel.process.capture import last
from ringi.tree.check_result import CheckPhase
from ringi.tree.commands import WorkspaceCommands
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_run import CopyChecks, CopyRun, Files, ScratchCopies, list_kept, remove_kept
from tests.helpers import environment_of, make_files
from tests.unit.tree.test_copy_checks import sandbox_trouble

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
PLAN: Files = {
    "README.md": (b"of the plan\n", 0o644),
    "new/deep/file.txt": (b"new\n", 0o755),
    "gone.txt": None,
}
NEXT: Files = {"app/main.py": (b"of the next plan\n", 0o644), "ignored/by.rule": (b"still laid\n", 0o600)}


@pytest.fixture
def places(repo: Path, tmp_path: Path) -> Places:
    make_files(
        repo,
        {
            ".gitignore": "ignored/\n*.pyc\n",
            "gone.txt": "to be deleted\n",
            "app/main.py": "print('main')\n",
            "app/deep/er/data.bin": "\0\1\2",
            "other/one.txt": "one\n",
            "other/two.txt": "two\n",
            "ignored/carried.txt": "carried\n",
            ".agent/config.yaml": "{}\n",
        },
    )
    (repo / "app" / "link").symlink_to("main.py")
    (repo / "app" / "main.py").chmod(0o755)
    return places_of(repo, environment_of(tmp_path))


@contextmanager
def kept(places: Places, files: Files | None = None) -> Iterator[CopyRun]:
    with ScratchCopies(places, ENVIRONMENT, files=files, keep_for=Supervisor.this_process()) as copies:
        yield copies.current()


def contents(copy: WorkCopy) -> dict[str, object]:
    """Everything a command can see, except times and what git remembers of them."""
    found: dict[str, object] = {}
    for place, folders, names in os.walk(copy.tree):
        for name in [*folders, *names, "."]:
            path = Path(place, name)
            seen = path.lstat()
            data: object = path.readlink() if path.is_symlink() else None
            if path.is_file() and not path.is_symlink():
                data = path.read_bytes().replace(copy.id.encode(), b"COPY")
            found[str(path.relative_to(copy.tree))] = (
                f"{seen.st_mode:o}",
                seen.st_nlink if not path.is_dir() else 0,
                os.listxattr(path, follow_symlinks=False),
                data,
            )
    del found[".git/index"]
    for words in ("ls-files -s", "status --porcelain --ignored", "log --oneline", "config --local --list"):
        said = subprocess.run(["git", *words.split()], cwd=copy.tree, capture_output=True, check=False)
        found[words] = said.stdout
    return found


def fresh(places: Places, files: Files | None = None) -> tuple[dict[str, object], str]:
    with ScratchCopies(places, ENVIRONMENT, files=files) as copies:
        return contents(copies.current().copy), copies.current().tree


MISCHIEF = {
    "nothing": "true",
    "leaves files": "mkdir -p build/x app/__pycache__ ignored;"
    " touch build/x/y app/__pycache__/m.pyc ignored/z top",
    "changes tracked files": "echo more >> README.md; echo other > app/main.py; rm other/one.txt",
    "keeps size and times": "cp -p other/one.txt /tmp/$$; printf 'eno\\n' > other/one.txt;"
    " touch -r /tmp/$$ other/one.txt; rm /tmp/$$",
    "changes modes": "chmod 600 README.md; chmod -x app/main.py;"
    " chmod 777 app; chmod 000 app/deep; chmod 700 .",
    "closes folders": "mkdir -p shut/in; touch shut/in/x; chmod 000 shut/in shut",
    "makes links": "ln -s /etc/passwd link; rm other/two.txt; ln -s one.txt other/two.txt; ln README.md hard;"
    " rm -rf app/deep; ln -s ../other app/deep; ln -sfn elsewhere app/link",
    "makes a folder of a file": "rm README.md; mkdir README.md; touch README.md/x",
    "makes a file of a folder": "rm -r other; echo file > other",
    "swaps folders": "mv app a; mv other app; mv a other",
    "swaps files": "mv other/one.txt x; mv other/two.txt other/one.txt; mv x other/two.txt",
    "deletes a folder": "rm -rf app",
    "deletes everything": "rm -rf .[!.]* *",
    "writes hooks and settings": "printf '#!/bin/sh\\ntouch ran' > .git/hooks.sh; mkdir -p .git/hooks;"
    " cp .git/hooks.sh .git/hooks/post-checkout; chmod +x .git/hooks/*;"
    " git config core.fsmonitor .git/hooks.sh;"
    " echo '* filter=evil' > .git/info/attributes; git config filter.evil.smudge 'tr a-z A-Z'",
    "commits": "git config user.name x; git config user.email x@x;"
    " git add -A; git commit -qm x; git branch other",
    "hides from git": "git update-index --skip-worktree README.md; echo hidden > README.md",
    "breaks git": "rm -rf .git; echo gitdir: /elsewhere > .git",
    "makes repositories": "git init -q nested; touch nested/x; rm -rf app/deep; git init -q app/deep;"
    " git init -q other",
    "changes rules": "echo '*.txt' >> .gitignore; echo '/app' > .git/info/exclude; echo x > app/.gitignore",
    "makes strange files": "mkfifo pipe other/pipe; rm README.md; mkfifo README.md; mkdir empty",
    "names": "touch 'a b' \"$(printf 'new\\nline')\" -- -dash .hidden",
    "writes to its own": "echo changed > .agent/config.yaml; mkdir -p .agent/more; touch .agent/more/x",
    "attributes": "setfattr -n user.x -v y README.md app 2>/dev/null || true",
}


@pytest.mark.req("PT-16")
@pytest.mark.parametrize("mischief", MISCHIEF.values(), ids=MISCHIEF.keys())
def test_a_copy_used_again_is_like_a_fresh_one(places: Places, mischief: str) -> None:
    with kept(places, PLAN) as first:
        first.run(mischief, timeout_sec=60, output=last(10_000))
    with kept(places, NEXT) as again:
        assert again.copy.folder == first.copy.folder
        assert (contents(again.copy), again.tree) == fresh(places, NEXT)


PATHS = st.sampled_from(
    [
        "README.md",
        "app/main.py",
        "app/deep/er/data.bin",
        "other/one.txt",
        "other/two.txt",
        "app",
        "other",
        "x",
        "app/y",
    ]
)
ACTS = st.sampled_from(
    [
        "echo z > {a}", "printf z >> {a}", "rm -rf {a}", "mkdir -p {a}", "mv {a} {b}", "cp -a {a} {b}",
        "ln {a} {b}",
        "ln -s {b} {a}", "chmod 640 {a}", "chmod u-rwx {a}", "touch -d @1 {a}", "git init -q {a}",
        "git add {a}",
        "git rm -qrf --cached {a}", "truncate -s 0 {a}",
    ]
)  # fmt: skip


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    acts=st.lists(st.tuples(ACTS, PATHS, PATHS), min_size=1, max_size=6),
    plan=st.sampled_from([PLAN, NEXT, {}]),
)
def test_whatever_was_done_in_it(places: Places, acts: list[tuple[str, str, str]], plan: Files) -> None:
    mischief = "; ".join(act.format(a=a, b=b) for act, a, b in acts)
    with kept(places, PLAN) as first:
        first.run(mischief, timeout_sec=60, output=last(10_000))
    with kept(places, plan) as again:
        assert (contents(again.copy), again.tree) == fresh(places, plan)
    remove_kept(places.copies)


def test_the_workspace_moves_on_meanwhile(places: Places) -> None:
    with kept(places, PLAN) as first:
        first.run("touch left", timeout_sec=60, output=last(100))
    make_files(
        places.root, {"other/one.txt": "1\n", "other/new.txt": "new\n", ".gitignore": "other/two.txt\n"}
    )
    (places.root / "app" / "main.py").chmod(0o644)
    (places.root / "gone.txt").unlink()
    for words in ("branch topic", "add -A", "commit -qm more", "checkout -q topic"):
        subprocess.run(["git", *words.split()], cwd=places.root, check=True, capture_output=True)
    with kept(places, NEXT) as again:
        assert again.copy.folder == first.copy.folder
        assert (contents(again.copy), again.tree) == fresh(places, NEXT)


def test_carried_folders_come_anew(places: Places) -> None:
    me = Supervisor.this_process()
    for told in ("carried\n", "carried later\n"):
        make_files(places.root, {"ignored/carried.txt": told})
        with ScratchCopies(places, ENVIRONMENT, carry=["ignored"], keep_for=me) as copies:
            copy_run = copies.current()
            assert (copy_run.copy.tree / "ignored" / "carried.txt").read_text() == told
            assert not (copy_run.copy.tree / "ignored" / "left").exists()
            copy_run.run("touch ignored/left", timeout_sec=60, output=last(100))
    assert len(list_kept(places.copies, me)) == 1


def test_a_copy_that_somebody_may_still_write_to_is_not_used_again(places: Places) -> None:
    with kept(places) as first:
        first.settled = False
    assert not first.copy.folder.exists()
    with kept(places) as second:
        # As after `kill -9`: nobody noted that the commands had ended.
        assert not (second.copy.folder / "imprint").exists()
        with kept(places) as third:
            assert third.copy.folder != second.copy.folder


def test_a_stopped_check_leaves_a_copy_that_can_be_used_again(places: Places) -> None:
    with pytest.raises(Interrupted), kept(places, PLAN) as first:
        first.run(
            f"echo half > README.md; kill -INT {os.getpid()}; sleep 60", timeout_sec=60, output=last(100)
        )
    with kept(places, NEXT) as again:
        assert again.copy.folder == first.copy.folder
        assert (contents(again.copy), again.tree) == fresh(places, NEXT)


def test_a_damaged_record_or_index_makes_a_fresh_one(places: Places) -> None:
    for name in ("imprint", "base.git/index"):
        with kept(places) as first:
            first.run("echo x > README.md", timeout_sec=60, output=last(100))
        (first.copy.folder / name).write_bytes(b"damaged")
        with kept(places, NEXT) as again:
            assert (contents(again.copy), again.tree) == fresh(places, NEXT)


def test_it_goes_with_the_one_it_was_kept_for(places: Places) -> None:
    with kept(places):
        pass
    other = Supervisor(1, "another process")
    with ScratchCopies(places, ENVIRONMENT, keep_for=other) as copies:
        theirs = copies.current().copy
    theirs.note(supervisor=other)
    remove_kept(places.copies)
    assert [copy.id for copy in WorkCopy.all(places.copies)] == [theirs.id]
    with ScratchCopies(places, ENVIRONMENT) as copies:
        copies.current()  # whoever makes a copy removes those of processes that are gone
    assert WorkCopy.all(places.copies) == []


@pytest.mark.req("PT-16")
def test_checks_in_the_sandbox_use_one_copy(places: Places) -> None:
    if (why := sandbox_trouble()) is not None:
        pytest.skip(why)

    def commands_in(root: Path) -> WorkspaceCommands:
        return WorkspaceCommands(root, ENVIRONMENT, RunConfig(output_bytes=10_000), (places.states,))

    check = CopyChecks(places, ENVIRONMENT, 60, commands_in=commands_in)
    look = "find . -path ./.git -prune -o -type f -print | sort | xargs sha1sum; git status --porcelain"
    spoil = "echo spoilt > README.md; rm -rf app .git; touch left"
    for plan in (PLAN, NEXT, PLAN):
        expected = check([look], plan, CheckPhase.DRY)[0]
        seen = check([look, spoil], plan, CheckPhase.DRY, os.getpid())[0]
        assert (seen.output, seen.tree) == (expected.output, expected.tree)
        assert len(list_kept(places.copies, Supervisor.this_process())) == 1
    # Not for commands outside the sandbox: they could write to what we know about the copy.
    check(["true"], {}, CheckPhase.AFTER, os.getpid())
    remove_kept(places.copies)
    assert WorkCopy.all(places.copies) == []
