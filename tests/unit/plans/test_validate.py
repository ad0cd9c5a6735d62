"""What can be carried out, what it would do, and every reason why not."""

import base64
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.config import keys
from ringi.config.keys import UNJUDGED
from ringi.kernel.codec import digest
from ringi.kernel.fs import OsFileSystem
from ringi.ledger.event import Actor
from ringi.plans.effects import Rules
from ringi.plans.validate import Validated, validate
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, Encoding
from ringi.tree.file_state import FileState
from ringi.tree.tree import Tree
from tests.helpers import create, delete, open_scratch, untouched, write
from tests.tables import each

LIMITS = keys.LimitsConfig(max_file_bytes=1000, max_specs=5, forbidden_extensions=(".exe", ".tar.gz"))
RULES = Rules(
    LIMITS,
    keys.RiskConfig(large_overwrite_lines=10, large_overwrite_bytes=100),
    keys.RunConfig(allowed=("make test", "pytest *"), timeout_sec=60),
    new_file_mode=0o644,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "dir").mkdir()
    (tmp_path / "file.txt").write_text("one\ntwo\n")
    (tmp_path / "file.txt").chmod(0o640)
    (tmp_path / "dir" / "inner.txt").write_text("inner\n")
    (tmp_path / "blob").write_bytes(b"\0" * 200)
    return tmp_path


def checked(
    root: Path, *specs: ActionSpec, basis=None, rules: Rules = RULES, actor: Actor = Actor.AI
) -> Validated:
    with untouched(root):
        return validate(specs, Tree(OsFileSystem(), root), rules, basis or {}, actor=actor)


def issues(root: Path, *specs: ActionSpec, **more) -> list[str]:
    validated = checked(root, *specs, **more)
    assert validated.report.ok == (not validated.report.issues)
    assert tuple(str(problem) for problem in validated.problems) == validated.report.issues
    return list(validated.report.issues)


