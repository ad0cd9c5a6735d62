"""Recordings of a model that is played by a list, read again by another object or another process."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ringi
from ringi.errors import (
    BadDocument,
    BadModelAnswer,
    Busy,
    InTheWay,
    ModelBusy,
    ModelFailed,
    ModelTimeout,
    NewerVersion,
    NotRecorded,
    StorageFailed,
    Unreadable,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.models.prompt import (
    Budget,
    Exchange,
    LanguageModel,
    Material,
    ModelAnswer,
    NewDecisions,
    NewQuestion,
    NewQuestions,
    NewSummary,
    OnProgress,
    Prompt,
    QuestionType,
)
from ringi.models.recording import RecordedModel, Recording, question_hash
from ringi.models.usage import Purpose, TokenUsage
from ringi.sessions.document import Brief

BUDGET = Budget(10.0, 1000)
DISCOVERY = Prompt(Purpose.DISCOVERY, "Ask questions.", (Material("instruction", "Add a login"),))
REVIEW = Prompt(Purpose.REVIEW, "Sum it up.", (Material("instruction", "ログインを追加"),))
QUESTIONS = NewQuestions((NewQuestion(QuestionType.SCOPE, "どこまで?", options=("a", "b")),))
USAGE = TokenUsage(
    requests=2, input_tokens=321, output_tokens=45, cost_usd=0.1 + 0.2, duration_sec=1.0000000001
)
EXCHANGES = (Exchange("the request", "not JSON", "no JSON in it"), Exchange("again", '{"questions": []}'))


class Played:
    """Answers with what it is given, in order; an error is raised."""

    name = "openai:gpt-5"

    def __init__(self, *answers: object, exchanges: tuple[Exchange, ...] = EXCHANGES) -> None:
        self.answers = list(answers)
        self.exchanges = exchanges

    def ask(
        self, prompt: Prompt, kind: type[Any], budget: Budget, on_progress: OnProgress
    ) -> ModelAnswer[Any]:
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return ModelAnswer(answer, USAGE, self.exchanges, self.name)


def quiet(_: object) -> None:
    pass


def ask(model: LanguageModel, prompt: Prompt = DISCOVERY, kind: type[Any] = NewQuestions) -> ModelAnswer[Any]:
    return model.ask(prompt, kind, BUDGET, quiet)


def failed(kind: type[ModelFailed], **details: object) -> ModelFailed:
    error = kind(**details)
    error.exchanges, error.usage = EXCHANGES, USAGE
    return error


def failing(template: str, /, **details: object) -> dict[str, object]:
    """The error of a line, with a reason in these words."""
    why = {"template": template, "details": details}
    return {"error": {"code": "model_failed", "details": {"model": "m", "why": why}}}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_a_session_is_repeated_with_answers_usage_and_exchanges(path: Path) -> None:
    model = Recording(path, Played(QUESTIONS, NewSummary("# まとめ\n")))
    said = [ask(model), ask(model, REVIEW, NewSummary)]

    replay = RecordedModel(path)
    again = [ask(replay), ask(replay, REVIEW, NewSummary)]

    assert again == said
    assert codec.canonical([one.value for one in again]) == codec.canonical([one.value for one in said])
    assert model.name == "openai:gpt-5"
    assert replay.name == f"replay:{path}"
    assert again[0].model == "openai:gpt-5"


def test_the_same_question_gets_its_answers_in_their_order_and_errors_too(path: Path) -> None:
    wait = Text("{what}, try in {seconds} s", what=Text("no calls"), seconds=1.5)
    answers = [NewSummary("one"), NewSummary("two"), failed(ModelBusy, model="m", why=wait)]
    model = Recording(path, Played(*answers))
    ask(model, REVIEW, NewSummary)
    ask(model, REVIEW, NewSummary)
    with pytest.raises(ModelBusy):
        ask(model, REVIEW, NewSummary)

    replay = RecordedModel(path)
    assert [ask(replay, REVIEW, NewSummary).value.summary for _ in "12"] == ["one", "two"]
    with pytest.raises(ModelBusy) as caught:
        ask(replay, REVIEW, NewSummary)

    assert caught.value.details == {"model": "m", "why": wait, "key": "llm.timeout_sec"}
    assert (caught.value.exchanges, caught.value.usage) == (EXCHANGES, USAGE)
    with pytest.raises(
        NotRecorded, match=r"review is asked in these words once more than it was.* 3 answers"
    ):
        ask(replay, REVIEW, NewSummary)


def test_a_failure_that_was_overcome_does_no_harm(path: Path) -> None:
    busy = failed(ModelBusy, model="m", why="no calls")
    model = Recording(path, Played(QUESTIONS, busy, busy, NewSummary("one")))
    ask(model)
    for _ in "12":
        with pytest.raises(ModelBusy):
            ask(model, REVIEW, NewSummary)
    ask(model, REVIEW, NewSummary)

    for _ in "12":  # each as in a process of its own
        assert ask(RecordedModel(path), REVIEW, NewSummary).value == NewSummary("one")
    assert ask(RecordedModel(path)).value == QUESTIONS


def test_what_else_lies_in_the_project_is_no_part_of_the_question(path: Path) -> None:
    def beside(names: str) -> Prompt:
        return DISCOVERY._replace(material=(*DISCOVERY.material, Material("project", f"top: {names}")))

    ask(Recording(path, Played(QUESTIONS)), beside("a.py"))

    assert ask(RecordedModel(path), beside(f"a.py, {path.name}")).value == QUESTIONS


def test_what_was_never_asked_names_the_purpose_and_how_much_there_is(path: Path) -> None:
    ask(Recording(path, Played(QUESTIONS)))
    replay = RecordedModel(path)

    with pytest.raises(NotRecorded, match="design was not asked in these words; it has 1 answers") as caught:
        ask(replay, DISCOVERY._replace(purpose=Purpose.DESIGN), NewDecisions)
    assert caught.value.exchanges == ()
    assert str(path) in str(caught.value)
    for other in (
        DISCOVERY._replace(rules="Ask other questions."),
        DISCOVERY._replace(material=(Material("instruction", "Add a logout"),)),
        DISCOVERY._replace(material=(Material("other", "Add a login"),)),
        DISCOVERY._replace(material=()),
    ):
        with pytest.raises(NotRecorded):
            ask(replay, other)
    with pytest.raises(NotRecorded):
        ask(replay, DISCOVERY, NewSummary)
    assert ask(replay).value == QUESTIONS


def test_neither_budget_nor_the_brief_with_its_times_is_part_of_the_question() -> None:
    briefed = DISCOVERY._replace(brief=Brief(instruction="Add a login"))

    assert question_hash(briefed, NewQuestions) == question_hash(DISCOVERY, NewQuestions)
    assert question_hash(DISCOVERY, NewQuestions) != question_hash(DISCOVERY, NewSummary)


TEXTS = st.text(max_size=30) | st.text(st.characters(categories=["Cs", "Cc", "Lo", "Zl"]), max_size=5)


@given(
    st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=3), st.text(min_size=1, max_size=50).filter(str.strip)
)
@settings(max_examples=60, deadline=None)
def test_any_words_come_back(
    tmp_path_factory: pytest.TempPathFactory, said: list[tuple[str, str, str]], summary: str
) -> None:
    path = tmp_path_factory.mktemp("any") / "r.jsonl"
    exchanges = tuple(Exchange(*one) for one in said)
    prompt = REVIEW._replace(material=tuple(Material(one[0], one[1]) for one in said))
    answer = ask(Recording(path, Played(NewSummary(summary), exchanges=exchanges)), prompt, NewSummary)

    again = ask(RecordedModel(path), prompt, NewSummary)

    whole = tuple(Exchange(*(one.encode("utf-8", "replace").decode() for one in words)) for words in said)
    assert again == answer._replace(exchanges=whole)
    assert path.read_bytes().count(b"\n") == 1


def test_a_line_says_what_was_asked_and_nothing_of_when(path: Path) -> None:
    ask(Recording(path, Played(QUESTIONS)))

    line = json.loads(path.read_bytes())

    assert line["schema_version"] == 1
    assert line["asked"] == question_hash(DISCOVERY, NewQuestions)
    assert (line["purpose"], line["kind"], line["model"]) == ("discovery", "NewQuestions", "openai:gpt-5")
    assert line["answer"]["questions"][0]["question"] == "どこまで?"
    assert line["usage"]["inputTokens"] == 321
    assert path.read_bytes() == codec.canonical(line) + b"\n"


def test_only_the_user_may_read_it_and_secrets_are_masked_in_all_but_the_answer(path: Path) -> None:
    exchanges = (Exchange("key sk-123", "said sk-123", "bad sk-123"),)
    error = failed(BadModelAnswer, model="m", why=Text("{words}!", words="found sk-123"))
    error.exchanges = exchanges
    played = Played(NewSummary("uses sk-123"), error, exchanges=exchanges)
    model = Recording(path, played, mask=lambda text: text.replace("sk-123", "***"))
    answer = ask(model, REVIEW, NewSummary)
    with pytest.raises(BadModelAnswer, match="found sk-123"):
        ask(model, REVIEW, NewSummary)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().count("sk-123") == 1
    assert answer.exchanges == exchanges
    replay = RecordedModel(path)
    again = ask(replay, REVIEW, NewSummary)
    assert again.value == NewSummary("uses sk-123")
    assert again.exchanges == (Exchange("key ***", "said ***", "bad ***"),)
    with pytest.raises(BadModelAnswer, match=r"found \*\*\*!"):
        ask(replay, REVIEW, NewSummary)


def test_recording_again_adds_to_the_file(path: Path) -> None:
    ask(Recording(path, Played(QUESTIONS)))
    ask(Recording(path, Played(NewSummary("s"))), REVIEW, NewSummary)
    replay = RecordedModel(path)

    assert ask(replay, REVIEW, NewSummary).value == NewSummary("s")
    assert ask(replay).value == QUESTIONS


def test_a_line_cut_off_anywhere_is_left_out_and_the_rest_kept(path: Path) -> None:
    model = Recording(path, Played(QUESTIONS, NewSummary("s")))
    ask(model)
    kept = path.stat().st_size
    ask(model, REVIEW, NewSummary)
    whole = path.read_bytes()
    for cut in {kept + 1, kept + 20, len(whole) - 2}:
        path.write_bytes(whole[:cut])
        replay = RecordedModel(path)
        assert ask(replay).value == QUESTIONS
        with pytest.raises(NotRecorded):
            ask(replay, REVIEW, NewSummary)

        ask(Recording(path, Played(NewSummary("s"))), REVIEW, NewSummary)
        assert path.read_bytes() == whole
    path.write_bytes(whole[:-1])
    assert ask(RecordedModel(path), REVIEW, NewSummary).value == NewSummary("s")
    ask(Recording(path, Played(QUESTIONS)))
    assert path.read_bytes() == whole + whole[:kept]
    path.write_bytes(whole[:5])
    ask(Recording(path, Played(QUESTIONS)))
    assert path.read_bytes() == whole[:kept]


@pytest.mark.parametrize(
    ("spoil", "kind", "words"),
    [
        (lambda line: b"{}\n" + line, BadDocument, "line 1: .*asked"),
        (lambda line: line + b"\n" + line, BadDocument, "line 2: it is empty"),
        (lambda line: line[:30] + b"\n" + line, BadDocument, "line 1"),
        (lambda line: b"\xff\xfe" + line, BadDocument, "line 1: it is not UTF-8"),
        (lambda line: line.replace(b'"kind"', b'"sort"'), BadDocument, "line 1: .*sort"),
        (
            lambda line: line.replace(b'"schema_version":1', b'"later":1,"schema_version":2'),
            NewerVersion,
            "later version",
        ),
        (lambda line: b"[" * 100_000 + b"\n" + line, BadDocument, "line 1: it is nested too deeply"),
    ],
)
def test_a_damaged_or_newer_recording_is_refused(
    path: Path, spoil: Callable[[bytes], bytes], kind: type[Exception], words: str
) -> None:
    ask(Recording(path, Played(QUESTIONS)))
    path.write_bytes(spoil(path.read_bytes()))

    with pytest.raises(kind, match=words):
        RecordedModel(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answer": {"questions": "none"}}, "Expected `array`"),
        ({"error": {"code": "no_such_code", "details": {}}}, "an error that nobody knows: no_such_code"),
        ({"error": {"code": "model_busy", "details": {}}}, "has no words"),
        ({"error": {"code": "session_race", "details": {"session": "s"}}}, "nobody knows"),
        ({"error": {"code": "model_failed", "details": {"self": "s"}}}, "has no words"),
        (failing("{x", x="y"), "has no words"),
        (failing("{x.__class__}", x="y"), "has no words"),
        (failing("{x[0]}", x="y"), "has no words"),
        (failing("{x!r}", x="y"), "has no words"),
        (failing("{x:>999999999}", x="y"), "has no words"),
        (failing("{x}", template="y"), "has no words"),
    ],
)
def test_an_edited_answer_is_refused_when_it_is_asked_for(
    path: Path, change: dict[str, object], words: str
) -> None:
    ask(Recording(path, Played(QUESTIONS)))
    path.write_bytes(codec.canonical({**json.loads(path.read_bytes()), **change}) + b"\n")

    with pytest.raises(BadDocument, match=words):
        ask(RecordedModel(path))


def test_files_that_are_no_recording_are_left_alone_before_anything_is_asked(
    path: Path, tmp_path: Path
) -> None:
    played = Played(QUESTIONS)
    path.write_text("# Notes, without a newline at the end")
    with pytest.raises(BadDocument, match="not a recording"):
        ask(Recording(path, played))
    assert path.read_text() == "# Notes, without a newline at the end"
    for other, kind in ((tmp_path, StorageFailed), (tmp_path / "no" / "such", StorageFailed)):
        with pytest.raises(kind):
            ask(Recording(other, played))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InTheWay):
        ask(Recording(tmp_path / "pipe", played))
    assert played.answers == [QUESTIONS]
    with pytest.raises(Unreadable):
        RecordedModel(tmp_path / "absent")


def test_what_is_no_answer_of_a_model_is_not_recorded(path: Path) -> None:
    model = Recording(path, Played(KeyboardInterrupt(), Busy(holder="somebody")))
    with pytest.raises(KeyboardInterrupt):
        ask(model)
    with pytest.raises(Busy):
        ask(model)

    assert path.read_bytes() == b""
    with pytest.raises(NotRecorded, match="it has 0 answers"):
        ask(RecordedModel(path))


def test_every_error_of_a_model_can_be_repeated(path: Path) -> None:
    def kinds(top: type[ModelFailed]) -> list[type[ModelFailed]]:
        return [top, *(kind for sub in top.__subclasses__() for kind in kinds(sub))]

    errors = [failed(kind, model="m", why="w", who="n", seconds=3, key="k") for kind in kinds(ModelFailed)]
    model = Recording(path, Played(*errors))
    for error in errors:
        with pytest.raises(type(error)):
            ask(model)

    replay = RecordedModel(path)
    assert len(errors) > 5
    for error in errors:
        with pytest.raises(ModelFailed) as caught:
            ask(replay)
        assert type(caught.value) is type(error)
        assert str(caught.value) == str(error)


def python(script: str, *words: str, limit: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    env = {
        **os.environ,
        "PYTHONPATH": f"{Path(ringi.__file__).parents[1]}{os.pathsep}{Path(__file__).parents[3]}",
    }
    return subprocess.Popen([*limit, sys.executable, "-c", script, *words], env=env, stderr=subprocess.PIPE)


MANY = """
import sys
from pathlib import Path
from tests.unit.models.test_recording import ask, Played, REVIEW, NewSummary
from ringi.models.prompt import Exchange
from ringi.models.recording import Recording
who = sys.argv[2]
big = (Exchange(who * 200_000, who),)
model = Recording(Path(sys.argv[1]), Played(*[NewSummary(who)] * 20, exchanges=big))
for _ in range(20):
    ask(model, REVIEW, NewSummary)
