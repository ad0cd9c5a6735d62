"""Files that people name: never waited for, never without an end."""

import os
import threading
from pathlib import Path

import pytest

from ringi.cli.arguments import document_in, read_named
from ringi.errors import BadDocument, NotFound, TooLarge, Unreadable
from ringi.project.state import EditorState


def test_a_file_is_read_and_a_missing_one_is_told(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"words")
    assert read_named(str(tmp_path / "f")) == b"words"
    with pytest.raises(NotFound):
        read_named(str(tmp_path / "g"))
    with pytest.raises(Unreadable):
        read_named(str(tmp_path))
    with pytest.raises(Unreadable):
        read_named("nul\0")


def test_a_pipe_that_nobody_writes_to_is_empty(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    assert read_named(str(tmp_path / "pipe")) == b""


def test_a_pipe_is_read_to_its_end():
    reading, writing = os.pipe()

    def write() -> None:
        os.write(writing, b"first ")
        os.write(writing, b"second")
        os.close(writing)

    thread = threading.Timer(0.1, write)
    thread.start()
    assert read_named(f"/dev/fd/{reading}") == b"first second"
    thread.join()
    os.close(reading)


def test_a_device_without_an_end_is_refused():
    with pytest.raises(TooLarge, match="more than 1000 bytes"):
        read_named("/dev/zero", most_bytes=1000)


def test_a_document_is_refused_with_all_that_is_wrong_and_its_schema():
    given = b'{"diagnostics": [{"file": "a"}], "unsaved": [{"path": "a", "sha256": "{0}"}]}'
    with pytest.raises(BadDocument) as caught:
        document_in(given, EditorState, "-", "editor-state")
    assert str(caught.value) == (
        "standard input cannot be read: $.editor: it is missing; $.diagnostics[0].message: it is missing; "
        "$.unsaved[0].sha256: it must be a SHA-256 of 64 hexadecimal digits"
    )
    assert caught.value.details["see"] == "ringi check --schema editor-state"
    with pytest.raises(BadDocument, match=r"^a\.json cannot be read: it is empty"):
        document_in(b"", EditorState, "a.json", "editor-state")