@pytest.mark.req("PT-7")
@each(
    ("spec", "why"),
    [
        (write("../x", "x"), "it leaves its folder with .."),
        (write("/etc/passwd", "x"), "it is absolute"),
        (write(".git/config", "x"), "it lies in .git, which belongs to git"),
        (write("", "x"), "it names no file"),
        (write("dir", "x"), "it is a folder"),
        (write("file.txt/x", "x"), "file.txt is a file, not a folder"),
        (create("file.txt", "x"), "the file exists; use write to overwrite it"),
        (delete("nothing"), "it is not there"),
        (ActionSpec(SpecKind.WRITE, "new.txt"), "it has no content"),
        (ActionSpec(SpecKind.WRITE, "file.txt"), "it has no content"),
        (ActionSpec(SpecKind.CREATE, "new.txt", mode="0755"), "it has no content"),
        (write("new.txt", "x" * 1001), "it has 1001 bytes, 1000 are allowed"),
        (write("new.txt", "é" * 501), "it has 1002 bytes, 1000 are allowed"),
        (write("a.exe", "x"), "no review can judge a .exe file, so no agent may add one"),
        (write("dir/A.EXE", "x"), "take it out of limits.forbidden_extensions"),
        (write("a.tar.gz", "x"), "files ending in .tar.gz are forbidden"),
        (write("a.txt", "?", encoding=Encoding.BASE64), "its content is not valid base64"),
        (write("a.txt", "QQ", encoding=Encoding.BASE64), "its content is not valid base64"),
        (write("a.txt", "Q Q==", encoding=Encoding.BASE64), "its content is not valid base64"),
        (write("a.txt", "\uff31\uff31==", encoding=Encoding.BASE64), "its content is not valid base64"),
        (write("a.txt", "x", mode="755"), "its mode 755 is not four octal digits such as 0644"),
        (write("a.txt", "x", mode="4755"), "is not four octal digits"),
        (write("a.txt", "x", mode="0888"), "is not four octal digits"),
        (write("a.txt", "x", mode="0644\n"), "is not four octal digits"),
        (write("a.txt", "x", mode=""), "is not four octal digits"),
        (ActionSpec(SpecKind.PATCH, "a.txt"), "it has no content"),
        (ActionSpec(SpecKind.PATCH, "a.txt", ""), "it is empty"),
        (ActionSpec(SpecKind.MOVE, "file.txt"), "it names no file"),
        (ActionSpec(SpecKind.MOVE, "file.txt", target="../x"), "it leaves its folder with .."),
        (ActionSpec(SpecKind.MOVE, "file.txt", target=".agent/x"), "belongs to ringi"),
        (ActionSpec(SpecKind.MOVE, "file.txt", target="file.txt"), "it is moved to where it is"),
        (ActionSpec(SpecKind.MOVE, "file.txt", target="a.exe"), "no review can judge a .exe file"),
        (ActionSpec(SpecKind.MOVE, "none.txt", target="a.txt"), "it is not there"),
        (ActionSpec(SpecKind.MOVE, "dir", target="a"), "it is a folder"),
        (ActionSpec(SpecKind.MOVE, "file.txt", target="blob"), "blob exists, and nothing is moved onto it"),
        (ActionSpec(SpecKind.MOVE, "file.txt", "x", target="b"), "move specs have no content"),
        (ActionSpec(SpecKind.MKDIR, "file.txt"), "a file is there"),
        (ActionSpec(SpecKind.MKDIR, "new", mode="777"), "is not four octal digits"),
        (ActionSpec(SpecKind.MKDIR, ""), "it names no file"),
        (ActionSpec(SpecKind.READ, "none.txt"), "it is not there"),
        (ActionSpec(SpecKind.READ, "dir"), "it is a folder"),
        (ActionSpec(SpecKind.READ, ""), "it names no file"),
        (ActionSpec(SpecKind.ANALYZE, "none.txt"), "it is not there"),
        (ActionSpec(SpecKind.RUN), "it has no command"),
        (ActionSpec(SpecKind.RUN, argv=("",)), "it has no command"),
        (ActionSpec(SpecKind.RUN, argv=("a\0b",)), "its command cannot be run by any system"),
        (ActionSpec(SpecKind.RUN, "file.txt", argv=("true",)), "a command runs in a folder"),
        (ActionSpec(SpecKind.RUN, "..", argv=("true",)), "it leaves its folder with .."),
        (ActionSpec(SpecKind.RUN, argv=("true",), timeout_sec=0), "its timeout must be from 1"),
        (ActionSpec(SpecKind.RUN, argv=("true",), group="g"), "a command cannot be part of a group"),
        (ActionSpec(SpecKind.RUN, argv=("true",), content="x"), "run specs have no content"),
        (ActionSpec(SpecKind.CALL), "it names no tool"),
        (ActionSpec(SpecKind.CALL, tool="t", group="g"), "a command cannot be part of a group"),
        (ActionSpec(SpecKind.WRITE, "a.txt", "x", argv=("rm",)), "write specs have no argv"),
        (ActionSpec(SpecKind.DELETE, "file.txt", "x"), "delete specs have no content"),
    ],
)
def test_refused(root: Path, spec: ActionSpec, why: str):
    found = issues(root, spec)
    assert len(found) == 1
    assert found[0].startswith("s1 ")
    assert why in found[0]
    ext = checked(root, spec).report.normalized[0]
    assert not ext.validated
    assert why in ext.notes
    assert (ext.before, ext.after) == (None, None)


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("kind", ["file", "folder", "above", "pipe"])
def test_links_and_pipes_are_refused(root: Path, kind: str):
    paths = {"file": "link", "folder": "link", "above": "link/inner.txt", "pipe": "pipe"}
    (root / "link").symlink_to("file.txt" if kind == "file" else "dir")
    os.mkfifo(root / "pipe")
    for spec in (write(paths[kind], "x"), create(paths[kind], "x"), delete(paths[kind])):
        assert len(issues(root, spec)) == 1


@pytest.mark.req("PT-3", "PT-7")
def test_what_the_report_says_of_good_specs(root: Path):
    report = checked(
        root,
        write("./file.txt", "one\n2\nthree\n"),
        create("new/a.txt", "a\n"),
        delete("dir/inner.txt"),
        write("blob", base64.b64encode(b"\0" * 50).decode(), encoding=Encoding.BASE64),
    ).report
    first, second, third, fourth = report.normalized
    assert report.ok
    assert first.base.path == "file.txt"
    assert (first.preflight.exists, first.preflight.overwrite, first.preflight.diff_summary) == (
        True,
        True,
        "+2 -1",
    )
    assert first.before == FileState(digest(b"one\ntwo\n"), "0640")
    assert first.after == FileState(digest(b"one\n2\nthree\n"), "0640")
    assert (second.preflight.exists, second.preflight.overwrite, second.preflight.diff_summary) == (
        False,
        False,
        "+1 -0",
    )
    assert (second.before, second.after) == (None, FileState(digest(b"a\n"), "0644"))
    assert (third.preflight.exists, third.preflight.overwrite, third.preflight.diff_summary) == (
        True,
        False,
        "+0 -1",
    )
    assert third.after is None
    assert fourth.preflight.diff_summary == "binary"
    assert fourth.after.sha256 == digest(b"\0" * 50)
    assert [ext.id for ext in report.normalized] == ["s1", "s2", "s3", "s4"]
    assert [str(ext.risk) for ext in report.normalized] == ["low", "low", "high", "high"]


