"""What a model can do in a copy; git is the oracle of what changed."""

import os
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.engine.process import BUILT_IN
from ringi.runs.copy_tools import CopyTools
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolResult
from ringi.tree.copy import capture
from ringi.tree.copy_steps import checkout
from tests.fakes.tools import KEY, TEXT, ToolDesk, tool_desk
from tests.functional.beside_desk import walled
from tests.tables import each
from tests.unit.tree.repositories import commit, fingerprint, git, write

pytestmark = pytest.mark.req("PP-15")


@pytest.fixture
def desk(monkeypatch):
    with tool_desk(monkeypatch) as made:
        yield made


@pytest.fixture(scope="module")
def shared():
    """For tests that change nothing."""
    with pytest.MonkeyPatch.context() as patch, tool_desk(patch) as made:
        target = made.root.parent / "target"
        target.mkdir()
        (target / "x").write_text("theirs\n")
        os.mkfifo(made.copy.tree / "pipe")
        with socket.socket(socket.AF_UNIX) as bound:
            folder = os.open(made.copy.tree, os.O_RDONLY)
            bound.bind(f"/proc/self/fd/{folder}/socket")
            os.close(folder)
        (made.copy.tree / "out").symlink_to(target / "x")
        (made.copy.tree / "away").symlink_to(target)
        (made.copy.tree / "huge.txt").write_bytes(b"x" * ((1 << 20) + 1))
        yield made


@pytest.fixture
def tools(desk: ToolDesk) -> CopyTools:
    return desk.tools()


def use(tools: CopyTools, name: str, **arguments: object) -> ToolResult:
    return tools.call(name, arguments, 60.0)


def told(result: ToolResult, kind: ErrorKind, *words: str) -> bool:
    """Whether it failed so, and says these."""
    return (result.error, result.text) == (kind, "") and all(word in result.message for word in words)


class TestOffered:
    def test_what_reads_and_what_writes(self, tools: CopyTools):
        assert {one.name: one.effect for one in tools.list_tools()} == {
            **dict.fromkeys(["list", "read", "search"], ToolEffect.READS),
            **dict.fromkeys(["write", "patch"], ToolEffect.COPY),
        }
        assert [one.name for one in tools.list_tools() if one.parallel] == ["list", "read", "search"]

    @walled
    def test_a_command_needs_a_sandbox_and_files_that_may_be_sent(self, desk: ToolDesk):
        assert "run" in {one.name for one in desk.tools(sandbox="auto").list_tools()}
        for without in (desk.tools(sandbox="off"), desk.tools(sandbox="auto", never_send=("*.csv",))):
            assert "run" not in {one.name for one in without.list_tools()}
            assert told(use(without, "run", argv=["touch", "made"]), ErrorKind.UNKNOWN_TOOL)
        assert not (desk.copy.tree / "made").exists()

    def test_words_of_the_tools_are_few(self, desk: ToolDesk):
        assert sum(len(one.description.split()) for one in desk.tools().list_tools()) < 70


class TestList:
    def test_without_what_git_ignores_and_what_is_ours(self, desk: ToolDesk, tools: CopyTools):
        write(desk.copy.tree, {"build/out.o": "x", ".agent/config.yaml": "x: 1\n", "new.txt": "new\n"})
        listed = use(tools, "list").text.split("\n")
        assert listed == sorted([*git(desk.root, "ls-files").split(), "new.txt"])

    @pytest.mark.parametrize(
        ("arguments", "found"),
        [
            ({"path": "src"}, ["src/app.py", "src/lines.txt", "src/secret.py"]),
            ({"path": "./src/"}, ["src/app.py", "src/lines.txt", "src/secret.py"]),
            ({"path": "src/app.py"}, ["src/app.py"]),
            ({"path": "."}, None),
            ({"glob": "*.py"}, ["src/app.py", "src/secret.py", "tests/test_app.py"]),
            ({"glob": "**/*.py"}, ["src/app.py", "src/secret.py", "tests/test_app.py"]),
            ({"glob": "src/*.py"}, ["src/app.py", "src/secret.py"]),
            ({"path": "src", "glob": "a*"}, ["src/app.py"]),
            ({"glob": "*.rs"}, ["no file"]),
        ],
    )
    def test_path_and_glob(self, shared: ToolDesk, arguments: dict[str, str], found: list[str] | None):
        listed = use(shared.tools(), "list", **arguments)
        assert listed.error is None
        assert found is None or listed.text.split("\n") == found

    def test_many_files_are_counted(self, desk: ToolDesk):
        write(desk.root, {f"many/{number % 3}/f{number}.txt": "" for number in range(500)})
        commit(desk.root)
        listed = use(desk.tools(), "list")
        assert listed.cut
        assert "many/ (500 files)" in listed.text
        assert "README.md" in listed.text
        assert "many/1/ (167 files)" in use(desk.tools(), "list", path="many").text

    def test_no_such_folder(self, tools: CopyTools):
        assert told(use(tools, "list", path="scr"), ErrorKind.NOT_FOUND, "src")
        assert told(use(tools, "list", glob="*" * 201), ErrorKind.INVALID_ARGUMENTS)


