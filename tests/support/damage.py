"""What a loss of power does to a repository: refs and loose objects that are empty, or full of zeros."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from ringi.approvals.statement import NOTES


def git(root: Path, *words: str, stdin: bytes | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=root, input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return os.fsdecode(done.stdout).strip()


def loosen(root: Path) -> None:
    """Every object in a file of its own, as git writes them if nobody asks for more."""
    packs = root / ".git" / "objects" / "pack"
    aside = packs.with_name("packed-before")
    shutil.move(packs, aside)
    packs.mkdir()
    for pack in aside.glob("*.pack"):
        git(root, "unpack-objects", "-q", stdin=pack.read_bytes())
    shutil.rmtree(aside)


def object_file(root: Path, name: str) -> Path:
    oid = git(root, "rev-parse", name)
    return root / ".git" / "objects" / oid[:2] / oid[2:]


def overwrite(path: Path, data: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(data)


def empty_ref(root: Path, ref: str) -> None:
    overwrite(root / ".git" / ref, b"")


def zeroed_ref(root: Path, ref: str) -> None:
    overwrite(root / ".git" / ref, b"\0" * 41)


def lost_commit(root: Path, ref: str) -> None:
    loosen(root)
    object_file(root, ref).unlink()


def empty_commit(root: Path, ref: str) -> None:
    loosen(root)
    overwrite(object_file(root, ref), b"")


def zeroed_commit(root: Path, ref: str) -> None:
    loosen(root)
    overwrite(object_file(root, ref), b"\0" * 150)


def empty_tree(root: Path, ref: str) -> None:
    loosen(root)
    overwrite(object_file(root, f"{ref}^{{tree}}"), b"")


def empty_everything(root: Path, ref: str) -> None:
    """All that the newest commit brought."""
    loosen(root)
    excluded = [f"^{ref}^"] if git(root, "rev-list", "--count", ref) != "1" else []
    named = git(root, "rev-list", "--objects", ref, *excluded).splitlines()
    for path in [object_file(root, line.split(" ")[0]) for line in named]:
        overwrite(path, b"")
    empty_ref(root, ref)


def empty_log(root: Path, ref: str) -> None:
    overwrite(root / ".git" / "logs" / ref, b"")
    empty_ref(root, ref)


def linked_ref(root: Path, ref: str) -> None:
    path = root / ".git" / ref
    path.unlink()
    path.symlink_to("/etc/hostname")


def endless_ref(root: Path, ref: str) -> None:
    with (root / ".git" / ref).open("wb") as file:
        file.truncate(1 << 40)


def piped_ref(root: Path, ref: str) -> None:
    path = root / ".git" / ref
    path.unlink()
    os.mkfifo(path)


def ref_to_a_file(root: Path, ref: str) -> None:
    overwrite(root / ".git" / ref, git(root, "hash-object", "-w", "--stdin", stdin=b"x").encode() + b"\n")


def packed_ref(root: Path, ref: str) -> None:
    git(root, "pack-refs", "--all")
    lost_commit(root, ref)


def locked_ref(root: Path, ref: str) -> None:
    """By a git that the cut has ended."""
    lock = root / ".git" / f"{ref}.lock"
    lock.write_bytes(b"")
    os.utime(lock, (0, 0))


Damage = Callable[[Path, str], None]
CUT: tuple[Damage, ...] = (
    empty_ref, zeroed_ref, lost_commit, empty_commit, zeroed_commit, empty_tree, empty_everything, empty_log,
    packed_ref, locked_ref,
)  # fmt: skip
HOSTILE: tuple[Damage, ...] = (linked_ref, endless_ref, piped_ref, ref_to_a_file)


def notes_of(root: Path) -> dict[str, str]:
    """By the blob that they hang on."""
    listed = git(root, "notes", "--ref", NOTES, "list").splitlines()
    return {line.split(" ")[1]: git(root, "cat-file", "blob", line.split(" ")[0]) for line in listed}


def is_sound(root: Path) -> bool:
    """Whether git finds nothing to complain of."""
    asked = (["fsck", "--no-dangling"], ["log", "--all", "--oneline"])
    return all(
        subprocess.run(["git", *words], cwd=root, capture_output=True, check=False).returncode == 0
        for words in asked
    )
