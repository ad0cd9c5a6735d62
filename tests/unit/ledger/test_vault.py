"""Encrypted files of the cache: whatever happens to them is a miss, and never an error."""

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ringi.ledger.vault import FOLDER, KEY, SealedFiles
from tests.helpers import assert_not_loaded, modules_after

pytestmark = pytest.mark.req("PP-12")
ONE, OTHER = f"answer-{'1' * 64}", f"answer-{'2' * 64}"
WORDS = b'{"value": "an answer that nobody else should read"}'


@pytest.fixture
def vault(tmp_path: Path) -> SealedFiles:
    return SealedFiles(tmp_path)


def file(state: Path, name: str = ONE) -> Path:
    return state / FOLDER / name


def test_what_is_put_is_there_until_it_is_dropped(vault: SealedFiles, tmp_path: Path):
    assert vault.get(ONE) is None
    vault.put(ONE, WORDS)
    assert SealedFiles(tmp_path).get(ONE) == WORDS
    vault.put(ONE, b"newer")
    assert vault.get(ONE) == b"newer"
    vault.drop(ONE)
    assert vault.get(ONE) is None


def test_only_its_owner_can_read_it_and_it_is_encrypted(vault: SealedFiles, tmp_path: Path):
    before = os.umask(0)
    try:
        vault.put(ONE, WORDS)
    finally:
        os.umask(before)
    for path, mode in ((file(tmp_path), 0o600), (tmp_path / KEY, 0o600), (tmp_path / FOLDER, 0o700)):
        assert stat.S_IMODE(path.lstat().st_mode) == mode, path
    assert b"answer" not in file(tmp_path).read_bytes()
    vault.put(OTHER, WORDS)
    assert file(tmp_path).read_bytes() != file(tmp_path, OTHER).read_bytes()


def flipped(at: int) -> Callable[[Path], None]:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)

    return flip


def link_to_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def huge(path: Path) -> None:
    with path.open("r+b") as opened:
        opened.truncate(1 << 40)


HOSTILE: dict[str, Callable[[Path], None]] = {
    "form": flipped(0),
    "nonce": flipped(10),
    "text": flipped(30),
    "tag": flipped(-1),
    "empty": lambda path: path.write_bytes(b""),
    "short": lambda path: os.truncate(path, 15),
    "cut": lambda path: os.truncate(path, path.stat().st_size - 1),
    "long": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "huge": huge,
    "text in the clear": lambda path: path.write_bytes(WORDS),
    "link": link_to_device,
    "pipe": pipe,
    "folder": folder,
}


@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_a_spoilt_file_is_a_miss(vault: SealedFiles, tmp_path: Path, spoil: Callable[[Path], None]):
    vault.put(ONE, WORDS)
    spoil(file(tmp_path))
    assert SealedFiles(tmp_path).get(ONE) is None
    if not file(tmp_path).is_dir():
        vault.put(ONE, b"anew")
        assert vault.get(ONE) == b"anew"


@pytest.mark.parametrize("spoil", HOSTILE.values(), ids=HOSTILE)
def test_a_spoilt_key_is_a_miss(vault: SealedFiles, tmp_path: Path, spoil: Callable[[Path], None]):
    vault.put(ONE, WORDS)
    if spoil in {HOSTILE["form"], HOSTILE["nonce"], HOSTILE["text"], HOSTILE["tag"]}:
        spoil(tmp_path / KEY)  # another key of the right length
    else:
        spoil(tmp_path / KEY)
    assert SealedFiles(tmp_path).get(ONE) is None
    SealedFiles(tmp_path).put(OTHER, b"anew")  # with a new key, if that can be written


def test_a_file_is_not_valid_under_another_name(vault: SealedFiles, tmp_path: Path):
    vault.put(ONE, WORDS)
    file(tmp_path).rename(file(tmp_path, OTHER))
    assert vault.get(OTHER) is None
    assert not file(tmp_path, OTHER).exists(), "nobody can ever read it"


