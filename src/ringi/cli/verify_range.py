"""`ringi verify RANGE`, and the same for what somebody pushes."""

import sys
from collections.abc import Iterator
from gettext import gettext as _
from pathlib import Path
from typing import Final, NamedTuple

import click

from ringi._version import __version__
from ringi.approvals.statement import NOTES
from ringi.cli.app import App
from ringi.errors import NoSuchCommit, NotCovered, NotFound, NoWorkspace, StorageFailed
from ringi.forges.clone import Verifying, verifying
from ringi.kernel import codec
from ringi.kernel.fs import replace_file
from ringi.kernel.process.repository import Mended
from ringi.ledger.connection import DATABASE
from ringi.provenance.sarif import sarif
from ringi.provenance.verdict import Mode
from ringi.provenance.verify_range import Asked, Findings, range_of, verify_range
from ringi.provenance.view import range_lines
from ringi.runs.document import Run
from ringi.runs.ref_damage import mend_notes

_BRANCHES: Final = "refs/heads/"
_FIELDS: Final = 3
_STANDARD_OUTPUT: Final = "-"


class RangeOptions(NamedTuple):
    mode: Mode
    sarif: str | None
    """A file, or - for standard output."""
    reviews: bool = False
    """Whether the forge is asked about reviews."""


def has_ledger(app: App) -> bool:
    try:
        return (app.places.state / DATABASE).is_file()
    except NoWorkspace:  # a bare repository
        return False


def mend_by_ledger(app: App) -> Mended | None:
    """Damaged notes; None if they are sound, or there is no ledger."""
    return mend_notes(app.workspace) if has_ledger(app) else None


def named_run(app: App, name: str) -> Run | None:
    """None if no run has the name."""
    try:
        return app.workspace.planning.run(app.workspace.planning.find_run(name))
    except NotFound:
        return None


def verify_run(app: App, run: Run, wanted: RangeOptions) -> None:
    with verifying(app.root, app.environment, reviews=wanted.reviews) as found:
        base, branch = found.history.commit(run.base_commit), f"{_BRANCHES}{run.work_branch}"
        asked = Asked("run", run.run_id, base, found.history.commit(branch), wanted.mode)
        findings = verify_range(found.history, asked, found.signing)
    _tell(app, [findings], wanted)


def verify_named(app: App, name: str, wanted: RangeOptions) -> None:
    """A range or a commit, in any clone."""
    with verifying(app.start, app.environment, reviews=wanted.reviews) as found:
        asked = range_of(found.history, name, wanted.mode)
        findings = verify_range(found.history, asked, found.signing)
    _tell(app, [findings], wanted)


def verify_pushed(app: App, wanted: RangeOptions) -> None:
    """What git tells a pre-receive hook on standard input; notes of the same push count."""
    updates = list(_updates())
    notes = next((new for _, new, ref in updates if ref == NOTES and new), NOTES)
    with verifying(app.start, app.environment, notes=notes, quarantine=app.environment) as found:
        findings = [
            verify_range(found.history, _pushed(found, old, new, ref, wanted.mode), found.signing)
            for old, new, ref in updates
            if ref.startswith(_BRANCHES) and new
        ]
    _tell(app, findings, wanted)


def _updates() -> Iterator[tuple[str, str, str]]:
    """Old value, new value and name of each ref; a value that is not there is empty."""
    for line in sys.stdin:
        words = line.rstrip("\n").split(" ", _FIELDS - 1)
        if len(words) != _FIELDS:
            raise click.UsageError(_("--pre-receive reads lines of OLD NEW REF, as git gives them to a hook"))
        old, new, ref = words
        yield old.strip("0") and old, new.strip("0") and new, ref


def _pushed(found: Verifying, old: str, new: str, ref: str, mode: Mode) -> Asked:
    """A new branch is compared with where it left the default branch."""
    trusted = old
    if not old:
        try:
            trusted = found.history.commit("HEAD")
        except NoSuchCommit:
            trusted = ""  # the first push of all
        old = found.history.base_of(trusted, new)
    return Asked("branch", ref.removeprefix(_BRANCHES), old, new, mode, trusted=trusted)


def _tell(app: App, findings: list[Findings], wanted: RangeOptions) -> None:
    if wanted.sarif is not None:
        _write_sarif(findings, wanted.sarif)
    documents = [one.document for one in findings]
    if app.ui.as_json:
        app.ui.document(documents[0] if len(documents) == 1 else documents)
    elif wanted.sarif != _STANDARD_OUTPUT:
        for one in findings:
            app.ui.show(range_lines(*one))
    uncovered = sum(len(document.uncovered) for document in documents)
    if uncovered and wanted.mode is not Mode.REPORT:
        app.fail(NotCovered(count=uncovered, total=sum(len(document.files) for document in documents)))


def _write_sarif(findings: list[Findings], where: str) -> None:
    data = codec.pretty(sarif([one.document for one in findings], __version__))
    if where == _STANDARD_OUTPUT:
        sys.stdout.write(data.decode())
        return
    try:
        replace_file(Path(where), data, mode=0o644, synced=False)
    except OSError as error:
        raise StorageFailed(what=where, why=error.strerror or str(error)) from None
