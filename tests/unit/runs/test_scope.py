"""What a role changed, against what its step allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.text import Text
from ringi.runs.document import StopCode
from ringi.runs.gates import TreeChanges, violations
from tests.tables import each
from tests.unit.runs.plans import a_plan, a_step

SCOPE = {"target_paths": ("src/app", "README.md"), "forbidden_paths": ("src/app/vendor",)}


def codes(changes: TreeChanges, allowed: tuple[str, ...] = (), **scope: object) -> list[StopCode]:
    step = a_step(scope={**SCOPE, "max_diff_lines": 10, "max_files_changed": 2, **scope})
    return [one.code for one in violations(step, a_plan().limits, changes, allowed)]


@pytest.mark.req("RN-6")
@each(
    ("lines", "expected"),
    [
        ({"README.md": 10}, []),
        ({"src/app/a.py": 5, "src/app/b/c.py": 5}, []),
        ({"README.md": 11}, [StopCode.STEP_TOO_LARGE]),
        ({"README.md": 1, "src/app/a.py": 1, "src/app/b.py": 1}, [StopCode.STEP_TOO_LARGE]),
        ({"src/application.py": 1}, [StopCode.OUT_OF_SCOPE]),
        ({"README.md.orig": 1}, [StopCode.OUT_OF_SCOPE]),
        ({"src/app/vendor/x.py": 1}, [StopCode.OUT_OF_SCOPE]),
        ({"src/app/vendor": 1}, [StopCode.OUT_OF_SCOPE]),
        ({"src/app/vendored.py": 1}, []),
        # All that is wrong is said at once.
        ({"setup.py": 12}, [StopCode.OUT_OF_SCOPE, StopCode.STEP_TOO_LARGE]),
    ],
)
def test_limits_and_paths(lines: dict[str, int], expected: list[StopCode]):
    assert codes(TreeChanges("tree", lines)) == expected


def test_a_person_can_allow_more_paths_but_not_forbidden_ones():
    changes = TreeChanges("tree", {"setup.py": 1, "src/app/vendor/x.py": 1})
    assert codes(changes, ("setup.py",)) == [StopCode.OUT_OF_SCOPE]
    assert codes(TreeChanges("tree", {"setup.py": 1}), ("setup.py",)) == []


def test_without_target_paths_only_forbidden_ones_count():
    assert codes(TreeChanges("tree", {"anything": 1}), target_paths=()) == []
    assert codes(TreeChanges("tree", {"src/app/vendor/x": 1}), target_paths=()) == [StopCode.OUT_OF_SCOPE]


def test_the_run_has_a_limit_too():
    step = a_step(scope={**SCOPE, "max_diff_lines": 300})
    plan = a_plan(max_diff_lines=5)
    assert [one.code for one in violations(step, plan.limits, TreeChanges("t", {"README.md": 6}))] == [
        StopCode.STEP_TOO_LARGE
    ]


def test_what_no_commit_can_hold_is_named():
    changes = TreeChanges("tree", {"README.md": 1}, (("pipe", Text("it is neither a file nor a folder")),))
    [found] = violations(a_step(scope=SCOPE), a_plan().limits, changes)
    assert found.code is StopCode.UNFIT_CHANGES
    assert "pipe" in str(found.message)


paths = st.lists(st.sampled_from(["a", "b", "ab", "a.b"]), min_size=1, max_size=3).map("/".join)


@given(st.lists(paths, min_size=1), paths)
def test_a_path_is_in_scope_exactly_if_a_target_is_it_or_one_of_its_folders(targets: list[str], path: str):
    parts = path.split("/")
    above = {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
    found = codes(TreeChanges("tree", {path: 1}), target_paths=tuple(targets), forbidden_paths=())
    assert (found == []) == bool(above & set(targets))
