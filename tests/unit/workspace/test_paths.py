"""Names that may be written, and those that lead elsewhere or belong to git and ringi."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import PathRefused
from ringi.workspace.paths import normalise

REFUSED = [
    # Leaving the workspace.
    "..", "../x", "a/../b", "a/..", "./../x", "/etc/passwd", "/", "//x", "~", "~/x", "~root/x", "",
    ".", "./", "a/", "a/b/", "/.", "\0", "a\0b", "a\\b", "\\", "..\\x", "C:x", "c:/x", "C:\\x", "Z:",
    # Not UTF-8, too long.
    "\udcff", "a/\ud800", "x" * 256, "é" * 128, "a/" + "b" * 300,
    # Git's and ringi's own, in every disguise a file system may see through.
    ".git", ".git/config", "a/.git/hooks/x", ".GIT/x", ".Git", ".gIt/config", ".git ", ".git.", ".git. .",
    ".git...", "git~1", "GIT~1/x", "git~2", "a/git~15", ".agent", ".agent/config.yaml", ".AGENT/x",
    "sub/.Agent/x", "agent~1", ".agent ", ".agent.",
    ".\uff47\uff49\uff54/config", "\uff0egit", "\u2024git", ".g\u200dit", ".g\u200bit", "\ufeff.git",
    ".git\u200c/x",
    ".\u2060git", ".gi\u00adt", ".git\u202e", ".\u1d4d\u1d62\u1d57", ".\u24d6\u24d8\u24e3",
    ".git::$INDEX_ALLOCATION", ".git::$INDEX_ALLOCATION/config", ".git:x", ".agent:stream", ".GIT::$DATA",
]  # fmt: skip
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
}


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("path", REFUSED, ids=ascii)
def test_refused(path: str):
    with pytest.raises(PathRefused) as caught:
        normalise(path)
    assert caught.value.exit_code == 6
    assert caught.value.details["path"] == path
    assert str(caught.value.details["why"])


@pytest.mark.req("PT-7")
@pytest.mark.parametrize(("path", "parts"), FINE.items(), ids=ascii)
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
