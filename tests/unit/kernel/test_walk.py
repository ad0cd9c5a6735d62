"""Folders that others made: of any depth, with links, closed ones."""

from ringi.kernel.fs import walk
from ringi.kernel.process.erase import erase
from tests.helpers import deep_folders, open_descriptors, shallow_stack


def test_no_depth_ends_it_and_what_is_out_of_reach_is_told(tmp_path):
    tree = tmp_path / "tree"
    (tree / "long").mkdir(parents=True)
    (tree / "link").symlink_to(tmp_path)
    (tree / "left").mkdir()
    depth = 200
    deep_folders(tree, depth)
    deep_folders(tree / "long", 17, "x" * 250)
    before, closed, entered = open_descriptors(), [], []
    try:
        with shallow_stack():
            for step in walk(tree, closed.append):
                if not step.folder:
                    assert sorted(entry.name for entry in step.entries) == ["d", "left", "link", "long"]
                    assert sorted(step.inner) == ["d", "left", "long"]
                    step.inner.remove("left")
                entered.append(step.folder)
                if step.folder.count("/") == depth - 1:
                    assert [entry.name for entry in step.entries] == ["file"]
                    assert [entry.stat(follow_symlinks=False).st_size for entry in step.entries] == [0]
        assert len(entered) == 1 + depth + 1 + 15
        assert closed == ["long" + 16 * ("/" + "x" * 250)]
        assert open_descriptors() == before
    finally:
        erase(tree)
    assert not tree.exists()


def test_what_is_not_there_has_no_folders(tmp_path):
    assert list(walk(tmp_path / "none")) == []


def test_a_folder_swapped_for_a_link_in_the_middle_is_not_entered(tmp_path):
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    for top in (tree / "a", outside):
        (top / "b" / "c").mkdir(parents=True)
        (top / "b" / "c" / f"in-{top.name}").touch()
    names = []
    for step in walk(tree):
        names += [entry.name for entry in step.entries]
        if step.folder == "a":
            (tree / "a").rename(tree / "moved")
            (tree / "a").symlink_to(outside)
    assert names == ["a", "b"]