class TestRead:
    def test_whole_and_in_part(self, tools: CopyTools):
        assert use(tools, "read", path="src/lines.txt").text == f"src/lines.txt, lines 1 to 30 of 30:\n{TEXT}"
        part = use(tools, "read", path="src/lines.txt", first=3, last=4)
        assert part.text == "src/lines.txt, lines 3 to 4 of 30:\nline 3\nline 4\n"
        assert not part.cut
        assert use(tools, "read", path="src/lines.txt", first=29).text.endswith("\nline 29\nline 30\n")
        assert use(tools, "read", path="src/lines.txt", first=29, last=99).error is None
        assert use(tools, "read", path="src/lines.txt:3-4") == part
        assert use(tools, "read", path="src/lines.txt:3").text.endswith("3 to 3 of 30:\nline 3\n")

    @pytest.mark.parametrize(("first", "last"), [(31, 40), (0, -1), (-3, 2), (5, 4), (10**30, 10**31)])
    def test_lines_that_are_not_there(self, shared: ToolDesk, first: int, last: int):
        result = use(shared.tools(), "read", path="src/lines.txt", first=first, last=last)
        assert told(result, ErrorKind.INVALID_ARGUMENTS, "30 lines")

    def test_long_ones_are_cut(self, desk: ToolDesk, tools: CopyTools):
        write(desk.copy.tree, {"long.txt": "x\n" * 5000, "wide.txt": "é" * 40_000, "empty.txt": ""})
        long, wide = use(tools, "read", path="long.txt"), use(tools, "read", path="wide.txt")
        assert long.cut
        assert long.text.startswith("long.txt, lines 1 to 800 of 5000:\n")
        assert wide.cut
        assert len(wide.text.encode()) < 33_000
        assert wide.text.endswith("é")
        assert use(tools, "read", path="empty.txt").text == "empty.txt is empty."

    def test_secrets_are_masked_wherever_the_part_begins(self, desk: ToolDesk, tools: CopyTools):
        pem = (
            "-----BEGIN PRIVATE KEY-----\n"
            + "QUJD" * 16
            + "\n"
            + "REVG" * 16
            + "\n-----END PRIVATE KEY-----\n"
        )
        write(desk.copy.tree, {"notes.txt": f"a\n{pem}b\n"})
        assert KEY not in use(tools, "read", path="src/secret.py").text
        assert "REVG" not in use(tools, "read", path="notes.txt", first=4, last=4).text
        assert use(tools, "search", query="REVGREVG").text == "no line contains REVGREVG"

    def test_what_no_model_is_shown(self, desk: ToolDesk):
        tools = desk.tools(never_send=("data/*.csv",))
        for path in (".env", "data/private.csv", "DATA/../.env", "./.env"):
            result = use(tools, "read", path=path)
            assert result.error is ErrorKind.NOT_ALLOWED
            assert result.text == ""
        assert use(tools, "search", query="one,two").text == "no line contains one,two"
        assert KEY not in use(tools, "search", query="TOKEN").text

    @pytest.mark.parametrize(
        ("path", "kind", "word"),
        [
            ("data/logo.bin", ErrorKind.INVALID_ARGUMENTS, "not text"),
            ("data/latin.txt", ErrorKind.INVALID_ARGUMENTS, "UTF-8"),
            ("src", ErrorKind.INVALID_ARGUMENTS, "list"),
            ("src/ap.py", ErrorKind.NOT_FOUND, "src/app.py"),
            ("app.py", ErrorKind.NOT_FOUND, "src/app.py"),
            ("pipe", ErrorKind.NOT_ALLOWED, "pipe"),
            ("socket", ErrorKind.NOT_ALLOWED, "socket"),
            ("out", ErrorKind.NOT_ALLOWED, "link"),
            ("away/x", ErrorKind.NOT_ALLOWED, "link"),
            ("src/app.py/x", ErrorKind.NOT_ALLOWED, "not a folder"),
            ("huge.txt", ErrorKind.INVALID_ARGUMENTS, "bytes"),
        ],
    )
    def test_what_cannot_be_read(self, shared: ToolDesk, path: str, kind: ErrorKind, word: str):
        assert told(use(shared.tools(), "read", path=path), kind, word)

    def test_a_file_without_permission(self, desk: ToolDesk, tools: CopyTools):
        (desk.copy.tree / "src/app.py").chmod(0)
        result = use(tools, "read", path="src/app.py")
        assert result.error is (None if os.geteuid() == 0 else ErrorKind.TOOL_ERROR)


