"""What a model does for a session: files, questions, decisions, feedback, a summary that fits the project."""

from pathlib import Path
from typing import Any

import pytest

from ringi.app.integrity import verify
from ringi.engine.design import TargetPath
from ringi.errors import BadModelAnswer, SessionFailed, SessionRace
from ringi.kernel import codec
from ringi.models.prompt import Exchange, ModelProgress, Prompt
from ringi.models.usage import Purpose, TokenUsage
from ringi.sessions.approve import build_enhanced_instruction
from ringi.sessions.document import ApprovalPending, DecisionPending, OpenCall, QuestionPending, SessionStatus
from ringi.sessions.operations import is_consistent
from tests.fakes.models import DECISIONS, Desk, ScriptedModel, ShownProject

FILES = {
    "app/login.py": "def login(): ...",
    "tests/test_login.py": "def test(): ...",
    "bin/check": "#!/bin/sh",
}


def desk_of(tmp_path: Path, *, whole: bool = False, **words: Any) -> Desk:
    project = ShownProject(FILES, whole=whole)
    return Desk(
        tmp_path / "state", ScriptedModel(**words), code=project, has_program=lambda name: name == "pytest"
    )


def purposes(desk: Desk) -> list[str]:
    return [str(prompt.purpose) for prompt in desk.model.asked]


def told(prompt: Prompt) -> dict[str, str]:
    return {material.name: material.text for material in prompt.material}


def led(desk: Desk, session_id: str) -> Any:
    desk.led(session_id)
    return desk.tool.get(session_id)


# --- the project ---


@pytest.mark.req("IP-3")
def test_every_call_is_shown_the_project_and_the_files_it_asked_for(tmp_path: Path):
    desk = desk_of(tmp_path, files={"paths": ["./app/login.py", "app/none.py"]})
    stored = led(desk, desk.tool.start("Add a login").session_id)
    assert purposes(desk) == ["files", "discovery", "design", "review"]
    assert all(told(prompt)["project"] == "\n".join(FILES) for prompt in desk.model.asked)
    assert "code" not in told(desk.model.asked[0])
    assert {told(prompt)["code"] for prompt in desk.model.asked[1:]} == {"app/login.py: def login(): ..."}
    assert (stored.facts.files, stored.facts.missing) == (("app/login.py",), ("app/none.py",))
    assert stored.facts.project.test_commands == ("make test",)
    assert stored.session.status is SessionStatus.REVIEW
    assert verify(desk.ledger) == []


@pytest.mark.parametrize("blind", [True, False])
def test_nobody_is_asked_for_files_where_that_tells_nothing_new(tmp_path: Path, *, blind: bool):
    """Everything is shown, or the model sees the project itself."""
    desk = desk_of(tmp_path, whole=blind)
    desk.model.sees_project = not blind
    desk.at_review()
    assert purposes(desk) == ["discovery", "design", "review"]


def test_the_project_is_read_again_only_once_it_has_changed(tmp_path: Path):
    desk = desk_of(tmp_path, files={"paths": ["app/login.py"]})
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    project = desk.workspace.code
    assert len(project.gathered) == 1
    project.files |= {"app/login.py": "def login(name): ...", "new.py": ""}
    desk.led(session_id)
    assert len(project.gathered) == 2
    last = told(desk.model.asked[-1])
    assert (last["project"].splitlines()[-1], last["code"]) == (
        "new.py",
        "app/login.py: def login(name): ...",
    )


@pytest.mark.req("IP-2")
def test_feedback_may_need_other_files_once(tmp_path: Path):
    wishes = iter([["app/login.py"], ["bin/check"]])
    desk = desk_of(tmp_path, files=lambda _: {"paths": next(wishes)})
    session_id = desk.at_review()
    for feedback in ("use the check", "more"):
        desk.tool.reject(session_id, feedback)
        desk.led(session_id)
    assert purposes(desk)[4:] == ["files", "revision", "review", "revision", "review"]
    assert desk.tool.get(session_id).facts.files == ("bin/check", "app/login.py")


def test_it_may_ask_for_some_lines_of_a_file(tmp_path: Path):
    wishes = ["app/login.py:10-40", "bin/check#L3", "app/none.py:1"]
    desk = desk_of(tmp_path, files={"paths": wishes})
    facts = led(desk, desk.tool.start("Add a login").session_id).facts
    assert (facts.files, facts.missing) == (tuple(wishes[:2]), ("app/none.py:1",))


# --- further questions ---


