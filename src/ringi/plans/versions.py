"""Versions of a plan: fork, revert, compare (PT-15)."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ringi.approvals.document import Act, ApprovalSubject
from ringi.approvals.who import require_settable
from ringi.errors import NotFound, Refused, StorageFailed, UnfitSpecs
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.patch.render import FileSide, render
from ringi.plans.calls import bind_calls, with_misfits
from ringi.plans.document import (
    Difference,
    PlanComparison,
    PlanDocument,
    PlanStatus,
    SpecDifference,
    StoredPlan,
    ValidationReport,
    with_state,
)
from ringi.plans.effects import Invalid, content_of, rules_of
from ringi.plans.preview import after_bytes, effects_now
from ringi.plans.propose import (
    author_of,
    by_person,
    new_plan,
    next_version,
    propose_whole,
    refuse_fixed,
    save_version,
    since_of,
    still_from_model,
)
from ringi.plans.validate import validate
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpecExt, SpecSelection, select_specs
from ringi.tree.file_state import FileState, Touched

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_FILE: Final = ""
_SAID: Final = frozenset(
    [EventKind.COMMENTED, EventKind.DECLINED, EventKind.APPROVED, EventKind.AMENDED, EventKind.REVERTED]
)
"""What a person does only with a version that they saw."""
_FOLDER_MODE: Final = "040000"


_RECENT: Final = 100
_APPROVED: Final = frozenset([PlanStatus.APPROVED, PlanStatus.COMPLETED, PlanStatus.ABORTED])


class Versions:
    """Plans are named as for the plan tool."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def fork(
        self,
        plan_id: str,
        version: int | None = None,
        *,
        proposer: str = "",
        requester: str = "",
        actor: Actor = Actor.AI,
        again: bool = False,
        only: SpecSelection = ALL_SPECS,
    ) -> str:
        """A new plan with the specs of a version (by default the newest), based on the current files.

        With `again` it is based on what the first proposer saw: files that changed since make it stale.
        """
        workspace = self._workspace
        stored = workspace.store.plans.get(workspace.store.plans.id_of(plan_id))
        plan = stored.document.plan
        version = plan.version if version is None else version
        specs = _specs(workspace, stored, version)
        if unknown := set(only.ids) - {spec.id for spec in specs}:
            see = f"ringi show p{stored.number}"
            raise NotFound(what=Text("spec"), name=", ".join(sorted(unknown)), see=see)
        specs = select_specs(specs, only)
        bases = [spec.base for spec in specs]
        document = new_plan(
            workspace,
            plan.content,
            sources=plan.sources,
            rationale=plan.rationale,
            tags=plan.tags,
            proposer=proposer or plan.proposer,
            left_out=plan.left_out,
            # Whoever forks it is the requester: a grant for another requester must not cover this plan.
            requester=requester,
        )
        forked = msgspec.structs.replace(document.plan, forked_from=plan.id)
        document = msgspec.structs.replace(document, plan=forked)
        origin = NewEvent(EventKind.FORKED, actor, f"{plan.id} version {version}")
        if bases:
            # A patch is for the file as it is: it keeps what was written elsewhere in it.
            based = [spec for spec in specs if again and spec.base.kind is not SpecKind.PATCH]
            basis = {file.path: file.before for spec in based for file in spec.touched}
            bases, wrong = bind_calls(workspace, bases)
            validated = validate(bases, workspace.tree, rules_of(workspace), basis, actor=actor)
            validated = with_misfits(validated, wrong)
            if validated.problems:
                raise UnfitSpecs(why=validated.problems[0])
            document = with_state(document, check_commands=stored.document.state.check_commands)
            return propose_whole(workspace, document, validated, origin, actor=actor)
        with workspace.store.transaction() as transaction:
            transaction.plans.add(document, NewEvent(EventKind.PLAN_PROPOSED, actor, forked.proposer), origin)
        return forked.id

    def propose_left_out(
        self, plan_id: str, selection: SpecSelection, *, actor: Actor = Actor.AI
    ) -> str | None:
        """A plan with these specs if all of them were left out when the plan was approved; the same if asked
        again.
        """
        workspace = self._workspace
        stored = workspace.store.plans.get(workspace.store.plans.id_of(plan_id))
        state = stored.document.state
        if selection.all or state.status not in _APPROVED:
            return None
        known = {spec.id for spec in state.action_specs}
        given = {
            spec.id for one in state.approvals for spec in select_specs(state.action_specs, one.selection)
        }
        if not known - given >= set(selection.ids):
            return None
        source, bases = (
            stored.document.plan.id,
            [one.base for one in select_specs(state.action_specs, selection)],
        )
        for ref in workspace.store.plans.refs(limit=_RECENT):
            other = workspace.store.plans.get(ref.id).document
            if other.plan.forked_from == source and [one.base for one in other.state.action_specs] == bases:
                return ref.id
        return self.fork(source, actor=actor, again=True, only=selection)

    def revert(
        self, plan_id: str, version: int, *, actor: Actor = Actor.AI, withdraw: bool = False
    ) -> ValidationReport:
        """A new version with the specs of an earlier one, based on the current files.

        With `withdraw` a person takes back their own edits: those are no longer reported, and what the
        proposer saw stays the basis.
        """
        workspace = self._workspace
        stored = workspace.store.plans.get(workspace.store.plans.id_of(plan_id))
        refuse_fixed(stored)
        require_settable(workspace.person, stored)
        document = next_version(stored.document, workspace.person.requester(), f"p{stored.number}")
        specs = _specs(workspace, stored, version)
        basis = {}
        author = author_of(workspace, stored.document.plan.id, actor)
        if actor is not author and not withdraw:
            document = by_person(stored.document, document)
        if withdraw:
            document = _withdraw(stored.document, document, version)
            basis = {file.path: file.before for spec in specs for file in spec.touched}
        since = since_of(workspace, specs)
        validated = validate(
            [spec.base for spec in specs], workspace.tree, rules_of(workspace), basis, since, actor=author
        )
        if validated.report.ok:
            marked = still_from_model(stored.document, validated.report.normalized)
            document = with_state(document, from_model=marked)
            reverted = NewEvent(EventKind.REVERTED, actor, str(version))
            specs_set = NewEvent(EventKind.SPECS_SET, actor, f"as in version {version}")
            save_version(workspace, stored, document, validated, reverted, specs_set)
        return validated.report

    def compare(
        self, plan_id: str, version: int, other: int | None = None, *, other_plan: str | None = None
    ) -> PlanComparison:
        """Compares two versions, of the same plan or of two plans; by default the newest."""
        workspace = self._workspace
        ours = workspace.store.plans.id_of(plan_id)
        theirs = workspace.store.plans.id_of(other_plan) if other_plan else ours
        newest = workspace.store.plans.get(theirs).document.plan.version
        return compare(workspace, ours, version, theirs, newest if other is None else other)

    def delta(self, plan_id: str) -> PlanComparison | None:
        """What changed since the last approved version; None if none was approved."""
        workspace = self._workspace
        document = workspace.store.plans.get(workspace.store.plans.id_of(plan_id)).document
        plan = document.plan
        for approval in reversed(workspace.store.approvals.of(plan.id)):
            subject = codec.decode_own(approval.subject.encode(), ApprovalSubject, "approval")
            if subject.kind is not Act.EXECUTE:
                continue
            selected = {spec.id for spec in subject.specs}
            specs = workspace.store.plans.specs(plan.id, subject.plan_version)
            approved = [spec for spec in specs if spec.id in selected]
            found = _differences(workspace, approved, document.state.action_specs)
            return PlanComparison(plan.id, subject.plan_version, plan.id, plan.version, tuple(found))
        return None

    def since_seen(self, plan_id: str) -> PlanComparison | None:
        """What others changed since the person last said something about the plan; None if they never did."""
        workspace = self._workspace
        plan = workspace.store.plans.get(workspace.store.plans.id_of(plan_id)).document.plan
        version = plan.version
        for logged in reversed(tuple(workspace.store.events(plan.id))):
            event = logged.event
            if event.actor is Actor.USER and event.event in _SAID:
                return compare(workspace, plan.id, version, plan.id, plan.version)
            if event.event is EventKind.SPECS_SET and event.actor is not Actor.USER:
                version -= 1
            if version < 1:
                break
        return None


