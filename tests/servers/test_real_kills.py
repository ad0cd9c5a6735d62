"""Whole tasks with the tools of the reference servers, killed with -9 anywhere: the same in the end, and no
call that changes something twice.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringi.engine.process import ActionState
from ringi.runs.document import StopCode
from ringi.tools.effects import ErrorKind
from tests.crash.killing import FULL, Driver
from tests.crash.office import Office, Told
from tests.crash.run_bureau import Ended, Story
from tests.fakes.model_server import Request
from tests.functional.run_desk import UNIT, a_plan, a_step, at_home
from tests.functional.studio import FILES, reflected
from tests.functional.test_process_scenarios import PATCH, WRONG
from tests.servers import test_real_servers as real
from tests.servers.persistence import Persistent, spread

pytestmark = [
    *real.pytestmark,
    pytest.mark.req("PP-4", "PP-7", "PP-9", "PP-28"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="a standing approval needs a sandbox"),
]
PARTS = 24 if FULL else 4
REQUEST = "Say in README.md that it adds"
WORDS = "Do it in one expression"
READ, SEARCH, EDIT = "files_read_text_file", "files_search_files", "files_edit_file"
README = {"path": "README.md", "content": "# Calc\n\nIt adds.\n"}
PRODUCT = PATCH.replace("a + b", "a * b * 1")
MENDED = PATCH.replace("a - b", "a * b * 1")
COMPILES = "python3 -m compileall -q calc.py"
DESIGN = {
    "summary": "README.md says that it adds.",
    "acceptance_criteria": [{"given": "the page", "when": "it is read", "then": "it says so"}],
    "target_paths": [{"path": "README.md"}],
    "test_commands": [COMPILES],
}
PATIENT = {"execution": {"early_termination": {"max_consecutive_failures": 9}}}


def call(tool: str, **arguments: object) -> dict[str, Any]:
    return {"tool": tool, "arguments": json.dumps(arguments)}


def results(text: str) -> str:
    return text.partition(" results>")[2]


def change(what: str, **fields: object) -> dict[str, Any]:
    return {"type": what, "action_id" if what == "modify_action" else "before_task": "task_1", **fields}


def says_so(text: str) -> Mapping[str, Any]:
    """The second step of those that change something outside."""
    if EDIT in results(text):
        return {"note": "written down"}
    log = {"path": "OUTSIDE/log.md", "edits": [{"oldText": "# Log\n", "newText": "# Log\n- it adds\n"}]}
    return {"files": [README], "call": [call(EDIT, **log)], "done": False}


def simple(text: str) -> Mapping[str, Any]:
    if "all_echo" not in results(text):
        return {"call": [call(READ, path="README.md"), call("all_echo", message="It adds.")], "done": False}
    return {"files": [README], "note": "said it"}


def medium(text: str) -> Mapping[str, Any]:
    if "all_get-sum" not in results(text):
        return {"call": [call(READ, path="calc.py"), call("all_get-sum", a=2, b=3)], "done": False}
    return {"patch": PATCH if "Copy the line" in text else WRONG, "run": [UNIT], "note": "patched"}


def complicated(text: str) -> Mapping[str, Any]:
    if WORDS.partition(" ")[2] in text:
        return {"patch": PATCH, "run": [UNIT], "note": "in one expression"}
    return (
        {"patch": WRONG} if READ in results(text) else {"call": [call(READ, path="calc.py")], "done": False}
    )


def lost(text: str) -> Mapping[str, Any]:
    if "port: 80" in results(text):
        return {"files": [{"path": "README.md", "content": "# Calc\n\nPort 80.\n"}], "note": "found"}
    path = "config/app.config.js" if SEARCH in results(text) else "src/config.js"
    return {"call": [call(READ, path=path)], "done": False}


def unexpected(text: str) -> Mapping[str, Any]:
    if "all_get-sum" in results(text):
        return {"patch": MENDED, "run": [UNIT], "note": "another way"}
    return {"run": [UNIT]} if "patch" in results(text) else {"patch": PRODUCT, "run": [UNIT]}


def hopeless(text: str) -> Mapping[str, Any]:
    if WORDS.partition(" ")[2] in text:
        return {"files": [README], "note": "said it"}
    return {"call": [call(READ, path="lost.js")], "done": False}


def closer(text: str) -> Mapping[str, Any]:
    count = text.count("Look closer") + 1
    return reflected(f"Not as planned, {count}.", change("modify_action", description=f"Look closer {count}"))


FIT = reflected("It does not fit.", change("modify_action", description="Copy the line, then add"))
FOUND = reflected(
    "It is elsewhere.",
    change(
        "add_action",
        tool=SEARCH,
        description="Search for it",
        arguments='{"path": ".", "pattern": "**/*.config.js"}',
    ),
    change("modify_action", description="Read it where it is"),
)
ASKED = reflected(
    "It says 6.",
    change("add_action", tool="all_get-sum", description="Ask what it is", arguments='{"a": 2, "b": 3}'),
    change("modify_action", description="Add as that did"),
)
CALC = a_step(1, title="Add instead of subtracting")
PAGE = a_step(1, title="Say it", scope={"target_paths": ["README.md"]}, commands={"unit": [COMPILES]})
AFTER = a_step(2, title="Say that it adds", scope={"target_paths": ["README.md"]})


class Scene(NamedTuple):
    steps: Sequence[Mapping[str, Any]]
    """Without any it is planned first."""
    turn: Callable[[str], Mapping[str, Any]]
    reflect: Callable[[str], Mapping[str, Any]] = lambda _: {}
    planning: Mapping[str, Any] = {}
    revised: int = 0
    failed: Sequence[ErrorKind] = ()
    stops: Sequence[StopCode] = ()
    outside: int = 0
    """How often a tool changes something outside."""


CALLS, HELP = StopCode.CALL_WAITS, StopCode.HELP_NEEDED
SCENES = {
    "simple": Scene((), simple),
    "medium": Scene((CALC, AFTER), medium, lambda _: FIT, {}, 1, [ErrorKind.MISMATCH] * 2, [CALLS], 1),
    "complex": Scene(
        (CALC, AFTER), complicated, closer, PATIENT, 4, [ErrorKind.MISMATCH] * 5, [HELP, CALLS], 1
    ),
    "a file that is not there": Scene((PAGE,), lost, lambda _: FOUND, {}, 1, [ErrorKind.TOOL_ERROR] * 2),
    "an unexpected result": Scene(
        (CALC,), unexpected, lambda _: ASKED, {}, 1, [ErrorKind.COMMAND_FAILED] * 2
    ),
    "three revisions in vain": Scene(
        (PAGE,), hopeless, closer, PATIENT, 4, [ErrorKind.TOOL_ERROR] * 5, [HELP]
    ),
}


class RealOffice(Office):
    """With the reference servers, and a folder outside of the project that one of them may change."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch, scene: Scene) -> None:
        self._scene = scene
        self.log = base / "here" / "outside" / "log.md"
        self.log.parent.mkdir(parents=True)
        self.log.write_text("# Log\n")
        servers = {
            "all": real.command(real.EVERYTHING),
            "files": real.command(real.FILES, ".", str(self.log.parent)),
        }
        story = Story(a_plan(*scene.steps) if scene.steps else None, {}, granted=True, files=FILES)
        super().__init__(
            base, monkeypatch, story, self._answer,
            model="openai:gpt-5", mcp_servers=servers, planning=scene.planning,
        )  # fmt: skip

    def _answer(self, request: Request) -> Mapping[str, Any]:
        scene, text, schema = self._scene, request.text, str(request.schema)
        if "acceptance_criteria" in schema:
            return DESIGN
        if "root_cause_analysis" in schema:
            return scene.reflect(text)
        found = says_so(text) if "S02" in text else scene.turn(text)
        return json.loads(json.dumps(found).replace("OUTSIDE", str(self.log.parent)))

    @property
    def called(self) -> int:
        """How often it changed something outside."""
        return self.log.read_text().count("- it adds")