class TestSearch:
    def test_lines_with_their_place(self, tools: CopyTools):
        assert use(tools, "search", query="def greet").text == "src/app.py:1: def greet(name):"
        assert use(tools, "search", query="LINE 3", path="src").text.startswith("no line")
        assert (
            use(tools, "search", query="line 3", path="src").text
            == "src/lines.txt:3: line 3\nsrc/lines.txt:30: line 30"
        )
        found = use(tools, "search", query="hello", glob="*.py").text
        assert found == "src/app.py:2:     return f'Hello {name}'"

    def test_a_pattern_is_plain_text(self, desk: ToolDesk, tools: CopyTools):
        write(desk.copy.tree, {"a.txt": "a" * 200_000 + "\n(a+)+$\n"})
        assert use(tools, "search", query="(a+)+$").text == "a.txt:2: (a+)+$"

    @pytest.mark.parametrize("text", ["", "  ", "a\nb", "x" * 300])
    def test_not_a_part_of_a_line(self, shared: ToolDesk, text: str):
        assert told(use(shared.tools(), "search", query=text), ErrorKind.INVALID_ARGUMENTS, "one line")

    def test_many_are_cut(self, desk: ToolDesk, tools: CopyTools):
        write(desk.copy.tree, {f"f{number}.txt": "word\n" * 9 for number in range(50)})
        found = use(tools, "search", query="word")
        assert found.cut
        assert found.text.count("\n") <= 101
        assert "there may be more" in found.text

    def test_out_of_time(self, tools: CopyTools):
        result = tools.call("search", {"query": "greet"}, -1.0)
        assert (result.error, result.cut) == (ErrorKind.TIMEOUT, True)


def test_many_read_at_once(desk: ToolDesk, tools: CopyTools):
    """The first call captures the copy, whichever it is."""
    calls = [("list", {}), ("read", {"path": "src/app.py"}), ("search", {"query": "greet"})] * 5
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda call: tools.call(*call, 60.0), calls))
    assert found[:3] == found[3:6] == found[-3:]
    assert all(one.error is None for one in found)


