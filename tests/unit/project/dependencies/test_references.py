"""What is kept between questions changes how long they take, never the answer."""

import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import Unreadable
from ringi.project.dependencies import SourceFile, analyse
from tests.unit.project.dependencies.trees import Files, oid

FILES = {"a.py": "import b", "b.py": "import c", "c.py": "", "copy.py": "import b", "README.md": "import a"}


def only_file(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


@pytest.mark.req("CP-10")
def test_only_what_changed_is_read(tmp_path: Path):
    files = Files(FILES)
    files.analyse(tmp_path)
    assert len(files.was_read) == 3  # two have the same bytes
    files.analyse(tmp_path)
    assert files.was_read == []
    files.data["b.py"] = b"import a"
    assert files.analyse(tmp_path).uses["b.py"] == ("a.py",)
    assert files.was_read == ["b.py"]


def test_a_new_file_changes_what_others_mean_without_reading_them(tmp_path: Path):
    files = Files(FILES)
    files.data["a.py"] = b"import later"
    assert "a.py" not in files.analyse(tmp_path).uses
    files.data["later.py"] = b"# new"
    assert files.analyse(tmp_path).uses["a.py"] == ("later.py",)
    assert files.was_read == ["later.py"]


def test_the_other_branch_is_still_known_after_edits(tmp_path: Path):
    one = Files({f"m{n}.py": f"import x{n}" for n in range(50)})
    other = Files({f"m{n}.py": f"import y{n}" for n in range(50)})
    one.analyse(tmp_path)
    other.analyse(tmp_path)
    for n in range(5):
        other.data["m0.py"] = b"import z%d" % n
        other.analyse(tmp_path)
    one.analyse(tmp_path)
    assert one.was_read == []


def test_it_does_not_grow_for_ever(tmp_path: Path):
    files = Files({"a.py": ""})
    sizes = []
    for n in range(0, 4000, 400):
        files.data = {f"m{k}.py": b"import x%d_%d" % (n, k) for k in range(400)}
        files.analyse(tmp_path)
        sizes.append(only_file(tmp_path).stat().st_size)
    assert max(sizes) == pytest.approx(sizes[-1], rel=0.05)
    assert sizes[-1] < 5 * sizes[0]


def damages() -> dict[str, object]:
    return {
        "empty": lambda data: b"",
        "cut": lambda data: data[:-1],
        "one bit": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
        "foreign": lambda data: b"\x80\x04cos\nsystem\n",
        "another version": lambda data: data.replace(b"references ", b"references 9", 1),
        "not ours inside": lambda data: data[:20],
    }


@pytest.mark.req("CP-10")
@pytest.mark.parametrize("damage", damages())
def test_a_damaged_one_is_built_anew(damage: str, tmp_path: Path):
    files = Files(FILES)
    expected = files.analyse(tmp_path)
    kept = only_file(tmp_path)
    kept.write_bytes(damages()[damage](kept.read_bytes()))
    assert files.analyse(tmp_path) == expected
    assert len(files.was_read) == 3
    files.analyse(tmp_path)
    assert files.was_read == []


def test_a_link_in_its_place_is_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "references").symlink_to(outside)
    Files(FILES).analyse(tmp_path / "cache")
    assert outside.read_text() == "mine"
    assert not only_file(tmp_path / "cache").is_symlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_without_a_place_to_keep_it_the_answer_is_the_same(tmp_path: Path):
    expected = Files(FILES).analyse(tmp_path / "good")
    (tmp_path / "closed").mkdir(mode=0o500)
    assert Files(FILES).analyse(tmp_path / "closed") == expected


def test_a_file_where_the_folder_should_be(tmp_path: Path):
    expected = Files(FILES).analyse(tmp_path / "good")
    (tmp_path / "file").write_text("")
    assert Files(FILES).analyse(tmp_path / "file") == expected


def failing(error: Exception):
    def read(path: str) -> bytes:
        raise error

    return read


@pytest.mark.parametrize(
    ("read", "why"),
    [
        (lambda path: b"import b  # changed", "it changed while it was being read"),
        (failing(PermissionError(13, "Permission denied")), "it cannot be read: Permission denied"),
        (failing(Unreadable(what="a.py", why="no")), "it cannot be read: no"),
    ],
)
def test_what_is_not_the_snapshot_is_named_and_not_remembered(read, why: str, tmp_path: Path):
    listed = [SourceFile("a.py", oid(b"import b")), SourceFile("b.py", oid(b""))]
    good = {"a.py": b"import b", "b.py": b""}
    found = analyse(listed, lambda path: read(path) if path == "a.py" else good[path], tmp_path)
    assert [(item.file, item.why) for item in found.unanalysed] == [("a.py", why)]
    assert found.uses == {}
    assert analyse(listed, good.__getitem__, tmp_path).uses == {"a.py": ("b.py",)}


def test_object_ids_of_either_length(tmp_path: Path):
    data = b"import b"
    listed = [
        SourceFile("a.py", hashlib.sha256(b"blob 8\0" + data).hexdigest()),
        SourceFile("b.py", oid(b"")),
    ]
    found = analyse(listed, {"a.py": data, "b.py": b""}.__getitem__, tmp_path)
    assert (found.uses, found.unanalysed) == ({"a.py": ("b.py",)}, ())


PATHS = (
    "a.py",
    "b.py",
    "p/__init__.py",
    "p/a.py",
    "p/b.py",
    "q/a.py",
    "q/conftest.py",
    "q/test_x.py",
    "s.pyi",
)
SOURCES = (
    "",
    "import a",
    "import p.a",
    "from p import b",
    "from . import a",
    "from .a import x",
    "import (",
    "\0",
)
edits = st.lists(
    st.dictionaries(st.sampled_from(PATHS), st.sampled_from(SOURCES) | st.none(), min_size=1),
    min_size=1,
    max_size=8,
)


@pytest.mark.req("CP-10")
@given(edits=edits)
def test_after_any_edits_the_answer_is_the_one_from_scratch(edits: list[dict[str, str | None]]):
    with tempfile.TemporaryDirectory() as folder:
        files = Files({})
        for number, edit in enumerate(edits):
            for path, source in edit.items():
                if source is None:
                    files.data.pop(path, None)
                else:
                    files.data[path] = source.encode()
            kept = files.analyse(Path(folder, "kept"))
            assert kept == files.analyse(Path(folder, f"fresh{number}"))
