"""Make a plan or a change plan from a patch, new contents or a tree."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ringi.approvals.who import actor_at
from ringi.errors import ChangeRefused, Conflicting, NoDiff, NotAnEdit, NotFound, PatchMismatch, PathRefused
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.models.prompt import Material, NewExplanation, OnProgress, Prompt
from ringi.models.usage import Purpose
from ringi.patch.parse import parse_patch
from ringi.patch.patch import PLAIN_MODE, Patch, dump
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.patch.repair import normalise
from ringi.plans import change as change_plans
from ringi.plans.capture import Progress, state_now
from ringi.plans.change import GROUP, Affected, ChangeDraft, Explained
from ringi.plans.change_plan import FileDiff, PlanExplanation
from ringi.plans.effects import effects_of, git_mode, mode_after, pack, rendering, rules_of
from ringi.plans.merge import UNDECIDED, Decisions, MergedSpecs, merge_specs, open_conflicts
from ringi.plans.propose import NO_REMARKS, Remarks
from ringi.policy.masking import mask_secrets
from ringi.policy.spec_kind import SpecKind
from ringi.project.dependencies import dependents, unknown_users
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import LINK_MODE
from ringi.tree.paths import normalise as normalise_path
from ringi.tree.snapshot import Snapshots

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def propose_patch(
    workspace: Workspace,
    content: str,
    patch: bytes,
    *,
    proposer: str = "",
    actor: Actor = Actor.AI,
    remarks: Remarks = NO_REMARKS,
) -> str:
    """An ordinary plan with one group; nothing is saved if one of the patches does not apply."""
    specs = [_spec(path, data) for path, data in split(patch)]
    return workspace.plan.propose_specs(content, specs, proposer=proposer, actor=actor, remarks=remarks)


def propose_change(
    workspace: Workspace,
    change: ChangeDraft,
    on_progress: Progress = lambda _: None,
    explain: Callable[[ChangeDraft], Explained] | None = None,
) -> str:
    """A change plan on the project as it is now."""
    state = state_now(workspace, on_progress)
    files = [file.path for file in state.files]

    def find_affected(targets: Sequence[str]) -> Affected:
        return Affected(
            dependents(state.dependencies, targets, files),
            unknown_users(state.dependencies, targets, files),
        )

    return change_plans.propose_change(workspace, change, state, find_affected, explain)


def propose_again(workspace: Workspace, plan_id: str, decisions: Decisions = UNDECIDED) -> str:
    """The same change as a new plan of the caller, merged with the project as it is now.

    Raises Conflicting if a person has to decide something first.
    """
    document = workspace.plan.get(plan_id)
    plan = document.plan
    waiting = [one for one in open_conflicts(workspace, document) if one.key not in decisions]
    if waiting:
        places = ", ".join(one.place for one in waiting)
        raise Conflicting(plan=workspace.plan_name(plan_id), places=places)
    merged = merge_specs(workspace, document, decisions)
    if not merged.specs:
        raise NoDiff
    known, actor = merged if merged.since else None, actor_at(workspace.person)
    if not document.change:
        return workspace.plan.propose_specs(
            plan.content, merged.specs, proposer=plan.proposer, actor=actor, merged=known
        )
    change = ChangeDraft(
        plan.content,
        _diffs_now(workspace, merged),
        document.change.basis,
        proposer=plan.proposer,
        actor=actor,
        remarks=Remarks(plan.rationale),
        merged=known,
        forked_from=plan.id,
    )
    said = Explained(document.change.explanation, document.change.explained_by or "")
    return propose_change(workspace, change, explain=lambda _: said)


def _diffs_now(workspace: Workspace, merged: MergedSpecs) -> tuple[FileDiff, ...]:
    """As a change plan stores them, against the files that the specs were merged with."""
    diffs: list[FileDiff] = []
    for spec in merged.specs:
        if spec.kind is SpecKind.PATCH:
            diffs.append(FileDiff(spec.path, spec.content or ""))
            continue
        effects = effects_of(spec, workspace.tree.look, rules_of(workspace), based=True)
        for effect in effects:
            if effect.before != merged.basis.get(effect.path, effect.before):
                raise ChangeRefused(why=Text("{path} changed while the plan was made", path=effect.path))
        diffs += file_diffs(rendering(effects).diff)
    return tuple(diffs)


def split(patch: bytes) -> list[tuple[str, bytes]]:
    """One patch for each file, with its path."""
    return [(file.path, dump(Patch((file,)))) for file in parse_patch(patch).files]


def file_diffs(patch: bytes) -> tuple[FileDiff, ...]:
    """As a change plan stores them: only text that an editor can hold."""
    diffs = []
    for path, data in split(patch):
        try:
            diffs.append(FileDiff(path, data.decode()))
        except UnicodeDecodeError:
            raise NotAnEdit(path=path, why=Text("it is not UTF-8")) from None
    return tuple(diffs)


def _spec(path: str, patch: bytes) -> ActionSpec:
    content, encoding = pack(patch)
    return ActionSpec(SpecKind.PATCH, path, content, encoding=encoding, group=GROUP)


def normalise_patch(workspace: Workspace, patch: bytes) -> bytes:
    """A patch that a model wrote, corrected against the current files."""

    def read(path: str) -> bytes | None:
        found = workspace.tree.look(path)
        return found.data if found else None

    return normalise(patch, read)


def changes_of_contents(workspace: Workspace, contents: Mapping[str, bytes | None]) -> list[FileDelta]:
    """The changes from the workspace to these contents; None means a deleted file."""
    changes = []
    for name, data in contents.items():
        path = "/".join(normalise_path(name))
        found = workspace.tree.look(path)
        if found is None and data is None:
            raise NotFound(what=Text("file"), name=path, see="git ls-files")
        old = FileSide(found.data, git_mode(found.state.mode)) if found else None
        new = FileSide(data, old.mode if old else PLAIN_MODE) if data is not None else None
        changes.append(FileDelta(path, old, new))
    return changes


def changes_to_tree(workspace: Workspace, folder: Path) -> list[FileDelta]:
    """The changes that make the workspace like the folder; files that either ignores are left out."""
    if workspace.places.root.is_relative_to(folder.resolve()) and folder.resolve() != workspace.places.root:
        raise PathRefused(path=str(folder), why=Text("the workspace itself is in it"))
    with tempfile.TemporaryDirectory(prefix="tree-", dir=workspace.places.state) as scratch:
        ours = Snapshots(workspace.places.state, workspace.places.root)
        return changes_between(ours, Snapshots(Path(scratch), folder))


def changes_between(before: Snapshots, after: Snapshots) -> list[FileDelta]:
    """The changes from one tree to another."""
    old, new = before.take(), after.take()
    old_files, new_files = before.files(old), after.files(new)
    known, wanted = set(old_files.files), set(new_files.files)
    for file in known ^ wanted:
        if file.mode == LINK_MODE:
            raise PatchMismatch(path=file.path, why=Text("it is a symbolic link"))
    if odd := {*old_files.not_utf8} ^ {*new_files.not_utf8} or {*old.unreadable, *new.unreadable}:
        raise PatchMismatch(path=min(odd), why=Text("it cannot be part of a patch"))
    sides = {file.path: FileSide(data, file.mode) for file, data in before.contents(old, known - wanted)}
    others = {file.path: FileSide(data, file.mode) for file, data in after.contents(new, wanted - known)}
    return [FileDelta(path, sides.get(path), others.get(path)) for path in sorted({*sides, *others})]


def patch_of(changes: Sequence[FileDelta]) -> bytes:
    patch = render_patch(changes)
    if not patch:
        raise NoDiff
    return patch


def propose_contents(
    workspace: Workspace,
    content: str,
    changes: Sequence[FileDelta],
    *,
    proposer: str = "",
    actor: Actor = Actor.AI,
    remarks: Remarks = NO_REMARKS,
) -> str:
    """An ordinary plan with whole files, which need not be text."""
    specs = specs_of(workspace, changes)
    if not specs:
        raise NoDiff
    return workspace.plan.propose_specs(content, specs, proposer=proposer, actor=actor, remarks=remarks)


def specs_of(workspace: Workspace, changes: Sequence[FileDelta]) -> list[ActionSpec]:
    return [_whole(workspace, change) for change in changes if change.old != change.new]


def _whole(workspace: Workspace, change: FileDelta) -> ActionSpec:
    if change.new is None:
        return ActionSpec(SpecKind.DELETE, change.path, group=GROUP)
    old = change.old
    found = workspace.tree.look(change.path)
    bits = mode_after(found.state.mode if found else None, old.mode if old else None, change.new.mode)
    content, encoding = pack(change.new.data)
    kind = SpecKind.CREATE if old is None else SpecKind.WRITE
    return ActionSpec(kind, change.path, content, encoding=encoding, mode=bits, group=GROUP)


_MOST_EXPLAINED: Final = 50_000
"""Characters of all diffs together."""
_EXPLAIN: Final = (
    "Explain a change of a software project to the person who will approve or refuse it. Use only what the "
    "title, the diagnostics and the diffs say: no guesses, no praise, no advice whether to approve. summary: "
    "what changes, in one sentence. details: what it does file by file, and what a reviewer should look at, "
    "in a few sentences; may be empty. Write in the language of the title."
)


def explain_change(workspace: Workspace, change: ChangeDraft, on_progress: OnProgress) -> Explained:
    """In the words of the model; empty if none is set.

    Raises ModelFailed, UnknownModel, NoModelKey, NoExtra.
    """
    prompt = Prompt(Purpose.EXPLANATION, _EXPLAIN, tuple(_material(change)))
    budget = workspace.budget
    answer = workspace.model().ask(prompt, NewExplanation, budget, on_progress)
    said = PlanExplanation(answer.value.summary, answer.value.details)
    return Explained(said, answer.model) if any(msgspec.structs.astuple(said)) else Explained()


def _material(change: ChangeDraft) -> Iterator[Material]:
    yield Material("title", change.content)
    if named := change.basis.related_diagnostics:
        yield Material("diagnostics", "\n".join(f"{one.file}:{one.line}: {one.message}" for one in named))
    # A secret in a file must not leave with its diff.
    diffs = mask_secrets("".join(diff.diff for diff in change.diffs))
    yield Material("diffs", diffs if len(diffs) <= _MOST_EXPLAINED else diffs[:_MOST_EXPLAINED] + "\n[…]")
