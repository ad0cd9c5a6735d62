"""The arguments of each tool, and the JSON Schemas of arguments and answers."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from ringi.kernel.document import Document
from ringi.models.prompt import Brought
from ringi.plans.document import MessageRef
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, SpecSelection

LONGEST_WAIT_SEC: Final = 300
USUAL_WAIT_SEC: Final = 25
"""Clients commonly give up on a call after 30 or 60 seconds."""


def _says(words: str) -> Meta:
    return Meta(description=words)


Name = Annotated[str, Meta(min_length=1, max_length=100)]
Words = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
PlanName = Annotated[Name, _says('The plan: its short name ("p7"), its id, or the beginning of its id.')]
SessionName = Annotated[Name, _says("The planning session: its id, or the beginning of its id.")]
Seconds = Annotated[float, Meta(ge=0, le=LONGEST_WAIT_SEC)]
WorkSeconds = Annotated[
    Seconds, _says("How long to wait at most for the model. Then the answer says to call planning_get.")
]
OptionalName = Annotated[str, Meta(max_length=100)]
OptionalWords = Annotated[str, Meta(max_length=1_000_000)]


class OutlineRequest(Document, frozen=True):
    request: Annotated[
        str, Meta(min_length=1, max_length=20_000), _says("What your user wants done, in their words.")
    ]


class Propose(Document, frozen=True):
    content: Annotated[Words, _says("What the plan is about, as Markdown. The first line becomes the title.")]
    sources: Annotated[
        tuple[MessageRef, ...],
        Meta(max_length=1000, description="Messages of the conversation that the plan came from."),
    ] = ()
    rationale: Annotated[
        str, Meta(max_length=100_000, description="Why it should be done; shown to the person.")
    ] = ""
    tags: Annotated[tuple[Name, ...], Meta(max_length=50, description="Words to sort plans by.")] = ()


class SetActionSpecs(Document, frozen=True):
    plan_id: PlanName
    specs: Annotated[
        tuple[ActionSpec, ...],
        Meta(min_length=1, max_length=10_000),
        _says("Everything the plan does, in order. Replaces the specs it had."),
    ]


class OfPlan(Document, frozen=True):
    plan_id: PlanName


class RequestApproval(Document, frozen=True):
    plan_id: PlanName
    selection: Annotated[
        SpecSelection,
        _says('All specs ({"all": true}; also if left out), or some: {"all": false, "ids": ["s1"]}.'),
    ] = ALL_SPECS


class WaitArguments(Document, frozen=True):
    plan_id: PlanName
    seconds: Annotated[Seconds, _says("How long to wait at most. Then the answer says to call again.")] = (
        USUAL_WAIT_SEC
    )


class MarkPending(Document, frozen=True):
    plan_id: PlanName
    pending: Annotated[bool, _says("true: the plan waits for a review. false: it goes back to proposed.")]


class List(Document, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=1000, description="The most to list, the newest first.")] = 50
    waiting: Annotated[bool, _says("Only plans that still wait for a person or an execution.")] = False


class IssueRequest(Document, frozen=True):
    issue: Annotated[
        str,
        Meta(min_length=1, max_length=2_000),
        _says("The address of an issue, a pull or merge request, or its number, such as #12."),
    ]
    opens_change: Annotated[
        bool, _says("true: the result becomes a draft pull or merge request, if your user agrees.")
    ] = False


class TaskRequest(Document, frozen=True):
    request: Annotated[Words, _says("What your user wants done, all of it, in their own words and language.")]


class GiveFeedback(Document, frozen=True):
    run_id: Annotated[str, Meta(min_length=1, max_length=200, description="The run.")]
    text: Annotated[
        str, Meta(min_length=1, max_length=20_000, description="What should be different, and why.")
    ]


class PlanningStart(Document, frozen=True):
    instruction: Annotated[Words, _says("What your user wants done, in their own words and language.")]
    bring: Annotated[
        bool,
        _says("true: you bring questions, decisions and the design (planning_bring); no model is asked."),
    ] = False
    seconds: WorkSeconds = USUAL_WAIT_SEC


class PlanningBring(Brought, frozen=True, kw_only=True):
    """What is due, and your findings."""

    session_id: SessionName
    seconds: WorkSeconds = USUAL_WAIT_SEC


class PlanningAnswer(Document, frozen=True):
    """Exactly one of answer, skip and resume."""

    session_id: SessionName
    answer: Annotated[
        OptionalWords, _says("What your user said: their words, or the number of an option they chose.")
    ] = ""
    skip: Annotated[bool, _says("true: your user does not want to answer this question.")] = False
    question_id: Annotated[
        OptionalName,
        _says('The question that was answered ("q-1"). Refused if another one is asked by now.'),
    ] = ""
    resume: Annotated[bool, _says("true: resume a session that failed or whose model was stopped.")] = False
    seconds: WorkSeconds = USUAL_WAIT_SEC


class PlanningDecide(Document, frozen=True):
    session_id: SessionName
    option: Annotated[
        str,
        Meta(min_length=1, max_length=1000),
        _says('The option that your user chose: its id, as "opt-a".'),
    ]
    reason: Annotated[OptionalWords, _says("Why, if your user said so; in their words.")] = ""
    decision_id: Annotated[
        OptionalName, _says('What was decided ("d-1"). Refused if another decision is asked for by now.')
    ] = ""
    seconds: WorkSeconds = USUAL_WAIT_SEC


class PlanningGet(Document, frozen=True):
    session_id: Annotated[
        OptionalName, _says("The planning session; left out: those that can be resumed.")
    ] = ""
    seconds: WorkSeconds = USUAL_WAIT_SEC


class Nothing(Document, frozen=True):
    """No arguments."""


SPEC_FIELDS: Final = {
    "kind": "What to do; each kind has an example below.",
    "path": "A plain path below the workspace, with forward slashes. For run: the folder to run in.",
    "content": "create, write: the whole new content. patch: a unified diff of this one file.",
    "description": "What it is for, in a sentence; shown to the person.",
    "optional": "If it cannot be done when the plan is carried out, the others go on.",
    "encoding": "base64 for content that is not text.",
    "mode": 'Permission bits in octal, as "0755". Left out, the file keeps its own.',
    "group": "Specs with the same name are done wholly or not at all, and selected together.",
    "target": "move: the new path.",
    "argv": "run: the program and its arguments. No shell.",
    "timeout_sec": "run, call: the most seconds it may take; then it is ended.",
    "tool": "call: the outside tool, <server>_<tool>.",
    "arguments": "call: what the tool is given.",
    "tool_digest": "call: set by ringi.",
}
SPEC_EXAMPLES: Final[list[dict[str, Any]]] = [
    {"kind": "create", "path": "src/new.py", "content": "VALUE = 1\n"},
    {"kind": "write", "path": "README.md", "content": "# The whole new text\n"},
    {
        "kind": "patch",
        "path": "app.py",
        "content": "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n import sys\n-x = 1\n+x = 2\n",
    },
    {"kind": "delete", "path": "old.txt"},
    {"kind": "move", "path": "a.txt", "target": "docs/a.txt"},
    {"kind": "mkdir", "path": "docs/images"},
    {"kind": "read", "path": "pyproject.toml"},
    {"kind": "analyze", "path": "src"},
    {"kind": "run", "argv": ["make", "test"], "timeout_sec": 300},
    {"kind": "call", "tool": "tracker_close", "arguments": {"issue": 7}},
]


# As `FailedCall` in `answers`, once for every tool: so it is short.
_FAILURE: Final = {
    "type": "object",
    "properties": {"error": {"type": "object", "required": ["code", "message", "hint"]}},
    "required": ["error", "next_step"],
}


_BROUGHT_FIELDS: Final = {
    "findings": "What you saw in the code and your user should know; shown to them as yours.",
    "questions": "For your user. [] if there are none.",
    "decisions": "For your user to make. [] if there are none.",
    "dropped": "After a reject: ids of decisions that no longer apply.",
    "design": "What your user approves. Each path exists or has new: true; each command works here.",
}


def object_schema(kind: type[Document]) -> dict[str, Any]:
    whole = msgspec.json.schema(kind)
    definitions: dict[str, Any] = whole["$defs"]
    own = definitions.pop(kind.__name__)
    return {**own, "$defs": definitions} if definitions else own


def input_schema(kind: type[Document]) -> dict[str, Any]:
    """Adds descriptions of what is brought, and of a spec's fields with an example of each kind."""
    schema = object_schema(kind)
    if kind is PlanningBring:
        for name, words in _BROUGHT_FIELDS.items():
            schema["properties"][name]["description"] = words
    spec = schema.get("$defs", {}).get("ActionSpec")
    if spec is not None:
        for name, words in SPEC_FIELDS.items():
            spec["properties"][name]["description"] = words
        spec["examples"] = SPEC_EXAMPLES
    return schema


def output_schema(kind: type[Document]) -> dict[str, Any]:
    """The answer or a failure: some clients check failures against it too."""
    schema = object_schema(kind)
    definitions = schema.pop("$defs", {})
    for one in (schema, *definitions.values()):
        one.pop("title", None)  # every client reads all of them, and they only repeat the names
    return {"type": "object", "anyOf": [schema, _FAILURE], "$defs": definitions}
