"""What no sandbox shows."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from ringi.kernel.process.hidden import find_hidden


@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees what others keep to themselves")
def test_a_socket_that_only_root_could_reach_needs_no_hiding() -> None:
    """In a sandbox nobody reaches it, and bubblewrap, which has no such rights either, would not start."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        found = {}
        for name, owner in {"ours": 0, "theirs": 65534}.items():
            folder = Path(place, name)
            folder.mkdir(mode=0o700)
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(str(folder / "s"))
                listening.listen()
                os.chown(folder, owner, owner)
                found[name] = folder / "s" in find_hidden({}).files
        assert found == {"ours": True, "theirs": False}


def test_logins_that_programs_keep_in_files(tmp_path: Path) -> None:
    usual = [".netrc", ".git-credentials", ".config/gh/hosts.yml", ".config/glab-cli/config.yml"]
    named = {"NETRC": "n", "GH_CONFIG_DIR": "gh", "GLAB_CONFIG_DIR": "glab"}
    for name in [*usual, "n", "gh/hosts.yml", "glab/config.yml"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("token\n")
    assert {*find_hidden({"HOME": str(tmp_path)}).files} >= {tmp_path / name for name in usual}
    variables = {name: str(tmp_path / value) for name, value in named.items()}
    found = find_hidden({"HOME": str(tmp_path), **variables}).files
    assert {*found} >= {tmp_path / name for name in (".netrc", "n", "gh/hosts.yml", "glab/config.yml")}
