"""Standing approvals: signed once, used within their budgets, ended by date, by hand or with their key."""

import base64
import hashlib
import json
import threading
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.approvals.document import ApprovedPlan, SignedAct, SignedAnswer
from ringi.approvals.grant_document import Grant, GrantScope, GrantSubject
from ringi.approvals.signing import Signer, SignerList, SshSignatures
from ringi.approvals.statement import read_predicate
from ringi.errors import (
    Ambiguous,
    BadGrant,
    BadSignature,
    Expired,
    GrantRefused,
    NoChannel,
    NotApproved,
    NotFound,
    UnlistedKey,
    WrongAnswer,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import grant as subject_named
from ringi.plans.approve import subject_now, use_grant
from ringi.plans.change_plan import (
    ChangeFacts,
    PlanBasis,
    PlanExplanation,
    PlanRisk,
    PlanScope,
    PlanValidations,
    Trigger,
)
from ringi.plans.document import PlanStatus
from ringi.policy.globs import within
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, Encoding, SpecSelection
from tests.fakes.signing import MadeUpKeys, RealKey, assert_signed
from tests.helpers import (
    Person,
    approve,
    assert_whole,
    create,
    delete,
    kinds,
    ledger_of,
    open_scratch,
    proposed,
    rewire,
    set_clock,
    untouched,
    write,
)
from tests.tables import each

DAY = 86_400
CHANGES = (SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH)
SCOPE = GrantScope(
    requester="user:hanako",
    globs=("docs/**", "*.txt"),
    kinds=CHANGES,
    max_risk=Risk.LOW,
    files_per_use=2,
    lines_per_use=10,
    files_total=5,
    lines_total=20,
)


class Sandbox:
    """A place to run commands in, as far as anybody asks."""

    def __init__(self, *, there: bool) -> None:
        self.there = there

    def uses_sandbox(self) -> bool:
        return self.there


@pytest.fixture
def keys() -> MadeUpKeys:
    return MadeUpKeys("hers")


@pytest.fixture
def ws(tmp_path: Path, keys: MadeUpKeys):
    person = Person(Text("this runs below an agent"))
    with open_scratch(tmp_path, person=person) as workspace:
        rewire(workspace, signatures=keys, commands=Sandbox(there=False))
        yield workspace


@pytest.fixture
def clock(ws):
    return set_clock(ws)


@pytest.fixture
def root(ws) -> Path:
    return ws.places.root


def scope(**changes: object) -> GrantScope:
    return msgspec.structs.replace(SCOPE, **changes)


def granted(ws: Workspace, keys: MadeUpKeys, wanted: GrantScope = SCOPE, days: float = 30) -> Grant:
    until = ws.clock.after(days * DAY)
    subject = ws.grants.draft(wanted, until)
    return ws.grants.add(subject, "hanako", signed(ws, keys, subject))


def signed(ws: Workspace, keys: MadeUpKeys, subject: GrantSubject, key: str = "hers") -> SignedAnswer:
    return keys.sign(key, ws.grants.statement(subject, "hanako"))


def asked(ws: Workspace, *specs: ActionSpec) -> str:
    plan_id = proposed(ws, *specs)
    ws.plan.ask(plan_id)
    return plan_id


def status(ws: Workspace, plan_id: str) -> str:
    return str(ws.plan.get_state(plan_id).status)


def lines(count: int) -> str:
    return "x\n" * count


def retry(ws: Workspace, plan_id: str, grant: Grant) -> None:
    """As a request that found the grant does."""
    workspace = ws
    stored, again = workspace.store.plans.get(plan_id), workspace.store.approvals.requests(plan_id)[-1]
    subject = subject_now(workspace, stored.document, ALL_SPECS, again.expires_at)
    use_grant(workspace, stored, grant, again, codec.canonical(subject))


@pytest.mark.req("PT-8")
def test_a_grant_answers_at_once_and_says_so(ws, keys, root: Path):
    grant = granted(ws, keys)
    plan_id = asked(ws, create("docs/a.md", lines(3)))
    outcome = ws.plan.outcome(plan_id)
    assert isinstance(outcome, ApprovedPlan)
    approval = outcome.approval
    assert (approval.proof.kind, approval.proof.strength) == ("grant", "strong")
    assert (approval.proof.grant, approval.approver) == (grant.id, "hanako")
    assert (approval.proof.used_files, approval.proof.used_lines) == (1, 3)
    requested, answered = [logged.event for logged in ws.log(plan_id)][-2:]
    assert (requested.event, answered.event) == (EventKind.APPROVAL_REQUESTED, EventKind.APPROVED)
    assert answered.actor is Actor.SYSTEM
    assert grant.id in answered.reason
    assert ws.plan.execute(plan_id).overall_success
    assert (root / "docs/a.md").read_text() == lines(3)
    (state,) = ws.grants.list()
    (use,) = state.uses
    assert (use.approval_id, use.plan_id, use.files, use.lines) == (approval.id, plan_id, 1, 3)
    assert_whole(ws)


@pytest.mark.req("PT-8")
def test_what_was_signed_is_kept_verbatim(ws, keys):
    grant = granted(ws, keys)
    assert codec.digest(grant.subject.encode()) == grant.digest
    subject = codec.decode_foreign(grant.subject.encode(), GrantSubject, "it")
    assert (subject.id, subject.scope, subject.workspace) == (grant.id, SCOPE, ledger_of(ws).workspace_id())
    said = read_predicate(grant.proof.statement)
    assert (said.act, said.digest, said.approver) == (SignedAct.GRANT, grant.digest, "hanako")
    (event,) = [logged.event for logged in ws.log() if logged.event.event is EventKind.GRANTED]
    assert (event.subject, event.evidence) == (subject_named(grant.id), event.document)
    assert event.evidence == codec.digest(codec.canonical(grant))


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    ("specs", "changes"),
    [
        ([create("app/new.py", "x\n")], {}),
        ([create("sub/docs/a.md", "x\n")], {}),
        ([create("DOCS/a.md", "x\n")], {}),
        ([create("docs/a.md", "x\n"), create("app/new.py", "x\n")], {}),
        ([create("docs/a.md", "x\n")], {"kinds": (SpecKind.WRITE,)}),
        ([create("docs/a.md", "x\n")], {"requester": "user:taro"}),
        ([create("docs/a.md", "x\n")], {"requester": "with:hanako"}),
        ([create("docs/a.md", lines(11))], {}),
        ([create(f"docs/{n}.md", "x\n") for n in range(3)], {}),
        ([create("docs/state.sqlite3", "x\n")], {}),
        ([delete("README.md")], {"globs": ("*.md",), "kinds": (SpecKind.DELETE,), "max_risk": Risk.MEDIUM}),
        ([create(".github/workflows/a.yml", "x\n")], {"globs": (".github/**",), "max_risk": Risk.MEDIUM}),
    ],
    ids=[
        "path",
        "not at the top",
        "case",
        "one path of two",
        "kind",
        "user",
        "agent",
        "lines",
        "files",
        "medium risk",
        "high risk",
        "critical file",
    ],
)
def test_what_is_outside_a_grant_waits_for_a_person(ws, keys, specs, changes: dict):
    grant = granted(ws, keys, scope(**changes))
    plan_id = asked(ws, *specs)
    assert status(ws, plan_id) == "pending_review"
    assert ws.plan.outcome(plan_id) is None
    with pytest.raises(GrantRefused) as caught:
        retry(ws, plan_id, grant)
    assert caught.value.exit_code == 5
    assert ws.grants.list()[0].uses == ()
    assert_whole(ws)