def _withdraw(before: PlanDocument, document: PlanDocument, version: int) -> PlanDocument:
    told = tuple(
        given for given in before.state.feedback if not given.amended or given.amended.version <= version
    )
    document = with_state(document, feedback=told)
    since = before.state.amended_from
    return by_person(before, document) if since and version > since else document


def _specs(workspace: Workspace, stored: StoredPlan, version: int) -> tuple[ActionSpecExt, ...]:
    plan = stored.document.plan
    if not 1 <= version <= plan.version:
        raise NotFound(what=Text("version"), name=str(version), see=f"ringi show p{stored.number}")
    return workspace.store.plans.specs(plan.id, version)


def compare(
    workspace: Workspace, plan_id: str, version: int, other_plan_id: str, other: int
) -> PlanComparison:
    ours, theirs = workspace.store.plans.get(plan_id), workspace.store.plans.get(other_plan_id)
    one, two = _specs(workspace, ours, version), _specs(workspace, theirs, other)
    return PlanComparison(plan_id, version, other_plan_id, other, tuple(_differences(workspace, one, two)))


class _VersionPlace(NamedTuple):
    """What an action of a version is about."""

    name: str
    """A path; for a command what is run, for a call the tool."""
    kind: str
    """Empty for a file."""
    time: int
    """0, unless several specs of the version name the same."""


