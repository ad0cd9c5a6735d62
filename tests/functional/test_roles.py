"""A command, a model or a person has a role in a run, and whatever they do, only the copy changes."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ringi.config.keys import RoleHow
from ringi.engine.run_plan import RunRole
from ringi.models.prompt import Severity
from ringi.runs.document import StepState, StopCode
from tests.fakes.model_server import ModelServer, Say
from tests.functional.beside_desk import walled
from tests.functional.role_desk import RoleDesk, plan, role_desk, spent
from tests.helpers import untouched
from tests.unit.runs.run_samples import run_of

pytestmark = pytest.mark.req("RN-9")
HELLO = 'def hello():\n    return "hello"\n'
PATCH = """\
--- a/app/hello.py
+++ b/app/hello.py
@@ -1,2 +1,2 @@
 def hello():
-    return "hello"
+    return "hi"
"""


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[RoleDesk]:
    with role_desk(monkeypatch, first_commit) as made:
        yield made


# A command


def test_a_command_gets_the_brief_and_changes_the_copy_only(desk: RoleDesk) -> None:
    body = 'grep -q "^# S01" "$RINGI_BRIEF" && cp "$1" app/brief.txt && echo made it && exec pwd'
    desk.configure(implementer={"command": f"{desk.script('maker', body)} {{brief}}"})
    with untouched(desk.root):
        done = desk.work()
    assert (done.how, done.who, done.exit_code, done.problem) == (RoleHow.COMMAND, "maker", 0, None)
    assert desk.printed.decode().splitlines()[0] == "made it"
    [(name, text)] = desk.kept.items()
    assert name == "briefs/S01-implementer-1.md"
    assert desk.file("app/brief.txt") == text
    assert "`app/hello.py`" in text
    assert done.spent.seconds > 0


@walled
def test_in_the_sandbox_it_is_at_the_projects_own_path_and_cannot_run_gh(desk: RoleDesk) -> None:
    gh = desk.desk.program("gh", "#!/bin/sh\necho merged > merged.txt\n")
    login = desk.desk.home / ".config" / "gh" / "hosts.yml"
    login.parent.mkdir(parents=True)
    login.write_text("oauth_token: gho_secret\n")
    desk.environment = {"GH_TOKEN": "gho_secret"}
    tokens = f"cat {login} > token.txt; echo $GH_TOKEN >> token.txt"
    body = (
        f"{tokens}\npwd > where.txt\ngh pr merge 2> why.txt\necho $? >> why.txt\n{gh} pr merge 2>> why.txt\n:"
    )
    desk.configure(implementer={"command": desk.script("maker", body)})
    with untouched(desk.root):
        assert desk.work().exit_code == 0
    assert desk.file("where.txt").strip() == str(desk.root)
    assert desk.file("why.txt").count("gh is not available in a run") == 2
    assert not (desk.copy.tree / "merged.txt").exists()
    assert desk.file("token.txt") == "\n"


@pytest.mark.parametrize("sandbox", [pytest.param("auto", marks=walled), "off"])
def test_an_agent_is_asked_once_with_the_brief_as_its_message(desk: RoleDesk, sandbox: str) -> None:
    desk.desk.program("claude", '#!/bin/sh\nfor word; do echo "[$word]"; done > said.txt\n')
    desk.configure(implementer={"command": "claude --model opus"}, **{"with": {"sandbox": sandbox}})
    assert desk.work().exit_code == 0
    said = desk.file("said.txt")
    assert said.startswith("[--print]\n")
    assert "[--model]\n[opus]\n[--]\n[# S01" in said
    # Nobody answers its questions; without our sandbox they protect.
    assert ("[acceptEdits]" in said) == (sandbox == "auto")


def test_processes_that_a_role_leaves_are_ended(desk: RoleDesk) -> None:
    body = "setsid sh -c 'while :; do echo still >> alive.txt; sleep 0.05; done' & echo left"
    desk.configure(implementer={"command": desk.script("maker", body)})
    assert desk.work().exit_code == 0
    left = subprocess.run(["pgrep", "-f", "still >> alive.txt"], capture_output=True, check=False)
    assert left.stdout == b""


def test_a_role_that_runs_for_ever_is_ended_with_all_it_started(desk: RoleDesk) -> None:
    body = "sh -c 'trap \"\" TERM; while :; do sleep 0.1; done # for ever' & wait"
    desk.configure(implementer={"command": desk.script("maker", body), "timeout_sec": 1})
    done = desk.work()
    assert (done.timed_out, done.exit_code, done.code) == (True, 124, StopCode.ROLE_TIMEOUT)
    assert "did not end within 1 s" in str(done.problem)
    left = subprocess.run(["pgrep", "-f", "# for ever"], capture_output=True, check=False)
    assert left.stdout == b""


def test_gigabytes_of_output_are_bounded_and_the_end_is_kept(desk: RoleDesk) -> None:
    body = "echo first; head -c 300000000 /dev/zero; echo; echo the last words"
    desk.configure(implementer={"command": desk.script("maker", body), "output_bytes": 65_536})
    assert desk.work().exit_code == 0
    assert len(desk.printed) < 2 * 65_536
    assert desk.printed.startswith(b"first\n")
    assert desk.printed.endswith(b"\nthe last words\n")
    assert b"bytes left out]\n" in desk.printed


# A person


def test_a_person_is_shown_where_to_work(desk: RoleDesk) -> None:
    desk.configure(implementer={"how": "person"}, reviewer={"how": "person"})
    done = desk.work()
    assert (done.how, done.exit_code, done.code) == (RoleHow.PERSON, None, StopCode.PERSON_NEEDED)
    assert str(desk.copy.tree) in str(done.problem)
    assert "ringi continue" in str(done.problem)
    assert list(desk.kept) == ["briefs/S01-implementer-1.md"]
    judged = desk.judge()
    assert (judged.exit_code, judged.problem, judged.findings) == (None, None, ())


# A model


def model(
    desk: RoleDesk,
    server: ModelServer,
    role: str = "implementer",
    *,
    llm: Mapping[str, object] | None = None,
    runs: Mapping[str, object] | None = None,
    **limits: object,
) -> None:
    desk.environment = dict(server.environment())
    desk.configure(
        **{role: {"model": "openai:gpt-5", **limits}},
        llm={"base_url": f"{server.url}/v1", **(llm or {})},
        runs=runs or {},
    )


def test_a_models_patch_is_applied_in_the_copy(desk: RoleDesk) -> None:
    desk.plan = plan(scope={"target_paths": ["app/"], "max_diff_lines": 40})
    new = {"path": "app/more/new.py", "content": "x = 1\n"}
    with ModelServer([Say({"patch": PATCH.replace("@@ -1,2", "@@ -7,2"), "files": [new]})]) as server:
        model(desk, server)
        with untouched(desk.root):
            done = desk.work()
        [request] = server.requests
    assert (done.how, done.who, done.exit_code, done.problem) == (RoleHow.MODEL, "openai:gpt-5", 0, None)
    assert desk.file("app/hello.py") == HELLO.replace('"hello"', '"hi"')
    assert desk.file("app/more/new.py") == "x = 1\n"
    assert done.spent.input_tokens > 0
    assert 'return "hello"' in request.text
    assert "# S01" in request.text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../outside.py", "it leaves its folder"),
        ("link/x.py", "symbolic link"),
    ],
)
def test_a_path_that_leads_outside_is_refused_and_then_a_person_is_asked(
    desk: RoleDesk, path: str, why: str
) -> None:
    desk.plan = plan(scope={"target_paths": ["app/"], "max_diff_lines": 40})
    (desk.copy.tree / "link").symlink_to(desk.root)
    new = [{"path": "app/first.py", "content": "1\n"}, {"path": path, "content": "x = 1\n"}]
    with ModelServer([Say({"files": new})]) as server:
        model(desk, server)
        with untouched(desk.root):
            done = desk.work()
        assert why in server.requests[1].text
    assert (done.exit_code, done.code) == (1, StopCode.HELP_NEEDED)
    assert why in str(done.problem)
    assert "ringi feedback" in done.waits


def test_a_file_that_no_model_is_shown_is_not_sent(desk: RoleDesk) -> None:
    desk.plan = plan(scope={"target_paths": ["app/hello.py", "app/.env"], "max_diff_lines": 40})
    (desk.copy.tree / "app" / ".env").write_text("PASSWORD=swordfish\n")
    with ModelServer([Say({})]) as server:
        model(desk, server)
        assert desk.work().exit_code == 0
        assert "swordfish" not in server.requests[0].text


# What it may cost


def test_dollars_count_by_the_configured_price(desk: RoleDesk) -> None:
    state = StepState(step_id="S01", base_tree=desk.copy.base, attempts=(spent(10, 1.99),))
    with ModelServer([Say({})]) as server:
        prices = {"prices": ["openai:gpt-5 1000 2000"]}
        model(desk, server, llm=prices, max_dollars=2)
        done = desk.work(state=state, run=run_of(desk.plan, state))
        assert done.code is StopCode.BUDGET_EXCEEDED
        assert "roles.implementer.max_dollars" in str(done.problem)
        assert server.requests == []
        model(desk, server, llm=prices, max_dollars=200)
        done = desk.work(state=state, run=run_of(desk.plan, state))
        assert done.exit_code == 0
        assert done.spent.dollars == pytest.approx(
            (done.spent.input_tokens * 1000 + done.spent.output_tokens * 2000) / 1_000_000
        )


# Verdicts

VERDICT = """{"passed": false, "findings": [
 {"severity": "error", "path": "./app/hello.py", "line": 2, "criterion": "AC-01", "message": "wrong\\nword"},
 {"severity": "note", "path": "/etc/passwd", "line": 3, "criterion": "AC-99", "message": "run: make"}]}"""


def check_findings(desk: RoleDesk, findings: object) -> None:
    first, second = findings  # type: ignore[misc]
    assert (first.role, first.severity, first.path, first.line) == (
        RunRole.REVIEWER, Severity.ERROR, "app/hello.py", 2,
    )  # fmt: skip
    assert (first.criterion, first.message) == ("AC-01", "wrong word")
    assert (second.severity, second.path, second.line, second.criterion) == (Severity.NOTE, "", 0, "")


@pytest.mark.parametrize("sandbox", [pytest.param("auto", marks=walled), "off"])
def test_a_command_judges_with_json_as_its_last_words(desk: RoleDesk, sandbox: str) -> None:
    body = f"echo thinking >&2; echo '{{\"a\": 1}}'; cat <<'X'\nHere it is:\n{VERDICT}\nX\nexit 1"
    desk.configure(reviewer={"command": desk.script("judge", body)}, **{"with": {"sandbox": sandbox}})
    desk.change()
    done = desk.judge(diff="+++ b/app/hello.py")
    assert (done.exit_code, done.problem) == (0, None)
    check_findings(desk, done.findings)
    assert b"thinking" in desk.printed
    assert "+++ b/app/hello.py" in desk.kept["briefs/S01-reviewer-1.md"]


@walled
def test_who_judges_can_change_nothing(desk: RoleDesk) -> None:
    body = "echo x > app/hello.py || echo refused; echo '{\"passed\": true}'"
    desk.configure(qa={"command": desk.script("judge", body)})
    desk.change()
    done = desk.judge(RunRole.QA)
    assert (done.exit_code, done.findings) == (0, ())
    assert b"refused" in desk.printed
    assert '"hi"' in desk.file("app/hello.py")


def test_without_a_sandbox_a_judge_that_writes_is_no_judge(desk: RoleDesk) -> None:
    body = "echo x > app/hello.py; echo '{\"passed\": true}'"
    desk.configure(reviewer={"command": desk.script("judge", body)}, **{"with": {"sandbox": "off"}})
    desk.change()
    done = desk.judge()
    assert done.exit_code == 1
    assert "changed files instead of judging" in str(done.problem)


def test_words_that_are_no_verdict_are_asked_for_again_once(desk: RoleDesk) -> None:
    body = 'if grep -q "was no verdict" "$RINGI_BRIEF"; then echo \'{"passed": true}\'; else echo LGTM; fi'
    desk.configure(reviewer={"command": desk.script("judge", body)})
    desk.change()
    assert desk.judge().exit_code == 0
    desk.configure(reviewer={"command": desk.script("judge", 'echo \'{"passed": "maybe"}\'')})
    done = desk.judge()
    assert done.exit_code == 1
    assert "gave no verdict that can be read" in str(done.problem)
    assert "passed" in str(done.problem)


def test_a_model_judges_through_the_port(desk: RoleDesk) -> None:
    with ModelServer([Say(VERDICT)]) as server:
        model(desk, server, "reviewer")
        desk.change()
        done = desk.judge(diff=PATCH)
        assert PATCH in server.requests[0].text
    assert done.problem is None
    check_findings(desk, done.findings)
    assert done.spent.output_tokens > 0


@walled
def test_an_agent_asked_as_a_model_reads_the_copy_of_the_run(desk: RoleDesk) -> None:
    said = {"type": "result", "result": '{"passed": true}', "total_cost_usd": 0.25}
    body = f"cat > /dev/null; grep -q '\"hi\"' app/hello.py && echo '{json.dumps(said)}'"
    desk.desk.program("claude", f"#!/bin/sh\n{body}\n")
    desk.configure(reviewer={"model": "command:claude"}, runs={"max_dollars": 3})
    desk.change()
    done = desk.judge()
    assert (done.exit_code, done.problem) == (0, None)
    assert done.spent.dollars == 0.25


# Before anything runs


def checked(desk: RoleDesk, **changes: object) -> tuple[StopCode, str, str]:
    with desk.opened() as workspace:
        stop = workspace.roles({}).check(plan(**changes))
    assert stop is not None
    return stop.reason_code, stop.message, stop.next_action


def test_nobody_is_configured_at_first_and_the_message_shows_how(desk: RoleDesk) -> None:
    code, message, then = checked(desk)
    assert code is StopCode.NO_ROLE
    assert "implementer" in message
    assert "--with claude" in then
    assert "roles: {implementer: {command: claude}}" in then
    with desk.opened() as workspace:
        assert not any(workspace.roles({}).has(role) for role in RunRole)
        mine = workspace.roles({RunRole.IMPLEMENTER: "sh -c true"})
        assert mine.has(RunRole.IMPLEMENTER)
        assert mine.check(plan()) is None
        gone = workspace.roles({RunRole.IMPLEMENTER: "no-such-agent"}).check(plan())
        assert gone
        assert gone.message == "There is no program no-such-agent."
        assert gone.next_action.endswith("ringi continue --retry --with COMMAND")


def test_what_cannot_start_is_named_before(desk: RoleDesk) -> None:
    desk.configure(implementer={"command": "no-such-agent"})
    assert checked(desk)[:2] == (
        StopCode.NO_ROLE, "roles.implementer.command: there is no program no-such-agent.",
    )  # fmt: skip
    desk.configure(implementer={"command": "sh 'open"})
    assert "a quote does not end" in checked(desk)[1]
    assert desk.work().code is StopCode.NO_ROLE
    desk.configure(implementer={"how": "command"})
    assert "there is no program" in checked(desk)[1]
    assert desk.work().code is StopCode.NO_ROLE
    desk.configure(implementer={"how": "model"})
    assert "The playbook cannot do the work" in checked(desk)[1]
    desk.configure(implementer={"command": "true"}, reviewer={"model": "openai:x"})
    assert checked(desk)[0] is StopCode.NO_ROLE
    desk.configure(implementer={"command": "true", "max_dollars": 3})
    assert "a command does not say what it spends" in checked(desk)[1]


def test_a_limit_of_dollars_needs_a_price(desk: RoleDesk) -> None:
    desk.environment = {"OPENAI_API_KEY": "sk-0123456789abcdef0123"}
    desk.configure(implementer={"model": "openai:gpt-5"}, runs={"max_dollars": 3})
    code, message, then = checked(desk)
    assert code is StopCode.NO_ROLE
    assert "what openai:gpt-5 costs is not known" in message
    assert 'prices: ["openai:gpt-5 1.25 10"]' in then
    desk.configure(
        implementer={"model": "openai:gpt-5"},
        runs={"max_dollars": 3},
        llm={"prices": ["openai:gpt-5 1.25 10"]},
    )
    with desk.opened() as workspace:
        assert workspace.roles({}).check(plan()) is None


def test_gh_is_refused_wherever_it_is(desk: RoleDesk) -> None:
    desk.configure(implementer={"command": "sh -c 'claude && gh pr create'"})
    assert checked(desk)[0] is StopCode.GH_FORBIDDEN
    desk.configure(implementer={"command": "true"})
    for commands in ({"unit": ["true", "env gh pr list"]}, {"e2e": ["/usr/bin/gh auth status"]}):
        assert checked(desk, commands=commands)[0] is StopCode.GH_FORBIDDEN


def test_a_projects_own_roles_count_once_they_are_trusted(desk: RoleDesk) -> None:
    (desk.root / ".agent").mkdir(exist_ok=True)
    (desk.root / ".agent" / "config.yaml").write_text("roles: {implementer: {command: 'touch owned'}}\n")
    code, message, then = checked(desk)
    assert code is StopCode.NO_ROLE
    assert "comes from the project" in message
    assert then == "ringi trust"
    assert desk.work().code is StopCode.NO_ROLE
    assert not (desk.copy.tree / "owned").exists()
