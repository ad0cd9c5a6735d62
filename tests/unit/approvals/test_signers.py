"""A list counts only if nobody else could have written it."""

import os
import stat
import threading
from pathlib import Path

import pytest

from ringi.app.init import users_signers
from ringi.approvals.signers import as_list, read_offered_lists
from ringi.approvals.signing import SignerList
from ringi.config.load import executable
from ringi.config.pins import Trust
from ringi.errors import InTheWay, StorageFailed
from ringi.kernel.places import project_file, signers_file
from tests.helpers import NOBODY, in_child, reachable_folder

MINE = b"hanako ssh-ed25519 AAAA\n"
THEIRS = b"taro ssh-ed25519 BBBB\n"


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root / "ws"
        (self.root / ".agent").mkdir(parents=True)
        self.environment = {"HOME": str(root / "home")}
        self.file = root / "home" / ".config" / "ringi" / "allowed_signers"

    def write(self, data: bytes = MINE, mode: int = 0o600) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_bytes(data)
        self.file.chmod(mode)

    def lists(self) -> list[SignerList]:
        return [as_list(file, self.root) for file in read_offered_lists(self.root, self.environment)]

    def pin(self) -> None:
        parts = executable(self.root)
        Trust(self.root, self.environment).pin(parts, at="2026-01-02T03:04:05Z", by="hanako", channel="tty")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_no_lists(place: Place):
    assert place.lists() == []
    assert read_offered_lists(place.root, {}) == ()


@pytest.mark.req("PT-8")
def test_the_users_list_is_read_each_time(place: Place):
    place.write()
    assert place.lists() == [SignerList(str(place.file), MINE)]
    place.write(THEIRS)
    assert place.lists() == [SignerList(str(place.file), THEIRS)]
    place.file.unlink()
    assert place.lists() == []


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_list_that_others_may_write_is_ignored(place: Place, mode: int):
    place.write(mode=mode)
    assert place.lists() == []


@pytest.mark.req("PT-8")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_list_of_somebody_else_is_ignored(place: Place):
    place.write()
    os.chown(place.file, NOBODY, NOBODY)
    assert place.lists() == []
    with pytest.raises(InTheWay, match="another user could have written it"):
        users_signers(place.environment).add("hanako ssh-ed25519 CCCC")


@pytest.mark.req("PT-8")
def test_a_list_inside_the_workspace_is_ignored(place: Place):
    inside = {"XDG_CONFIG_HOME": str(place.root / "config")}
    (place.root / "config" / "ringi").mkdir(parents=True)
    (place.root / "config" / "ringi" / "allowed_signers").write_bytes(MINE)
    assert read_offered_lists(place.root, inside) == ()
    place.file.parent.mkdir(parents=True)
    place.file.symlink_to(place.root / "config" / "ringi" / "allowed_signers")
    assert place.lists() == []


def test_a_link_of_the_users_own_is_followed(place: Place, tmp_path: Path):
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "signers").write_bytes(MINE)
    (tmp_path / "dotfiles" / "signers").chmod(0o600)
    place.file.parent.mkdir(parents=True)
    place.file.symlink_to(tmp_path / "dotfiles" / "signers")
    assert place.lists() == [SignerList(str(place.file), MINE)]
    users_signers(place.environment).add("taro ssh-ed25519 BBBB")
    assert place.file.is_symlink()
    assert place.lists()[0].data == MINE + b"taro ssh-ed25519 BBBB\n"


@pytest.mark.parametrize("kind", ["folder", "fifo", "huge"])
def test_what_is_no_list_is_ignored(place: Place, kind: str):
    place.file.parent.mkdir(parents=True)
    if kind == "folder":
        place.file.mkdir()
    elif kind == "fifo":
        os.mkfifo(place.file)
    else:
        place.write(MINE * 100_000)
    assert place.lists() == []


@pytest.mark.req("PT-8")
def test_the_projects_list_counts_once_it_is_trusted(place: Place):
    file = signers_file(place.root)
    file.write_bytes(THEIRS)
    assert place.lists() == []
    place.pin()
    assert place.lists() == [SignerList(str(file), THEIRS)]
    place.write()
    assert place.lists() == [SignerList(str(place.file), MINE), SignerList(str(file), THEIRS)]
    file.write_bytes(THEIRS + MINE)
    assert [found.data for found in place.lists()] == [MINE]
    file.write_bytes(THEIRS)
    assert [found.data for found in place.lists()] == [MINE, THEIRS]
    Trust(place.root, place.environment).revoke(at="2026-01-02T03:04:05Z", by="hanako")
    assert [found.data for found in place.lists()] == [MINE]


def test_a_change_of_other_trusted_parts_asks_again(place: Place):
    signers_file(place.root).write_bytes(THEIRS)
    place.pin()
    project_file(place.root).write_text("with: {checks: [make evil]}\n")
    assert place.lists() == []


def test_a_trusted_project_without_a_list(place: Place):
    project_file(place.root).write_text("with: {checks: [make test]}\n")
    place.pin()
    assert place.lists() == []


@pytest.mark.parametrize("broken", ["link", "configuration"])
def test_a_broken_project_does_not_take_the_users_list_away(place: Place, broken: str, tmp_path: Path):
    place.write()
    signers_file(place.root).write_bytes(THEIRS)
    place.pin()
    if broken == "link":
        signers_file(place.root).rename(tmp_path / "elsewhere")
        signers_file(place.root).symlink_to(tmp_path / "elsewhere")
    else:
        project_file(place.root).write_text("}{")
    assert [found.data for found in place.lists()] == [MINE]


# Adding


def test_a_line_is_added_once(place: Place):
    line = "hanako ssh-ed25519 AAAA"
    assert users_signers(place.environment).add(line)
    assert not users_signers(place.environment).add(line)
    assert place.file.read_bytes() == MINE
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.file.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in place.file.parent.iterdir()) == [
        "allowed_signers",
        "allowed_signers.lock",
    ]


def test_what_was_there_stays(place: Place):
    place.write(b"# mine\r\ntaro ssh-ed25519 BBBB \xff")
    users_signers(place.environment).add("hanako ssh-ed25519 AAAA")
    assert place.file.read_bytes() == b"# mine\r\ntaro ssh-ed25519 BBBB \xff\n" + MINE


def test_a_list_that_others_wrote_is_not_made_ours(place: Place):
    place.write(mode=0o666)
    with pytest.raises(InTheWay, match="another user could have written it"):
        users_signers(place.environment).add("hanako ssh-ed25519 CCCC")
    assert place.file.read_bytes() == MINE


def test_no_home_to_keep_it_in():
    with pytest.raises(InTheWay, match="no home folder"):
        users_signers({}).add("hanako ssh-ed25519 AAAA")


def test_several_at_once_lose_nothing(place: Place):
    lines = [f"hanako ssh-ed25519 {number:04}" for number in range(8)]
    threads = [threading.Thread(target=users_signers(place.environment).add, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(place.file.read_text().splitlines()) == lines


def test_a_folder_that_cannot_be_written():
    def work() -> None:
        with pytest.raises(StorageFailed):
            users_signers({"HOME": str(folder / "home")}).add("hanako ssh-ed25519 AAAA")

    with reachable_folder() as folder:
        (folder / "home").mkdir(mode=0o755)
        (folder / "home").chmod(0o555)
        assert in_child(work, uid=NOBODY) == 0
        assert list((folder / "home").iterdir()) == []
