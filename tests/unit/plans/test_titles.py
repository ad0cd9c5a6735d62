"""Plans that nobody named."""

from ringi.plans.titles import title_of_paths, title_of_specs
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from tests.tables import each

ADD, WRITE, DELETE = SpecKind.CREATE, SpecKind.WRITE, SpecKind.DELETE


@each(
    ("changes", "title"),
    [
        ([(ADD, "tests/test_x.py")], "Add tests/test_x.py"),
        ([(WRITE, "a.py")], "Change a.py"),
        ([(DELETE, "a"), (DELETE, "b"), (DELETE, "c/d")], "Delete 3 files"),
        ([(WRITE, "src/m/a.py"), (ADD, "src/m/b/c.py")], "Change 2 files in src/m"),
        ([(ADD, "src/m/a.py"), (ADD, "src/n/b.py")], "Add 2 files in src"),
        ([(WRITE, "src/a"), (WRITE, "srcs/b")], "Change 2 files"),
        ([(SpecKind.RUN, "")], ""),
        ([], ""),
    ],
)
def test_one_sentence(changes: list[tuple[SpecKind, str]], title: str):
    assert title_of_specs([ActionSpec(kind, path) for kind, path in changes]) == title


def test_paths_alone_are_changes():
    assert title_of_paths(["a/b", "a/c"]) == "Change 2 files in a"
