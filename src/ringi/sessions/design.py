"""What a summary claims, compared with the project, and how it is written into what a person approves."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from posixpath import normpath
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.engine.design import Criterion, Design, DesignStep, TargetPath
from ringi.kernel.text import Text, in_language
from ringi.models.prompt import NewCriterion, NewPath, NewStep, NewSummary, NewTargets
from ringi.models.usage import Language
from ringi.policy.globs import inside
from ringi.sessions.document import DecisionPoint, SessionFacts

CACHE: Final = "cache:"
"""In place of the model's name: the design of an earlier session, then its id."""
_LINE_NUMBERS: Final = re.compile(r"(?::|#L?)\d+(?:-L?\d+)?$")
_LABEL: Final = re.compile(r"^(given|when|then)\b[\s:,]*", re.IGNORECASE)
_SETTING: Final = re.compile(r"\w+=")


class KnownProject(NamedTuple):
    """What paths and commands are compared with."""

    has: Callable[[str], bool]
    """Whether there is this file or folder."""
    runs: Callable[[str], bool]
    """Whether the search path has this program."""
    test_commands: tuple[str, ...] = ()

    def resolves(self, command: str) -> bool:
        if command in self.test_commands:
            return True
        try:
            words = [word for word in shlex.split(command) if not _SETTING.match(word)]
        except ValueError:
            return False
        if not words:
            return False
        program = words[0]
        return self.runs(program) or ("/" in program and self.has(plain_path(program)))


class CheckedDesign(NamedTuple):
    design: Design
    wrong: tuple[str, ...] = ()
    """Paths that should exist, and commands, but they do not."""


def check_design(found: NewSummary, project: KnownProject) -> CheckedDesign:
    design = Design(
        acceptance_criteria=tuple(map(_criterion, found.acceptance_criteria)),
        assumptions=_lines(found.assumptions),
        out_of_scope=_lines(found.out_of_scope),
        open_points=_lines(found.open_points),
    )
    targets = NewTargets(found.target_paths, found.test_commands, found.steps)
    return correct_design(CheckedDesign(design), targets, project)


def correct_design(before: CheckedDesign, found: NewTargets, project: KnownProject) -> CheckedDesign:
    """With other paths, commands and steps; an empty list corrects nothing."""
    named = {_existing(plain_path(one.path), project): one for one in found.target_paths if one.path.strip()}
    steps = tuple(_step(one, project) for one in found.steps)
    design = replace(before.design, steps=steps or before.design.steps)
    if steps and not named:
        named = {one.path: NewPath(one.path, one.new) for one in design.target_paths}
    for path in (path for step in steps for path in step.target_paths):
        if not inside(path, named):  # it is checked like the others
            named[path] = NewPath(path)
    if named:
        missing = [path for path, one in named.items() if _is_missing(path, one, project)]
        design = replace(
            design, target_paths=tuple(TargetPath(path, not project.has(path)) for path in named)
        )
    else:
        missing = [target.path for target in design.target_paths if target.path in before.wrong]
    if commands := _lines(found.test_commands):
        design = replace(design, test_commands=commands)
    unknown = [one for one in _all_commands(design) if not project.resolves(one)]
    return CheckedDesign(_within_targets(design), (*missing, *unknown))


def _step(new: NewStep, project: KnownProject) -> DesignStep:
    paths = [_existing(plain_path(path), project) for path in new.target_paths if path.strip()]
    return DesignStep(
        title=plain_line(new.title),
        target_paths=tuple(dict.fromkeys(paths)),
        criteria=tuple(dict.fromkeys(new.criteria)),
        test_commands=_lines(new.test_commands),
    )


def _all_commands(design: Design) -> Iterator[str]:
    steps = (command for step in design.steps for command in step.test_commands)
    yield from dict.fromkeys([*design.test_commands, *steps])


def _within_targets(design: Design) -> Design:
    """Without paths of steps that a correction dropped, and steps that have none left."""
    targets = [one.path for one in design.target_paths]
    steps = (
        replace(step, target_paths=tuple(path for path in step.target_paths if inside(path, targets)))
        for step in design.steps
    )
    return replace(design, steps=tuple(step for step in steps if step.target_paths))


def _existing(path: str, project: KnownProject) -> str:
    """Without line numbers, if that is a file."""
    bare = without_lines(path)
    return bare if project.has(bare) and not project.has(path) else path