@pytest.mark.req("PT-3")
def test_modes(root: Path):
    kept, given_, new = checked(
        root, write("file.txt", "x"), write("dir/inner.txt", "x", mode="0755"), create("n", "x", mode="0600")
    ).report.normalized
    assert (kept.after.mode, given_.after.mode, new.after.mode) == ("0640", "0755", "0600")
    only_mode = checked(root, ActionSpec(SpecKind.WRITE, "file.txt", mode="0755")).report.normalized[0]
    assert only_mode.after == FileState(digest(b"one\ntwo\n"), "0755")
    assert only_mode.preflight.diff_summary == "+0 -0"


@pytest.mark.req("PT-7")
@pytest.mark.parametrize(
    ("specs", "why"),
    [
        ([write("a", "x"), write("./a", "y")], "a: two specs name it"),
        ([write("file.txt", "x"), delete("file.txt")], "file.txt: two specs name it"),
        ([create("n", "x"), create("n/m", "y")], "n/m: n is to be a file and a folder at once"),
        ([create("n/m/o", "x"), create("n", "y")], "n/m/o: n is to be a file and a folder at once"),
        ([], "there are no specs"),
        (
            [create(str(n), "x") for n in range(6)],
            "there are 6 specs, 5 are allowed: make several plans of them",
        ),
    ],
    ids=str,
)
def test_specs_that_do_not_go_together(root: Path, specs: list[ActionSpec], why: str):
    assert issues(root, *specs) == [why]


def test_a_file_beside_a_folder_with_a_longer_name_is_no_clash(root: Path):
    assert issues(root, create("n", "x"), create("n.d/m", "y"), create("nm/o", "z")) == []


def test_a_name_that_only_looks_like_an_extension_is_fine(root: Path):
    assert (
        issues(root, create("exe", "x"), create("tar.gz.txt", "x"), create("a.tar", "x"), delete("file.txt"))
        == []
    )


@pytest.mark.req("PT-12")
def test_a_proposer_who_saw_another_state_makes_the_plan_stale_not_wrong(root: Path):
    seen = FileState(digest(b"earlier\n"), "0644")
    basis = {"file.txt": seen, "gone.txt": seen, "dir/inner.txt": None}
    report = checked(
        root, write("file.txt", "x"), delete("gone.txt"), create("dir/inner.txt", "x"), basis=basis
    ).report
    assert report.ok
    assert [ext.before for ext in report.normalized] == [seen, seen, None]


any_specs = st.builds(
    ActionSpec,
    kind=st.sampled_from(SpecKind),
    path=st.text(max_size=8),
    content=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    encoding=st.sampled_from(Encoding),
    mode=st.none() | st.text(max_size=4),
)


@pytest.mark.req("PT-7")
@given(st.lists(any_specs, max_size=4))
def test_any_specs_give_a_report(tmp_path_factory: pytest.TempPathFactory, specs: list[ActionSpec]):
    root = tmp_path_factory.getbasetemp()
    validated = validate(specs, Tree(OsFileSystem(), root), RULES, {})
    assert len(validated.report.normalized) == len(validated.diffs) == len(specs)
    assert (
        validated.report.ok == all(ext.validated for ext in validated.report.normalized) or validated.problems
    )


@pytest.mark.req("PT-7")
def test_the_configured_limits_are_used(tmp_path: Path):
    with open_scratch(
        tmp_path, RINGI_LIMITS_MAX_FILE_BYTES="10", RINGI_LIMITS_FORBIDDEN_EXTENSIONS="py,.tar.gz"
    ) as ws:
        plan_id = ws.plan.propose("Limits")
        report = ws.plan.set_action_specs(
            plan_id,
            [create("a.txt", "x" * 11), create("b.py", "x"), create("c.TAR.GZ", "x"), create("d", "x")],
        )
        assert [ext.validated for ext in report.normalized] == [False, False, False, True]
        with untouched(ws.places.root):
            preview = ws.plan.preview(plan_id)
        assert [bool(diff.diff) for diff in preview.diffs] == [False, False, False, True]


REPOSITORY = {
    "HEAD": "ref: refs/heads/x\n",
    "config": "[core]\n\tbare = true\n",
    "objects/x": "",
    "refs/x": "",
}


