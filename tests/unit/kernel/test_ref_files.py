"""What a look at the files of a repository tells of a ref, compared with what git says."""

from pathlib import Path

import pytest

from ringi.kernel.process.ref_files import glance, list_packed_refs, unreadable
from ringi.kernel.process.repository import Repository
from tests.support.damage import git

REF = "refs/heads/work"


@pytest.fixture(params=["sha1", "sha256"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = tmp_path / "p"
    git(tmp_path, "init", "-q", "-b", "main", f"--object-format={request.param}", str(root))
    for number in range(30):
        (root / "a").write_text(f"{number}\n")
        git(root, "add", "a")
        git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", str(number))
    git(root, "branch", "work")
    return root


def seen(root: Path) -> bool:
    repository = Repository.at(root)
    assert repository
    return glance(repository, REF) is not None


def packed(root: Path) -> list[Path]:
    return sorted((root / ".git" / "objects" / "pack").glob("*.pack"))


def test_what_git_finds_in_a_pack_is_found(root: Path) -> None:
    assert not seen(root)
    git(root, "gc", "-q")
    assert not seen(root)
    repository = Repository.at(root)
    assert repository
    assert list_packed_refs(repository, "refs/heads") == ["refs/heads/main", REF]
    for oid in git(root, "rev-list", "main").split():
        git(root, "update-ref", REF, oid)
        assert not seen(root)
    other = "0123456789" * (4 if len(oid) == 40 else 7)
    (root / ".git" / REF).write_text(f"{other[: len(oid)]}\n")
    assert seen(root)


def test_an_index_of_the_first_form_is_read(root: Path) -> None:
    git(root, "gc", "-q")
    [pack] = packed(root)
    index = pack.with_suffix(".idx")
    index.unlink()
    git(root, "index-pack", "--index-version=1", "-o", str(index), str(pack))
    assert not seen(root)
    index.chmod(0o644)
    index.write_bytes(index.read_bytes()[:1000])
    assert seen(root)


def test_a_pack_without_bytes_has_nothing(root: Path) -> None:
    git(root, "gc", "-q")
    [pack] = packed(root)
    pack.chmod(0o644)
    pack.write_bytes(b"")
    assert seen(root)


def test_what_another_repository_lends_is_found(root: Path) -> None:
    git(root.parent, "clone", "-q", "--shared", "-b", "work", str(root), "shared")
    assert not seen(root.parent / "shared")
    git(root, "gc", "-q")
    assert not seen(root.parent / "shared")


def test_a_ref_that_git_is_just_making_is_not_lost(root: Path) -> None:
    repository = Repository.at(root)
    assert repository
    lock = root / ".git" / f"{REF}.lock"
    (root / ".git" / REF).rename(lock)
    assert unreadable(repository, REF) is None
    lock.unlink()
    assert unreadable(repository, REF) is not None
    git(root, "update-ref", REF, "main")
    assert unreadable(repository, REF) is None
    git(root, "branch", "-D", "work")
    assert unreadable(repository, REF) is None