def without_lines(path: str) -> str:
    """app.py of app.py:10-40."""
    return _LINE_NUMBERS.sub("", path)


def _is_missing(path: str, named: NewPath, project: KnownProject) -> bool:
    return is_outside(path) or (not named.new and not project.has(path))


def is_outside(path: str) -> bool:
    return path.startswith(("/", "../")) or path in {"..", "."}


def mark_wrong_parts(result: CheckedDesign, language: Language) -> Design:
    """What is still wrong is said: a missing file is a new one, a command that does not work is left out."""
    design, wrong = result
    say = in_language(language)
    words = [Text("The project has no {what}, which the design named as if it were there.", what=f"`{one}`")
             for one in wrong]  # fmt: skip

    def working(commands: Sequence[str]) -> tuple[str, ...]:
        return tuple(command for command in commands if command not in wrong)

    kept = replace(
        design,
        target_paths=tuple(one for one in design.target_paths if not is_outside(one.path)),
        test_commands=working(design.test_commands),
        open_points=(*design.open_points, *map(say, words)),
        steps=tuple(replace(step, test_commands=working(step.test_commands)) for step in design.steps),
    )
    return _within_targets(kept)


def render_design(
    summary: str, design: Design, decisions: Sequence[DecisionPoint], facts: SessionFacts
) -> str:
    """The whole design as Markdown: a person approves exactly this text."""
    say = in_language(facts.language)
    sections = [
        [line for one in decisions for line in _decision_lines(one, summary)],
        [say(_describe_criterion(one)) for one in design.acceptance_criteria],
        [_render_path(one, say) for one in design.target_paths],
        [f"`{command}`" for command in design.test_commands],
        design.assumptions,
        design.out_of_scope,
        design.open_points,
        list(map(say, _origin_lines(facts))),
    ]
    parts = [_HEADING + say(title) + "\n" + "\n".join(f"- {line}" for line in lines)
             for title, lines in zip(_TITLES, sections, strict=True) if lines]  # fmt: skip
    return "".join([summary.strip(), *parts])


# One level below the summary's heading in the run's instruction.
_HEADING: Final = "\n\n### "
_TITLES: Final = (
    Text("What was decided"),
    Text("It is done if"),
    Text("Files"),
    Text("Tests"),
    Text("Assumed"),
    Text("Not included"),
    Text("Still open"),
    Text("Brought by the agent"),
)


def summary_alone(text: str, language: Language) -> str:
    """What was rendered, up to what the design has as data; with what was decided."""
    say = in_language(language)
    ends = (text.find(f"{_HEADING}{say(title)}\n") for title in _TITLES[1:])
    return text[: min((end for end in ends if end >= 0), default=len(text))]


def _decision_lines(decision: DecisionPoint, summary: str) -> Iterator[str]:
    """What the chosen option means, unless the summary says it."""
    option = decision.selected
    if option is not None and option.description and option.description not in summary:
        yield plain_line(f"{decision.topic}: {option.name}. {option.description}")


def _origin_lines(facts: SessionFacts) -> Iterator[Text]:
    if facts.agent_brings and facts.model.startswith(CACHE):
        yield Text("This design was approved before, for a similar request.")
    elif facts.agent_brings:
        who = facts.model or str(Text("the agent"))
        yield Text("This design, its questions and its options are the words of {who}.", who=who)
    for finding in facts.findings:
        yield Text("Found, not checked: {finding}", finding=finding)


def _describe_criterion(one: Criterion) -> Text:
    return Text("Given {given}; when {when}; then {then}", given=one.given, when=one.when, then=one.then)


def _render_path(target: TargetPath, say: Callable[[Text], str]) -> str:
    return say(Text("{path} (new)", path=f"`{target.path}`")) if target.new else f"`{target.path}`"


def _criterion(new: NewCriterion) -> Criterion:
    """Many models repeat the label in the text."""
    given, when, then = (
        _LABEL.sub("", plain_line(text), count=1) for text in (new.given, new.when, new.then)
    )
    return Criterion(given, when, then)


def plain_path(text: str) -> str:
    """As the snapshot spells it: without ./ and a final slash."""
    return normpath(plain_line(text))


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for text in texts if (line := plain_line(text))))


def plain_line(text: str) -> str:
    return " ".join(text.split())
