"""A model that knows nothing but what it is sent, and asks for everything else.

    with ModelServer(answer) as server:
        ...

It reads files, definitions, tests and test commands out of the prompt, as a careful engineer would. What it
must know and does not find there it asks the person: a question of its kind `OWED` therefore means that the
context lacks something which the project has.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.fakes.model_server import Request

_DATA = re.compile(r"<data (\w+) (\w+)>\n(.*?)\n</data \1>", re.DOTALL)
_FACT = re.compile(r"^([a-z ]+): (.+)$", re.MULTILINE)
_FILE = re.compile(r"^## (\S+) \((?:(source|test|doc|other)(?:; tests: ([^)]+))?|lines: \d+)\)$")
_LINE = re.compile(r"^ *(\d+)  (.*)$")
_DEFINITION = re.compile(r"^(?:async )?(?:def|class) (\w+)")
_IDENTIFIER = re.compile(r"\b\w*_\w+\b|\b[A-Z]+[a-z]+(?:[A-Z]\w*)+|\b\w+(?=\()|(?<=\w\.)[a-z]\w+\b")
_NAMED_PATH = re.compile(r"\b[\w/.-]+\.(?:md|rst|txt|py|toml|cfg)\b")
_WORD = re.compile(r"[a-z]{3,}")
_KINDS = {
    "speed": re.compile(r"\b(?:faster|slow|speed)\b", re.IGNORECASE),
    "refactor": re.compile(r"\b(?:split|refactor|extract|simplify|rename|move)\b", re.IGNORECASE),
    "bug": re.compile(r"\b(?:raises?|wrong|crash\w*|appends|fails|bug|ignores|loses)\b", re.IGNORECASE),
}  # fmt: skip

OWED = {
    "file": "Which file is this about?",
    "definition": "Where is what you name defined?",
    "text": "What does that file say now?",
    "tests": "How are the tests run?",
    "test file": "Where do its tests go?",
    "changes": "Is there a change log?",
    "purpose": "What does this project do?",
}
"""What a project answers itself, by what is missing."""
SLOW = "What is slow today, and how would you measure it?"
"""Only a person knows."""


class Shown(NamedTuple):
    """A file, as far as the prompt shows it."""

    path: str
    kind: str
    tests: tuple[str, ...]
    lines: Mapping[int, str]

    def definitions(self) -> dict[str, int]:
        found = {}
        for number, text in self.lines.items():
            if match := _DEFINITION.match(text.strip()):
                found.setdefault(match[1], number)
        return found

    @property
    def is_test(self) -> bool:
        return self.kind == "test"


class Reading:
    """What a prompt tells, and what is concluded from it."""

    def __init__(self, text: str) -> None:
        self.parts = {name: words for _, name, words in _DATA.findall(text)}
        context = self.parts.get("project", "") or self.parts.get("context", "")
        self.request = self.parts.get("instruction", "") or self.parts.get("task", "")
        self.answers = self.parts.get("answers", "")
        self.facts = dict(_FACT.findall(context.partition("\n# Files")[0]))
        self.files = list(_files(f"{context}\n{self.parts.get('code', '')}"))
        self.kind = self._kind()

    def _kind(self) -> str:
        if self.documents():
            return "doc"
        return next((name for name, words in _KINDS.items() if words.search(self.request)), "feature")

    def documents(self) -> list[Shown]:
        """Those that the request names."""
        named = set(_NAMED_PATH.findall(self.request))
        return [file for file in self.files if file.path in named and file.kind == "doc"]

    def names(self) -> list[str]:
        """Identifiers of the request, and of what the person answered."""
        said = self.answers.replace(SLOW, "")
        return list(dict.fromkeys(_IDENTIFIER.findall(f"{self.request}\n{said}")))

    def homes(self) -> list[tuple[Shown, str, int]]:
        """Where what is named is defined."""
        return [
            (file, name, file.definitions()[name])
            for file in self.files
            if file.kind == "source"
            for name in self.names()
            if name in file.definitions()
        ]

    def target(self) -> Shown | None:
        """The file to change: named, or with a definition that is named or sounds like the request."""
        if documents := self.documents():
            return documents[0]
        if homes := self.homes():
            return homes[0][0]
        if self.kind == "speed":
            return None  # "make" and "faster" sound like much that they do not mean
        said = set(_WORD.findall(self.request.lower()))
        sources = [file for file in self.files if file.kind == "source"]
        fits = [(len(said & _sounds(file)), -at, file) for at, file in enumerate(sources)]
        best = max(fits, default=(0, 0, None), key=lambda one: one[:2])
        return best[2] if best[0] else None

    def tests(self) -> list[dict[str, Any]]:
        """The tests of the target: those that are there, or a new file beside them."""
        target = self.target()
        if target is None or self.kind == "doc":
            return []
        beside = [path for path in target.tests if "test" in path.rpartition("/")[2]]
        shown = [file.path for file in self.files if file.is_test]
        if found := (beside or shown)[:1]:
            return [{"path": found[0], "new": False}]
        folder = self.facts.get("tests in", "").partition(",")[0].strip()
        stem = target.path.rpartition("/")[2].removesuffix(".py").strip("_")
        return [{"path": f"{folder}/test_{stem}.py", "new": True}] if folder else []

    def commands(self) -> list[str]:
        return self.facts.get("tested with", "").split(" · ")[:1] if "tested with" in self.facts else []

    def changes(self) -> str:
        return self.facts.get("change log", "")

    def _is_shown(self, name: str) -> bool:
        word = re.compile(rf"\b{re.escape(name)}\b")
        return any(word.search(line) for file in self.files for line in file.lines.values())

    @property
    def is_vague(self) -> bool:
        return self.kind == "speed" and self.target() is None

    def missing(self) -> Iterator[str]:
        target = self.target()
        if "about" not in self.facts:
            yield "purpose"
        if target is None:
            if not self.is_vague:
                yield "file"
        elif not target.lines:
            yield "text"
        elif self.kind != "doc" and not self.tests():
            yield "test file"
        named = [self._is_shown(name) for name in self.names()] or [True]
        if self.kind != "doc" and not any(named):
            yield "definition"
        if not self.commands():
            yield "tests"
        if not self.changes() and "top level" not in self.facts:
            yield "changes"


def _files(text: str) -> Iterator[Shown]:
    """Each once, with everything that is shown of it."""
    found: dict[str, Shown] = {}
    at = None
    for line in text.splitlines():
        if line.startswith("#"):
            head = _FILE.match(line)
            at = head[1] if head else None
            if head and (at not in found or head[2]):
                tests = tuple((head[3] or "").split(", ")) if head[3] else ()
                before = found[at].lines if at in found else {}
                found[head[1]] = Shown(head[1], head[2] or _kind(head[1]), tests, dict(before))
        elif at and (numbered := _LINE.match(line)):
            lines = found[at].lines
            assert isinstance(lines, dict)
            lines[int(numbered[1])] = numbered[2]
    return iter(found.values())


def _kind(path: str) -> str:
    """Of a file that it asked for: the prompt does not repeat it."""
    if "test" in path:
        return "test"
    return "source" if path.endswith(".py") else "doc"


def _sounds(file: Shown) -> set[str]:
    """The words of its name, its definitions and what is shown of them."""
    return set(_WORD.findall(" ".join([file.path, *file.lines.values()]).lower()))


def answer(request: Request) -> Any:
    """For a ModelServer."""
    read = Reading(request.text)
    schema = request.schema or json.loads(request.text.rpartition("JSON Schema:\n")[2].split("\n")[0])
    return _ANSWERS[next(iter(schema["properties"]))](read)


def _wanted(read: Reading) -> Any:
    """The target if the body of what is named is not shown, its tests, and the change log's head."""
    target = read.target()
    if target is None:
        return {"paths": []}
    tests = [one["path"] for one in read.tests() if not one["new"]]
    return {"paths": list(dict.fromkeys([target.path, *tests]))}