class TestWrite:
    def test_new_and_again(self, desk: ToolDesk, tools: CopyTools):
        first = use(tools, "write", path="docs/new.md", content="new\n")
        assert first.changed == ("docs/new.md",)
        second = use(tools, "write", path="docs/new.md", content="other\n")
        assert (second.changed, desk.file("docs/new.md")) == (("docs/new.md",), "other\n")
        assert first.tree != second.tree == desk.copy.difference().tree
        same = use(tools, "write", path="./docs//new.md", content="other\n")
        assert (same.changed, same.tree, same.error) == ((), second.tree, None)
        assert "docs/new.md" in use(tools, "list").text
        assert not (desk.root / "docs").exists()

    def test_a_change_of_the_same_length_at_once_is_seen(self, desk: ToolDesk, tools: CopyTools):
        for word in ("Demo", "Memo", "Nemo"):
            result = use(tools, "write", path="README.md", content=f"# {word}\n\nA demo.\n")
            assert result.changed == (() if word == "Demo" else ("README.md",))

    def test_somebody_puts_the_copy_back(self, desk: ToolDesk, tools: CopyTools):
        first = use(tools, "write", path="a.txt", content="a\n")
        use(tools, "write", path="b.txt", content="b\n")
        checkout(desk.copy, first.tree)
        assert "b.txt" not in use(tools, "list").text
        assert use(tools, "write", path="c.txt", content="c\n").changed == ("c.txt",)

    def test_a_program_stays_one(self, desk: ToolDesk, tools: CopyTools):
        (desk.copy.tree / "src/app.py").chmod(0o755)
        use(tools, "write", path="src/app.py", content="x = 1\n")
        assert os.access(desk.copy.tree / "src/app.py", os.X_OK)

    def test_what_git_ignores_is_no_change(self, desk: ToolDesk, tools: CopyTools):
        result = use(tools, "write", path="build/x.o", content="x")
        assert (result.changed, result.error) == ((), None)
        assert "git ignores" in result.text

    def test_a_mask_never_replaces_a_secret(self, desk: ToolDesk, tools: CopyTools):
        shown = use(tools, "read", path="src/secret.py").text.partition("\n")[2]
        result = use(tools, "write", path="src/secret.py", content=shown)
        assert told(result, ErrorKind.INVALID_ARGUMENTS, "secret")
        assert KEY in desk.file("src/secret.py")

    @pytest.mark.parametrize(
        ("path", "content", "kind"),
        [
            (".env", "TOKEN=1\n", ErrorKind.NOT_ALLOWED),
            ("src", "x", ErrorKind.NOT_ALLOWED),
            ("src/app.py/x", "x", ErrorKind.NOT_ALLOWED),
            ("x" * 256, "x", ErrorKind.NOT_ALLOWED),
            ("/".join("x" * 2000), "x", ErrorKind.NOT_ALLOWED),
            ("a.txt", "\ud800", ErrorKind.INVALID_ARGUMENTS),
            ("a.txt", "a\0b", ErrorKind.INVALID_ARGUMENTS),
            ("a.txt", "x" * (1 << 21), ErrorKind.INVALID_ARGUMENTS),
            ("\ud800", "x", ErrorKind.NOT_ALLOWED),
            ("", "x", ErrorKind.NOT_ALLOWED),
        ],
    )
    def test_what_cannot_be_written(self, shared: ToolDesk, path: str, content: str, kind: ErrorKind):
        before = capture(shared.copy)[0].tree
        assert use(shared.tools(), "write", path=path, content=content).error is kind
        assert capture(shared.copy)[0].tree == before

    def test_no_repository_is_made(self, tools: CopyTools):
        for name in ("HEAD", "objects/x"):
            assert use(tools, "write", path=f"bare/{name}", content="x").error is None
        assert told(use(tools, "write", path="bare/refs/x", content="x"), ErrorKind.NOT_ALLOWED, "repository")


PATCH = """\
--- a/src/lines.txt
+++ b/src/lines.txt
@@ -3,3 +3,3 @@
 line 3
-line 4
+LINE 4
 line 5
"""


