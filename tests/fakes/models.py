"""A model whose words are written down beforehand, and a desk of planning sessions around it."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringi.app.store import Store
from ringi.config.keys import DEFAULTS
from ringi.kernel import codec
from ringi.kernel.system import new_id
from ringi.models.prompt import (
    Budget,
    Exchange,
    ModelAnswer,
    NewDecisions,
    NewQuestions,
    NewSummary,
    OnProgress,
    Prompt,
)
from ringi.models.usage import Purpose, TokenUsage
from ringi.project.context import Context, Gathered, ProjectFacts
from ringi.sessions.tool import PlanningTool
from tests.fakes.people import SteppingClock
from tests.fakes.workspaces import bare_workspace

QUESTIONS = {
    "questions": [
        {"type": "clarification", "question": "Which logins?", "options": ["password", "token"]},
        {"type": "priority", "question": "What matters most?", "context": "it decides the order"},
        {"type": "scope", "question": "Which part?"},
    ]
}
_OPTION = {"description": "as it says", "pros": ["simple"], "cons": ["slow"]}
DECISIONS = {
    "decisions": [
        {
            "topic": "Where sessions live",
            "options": [{"name": "Memory", "recommendation": True, **_OPTION}, {"name": "Table", **_OPTION}],
        },
        {"topic": "How it is tested", "options": [{"name": "Unit", **_OPTION}, {"name": "Whole", **_OPTION}]},
    ]
}
SUMMARY = {"summary": "# Goal\nA login that works."}
WORDS: dict[Purpose, Any] = {
    Purpose.DISCOVERY: QUESTIONS,
    Purpose.DESIGN: DECISIONS,
    Purpose.REVIEW: SUMMARY,
    Purpose.FILES: {"paths": []},
    Purpose.REVISION: {},
    Purpose.TARGETS: {},
}
KINDS = {Purpose.DISCOVERY: NewQuestions, Purpose.DESIGN: NewDecisions, Purpose.REVIEW: NewSummary}
TOOK = TokenUsage(requests=1, input_tokens=100, output_tokens=20, cost_usd=0.5, duration_sec=0.25)


class ScriptedModel:
    """Answers each purpose with its words, or raises what stands there instead."""

    name = "scripted:model"
    sees_project = False

    def __init__(self, **words: Any) -> None:
        self.words = {**WORDS, **{Purpose(purpose): said for purpose, said in words.items()}}
        self.asked: list[Prompt] = []

    def ask(
        self, prompt: Prompt, kind: type[Any], budget: Budget, on_progress: OnProgress
    ) -> ModelAnswer[Any]:
        del budget, on_progress
        self.asked.append(prompt)
        said = self.words[prompt.purpose]
        if callable(said):
            said = said(prompt)
        if isinstance(said, Exception):
            raise said
        request = "\n".join([prompt.rules, *(material.text for material in prompt.material), prompt.task])
        exchanges = (Exchange(request, str(said)),)
        return ModelAnswer(msgspec.convert(said, kind), TOOK, exchanges, self.name)


class ShownProject:
    """A project of a few files, as a model is shown it; what is not in them is not there."""

    def __init__(self, files: Mapping[str, str], *, whole: bool = False) -> None:
        self.files = dict(files)
        self.whole = whole
        self.gathered: list[str] = []

    def snapshot(self) -> str:
        return codec.digest(codec.canonical(self.files))

    def gather(
        self, request: str, *, tokens: int | None = None, limit: int | None = None, about: Sequence[str] = ()
    ) -> Gathered:
        del tokens, limit
        self.gathered.append(request)
        text = "\n".join(self.files)
        facts = ProjectFacts(entries=tuple(self.files), test_commands=("make test",))
        return Gathered(Context((), len(text) // 4, text), facts, self.snapshot(), whole=self.whole)

    def read(self, paths: Sequence[str], tokens: int | None = None) -> str:
        del tokens
        return "\n".join(f"{path}: {self.files.get(path, 'not there')}" for path in paths)

    def has(self, path: str, line: int = 0) -> bool:
        if line:
            return line <= len(self.files.get(path, "").splitlines())
        return any(name == path or name.startswith(f"{path}/") for name in self.files)


class Desk:
    """Planning sessions on a real ledger; nothing of a workspace is needed."""

    def __init__(self, folder: Path, model: Any = None, **parts: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.model = model or ScriptedModel()
        self.pauses: list[float] = []
        self.ledger = Store(
            folder, clock=SteppingClock(), ids=new_id, wait_sec=1.0, after_commit=lambda *_: None
        )
        given: dict[str, Any] = {
            "code": ShownProject({}, whole=True),
            "model": lambda: self.model,
            "budget": Budget(10.0, 1000),
            "has_program": lambda _: True,
            "mask": lambda text: text.replace("hunter2hunter2", "[masked]"),
            "config": DEFAULTS,
            "working_on": _nobody_else,
            "open_calls": {},
            "sleep": self.pauses.append,
            "base_branch": lambda: "main",
            "requests": tuple,
        }
        self.workspace = bare_workspace(folder, folder / "no-project", self.ledger, **{**given, **parts})
        self.tool = PlanningTool(self.workspace)

    def at_review(self, instruction: str = "Add a login") -> str:
        """The id of a session that waits for its approval."""
        return self.led(self.tool.start(instruction).session_id)

    def led(self, session_id: str, answer: Callable[[str], str] = lambda question: f"re {question}") -> str:
        """On to its review, whatever is asked."""
        view = self.tool.go_on(session_id)
        while view.pending.__struct_config__.tag in {"question", "decision"}:
            if view.pending.__struct_config__.tag == "question":
                self.tool.answer(session_id, answer(view.pending.question.question))
            else:
                self.tool.decide(session_id, "opt-a", "the simplest")
            view = self.tool.go_on(session_id)
        return session_id


@contextlib.contextmanager
def _nobody_else(_: str) -> Iterator[None]:
    yield