def _questions(read: Reading) -> Any:
    found = [_question("technical", OWED[name]) for name in read.missing()]
    if read.is_vague:
        found.append(_question("clarification", SLOW))
    return {"questions": found[:5]}


def _question(kind: str, words: str) -> dict[str, Any]:
    return {"type": kind, "question": words, "context": "Nothing that I was shown says it.", "options": []}


def _decisions(read: Reading) -> Any:
    homes = read.homes()
    places = list(dict.fromkeys(f"{name} in {file.path}" for file, name, _ in homes))[:4]
    target = read.target()
    if read.kind == "bug" and len(places) > 1:
        return {"decisions": [_decision("Where it is mended", *places)]}
    if read.kind == "feature" and target:
        stays = f"Extend {places[0]}" if places else f"Extend {target.path}"
        return {"decisions": [_decision("Where it lives", stays, f"Something new in {target.path}")]}
    if read.kind == "refactor" and target:
        return {"decisions": [_decision("How far it goes", f"Only {target.path}", "Its callers too")]}
    return {"decisions": []}


def _decision(topic: str, *names: str) -> dict[str, Any]:
    return {
        "topic": topic,
        "options": [
            {
                "name": name,
                "description": f"The change is: {name}.",
                "pros": ["it is close to what was asked"] if number == 0 else ["it is easy to find"],
                "cons": ["none that the code shows"] if number == 0 else ["more has to be tested"],
                "recommendation": number == 0,
            }
            for number, name in enumerate(names)
        ],
    }