@pytest.mark.req("PT-8")
def test_a_grant_covers_whole_plans_only(ws, keys):
    granted(ws, keys)
    plan_id = proposed(ws, create("docs/a.md", "x\n"), create("docs/b.md", "x\n"))
    ws.plan.ask(plan_id, SpecSelection(all=False, ids=("s1",)))
    assert status(ws, plan_id) == "pending_review"
    ws.plan.ask(plan_id)
    assert status(ws, plan_id) == "approved"


@pytest.mark.req("PT-8")
@each(
    ("changes", "words"),
    [
        ({"max_risk": Risk.HIGH}, "a high risk is never covered"),
        ({"globs": ()}, "it names no paths"),
        ({"globs": ("docs/**", "")}, "it names no paths"),
        ({"kinds": ()}, "it names no kinds"),
        ({"kinds": (SpecKind.CALL,)}, "outside tools are never covered"),
        ({"kinds": (SpecKind.RUN,)}, "outside a sandbox are never covered"),
        ({"files_per_use": 0}, "at least 1"),
        ({"lines_per_use": -1}, "at least 1"),
        ({"files_total": 0}, "at least 1"),
        ({"lines_total": 0}, "at least 1"),
        ({"requester": "hanako"}, "neither with:AGENT nor user:NAME"),
        ({"requester": "user:"}, "neither with:AGENT nor user:NAME"),
        ({"requester": "with:a b"}, "neither with:AGENT nor user:NAME"),
        ({"requester": "with:a\x1b"}, "neither with:AGENT nor user:NAME"),
        ({"requester": "mcp:claude"}, "neither with:AGENT nor user:NAME"),
        ({"requester": ""}, "neither with:AGENT nor user:NAME"),
    ],
)
def test_no_grant_is_that_wide(ws, keys, clock, changes: dict, words: str):
    wide = scope(**changes)
    with pytest.raises(BadGrant, match=words):
        ws.grants.draft(wide, clock.after(DAY))
    # Nor where somebody signed it without being given it.
    subject = msgspec.structs.replace(ws.grants.draft(SCOPE, clock.after(DAY)), scope=wide)
    with pytest.raises(BadGrant, match=words):
        ws.grants.add(subject, "hanako", signed(ws, keys, subject))
    assert ws.grants.list() == ()


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    ("until", "words"),
    [
        ("2026-01-02T03:04:05.000000Z", "is over"),
        ("2025-12-31T00:00:00Z", "is over"),
        ("2026-04-02T03:04:05.000001Z", "90 days at most"),
        ("9999-12-31T23:59:59.999999Z", "90 days at most"),
        ("2026-02-01", "no date with a time zone"),
        ("2026-02-01T00:00:00", "no date with a time zone"),
        ("0001-01-01T00:00:00+23:59", "no date with a time zone"),
        ("tomorrow", "no date"),
        ("", "no date"),
    ],
)
def test_no_grant_lasts_for_ever(ws, clock, until: str, words: str):
    assert clock.now() == "2026-01-02T03:04:05.000000Z"
    with pytest.raises(BadGrant, match=words):
        ws.grants.draft(SCOPE, until)


