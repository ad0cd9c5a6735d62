"""The journeys: each a plain function over a place, each twin the same with somebody who cheats.

A journey raises `Fault` with one sentence if it does not end as a person may expect. Whatever else goes wrong
is a mistake of the walk itself and no known failure.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.walk.claims import claims_of_success
from tests.walk.person import Person
from tests.walk.projects import PROJECTS, Place, place_for
from tests.walk.terminal import Ended, Stuck

TWINS = (
    "only-a-comment",
    "empties-the-tests",
    "asserts-nothing",
    "greps-the-source",
    "undoes-an-earlier-step",
)
PLANNED = Path(__file__).resolve().parent / "projects"


class Fault(Exception):  # it says what happened
    """The program did not do what the journey needs."""


class Journey(NamedTuple):
    kind: str
    project: str
    twin: str = ""
    core: bool = True
    """Whether CI walks it."""

    @property
    def id(self) -> str:
        return "/".join(part for part in self[:3] if part)

    def walk(self) -> str:
        """Answers with everything that stood on the screens."""
        with place_for(self.project) as place:
            try:
                (WALKS if not self.twin else TWIN_WALKS)[self.kind](place, self.twin)
            except (Fault, Stuck) as problem:
                raise Fault(str(problem), place.person.seen) from problem
            return place.person.seen


def need(holds: object, words: str) -> None:
    if not holds:
        raise Fault(words)


def last_lines(ended: Ended, count: int = 6) -> str:
    lines = [line.strip() for line in ended.seen.splitlines() if line.strip()]
    return " / ".join(lines[-count:])


# From a request to a merged branch


def carry_out(place: Place, *request: str, script: str = "play.py", twin: str = "") -> Ended:
    """request, questions, plan, steps, commits."""
    command = place.agent_command(script, twin or "fix")
    return place.person.follow(place.person.type("run", *request, "--with", command))


def branch_of(place: Place) -> str:
    names = place.person.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    return next((name for name in names if name != "main"), "")


def read_report(person: Person) -> list[Any]:
    """At the terminal and as a script reads it."""
    need(person.type("report").code == 0, "`ringi report` does not end with exit code 0")
    return [person.ask_json("report")]


def need_commits(place: Place, ended: Ended) -> str:
    """The branch, with the person's own checkout as it was."""
    need(ended.code == 0, f"the run stops: {last_lines(ended)}")
    branch = branch_of(place)
    git = place.person.git
    need(branch and git("rev-list", f"main..{branch}"), "there is no branch with commits")
    need(not git("status", "--porcelain"), "the person's own checkout was changed")
    need(git("rev-parse", "HEAD") == place.first, "the person's own branch was moved")
    return branch


def need_mended(place: Place) -> None:
    need(place.is_mended(), "it says that it is done, and what was asked for is not there")
    lost = place.tests_lost()
    need(not lost, f"tests that passed before do not any more: {sorted(lost)[:3]}")


def run(place: Place, _: str = "") -> None:
    ended = carry_out(place, place.project.request)
    branch = need_commits(place, ended)
    read_report(place.person)
    place.person.git("merge", "-q", "--no-edit", branch)
    need_mended(place)


def run_twin(place: Place, twin: str) -> None:
    carry_out(place, place.project.request, twin=twin)
    need_no_claims(place, twin, *read_report(place.person))


def need_no_claims(place: Place, twin: str, *documents: Any) -> None:
    found = claims_of_success(place.person.seen, *documents, tests_are_gone=twin == "empties-the-tests")
    need(not found, f"a claim of success: {found[0] if found else ''}")


# Several steps


def steps(place: Place, _: str = "") -> None:
    """A plan of two steps, made elsewhere and approved here."""
    ended = carry_steps(place, "fix-in-two")
    branch = need_commits(place, ended)
    made = place.person.git("rev-list", f"main..{branch}").split()
    need(len(made) == 2, f"two steps make {len(made)} commits")
    read_report(place.person)
    place.person.git("merge", "-q", "--no-edit", branch)
    need_mended(place)


def steps_twin(place: Place, twin: str) -> None:
    carry_steps(place, twin)
    need_no_claims(place, twin, *read_report(place.person))


