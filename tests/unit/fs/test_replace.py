import stat
from pathlib import Path

import pytest

from ringi.fs import replace_file


@pytest.mark.parametrize("synced", [True, False])
def test_the_file_is_made_or_replaced(tmp_path: Path, synced: bool) -> None:
    path = tmp_path / "record.json"
    for data in (b"", b"first", b"second"):
        replace_file(path, data, synced=synced)
        assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to("elsewhere")
    replace_file(tmp_path / "link", b"ours", mode=0o644)
    assert (tmp_path / "elsewhere").read_bytes() == b"theirs"
    assert not (tmp_path / "link").is_symlink()


def test_what_cannot_be_put_there_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_file(tmp_path / "folder", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "nowhere" / "file", b"data")
