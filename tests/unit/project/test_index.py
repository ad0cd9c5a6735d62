"""What is kept between requests changes how long they take, never the answer."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from ringi.project.index import corpus_of
from ringi.project.ranking import rank
from ringi.tree.file_state import StateFile
from ringi.tree.snapshot import Snapshots
from tests.helpers import holds_soon, make_files, python
from tests.unit.project.projects import SHOP, Project, ranked
from tests.unit.tree.repositories import git, isolate


def test_only_what_changed_is_read(tmp_path: Path):
    project = Project(SHOP)
    project.corpus(tmp_path)
    assert sorted(project.was_read) == sorted(SHOP)
    project.corpus(tmp_path)
    assert project.was_read == []
    project.data["shop/mail.py"] = b"def post(letter): ...\n"
    corpus = project.corpus(tmp_path)
    assert project.was_read == ["shop/mail.py"]
    assert rank("post a letter", corpus)[0].path == "shop/mail.py"
    assert rank("post a letter", corpus) == ranked(project.data, "post a letter")


def test_a_damaged_index_is_made_again(tmp_path: Path):
    project = Project(SHOP)
    expected = rank("total price", project.corpus(tmp_path))
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40], b"x" + whole, whole[:-200] + bytes(200), b"\0" * 100):
        file.write_bytes(damaged)
        assert rank("total price", project.corpus(tmp_path)) == expected
        assert sorted(project.was_read) == sorted(SHOP)
        assert file.read_bytes() == whole


ODD: dict[str, str | bytes] = {
    "empty.py": "",
    "binary.bin": b"\0\1\2 basket",
    "latin.txt": "caf\xe9 basket".encode("latin-1"),
    "same.py": "def basket(): ...\n",
    "again.py": "def basket(): ...\n",
    "broken.py": "def basket(:\n",
    "one_line.js": "var basket=" + "a;" * 100_000,
    "bidi\u202e.py": "basket = 1\n",
    "no newline": "basket",
}


def test_odd_files_are_found_by_what_can_be_read(tmp_path: Path):
    corpus = Project(ODD).corpus(tmp_path)
    found = {one.path for one in rank("the basket", corpus)}
    assert found == set(ODD) - {"empty.py", "binary.bin"}
    assert [one.name for one in corpus.outline("again.py")] == ["basket"]
    assert corpus.outline("broken.py") == corpus.outline("missing") == ()


def test_a_generated_file_is_cut(tmp_path: Path):
    huge = b"early word\n" + b"".join(b"value%d = %d\n" % (n, n) for n in range(2_000_000)) + b"late word\n"
    project = Project({"data.py": huge, "small.py": "def early(): ...\n"})
    corpus = project.corpus(tmp_path)
    assert {one.path for one in rank("early", corpus)} == {"data.py", "small.py"}
    assert rank("late", corpus) == []
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 2_000_000


def test_a_link_counts_by_its_path(tmp_path: Path):
    project = Project({"basket.py": "secret"})
    link = StateFile("basket.py", "120000", "0" * 40)
    corpus = corpus_of([link], project.contents, tmp_path)
    assert project.was_read == []
    assert [one.path for one in rank("basket", corpus)] == ["basket.py"]
    assert rank("secret", corpus) == []


READ = {"shop/invoice.py", "tests/test_basket.py", "tests/test_mail.py"}


def test_where_only_some_paths_matter_the_others_count_by_their_names(tmp_path: Path):
    project = Project(SHOP)
    some = corpus_of(project.listed(), project.contents, tmp_path, ["shop/invoice.py", "tests/"])
    assert set(project.was_read) == READ
    assert [one.name for one in some.outline("shop/invoice.py")] == ["render_invoice"]
    assert "shop/basket.py" in {one.path for one in rank("basket", some)}
    # Whoever wants all of it reads what is missing, and only that.
    project.corpus(tmp_path)
    assert set(project.was_read) == set(SHOP) - READ


def test_what_is_no_longer_used_is_dropped_in_the_end(tmp_path: Path):
    project = Project({f"f{n}.py": f"def first{n}(): ...\n" for n in range(1100)})
    project.corpus(tmp_path)
    (file,) = tmp_path.iterdir()
    for turn in range(4):
        project.data = {f"f{n}.py": f"def turn{turn}{n}(): ...\n".encode() for n in range(1100)}
        project.corpus(tmp_path)
        project.data["one.py"] = b"one = %d" % turn
        project.corpus(tmp_path)
    assert file.read_bytes().count(b"first7") == 0
    assert rank("turn37", project.corpus(tmp_path))[0].path == "f7.py"


def test_many_small_updates_give_the_same_answer(tmp_path: Path):
    project = Project(SHOP)
    for turn in range(30):
        project.data[f"shop/part{turn}.py"] = f"def part{turn}(basket): return {turn}\n".encode()
        found = rank(f"part{turn} of the basket", project.corpus(tmp_path))
        assert found == ranked(project.data, f"part{turn} of the basket")


def test_an_index_that_cannot_be_written_is_no_obstacle(tmp_path: Path):
    (tmp_path / "file").write_text("")
    project = Project(SHOP)
    assert rank("total price", project.corpus(tmp_path / "file" / "folder")) == ranked(SHOP, "total price")


UPDATING = """
import sys
from pathlib import Path
from ringi.project.ranking import rank
from tests.unit.project.projects import SHOP, Project
folder, name = Path(sys.argv[1]), sys.argv[2]
for turn in range(40):
    project = Project(SHOP | {f"{name}{turn}.py": f"def {name}{turn}(): ...\\n"})
    assert rank(f"{name}{turn}", project.corpus(folder))[0].path == f"{name}{turn}.py"
