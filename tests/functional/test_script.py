"""The way by script: propose, specs, show, request, approve, reject, execute, and the versions of a plan."""

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
from ringi.cli.main import main
from tests.functional.desk import RINGI, Desk
from tests.helpers import accept_signers_in, untouched
from tests.tables import each

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


# --- specs and texts ------------------------------------------------------------------------------


@each(
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


# --- looking --------------------------------------------------------------------------------------


@each("sign", ["\x7f", "\x9b", "\u202e", "\u2066"])
def test_json_holds_no_sign_that_a_terminal_obeys(desk: Desk, sign: str) -> None:
    name = propose(desk, spec("create", "notes.txt", content=f"a{sign}b\n"))
    for words in (("show", name), ("show", name, "--diff"), ("specs", name)):
        shown = desk.run("--json", *words).stdout
        assert sign not in shown
        assert f"\\u{ord(sign):04x}" in shown
        assert f"a{sign}b" in json.dumps(json.loads(shown), ensure_ascii=False) or sign == "\x7f"


NAMING = ["specs", "show", "request", "approve", "execute", "propose --fork", "request --pending"]


@each("command", NAMING)
def test_unknown_and_empty_names(desk: Desk, quick: Quick, command: str) -> None:
    for name in ("p9", "", "nonsense"):
        code, said = quick(*command.split(), name)
        assert (code, said["error"]["code"]) == (2, "not_found"), name


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


# --- words ----------------------------------------------------------------------------------------


def test_untrusted_words_are_shown_and_do_nothing(desk: Desk) -> None:
    evil = "\x1b[2J\u202eevil"
    name = propose(desk, spec("run", argv=["printf", evil]), title=f"Title {evil}")
    desk.json("reject", name, "--feedback", f"Words {evil}")
    for words in (("show", name), ("specs", name), ("list",), ("current",)):
        done = desk.run(*words)
        assert "\x1b" not in done.stdout + done.stderr
        assert "\u202e" not in done.stdout + done.stderr


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