def test_a_file_of_another_workspace_is_not_valid(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    for state in (here, there):
        state.mkdir()
        SealedFiles(state).put(ONE, WORDS)
    file(here).replace(file(there))
    assert SealedFiles(there).get(ONE) is None


def test_a_key_that_others_could_read_is_given_up(vault: SealedFiles, tmp_path: Path):
    vault.put(ONE, WORDS)
    key = (tmp_path / KEY).read_bytes()
    (tmp_path / KEY).chmod(0o644)
    again = SealedFiles(tmp_path)
    assert again.get(ONE) is None
    again.put(ONE, WORDS)
    assert (tmp_path / KEY).read_bytes() != key
    assert SealedFiles(tmp_path).get(ONE) == WORDS


@pytest.mark.parametrize(
    "name", ["", "..", "../ringi.db", "answer-1", f"answer-{'1' * 64}/x", "a\0b", f"x{ONE}é"]
)
def test_no_other_name_is_one(vault: SealedFiles, tmp_path: Path, name: str):
    vault.put(name, WORDS)
    assert vault.get(name) is None
    assert not [*vault.files()]


def test_the_oldest_go_first(tmp_path: Path):
    vault = SealedFiles(tmp_path, most_files=3)
    names = [f"answer-{number:064x}" for number in range(5)]
    for age, name in enumerate(names):
        vault.put(name, WORDS)
        os.utime(file(tmp_path, name), (1_000_000 + age, 1_000_000 + age))
    assert [name for name in names if vault.get(name)] == names[-3:]
    small = SealedFiles(tmp_path, most_bytes=2 * file(tmp_path, names[-1]).stat().st_size)
    small.put(names[0], WORDS)
    assert [name for name in names if vault.get(name)] == [names[0], names[-1]]


def test_what_is_old_is_swept(vault: SealedFiles, tmp_path: Path):
    for name in (ONE, OTHER):
        vault.put(name, WORDS)
    os.utime(file(tmp_path), (1_000_000, 1_000_000))
    assert vault.sweep(3600) == 1
    assert vault.get(ONE) is None
    assert vault.get(OTHER) == WORDS
    assert vault.clear() == 1
    assert not (tmp_path / KEY).exists()
    vault.put(ONE, WORDS)
    assert vault.get(ONE) == WORDS


def test_too_much_is_not_kept(vault: SealedFiles):
    vault.put(ONE, b"x" * (2 << 20))
    assert vault.get(ONE) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path):
    (tmp_path / FOLDER).symlink_to("/dev/full")
    SealedFiles(tmp_path).put(ONE, WORDS)
    assert SealedFiles(tmp_path).get(ONE) is None
    missing = SealedFiles(tmp_path / "not" / "there")
    assert missing.get(ONE) is None
    assert missing.sweep(0) == missing.clear() == 0


def test_two_at_once_make_one_key(tmp_path: Path):
    def put(number: int) -> None:
        SealedFiles(tmp_path).put(f"answer-{number:064x}", WORDS)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [SealedFiles(tmp_path).get(f"answer-{number:064x}") for number in range(8)] == [WORDS] * 8
    assert [path.name for path in tmp_path.iterdir() if KEY in path.name] == [KEY]


def test_two_writers_of_one_entry_leave_one_of_theirs(vault: SealedFiles):
    def put(words: bytes) -> None:
        for _ in range(20):
            vault.put(ONE, words)

    vault.put(ONE, b"first")
    threads = [threading.Thread(target=put, args=(words,)) for words in (b"a" * 5000, b"b" * 9000)]
    for thread in threads:
        thread.start()
    seen = {vault.get(ONE) for _ in range(50)}
    for thread in threads:
        thread.join()
    assert seen | {vault.get(ONE)} <= {b"first", b"a" * 5000, b"b" * 9000}


def test_starting_does_not_load_the_library():
    loaded = modules_after("import ringi.ledger.vault, ringi.app.caching")
    assert_not_loaded(loaded, "cryptography")