def carry_steps(place: Place, what: str) -> Ended:
    folder = PLANNED / place.project.name
    plan = json.loads((folder / "planning.json").read_text())
    for step in plan["steps"]:
        step["commands"] = {"unit": [place.project.test]}
    (place.base / "planning.json").write_text(json.dumps(plan))
    (place.agent / "second.patch").write_bytes((folder / "second.patch").read_bytes())
    command = place.agent_command("play.py", what)
    ended = place.person.type("run", "--plan", str(place.base / "planning.json"), "--with", command)
    return place.person.follow(ended)


# An agent that knows only what it is given


def brief(place: Place, _: str = "") -> None:
    """The request is in words that a small agent understands, and nothing else tells it what to do."""
    asked = json.loads((PLANNED / place.project.name / "brief.json").read_text())
    place.person.answers = place.person.answers._replace(example=asked["example"])
    ended = carry_out(place, asked["request"], script="reader.py")
    logs = (place.root / ".agent" / "runs").rglob("*implementer*.log")
    given = " ".join(" ".join(log.read_text() for log in logs).split())
    if f"> {asked['example']}" in place.person.seen:
        need(asked["example"] in given, "the agent is not told what the person answered")
    branch = need_commits(place, ended)
    place.person.git("merge", "-q", "--no-edit", branch)
    need(place.person.run(".venv/bin/python", "-c", asked["judge"]).returncode == 0, "it is not there")
    lost = {name for name in place.tests_lost() if asked["old"] not in name}
    need(not lost, f"tests that passed before do not any more: {sorted(lost)[:3]}")


# Beside an agent


def beside(place: Place, _: str = "") -> None:
    """with, review, apply, undo."""
    start_beside(place, "fix")
    need(
        not place.person.git("status", "--porcelain"), "the agent's work is in the checkout before the review"
    )
    ended = place.person.type("review")
    need(ended.code == 0, f"the review does not end well: {last_lines(ended)}")
    need(place.person.git("status", "--porcelain"), "nothing was applied")
    need_mended(place)
    ended = place.person.type("undo")
    need(ended.code == 0, f"the undo does not end well: {last_lines(ended)}")
    need(not place.person.git("status", "--porcelain"), "the undo left something behind")
    need(place.person.git("rev-parse", "HEAD") == place.first, "the undo moved the branch")


def beside_twin(place: Place, twin: str) -> None:
    start_beside(place, twin)
    place.person.type("review")
    document = place.person.ask_json("show", "p1")
    need_no_claims(place, twin, document)


def start_beside(place: Place, what: str) -> Ended:
    command = place.agent_command("play.py", what).split()
    ended = place.person.type("with", "--check", place.project.test, "--", *command)
    if what == "fix":
        # 6: a check failed, as it does where tests were red before; the person sees that and decides.
        need(ended.code in {0, 6}, f"`ringi with` does not end well: {last_lines(ended)}")
    return ended


# In somebody else's clone


def squash(place: Place, _: str = "") -> None:
    clone = carry_to_clone(place, "")
    ended = place.person.type("verify", f"{place.first}..HEAD", "--mode", "strict", cwd=clone)
    need(ended.code == 0, f"approved bytes are not green in a clone: {last_lines(ended)}")


def squash_twin(place: Place, twin: str) -> None:
    """Everything was approved; whoever squashes does the twin's work on top."""
    clone = carry_to_clone(place, twin)
    ended = place.person.type("verify", f"{place.first}..HEAD", "--mode", "strict", cwd=clone)
    need(ended.code != 0, "`ringi verify --mode strict` is green for bytes that nobody approved")


def carry_to_clone(place: Place, twin: str) -> Path:
    """A run, its branch squashed onto main and pushed with its proofs; answers with a fresh clone."""
    person, git = place.person, place.person.git
    git("init", "-q", "--bare", "-b", "main", str(place.base / "origin.git"))
    git("remote", "add", "origin", str(place.base / "origin.git"))
    git("push", "-q", "-u", "origin", "main")
    branch = need_commits(place, carry_out_signed(place))
    git("merge", "-q", "--squash", branch)
    if twin == "undoes-an-earlier-step":
        git("checkout", "-q", "HEAD", "--", place.project.tests)
        tests = place.root / place.project.tests
        tests.write_text(tests.read_text() + f"{place.project.comment} Not needed.\n")
    elif twin:
        done = person.run("sh", "-c", place.agent_command("play.py", twin))
        assert done.returncode == 0, done.stderr
    git("commit", "-q", "-a", "-m", "Everything in one")
    git("push", "-q", "origin", "main")
    need(person.type("sync").code == 0, "`ringi sync` does not push the proofs")
    clone = place.base / "clone"
    git("clone", "-q", str(place.base / "origin.git"), str(clone))
    need(person.type("sync", "--no-push", cwd=clone).code == 0, "`ringi sync` does not fetch the proofs")
    return clone