class _Deed(NamedTuple):
    spec: ActionSpecExt
    file: Touched | None
    """None if the resulting bytes are unknown."""


def _differences(
    workspace: Workspace, earlier: Sequence[ActionSpecExt], later: Sequence[ActionSpecExt]
) -> Iterator[SpecDifference]:
    before, after = _deeds(earlier), _deeds(later)
    for place in sorted(before.keys() | after.keys()):
        one, two = before.get(place), after.get(place)
        if one is None or two is None:
            what = Difference.ADDED if one is None else Difference.REMOVED
            yield SpecDifference(place.name, what, _diff(workspace, place, one, two))
            continue
        if one.file and two.file and not _alike(one.file.before, two.file.before):
            yield SpecDifference(place.name, Difference.BASIS, _basis_diff(workspace, place, one, two))
        if not _same(one, two):
            yield SpecDifference(place.name, Difference.CHANGED, _diff(workspace, place, one, two))
        if place.kind == _FILE and _terms(one) != _terms(two):
            texts = (codec.pretty(_terms(deed)) for deed in (one, two))
            diff = _text_diff(place.name, *texts, named=False)
            yield SpecDifference(place.name, Difference.CHANGED, diff)


def _deeds(specs: Sequence[ActionSpecExt]) -> dict[_VersionPlace, _Deed]:
    found: dict[_VersionPlace, _Deed] = {}
    times: Counter[tuple[str, str]] = Counter()
    for spec in specs:
        for name, kind, file in _find_deeds(spec):
            found[_VersionPlace(name, kind, times[name, kind])] = _Deed(spec, file)
            times[name, kind] += 1
    return found


def _find_deeds(spec: ActionSpecExt) -> Iterator[tuple[str, str, Touched | None]]:
    base = spec.base
    if base.kind is SpecKind.RUN:
        yield shlex.join(base.argv), base.kind, None
    elif base.kind is SpecKind.CALL:
        yield base.tool or "", base.kind, None
    elif base.kind not in CHANGING:
        yield base.path, base.kind, None
    elif not spec.validated:
        yield base.path, _FILE, None
    else:
        changed = set(spec.changed_paths)
        yield from ((file.path, _FILE, file) for file in spec.touched if file.path in changed)