def _paths(read: Reading) -> list[dict[str, Any]]:
    target = read.target()
    paths = [{"path": target.path, "new": False}] if target else []
    paths += read.tests()
    if read.changes() and read.kind != "doc":
        paths.append({"path": read.changes(), "new": False})
    return list({one["path"]: one for one in paths}.values())


def _about(read: Reading) -> str:
    place = next((f"`{name}` ({file.path}:{line})" for file, name, line in read.homes()), "")
    target = read.target()
    return place or (f"`{target.path}`" if target else "what the measurement shows")


def _criterion(read: Reading) -> dict[str, str]:
    tested = read.commands()[:1] or ["a look at it"]
    return {"given": "the change", "when": f"{tested[0]} runs", "then": f"{_about(read)} does what was asked"}


def _summary(read: Reading) -> Any:
    return {
        "summary": f"Goal: {read.request.splitlines()[0]}\n\nThe change is made in {_about(read)}.",
        "acceptance_criteria": [_criterion(read)],
        **_targets(read),
        "assumptions": [],
        "out_of_scope": [],
        "open_points": [],
    }


def _targets(read: Reading) -> Any:
    return {"target_paths": _paths(read), "test_commands": read.commands()}


def _goal(read: Reading) -> Any:
    return {
        "main_objective": read.request.splitlines()[0],
        "success_criteria": [f"{_about(read)} does what was asked", "All tests pass"],
        "constraints": [],
        "context": read.facts.get("about", ""),
        "goals": [],
        "reasoning": "",
        "clarification_needed": [*(OWED[name] for name in read.missing()), *[SLOW] * read.is_vague],
    }


def _subtasks(read: Reading) -> Any:
    paths = _paths(read)
    tasks = [
        {
            "id": f"task_{number}",
            "description": f"Change {one['path']}" if not one["new"] else f"Add {one['path']}",
            "dependencies": [],
            "estimated_complexity": "low",
            "required_tools": ["create" if one["new"] else "patch"],
            "parent": "",
            "reads": [],
            "writes": [one],
            "criteria": [1],
        }
        for number, one in enumerate(paths, 1)
    ]
    measured = {
        "id": f"task_{len(tasks) + 1}",
        "description": "Measure it and run the tests" if read.kind == "speed" else "Run the tests",
        "dependencies": [task["id"] for task in tasks],
        "estimated_complexity": "low",
        "required_tools": ["run"],
        "parent": "",
        "reads": [one["path"] for one in paths],
        "writes": [],
        "criteria": [2],
    }
    return {"subtasks": [*tasks, measured], "reasoning": "", "infeasible_subtasks": [],
            "alternative_approaches": []}  # fmt: skip


def _actions(read: Reading) -> Any:
    actions = [
        {
            "task_id": task["id"],
            "tool": task["required_tools"][0],
            "purpose": task["description"],
            "expected_outcome": "",
            "fallback_strategy": "Ask the person",
            "argv": (read.commands() or [""])[0].split() if task["required_tools"] == ["run"] else [],
        }
        for task in _subtasks(read)["subtasks"]
    ]
    return {"actions": actions, "reasoning": ""}


def _outline(read: Reading) -> Any:
    return {
        "goal_understanding": _goal(read),
        "task_decomposition": _subtasks(read),
        "action_plan": _actions(read),
    }


_ANSWERS = {
    "paths": _wanted,
    "questions": _questions,
    "decisions": _decisions,
    "changed": lambda _: {"changed": [], "added": [], "dropped": []},
    "summary": _summary,
    "target_paths": _targets,
    "main_objective": _goal,
    "subtasks": _subtasks,
    "actions": _actions,
    "goal_understanding": _outline,
}
"""By the first field of what is asked for."""
