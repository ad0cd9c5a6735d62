"""What somebody who can push, but has no listed key, tries so that `ringi verify RANGE` is green."""

import re
import shutil
from pathlib import Path

import pytest

from tests.functional.range_desk import AGENT, AT, SIGNERS, Office, line

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
LATER = AT.replace("03:04", "03:05")


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def signing(office: Office) -> tuple[str, ...]:
    """Settings of git with which a commit is signed by alice."""
    key = office.alice.path
    return "-c", "gpg.format=ssh", "-c", f"user.signingkey={key}", "-c", "commit.gpgsign=true"


def made(office: Office, data: str) -> str:
    """The id of a commit with exactly these bytes."""
    return office.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=data.encode())


# Which commit is compared with.


@pytest.mark.parametrize("name", ["main", "origin/main"])
def test_a_tag_does_not_stand_for_a_branch(office: Office, name: str) -> None:
    office.git("update-ref", "refs/remotes/origin/main", "main")
    office.git("checkout", "-q", "-b", "work")
    office.write("evil.txt", "evil\n")
    office.commit("Evil")
    office.git("tag", name)
    done = office.desk.run("verify", f"{name}..work", "--mode", "strict")
    assert done.returncode not in {0, 6}, done.stdout
    assert "✗ evil.txt" in office.refused("refs/heads/main..work")


def test_of_several_merge_bases_none_hides_a_change(office: Office) -> None:
    office.git("checkout", "-q", "-b", "side")
    office.write("side.txt", "side\n")
    office.git("add", "-A")
    office.git("commit", "-q", "-m", "Side", GIT_COMMITTER_DATE="@4000000000 +0000")
    side = office.id()
    office.git("checkout", "-q", "main")
    office.edit("numbers.txt", "\n10\n", "\nfixed\n")
    fix = office.commit("Fix")
    office.git("merge", "-q", "--no-ff", "-m", "Merge", "side")
    for one, other in ((side, fix), (fix, side)):
        evil = office.git("commit-tree", f"{side}^{{tree}}", "-p", one, "-p", other, "-m", "Evil")
        assert "✗ numbers.txt" in office.refused(f"main..{evil}")


# Whose keys count.


def test_a_key_that_was_removed_does_not_count_for_a_branch_from_before(office: Office) -> None:
    office.write(SIGNERS, line("bob", office.bob))
    office.commit("The key of alice was stolen")
    office.git("checkout", "-q", "-b", "work", "HEAD^")
    office.write("evil.txt", "evil\n")
    office.commit(f"Evil{AGENT}")
    office.approve("work^", "work")
    assert "✗ evil.txt" in office.refused("main..work")


# Signed commits.


def test_a_signed_commit_of_another_repository_proves_nothing(office: Office) -> None:
    office.git("checkout", "-q", "--orphan", "foreign")
    office.git("rm", "-rfq", ".")
    office.write("evil.txt", "evil\n")
    office.git("add", "-A")
    office.git(*signing(office), "commit", "-q", "-m", "Elsewhere")
    office.git("checkout", "-q", "-b", "work", "main")
    office.git("merge", "-q", "--allow-unrelated-histories", "-m", "Merge", "foreign")
    assert "✗ evil.txt" in office.refused("main..work")


def test_a_signed_commit_without_its_parents_proves_nothing(office: Office) -> None:
    """Git sees no parents behind a line that is not theirs."""
    office.write("evil.txt", "evil\n")
    office.commit("Evil")
    office.write("good.txt", "good\n")
    office.git("add", "-A")
    office.git(*signing(office), "commit", "-q", "-m", "Good")
    signed = office.git("cat-file", "commit", "HEAD") + "\n"
    office.git("rm", "-q", "evil.txt")
    office.commit("Better without it")
    for word in ("gpgsig-x", "gpgsig-sha256", "gpgsigtree"):
        odd = made(office, signed.replace("\nparent ", f"\n{word} x\nparent ", 1))
        tree = f"{odd}^{{tree}}"
        evil = office.git("commit-tree", tree, "-p", "main", "-p", odd, "-m", "Merge")
        assert "✗ evil.txt" in office.refused(f"main..{evil}")


def test_a_commit_that_claims_parents_approves_nothing(office: Office) -> None:
    """A state that only seems to come from another parent was there before the merge, if one believes it."""
    office.git("checkout", "-q", "-b", "work")
    office.edit("numbers.txt", "\n10\n", "\nevil\n")
    office.commit(f"Evil{AGENT}")
    plain = office.git("cat-file", "commit", "HEAD") + "\n"
    parent = re.search(r"\nparent \w+", plain)
    assert parent
    for odd in (
        re.sub(r"\n\n", f"{parent[0]}\n\n", plain, count=1),
        plain.replace("\nauthor", f"\ngpgsig-x x{parent[0]}\nauthor", 1),
    ):
        evil = made(office, odd)
        office.git("checkout", "-q", "-B", "merged", "main")
        office.git(*signing(office), "merge", "-q", "--no-ff", "-S", "-m", "Merge", evil)
        assert office.levels("main..merged")["numbers.txt"] == "none"


# Approvals that were used already.


def test_an_approval_that_the_base_has_already_is_not_replayed(office: Office) -> None:
    """Otherwise it would bring back what was taken out since."""
    office.edit("numbers.txt", "\n10\n", "\n10\nhole\n")
    office.commit("A hole")
    office.approve("main^", "main")
    office.edit("numbers.txt", "\nhole\n", "\n")
    office.edit("numbers.txt", "\n40\n", "\nforty\n")
    office.commit("Mended")
    office.approve("main^", "main", at=LATER)
    office.git("checkout", "-q", "-b", "work")
    office.edit("numbers.txt", "\n10\n", "\n10\nhole\n")
    office.commit("The hole again")
    assert "✗ numbers.txt" in office.refused("main..work")


def test_an_approval_in_a_squash_is_not_replayed(office: Office) -> None:
    office.git("checkout", "-q", "-b", "work")
    office.edit("numbers.txt", "\n10\n", "\n10\nhole\n")
    office.commit("A hole")
    office.approve("work^", "work")
    office.edit("numbers.txt", "\n30\n", "\nthirty\n")
    office.commit("More")
    office.approve("work^", "work", at=LATER)
    office.git("checkout", "-q", "main")
    office.git("merge", "-q", "--squash", "work")
    office.commit("Squashed")
    office.edit("numbers.txt", "\nhole\n", "\n")
    office.commit("Mended")
    office.git("checkout", "-q", "-b", "again")
    office.edit("numbers.txt", "\n10\n", "\n10\nhole\n")
    office.commit("The hole again")
    assert "✗ numbers.txt" in office.refused("main..again")


def test_an_approval_is_not_applied_twice(office: Office) -> None:
    office.write("list.txt", "a\nb\n")
    office.commit("A list")
    office.write("list.txt", "a\nb\nc\n")
    office.commit("More")
    office.approve("main^", "main")
    office.git("checkout", "-q", "-b", "work")
    for text in ("a\nb\nc\nc\n", "a\nb\nc\na\nb\nc\n"):
        office.write("list.txt", text)
        office.commit(f"Twice{AGENT}")
        assert "✗ list.txt" in office.refused("main..work")
        assert "✗ list.txt" in office.refused("main^..work")