class TestPatch:
    def test_as_git_writes_it(self, desk: ToolDesk, tools: CopyTools):
        result = use(tools, "patch", diff=PATCH)
        assert result.changed == ("src/lines.txt",)
        assert desk.file("src/lines.txt") == TEXT.replace("line 4\n", "LINE 4\n")

    def test_wrong_numbers_are_mended(self, desk: ToolDesk, tools: CopyTools):
        result = use(tools, "patch", diff=PATCH.replace("@@ -3,3 +3,3 @@", "@@ -90,7 +91,2 @@"))
        assert result.changed == ("src/lines.txt",)

    def test_several_files_new_moved_and_deleted(self, desk: ToolDesk, tools: CopyTools):
        git(desk.root, "mv", "src/app.py", "src/hello.py")
        git(desk.root, "rm", "-q", "README.md")
        write(desk.root, {"docs/x.md": "x\n"})
        git(desk.root, "add", "-A")
        result = use(tools, "patch", diff=git(desk.root, "diff", "--cached", "-M"))
        assert desk.copy.base != result.tree
        assert result.changed == ("README.md", "docs/x.md", "src/app.py", "src/hello.py")
        assert git(desk.root, "write-tree").strip() == result.tree

    def test_a_mismatch_shows_what_is_there(self, desk: ToolDesk, tools: CopyTools):
        result = use(tools, "patch", diff=PATCH.replace("-line 4", "-line four"))
        assert told(
            result, ErrorKind.MISMATCH, "hunk 1", "line four", "lines 1 to 8:\nline 1\n", "\nline 4\nline 5\n"
        )
        assert result.changed == ()
        assert use(tools, "write", path="README.md", content="x\n").changed == ("README.md",)

    def test_a_mismatch_without_any_line_of_the_file(self, tools: CopyTools):
        patch = "--- a/src/app.py\n+++ b/src/app.py\n@@ -2,2 +2,2 @@\n-nothing\n-like it\n+x\n"
        assert told(use(tools, "patch", diff=patch), ErrorKind.MISMATCH, "hunk 1", "def greet(name):")

    def test_a_mismatch_shows_no_secret(self, tools: CopyTools):
        hunk = "@@ -1,2 +1,2 @@\n TOKEN = ''\n-NAME = 'demo'\n+NAME = ''\n"
        patch = f"--- a/src/secret.py\n+++ b/src/secret.py\n{hunk}"
        result = use(tools, "patch", diff=patch)
        assert result.error is ErrorKind.MISMATCH
        assert KEY not in result.message

    def test_of_the_second_of_two_files(self, tools: CopyTools):
        second = (
            "--- a/src/app.py\n+++ b/src/app.py\n@@ -1,2 +1,2 @@\n def greet(name):\n-    pass\n+    return\n"
        )
        result = use(tools, "patch", diff=PATCH + second)
        assert told(result, ErrorKind.MISMATCH, "src/app.py", "return f'Hello {name}'")
        assert use(tools, "search", query="LINE 4").text.startswith("no line")

    @pytest.mark.parametrize(
        ("patch", "kind"),
        [
            ("", ErrorKind.INVALID_ARGUMENTS),
            ("no patch", ErrorKind.INVALID_ARGUMENTS),
            ("--- a/none.py\n+++ b/none.py\n@@ -1 +1 @@\n-a\n+b\n", ErrorKind.MISMATCH),
            ("--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n", None),
            ("--- a/data/logo.bin\n+++ b/data/logo.bin\n@@ -1 +1 @@\n-a\n+b\n", None),
            ("--- /dev/null\n+++ b/README.md\n@@ -0,0 +1 @@\n+b\n", ErrorKind.MISMATCH),
            ("--- /dev/null\n+++ b/../out.md\n@@ -0,0 +1 @@\n+b\n", ErrorKind.NOT_ALLOWED),
            ("--- a/src/lines.txt\n+++ b/src/lines.txt\n@@ -1 +1 @@\n line 1\n", ErrorKind.INVALID_ARGUMENTS),
            ("\ud800", ErrorKind.INVALID_ARGUMENTS),
        ],
    )
    def test_what_cannot_be_applied(self, shared: ToolDesk, patch: str, kind: ErrorKind | None):
        desk, tools = shared, shared.tools()
        before = capture(desk.copy)[0].tree
        result = use(tools, "patch", diff=patch)
        assert result.error is kind if kind else result.error is not None
        assert KEY not in result.message
        assert capture(desk.copy)[0].tree == before

    def test_a_credential_cannot_be_patched(self, desk: ToolDesk, tools: CopyTools):
        patch = f"--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-TOKEN={KEY}\n+TOKEN=\n"
        assert told(use(tools, "patch", diff=patch), ErrorKind.NOT_ALLOWED, ".env")


OUTSIDE = [
    "../x", "src/../../x", "/etc/x", "//etc/x", "~/x", "~root/x", "C:/x", "c:x", "src\\..\\..\\x", "..\\x",
    "src/\0/../x", ".git/hooks/pre-commit", ".GIT/config", ".git./config", ".git /config", "agent~1/x",
    ".git::$DATA/config", "git~1/config", ".\u200bgit/config", ".\uff47\uff49\uff54/config", "./.git/config",
    "src/.git/config", ".agent/config.yaml", ".AGENT/config.yaml", ".agent./config.yaml", "away/x", "out", "",
    ".a\u200bgent/config.yaml", "src/../.git/config", "../project/README.md",
]  # fmt: skip


