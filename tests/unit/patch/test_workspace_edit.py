"""A WorkspaceEdit gives the exact bytes in an editor that knows only the protocol."""

import json
import re
from itertools import pairwise
from urllib.parse import unquote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import BadDocument, NotAnEdit
from ringi.kernel.codec import pretty
from ringi.patch.workspace_edit import EditedFile, WorkspaceEdit, read_workspace_edit, workspace_edit
from tests.tables import each

BASE = "file:///home/me/my%20project"


# --- an editor of its own: it knows the protocol's JSON and nothing of the code under test --------


def units(text: str) -> list[bytes]:
    raw = text.encode("utf-16-le")
    return [raw[at : at + 2] for at in range(0, len(raw), 2)]


def line_starts(text: list[bytes]) -> list[int]:
    starts = [0]
    for at, unit in enumerate(text):
        ends = unit == b"\n\0" or (unit == b"\r\0" and text[at + 1 : at + 2] != [b"\n\0"])
        if ends:
            starts.append(at + 1)
    return starts


def offset(text: list[bytes], starts: list[int], position: dict) -> int:
    assert set(position) == {"line", "character"}
    line, character = position["line"], position["character"]
    assert 0 <= line < len(starts)
    at = starts[line] + character
    limit = starts[line + 1] if line + 1 < len(starts) else len(text) + 1
    assert at < limit, "beyond the end of the line"
    assert text[at - 1 : at + 1] != [b"\r\0", b"\n\0"], "between CR and LF"
    if 0 < at < len(text):
        assert not 0xDC <= text[at][1] <= 0xDF, "inside a pair of surrogates"
    return at


def edited(content: bytes, edits: list[dict]) -> bytes:
    text = units(content.decode())
    starts = line_starts(text)
    spans = []
    for edit in edits:
        assert set(edit) == {"range", "newText"}
        span = edit["range"]
        spans.append(
            (offset(text, starts, span["start"]), offset(text, starts, span["end"]), edit["newText"])
        )
    assert all(low <= high for low, high, _ in spans)
    assert all(one[1] < two[0] for one, two in pairwise(spans)), "not sorted and apart"
    for low, high, new in reversed(spans):
        text[low:high] = units(new)
    return b"".join(text).decode("utf-16-le").encode()


def path_of(uri: str) -> str:
    assert re.fullmatch(r"[A-Za-z0-9%._~:/-]+", uri)
    assert uri.startswith(BASE + "/")
    return unquote(uri[len(BASE) + 1 :], errors="strict")


def taken(files: dict[str, bytes], path: str) -> bool:
    above = [path[:at] for at, letter in enumerate(path) if letter == "/"]
    return path in files or any(folder in files for folder in above)


def applied(edit: WorkspaceEdit, files: dict[str, bytes]) -> dict[str, bytes]:
    files = dict(files)
    document = json.loads(msgspec.json.encode(edit))
    assert set(document) == {"documentChanges"}
    for change in document["documentChanges"]:
        match change:
            case {"kind": "create", "uri": uri, "options": {"overwrite": False, "ignoreIfExists": False}}:
                assert not taken(files, path_of(uri))
                files[path_of(uri)] = b""
            case {"kind": "rename", "oldUri": old, "newUri": new, "options": {"overwrite": False}}:
                content = files.pop(path_of(old))
                assert not taken(files, path_of(new))
                files[path_of(new)] = content
            case {"kind": "delete", "uri": uri}:
                del files[path_of(uri)]
            case {"textDocument": {"uri": uri, "version": None}, "edits": [_, *_] as edits}:
                assert set(change) == {"textDocument", "edits"}
                files[path_of(uri)] = edited(files[path_of(uri)], edits)
            case _:
                pytest.fail(f"not a change of the protocol: {change}")
    return files


def check_change(old: bytes | None, new: bytes | None) -> None:
    edit = workspace_edit([EditedFile("x", None, old, new)], BASE)
    assert read_workspace_edit(msgspec.json.encode(edit)) == edit
    before = {} if old is None else {"x": old}
    assert applied(edit, before) == ({} if new is None else {"x": new})


# --- texts ---------------------------------------------------------------------------------------

ends = st.sampled_from(["\n", "\r\n", "\r", "\n\r", "\r\r\n", "\u2028", "\x85", "\v", "\f", ""])
words = st.sampled_from(
    [
        "",
        "a",
        "b",
        "x = 1",
        "é",
        "e\u0301",
        "😀",
        "\U0001f469\u200d\U0001f4bb",
        "日本",
        "\ufeff",
        "\uffff",
        "\t",
    ]
)
texts = st.lists(st.tuples(words, words, ends), max_size=12).map(
    lambda parts: "".join(map("".join, parts)).encode()
)
any_text = texts | st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40
).map(str.encode)


