"""The way by script: propose, specs, show, request, approve, reject, execute, and the versions of a plan."""

import getpass
import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi import ActionSpec, open_workspace
from ringi.cli.main import BY_SCRIPT, CARE, COMMANDS, DAILY, MERGED, PROVE, main
from tests.functional.desk import MENU, RINGI, Desk
from tests.helpers import accept_signers_in, untouched

TEXT = """\
# Greet politely

```python app/hello.py
def hello():
    return "good day"
```

```text notes.txt
polite
```
"""
YES = r"\[y/n\]"


def spec(kind: str, path: str = "", **more: object) -> dict[str, object]:
    return {"kind": kind, "path": path, **more}


NOTES = spec("create", "notes.txt", content="new\n")
README = spec("write", "README.md", content="# Other\n")


def specs_file(desk: Desk, *specs: dict[str, object]) -> str:
    path = desk.root.parent / "specs.json"
    path.write_text(json.dumps(list(specs)))
    return str(path)


def propose(desk: Desk, *specs: dict[str, object], title: str = "A change") -> str:
    """Through the library: most tests are about what comes after."""
    with open_workspace(desk.root) as workspace:
        plan_id = workspace.plan.propose_specs(title, msgspec.convert(specs, tuple[ActionSpec, ...]))
        return workspace.plan_name(plan_id)


def failing(desk: Desk, *words: str, **variables: str) -> tuple[int, dict[str, Any]]:
    done = desk.run("--json", *words, **variables)
    return done.returncode, json.loads(done.stdout)


Quick = Callable[..., tuple[int, Any]]


