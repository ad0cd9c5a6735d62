"""Generated trees and a git that tells what is right."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from ringi.patch.render import FileSide

NAMES = [
    "plain.txt", "with space.txt", " lead and trail ", "tab\there", 'quo"te', "new\nline", "back\\slash",
    "é.txt", "日本語/名", "deep/er/file", "-dash", "a\x01b", "b/a/b", "x\x7f", "'single'", "a b/c d",
    "cr\r", "bell\x07", "per%cent", "a b b/a b", "dev/null", "\udcff\udcfe", "a/x b/x", "index 1..2 100644",
    "trailing tab\t",
]  # fmt: skip
LINES = [
    b"a\n", b"b\n", b"c\n", b"\n", b"crlf\r\n", b"\r\n", b"lone\rcr\n", b"\xff\xfe\n", b"-minus\n",
    b"+plus\n", b" \n", b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", b"\\ No newline\n", "é日\n".encode(),
    b"-- a/x\n", b"++ b/x\n", b"-- \n", b"def f():\n",
]  # fmt: skip
ENDS = [b"", b"", b"no newline", b"\r", b"x\ry", b"\xff"]

bodies = st.builds(
    lambda many, last: b"".join(many) + last,
    st.lists(st.sampled_from(LINES), max_size=40),
    st.sampled_from(ENDS),
)
modes = st.sampled_from(["100644", "100644", "100755"])


@st.composite
def edits(draw, body: bytes) -> bytes:
    """A few lines of it replaced."""
    lines = body.splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 4))):
        low = draw(st.integers(0, len(lines)))
        high = min(len(lines), low + draw(st.integers(0, 3)))
        lines[low:high] = draw(st.lists(st.sampled_from(LINES), max_size=3))
    text = b"".join(lines)
    return text.removesuffix(b"\n") if draw(st.integers(0, 9)) == 0 else text


Tree = dict[str, FileSide]


class Trees(NamedTuple):
    old: Tree
    new: Tree


@st.composite
def trees(draw) -> Trees:
    """Files added, deleted, renamed, copied, changed, and given another mode."""
    names = draw(st.permutations(NAMES))
    old: Tree = {name: FileSide(draw(bodies), draw(modes)) for name in names[:10]}
    new: Tree = {}
    free = iter(names[10:])
    for name, side in old.items():
        match draw(st.sampled_from(["same", "edit", "edit", "edit", "delete", "rename", "copy", "mode"])):
            case "same":
                new[name] = side
            case "edit":
                new[name] = FileSide(draw(edits(side.data)), side.mode)
            case "rename":
                new[next(free)] = FileSide(draw(edits(side.data)), draw(modes))
            case "copy":
                new[name] = side
                new[next(free)] = FileSide(draw(edits(side.data)), side.mode)
            case "mode":
                new[name] = FileSide(draw(edits(side.data)), draw(modes))
    for _ in range(draw(st.integers(0, 3))):
        if name := next(free, None):
            new[name] = FileSide(draw(bodies), draw(modes))
    return Trees(_apart(old), _apart(new))


def _apart(tree: Tree) -> Tree:
    """No file where another one needs a folder."""
    folders = {str(parent) for name in tree for parent in Path(name).parents}
    return {name: side for name, side in tree.items() if name not in folders}


class Git:
    """A scratch repository; its index is its only state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.exists():
            folder.mkdir(parents=True)
            self.run("init", "-q")

    def run(self, *arguments: str, given: bytes = b"", check: bool = True) -> bytes:
        done = subprocess.run(
            ["git", *arguments], cwd=self.folder, input=given, capture_output=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr.decode("utf-8", "backslashreplace")
        return done.stdout

    def takes(self, patch: bytes, *options: str) -> bool:
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", *options],
            cwd=self.folder, input=patch, capture_output=True, check=False,
        )  # fmt: skip
        return done.returncode == 0

    def lay_out(self, tree: Tree) -> None:
        for path in self.folder.iterdir():
            if path.name != ".git":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, side in tree.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(side.data)
            path.chmod(0o755 if side.mode == "100755" else 0o644)

    def tree(self, tree: Tree) -> str:
        """Its object name; the files stay laid out."""
        self.lay_out(tree)
        self.run("add", "-A", "-f")
        return self.run("write-tree").decode().strip()

    def found(self) -> Tree:
        files = []
        for place, folders, names in os.walk(self.folder):
            folders[:] = [name for name in folders if name != ".git"]
            files += [Path(place, name) for name in names]
        return {
            str(path.relative_to(self.folder)): FileSide(
                path.read_bytes(), "100755" if path.stat().st_mode & 0o100 else "100644"
            )
            for path in files
        }