def further(*words: str) -> dict[str, Any]:
    return {"decisions": [], "further_questions": [{"type": "scope", "question": word} for word in words]}


@pytest.mark.req("IP-3", "IP-14")
def test_the_answers_may_raise_further_questions_but_not_more_than_five_in_all(tmp_path: Path):
    said = iter([further("Which part?", "And that?"), further("Third?", "Fourth?"), DECISIONS])
    desk = Desk(tmp_path / "state", ScriptedModel(design=lambda _: next(said)))
    session_id = desk.tool.start("Add a login").session_id
    view = desk.tool.go_on(session_id)
    for count in (3, 4, 5):
        while isinstance(view.pending, QuestionPending):
            assert view.pending.of == count
            desk.tool.answer(session_id, f"re {view.pending.question.id}")
            assert desk.tool.resume(session_id) == desk.tool.view(session_id)
            view = desk.tool.go_on(session_id)
            assert is_consistent(desk.tool.get(session_id).session)
            if isinstance(view.pending, QuestionPending) and view.pending.of > count:
                assert view.status is SessionStatus.DISCOVERY
                break
    assert isinstance(view.pending, DecisionPending)
    session = desk.tool.get(session_id).session
    assert [(one.id, one.question, one.answer) for one in session.questions[3:]] == [
        ("q-4", "And that?", "re q-4"),
        ("q-5", "Third?", "re q-5"),
    ]


def test_a_model_that_only_ever_asks_comes_to_an_end(tmp_path: Path):
    numbers = iter(range(100))
    desk = Desk(tmp_path / "state", ScriptedModel(design=lambda _: further(f"Number {next(numbers)}?")))
    session = led(desk, desk.tool.start("Add a login").session_id).session
    assert (len(session.questions), session.decisions, session.status) == (5, (), SessionStatus.REVIEW)


def test_one_may_go_back_over_a_further_question(tmp_path: Path):
    said = iter([further("One more?"), DECISIONS])
    desk = Desk(tmp_path / "state", ScriptedModel(design=lambda _: next(said)))
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    for _ in "123":
        desk.tool.answer(session_id, "yes")
    assert desk.tool.go_on(session_id).pending.question.id == "q-4"
    assert desk.tool.back(session_id).pending.question.id == "q-3"
    desk.tool.answer(session_id, "yes")
    assert desk.tool.go_on(session_id).pending.question.id == "q-4"


# --- feedback ---


@pytest.mark.req("IP-2", "IP-4")
def test_a_reject_asks_again_only_what_changed_and_keeps_the_rest(tmp_path: Path):
    options = [{"name": name, "description": "d", "pros": ["p"], "cons": ["c"]} for name in ("File", "Table")]
    revision = {
        "changed": [{"id": "d-1", "topic": "Where sessions live", "options": options}],
        "added": [{"topic": "How long", "options": options}],
        "dropped": ["d-9"],
    }
    desk = Desk(tmp_path / "state", ScriptedModel(revision=revision))
    session_id = desk.at_review()
    desk.tool.reject(session_id, "not in memory")
    view = desk.tool.go_on(session_id)
    assert (view.pending.decision.id, view.pending.number, view.pending.of) == ("d-1", 2, 3)
    desk.tool.decide(session_id, "File", "it stays")
    assert desk.tool.go_on(session_id).pending.decision.id == "d-3"
    desk.tool.decide(session_id, "Table")
    session = desk.tool.get(session_id).session
    assert [(one.id, one.selected.name, one.rationale) for one in session.decisions] == [
        ("d-2", "Unit", "the simplest"),
        ("d-1", "File", "it stays"),
        ("d-3", "Table", None),
    ]
    assert isinstance(desk.tool.go_on(session_id).pending, ApprovalPending)


def test_what_a_model_drops_is_still_told_in_the_conversation(tmp_path: Path):
    desk = Desk(tmp_path / "state", ScriptedModel(revision={"dropped": ["d-1"]}))
    session_id = desk.at_review()
    desk.tool.reject(session_id, "no sessions at all")
    assert isinstance(desk.tool.go_on(session_id).pending, ApprovalPending)
    session = desk.tool.get(session_id).session
    assert [one.id for one in session.decisions] == ["d-2"]
    said = [message.content for message in session.conversation_history]
    assert "d-1: dropped: Where sessions live: Memory (the simplest)" in said