"""


def test_two_processes_write_whole_lines(path: Path) -> None:
    for process in [python(MANY, str(path), who) for who in "ab"]:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors

    replay = RecordedModel(path)
    said = [ask(replay, REVIEW, NewSummary) for _ in range(40)]
    assert sorted(one.value.summary for one in said) == ["a"] * 20 + ["b"] * 20
    assert all(one.exchanges[0].request == one.value.summary * 200_000 for one in said)


def test_a_full_disk_leaves_whole_lines(path: Path) -> None:
    # A limit on the size of files stands for the disk; the signal that comes with it is ignored by Python.
    process = python(MANY, str(path), "a", limit=("prlimit", "--fsize=1000000"))
    _, errors = process.communicate(timeout=60)

    assert process.returncode != 0
    assert b"StorageFailed" in errors
    data = path.read_bytes()
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 4


def test_a_replay_needs_neither_network_nor_a_library_for_models(path: Path) -> None:
    ask(Recording(path, Played(QUESTIONS)))
    script = """
import socket, sys
from pathlib import Path
def none(*_): raise AssertionError("network")
socket.socket = none
from tests.unit.models.test_recording import ask
from ringi.models.recording import RecordedModel
assert ask(RecordedModel(Path(sys.argv[1]))).value.questions
from tests.helpers import assert_not_loaded
assert_not_loaded(sys.modules, "pydantic_ai", "openai", "anthropic", "httpx2")
"""
    process = python(script, str(path))
    _, errors = process.communicate(timeout=60)

    assert process.returncode == 0, errors


def test_a_timeout_keeps_its_seconds(path: Path) -> None:
    model = Recording(path, Played(failed(ModelTimeout, model="m", seconds=2.5)))
    with pytest.raises(ModelTimeout):
        ask(model)

    with pytest.raises(ModelTimeout, match=r"within 2\.5 seconds"):
        ask(RecordedModel(path))