print("done", flush=True)
"""


def test_two_processes_and_one_that_is_killed(tmp_path: Path):
    children = [python(UPDATING, str(tmp_path), name) for name in ("left", "right", "killed")]
    try:
        assert holds_soon(lambda: any(tmp_path.iterdir()))
        children[2].kill()
        for child in children[:2]:
            out, errors = child.communicate(timeout=120)
            assert out == "done\n", errors
    finally:
        for child in children:
            child.kill()
            child.communicate()
    assert rank("total price", Project(SHOP).corpus(tmp_path)) == ranked(SHOP, "total price")


def test_other_languages_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Words alone find the file; once the extra is there, its definitions are read."""
    files = {"price.go": "package a\nfunc totalPrice() int {\n}\n", "mail.go": "package a\nfunc send() {}\n"}
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "tree_sitter_language_pack", None)
        best = rank("total price", Project(files).corpus(tmp_path))[0]
    assert (best.path, best.definitions, best.lines) == ("price.go", (), (1, 4))
    if importlib.util.find_spec("tree_sitter_language_pack"):
        best = rank("total price", Project(files).corpus(tmp_path))[0]
        assert [one.name for one in best.definitions] == ["totalPrice"]


def test_a_real_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With a repository inside, an ignored file, a link, and a name that is not UTF-8."""
    isolate(monkeypatch, tmp_path / "home")
    root = tmp_path / "root"
    make_files(
        root, {"basket.py": "def basket(): ...\n", ".gitignore": "secret.py\n", "secret.py": "basket = 1\n"}
    )
    make_files(root / "inner", {"deep.py": "def basket_inside(): ...\n"})
    (root / "link.py").symlink_to("basket.py")
    (root / os.fsdecode(b"basket\xff.py")).write_text("basket = 1\n")
    for folder in (root, root / "inner"):
        git(folder, "init", "-q")
    snapshots = Snapshots(tmp_path / "state", root)
    snapshot = snapshots.take()
    files = snapshots.files(snapshot).files
    corpus = corpus_of(files, lambda some: snapshots.contents(snapshot, some), tmp_path / "state" / "context")
    assert [one.path for one in rank("basket", corpus)] == ["basket.py", "inner/deep.py"]
