"""Files that an agent asks its editor for, and how errors are worded."""

import gettext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from ringi.acp.files import in_words, read_text_file, write_text_file
from ringi.acp.paths import ProjectPaths
from ringi.acp.protocol import INVALID_PARAMS, RpcError, parse_message, too_long
from ringi.errors import NoWorkspace, PathRefused
from ringi.kernel import text
from ringi.kernel.text import Text, show_value


@pytest.fixture
def copy(tmp_path: Path) -> Any:
    (tmp_path / "tree").mkdir()
    return SimpleNamespace(tree=tmp_path / "tree")


@pytest.fixture
def japanese(monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = gettext.translation("ringi", text._LOCALES, ["ja"])
    monkeypatch.setattr(gettext, "gettext", catalogue.gettext)


def asked(**params: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(params))


@pytest.mark.req("PT-7")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("d/" * 129 + "f", "it lies more than 128 folders deep. Use a plain path"),
        ("x" * 256, "a part of it is longer than 255 bytes. Use a plain path"),
        ("x/" * 1500 + "f", "its path is longer than 2048 bytes. Use a plain path"),
        ("x/" * 3000 + "f", "is longer than the system allows: 4096 bytes."),
        ("../" * 1_000_000, "is longer than the system allows: 4096 bytes."),
    ],
)
def test_a_path_beyond_the_limits_is_refused_in_words(copy: Any, path: str, why: str) -> None:
    paths = ProjectPaths(Path("/p"), Path("/p"))
    for act in (write_text_file, read_text_file):
        with pytest.raises(RpcError) as refused:
            act(copy, paths, asked(path=f"/p/{path}", content="x"))
        assert why in refused.value.words
        assert len(refused.value.words) < 4096
    assert list(copy.tree.iterdir()) == []
    deepest = "/p/" + "d/" * 128 + "f"
    assert write_text_file(copy, paths, asked(path=deepest, content="x")) == {}
    assert read_text_file(copy, paths, asked(path=deepest)) == {"content": "x"}


def test_a_path_of_many_parts_outside_of_the_project_is_not_looked_up_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []
    stat = Path.stat
    monkeypatch.setattr(Path, "stat", lambda path: looked.append(path) or stat(path))
    with pytest.raises(RpcError, match="outside of"):
        ProjectPaths(tmp_path, tmp_path).inside("/none" + "/x" * 2000)
    assert looked == [tmp_path, Path("/"), Path("/none")]


def test_message_and_hint_are_two_sentences(japanese: None) -> None:
    del japanese
    refused = in_words(PathRefused(path="a", why=Text("it is absolute"))).words
    assert refused.startswith("a は受け付けられません: 絶対パスです。ワ")
    assert "。。" not in in_words(NoWorkspace(path="/p")).words


def test_errors_of_the_protocol_are_in_the_readers_language(copy: Any, japanese: None) -> None:
    del japanese
    paths = ProjectPaths(Path("/p"), Path("/p"))
    found = [
        show_value(parse_message(line).words)  # type: ignore[union-attr]
        for line in (b"[]", b"nonsense", b'{"jsonrpc":"1.0","method":"x"}')
    ]
    found.append(show_value(too_long(b"").words))
    for params in ({"path": 5}, {"path": "a"}, {"path": "/etc"}, {"path": "/p/none"}):
        with pytest.raises(RpcError) as refused:
            read_text_file(copy, paths, asked(**params))
        found.append(refused.value.words)
    assert all("。" in words or "異なります" in words for words in found), found


def test_what_has_no_form_in_utf_8_is_refused(copy: Any) -> None:
    paths = ProjectPaths(Path("/p"), Path("/p"))
    with pytest.raises(RpcError) as refused:
        write_text_file(copy, paths, msgspec.Raw(b'{"path":"/p/a","content":"\\ud800"}'))
    assert refused.value.code == INVALID_PARAMS
