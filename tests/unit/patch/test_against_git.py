"""What git says about text, applied as git applies it, there and back."""

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.patch.apply import apply_patch, outcome
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Patch, PatchKind, dump
from ringi.patch.rework import reverse
from tests.unit.patch.generated import Git, Tree, Trees, trees

EXAMPLES = 5000 if os.environ.get("RINGI_CAMPAIGN") == "full" else 40
WAYS = [
    ["--no-renames"],
    ["-M"],
    ["-M", "-C", "--find-copies-harder"],
    ["-M20", "-C20", "--find-copies-harder"],
    ["-B", "-M"],
    ["-M", "--full-index", "-U1"],
    ["-M", "--patience", "-U10"],
    ["-M", "--inter-hunk-context=5", "-W"],
]
SETTINGS = [
    ["core.quotePath=true"],
    ["core.quotePath=false"],
    ["core.quotePath=false", "diff.mnemonicPrefix=true"],
    ["core.quotePath=true", "diff.suppressBlankEmpty=true"],
]
ways = st.tuples(st.sampled_from(WAYS), st.sampled_from(SETTINGS))


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    return Git(tmp_path_factory.mktemp("oracle") / "repository")


def difference(git: Git, old: str, new: str, way: tuple[list[str], list[str]]) -> bytes:
    options, configuration = way
    given = [word for setting in configuration for word in ("-c", setting)]
    return git.run(*given, "diff", "--text", *options, old, new)


def after(tree: Tree, patch: Patch) -> Tree:
    """The whole tree once the patch is applied, modes included."""
    outcomes = outcome(patch, lambda path: tree[path].data if path in tree else None)
    result = dict(tree)
    for file in outcomes:
        if file.kind in {PatchKind.RENAMED, PatchKind.DELETED}:
            result.pop(file.old_path, None)
    for file in outcomes:
        if file.after is not None:
            known = tree[file.old_path].mode if file.old_path else "100644"
            result[file.path] = tree.get(file.old_path, next(iter(tree.values()), None))._replace(
                data=file.after, mode=file.new_mode or known
            )
    return result


def contents(tree: Tree) -> dict[str, bytes]:
    return {name: side.data for name, side in tree.items()}


@pytest.mark.req("CP-4")
@settings(max_examples=EXAMPLES)
@given(both=trees(), way=ways)
def test_every_difference_applies_as_git_does(git: Git, both: Trees, way):
    old, new = git.tree(both.old), git.tree(both.new)
    diff = difference(git, old, new, way)
    if not diff:
        assert both.old == both.new
        return
    patch = parse_patch(diff)
    assert after(both.old, patch) == both.new
    applied = apply_patch(diff, lambda path: both.old[path].data if path in both.old else None)
    assert {**contents(both.old), **applied} == {
        **contents(both.new),
        **dict.fromkeys(both.old.keys() - both.new.keys()),
    }
    if "diff.suppressBlankEmpty=true" not in way[1]:
        assert dump(patch) == diff
    back = reverse(patch, lambda path: both.new[path].data)
    assert after(both.new, back) == both.old
    # What we write git takes; it stands at the new tree.
    assert git.takes(dump(back))
    assert git.found() == both.old
    bare = Patch(tuple(file._replace(header=b"") for file in patch.files))
    assert git.takes(dump(bare))
    assert git.found() == both.new
