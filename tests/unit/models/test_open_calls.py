"""What a call took so far, in files that a killed process leaves."""

from pathlib import Path

import pytest

from ringi.models.open_calls import OpenCalls


def test_it_is_a_mapping_that_another_process_reads(tmp_path: Path):
    calls = OpenCalls(tmp_path)
    calls["planning-1"] = b'{"much": "more"}'
    calls["planning-1"] = b"{}"
    assert dict(OpenCalls(tmp_path)) == {"planning-1": b"{}"}
    assert (tmp_path / "planning-1.call").stat().st_mode & 0o777 == 0o600
    del calls["planning-1"]
    assert not OpenCalls(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyError):
        calls["planning-1"]


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path):
    calls = OpenCalls(tmp_path / "gone")
    calls["planning-1"] = b"{}"
    assert calls.pop("planning-1", None) is None


def test_a_link_is_not_followed(tmp_path: Path):
    (tmp_path / "planning-1.call").symlink_to(tmp_path / "elsewhere")
    OpenCalls(tmp_path)["planning-1"] = b"{}"
    assert not (tmp_path / "elsewhere").exists()