def repository(folder: str, left_out: str = "") -> list[ActionSpec]:
    return [create(f"{folder}/{name}", text) for name, text in REPOSITORY.items() if name != left_out]


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("left_out", ["", "config", *REPOSITORY])
def test_a_folder_that_git_takes_for_a_repository_is_refused(root: Path, left_out: str):
    specs = repository("a/b", left_out)
    found = issues(root, *specs)
    for spec in specs:
        (root / spec.path).parent.mkdir(parents=True, exist_ok=True)
        (root / spec.path).write_text(spec.content or "")
    git = [
        "git",
        "-c",
        "safe.bareRepository=all",
        "-C",
        str(root / "a/b"),
        "rev-parse",
        "--is-bare-repository",
    ]
    taken = subprocess.run(git, capture_output=True, text=True, check=False).stdout == "true\n"
    assert taken is (left_out in {"", "config"})
    assert bool(found) is taken
    if found:
        assert found == ["a/b: with HEAD, objects and refs in it, git obeys it as a repository"]


@pytest.mark.req("PT-7")
def test_one_that_is_there_is_neither_completed_nor_configured(root: Path):
    (root / "dir/objects").mkdir()
    (root / "dir/refs").mkdir()
    assert issues(root, create("dir/HEAD", "x"))
    assert issues(root, create("dir/Head", "x"), ActionSpec(SpecKind.MKDIR, "dir/REFS"))
    assert issues(root, ActionSpec(SpecKind.MOVE, "file.txt", target="dir/HEAD"))
    assert issues(root, create("deep/HEAD", "x"), create("deep/commondir", "../dir"))
    assert not issues(root, create("dir/head.txt", "x"), create("HEAD", "x"))
    (root / "dir/HEAD").write_text("ref: refs/heads/x\n")
    assert issues(root, write("dir/config", "[core]\n\tfsmonitor = evil\n"))
    assert issues(root, write("dir/hooks/post-commit", "evil"))
    assert not issues(root, delete("dir/HEAD"))


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("extension", UNJUDGED)
def test_no_agent_adds_what_no_review_can_judge(root: Path, extension: str):
    rules = RULES._replace(limits=replace(LIMITS, forbidden_extensions=(*UNJUDGED, ".pem")))
    spec = create(f"lib/X{extension.upper()}", "x")
    (found,) = issues(root, spec, rules=rules)
    assert "no agent may add one; propose it yourself with ringi propose --file" in found
    by_person = checked(root, spec, rules=rules, actor=Actor.USER)
    assert by_person.report.ok
    assert by_person.report.normalized[0].risk is Risk.HIGH
    for actor in Actor:
        assert "forbidden" in checked(root, create("a.pem", "x"), rules=rules, actor=actor).report.issues[0]
    (root / f"have{extension}").write_bytes(b"x")
    assert not issues(root, delete(f"have{extension}"), rules=rules)
    assert not issues(
        root, ActionSpec(SpecKind.MOVE, f"have{extension}", target=f"a/b{extension}"), rules=rules
    )
    (root / "blob2").write_bytes(b"x")
    assert issues(root, ActionSpec(SpecKind.MOVE, "blob2", target=f"a/b{extension}"), rules=rules)


@pytest.mark.req("PT-7")
def test_a_binary_and_an_emptied_file_are_named(root: Path):
    image = base64.b64encode(b"\x89PNG" + bytes(20)).decode()
    (root / "long.txt").write_text("".join(f"{n}\n" for n in range(30)))
    found = checked(
        root,
        ActionSpec(SpecKind.CREATE, "logo.png", image, encoding=Encoding.BASE64),
        write("long.txt", "0\n"),
        write("file.txt", ""),
        ActionSpec(SpecKind.MOVE, "blob", target="blob2"),
    ).report.normalized
    assert [(str(spec.risk), [str(one.code) for one in spec.risk_reasons]) for spec in found] == [
        ("medium", ["binary"]),
        ("high", ["large_overwrite", "emptied"]),
        ("high", ["emptied"]),
        ("high", ["large_rewrite", "binary", "hidden_characters"]),
    ]


@pytest.mark.req("PT-8")
def test_a_budget_counts_a_line_for_every_hundred_bytes(root: Path):
    def weight(content: bytes) -> int:
        packed = base64.b64encode(content).decode()
        spec = ActionSpec(SpecKind.CREATE, "new", packed, encoding=Encoding.BASE64)
        return checked(root, spec).diffs[0].weight

    assert [weight(b"x\n" * 3), weight(b"x" * 100), weight(b"x" * 101), weight(b"x" * 950 + b"\ny")] == [
        3,
        1,
        2,
        11,
    ]
    assert weight(bytes(950)) == 10