@pytest.mark.req("PT-8")
def test_dates_are_kept_in_utc(ws, clock):
    assert ws.grants.draft(SCOPE, "2026-02-01T09:00:00+09:00").expires_at == "2026-02-01T00:00:00.000000Z"
    longest = clock.after(90 * DAY)
    assert ws.grants.draft(SCOPE, longest).expires_at == longest


@pytest.mark.req("PT-8", "PT-9")
def test_a_grant_needs_a_signature_of_its_own(ws, keys, clock):
    subject = ws.grants.draft(SCOPE, clock.after(DAY))
    other = ws.grants.draft(scope(files_total=9), clock.after(DAY))
    text = ws.grants.statement(subject, "hanako")
    with pytest.raises(NoChannel):
        ws.grants.add(subject, "hanako")
    with pytest.raises(UnlistedKey):
        ws.grants.add(subject, "hanako", keys.sign("agents", text))
    with pytest.raises(BadSignature):
        ws.grants.add(subject, "hanako", keys.sign("hers", text, "git"))
    with pytest.raises(WrongAnswer, match="something else"):
        ws.grants.add(other, "hanako", keys.sign("hers", text))
    with pytest.raises(WrongAnswer, match="in the name of hanako"):
        ws.grants.add(subject, "taro", keys.sign("hers", text))
    plan_id = proposed(ws, create("docs/a.md", "x\n"))
    approval = ws.plan.statement(ws.plan.ask(plan_id), "hanako")
    with pytest.raises(WrongAnswer, match="signed to approve, not to grant"):
        ws.grants.add(subject, "hanako", keys.sign("hers", approval))
    assert ws.grants.list() == ()
    assert ws.grants.add(subject, "hanako", keys.sign("hers", text)).id == subject.id