@pytest.fixture
def quick(desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Quick:
    """As `failing`, without the time that a process of its own takes to start."""
    monkeypatch.chdir(desk.root)

    def run(*words: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = main(["--json", *words])
        return code, json.loads(capsys.readouterr().out)

    return run


def approve(desk: Desk, *words: str, answer: str = "y") -> str:
    terminal = desk.terminal("approve", *words)
    seen = terminal.answer(YES, answer)
    code, rest = terminal.end()
    assert code == (0 if answer == "y" else 3), rest
    return seen + rest


def configure(isolated: Path, text: str) -> None:
    (isolated / "config" / "ringi").mkdir(exist_ok=True)
    (isolated / "config" / "ringi" / "config.yaml").write_text(text)


@pytest.fixture
def key(isolated: Path, repo: Path, tmp_path: Path) -> str:
    """A key that the user has listed and accepted."""
    path = tmp_path / "key"
    make_key(path)
    folder = isolated / "config" / "ringi"
    folder.mkdir(exist_ok=True)
    public = " ".join(path.with_suffix(".pub").read_text().split()[:2])
    (folder / "allowed_signers").write_text(f'hanako namespaces="ringi-approval" {public}\n')
    (folder / "allowed_signers").chmod(0o600)
    accept_signers_in(repo)
    return str(path)


def make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)


# --- the whole way --------------------------------------------------------------------------------


@pytest.mark.req("PT-4", "PT-6", "PT-8", "PT-14")
def test_from_a_text_to_files_with_a_typed_approval(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(TEXT)
    with untouched(desk.root):
        made = desk.run("propose", str(tmp_path / "plan.md"))
        assert "→ ringi specs p1 --extract" in made.stdout
        assert desk.json("show", "p1")["state"]["status"] == "proposed"
        assert "→ ringi review p1" in desk.run("specs", "p1", "--extract").stdout
        listed = desk.run("specs", "p1").stdout
        assert re.search(r"s1 +write +app/hello\.py +low", listed)
        shown = desk.run("show", "p1", "--diff").stdout
        assert '+    return "good day"' in shown
        asked = desk.run("request", "p1").stdout
        assert "→ ringi approve p1" in asked
        assert re.search(r"sha256 [0-9a-f]{64}", asked)
        said = approve(desk, "p1", "--note", "looks right")
        assert "2 files" in said
        assert "→ ringi execute p1" in said
        assert "→ ringi execute p1" in desk.run("show", "p1").stdout
    done = desk.run("execute", "p1")
    assert done.returncode == 0, done.stderr
    assert "✓ notes.txt" in done.stdout
    assert "2 files written" in done.stdout
    assert "→ ringi undo p1" in done.stdout
    assert (desk.root / "notes.txt").read_text() == "polite\n"
    shown = desk.run("show", "p1").stdout
    assert "typed by" in shown
    assert "(weak)" in shown
    assert "note: looks right" in shown
    assert desk.run("log", "--verify").returncode == 0


@pytest.mark.req("PT-4", "PT-9")
def test_with_a_signature_nobody_sits_at_a_terminal(desk: Desk, key: str) -> None:
    name = propose(desk, NOTES, spec("delete", "README.md"))
    approved = desk.json("approve", name, "--sign", key, "--note", "from afar")
    assert approved["outcome"] == "approved"
    proof = approved["approval"]["proof"]
    assert (proof["kind"], proof["strength"], proof["principal"]) == ("signed", "strong", "hanako")
    result = desk.json("execute", name)
    assert result["overall_success"]
    assert {one["status"] for one in result["results"]} == {"done"}
    assert not (desk.root / "README.md").exists()
    assert "signed with a listed key of hanako (strong)" in desk.run("show", name).stdout


@pytest.mark.req("PT-9")
def test_a_key_that_is_not_listed_approves_nothing(desk: Desk, key: str, tmp_path: Path) -> None:
    make_key(tmp_path / "other")
    name = propose(desk, NOTES)
    code, said = failing(desk, "approve", name, "--sign", str(tmp_path / "other"))
    assert (code, said["error"]["code"]) == (6, "unlisted_key")
    code, said = failing(desk, "approve", name, "--sign", str(tmp_path / "missing"))
    assert (code, said["error"]["code"]) == (1, "signing_failed")
    assert desk.json("show", name)["state"]["status"] == "pending_review"
    assert desk.run("approve", name, "--sign", key).returncode == 0


@pytest.mark.req("PT-9")
def test_nothing_runs_without_an_approval(desk: Desk) -> None:
    name = propose(desk, NOTES, README)
    with untouched(desk.root):
        done = desk.run("execute", name)
        assert done.returncode == 3
        assert "nothing was changed" in done.stderr
        assert f"ringi approve {name}" in done.stderr
        assert f"ringi review {name}" in done.stderr
        assert failing(desk, "execute", name)[1]["error"]["code"] == "not_approved"
        desk.json("request", name)
        assert desk.run("execute", name).returncode == 3
        code, said = failing(desk, "approve", name)
        assert (code, said["error"]["code"]) == (3, "no_channel")
        assert f"ringi approve {name}" in said["error"]["hint"]


# --- answers --------------------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_no_is_no_decision(desk: Desk) -> None:
    name = propose(desk, NOTES)
    assert "Nothing was decided" in approve(desk, name, answer="n")
    assert desk.json("show", name)["state"]["status"] == "pending_review"


@pytest.mark.req("PT-8")
def test_a_high_risk_is_typed(desk: Desk) -> None:
    name = propose(desk, spec("delete", "README.md"))
    terminal = desk.terminal("approve", name)
    terminal.wanted()
    terminal.type("000000")
    code, rest = terminal.end()
    assert code == 3
    assert "nothing was approved" in rest
    assert desk.run("execute", name).returncode == 3
    terminal = desk.terminal("approve", name, "--diff")
    terminal.read("-# Sample")
    terminal.type(terminal.wanted())
    assert terminal.end()[0] == 0
    assert desk.run("execute", name).returncode == 0
    assert not (desk.root / "README.md").exists()


@pytest.mark.req("PT-4", "PT-8")
def test_only_some_specs(desk: Desk) -> None:
    name = propose(desk, NOTES, README, spec("delete", "app/hello.py"))
    asked = desk.json("request", name, "--only", "s1")
    assert asked["selection"] == {"all": False, "ids": ["s1"]}
    said = approve(desk, name, "--only", "s1")
    assert "the proposer is told: s2 write README.md" in said
    assert "the proposer is told: s3 delete app/hello.py" in said
    assert desk.run("execute", name).returncode == 0
    assert (desk.root / "notes.txt").exists()
    assert (desk.root / "README.md").read_text() == "# Sample\n"
    shown = desk.run("show", name).stdout
    assert "only s1" in shown
    assert "not approved: s2 write README.md" in shown


def test_a_selection_that_cannot_be(desk: Desk, quick: Quick) -> None:
    name = propose(desk, NOTES, spec("write", "README.md", content="x\n", group="g"),
                   spec("create", "y", content="y\n", group="g"))  # fmt: skip
    for only, code, error in [
        ("s9", 2, "not_found"),
        ("s1,s1", 6, "invalid_specs"),
        ("s2", 6, "invalid_specs"),
        ("", 2, "usage"),
        ("s1,", 2, "usage"),
    ]:
        found, said = quick("request", name, "--only", only)
        assert (found, said["error"]["code"]) == (code, error), only
    assert quick("show", name)[1]["state"]["status"] == "pending_review"


@pytest.mark.req("PT-8")
def test_several_plans_with_one_answer(desk: Desk, quick: Quick, isolated: Path, key: str) -> None:
    names = [propose(desk, spec("create", f"{n}.txt", content="x\n"), title=f"Plan {n}") for n in "ab"]
    code, said = quick("approve", *names, "--sign", key)
    assert (code, said["error"]["code"]) == (6, "not_together")
    configure(isolated, "approval: {together: low}\n")
    assert quick("approve", *names, "--only", "s1")[1]["error"]["code"] == "usage"
    assert quick("approve", names[0], names[0])[1]["error"]["code"] == "usage"
    said = approve(desk, *names)
    assert "Approve all 2?" in said
    assert all(f"→ ringi execute {name}" in said for name in names)
    assert all(desk.run("execute", name).returncode == 0 for name in names)
    more = [propose(desk, spec("create", f"{n}.txt", content="x\n")) for n in "cd"]
    assert [one["outcome"] for one in quick("approve", *more, "--sign", key)[1]] == ["approved"] * 2
    risky = propose(desk, spec("delete", "README.md"))
    code, said = quick("approve", propose(desk, README), risky, "--sign", key)
    assert (code, said["error"]["code"]) == (6, "not_together")
    assert risky in said["error"]["message"]


def test_an_approval_that_expired(desk: Desk, isolated: Path, key: str) -> None:
    configure(isolated, "approval: {expires_sec: 1}\n")
    name = propose(desk, NOTES)
    desk.json("approve", name, "--sign", key)
    time.sleep(1.1)
    with untouched(desk.root):
        code, said = failing(desk, "execute", name)
    assert (code, said["error"]["code"]) == (5, "expired")
    assert desk.json("show", name)["state"]["status"] == "pending_review"


@pytest.mark.req("PT-4")
def test_reject_sends_it_back_with_words(desk: Desk, quick: Quick) -> None:
    name = propose(desk, NOTES)
    assert quick("reject", name, "--feedback", "  ")[1]["error"]["code"] == "usage"
    assert desk.run("reject", name).returncode == 2
    assert quick("reject", name, "--feedback", "shorter, please")[1] == {
        "outcome": "declined", "feedback": "shorter, please",
    }  # fmt: skip
    state = quick("show", name)[1]["state"]
    assert state["status"] == "proposed"
    assert state["feedback"][0]["text"] == "shorter, please"
    assert f"→ ringi request {name} --pending" in desk.run("show", name).stdout
    code, said = quick("reject", name, "--feedback", "again")
    assert (code, said["error"]["code"]) == (6, "not_now")
    assert quick("request", name, "--pending")[1]["status"] == "pending_review"
    given = subprocess.run(
        [*RINGI, "reject", name, "--feedback", "-"], cwd=desk.root, input="from a file\n", text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    assert f"{name} sent back" in given.stdout
    assert quick("show", name)[1]["state"]["feedback"][-1]["text"] == "from a file"


def test_what_was_shown_is_what_is_approved(desk: Desk) -> None:
    name = propose(desk, NOTES)
    terminal = desk.terminal("approve", name)
    terminal.read(YES)
    desk.json("specs", name, "--file", specs_file(desk, spec("create", "evil.txt", content="x\n")))
    terminal.type("y")
    code, rest = terminal.end()
    assert code == 4, rest
    assert "was changed since you looked at it" in rest
    assert desk.json("show", name)["state"]["status"] == "pending_review"


@pytest.mark.req("PT-9")
def test_a_standing_approval_answers_at_once(desk: Desk, key: str) -> None:
    user = getpass.getuser()
    words = ("grant", "new", "--for", f"user:{user}", "--path", "*.txt", "--sign", key)
    assert desk.run(*words).returncode == 0
    covered, other = propose(desk, NOTES), propose(desk, README)
    said = desk.run("request", covered).stdout
    assert "a standing approval covers it" in said
    assert f"→ ringi execute {covered}" in said
    assert desk.run("execute", covered).returncode == 0
    assert "covered by the standing approval" in desk.run("show", covered).stdout
    assert "outcome" not in desk.json("request", other)
    again = propose(desk, spec("create", "again.txt", content="x\n"))
    assert desk.json("request", again)["outcome"] == "approved"
    terminal = desk.terminal("approve", propose(desk, spec("create", "more.txt", content="x\n")))
    code, seen = terminal.end()
    assert code == 0, seen
    assert "a standing approval covers it" in seen


# --- specs and texts ------------------------------------------------------------------------------


@pytest.mark.req("PT-7")
def test_specs_are_validated_each_on_its_line(desk: Desk, quick: Quick) -> None:
    name = propose(desk, NOTES)
    wrong = specs_file(desk, spec("delete", "no-such"), spec("create", "README.md", content="x\n"))
    done = desk.run("specs", name, "--file", wrong)
    assert done.returncode == 6
    assert "✗ s1 no-such" in done.stdout
    assert "✗ s2 README.md" in done.stdout
    code, report = quick("specs", name, "--file", wrong)
    assert (code, report["ok"], len(report["issues"])) == (6, False, 2)
    assert [one["id"] for one in quick("specs", name)[1]] == ["s1"], "the good ones stay"
    assert quick("propose", "--specs", wrong)[1]["error"]["code"] == "unfit_specs"
    assert len(quick("list")[1]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[",
        '{"specs": [], "more": 1}',
        '[{"kind": "fly"}]',
        '[{"kind": "read", "kind": "read"}]',
        "\xff",
    ],
)
def test_bad_json_is_no_specs(desk: Desk, quick: Quick, tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text, encoding="latin-1")
    code, said = quick("propose", "--specs", str(tmp_path / "bad.json"))
    assert (code, said["error"]["code"]) == (6, "bad_document")
    assert quick("list")[1] == []


def test_specs_may_be_wrapped_and_come_from_standard_input(desk: Desk) -> None:
    made = subprocess.run(
        [*RINGI, "--json", "propose", "--specs", "-"], cwd=desk.root, input=json.dumps({"specs": [NOTES]}),
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    ref = json.loads(made.stdout)
    assert (ref["status"], ref["title"]) == ("pending_review", "Add notes.txt")
    code, said = failing(desk, "propose", "-", "--specs", "-")
    assert (code, said["error"]["code"]) == (2, "usage")
    empty = specs_file(desk)
    assert failing(desk, "propose", "--specs", empty)[1]["error"]["code"] == "unfit_specs"
    assert failing(desk, "specs", "p1", "--file", empty)[1]["error"]["code"] == "invalid_specs"


@pytest.mark.req("PT-14")
def test_what_cannot_be_placed_is_listed(desk: Desk, quick: Quick, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(TEXT + "\n```python\nwhere = 'nobody knows'\n```\n")
    made = quick("propose", str(tmp_path / "plan.md"), "--extract")[1]
    assert made["status"] == "pending_review"
    [left] = made["unplaced"]
    assert left["line"] == 12
    done = desk.run("specs", "p1", "--extract")
    assert f"line {left['line']} was not placed" in done.stdout
    assert quick("specs", "p1", "--extract")[1]["unplaced"] == [left]
    (tmp_path / "words.md").write_text("# Only words\n")
    nothing = quick("propose", str(tmp_path / "words.md"), "--extract")[1]
    assert (nothing["status"], nothing["unplaced"]) == ("proposed", [])
    assert quick("specs", "p2", "--extract")[1]["error"]["code"] == "invalid_specs"
    (tmp_path / "bad.md").write_text("# Bad\n```diff\n--- a/no.txt\n+++ b/no.txt\n@@ -1 +1 @@\n-a\n+b\n```\n")
    done = desk.run("propose", str(tmp_path / "bad.md"), "--extract")
    assert done.returncode == 6
    assert "✗ s1 no.txt" in done.stdout


def test_usage_of_propose(desk: Desk, quick: Quick, tmp_path: Path) -> None:
    (tmp_path / "plan.md").write_text(TEXT)
    (tmp_path / "empty.md").write_text("\n\n")
    text = str(tmp_path / "plan.md")
    specs = specs_file(desk, NOTES)
    for words, code, error in [
        (("--extract",), 2, "usage"),
        ((text, "--trigger", "refactor"), 2, "usage"),
        ((text, "--extract", "--specs", specs), 2, "usage"),
        (("--specs", specs, "--trigger", "refactor"), 2, "usage"),
        (("--specs", specs, "--normalise"), 2, "usage"),
        ((str(tmp_path / "empty.md"),), 6, "empty_plan"),
        ((str(tmp_path / "missing.md"),), 2, "not_found"),
    ]:
        found, said = quick("propose", *words)
        assert (found, said["error"]["code"]) == (code, error), words
    assert quick("propose", "--title", "Only a title")[1]["title"] == "Only a title"
    assert quick("propose", text, "--specs", specs)[1]["title"] == "Greet politely"


# --- looking --------------------------------------------------------------------------------------


@pytest.mark.req("PT-8")
def test_a_preview_says_all_that_is_approved(desk: Desk, isolated: Path) -> None:
    configure(isolated, "checks: {before: ['true'], after: ['test -f notes.txt'], on_failure: keep}\n")
    run = spec("run", argv=["make", "a b"], timeout_sec=9, optional=True)
    name = propose(desk, NOTES, run, spec("move", "README.md", target="docs.md"), spec("mkdir", "empty"))
    other = propose(desk, NOTES, title="Another")
    shown = desk.run("show", name).stdout
    assert "2. run make 'a b'  HIGH" in shown
    assert "at most 9 s" in shown
    assert "sandbox" in shown
    assert "optional" in shown
    assert "3. rename README.md → docs.md" in shown
    assert f"! {other} changes notes.txt too" in shown
    assert "checked before it is carried out: true" in shown
    assert "checked afterwards: test -f notes.txt" in shown
    assert "what was written stays" in shown
    assert desk.json("show", name, "--diff")["overlaps"][0]["name"] == other
    assert "make 'a b'" in desk.run().stdout


@pytest.mark.parametrize("form", ["patch", "workspace-edit"])
def test_a_patch_leaves_nothing_out_in_silence(desk: Desk, quick: Quick, form: str) -> None:
    for other in (spec("run", argv=["true"]), spec("read", "README.md"), spec("mkdir", "empty")):
        code, said = quick("show", propose(desk, NOTES, other), "--as", form)
        assert (code, said["error"]["code"]) == (6, "no_such_form"), other


@pytest.mark.req("PT-8", "PT-15")
def test_delta_shows_only_what_changed_since_the_approval(desk: Desk, quick: Quick, key: str) -> None:
    name = propose(desk, NOTES, README)
    assert "No version" in desk.run("show", name, "--delta").stdout
    assert quick("show", name, "--delta")[1] is None
    assert quick("approve", name, "--sign", key)[0] == 0
    assert "would do the same" in desk.run("show", name, "--delta").stdout
    changed = spec("create", "notes.txt", content="newer\n")
    assert quick("specs", name, "--file", specs_file(desk, changed, README))[0] == 0
    shown = desk.run("show", name, "--delta").stdout
    assert "+newer" in shown
    assert "README" not in shown
    assert [one["path"] for one in quick("show", name, "--delta")[1]["differences"]] == ["notes.txt"]
    terminal = desk.terminal("approve", name)
    assert "+newer" in terminal.answer(YES, "n")
    assert desk.run("show", name, "--delta", "--diff").returncode == 2


@pytest.mark.req("PT-8")
def test_approve_shows_that_another_file_is_replaced(desk: Desk, quick: Quick, key: str) -> None:
    name = propose(desk, README)
    assert quick("approve", name, "--sign", key)[0] == 0
    (desk.root / "README.md").write_text("mine, written meanwhile\n")
    assert quick("specs", name, "--file", specs_file(desk, README))[0] == 0
    shown = desk.run("show", name, "--delta").stdout
    assert "! README.md: it replaces another file than before" in shown
    assert "+mine, written meanwhile" in shown
    terminal = desk.terminal("approve", name)
    assert "it replaces another file than before" in terminal.answer(YES, "n")


@pytest.mark.parametrize("sign", ["\x7f", "\x9b", "\u202e", "\u2066"])
def test_json_holds_no_sign_that_a_terminal_obeys(desk: Desk, sign: str) -> None:
    name = propose(desk, spec("create", "notes.txt", content=f"a{sign}b\n"))
    for words in (("show", name), ("show", name, "--diff"), ("specs", name)):
        shown = desk.run("--json", *words).stdout
        assert sign not in shown
        assert f"\\u{ord(sign):04x}" in shown
        assert f"a{sign}b" in json.dumps(json.loads(shown), ensure_ascii=False) or sign == "\x7f"


@pytest.mark.req("PT-4", "PT-15")
def test_versions(desk: Desk, quick: Quick) -> None:
    name = propose(desk, NOTES)
    assert quick("specs", name, "--file", specs_file(desk, README))[0] == 0
    compared = desk.run("show", name, "--compare", "1").stdout
    assert f"{name} version 1 → {name} version 2" in compared
    assert "+ README.md" in compared
    assert "- notes.txt" in compared
    assert quick("show", name, "--compare", "1..1")[1]["differences"] == []
    assert quick("amend", name, "--revert", "1")[1]["ok"]
    assert quick("show", name)[1]["plan"]["version"] == 3
    assert quick("specs", name)[1][0]["base"]["path"] == "notes.txt"
    fork = quick("propose", "--fork", name, "--version", "2")[1]
    assert (fork["number"], fork["status"]) == (2, "pending_review")
    assert quick("show", name, "--compare", "2..1", "--with", "p2")[1]["differences"] == []
    assert f"made from {name}" in desk.run("propose", "--fork", name).stdout
    for words in (
        ("amend", name, "--revert", "9"),
        ("propose", "--fork", name, "--version", "9"),
        ("show", name, "--compare", "9"),
    ):
        code, said = quick(*words)
        assert (code, said["error"]["code"]) == (2, "not_found"), words
    (desk.root / "notes.txt").write_text("in the way\n")
    code, report = quick("amend", name, "--revert", "1")
    assert (code, report["ok"]) == (6, False)


@pytest.mark.req("PT-4")
def test_which_plans_wait_and_which_is_current(desk: Desk, quick: Quick) -> None:
    assert quick("current")[1] is None
    assert quick("list", "--pending")[1] == []
    first, second = propose(desk, NOTES), propose(desk, README)
    assert [one["number"] for one in quick("list", "--pending")[1]] == [2, 1]
    assert quick("current")[1]["number"] == 2
    assert quick("request", first, "--no-pending")[1]["status"] == "proposed"
    assert [one["number"] for one in quick("list", "--status", "proposed")[1]] == [1]
    listed = desk.run("list", "--pending").stdout
    assert second in listed
    assert first not in listed
    assert desk.run("list", "--pending", "--status", "completed").returncode == 2
    assert "No plan has that status" in desk.run("list", "--status", "completed").stdout
    assert desk.run("list", "--status", "flying").returncode == 2
    assert second in desk.run("current").stdout
    assert quick("current", "--clear")[1] is None
    assert "There is no current plan" in desk.run("current").stdout


NAMING = ["specs", "show", "request", "approve", "execute", "propose --fork", "request --pending"]


@pytest.mark.parametrize("command", NAMING)
def test_unknown_and_empty_names(desk: Desk, quick: Quick, command: str) -> None:
    for name in ("p9", "", "nonsense"):
        code, said = quick(*command.split(), name)
        assert (code, said["error"]["code"]) == (2, "not_found"), name


@pytest.mark.req("PT-9")
def test_execute_without_a_name_takes_the_current_plan(desk: Desk, quick: Quick, key: str) -> None:
    code, said = quick("execute")
    assert (code, said["error"]["code"]) == (2, "no_current_plan")
    other = propose(desk, README)
    assert quick("approve", other, "--sign", key)[0] == 0
    name = propose(desk, NOTES)
    code, said = quick("execute")
    assert (code, said["error"]["code"]) == (3, "not_approved")
    assert not (desk.root / "notes.txt").exists()
    assert quick("approve", name, "--sign", key)[0] == 0
    assert quick("execute")[1]["overall_success"]
    assert (desk.root / "notes.txt").exists()


@pytest.mark.req("PT-4")
def test_what_is_said_about_a_plan_is_kept(desk: Desk, quick: Quick) -> None:
    sources = ("--source", "m1@2026-01-02T03:04:05Z", "--source", "m2")
    said = ("--rationale", "users asked", "--tag", "docs", "--tag", "small", *sources)
    new = desk.root.parent / "new.txt"
    new.write_text("x\n")
    specs = specs_file(desk, NOTES)
    for way in (("--file", f"a.txt={new}"), ("--specs", specs), ()):
        code, ref = quick("propose", *way, "--title", "A plan", *said)
        assert code == 0, ref
        plan = quick("show", f"p{ref['number']}")[1]["plan"]
        assert (plan["rationale"], plan["tags"]) == ("users asked", ["docs", "small"])
        assert plan["sources"] == [
            {"message_id": "m1", "timestamp": "2026-01-02T03:04:05Z"},
            {"message_id": "m2", "timestamp": ""},
        ]
    assert quick("propose", "--title", "x", "--source", "@now")[0] == 2


# --- executing ------------------------------------------------------------------------------------


@pytest.mark.req("PT-12")
def test_commands_and_readings_tell_what_they_said(desk: Desk, key: str) -> None:
    lines = spec("run", argv=["seq", "100"])
    name = propose(desk, NOTES, lines, spec("read", "README.md"))
    desk.json("approve", name, "--sign", key)
    done = desk.run("execute", name)
    assert done.returncode == 0, done.stderr
    assert "running: seq 100" in done.stdout
    assert "✓ run seq 100" in done.stdout
    assert re.search(r"^ +100$", done.stdout, re.MULTILINE)
    assert not re.search(r"^ +50$", done.stdout, re.MULTILINE)
    assert "# Sample" in done.stdout
    assert "files written: 1" in done.stdout
    shown = desk.run("show", name).stdout
    assert re.search(r"^ +100$", shown, re.MULTILINE)


@pytest.mark.req("PT-12")
def test_an_abort_says_what_was_done_and_what_was_not(desk: Desk, key: str) -> None:
    fails = spec("run", argv=["sh", "-c", "echo because; test -f go"])
    name = propose(desk, NOTES, fails, README)
    desk.json("approve", name, "--sign", key)
    done = desk.run("execute", name)
    assert done.returncode == 1
    assert "✓ notes.txt" in done.stdout
    assert "because" in done.stdout
    assert "README.md: not touched" in done.stdout
    assert f"→ ringi execute {name}" in done.stdout
    code, result = failing(desk, "execute", name)
    assert (code, result["overall_success"]) == (1, False)
    assert f"→ ringi execute {name}" in desk.run("show", name).stdout
    (desk.root / "go").touch()
    assert desk.run("execute", name).returncode == 0
    assert (desk.root / "README.md").read_text() == "# Other\n"


def test_only_reading_needs_no_approval(desk: Desk) -> None:
    name = propose(desk, spec("read", "README.md"))
    with untouched(desk.root):
        done = desk.run("execute", name)
    assert done.returncode == 0, done.stderr
    assert "# Sample" in done.stdout
    assert "✓ done" in done.stdout


@pytest.mark.req("PT-16")
def test_a_dry_run_checks_on_copies(desk: Desk, isolated: Path) -> None:
    configure(isolated, "checks: {before: ['true'], after: ['test -f notes.txt']}\n")
    good, bad = propose(desk, NOTES), propose(desk, README)
    with untouched(desk.root):
        done = desk.run("execute", good, "--dry-run")
        assert done.returncode == 0, done.stderr
        assert "exit code 0 on exactly these bytes: test -f notes.txt" in done.stdout
        assert desk.run("execute", bad, "--dry-run").returncode == 6
        code, results = failing(desk, "execute", bad, "--dry-run")
    assert code == 6
    assert [(one["phase"], one["exit_code"]) for one in results] == [("before", 0), ("dry", 1)]
    assert "failed with exit code 1" in desk.run("show", bad).stdout


@pytest.mark.req("PT-16")
def test_a_check_that_fails_afterwards(desk: Desk, isolated: Path, key: str) -> None:
    configure(isolated, "checks: {after: ['echo no; false']}\n")
    name = propose(desk, NOTES)
    desk.json("approve", name, "--sign", key)
    with untouched(desk.root):
        code, said = failing(desk, "execute", name, RINGI_PROVENANCE_NOTES="off")
    assert (code, said["error"]["code"]) == (6, "check_failed")


@pytest.mark.req("PT-9")
def test_two_executions_at_once(desk: Desk, key: str) -> None:
    name = propose(desk, NOTES, spec("run", argv=["sh", "-c", "touch started; sleep 4"]))
    desk.json("approve", name, "--sign", key)
    first = subprocess.Popen([*RINGI, "execute", name], cwd=desk.root, stdout=subprocess.DEVNULL)
    try:
        while not (desk.root / "started").exists():
            assert first.poll() is None
            time.sleep(0.05)
        code, said = failing(desk, "execute", name, RINGI_LOCK_WAIT_SEC="0.1")
        assert (code, said["error"]["code"]) == (7, "busy")
        assert first.wait(timeout=60) == 0
    finally:
        first.kill()
        first.wait()
    assert len(desk.json("show", name)["state"]["executions"]) == 1


def test_stale_between_approve_and_execute(desk: Desk, key: str) -> None:
    name = propose(desk, README)
    desk.json("approve", name, "--sign", key)
    (desk.root / "README.md").write_text("# Mine\n")
    with untouched(desk.root):
        code, said = failing(desk, "execute", name)
    assert (code, said["error"]["code"]) == (4, "stale")


# --- words ----------------------------------------------------------------------------------------


def test_untrusted_words_are_shown_and_do_nothing(desk: Desk) -> None:
    evil = "\x1b[2J\u202eevil"
    name = propose(desk, spec("run", argv=["printf", evil]), title=f"Title {evil}")
    desk.json("reject", name, "--feedback", f"Words {evil}")
    for words in (("show", name), ("specs", name), ("list",), ("current",)):
        done = desk.run(*words)
        assert "\x1b" not in done.stdout + done.stderr
        assert "\u202e" not in done.stdout + done.stderr


def test_a_terminal_shows_the_diff_in_colours(desk: Desk) -> None:
    name = propose(desk, NOTES)
    terminal = desk.terminal("show", name, "--diff", NO_COLOR="")
    code, seen = terminal.end()
    assert code == 0
    assert "\x1b[32m+new" in seen


def test_an_agent_cannot_type_an_approval(desk: Desk) -> None:
    name = propose(desk, NOTES)
    terminal = desk.terminal("approve", name, CLAUDECODE="1")
    code, seen = terminal.end()
    assert code == 3
    assert "Claude Code started this" in seen
    assert desk.json("show", name)["state"]["status"] == "pending_review"


def test_japanese_and_english_are_equals(desk: Desk) -> None:
    name = propose(desk, NOTES)
    error = json.loads(desk.run("--json", "--lang", "ja", "amend", name, "--drop", "README.md").stdout)[
        "error"
    ]
    assert error["code"] == "not_found"
    assert re.search("[\u3040-\u30ff]", error["message"]), error
    for words in (("show", name), ("execute", name), ("reject", name, "--feedback", "長すぎる")):
        said = desk.run("--lang", "ja", *words)
        assert re.search("[\u3040-\u30ff]", said.stdout + said.stderr), words
        assert name in said.stdout + said.stderr


def test_every_command_is_found_in_the_groups_of_the_help() -> None:
    assert list(BY_SCRIPT) == [
        "propose", "specs", "show", "amend", "request", "approve", "reject", "execute", "grant", "list",
        "current", "state", "check",
    ]  # fmt: skip
    assert (list(PROVE), list(CARE)) == (
        ["verify", "why", "sync", "log", "metrics"],
        ["doctor", "recover"],
    )
    assert len(COMMANDS) <= 40
    assert set(DAILY) < set(COMMANDS)
    assert not set(MERGED) & set(COMMANDS)


def test_an_alias_has_a_name_that_is_free(desk: Desk) -> None:
    for name, code in {"sh": "name_taken", "../x": "usage", "a b": "usage", "": "usage"}.items():
        done = desk.run("--json", "init", "--alias", name)
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, code), name


@pytest.mark.req("PT-8")
def test_specs_left_out_are_asked_for_later(desk: Desk, tmp_path: Path) -> None:
    specs = [{"kind": "create", "path": name, "content": "1\n"} for name in ("x", "y")]
    (tmp_path / "specs.json").write_text(json.dumps(specs))
    desk.json("propose", "--specs", str(tmp_path / "specs.json"))
    terminal = desk.terminal("approve", "p1", "--only", "s1")
    terminal.answer(YES, "y")
    code, seen = terminal.end()
    assert code == 0, seen
    assert "ringi approve p1 --only s2" in seen
    assert desk.run("execute", "p1").returncode == 0
    asked = desk.run("request", "p1", "--only", "s2")
    assert "p2 holds what was left out when p1 was approved." in asked.stdout
    terminal = desk.terminal("approve", "p1", "--only", "s2")
    terminal.answer(YES, "y")
    code, seen = terminal.end()
    assert code == 0, seen
    assert desk.run("execute", "p2").returncode == 0
    assert (desk.root / "y").read_text() == "1\n"
    assert len(desk.json("list")) == 2


@pytest.mark.req("PT-9", "CP-11")
def test_shown_amended_and_signed_from_an_editor(desk: Desk, key: str, isolated: Path, quick: Quick) -> None:
    """Without a terminal: everything but the decision, and that by a signature alone."""
    name = propose(desk, NOTES, README)
    ssh = Path.home() / ".ssh"
    ssh.mkdir(exist_ok=True)
    (ssh / "id_ed25519.pub").write_text(Path(f"{key}.pub").read_text())
    _, shown = quick("show", name, "--as", "review", "--file", "README.md")
    assert shown["decide"]["apply"] == f"ringi apply {name} --seen 1 --sign {ssh / 'id_ed25519.pub'}"
    assert [file["path"] for file in shown["files"]] == ["README.md"]
    code, amended = quick(
        "amend", name, "--seen", "1", "--drop", "README.md", "--comment", "notes.txt:1", "good"
    )
    assert (code, amended["plan"]["version"], len(amended["files"])) == (0, 2, 1)
    assert amended["files"][0]["comments"][0]["text"] == "good"
    for words, wanted in {
        ("amend", name, "--drop", "notes.txt#2"): (2, "not_found"),
        ("amend", name, "--seen", "1", "--drop", "notes.txt"): (4, "plan_changed"),
        ("amend", name, "--drop", "notes.txt"): (6, "invalid_specs"),
        ("amend", name, "--write", "notes.txt"): (2, "usage"),
        ("amend", name, "--comment", "notes.txt", "x"): (2, "usage"),
        ("amend", name): (2, "usage"),
        ("show", name, "--file", "notes.txt"): (2, "usage"),
        ("apply", name): (3, "no_channel"),
        ("apply", name, "--sign", str(desk.root / "README.md")): (1, "signing_failed"),
        ("apply", name, "--seen", "1", "--sign", key): (4, "plan_changed"),
    }.items():
        code, said = quick(*words)
        assert (code, said["error"]["code"]) == wanted, words
    assert failing(desk, "amend", name, "--drop", "notes.txt", CLAUDECODE="1")[0] == 3
    code, done = quick("apply", name, "--seen", "2", "--sign", key)
    assert (code, done["overall_success"]) == (0, True)
    assert (desk.root / "notes.txt").read_text() == "new\n"
    assert quick("apply", name, "--sign", key)[1]["status"] == "completed"


@pytest.mark.req("PT-16")
def test_exit_code_of_tests_that_were_emptied_comes_with_a_warning(desk: Desk):
    (desk.root / "tests").mkdir()
    (desk.root / "tests" / "test_hello.py").write_text("assert True\n" * 20)
    plan = desk.agent("echo > tests/test_hello.py", "--check", "python3 tests/test_hello.py")
    shown = desk.run("show", plan).stdout
    assert "tests: exit code 0 on exactly these bytes: python3 tests/test_hello.py" in shown
    assert "! tests were deleted or emptied: tests/test_hello.py" in shown
    assert "passed" not in shown
    assert "! tests were deleted or emptied" in desk.terminal("review", plan, "--plain").answer(MENU, "q")
