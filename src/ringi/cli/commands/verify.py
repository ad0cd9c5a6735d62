"""`ringi verify`: the proof that the files are exactly what a person approved."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from gettext import gettext as _
from pathlib import Path
from typing import Final, NamedTuple

import click

from ringi._version import __version__
from ringi.approvals.statement import NOTES
from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one, only_with
from ringi.cli.plan_names import PLAN
from ringi.errors import NoSuchCommit, NotCovered, NotFound, StorageFailed
from ringi.kernel import codec
from ringi.kernel.fs import replace_file
from ringi.kernel.text import Text
from ringi.ledger.subject import is_session
from ringi.provenance.clone import OpenClone, open_clone
from ringi.provenance.sarif import sarif as as_sarif
from ringi.provenance.verdict import Mode
from ringi.provenance.verify_range import Asked, Findings, range_of, verify_range
from ringi.provenance.view import range_lines
from ringi.runs.document import Run
from ringi.runs.rows import Runs

_BRANCHES: Final = "refs/heads/"
_FIELDS: Final = 3
_STANDARD_OUTPUT: Final = "-"


class _RangeOptions(NamedTuple):
    mode: Mode
    sarif: str | None
    """A file, or - for standard output."""
    reviews: bool = False
    """Whether the forge is asked about reviews."""


@click.command()
@click.argument("name", metavar="[PLAN|RANGE|COMMIT|RUN]", type=PLAN, required=False)
@click.option("--all", "every", is_flag=True, help="Every plan that was carried out, even in part.")
@click.option(
    "--mode",
    type=click.Choice([*map(str, Mode)]),
    help="What must be covered in a range: nothing, what agents had a part in, or everything.",
)
@click.option("--sarif", metavar="FILE|-", help="Write what a range leaves uncovered as SARIF 2.1.0.")
@click.option("--reviews", is_flag=True, help="Ask the forge of the remote about reviews that notes name.")
@click.option("--pre-receive", is_flag=True, help="Verify a push: a hook of git on a server calls this.")
@pass_app
def verify(
    app: App,
    name: str | None,
    every: bool,
    mode: str | None,
    sarif: str | None,
    reviews: bool,
    pre_receive: bool,
) -> None:
    """Prove that the files are exactly what was approved.

    Without PLAN, the newest that was carried out, and every approved planning session. The log is checked,
    and every signature again.

    A RANGE such as main..feature, a COMMIT or a RUN is verified by the notes in the repository, in any clone
    and without a ledger: whose approval covers each file that differs. Exit code 6 if the mode demands more.
    """
    if sum(map(bool, (name, every, pre_receive))) > 1:
        raise choose_one("PLAN", "RANGE", "COMMIT", "RUN", "--all", "--pre-receive")
    if sarif == _STANDARD_OUTPUT and app.ui.as_json:
        raise choose_one("--json", "--sarif -")
    app.tells_damage = True
    wanted = _RangeOptions(Mode(mode or Mode.REPORT), sarif, reviews)
    if pre_receive and reviews:
        raise only_with("--reviews", "RANGE, COMMIT, RUN")
    if pre_receive:
        _verify_push(app, wanted)
    elif not (name and _verify_by_notes(app, name, wanted)):
        if mode or sarif or reviews:
            raise only_with("--mode" if mode else "--sarif" if sarif else "--reviews", "RANGE, COMMIT, RUN")
        from ringi.cli.verify_plans import verify_plans  # noqa: PLC0415  # a clone without a ledger needs none

        verify_plans(app, name, every=every)


def _verify_by_notes(app: App, name: str, wanted: _RangeOptions) -> bool:
    """False if it is the name of a plan or a session: those come first, then runs, then commits."""
    if is_session(name):
        return False
    if ".." in name or not app.has_ledger:
        _verify_range(app, name, wanted)
        return True
    try:
        app.plans.find(name)
    except NotFound:
        if run := _find_run(app, name):
            _verify_run(app, run, wanted)
            return True
        try:
            _verify_range(app, name, wanted)
        except NoSuchCommit:
            raise NotFound(what=Text("plan, run or commit"), name=name) from None
        return True
    return False


def _find_run(app: App, name: str) -> Run | None:
    """None if no run has the name."""
    runs = Runs(app.ledger)
    try:
        return runs.get(runs.find(name))
    except NotFound:
        return None


def _verify_run(app: App, run: Run, wanted: _RangeOptions) -> None:
    with _open_clone(app, app.root, wanted) as found:
        base, branch = found.history.commit(run.base_commit), f"{_BRANCHES}{run.work_branch}"
        asked = Asked("run", run.run_id, base, found.history.commit(branch), wanted.mode)
        findings = verify_range(found.history, asked, found.signing)
    _tell(app, [findings], wanted)


def _verify_range(app: App, name: str, wanted: _RangeOptions) -> None:
    """A range or a commit, in any clone."""
    with _open_clone(app, app.start, wanted) as found:
        findings = verify_range(found.history, range_of(found.history, name, wanted.mode), found.signing)
    _tell(app, [findings], wanted)


def _open_clone(app: App, folder: Path, wanted: _RangeOptions) -> AbstractContextManager[OpenClone]:
    if not wanted.reviews:
        return open_clone(folder, app.environment)
    from ringi.forges.witness import witness_of  # noqa: PLC0415  # most never ask a forge

    reviews, forge = witness_of(folder, app.environment)
    return open_clone(folder, app.environment, reviews=reviews, forge=forge)


def _verify_push(app: App, wanted: _RangeOptions) -> None:
    """What git tells a pre-receive hook on standard input; notes of the same push count."""
    updates = list(_read_updates())
    notes = next((new for _, new, ref in updates if ref == NOTES and new), NOTES)
    with open_clone(app.start, app.environment, notes=notes, quarantine=app.environment) as found:
        findings = [
            verify_range(found.history, _push_of(found, old, new, ref, wanted.mode), found.signing)
            for old, new, ref in updates
            if ref.startswith(_BRANCHES) and new
        ]
    _tell(app, findings, wanted)


def _read_updates() -> Iterator[tuple[str, str, str]]:
    """Old value, new value and name of each ref; a value that is not there is empty."""
    for line in sys.stdin:
        words = line.rstrip("\n").split(" ", _FIELDS - 1)
        if len(words) != _FIELDS:
            raise click.UsageError(_("--pre-receive reads lines of OLD NEW REF, as git gives them to a hook"))
        old, new, ref = words
        yield old.strip("0") and old, new.strip("0") and new, ref


def _push_of(found: OpenClone, old: str, new: str, ref: str, mode: Mode) -> Asked:
    """A new branch is compared with where it left the default branch."""
    trusted = old
    if not old:
        try:
            trusted = found.history.commit("HEAD")
        except NoSuchCommit:
            trusted = ""  # the first push of all
        old = found.history.base_of(trusted, new)
    return Asked("branch", ref.removeprefix(_BRANCHES), old, new, mode, trusted=trusted)


def _tell(app: App, findings: list[Findings], wanted: _RangeOptions) -> None:
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
    data = codec.pretty(as_sarif([one.document for one in findings], __version__))
    if where == _STANDARD_OUTPUT:
        sys.stdout.write(data.decode())
        return
    try:
        replace_file(Path(where), data, mode=0o644, synced=False)
    except OSError as error:
        raise StorageFailed(what=where, why=error.strerror or str(error)) from None
