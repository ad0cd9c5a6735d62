import os
from pathlib import Path

import pytest

from ringi.cli.editor import edit
from ringi.errors import NoSuchProgram, StorageFailed


def editor(folder: Path, script: str) -> dict[str, str]:
    program = folder / "ed it"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {**os.environ, "EDITOR": f"'{program}' --flag"}


def test_the_editor_gets_a_copy_with_the_files_name(tmp_path: Path) -> None:
    environment = editor(tmp_path, 'test "$1" = --flag && basename "$2" > "$2.name"; cat "$2.name" >> "$2"')
    made, code = edit("deep/er/mödule.py", b"\xff\n", environment)
    assert (made, code) == (b"\xff\n" + "mödule.py\n".encode(), 0)


def test_an_editor_that_is_missing_or_fails(tmp_path: Path) -> None:
    with pytest.raises(NoSuchProgram):
        edit("a", b"", {"VISUAL": "/nowhere/vi", "EDITOR": "true", "PATH": os.defpath})
    with pytest.raises(NoSuchProgram):
        edit("a", b"", {"EDITOR": "'unbalanced", "PATH": os.defpath})
    assert edit("a", b"x", editor(tmp_path, "exit 3")) == (b"x", 3)
    with pytest.raises(StorageFailed):
        edit("a", b"x", editor(tmp_path, 'rm "$2"'))


@pytest.mark.parametrize(
    ("name", "given"),
    [("nano", "+7 FILE"), ("code", "-g FILE:7"), ("hx", "FILE:7"), ("unheard-of", "FILE")],
)
def test_the_editor_opens_at_the_line(tmp_path: Path, name: str, given: str) -> None:
    program = tmp_path / name
    program.write_text('#!/bin/sh\nfor last; do :; done\necho "$@" > "${last%:7}"\n')
    program.chmod(0o755)
    made, code = edit("deep/a.txt", b"", {**os.environ, "VISUAL": str(program)}, 7)
    assert code == 0
    words = made.decode().split()
    assert [word.replace(word[: word.rfind("/") + 1] + "a.txt", "FILE") for word in words] == given.split()