@each("path", OUTSIDE)
def test_no_path_leads_out_of_the_copy(shared: ToolDesk, path: str):
    tools, target = shared.tools(), shared.root.parent / "target"
    places = (shared.root, target, shared.copy.tree)
    before = [fingerprint(place) for place in places]
    quoted = path.replace("\\", "\\\\").replace("\0", "\\000")
    gone = "@@ -1 +0,0 @@\n-theirs\n"
    diffs = [
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+ours\n",
        f'--- a/README.md\n+++ "b/{quoted}"\n@@ -0,0 +1 @@\n+ours\n',
        f"diff --git a/README.md b/{path}\nsimilarity index 100%\nrename from README.md\nrename to {path}\n",
        f"diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n{gone}",
    ]
    calls = [("read", {"path": path}), ("write", {"path": path, "content": "ours\n"})]
    calls += [("patch", {"diff": diff}) for diff in diffs]
    for name, arguments in calls:
        result = tools.call(name, arguments, 60.0)
        assert result.error is not None, (name, result)
        assert "theirs" not in result.text + result.message
    assert [fingerprint(place) for place in places] == before


PART = st.sampled_from(
    [
        "..",
        ".",
        "",
        "src",
        "a",
        ".git",
        ".GIT",
        ".agent",
        "away",
        "~",
        "hooks",
        ".g\u200bit",
        "x y",
        "é",
        "\\",
        "\u202e",
    ]
)


class TestAnyPath:
    """One copy for all examples: it is told apart from the outside by fingerprints."""

    @pytest.fixture(autouse=True)
    def _place(self, desk: ToolDesk, tmp_path):
        type(self).desk, type(self).tools = desk, desk.tools()
        type(self).outside = tmp_path / "outside"
        type(self).outside.mkdir()
        (desk.copy.tree / "away").symlink_to(type(self).outside)

    def test_it_stays_in_the_copy(self):
        held = {
            folder: fingerprint(folder)
            for folder in (self.desk.root, self.outside, self.desk.copy.tree / ".git")
        }

        @given(parts=st.lists(PART, min_size=1, max_size=4), lead=st.sampled_from(["", "/", "./", "../"]))
        def try_it(parts: list[str], lead: str) -> None:
            path = lead + "/".join(parts)
            result = self.tools.call("write", {"path": path, "content": "x\n"}, 60.0)
            if result.error is None:
                place = self.desk.copy.tree / path
                assert place.resolve().is_relative_to(self.desk.copy.tree)
                assert place.read_text() == "x\n"
            for folder, before in held.items():
                assert fingerprint(folder) == before

        try_it()


