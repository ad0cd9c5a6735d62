"""Copies read while a process in them changes what is at a path."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest

from ringi.kernel.process import sandbox
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.tree.copy import WorkCopy
from tests.unit.tree.repositories import repository

SECRET = b"the key of the person\n"
# Swaps the folder zzz for a link as soon as a file in aaa is opened.
SWAP = """
    import ctypes, os, struct, sys
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init1(0)
    libc.inotify_add_watch(watch, b"aaa", 0x20)
    print("ready", flush=True)
    while True:
        data, names = os.read(watch, 65536), []
        while data:
            size = struct.unpack_from("iIII", data)[3]
            names.append(data[16 : 16 + size].rstrip(b"\\0"))
            data = data[16 + size :]
        if any(name.endswith(b".txt") for name in names):
            libc.renameat2(-100, b"zzz", -100, b".git/link", 2)
            break
"""

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not isinstance(sandbox.usable(SYSTEM_PATH), str), reason="there is no sandbox"
)


@pytest.mark.req("RN-8")
def test_a_folder_swapped_while_git_reads(tmp_path):
    outside = tmp_path / "keys"
    outside.mkdir()
    (outside / "key").write_bytes(SECRET)
    copy = WorkCopy.make(repository(tmp_path / "r", {"a": "1"}), tmp_path / "state", tmp_path / "cache")
    for folder in ("aaa", "zzz"):
        (copy.tree / folder).mkdir()
    for number in range(40):
        (copy.tree / "aaa" / f"{number:03}.txt").write_bytes(b"x" * 200_000 * (number % 5))
    (copy.tree / "zzz" / "key").write_text("decoy\n")
    (copy.tree / ".git" / "link").symlink_to(outside)
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SWAP)], cwd=copy.tree, stdout=subprocess.PIPE
    ) as swapping:
        assert swapping.stdout
        assert swapping.stdout.readline() == b"ready\n"
        try:
            difference = copy.difference()
        finally:
            swapping.kill()
    assert (copy.tree / "zzz").is_symlink()
    assert SECRET not in [change.after for change in difference.changes]
    assert "aaa/000.txt" in [change.path for change in difference.changes]


@pytest.mark.req("RN-8")
def test_git_reads_a_copy_where_nothing_of_the_person_is(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    copy = WorkCopy.make(repository(tmp_path / "r", {"a": "1"}), tmp_path / "state", tmp_path / "cache")
    reader = copy.shadow.reader()
    for path in (
        secret,
        tmp_path / "r" / "a",
        copy.folder / "copy.json",
        "/etc/passwd",
        "/proc/self/environ",
    ):
        assert reader.attempt("hash-object", "--no-filters", "--", str(path)).code
    assert reader.attempt("hash-object", "--no-filters", "--", "a").code == 0


@pytest.mark.req("RN-8")
def test_a_git_outside_the_system_reads_where_keys_are_hidden(tmp_path, monkeypatch):
    """Its libraries may be anywhere, so it sees what an agent sees."""
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "key").write_bytes(SECRET)
    (home / "bin").mkdir()
    (home / "bin" / "git").write_text(f'#!/bin/sh\n. {home}/bin/words\nexec {shutil.which("git")} "$@"\n')
    (home / "bin" / "words").write_text("")
    (home / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("HOME", str(home))
    root = repository(tmp_path / "r", {"a": "1"})
    monkeypatch.setenv("PATH", f"{home}/bin{os.pathsep}{os.environ['PATH']}")
    copy = WorkCopy.make(root, tmp_path / "state", tmp_path / "cache")
    (copy.tree / "a").write_text("2")
    assert [change.after for change in copy.difference().changes] == [b"2"]
    assert copy.shadow.reader().attempt("hash-object", str(home / ".ssh" / "key")).code
