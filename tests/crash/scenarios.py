"""Plans that between them do everything an execution can do to files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec

PLAIN = 0o644
Files = Mapping[str, tuple[bytes, int]]
"""Bytes and permission bits by path."""


class Picture(NamedTuple):
    """All of a workspace but the program's own folder."""

    files: dict[str, tuple[bytes, int]]
    folders: set[str]


class Scenario(NamedTuple):
    name: str
    before: Files
    specs: Sequence[ActionSpec]
    after: Files | None = None
    """Where the specs do not say it themselves."""
    folders: frozenset[str] = frozenset()
    """Empty ones that are made."""
    later: Mapping[str, bytes] = {}
    """What somebody writes to the end of files once the plan was carried out; an undo keeps it."""

    @property
    def first(self) -> Picture:
        return picture(self.before)

    @property
    def last(self) -> Picture:
        if self.after is not None:
            found = picture(self.after)
            return found._replace(folders=found.folders | self.folders)
        files = dict(self.before)
        for spec in self.specs:
            if spec.kind is SpecKind.DELETE:
                del files[spec.path]
                continue
            data, mode = files.get(spec.path, (b"", PLAIN))
            data = data if spec.content is None else spec.content.encode()
            files[spec.path] = (data, int(spec.mode, 8) if spec.mode else mode)
        return picture(files)


def with_later(found: Picture, later: Mapping[str, bytes]) -> Picture:
    files = dict(found.files)
    for path, data in later.items():
        files[path] = files[path][0] + data, files[path][1]
    return found._replace(files=files)


def picture(files: Files) -> Picture:
    """With the folders that the files need and no others."""
    parts = [path.split("/") for path in files]
    return Picture(dict(files), {"/".join(p[:depth]) for p in parts for depth in range(1, len(p))})


def taken(root: Path) -> Picture:
    """Of a real folder, whose own `.agent` and `.git` are left out."""
    files, folders = {}, set()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.partition("/")[0] in {".agent", ".git"}:
            continue
        if path.is_dir() and not path.is_symlink():
            folders.add(name)
        else:
            files[name] = (path.read_bytes(), path.stat().st_mode & 0o7777)
    return Picture(files, folders)


def laid_out(root: Path, files: Files) -> None:
    for name, (data, mode) in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)


WHOLE = "whole"
"""The group of all specs of a plan that is done wholly or not at all."""


def create(path: str, content: str, mode: str | None = None, group: str | None = WHOLE) -> ActionSpec:
    return ActionSpec(SpecKind.CREATE, path, content, mode=mode, group=group)


def write(path: str, content: str | None, mode: str | None = None, group: str | None = WHOLE) -> ActionSpec:
    return ActionSpec(SpecKind.WRITE, path, content, mode=mode, group=group)


def delete(path: str, group: str | None = WHOLE) -> ActionSpec:
    return ActionSpec(SpecKind.DELETE, path, group=group)


def move(path: str, target: str, mode: str | None = None, group: str | None = WHOLE) -> ActionSpec:
    return ActionSpec(SpecKind.MOVE, path, target=target, mode=mode, group=group)


def mkdir(path: str, group: str | None = WHOLE) -> ActionSpec:
    return ActionSpec(SpecKind.MKDIR, path, group=group)


def patch(path: str, *lines: str) -> ActionSpec:
    return ActionSpec(SpecKind.PATCH, path, "".join(f"{line}\n" for line in lines), group=WHOLE)