class Whole(NamedTuple):
    ended: Ended
    told: list[Told]
    stops: list[str]


def came_of(office: RealOffice, person: Persistent) -> Whole:
    return Whole(office.ended(), office.told(), person.stops)


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", SCENES)
def test_killed_anywhere(
    driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch, name: str, part: int
) -> None:
    scene = SCENES[name]
    office = RealOffice(base, monkeypatch, scene)
    key = str(office.key.path)
    begin = ("continue",) if scene.steps else ("run", "--models", REQUEST, "--sign", key, "--unattended", key)
    person = Persistent(office, driver, begin, WORDS, lambda: office.called > 0)
    with office.server:
        office.fresh()
        person.leads(iter(()))
        whole = came_of(office, person)
        is_as_told(scene, whole)
        assert office.called == scene.outside
        office.fresh()
        person.leads(spread(max(person.calls), part, PARTS))
        assert person.kills > 0
        assert came_of(office, person) == whole
        assert office.called == scene.outside


def is_as_told(scene: Scene, whole: Whole) -> None:
    actions = [one for told in whole.told for one in told.actions]
    assert [error for _, _, state, error, *_ in actions if state is ActionState.FAILURE] == [*scene.failed]
    assert sum(len(told.revisions) for told in whole.told) == scene.revised
    assert whole.stops == [*scene.stops]
    assert whole.told[-1].notes