def test_the_same_choice_is_not_made_twice(tmp_path: Path):
    again = [{"id": f"d-{at}", **one} for at, one in enumerate(DECISIONS["decisions"], 1)]
    desk = Desk(tmp_path / "state", ScriptedModel(revision={"changed": again}))
    session_id = desk.at_review()
    desk.tool.reject(session_id, "shorter")
    assert isinstance(desk.tool.go_on(session_id).pending, ApprovalPending)
    assert all(one.rationale == "the simplest" for one in desk.tool.get(session_id).session.decisions)


def test_a_choice_is_made_again_if_another_option_is_recommended_now(tmp_path: Path):
    first, second = DECISIONS["decisions"]
    turned = [{**one, "recommendation": at == 1} for at, one in enumerate(first["options"])]
    again = [{**first, "id": "d-1", "options": turned}, {**second, "id": "d-2"}]
    desk = Desk(tmp_path / "state", ScriptedModel(revision={"changed": again}))
    session_id = desk.at_review()
    desk.tool.reject(session_id, "not in memory")
    view = desk.tool.go_on(session_id)
    assert (view.pending.decision.id, view.pending.number, view.pending.of) == ("d-1", 2, 2)


# --- the summary ---

SUMMARY = {
    "summary": "# Goal\nA login.",
    "acceptance_criteria": [{"given": "Given a user", "when": "they log in", "then": "they see it"}],
    "target_paths": [{"path": "./app/login.py"}, {"path": "app/new.py", "new": True}],
    "test_commands": ["pytest -q", "bin/check --all", "make test"],
    "assumptions": ["One user"],
    "out_of_scope": ["Tokens"],
    "open_points": [],
}


@pytest.mark.req("IP-5", "IP-8")
def test_the_whole_design_is_in_what_is_approved(tmp_path: Path):
    desk = desk_of(tmp_path, review=SUMMARY)
    session_id = desk.at_review()
    stored = desk.tool.get(session_id)
    design = stored.facts.design
    assert design.target_paths == (TargetPath("app/login.py"), TargetPath("app/new.py", new=True))
    text = stored.session.design_summary
    assert text == (
        "# Goal\nA login.\n\n"
        "### What was decided\n- Where sessions live: Memory. as it says\n"
        "- How it is tested: Unit. as it says\n\n"
        "### It is done if\n- Given a user; when they log in; then they see it\n\n"
        "### Files\n- `app/login.py`\n- `app/new.py` (new)\n\n"
        "### Tests\n- `pytest -q`\n- `bin/check --all`\n- `make test`\n\n"
        "### Assumed\n- One user\n\n"
        "### Not included\n- Tokens"
    )
    assert build_enhanced_instruction(stored.session).endswith(f"## Design Summary\n{text}")
    assert purposes(desk)[-1] == "review"


@pytest.mark.req("IP-5")
def test_paths_and_commands_that_are_not_there_are_asked_for_once_more(tmp_path: Path):
    wrong = {**SUMMARY, "target_paths": [{"path": "app/logn.py"}], "test_commands": ["nose -v"]}
    right = {"target_paths": [{"path": "app/login.py:12"}], "test_commands": ["pytest"]}
    desk = desk_of(tmp_path, review=wrong, targets=right)
    session_id = desk.at_review()
    assert purposes(desk)[-2:] == ["review", "targets"]
    assert told(desk.model.asked[-1])["problem"] == "app/logn.py\nnose -v"
    facts = desk.tool.get(session_id).facts
    assert (facts.design.target_paths, facts.design.test_commands) == (
        (TargetPath("app/login.py"),),
        ("pytest",),
    )
    assert (facts.design.open_points, facts.draft, facts.wrong) == ((), "", ())


@pytest.mark.req("RN-3", "RN-16")
def test_the_paths_and_commands_of_steps_are_checked_like_the_others(tmp_path: Path):
    steps = [
        {"title": "Log in", "target_paths": ["app/login.py:3", "app/new.py"], "criteria": [1]},
        {"title": "Log out", "target_paths": ["app/logn.py"], "test_commands": ["nose -v", "pytest"]},
    ]
    targets = [{"path": "app/new.py", "new": True}]
    desk = desk_of(tmp_path, review={**SUMMARY, "target_paths": targets, "steps": steps}, targets={})
    design = desk.tool.get(desk.at_review()).facts.design
    assert told(desk.model.asked[-1])["problem"] == "app/logn.py\nnose -v"
    assert "Log out: app/logn.py" in told(desk.model.asked[-1])["steps"]
    assert [(one.title, one.target_paths, one.test_commands) for one in design.steps] == [
        ("Log in", ("app/login.py", "app/new.py"), ()),
        ("Log out", ("app/logn.py",), ("pytest",)),
    ]
    assert [one.path for one in design.target_paths] == ["app/new.py", "app/login.py", "app/logn.py"]
    assert len(design.open_points) == 2, "what is still wrong is said"


