"""Names that may be written, and those that lead elsewhere or belong to git and ringi."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import PathRefused
from ringi.kernel.text import Text
from ringi.tree.paths import normalise
from tests.tables import each

REFUSED = {
    "it leaves its folder with ..": ["..", "../x", "a/../b", "a/..", "./../x"],
    "it is absolute": ["/etc/passwd", "/", "//x", "/.", "/C:/x"],
    "it starts with ~, which some programs take for a home folder": ["~", "~/x", "~root/x"],
    "it contains a NUL character": ["\0", "a\0b", "/a\0", "../\0"],
    "it contains a backslash": ["a\\b", "\\", "..\\x", "C:\\x", "\\\\host\\share", ".git\\config"],
    "it starts with a drive letter": ["C:x", "c:/x", "Z:", "C:.git"],
    "it names no file": ["", ".", "././."],
    "it names a folder, not a file": ["./", "a/", "a/b/", ".git/", "../"],
    "its name is not valid UTF-8": ["\udcff", "a/\ud800"],
    "a part of it is longer than 255 bytes": ["x" * 256, "é" * 128, "a/" + "b" * 300],
    "its path is longer than 2048 bytes": ["x" * 2049, "é/" * 1000 + "x", "../" * 10_000 + "x"],
    "it lies more than 128 folders deep": ["d/" * 129 + "x"],
    # In every disguise that a file system may see through; also those of nested repositories.
    "it lies in {part}, which belongs to git": [
        ".git", ".git/config", "a/.git/hooks/x", "sub/module/.git/config", "a/.git", ".GIT/x", ".Git",
        ".gIt/config", ".git ", ".git.", ".git. .", ".git...", "git~1", "GIT~1/x", "git~2", "a/git~15",
        ".\uff47\uff49\uff54/config", "\uff0egit", "\u2024git", ".g\u200dit", ".g\u200bit", "\ufeff.git",
        ".git\u200c/x", ".\u2060git", ".gi\u00adt", ".git\u202e", ".\u1d4d\u1d62\u1d57",
        ".\u24d6\u24d8\u24e3", ".g\ufe0fit", ".g\u034fit/x", ".gi\u180bt", ".git\u3164",
        ".git\U000e0101/config",
        ".git::$INDEX_ALLOCATION", ".git::$INDEX_ALLOCATION/config", ".git:x", ".GIT::$DATA",
    ],
    "it lies in {part}, which belongs to ringi": [
        ".agent", ".agent/config.yaml", ".AGENT/x", "sub/.Agent/x", "agent~1", "AGENT~1/x", ".agent ",
        ".agent.", ".agent:stream", ".a\u200bgent/x", ".\uff41gent", ".age\ufe00nt/tmp",
    ],
}  # fmt: skip
FINE = {
    "a": ("a",),
    "a/b/c.txt": ("a", "b", "c.txt"),
    "./a": ("a",),
    "a//b": ("a", "b"),
    "a/./b": ("a", "b"),
    ".gitignore": (".gitignore",),
    ".github/workflows/x.yml": (".github", "workflows", "x.yml"),
    ".agents": (".agents",),
    "git": ("git",),
    "agent/x": ("agent", "x"),
    ".gitx/config": (".gitx", "config"),
    "a b/c\td": ("a b", "c\td"),
    "日本語/é.txt": ("日本語", "é.txt"),
    "a~": ("a~",),
    "...": ("...",),
    "x" * 255: ("x" * 255,),
    "ab:c": ("ab:c",),
    "-rf": ("-rf",),
    "git~": ("git~",),
    "d/" * 128 + "x": (*("d",) * 128, "x"),
}


@pytest.mark.req("PT-7")
@each(("path", "why"), [(path, why) for why, paths in REFUSED.items() for path in paths])
def test_refused_for_a_reason_of_its_own(path: str, why: str):
    with pytest.raises(PathRefused) as caught:
        normalise(path)
    assert caught.value.exit_code == 6
    assert caught.value.details["path"] == path
    said = str(caught.value.details["why"])
    assert said in {why.format(part=part) for part in path.split("/")}


def test_every_reason_is_another():
    assert len({str(Text(why, part="")) for why in REFUSED}) == len(REFUSED)


@pytest.mark.req("PT-7")
@each(("path", "parts"), FINE.items())
def test_fine(path: str, parts: tuple[str, ...]):
    assert normalise(path) == parts


@pytest.mark.req("PT-7")
@given(st.text(st.sampled_from("ab./\\~:\0 gitAGENT\u200d-")))
def test_what_is_let_through_stays_inside(path: str):
    try:
        parts = normalise(path)
    except PathRefused:
        return
    assert parts
    assert not {"", ".", ".."} & set(parts)
    assert not any("/" in part or "\0" in part for part in parts)
    assert not any(unicodedata.normalize("NFKC", part).casefold() in {".git", ".agent"} for part in parts)
    assert normalise("/".join(parts)) == parts


@pytest.mark.req("PT-7")
@given(st.data())
def test_git_in_any_case_and_company_is_refused(data: st.DataObject):
    name = data.draw(st.sampled_from([".git", ".agent"]))
    written = "".join(
        data.draw(st.sampled_from([letter.lower(), letter.upper(), unicodedata.normalize("NFD", letter)]))
        + data.draw(st.sampled_from(["", "", "\u200b", "\u200d", "\ufeff"]))
        for letter in name
    )
    ending = data.draw(st.sampled_from(["", ".", " ", ". .", ":x", "::$INDEX_ALLOCATION"]))
    before = data.draw(st.sampled_from(["", "a/", "a/b/", "./"]))
    after = data.draw(st.sampled_from(["", "/config", "/hooks/pre-commit"]))
    with pytest.raises(PathRefused):
        normalise(before + written + ending + after)