@pytest.mark.req("PT-8")
def test_a_grant_past_its_date_covers_nothing(ws, keys, clock, root: Path):
    grant = granted(ws, keys, days=1)
    early = asked(ws, create("docs/a.md", "x\n"))
    assert status(ws, early) == "approved"
    clock.pass_by(DAY + 1)
    with untouched(root), pytest.raises(Expired):
        ws.plan.execute(early)
    late = asked(ws, create("docs/b.md", "x\n"))
    assert status(ws, late) == "pending_review"
    with pytest.raises(GrantRefused):
        retry(ws, late, grant)


@pytest.mark.req("PT-8")
def test_an_approval_ends_with_its_grant(ws, keys, clock, root: Path):
    """The approval itself would have lasted a day."""
    granted(ws, keys, days=0.5)
    plan_id = asked(ws, create("docs/a.md", "x\n"))
    clock.pass_by(DAY / 2 + 1)
    with untouched(root), pytest.raises(GrantRefused):
        ws.plan.execute(plan_id)


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("budget", ["files", "lines"])
def test_a_grant_past_its_budget_covers_nothing(ws, keys, budget: str):
    grant = granted(ws, keys, scope(**{f"{budget}_total": 3}))
    uses = [asked(ws, create(f"docs/{n}.md", "x\n")) for n in range(4)]
    assert [status(ws, plan_id) for plan_id in uses] == ["approved"] * 3 + ["pending_review"]
    with pytest.raises(GrantRefused, match="1 files and 1 lines are needed"):
        retry(ws, uses[3], grant)
    assert len(ws.grants.list()[0].uses) == 3
    assert_whole(ws)


@settings(max_examples=8)
@given(sizes=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), max_size=6))
@pytest.mark.req("PT-8")
def test_no_uses_overdraw_a_budget(tmp_path_factory: pytest.TempPathFactory, sizes):
    keys = MadeUpKeys("hers")
    with open_scratch(tmp_path_factory.mktemp("budget"), person=Person()) as ws:
        rewire(ws, signatures=keys)
        granted(ws, keys)
        left = [SCOPE.files_total, SCOPE.lines_total]
        for number, (files, per_file) in enumerate(sizes):
            specs = [create(f"docs/{number}/{file}.md", lines(per_file)) for file in range(files)]
            total = files * per_file
            fits = files <= SCOPE.files_per_use and total <= SCOPE.lines_per_use
            fits = fits and files <= left[0] and total <= left[1]
            assert status(ws, asked(ws, *specs)) == ("approved" if fits else "pending_review")
            if fits:
                left = [left[0] - files, left[1] - total]
        uses = ws.grants.list()[0].uses
        assert sum(use.files for use in uses) == SCOPE.files_total - left[0]
        assert sum(use.lines for use in uses) == SCOPE.lines_total - left[1]