@pytest.mark.req("RN-3")
@pytest.mark.parametrize("again", [True, False])
def test_steps_follow_the_corrected_paths(tmp_path: Path, again: bool):
    steps = [
        {"title": "In", "target_paths": ["app/logn.py"]},
        {"title": "Out", "target_paths": ["app/new.py"]},
    ]
    targets = [{"path": "app/new.py", "new": True}]
    right = {"target_paths": [*targets, {"path": "app/login.py"}], "test_commands": []}
    if again:
        right["steps"] = [{**steps[0], "target_paths": ["app/login.py"]}, steps[1]]
    desk = desk_of(tmp_path, review={**SUMMARY, "target_paths": targets, "steps": steps}, targets=right)
    facts = desk.tool.get(desk.at_review()).facts
    assert [one.title for one in facts.design.steps] == (["In", "Out"] if again else ["Out"])
    named = [path for step in facts.run_plan.steps for path in step.scope.target_paths]
    assert sorted(named) == ["app/login.py", "app/new.py"]


@pytest.mark.parametrize("again", [{}, {"target_paths": [{"path": "app/logn.py"}, {"path": "/etc/passwd"}]}])
def test_what_is_wrong_twice_is_marked(tmp_path: Path, again: dict[str, Any]):
    wrong = {
        **SUMMARY,
        "target_paths": [{"path": "app/logn.py"}, {"path": "../x"}],
        "test_commands": ["nose"],
    }
    desk = desk_of(tmp_path, review=wrong, targets=again)
    session_id = desk.at_review()
    stored = desk.tool.get(session_id)
    assert purposes(desk).count("targets") == 1
    assert stored.facts.design.target_paths == (TargetPath("app/logn.py", new=True),)
    assert stored.facts.design.test_commands == ()
    assert "### Still open\n- The project has no `app/logn.py`" in stored.session.design_summary
    assert "The project has no `nose`" in stored.session.design_summary


@pytest.mark.req("IP-14")
def test_a_summary_that_waits_for_other_paths_goes_when_the_design_changes(tmp_path: Path):
    failing = BadModelAnswer(model="m", why="no")
    desk = desk_of(tmp_path, review={**SUMMARY, "target_paths": [{"path": "x"}]}, targets=failing)
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(SessionFailed):
        desk.led(session_id)
    assert desk.tool.get(session_id).facts.wrong == ("x",)
    desk.model.words[Purpose.TARGETS] = {}
    assert desk.tool.back(session_id).pending.decision.id == "d-2"
    desk.tool.decide(session_id, "opt-b")
    desk.tool.go_on(session_id)
    assert purposes(desk)[-3:] == ["targets", "review", "targets"]


def test_the_design_is_written_in_the_language_of_the_session(tmp_path: Path):
    desk = desk_of(tmp_path, review=SUMMARY)
    session_id = desk.at_review("ログインを追加")
    assert "### 完了の条件\n- 前提: a user" in desk.tool.get(session_id).session.design_summary


# --- failures, interruptions, another model ---


def test_a_failure_names_the_models_words_and_the_log(tmp_path: Path):
    error = BadModelAnswer(model="m", why="no JSON")
    error.exchanges = (Exchange("r", "I would rather\nnot. hunter2hunter2"),)
    desk = Desk(tmp_path / "state", ScriptedModel(design=error))
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(SessionFailed) as caught:
        desk.led(session_id)
    assert str(caught.value).endswith("It said: I would rather not. [masked]")
    assert f".agent/logs/{session_id}/design.log" in caught.value.hint.format(**caught.value.details)
    assert "RINGI_MODEL=" in caught.value.hint


def test_an_interrupted_call_is_counted(tmp_path: Path):
    spent = TokenUsage(requests=1, input_tokens=7, output_tokens=3)

    class Stopped(ScriptedModel):
        def ask(self, prompt: Prompt, kind: Any, budget: Any, on_progress: Any) -> Any:
            on_progress(ModelProgress(1.0, 3, spent=spent))
            raise KeyboardInterrupt

    desk = Desk(tmp_path / "state", Stopped())
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(KeyboardInterrupt):
        desk.tool.go_on(session_id)
    stored = desk.tool.get(session_id)
    assert stored.facts.usage == spent
    assert stored.session.status is SessionStatus.DISCOVERY
    desk.model = ScriptedModel()
    assert isinstance(desk.tool.go_on(session_id).pending, QuestionPending)