CREATE = Scenario(
    "create",
    {"kept.txt": (b"kept\n", PLAIN)},
    [create("new.txt", "new\n"), create("run.sh", "#!/bin/sh\n", "0755"), create("empty.txt", "")],
)
NESTED = Scenario(
    "create in new folders",
    {"kept.txt": (b"kept\n", PLAIN), "old/kept.txt": (b"kept\n", PLAIN)},
    [create("a/b/c/deep.txt", "deep\n"), create("a/b/side.txt", "side\n"), create("old/new/x.txt", "x\n")],
)
OVERWRITE = Scenario(
    "overwrite",
    {"one.txt": (b"one before\n", PLAIN), "lib/two.txt": (b"two before\n", 0o600)},
    [write("one.txt", "one after\n"), write("lib/two.txt", "two after\n")],
)
DELETE = Scenario(
    "delete",
    {
        "gone.txt": (b"gone\n", PLAIN),
        "kept/gone.txt": (b"gone\n", PLAIN),
        "kept/here.txt": (b"here\n", PLAIN),
        "emptied/deep/gone.txt": (b"gone deep\n", 0o755),
    },
    [delete("gone.txt"), delete("kept/gone.txt"), delete("emptied/deep/gone.txt")],
)
MODE = Scenario(
    "mode",
    {"run.sh": (b"#!/bin/sh\n", PLAIN), "secret.txt": (b"secret\n", PLAIN)},
    [write("run.sh", None, "0755"), write("secret.txt", "other secret\n", "0600")],
)
EDITED = Scenario(
    "edited since",
    {"one.txt": (b"1\n2\n3\n4\n5\n", 0o600), "two.txt": (b"two\n", PLAIN), "three.txt": (b"3\n", PLAIN)},
    [write("one.txt", "first\n2\n3\n4\n5\n"), write("two.txt", "2\n"), delete("three.txt")],
    later={"one.txt": b"mine\n"},
)
MIXED = Scenario(
    "several files in several folders",
    {
        "README.md": (b"# Before\n", PLAIN),
        "src/app/main.py": (b"before\n" * 100, PLAIN),
        "src/app/old.py": (b"old\n", PLAIN),
        "src/legacy/only.py": (b"only\n", PLAIN),
        "tools/run.sh": (b"#!/bin/sh\n", PLAIN),
        "untouched.txt": (b"untouched\n", 0o640),
    },
    [
        write("README.md", "# After\n"),
        write("src/app/main.py", "after\n" * 120),
        delete("src/app/old.py"),
        delete("src/legacy/only.py"),
        create("src/app/new/module.py", "new\n"),
        write("tools/run.sh", None, "0755"),
        create("docs/guide.md", "guide\n"),
    ],
)
SMALL = Scenario(
    "one of each",
    {"changed.txt": (b"before\n", PLAIN), "old/gone.txt": (b"gone\n", PLAIN)},
    [write("changed.txt", "after\n"), delete("old/gone.txt"), create("new/made.txt", "made\n")],
)
PATCHED = Scenario(
    "patches",
    {
        "changed.txt": (b"one\ntwo\n", 0o640),
        "old/moved.txt": (b"moved\nbefore\n", PLAIN),
        "source.txt": (b"source\n", PLAIN),
        "run.sh": (b"#!/bin/sh\n", PLAIN),
        "gone/last.txt": (b"gone\n", PLAIN),
    },
    [
        patch(
            "changed.txt", "--- a/changed.txt", "+++ b/changed.txt", "@@ -1,2 +1,2 @@", " one", "-two", "+2"
        ),
        patch(
            "new/place/moved.txt",
            "diff --git a/old/moved.txt b/new/place/moved.txt",
            "similarity index 50%",
            "rename from old/moved.txt",
            "rename to new/place/moved.txt",
            "--- a/old/moved.txt",
            "+++ b/new/place/moved.txt",
            "@@ -1,2 +1,2 @@",
            " moved",
            "-before",
            "+after",
        ),
        patch(
            "copy.txt",
            "diff --git a/source.txt b/copy.txt",
            "similarity index 100%",
            "copy from source.txt",
            "copy to copy.txt",
        ),
        patch("run.sh", "diff --git a/run.sh b/run.sh", "old mode 100644", "new mode 100755"),
        patch("gone/last.txt", "--- a/gone/last.txt", "+++ /dev/null", "@@ -1 +0,0 @@", "-gone"),
        patch("made.txt", "--- /dev/null", "+++ b/made.txt", "@@ -0,0 +1 @@", "+made"),
    ],
    {
        "changed.txt": (b"one\n2\n", 0o640),
        "new/place/moved.txt": (b"moved\nafter\n", PLAIN),
        "source.txt": (b"source\n", PLAIN),
        "copy.txt": (b"source\n", PLAIN),
        "run.sh": (b"#!/bin/sh\n", 0o755),
        "made.txt": (b"made\n", PLAIN),
    },
)
MOVED = Scenario(
    "moves and folders",
    {
        "a.txt": (b"a\n", PLAIN),
        "old/only.txt": (b"only\n", 0o640),
        "old/deep/run.sh": (b"#!/bin/sh\n", PLAIN),
        "kept/one.txt": (b"one\n", PLAIN),
    },
    [
        mkdir("made/empty"),
        mkdir("made"),
        move("a.txt", "made/b.txt"),
        move("old/only.txt", "new/place/only.txt"),
        move("old/deep/run.sh", "run.sh", "0755"),
        create("kept/two.txt", "two\n"),
    ],
    {
        "made/b.txt": (b"a\n", PLAIN),
        "new/place/only.txt": (b"only\n", 0o640),
        "run.sh": (b"#!/bin/sh\n", 0o755),
        "kept/one.txt": (b"one\n", PLAIN),
        "kept/two.txt": (b"two\n", PLAIN),
    },
    frozenset(["made/empty"]),
)
SEVERAL = Scenario(
    "several groups and single specs",
    {
        "one.txt": (b"one\n", PLAIN),
        "two.txt": (b"two\n", PLAIN),
        "lib/three.txt": (b"three\n", PLAIN),
        "gone/four.txt": (b"four\n", PLAIN),
    },
    [
        write("one.txt", "1\n", group="a"),
        create("new/a.txt", "a\n", group="a"),
        delete("gone/four.txt", None),
        mkdir("folder", None),
        create("folder/in.txt", "in\n", group="b"),
        move("two.txt", "lib/two.txt", group="b"),
        write("lib/three.txt", "3\n", "0600", None),
    ],
    {
        "one.txt": (b"1\n", PLAIN),
        "new/a.txt": (b"a\n", PLAIN),
        "folder/in.txt": (b"in\n", PLAIN),
        "lib/two.txt": (b"two\n", PLAIN),
        "lib/three.txt": (b"3\n", 0o600),
    },
)
ALL = (CREATE, NESTED, OVERWRITE, DELETE, MODE, MIXED, PATCHED, MOVED, SEVERAL)