@pytest.mark.req("CP-4")
@given(st.none() | any_text, st.none() | any_text)
def test_any_change_gives_the_exact_bytes(old: bytes | None, new: bytes | None):
    if old == new:
        with pytest.raises(NotAnEdit):
            workspace_edit([EditedFile("x", None, old, new)], BASE)
    else:
        check_change(old, new)


@pytest.mark.req("CP-4")
@given(texts, st.data())
def test_a_small_change_in_a_text_gives_the_exact_bytes(old: bytes, data: st.DataObject):
    text = old.decode()
    low = data.draw(st.integers(0, len(text)))
    high = data.draw(st.integers(low, min(low + 3, len(text))))
    new = (text[:low] + data.draw(st.sampled_from(["", "\n", "\r", "x", "😀\r\n"])) + text[high:]).encode()
    if new != old:
        check_change(old, new)
        check_change(new, old)


@each(
    ("old", "new", "edits"),
    [
        ("a\nb\nc\n", "a\nX\nc\n", [((1, 0), (2, 0), "X\n")]),
        ("a\nb", "a\nb\n", [((1, 0), (1, 1), "b\n")]),
        ("a\n😀y", "a\n", [((1, 0), (1, 3), "")]),
        ("", "a", [((0, 0), (0, 0), "a")]),
        ("a\n", "a\nb\n", [((1, 0), (1, 0), "b\n")]),
        ("a\rb\rc", "a\rc", [((1, 0), (2, 0), "")]),
        ("a\r\nb\r\n", "a\nb\r\n", [((0, 0), (1, 0), "a\n")]),
        ("a\u2028b", "a\u2028c", [((0, 0), (0, 3), "a\u2028c")]),
        ("1\n2\n3\n", "0\n2\n4\n", [((0, 0), (1, 0), "0\n"), ((2, 0), (3, 0), "4\n")]),
    ],
)
def test_only_the_changed_lines_are_replaced(old: str, new: str, edits: list):
    edit = workspace_edit([EditedFile("x", None, old.encode(), new.encode())], BASE)
    (change,) = json.loads(msgspec.json.encode(edit))["documentChanges"]
    assert [
        (
            (found["range"]["start"]["line"], found["range"]["start"]["character"]),
            (found["range"]["end"]["line"], found["range"]["end"]["character"]),
            found["newText"],
        )
        for found in change["edits"]
    ] == edits


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.req("CP-4")
def test_the_json_is_that_of_the_protocol():
    edit = workspace_edit(
        [
            EditedFile("new name.py", "old#1.py", b"a\nb\n", b"a\nc\n"),
            EditedFile("é?/日本.py", None, None, b"1"),
            EditedFile("empty", None, None, b""),
            EditedFile("gone", None, b"x", None),
        ],
        BASE + "/",
    )
    placing = {"overwrite": False, "ignoreIfExists": False}
    insert = {
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}},
        "newText": "1",
    }
    change = {
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}},
        "newText": "c\n",
    }
    renamed, made = f"{BASE}/new%20name.py", f"{BASE}/%C3%A9%3F/%E6%97%A5%E6%9C%AC.py"
    assert json.loads(pretty(edit)) == {
        "documentChanges": [
            {
                "kind": "delete",
                "uri": f"{BASE}/gone",
                "options": {"recursive": False, "ignoreIfNotExists": False},
            },
            {"kind": "rename", "oldUri": f"{BASE}/old%231.py", "newUri": renamed, "options": placing},
            {"textDocument": {"uri": renamed, "version": None}, "edits": [change]},
            {"kind": "create", "uri": f"{BASE}/empty", "options": placing},
            {"kind": "create", "uri": made, "options": placing},
            {"textDocument": {"uri": made, "version": None}, "edits": [insert]},
        ]
    }


def moves(*pairs: str) -> list[EditedFile]:
    split = [pair.split(">") for pair in pairs]
    return [EditedFile(new, old, old.encode(), old.encode()) for old, new in split]