SPENT = TokenUsage(requests=2, input_tokens=7, output_tokens=3)


@pytest.mark.req("IP-14")
@pytest.mark.parametrize(
    ("left", "requests"),
    [
        (OpenCall(purpose=Purpose.DISCOVERY, model="m", counted=0, usage=SPENT), 3),
        (OpenCall(purpose=Purpose.DISCOVERY, model="m", counted=5, usage=SPENT), 1),
        (b"{", 1),
        (b"", 1),
    ],
    ids=["not saved", "saved", "torn", "empty"],
)
def test_the_call_of_a_process_that_was_killed_is_counted_once(tmp_path: Path, left: Any, requests: int):
    desk = desk_of(tmp_path, whole=True)
    session_id = desk.tool.start("Add a login").session_id
    desk.workspace.open_calls[session_id] = left if isinstance(left, bytes) else codec.canonical(left)
    desk.tool.go_on(session_id)
    assert desk.tool.get(session_id).facts.usage.requests == requests
    assert desk.workspace.open_calls == {}
    logged = [entry.text for entry in desk.ledger.sessions.logs(session_id)]
    assert any("interrupted" in text for text in logged) == (requests == 3)


def test_a_call_whose_answer_cannot_be_saved_is_counted(tmp_path: Path):
    """Another process moved the session while the model worked."""

    class Overtaken(ScriptedModel):
        def ask(self, prompt: Prompt, kind: Any, budget: Any, on_progress: Any) -> Any:
            on_progress(ModelProgress(1.0, 3, spent=SPENT))
            desk.tool.cancel(session_id)
            return super().ask(prompt, kind, budget, on_progress)

    desk = Desk(tmp_path / "state", Overtaken())
    session_id = desk.tool.start("Add a login").session_id
    with pytest.raises(SessionRace):
        desk.tool.go_on(session_id)
    assert codec.decode_foreign(desk.workspace.open_calls[session_id], OpenCall, "x").usage == SPENT


def test_progress_names_the_phase_and_the_model(tmp_path: Path):
    desk = Desk(tmp_path / "state")
    heard: list[ModelProgress] = []
    desk.tool.go_on(desk.tool.start("Add a login").session_id, heard.append)
    assert [(one.purpose, one.model) for one in heard] == [(Purpose.DISCOVERY, "scripted:model")]


def test_the_log_says_when_another_model_goes_on(tmp_path: Path):
    desk = Desk(tmp_path / "state")
    session_id = desk.tool.start("Add a login").session_id
    desk.tool.go_on(session_id)
    desk.model = ScriptedModel()
    desk.model.name = "other:model"
    desk.led(session_id)
    logged = [entry.text for entry in desk.ledger.sessions.logs(session_id) if entry.phase == "design"]
    assert "goes on with other:model; before it was scripted:model" in logged[0]


class Dead(BaseException):
    """As after kill -9: nothing more is done."""


@pytest.mark.req("IP-14")
@pytest.mark.parametrize("at", range(8))
def test_whenever_it_dies_no_call_that_was_answered_is_made_again(tmp_path: Path, at: int):
    words: dict[str, Any] = {
        "files": {"paths": ["app/login.py"]},
        "review": {**SUMMARY, "target_paths": [{"path": "app/logn.py"}]},
        "targets": {"target_paths": [{"path": "app/login.py"}], "test_commands": []},
    }
    answered: list[str] = []

    class Mortal(ScriptedModel):
        def ask(self, prompt: Prompt, kind: Any, budget: Any, on_progress: Any) -> Any:
            if len(answered) == at and not self.asked and desk.model is self:
                self.asked.append(prompt)
                raise Dead
            answered.append(str(prompt.purpose))
            return ScriptedModel(**words).ask(prompt, kind, budget, on_progress)

    desk = desk_of(tmp_path, **words)
    desk.model = Mortal(**words)
    session_id = desk.tool.start("Add a login").session_id
    for feedback in ("", "smaller"):
        if feedback:
            desk.tool.reject(session_id, feedback)
        try:
            desk.led(session_id)
        except Dead:
            assert desk.tool.resume(session_id) == desk.tool.view(session_id)
            desk.led(session_id)
    once = ["files", "discovery", "design", "review", "targets"]
    assert answered == [*once, "files", "revision", "review", "targets"]
    assert verify(desk.ledger) == []