def _same(one: _Deed, two: _Deed) -> bool:
    if one.file is None or two.file is None:
        return one.file is two.file and _describe_spec(one.spec) == _describe_spec(two.spec)
    return _alike(one.file.after, two.file.after)


def _alike(one: FileState | None, two: FileState | None) -> bool:
    # The permission bits of a folder are not compared.
    return one == two or bool(one and two and one.folder and two.folder)


def _terms(deed: _Deed) -> dict[str, object]:
    """What else is approved of a file's spec, besides the resulting bytes."""
    return {"group": deed.spec.base.group, "optional": deed.spec.base.optional}


def _describe_spec(spec: ActionSpecExt) -> bytes:
    """A spec without known bytes, described by its fields."""
    if spec.base.kind in CHANGING and spec.base.content is not None:
        try:
            return content_of(spec.base) or b""
        except Invalid:
            return spec.base.content.encode()
    return codec.pretty(msgspec.structs.replace(spec.base, description=""))


def _diff(workspace: Workspace, place: _VersionPlace, one: _Deed | None, two: _Deed | None) -> str:
    try:
        # A file that a version leaves alone stays as the other one found it.
        old = _side(workspace, one, after=True) if one else _side(workspace, two, after=False)
        new = _side(workspace, two, after=True) if two else _side(workspace, one, after=False)
    except _Unknown:
        texts = (_describe_spec(deed.spec) if deed else None for deed in (one, two))
        return _text_diff(place.name, *texts, named=place.kind == _FILE)
    return _show(render(place.name, old, new).diff)


def _basis_diff(workspace: Workspace, place: _VersionPlace, one: _Deed, two: _Deed) -> str:
    """Empty if the bytes of one are not kept any more."""
    try:
        old, new = _side(workspace, one, after=False), _side(workspace, two, after=False)
    except _Unknown:
        return ""
    return _show(render(place.name, old, new).diff)


def _text_diff(name: str, old: bytes | None, new: bytes | None, *, named: bool) -> str:
    sides = (None if text is None else FileSide(text, "100644") for text in (old, new))
    diff = render(name, *sides).diff
    return _show(diff if named else diff[max(0, diff.find(b"@@ ")) :])


def _show(diff: bytes) -> str:
    return diff.decode("utf-8", "backslashreplace")


class _Unknown(Exception):
    """The resulting bytes of the spec are unknown."""


def _side(workspace: Workspace, deed: _Deed | None, *, after: bool) -> FileSide | None:
    if deed is None or deed.file is None:
        raise _Unknown
    state = deed.file.after if after else deed.file.before
    if state is None:
        return None
    if state.folder:
        return FileSide(b"", _FOLDER_MODE)
    data = _bytes(workspace, deed.spec, state)
    if data is None:
        raise _Unknown
    # All permission bits, not only those that git knows.
    return FileSide(data, f"100{state.mode[-3:]}")


def _bytes(workspace: Workspace, spec: ActionSpecExt, state: FileState) -> bytes | None:
    """The bytes before or after a spec: from the spec itself, the current file, or the ledger."""
    base = spec.base
    if base.kind in {SpecKind.CREATE, SpecKind.WRITE} and base.content is not None and state == spec.after:
        return content_of(base)
    try:
        for effect in effects_now(workspace, spec):
            if effect.after == state and effect.new is not None:
                return effect.new
            if effect.before == state:
                return effect.old
    except (Invalid, Refused, StorageFailed, OSError):
        pass  # it no longer applies; the ledger may have the original file
    if (kept := workspace.store.get_bytes(state.sha256)) is not None:
        return kept
    return _rebuild(workspace, spec).get(state.sha256)


def _rebuild(workspace: Workspace, spec: ActionSpecExt) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for file in spec.touched:
        if file.before is not None:
            data = workspace.store.get_bytes(file.before.sha256)
            if data is None:
                return {}
            found[file.before.sha256] = data
    try:
        return after_bytes(workspace, spec, found)
    except (Invalid, Refused):
        return {}
