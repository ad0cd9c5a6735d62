"""`ringi init` makes what is missing, keeps what is there, and follows no link."""

from pathlib import Path

import pytest

from ringi.app.init import initialise
from ringi.config.load import load
from ringi.errors import StorageFailed


def test_made_once_and_kept(tmp_path: Path):
    made = initialise(tmp_path)
    assert [path.name for path in made] == [".gitignore", "config.yaml"]
    (tmp_path / ".agent" / "config.yaml").write_text("# mine\n")
    assert initialise(tmp_path) == []
    assert (tmp_path / ".agent" / "config.yaml").read_text() == "# mine\n"


def test_the_configuration_it_writes_is_valid_also_uncommented(tmp_path: Path):
    initialise(tmp_path)
    assert load(tmp_path, {"HOME": str(tmp_path)}).notes == ()
    path = tmp_path / ".agent" / "config.yaml"
    lines = [line.removeprefix("# ") for line in path.read_text().splitlines() if line.startswith("# ")]
    path.write_text("\n".join(lines[3:]) + "\n")
    assert load(tmp_path, {"HOME": str(tmp_path)}).risk.critical == ("deploy/**",)


@pytest.mark.parametrize("name", [".agent", ".agent/config.yaml", ".agent/.gitignore"])
def test_links_are_not_followed(tmp_path: Path, name: str):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / name).parent.mkdir(parents=True)
    (root / name).symlink_to(outside)
    if name == ".agent":
        with pytest.raises(StorageFailed):
            initialise(root)
    else:
        initialise(root)
    assert not outside.exists()


def test_a_file_in_its_place_is_told(tmp_path: Path):
    (tmp_path / ".agent").write_text("in the way")
    with pytest.raises(StorageFailed):
        initialise(tmp_path)
    assert (tmp_path / ".agent").read_text() == "in the way"
