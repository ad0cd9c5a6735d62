"""One class name for one idea, and functions that are named by what they do."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "ringi"

# Two documents each, under names that published schemas and recordings have. This may only shrink.
SHARED_NAMES = frozenset(
    {"ApprovedPlan", "Evidence", "Finding", "Level", "NewChange", "RunContext", "Severity", "Side"}
)
# Names of the public API that are what they are. This may only shrink.
PUBLISHED = frozenset({"approved_already", "named_model", "priced", "stored"})
PARTICIPLES = frozenset(
    {
        "begun", "bound", "brought", "built", "chosen", "done", "drawn", "given", "gone", "heard", "held",
        "hidden", "kept", "known", "laid", "left", "lost", "made", "meant", "met", "said", "seen", "sent",
        "shown", "spent", "taken", "told", "written",
    }
)  # fmt: skip
VERBS = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed"})


def is_participle(word: str) -> bool:
    return word in PARTICIPLES or (word.endswith("ed") and word not in VERBS)


def is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def named_by_participles(source: str) -> Iterator[str]:
    """Properties are left out: they say what something is."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or is_property(node):
            continue
        if is_participle(node.name.strip("_").partition("_")[0]):
            yield node.name


def class_names(source: str) -> Iterator[str]:
    return (node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


def test_every_class_name_has_one_meaning():
    names = Counter(name for path in SOURCE.rglob("*.py") for name in class_names(path.read_text("utf-8")))
    assert {name for name, count in names.items() if count > 1} == SHARED_NAMES


def test_functions_are_named_by_verbs():
    found = {name for path in SOURCE.rglob("*.py") for name in named_by_participles(path.read_text("utf-8"))}
    assert found == PUBLISHED


def test_participles_are_found():
    source = "def told(): ...\ndef _joined_up(): ...\ndef read(): ...\ndef need(): ...\n"
    held = "class Lock:\n    @property\n    def held(self): ...\n    def kept(self): ...\n"
    assert list(named_by_participles(source + held)) == ["told", "_joined_up", "kept"]