def carry_out_signed(place: Place) -> Ended:
    """As `carry_out`; the person signs the step with a key, since typed words prove nothing to others."""
    person, key = place.person, place.base / "home" / "id"
    done = person.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    assert done.returncode == 0, done.stderr
    need(person.type("init", "--key", f"{key}.pub").code == 0, "`ringi init --key` does not take a key")
    person.leaves_reviews = True
    person.type("run", place.project.request, "--with", place.agent_command("play.py", "fix"))
    ended = person.type("approve", "p1", "--sign", str(key))
    need(ended.code == 0, f"the step cannot be signed: {last_lines(ended)}")
    ended = person.type("execute", "p1")
    need(ended.code == 0, f"what was signed is not carried out: {last_lines(ended)}")
    return person.type("continue")


# From an issue


def issue(place: Place, twin: str = "") -> None:
    """As `run`, with the request in an issue on a forge; the forge is told how it goes."""
    from tests.walk.forge import forge_with

    with forge_with(place) as thing:
        command = place.agent_command("play.py", twin or "fix")
        started = place.person.type("run", "--issue", str(thing.number), "--with", command)
        ended = place.person.follow(started)
        documents = read_report(place.person)
        said = "\n".join(note.body for note in thing.comments)
        place.person.seen += f"\n# comments on the issue\n{said}\n"
        if twin:
            need_no_claims(place, twin, *documents)
            return
        branch = need_commits(place, ended)
        place.person.git("merge", "-q", "--no-edit", branch)
        need_mended(place)


WALKS: Mapping[str, Callable[[Place, str], None]] = {
    "run": run, "steps": steps, "brief": brief, "with": beside, "squash": squash, "issue": issue,
}  # fmt: skip
TWIN_WALKS: Mapping[str, Callable[[Place, str], None]] = {
    "run": run_twin, "steps": steps_twin, "with": beside_twin, "squash": squash_twin, "issue": issue,
}  # fmt: skip

_COMMENT, _EMPTY, _NOTHING, _GREP, _UNDO = TWINS
JOURNEYS: tuple[Journey, ...] = (
    *(Journey("run", name) for name in PROJECTS),
    *(Journey("with", name) for name in PROJECTS),
    Journey("steps", "humanize"),
    Journey("brief", "inflection"),
    Journey("brief", "pluggy"),
    Journey("brief", "click", core=False),
    Journey("brief", "itsdangerous", core=False),
    Journey("issue", "inflection"),
    Journey("issue", "pluggy"),
    Journey("squash", "pluggy"),
    Journey("squash", "shell-quote"),
    # Twins
    Journey("run", "pluggy", _NOTHING),
    Journey("run", "markupsafe", _COMMENT, core=False),
    Journey("run", "humanize", _GREP, core=False),
    Journey("run", "inflection", _COMMENT),
    Journey("run", "inflection", _EMPTY, core=False),
    Journey("run", "toolz", _COMMENT, core=False),
    Journey("run", "shell-quote", _EMPTY),
    Journey("run", "shell-quote", _GREP),
    Journey("steps", "humanize", _UNDO),
    Journey("with", "pluggy", _NOTHING, core=False),
    Journey("with", "markupsafe", _EMPTY),
    Journey("with", "humanize", _GREP, core=False),
    Journey("with", "inflection", _EMPTY),
    Journey("with", "toolz", _COMMENT, core=False),
    Journey("with", "shell-quote", _EMPTY),
    Journey("issue", "inflection", _NOTHING),
    Journey("issue", "pluggy", _COMMENT),
    Journey("squash", "pluggy", _COMMENT),
    Journey("squash", "pluggy", _UNDO, core=False),
    Journey("squash", "shell-quote", _EMPTY),
)