@pytest.mark.req("PT-8")
def test_two_uses_at_once_do_not_share_a_budget(tmp_path: Path):
    keys = MadeUpKeys("hers")
    with open_scratch(tmp_path) as ws:
        rewire(ws, signatures=keys)
        plans = [asked(ws, create(f"docs/{n}.md", "x\n")) for n in range(6)]
        grant = granted(ws, keys, scope(files_total=2))
    barrier, refused = threading.Barrier(len(plans)), []

    def use(plan_id: str) -> None:
        with open_scratch(tmp_path, RINGI_LOCK_WAIT_SEC="120") as own:
            rewire(own, signatures=keys)
            barrier.wait()
            try:
                retry(own, plan_id, grant)
            except GrantRefused as error:
                refused.append(error)

    threads = [threading.Thread(target=use, args=(plan_id,)) for plan_id in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_scratch(tmp_path) as ws:
        assert len(refused) == 4
        assert sum(status(ws, plan_id) == "approved" for plan_id in plans) == 2
        assert len(ws.grants.list()[0].uses) == 2
        assert ws.verify_log() == []


@pytest.mark.req("PT-8", "PT-9")
def test_a_revoked_grant_covers_nothing_from_then_on(ws, keys, root: Path):
    grant = granted(ws, keys)
    early = asked(ws, create("docs/a.md", "x\n"))
    state = ws.grants.revoke(grant.id, "no more")
    assert state.revoked_at
    with untouched(root), pytest.raises(GrantRefused) as caught:
        ws.plan.execute(early)
    assert state.revoked_at in str(caught.value)
    late = asked(ws, create("docs/b.md", "x\n"))
    assert status(ws, late) == "pending_review"
    with pytest.raises(GrantRefused):
        retry(ws, late, grant)
    revoked = [logged.event for logged in ws.log() if logged.event.event is EventKind.GRANT_REVOKED]
    assert [event.reason for event in revoked] == [f"{grant.id} no more"]
    # Once is enough, and its signature does not bring it back.
    assert ws.grants.revoke(grant.id).revoked_at == state.revoked_at
    subject = codec.decode_foreign(grant.subject.encode(), GrantSubject, "it")
    proof = SignedAnswer(grant.proof.statement, grant.proof.signature)
    with pytest.raises(BadGrant, match="added already"):
        ws.grants.add(subject, "hanako", proof)
    assert_whole(ws)


@pytest.mark.req("PT-8")
def test_an_older_approval_of_a_person_outlives_a_revoked_grant(tmp_path: Path, keys):
    with open_scratch(tmp_path) as ws:
        rewire(ws, signatures=keys)
        plan_id = proposed(ws, create("docs/a.md", "x\n"))
        approve(ws, plan_id)
        ws.plan.mark_pending(plan_id, True)
        grant = granted(ws, keys)
        ws.plan.ask(plan_id)
        assert ledger_of(ws).approvals.of(plan_id)[-1].proof.grant == grant.id
        ws.grants.revoke(grant.id)
        assert ws.plan.execute(plan_id).overall_success


@pytest.mark.req("PT-8")
def test_grants_are_named_by_the_beginning_of_their_id(ws, keys):
    grant = granted(ws, keys)
    for name in ("", grant.id[:3], "nothing-like-it", "zzzz"):
        with pytest.raises(NotFound, match="standing approval") as caught:
            ws.grants.revoke(name)
        assert caught.value.details["see"] == "ringi grant list"
    parts = ws
    subject = parts.store.workspace_id()
    twins = iter([f"{grant.id[:6]}-one", f"{grant.id[:6]}-two"])
    rewire(ws, ids=lambda: next(twins))
    granted(ws, keys)
    granted(ws, keys)
    with pytest.raises(Ambiguous):
        ws.grants.revoke(grant.id[:6])
    assert ws.grants.revoke(f"{grant.id[:6]}-T").grant.id == f"{grant.id[:6]}-two"
    newest, older, oldest = ws.grants.list()
    assert [state.grant.id[-3:] for state in (newest, older)] == ["two", "one"]
    assert (oldest.grant, oldest.revoked_at, older.revoked_at) == (grant, None, None)
    assert subject == ledger_of(ws).workspace_id()


@pytest.mark.req("PT-8", "PT-9")
def test_a_key_that_left_the_list_ends_its_grants(ws, keys, root: Path):
    grant = granted(ws, keys)
    early = asked(ws, create("docs/a.md", "x\n"))
    keys.listed.clear()
    late = asked(ws, create("docs/b.md", "x\n"))
    assert status(ws, late) == "pending_review"
    with pytest.raises(GrantRefused, match="not listed: hers"):
        retry(ws, late, grant)
    with untouched(root), pytest.raises(GrantRefused, match="not listed"):
        ws.plan.execute(early)


@pytest.mark.req("PT-8")
def test_commands_are_covered_in_a_sandbox_only(ws, keys):
    boxed = Sandbox(there=True)
    rewire(ws, commands=boxed)
    grant = granted(ws, keys, scope(kinds=(SpecKind.RUN,), max_risk=Risk.MEDIUM, globs=("**",)))
    plan_id = proposed(ws, create("docs/a.md", "x\n"))
    stored = ws.store.plans.get(plan_id)
    spec = stored.document.state.action_specs[0]
    # However a command became low: this is about the sandbox.
    run = msgspec.structs.replace(
        spec, base=ActionSpec(SpecKind.RUN, argv=("make",)), before=None, after=None
    )
    state = msgspec.structs.replace(stored.document.state, action_specs=(run,))
    stored = stored._replace(document=msgspec.structs.replace(stored.document, state=state))
    assert ws.grants.covering(stored) == grant
    boxed.there = False
    assert ws.grants.covering(stored) is None
    boxed.there = True
    risky = msgspec.structs.replace(state, action_specs=(msgspec.structs.replace(run, risk=Risk.HIGH),))
    stored = stored._replace(document=msgspec.structs.replace(stored.document, state=risky))
    assert ws.grants.covering(stored) is None


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("change", ["not validated", "no specs", "no requester", "reads elsewhere"])
def test_plans_that_no_grant_covers(ws, keys, change: str):
    grant = granted(ws, keys, scope(kinds=(*CHANGES, SpecKind.READ)))
    stored = ws.store.plans.get(proposed(ws, create("docs/a.md", "x\n")))
    assert ws.grants.covering(stored) == grant
    document = stored.document
    spec = document.state.action_specs[0]
    specs = {
        "not validated": (msgspec.structs.replace(spec, validated=False),),
        "no specs": (),
        "reads elsewhere": (spec, msgspec.structs.replace(spec, base=ActionSpec(SpecKind.READ, ".env"))),
    }.get(change, (spec,))
    state = msgspec.structs.replace(document.state, action_specs=specs)
    plan = document.plan
    if change == "no requester":
        plan = msgspec.structs.replace(plan, requester=msgspec.UNSET)
    stored = stored._replace(document=msgspec.structs.replace(document, plan=plan, state=state))
    assert ws.grants.covering(stored) is None


@pytest.mark.req("PT-8")
@each(
    ("path", "globs", "expected"),
    [
        ("docs/a/b.md", ("docs/**",), True),
        ("docs/a/b.md", ("docs/*.md",), False),
        ("docs/b.md", ("docs/*.md",), True),
        ("a/x/y/b.md", ("a/**/b.md",), True),
        ("a/b.md", ("a/**/b.md",), True),
        ("any/thing", ("**",), True),
        ("any/thing", ("**/*",), True),
        ("docs", ("docs/**",), False),
        ("x/docs/a", ("docs/**",), False),
        ("Docs/a", ("docs/**",), False),
        ("a/b/c.txt", ("*.txt",), True),
        ("a.txt/b", ("*.txt",), False),
        ("a/B.TXT", ("*.txt",), False),
        ("a", (), False),
    ],
)
def test_the_narrower_reading_of_a_glob_counts(path: str, globs: tuple[str, ...], expected: bool):
    assert within(path, globs) is expected


# Hands in the ledger.


@pytest.mark.req("PT-8", "PT-9")
@pytest.mark.parametrize("what", ["unrevoked", "subject", "digest", "put in", "workspace"])
def test_a_grant_changed_in_the_ledger_covers_nothing(ws, keys, what: str):
    grant = granted(ws, keys)
    database = ledger_of(ws).database
    if what == "unrevoked":
        ws.grants.revoke(grant.id)
        database.execute("UPDATE grants SET revoked_at = NULL")
    elif what == "put in":
        database.execute("DELETE FROM events WHERE subject_id = ?", (grant.id,))
    elif what == "workspace":
        ledger_of(ws).set_meta("workspace_id", "another")
    else:
        wider = grant.subject.replace('"files_total":5', '"files_total":500')
        changed = msgspec.structs.replace(grant, subject=wider)
        if what == "digest":
            changed = msgspec.structs.replace(changed, digest=codec.digest(wider.encode()))
        database.execute("UPDATE grants SET document = ?", (codec.canonical(changed).decode(),))
        grant = changed
    plan_id = asked(ws, create("docs/a.md", "x\n"))
    assert status(ws, plan_id) == "pending_review"
    with pytest.raises(GrantRefused):
        retry(ws, plan_id, grant)
    assert what == "workspace" or ws.verify_log()


@pytest.mark.req("PT-8", "PT-9")
@pytest.mark.parametrize("what", ["high risk", "call", "signed for another"])
def test_a_grant_written_past_the_program_covers_no_more_than_one_may(ws, keys, clock, what: str):
    """Logged as it should be, and in two cases even signed."""
    wide = {
        "high risk": scope(max_risk=Risk.HIGH, kinds=(SpecKind.CREATE, SpecKind.DELETE)),
        "call": scope(kinds=(SpecKind.CREATE, SpecKind.CALL)),
        "signed for another": scope(globs=("*",)),
    }[what]
    narrow = ws.grants.draft(SCOPE, clock.after(DAY))
    subject = msgspec.structs.replace(narrow, scope=wide)
    proof = signed(ws, keys, narrow if what == "signed for another" else subject)
    text = codec.canonical(subject).decode()
    record = msgspec.structs.replace(
        granted(ws, keys).proof, statement=proof.statement, signature=proof.signature
    )
    ledger = ledger_of(ws)
    with ledger.transaction() as transaction:
        transaction.grants.add(
            Grant(
                id=subject.id,
                approver="hanako",
                digest=codec.digest(text.encode()),
                subject=text,
                proof=record,
                after_event=transaction.last_hash(),
            )
        )
    stored = ledger.plans.get(proposed(ws, create("docs/a.md", "x\n")))
    spec = stored.document.state.action_specs[0]
    base = {
        "high risk": spec.base,
        "call": ActionSpec(SpecKind.CALL, tool="mail"),
        "signed for another": create("anywhere.md", "x\n"),
    }[what]
    risk = Risk.HIGH if what == "high risk" else Risk.LOW
    specs = (msgspec.structs.replace(spec, base=base, risk=risk),)
    state = msgspec.structs.replace(stored.document.state, action_specs=specs)
    stored = stored._replace(document=msgspec.structs.replace(stored.document, state=state))
    assert ws.grants.covering(stored) is None


@pytest.mark.req("PT-8")
def test_a_grant_revoked_in_the_very_moment_of_its_use_is_not_used(ws, keys, tmp_path: Path):
    grant = granted(ws, keys)
    plan_id = proposed(ws, create("docs/a.md", "x\n"))

    class Late(MadeUpKeys):
        """Looking at the signature is the last thing before the ledger is written."""

        def signer(self, message: bytes, signature: str) -> Signer:
            found = super().signer(message, signature)
            if self.asked == 2:
                with open_scratch(tmp_path) as other:
                    other.grants.revoke(grant.id)
            return found

    late = Late("hers")
    rewire(ws, signatures=late)
    ws.plan.ask(plan_id)
    assert late.asked == 2
    assert ws.plan.outcome(plan_id) is None
    assert status(ws, plan_id) == "pending_review"
    assert_whole(ws)


@pytest.mark.req("CP-8", "CP-9")
def test_a_change_plan_is_never_covered(ws, keys):
    granted(ws, keys)
    stored = ws.store.plans.get(proposed(ws, create("docs/a.md", "x\n")))
    facts = ChangeFacts(
        snapshot_id="s",
        basis=PlanBasis(Trigger.USER_REQUEST, ()),
        scope=PlanScope(("docs/a.md",), ()),
        validations=PlanValidations(project_state_complete=True, no_conflict_files=("docs/a.md",)),
        risk=PlanRisk(Risk.LOW, ()),
        explanation=PlanExplanation("", ""),
    )
    assert ws.grants.covering(stored) is not None
    changing = stored._replace(document=msgspec.structs.replace(stored.document, change=facts))
    assert ws.grants.covering(changing) is None


@pytest.mark.req("PT-8")
def test_a_grant_of_another_workspace_is_refused(ws, keys, clock):
    subject = msgspec.structs.replace(ws.grants.draft(SCOPE, clock.after(DAY)), workspace="another")
    with pytest.raises(BadGrant, match="another workspace"):
        ws.grants.add(subject, "hanako", signed(ws, keys, subject))


@pytest.mark.req("PT-8", "PT-9")
def test_an_approval_row_that_names_a_grant_is_not_enough(ws, keys, root: Path):
    """Written by hand, complete with its event: the grant must stand."""
    grant = granted(ws, keys)
    plan_id = asked(ws, create("docs/a.md", "x\n"))
    given_ = ledger_of(ws).approvals.of(plan_id)[0]
    proof = msgspec.structs.replace(given_.proof, grant="made-up")
    forged = msgspec.structs.replace(given_, id="forged", proof=proof)
    ledger_of(ws).database.execute("DELETE FROM approvals")
    with ledger_of(ws).transaction() as transaction:
        transaction.approvals.add(forged)
        stored = transaction.plans.get(plan_id)
        transaction.plans.save(
            stored, stored.document, NewEvent(EventKind.APPROVED, Actor.SYSTEM, grant.id, forged)
        )
    with untouched(root), pytest.raises(GrantRefused, match="not in the ledger"):
        ws.plan.execute(plan_id)


@pytest.mark.req("PT-11")
def test_events_of_no_plan_leave_the_files_in_agent_whole(ws, keys, tmp_path: Path):
    grant = granted(ws, keys)
    ws.grants.revoke(grant.id)
    plan_id = proposed(ws, write("README.md", "x\n"))
    assert kinds(ws, plan_id)[0] == "plan_proposed"
    assert ws.upkeep._projection.problem is None
    assert_whole(ws)
    ws.upkeep._projection.rebuild(ledger_of(ws))
    assert_whole(ws)
    assert [str(logged.event.event) for logged in ws.log()][:2] == ["granted", "grant_revoked"]


@pytest.mark.req("PT-8")
def test_a_grant_signed_by_a_real_key(tmp_path: Path):
    key = RealKey(tmp_path, "hers")
    lists = [SignerList("the list", f"hanako {key.public}\n".encode())]
    with open_scratch(tmp_path, person=Person(Text("nobody"))) as ws:
        rewire(ws, signatures=SshSignatures(lambda: lists))
        subject = ws.grants.draft(SCOPE, ws.clock.after(DAY))
        grant = ws.grants.add(subject, "hanako", key.sign(ws.grants.statement(subject, "hanako")))
        assert key.public.startswith(grant.proof.key)
        plan_id = asked(ws, create("docs/a.md", "x\n"))
        assert ws.plan.get_state(plan_id).status is PlanStatus.APPROVED
        assert ws.plan.execute(plan_id).overall_success
        assert_proven(ws, plan_id, tmp_path)
        lists.clear()
        other = asked(ws, create("docs/b.md", "x\n"))
        with pytest.raises(NotApproved):
            ws.plan.execute(other)
        assert_whole(ws)


def assert_proven(ws: Workspace, plan_id: str, folder: Path) -> None:
    """From approval.json alone: the grant was signed, and the approved files are within it."""
    path = ws.places.root / ".agent/logs/plans" / plan_id / "approval.json"
    (approval,) = json.loads(path.read_text())["approvals"]
    proof = approval["proof"]
    assert_signed(folder, proof, proof["statement"].encode())
    payload = json.loads(proof["statement"].split(" ", 4)[4])
    said, subject = payload["predicate"], json.loads(proof["grant_subject"])
    assert said["digest"] == hashlib.sha256(proof["grant_subject"].encode()).hexdigest()
    assert said["act"] == "grant"
    changed = json.loads(approval["subject"])["changes"]
    assert len(changed) == proof["used_files"] <= subject["scope"]["files_per_use"]
    assert subject["workspace"] == json.loads(approval["subject"])["workspace"]


@pytest.mark.req("PT-8")
def test_long_lines_and_binaries_spend_the_budget_by_their_bytes(ws, keys):
    granted(ws, keys, scope(max_risk=Risk.MEDIUM, globs=("**",)))
    assert status(ws, asked(ws, create("docs/a.md", "x" * 1001))) == "pending_review"
    packed = base64.b64encode(bytes(1001)).decode()
    image = ActionSpec(SpecKind.CREATE, "docs/a.png", packed, encoding=Encoding.BASE64)
    assert status(ws, asked(ws, image)) == "pending_review"
    plan_id = asked(ws, create("docs/b.md", "x" * 901))
    assert status(ws, plan_id) == "approved"
    assert ws.store.approvals.of(plan_id)[-1].proof.used_lines == 10
