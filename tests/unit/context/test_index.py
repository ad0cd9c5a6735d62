"""What is kept between requests changes how long they take, never the answer."""

from pathlib import Path

from ringi.context import rank
from tests.unit.context.projects import SHOP, Project, ranked


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
