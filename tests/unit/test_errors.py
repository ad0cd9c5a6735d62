"""Every error can be said, travels between processes, and is raised with all its words need."""

import ast
import inspect
import pickle
import string
from pathlib import Path

from ringi import errors
from ringi.errors import RingiError
from tests.tables import each

SOURCES = sorted((Path(errors.__file__).parent).rglob("*.py"))
EXIT_CODES = {
    "Failed": 1,
    "Usage": 2,
    "PersonNeeded": 3,
    "Stale": 4,
    "NotGranted": 5,
    "Refused": 6,
    "Busy": 7,
    "Interrupted": 130,
}


def below(kind: type[RingiError]) -> list[type[RingiError]]:
    return [found for child in kind.__subclasses__() for found in (child, *below(child))]


KINDS = {kind.__name__: kind for kind in below(RingiError) if kind.__module__ == "ringi.errors"}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def defaults(kind: type[RingiError]) -> set[str]:
    """What the error itself supplies where it is not told."""
    parameters = inspect.signature(kind).parameters.values()
    return {parameter.name for parameter in parameters if parameter.default is not parameter.empty}


def calls() -> list[tuple[str, ast.Call]]:
    """Every place where an error is made."""
    found = []
    for path in SOURCES:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        # A document may have the same name.
        ours = KINDS.keys() & {
            alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module == "ringi.errors"
            for alias in node.names
        }
        found += [
            (f"{path.name}:{node.lineno}", node)
            for node in nodes
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ours
        ]
    return found


def test_every_error_is_made_with_what_its_words_name():
    wrong, made = [], calls()
    for place, call in made:
        kind = KINDS[call.func.id]
        given = {keyword.arg for keyword in call.keywords} | defaults(kind)
        if missing := (fields(kind.message) | fields(kind.hint)) - given:
            wrong.append(f"{place}: {kind.__name__} without {', '.join(sorted(missing))}")
        if call.args:
            wrong.append(f"{place}: {kind.__name__} takes names only")
    assert wrong == []
    assert len(made) > 50


@each("kind", KINDS.values())
def test_every_error_says_itself(kind: type[RingiError]):
    details = {name: f"<{name}>" for name in fields(kind.message) | fields(kind.hint) | {"what"}}
    error = kind(**details)
    assert all(f"<{name}>" in str(error) for name in fields(kind.message))
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.details, str(again)) == (kind, error.details, str(error))
    assert kind.hint.format_map(error.details) is not None


@each("kind", KINDS.values())
def test_exit_codes_are_those_of_the_family(kind: type[RingiError]):
    family = next(EXIT_CODES[parent.__name__] for parent in kind.__mro__ if parent.__name__ in EXIT_CODES)
    assert kind.exit_code == family


def test_details_with_braces_are_no_templates():
    assert str(errors.NotFound(what="plan", name="{0} {what}")) == "There is no plan {0} {what}."