@walled
@pytest.mark.req("PP-7")
class TestRun:
    @pytest.fixture
    def tools(self, desk: ToolDesk) -> CopyTools:
        return desk.tools(sandbox="auto")

    def test_what_it_prints_and_changes(self, desk: ToolDesk, tools: CopyTools):
        result = use(
            tools, "run", argv=["sh", "-c", "echo out; echo err >&2; echo new > new.txt; rm README.md"]
        )
        assert (result.error, result.text) == (None, "exit code 0\nout\nerr\n")
        assert result.changed == ("README.md", "new.txt")
        assert result.tree == desk.copy.difference().tree
        assert bytes(desk.printed) == b"out\nerr\n"
        assert (desk.root / "README.md").exists()

    def test_a_failure_has_its_exit_code(self, tools: CopyTools):
        result = use(tools, "run", argv=["sh", "-c", "echo no; exit 3"])
        assert (result.error, result.text) == (ErrorKind.COMMAND_FAILED, "exit code 3\nno\n")
        assert "3" in result.message

    def test_no_shell_reads_its_words(self, desk: ToolDesk, tools: CopyTools):
        result = use(tools, "run", argv=["echo", "$(touch made); touch made"])
        assert result.text == "exit code 0\n$(touch made); touch made\n"
        assert result.changed == ()

    def test_at_the_timeout_all_it_started_ends(self, desk: ToolDesk, tools: CopyTools):
        """What escaped into a session of its own would hold the lock."""
        script = "exec 9>lock; flock 9; setsid sh -c 'sleep 3000' & echo ready; sleep 3000"
        result = tools.call("run", {"argv": ["sh", "-c", script]}, 2.0)
        assert (result.error, result.text) == (ErrorKind.TIMEOUT, "exit code 124\nready\n")
        again = use(tools, "run", argv=["flock", "-n", "lock", "true"])
        assert again.error is None

    def test_the_end_of_much_output(self, tools: CopyTools):
        script = "i=0; while [ $i -lt 9000 ]; do echo line $i; i=$((i+1)); done"
        result = use(tools, "run", argv=["sh", "-c", script])
        assert result.cut
        assert result.text.endswith("line 8999\n")
        assert len(result.text) < 17_000

    def test_secrets_and_codes_of_terminals_are_not_passed_on(self, desk: ToolDesk):
        desk.environment |= {"MY_API_KEY": KEY, "GH_TOKEN": KEY, "PLAIN": "yes"}
        tools = desk.tools(sandbox="auto")
        script = (
            "echo $MY_API_KEY$GH_TOKEN; echo $PLAIN; cat src/secret.py; printf '\\033[31mred\\033[0m\\007\\n'"
        )
        result = use(tools, "run", argv=["sh", "-c", script])
        assert KEY not in result.text
        assert result.text.startswith("exit code 0\n\nyes\n")
        assert result.text.endswith("red\\x07\n")

    def test_gh_is_not_there_whoever_calls_it(self, desk: ToolDesk, tools: CopyTools):
        use(tools, "write", path="x.sh", content="g=g; ${g}h pr merge\n")
        result = use(tools, "run", argv=["sh", "x.sh"])
        assert result.error is ErrorKind.COMMAND_FAILED
        assert "gh is not available" in result.text

    def test_outside_the_copy_it_writes_nothing(self, desk: ToolDesk, tools: CopyTools, tmp_path):
        target = desk.root.parent / "target"
        result = use(tools, "run", argv=["sh", "-c", f"echo x > {target}; echo x > $HOME/x; echo x > in.txt"])
        assert result.changed == ("in.txt",)
        assert not target.exists()
        assert not (desk.root / "in.txt").exists()
        assert not (desk.root.parent / "home" / "x").exists()

    def test_a_copy_that_it_deletes(self, desk: ToolDesk, tools: CopyTools):
        result = use(tools, "run", argv=["sh", "-c", "rm -rf ./* ./.[a-z]*"])
        assert told(result, ErrorKind.SIDE_EFFECT, "deleted")
        assert use(tools, "write", path="a.txt", content="x").error is ErrorKind.SIDE_EFFECT

    @each(
        ("argv", "kind"),
        [
            ([], ErrorKind.INVALID_ARGUMENTS),
            ([""], ErrorKind.INVALID_ARGUMENTS),
            (["a\0b"], ErrorKind.INVALID_ARGUMENTS),
            (["echo", "\ud800"], ErrorKind.INVALID_ARGUMENTS),
            (["no-such-program"], ErrorKind.NOT_FOUND),
            (["./src/app.py"], ErrorKind.NOT_FOUND),
            (["gh", "pr", "merge"], ErrorKind.NOT_ALLOWED),
            (["sh", "-c", "true; /usr/bin/gh pr merge"], ErrorKind.NOT_ALLOWED),
            (["sudo", "true"], ErrorKind.NOT_ALLOWED),
            (["ringi", "approve", "p1"], ErrorKind.NOT_ALLOWED),
            (["python3", "-m", "ringi", "approve", "p1"], ErrorKind.NOT_ALLOWED),
            (["sh", "-c", ":(){ :|:& };:"], ErrorKind.NOT_ALLOWED),
        ],
    )
    def test_what_is_not_run(self, shared: ToolDesk, argv: list[str], kind: ErrorKind):
        desk = shared
        assert use(desk.tools(sandbox="auto"), "run", argv=argv).error is kind
        assert not desk.printed

    def test_a_pipe_where_git_reads_its_rules_does_not_block(self, tools: CopyTools):
        result = use(
            tools, "run", argv=["sh", "-c", "rm .gitignore; mkfifo .gitignore src/.gitattributes; echo x > x"]
        )
        assert (result.error, result.changed) == (None, (".gitignore", "x"))

    def test_without_time(self, tools: CopyTools):
        for seconds in (0.0, -5.0):
            assert tools.call("run", {"argv": ["true"]}, seconds).error is ErrorKind.TIMEOUT


def test_there_is_no_other_tool(tools: CopyTools):
    for name in ("Read", "delete", "", "__class__", "call"):
        assert name not in BUILT_IN
        assert tools.call(name, {}, 1.0).error is ErrorKind.UNKNOWN_TOOL