@pytest.mark.req("CP-4")
@each(
    "changes",
    [
        moves("a>b", "b>c", "c>d"),
        moves("c>d", "a>b", "b>c"),
        moves("a>b", "b>a"),
        moves("a>b", "b>c", "c>a", "x>y"),
        moves("z>a", "a>b", "b>c", "c>b2"),
        moves("x>x/y"),
        moves("a>b/c", "b>a"),
        moves("a>b/c/d", "b>e"),
        [*moves("a>b"), EditedFile("a", None, None, b"new")],
        [*moves("a>b"), EditedFile("a/b", None, None, b"new")],
        [*moves("a>b"), EditedFile("b", None, b"there", None)],
        [EditedFile("x", None, b"1", None), EditedFile("x/y", None, None, b"1")],
        [EditedFile("copy", "a", None, b"1"), EditedFile("a", None, b"1", b"2")],
    ],
)
def test_no_step_finds_its_place_taken(changes: list[EditedFile]):
    before = {change.old_path or change.path: change.old for change in changes if change.old is not None}
    after = {change.path: change.new for change in changes if change.new is not None}
    assert applied(workspace_edit(changes, BASE), before) == after


names = st.sampled_from(["a", "b", "c", "d/e", "d/f", "ü g"])


@given(st.dictionaries(names, texts, max_size=6), st.data())
def test_any_set_of_renames_edits_and_new_files(before: dict[str, bytes], data: st.DataObject):
    target = data.draw(st.permutations(sorted({*before, "n1", "n2"})))
    changes = []
    for (path, old), to in zip(sorted(before.items()), target, strict=False):
        new = data.draw(st.none() | st.just(old) | texts)
        if new is None:
            changes.append(EditedFile(path, None, old, None))
        elif to != path or new != old:
            changes.append(EditedFile(to, path if to != path else None, old, new))
    after = {
        **{path: old for path, old in before.items() if path not in {c.old_path or c.path for c in changes}},
        **{change.path: change.new for change in changes if change.new is not None},
    }
    assert applied(workspace_edit(changes, BASE), before) == after


@pytest.mark.req("CP-4")
@each(
    ("changes", "why"),
    [
        ([EditedFile("x", None, b"a", b"a")], "its text stays the same"),
        ([EditedFile("x", "x", b"a", b"a")], "its text stays the same"),
        ([EditedFile("x", None, None, None)], "its text stays the same"),
        ([EditedFile("x", None, b"a\xff", b"a")], "it is not UTF-8 at byte 1"),
        ([EditedFile("x", None, b"a", b"\xed\xa0\x80")], "it is not UTF-8 at byte 0"),
        ([EditedFile("x", None, b"\xe9", None)], "it is not UTF-8 at byte 0"),
        ([EditedFile("x", "y", b"\0", b"\0")], "it is not text"),
        ([EditedFile("x", None, None, b"\0")], "it is not text"),
        ([EditedFile("x\udcff", None, None, b"1")], "its name is not valid Unicode"),
        ([EditedFile("x", "\udc80", b"1", b"1")], "its name is not valid Unicode"),
        (
            [EditedFile("x/y", None, b"1", None), EditedFile("x", None, None, b"1")],
            "a file takes the place of a folder",
        ),
        (moves("x/y/z>x"), "a file takes the place of a folder"),
    ],
)
def test_what_an_editor_cannot_do_is_refused(changes: list[EditedFile], why: str):
    with pytest.raises(NotAnEdit) as refused:
        workspace_edit([EditedFile("fine", None, b"1", b"2"), *changes], BASE)
    assert str(refused.value.details["why"]) == why


@each(
    "data",
    [
        b"",
        b"{}",
        b'{"documentChanges": [{"kind": "touch", "uri": "x"}]}',
        b'{"documentChanges": [{"kind": "create", "uri": "x", "edits": []}]}',
        b'{"documentChanges": [{"textDocument": {"uri": "x"}}]}',
        (
            b'{"documentChanges": [{"textDocument": {"uri": "x"}, "edits": [{"range": {"start": '
            b'{"line": -1, "character": 0}, "end": {"line": 0, "character": 0}}, "newText": ""}]}]}'
        ),
        b'{"documentChanges": [1]}',
    ],
)
def test_what_is_no_edit_cannot_be_read(data: bytes):
    with pytest.raises(BadDocument):
        read_workspace_edit(data)


def test_options_may_be_missing():
    edit = read_workspace_edit(b'{"documentChanges": [{"kind": "delete", "uri": "file:///x"}]}')
    assert json.loads(msgspec.json.encode(edit)) == {
        "documentChanges": [{"kind": "delete", "uri": "file:///x"}]
    }
