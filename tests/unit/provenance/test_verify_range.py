"""Which approvals in notes cover what differs: with a history in memory and made-up keys."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from ringi.approvals.document import ProofKind, SignedAct
from ringi.approvals.grant_document import GrantScope, GrantSubject
from ringi.approvals.proof import build_statement
from ringi.approvals.statement import GrantProof, InToto, PathChange, to_sign
from ringi.kernel import codec
from ringi.ledger.subject import StepOf
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.provenance.ports import PastCommit
from ringi.provenance.replay import MOST
from ringi.provenance.verdict import Level, Mode, at_least
from ringi.provenance.verify_range import Asked, Findings, Signing, verify_range
from tests.fakes.past import (
    ALICE,
    AT,
    MALLORY,
    NOW,
    MemoryHistory,
    PastKeys,
    change,
    envelope,
    statement,
    stored,
)
from tests.tables import each


def examined(history: MemoryHistory, mode: Mode = Mode.REPORT, base: str = "base") -> Findings:
    asked = Asked("range", "base..head", base, "head", mode)
    return verify_range(history, asked, Signing(PastKeys(ALICE), None, NOW))


def level(history: MemoryHistory, path: str = "f") -> Level:
    return {file.path: file.level for file in examined(history).document.files}[path]


def why(history: MemoryHistory, mode: Mode = Mode.STRICT, path: str = "f") -> str:
    return " · ".join(map(str, examined(history, mode).why[path]))


def one_file(before: bytes | None = b"one\n", after: bytes | None = b"two\n") -> MemoryHistory:
    def tree(data: bytes | None) -> dict[str, object]:
        return {} if data is None else {"f": stored(data)}

    history = MemoryHistory(tree(before), tree(after))  # type: ignore[arg-type]
    for data in (before, after):
        if data is not None:
            history.data[stored(data).blob] = data
    return history


def diff(path: str, before: bytes | None, after: bytes) -> str:
    old = None if before is None else FileSide(before, "100644")
    return render_patch([FileDelta(path, old, FileSide(after, "100644"))]).decode()


Moves = list[tuple[bytes | None, bytes | None]]
ONE_TWO = change("f", b"one\n", b"two\n")


def test_a_signed_approval_of_exactly_this_change() -> None:
    history = one_file()
    history.approve(statement(ONE_TWO))
    found = examined(history, Mode.STRICT).document
    assert found.covered
    [file] = found.files
    [evidence] = file.chain
    assert (file.level, evidence.by, evidence.at) == (Level.SIGNED, f"{ALICE}@example.invalid", AT)
    assert evidence.plan
    assert evidence.plan.title == "a plan"
    assert "all" not in history.read


@each("before", [b"one\n", None])
def test_what_was_taken_back_with_a_signature_needs_a_new_one(before: bytes | None) -> None:
    """Or whoever can push brings back what somebody approved once and regretted."""
    history, there = one_file(before), change("f", before, b"two\n")
    history.approve(statement(there))
    history.approve(statement(PathChange("f", there.after, there.before), at=AT.replace("03:04", "03:05")))
    assert level(history) is Level.NONE
    assert "was taken back later" in why(history)
    history.approve(statement(there, at=AT.replace("03:04", "03:06")))
    assert level(history) is Level.SIGNED
    # What was approved again is not told as taken back, whatever else is wrong.
    history.trees["head"]["f"] = stored(b"three\n")
    assert "taken back" not in why(history)


def test_nobody_takes_an_approval_back_without_a_signature() -> None:
    history = one_file()
    history.approve(statement(ONE_TWO))
    back = PathChange("f", ONE_TWO.after, ONE_TWO.before)
    history.approve(statement(back, at=AT.replace("03:04", "03:05"), proof=ProofKind.TYPED), key="")
    assert level(history) is Level.SIGNED


def test_an_approval_covers_its_own_path_and_no_other_with_the_same_bytes() -> None:
    history = MemoryHistory(
        {"f": stored(b"one\n"), "g": stored(b"one\n")}, {"f": stored(b"two\n"), "g": stored(b"two\n")}
    )
    history.approve(statement(ONE_TWO))
    assert (level(history), level(history, "g")) == (Level.SIGNED, Level.NONE)
    assert why(history, path="g") == "nobody approved it"


def test_nothing_differs() -> None:
    history = one_file(b"same\n", b"same\n")
    assert examined(history, Mode.STRICT).document.covered


def test_intermediate_states_are_followed_through_notes_alone() -> None:
    history = one_file()
    history.approve(statement(change("f", b"one\n", b"x\n")))
    history.approve(statement(change("f", b"x\n", b"y\n")))
    history.approve(statement(change("f", b"y\n", b"two\n")))
    assert len(examined(history, Mode.STRICT).document.files[0].chain) == 3
    assert "all" not in history.read


def test_deleted_in_a_state_that_is_in_neither_tree_and_made_again() -> None:
    history = one_file()
    history.approve(statement(change("f", b"one\n", b"x\n")))
    history.approve(statement(change("f", b"x\n", None)))
    history.approve(statement(change("f", None, b"two\n")))
    assert level(history) is Level.SIGNED
    assert "all" in history.read


def test_a_deletion_hangs_on_what_was_deleted() -> None:
    history = one_file(after=None)
    history.approve(statement(change("f", b"one\n", None)))
    assert level(history) is Level.SIGNED
    assert "all" not in history.read


def test_an_undo_is_approved_too() -> None:
    history = one_file(b"two\n", b"one\n")
    history.approve(statement(change("f", b"two\n", b"one\n"), act=SignedAct.UNDO))
    found = examined(history).document.files[0]
    assert (found.level, found.chain[0].act) == (Level.SIGNED, "undo")


@each(
    ("said", "key", "reason"),
    [
        (statement(ONE_TWO), MALLORY, "a key that is not listed: BBBB"),
        (statement(ONE_TWO, repository=("2" * 40,)), ALICE, "it was given in another repository"),
        (statement(ONE_TWO, repository=()), ALICE, "it does not say in which repository"),
        (statement(ONE_TWO, at="2026-03-01T00:00:00.000000Z"), ALICE, "which is in the future"),
        (statement(ONE_TWO, at="yesterday"), ALICE, "it does not say when it was given"),
        (statement(ONE_TWO, at="2026-01-02T03:04:05"), ALICE, "it does not say when it was given"),
        (statement(ONE_TWO), "", "it says that it is signed, and it is not"),
        (statement(ONE_TWO, proof=ProofKind.TYPED), ALICE, "it is signed, and says that it is not"),
        (statement(ONE_TWO, proof=ProofKind.CONFIGURED), "", "nobody was asked"),
        (statement(ONE_TWO, act=SignedAct.SIGNERS), ALICE, "it is no approval of files"),
        (statement(ONE_TWO, proof=ProofKind.GRANT), "", "does not have the standing approval"),
        (statement(change("f", b"one\n", b"too\n")), ALICE, "approved other bytes"),
        (statement(change("g", b"one\n", b"two\n")), ALICE, "nobody approved it"),
    ],
)
def test_what_does_not_count(said: InToto, key: str, reason: str) -> None:
    history = one_file()
    history.approve(said, key)
    assert level(history) is Level.NONE
    assert reason in why(history)


def test_a_mode_that_nobody_approved() -> None:
    history = MemoryHistory({"f": stored(b"a")}, {"f": stored(b"a", "100755")})
    history.approve(statement(change("f", b"a", b"b")))
    assert level(history) is Level.NONE
    history.approve(statement(PathChange("f", stored(b"a"), stored(b"a", "100755"))))
    assert level(history) is Level.SIGNED


def test_a_payload_that_was_replaced() -> None:
    history = one_file()
    signed = envelope(statement(change("f", b"one\n", b"three\n")))
    other = envelope(statement(ONE_TWO))
    payload = other.split(b'"payload":"')[1].split(b'"')[0]
    mixed = signed.replace(signed.split(b'"payload":"')[1].split(b'"')[0], payload)
    history.attach(ONE_TWO.after.blob, mixed)
    assert level(history) is Level.NONE
    assert "something else was signed" in why(history)


@each("damage", [b"", b"{", b"\xff\xfe", b"null", b'{"payload":"%%"}', b"x" * 1000])
def test_notes_that_are_no_envelopes(damage: bytes) -> None:
    history = one_file()
    history.attach(ONE_TWO.after.blob, damage)
    assert level(history) is Level.NONE
    assert why(history)
    history.approve(statement(ONE_TWO))
    assert level(history) is Level.SIGNED


def test_every_cut_of_an_envelope_only_loses_it() -> None:
    whole = envelope(statement(ONE_TWO))
    for end in range(0, len(whole) - 1, 37):
        history = one_file()
        history.attach(ONE_TWO.after.blob, whole[:end])
        assert level(history) is Level.NONE


def test_a_hundred_envelopes_on_one_blob_and_thousands_elsewhere() -> None:
    history = one_file()
    for number in range(100):
        history.approve(statement(ONE_TWO, title=f"plan {number}", repository=("2" * 40,)))
    for number in range(3000):
        history.attach(f"{number:040x}", envelope(statement(change("g", b"x", b"%d" % number))))
    assert level(history) is Level.NONE
    history.approve(statement(ONE_TWO))
    assert level(history) is Level.SIGNED


def test_a_shallow_clone_fails_closed() -> None:
    history = one_file()
    history.approve(statement(ONE_TWO))
    history._roots = None
    found = examined(history, Mode.AGENTS)
    assert not found.document.covered
    assert "shallow" in str(found.problems[0].what)


def test_no_notes_at_all_is_told() -> None:
    assert "no notes" in str(examined(one_file(), Mode.AGENTS).problems[0].what)


def test_everything_is_new_without_a_base() -> None:
    history = one_file(before=None)
    history.approve(statement(change("f", None, b"two\n"), repository=()))
    asked = Asked("commit", "head", "", "head", Mode.STRICT)
    own = Signing(PastKeys(ALICE), None, NOW)
    assert verify_range(history, asked, own).document.covered


def test_typed_counts_only_in_a_report() -> None:
    history = one_file()
    history.approve(statement(ONE_TWO, proof=ProofKind.TYPED), "")
    assert examined(history).document.covered
    assert not examined(history, Mode.AGENTS).document.covered
    assert "alice typed the approval" in why(history, Mode.AGENTS)


# Standing approvals.


def standing(*globs: str, kinds: tuple[SpecKind, ...] = (SpecKind.PATCH,), key: str = ALICE) -> GrantProof:
    scope = GrantScope("with:claude", globs, kinds, Risk.LOW, 1, 10, 10, 100)
    subject = codec.canonical(
        GrantSubject(id="g", workspace="w", scope=scope, created_at="2026-01-01", expires_at="2026-01-31")
    ).decode()
    digest, at = codec.digest(subject.encode()), "2026-01-01T00:00:00.000000Z"
    signed = to_sign(build_statement(SignedAct.GRANT, digest, "alice", "", at=at, after_event=""))
    return GrantProof(subject, signed, PastKeys().sign(key, signed).signature)


def granted(grant: GrantProof, *steps: PathChange, at: str = AT) -> InToto:
    return statement(*(steps or (ONE_TWO,)), proof=ProofKind.GRANT, grant=grant, at=at)


def test_a_standing_approval_counts_for_agents_but_not_strictly() -> None:
    history = one_file()
    history.approve(granted(standing("f")), "")
    assert level(history) is Level.CONFIRMED
    assert examined(history, Mode.AGENTS).document.covered
    assert "whose use nobody signs" in why(history)
    assert examined(history).document.files[0].chain[0].grant == "g"


@each(
    ("said", "reason"),
    [
        (granted(standing("docs/**")), "f is not among its paths"),
        (granted(standing("f", kinds=(SpecKind.CREATE,))), "does not cover such a change"),
        (granted(standing("f", key=MALLORY)), "a key that is not listed"),
        (granted(standing("f"), at="2026-01-31T12:00:00.000000Z"), "did not hold"),
        (granted(replace(standing("f"), subject="{}")), "cannot be read"),
        (granted(replace(standing("f"), statement="{}")), "cannot be read"),
        (granted(replace(standing("f"), subject=standing("*").subject)), "signed for something else"),
        (granted(standing("*"), ONE_TWO, change("g", b"1", b"2")), "2 files, 1 at once are covered"),
    ],
)
def test_what_a_standing_approval_does_not_cover(said: InToto, reason: str) -> None:
    history = one_file()
    history.approve(said, "")
    assert level(history) is Level.NONE
    assert reason in why(history)


# Commits by themselves.


def past(oid: str, message: str, *steps: PathChange, parents: int = 1, signature: str = "") -> PastCommit:
    lines = [b"tree 0", *(b"parent %d" % number for number in range(parents))]
    payload = b"\n".join([*lines, b"committer Bob <b@x> 1767300000 +0000", b"", message.encode()])
    return PastCommit(oid, message, steps, payload, signature, tuple(map(str, range(parents))))


def test_commits_without_an_agent_count_in_the_mode_of_agents() -> None:
    history = one_file()
    history.past = [past("c1", "Fix it", ONE_TWO)]
    assert level(history) is Level.UNASSISTED
    assert examined(history, Mode.AGENTS).document.covered
    assert "commit c1 is not signed by a listed key" in why(history)


@each("trailer", ["Assisted-by: claude", "Assisted-by : claude", "assisted-by: x\n\nmore text after it"])
def test_an_agents_commit_must_be_covered(trailer: str) -> None:
    history = one_file()
    history.past = [past("c1", f"Fix it\n\n{trailer}", ONE_TWO)]
    assert "commit c1 changed it with an agent" in why(history, Mode.AGENTS)
    history.approve(statement(ONE_TWO))
    assert examined(history, Mode.AGENTS).document.covered


def test_persons_and_agents_take_turns() -> None:
    history = one_file()
    history.past = [
        past("c2", "Tidy up", change("f", b"x\n", b"two\n")),
        past("c1", "Add x\n\nAssisted-by: claude", change("f", b"one\n", b"x\n")),
    ]
    assert level(history) is Level.NONE
    history.approve(statement(change("f", b"one\n", b"x\n")))
    assert level(history) is Level.UNASSISTED


def test_a_signed_commit_of_a_listed_person_is_their_own_approval() -> None:
    history = one_file()
    commit = past("c1", "Fix it", ONE_TWO)
    signature = PastKeys().sign(ALICE, commit.payload.decode()).signature
    history.past = [commit._replace(signature=signature)]
    assert level(history) is Level.SIGNED
    assert examined(history, Mode.STRICT).document.covered
    history.past = [commit._replace(signature=signature, message="Fix it\nAssisted-by: claude")]
    assert level(history) is Level.NONE


def test_a_merge_by_a_person_does_not_cover_an_agents_branch() -> None:
    history = one_file()
    history.past = [
        past("m", "Merge branch", ONE_TWO, parents=2),
        past("c1", "Add\n\nAssisted-by: claude", ONE_TWO),
    ]
    assert level(history) is Level.NONE
    history.approve(statement(ONE_TWO))
    assert level(history) is Level.SIGNED


# Commits that name no agent where a run was at work.

RUN = StepOf("r1", "s1")


@each("before", [b"one\n", None])
def test_a_squash_without_the_line_is_the_runs_all_the_same(before: bytes | None) -> None:
    history, there = one_file(before), change("f", before, b"two\n")
    history.past = [past("c1", "Squashed", there)]
    history.approve(statement(there, step=RUN, proof=ProofKind.TYPED), "")
    assert level(history) is Level.TYPED
    assert "commit c1 names no agent, but run r1 made these bytes" in why(history, Mode.AGENTS)
    history.approve(statement(there, step=RUN))
    assert examined(history, Mode.AGENTS).document.covered


@each("key", [ALICE, MALLORY, ""])
@each("before", [b"one\n", None])
def test_one_byte_more_in_a_squash_is_red(key: str, before: bytes | None) -> None:
    """In two steps, whose notes hang on blobs that are in neither tree."""
    history = one_file(before, b"two!\n")
    history.past = [past("c1", "Squashed", change("f", before, b"two!\n"))]
    history.approve(statement(change("f", before, b"x\n"), step=RUN), key)
    history.approve(statement(change("f", b"x\n", b"two\n"), step=RUN), key)
    assert not examined(history, Mode.AGENTS).document.covered
    assert "run r1 changed this file from the same bytes to others: approve these" in why(
        history, Mode.AGENTS
    )
    assert level(history) is Level.NONE


BINARY = "diff --git a/f b/f\nindex 0..1 100644\nGIT binary patch\nliteral 1\nIcmZPo00001\n"


@each(
    ("added", "words", "found"),
    [
        (b"import os\nos.remove(name)\nmore\n", "", Level.NONE),
        (b"  os.remove(name)\n", "", Level.NONE),  # most of it
        (b"import os\n", "", Level.UNASSISTED),
        (b"import os\nos.remove(name)\n", "nonsense", Level.UNASSISTED),
        (b"import os\nos.remove(name)\n", BINARY, Level.UNASSISTED),
    ],
)
def test_lines_of_a_run_in_a_file_that_changed_since(added: bytes, words: str, found: Level) -> None:
    old, now = b"one\n", b"zero\none\n"
    made = b"one\nimport os\nos.remove(name)\n"
    history = one_file(now, now + added)
    history.past = [past("c1", "Squashed", change("f", now, now + added))]
    history.approve(statement(change("f", old, made), step=RUN, diff=words or diff("f", old, made)), "")
    assert level(history) is found
    if found is Level.NONE:
        assert "has lines that run r1 wrote" in why(history, Mode.AGENTS)
        # Somebody brought them before, so this is somebody who goes on.
        history.before = [change("f", old, made)]
        history.data |= {stored(one).blob: one for one in (old, made)}
        assert level(history) is Level.UNASSISTED


def test_what_a_person_signs_stays_their_own() -> None:
    history, commit = one_file(), past("c1", "Mine", ONE_TWO)
    history.past = [commit._replace(signature=PastKeys().sign(ALICE, commit.payload.decode()).signature)]
    history.approve(statement(change("f", b"one\n", b"x\n"), step=RUN))
    assert level(history) is Level.SIGNED


def test_a_person_goes_on_from_what_a_run_made() -> None:
    history = one_file(b"x\n")
    history.past = [past("c1", "Mine", change("f", b"x\n", b"two\n"))]
    history.approve(statement(change("f", b"one\n", b"x\n"), step=RUN))
    assert level(history) is Level.UNASSISTED


@each("where", ["base", "range"])
def test_a_person_changed_the_same_bytes_beside_a_run(where: str) -> None:
    """What the run made is there, so this is something else."""
    history, made = one_file(), change("f", b"one\n", b"x\n")
    history.approve(statement(made, step=RUN))
    history.past = [past("c1", "Mine", ONE_TWO)]
    assert level(history) is Level.NONE
    if where == "base":
        history.before = [made]
    else:
        history.past.append(past("c0", "Squashed", made))
    assert level(history) is Level.UNASSISTED


def test_an_approval_that_is_no_runs_says_nothing_about_a_commit() -> None:
    history = one_file()
    history.past = [past("c1", "Mine", ONE_TWO)]
    history.approve(statement(change("f", b"one\n", b"x\n")))
    history.approve(statement(change("f", b"one\n", b"y\n"), step=RUN, act=SignedAct.UNDO))
    history.approve(statement(change("g", b"one\n", b"x\n"), step=RUN))
    assert examined(history, Mode.AGENTS).document.covered


_STATES = st.sampled_from([None, b"one\n", b"x\n", b"y\n", b"two\n"])
_MOVES = st.lists(st.tuples(_STATES, _STATES).filter(lambda pair: pair[0] != pair[1]), max_size=5)


@given(
    commits=_MOVES,
    notes=_MOVES,
    more=_MOVES,
    base=_MOVES,
    key=st.sampled_from([MALLORY, ""]),
    run=st.booleans(),
)
def test_notes_that_prove_nothing_never_raise_a_level(
    commits: Moves, notes: Moves, more: Moves, base: Moves, key: str, run: bool
) -> None:
    history = one_file()
    history.past = [past(f"c{number}", "x", change("f", *pair)) for number, pair in enumerate(commits)]
    history.before = [change("f", *pair) for pair in base]
    for pair in notes:
        history.approve(statement(change("f", *pair), step=RUN))
    first = level(history)
    for pair in more:
        history.approve(statement(change("f", *pair), step=RUN if run else None), key)
    assert at_least(first, level(history))


def test_a_typed_approval_of_exactly_this_is_called_typed() -> None:
    """The commit is the stronger link, and the approval is not of other bytes."""
    history = one_file(None)
    there = change("f", None, b"two\n")
    history.past = [past("c1", "Mine", there)]
    history.approve(statement(there, proof=ProofKind.TYPED), "")
    told = why(history)
    assert "alice typed the approval" in told
    assert "replace" not in told


def test_bytes_that_were_approved_as_a_new_file() -> None:
    history = one_file()
    history.approve(statement(change("f", None, b"two\n")))
    there = stored(b"one\n").blob[:7]
    assert f"in place of no file, and here they replace {there}" in why(history)


# Replayed.

OLD = b"".join(b"%d\n" % number for number in range(60))
NEW_TEN = OLD.replace(b"\n10\n", b"\nten\n")


def rebased(base: bytes, head: bytes) -> MemoryHistory:
    history = one_file(base, head)
    said = statement(change("f", OLD, NEW_TEN), diff=diff("f", OLD, NEW_TEN))
    history.approve(said)
    return history


def test_an_approved_diff_on_another_base() -> None:
    moved = b"new first line\n" + OLD
    history = rebased(moved, moved.replace(b"\n10\n", b"\nten\n"))
    found = examined(history, Mode.STRICT).document
    [file] = found.files
    assert (found.covered, file.level, [one.replayed for one in file.chain]) == (True, Level.SIGNED, [True])
    assert "all" in history.read


def test_one_byte_more_is_not_replayed() -> None:
    moved = b"new first line\n" + OLD
    assert level(rebased(moved, moved.replace(b"\n10\n", b"\nten!\n"))) is Level.NONE


def test_lines_beside_the_approved_ones_changed() -> None:
    """A rebase merges that; the diff alone would not apply."""
    other = OLD.replace(b"\n8\n", b"\neight\n")
    history = rebased(other, other.replace(b"\n10\n", b"\nten\n"))
    assert level(history) is Level.NONE
    history.data[stored(OLD).blob] = OLD
    assert level(history) is Level.SIGNED


def test_a_diff_that_fits_at_two_places_is_not_replayed() -> None:
    twice = b"first\n" + OLD + OLD
    assert level(rebased(twice, twice.replace(b"\n10\n", b"\nten\n", 1))) is Level.NONE


def test_several_diffs_in_order_of_time_and_what_does_not_belong_is_left_out() -> None:
    then = NEW_TEN.replace(b"\n40\n", b"\nforty\n")
    foreign = OLD.replace(b"\n50\n", b"\nfifty\n")
    moved = b"new first line\n" + OLD
    history = one_file(moved, b"new first line\n" + then)
    times = [f"2026-01-0{day}T00:00:00.000000Z" for day in (1, 2, 3)]
    history.approve(statement(change("f", NEW_TEN, then), diff=diff("f", NEW_TEN, then), at=times[1]))
    history.approve(statement(change("f", OLD, NEW_TEN), diff=diff("f", OLD, NEW_TEN), at=times[0]))
    history.approve(statement(change("f", OLD, foreign), diff=diff("f", OLD, foreign), at=times[2]))
    found = examined(history).document.files[0]
    assert (found.level, [one.at for one in found.chain]) == (Level.SIGNED, times[:2])


def test_a_replay_is_as_weak_as_what_is_replayed() -> None:
    moved = b"new first line\n" + OLD
    history = one_file(moved, moved.replace(b"\n10\n", b"\nten\n"))
    typed = statement(change("f", OLD, NEW_TEN), diff=diff("f", OLD, NEW_TEN), proof=ProofKind.TYPED)
    history.approve(typed, "")
    assert level(history) is Level.TYPED


def test_commit_by_commit_with_a_persons_commit_between() -> None:
    moved = b"new first line\n" + OLD
    first = moved.replace(b"\n10\n", b"\nten\n")
    persons = first.replace(b"\n20\n", b"\ntwenty\n")
    history = one_file(moved, persons)
    history.approve(statement(change("f", OLD, NEW_TEN), diff=diff("f", OLD, NEW_TEN)))
    history.past = [
        past("c2", "Mine", change("f", first, persons)),
        past("c1", "x\n\nAssisted-by: claude", change("f", moved, first)),
    ]
    assert level(history) is Level.UNASSISTED
    assert examined(history, Mode.AGENTS).document.covered


def test_only_the_newest_approvals_are_replayed() -> None:
    moved = b"new first line\n" + OLD
    history = rebased(moved, moved.replace(b"\n10\n", b"\nten\n"))
    for number in range(MOST):
        other = OLD.replace(b"\n50\n", b"\n%d fifty\n" % number)
        later = f"2026-01-03T00:00:{number:02}.000000Z"
        history.approve(statement(change("f", OLD, other), diff=diff("f", OLD, other), at=later))
    assert level(history) is Level.NONE


def test_an_approval_without_a_diff_is_not_replayed() -> None:
    moved = b"new first line\n" + OLD
    history = one_file(moved, moved.replace(b"\n10\n", b"\nten\n"))
    said = statement(change("f", OLD, NEW_TEN))
    assert said.predicate.diff is UNSET
    history.approve(said)
    assert level(history) is Level.NONE
