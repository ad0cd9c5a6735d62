"""A review in a note proves nothing by itself; with the forge it proves what the person saw, and no more."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from ringi.approvals.document import ProofKind, SignedAct
from ringi.approvals.forge import ForgeKind, Item, ItemKind, ReviewHow, ReviewProof
from ringi.approvals.statement import InToto, PathChange, parse_envelope
from ringi.errors import ForgeBusy
from ringi.forges.document import Access, ChangeState, ReviewVerdict, approval_command
from ringi.forges.port import FileOnForge
from ringi.forges.witness import MOST, ForgeWitness
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.provenance.envelope import Grounds, judge
from ringi.provenance.verdict import Level, Mode
from ringi.provenance.verify_range import Asked, Findings, Signing, verify_range
from tests.fakes import forges
from tests.fakes.forges import BOB, PROJECT, RINGI, MemoryForge
from tests.fakes.past import NOW, ROOTS, MemoryHistory, PastKeys, change, envelope, statement, stored
from tests.tables import each

pytestmark = pytest.mark.req("PP-19", "PP-25")
BASE, ONE, TWO, LATER = "b" * 40, "1" * 40, "2" * 40, "3" * 40
NUMBER = 7
THERE = Item(ItemKind.CHANGE, NUMBER)
OLD, MIDDLE, NEW = b"one\n", b"one\nbetween\n", b"one\ntwo\n"
FIRST = (change("f", OLD, MIDDLE), change("a", None, b"a\n"))
SECOND = (change("f", MIDDLE, NEW),)
NET = {"f": change("f", OLD, NEW), "a": change("a", None, b"a\n")}
SEEN = "2026-01-02T03:00:00Z"


def tree(**files: bytes) -> dict[str, FileOnForge]:
    return {path: FileOnForge(*stored(data)) for path, data in files.items()}


class Truth(NamedTuple):
    """What is on the forge: one change of two commits, approved by alice."""

    forge: MemoryForge
    review: ReviewProof

    def first(self, **changes: object) -> ReviewProof:
        return replace(self.review, **{"step_commit": ONE, **changes})

    def second(self, **changes: object) -> ReviewProof:
        return replace(self.review, **{"step_commit": TWO, **changes})

    @property
    def witness(self) -> ForgeWitness:
        return ForgeWitness(PROJECT, lambda _: self.forge.host)


def truth() -> Truth:
    forge = MemoryForge()
    forge.trees = {
        BASE: tree(f=OLD, other=b"o\n"),
        ONE: tree(f=MIDDLE, other=b"o\n", a=b"a\n"),
        TWO: tree(f=NEW, other=b"o\n", a=b"a\n"),
        LATER: tree(f=b"later\n", other=b"o\n", a=b"a\n"),
    }
    forge.before = {ONE: (BASE,), TWO: (ONE,), LATER: (TWO,), BASE: ()}
    forge.opens(NUMBER, "aiflow/x", [ONE, TWO])
    found = forge.reviews_it(NUMBER, TWO, at=SEEN)
    review = ReviewProof(
        project=PROJECT, item=THERE, how=ReviewHow.REVIEW, id=found.id, login="alice", commit=TWO,
        base="main", at=SEEN, url=found.url,
    )  # fmt: skip
    return Truth(forge, review)


def note(review: ReviewProof | None, *steps: PathChange, **more: object) -> InToto:
    approver = str(more.pop("approver", review.account if review else "alice"))
    diff = str(more.pop("diff", ""))
    made = statement(*steps, proof=ProofKind.REVIEW, approver=approver, diff=diff)
    return replace(made, predicate=replace(made.predicate, review=review or UNSET, **more))


def grounds(witness: ForgeWitness | None) -> Grounds:
    return Grounds(PastKeys(), (), frozenset(ROOTS), begins=False, now=NOW, reviews=witness)


def level(said: InToto, witness: ForgeWitness | None) -> Level:
    return judge(parse_envelope(envelope(said, "")), grounds(witness)).evidence.level


def why(said: InToto, witness: ForgeWitness | None) -> str:
    return str(judge(parse_envelope(envelope(said, "")), grounds(witness)).why)


def test_the_forge_confirms_what_is_there_and_without_it_a_note_is_only_typed():
    one = truth()
    for said in (note(one.first(), *FIRST), note(one.second(), *SECOND)):
        assert level(said, one.witness) is Level.CONFIRMED
        assert level(said, None) is Level.TYPED
    given = judge(
        parse_envelope(envelope(note(one.first(at="2099-01-01T00:00:00Z", url="x"), *FIRST), "")),
        grounds(one.witness),
    )
    assert (given.evidence.by, given.evidence.at) == ("alice@forge.example", SEEN)
    assert given.evidence.review == one.review.url
    assert given.net == NET


LIES = {
    "another project": {"project": replace(PROJECT, path="eve/app")},
    "another host": {"project": replace(PROJECT, base_url="https://evil.example")},
    "another kind": {"project": replace(PROJECT, kind=ForgeKind.GITLAB)},
    "another change": {"item": Item(ItemKind.CHANGE, 8)},
    "an issue": {"item": Item(ItemKind.ISSUE, NUMBER)},
    "no number": {"item": Item(ItemKind.CHANGE, 0)},
    "another review": {"id": "4242"},
    "a path as an id": {"id": "../../../user"},
    "another person": {"login": "bob"},
    "another commit": {"commit": ONE},
    "a later commit": {"commit": LATER},
    "no commit": {"commit": ""},
    "no step": {"step_commit": ""},
    "another step": {"step_commit": TWO},
    "a step that is not there": {"step_commit": LATER},
    "the base as a step": {"step_commit": BASE},
    "another base": {"base": "hide"},
    "no base": {"base": ""},
    "a comment": {"how": ReviewHow.COMMENT},
    "an option as a commit": {"commit": "--upload-pack=x"},
}


@each("lie", LIES)
def test_a_lie_counts_for_nothing(lie: str):
    one = truth()
    said = note(one.first(**LIES[lie]), *FIRST)
    assert level(said, one.witness) is Level.NONE
    if lie in {"another project", "another host", "another kind", "a path as an id", "an option as a commit"}:
        assert one.forge.asked == []


@each(
    "steps",
    [
        (change("f", OLD, NEW),),
        (change("f", b"fixed since\n", MIDDLE),),
        (change("f", OLD, b"evil\n"),),
        (change("f", OLD, MIDDLE, mode="100755"),),
        (change("other", b"o\n", None),),
        (change("evil", None, b"evil\n"),),
        (*FIRST, change("evil", None, b"evil\n")),
    ],
)
def test_other_files_than_those_of_the_commit_do_not_count(steps: tuple[PathChange, ...]):
    one = truth()
    assert level(note(one.first(), *steps), one.witness) is Level.NONE
    assert "is not changed like that" in why(note(one.first(), *steps), one.witness)


@each(
    ("says", "because"),
    [
        ({"approver": "bob@forge.example"}, "does not say what its review says"),
        ({"act": SignedAct.UNDO}, "does not say what its review says"),
        ({"repository": ("9" * 40,)}, "another repository"),
        ({"at": "2099-01-01T00:00:00Z"}, "in the future"),
    ],
)
def test_a_statement_that_contradicts_its_review(says: dict[str, object], because: str):
    one = truth()
    for witness in (one.witness, None):
        assert because in why(note(one.first(), *FIRST, **says), witness)
    assert "does not say where" in why(note(None, *FIRST), one.witness)


def test_what_happened_on_the_forge_since():
    def confirmed(**changes: object) -> Level:
        one = truth()
        for name, value in changes.items():
            getattr(one.forge, name)(*value) if callable(getattr(one.forge, name)) else setattr(
                one.forge, name, value
            )
        return level(note(one.first(), *FIRST), one.witness)

    assert confirmed() is Level.CONFIRMED
    assert confirmed(members={"bob": Access.WRITE}) is Level.NONE
    assert confirmed(own=forges.ALICE) is Level.CONFIRMED  # whoever verifies may be the reviewer
    one = truth()
    one.forge.edits(NUMBER, state=ChangeState.MERGED)
    assert level(note(one.first(), *FIRST), one.witness) is Level.CONFIRMED
    for changes in (
        {"state": ChangeState.CLOSED},
        {"author": forges.ALICE},
        {"base_branch": "hide"},
    ):
        one = truth()
        one.forge.edits(NUMBER, **changes)
        assert level(note(one.first(), *FIRST), one.witness) is Level.NONE
    for moved, found in (("2000-01-01T00:00:00Z", Level.CONFIRMED), (SEEN, Level.NONE)):
        assert confirmed(retargeted=moved) is found
    for verdict in (ReviewVerdict.DISMISSED, ReviewVerdict.COMMENTED, ReviewVerdict.CHANGES_REQUESTED):
        one = truth()
        one.forge.given[NUMBER][0] = one.forge.given[NUMBER][0]._replace(verdict=verdict)
        assert level(note(one.first(), *FIRST), one.witness) is Level.NONE
    one = truth()
    one.forge.reviews_it(NUMBER, TWO, BOB, verdict=ReviewVerdict.CHANGES_REQUESTED)
    assert "bob asks for changes" in why(note(one.first(), *FIRST), one.witness)


def test_commits_that_do_not_follow_one_another():
    for before in ({TWO: (ONE, BASE)}, {TWO: (BASE,)}, {ONE: ()}, {ONE: (BASE, LATER)}):
        one = truth()
        one.forge.before |= before
        assert level(note(one.first(), *FIRST), one.witness) is Level.NONE
    one = truth()
    one.forge.listed[NUMBER] = [ONE]
    assert level(note(one.first(), *FIRST), one.witness) is Level.NONE


def test_the_list_of_commits_has_to_be_their_row():
    one = truth()
    one.forge.before |= {TWO: (LATER,), LATER: (BASE,)}
    assert level(note(one.second(), change("f", b"later\n", NEW)), one.witness) is Level.NONE


def test_the_way_back_was_not_approved():
    one = truth()
    back = (change("f", NEW, OLD), change("a", b"a\n", None))
    assert level(note(one.first(step_commit=BASE), *back), one.witness) is Level.NONE


def test_a_push_after_the_review_changes_nothing_of_it():
    one = truth()
    one.forge.listed[NUMBER] = [ONE, TWO, LATER]
    one.forge.edits(NUMBER, head_commit=LATER)
    given = judge(parse_envelope(envelope(note(one.first(), *FIRST), "")), grounds(one.witness))
    assert (given.evidence.level, given.net) == (Level.CONFIRMED, NET)


@each(("digits", "expected"), [(TWO, Level.CONFIRMED), (TWO[:12], Level.TYPED), ("0" * 64, Level.TYPED)])
def test_a_comment_has_to_name_the_whole_commit(digits: str, expected: Level):
    """Twelve digits of a commit can be found again by whoever may push."""
    one = truth()
    said = one.forge.comments_on(THERE, approval_command(digits), created_at=SEEN, updated_at=SEEN)
    proof = one.first(how=ReviewHow.COMMENT, id=said.id)
    assert level(note(proof, *FIRST), one.witness) is expected


def test_a_forge_that_fails_is_an_error_and_no_answer():
    one = truth()
    one.forge.failing = {"change": ForgeBusy(host="forge.example", why="503")}
    with pytest.raises(ForgeBusy):
        level(note(one.first(), *FIRST), one.witness)


def test_each_review_is_looked_up_once_and_not_any_number_of_them():
    one = truth()
    witness = one.witness
    for _ in range(3):
        assert level(note(one.first(), *FIRST), witness) is Level.CONFIRMED
        assert level(note(one.second(), *SECOND), witness) is Level.CONFIRMED
    assert one.forge.asked.count("change") == 1
    for number in range(MOST + 20):
        assert level(note(one.first(id=f"x{number}"), *FIRST), witness) is Level.NONE
    assert one.forge.asked.count("reviews") == MOST + 1  # the first one also for objections


# In a range.


def examined(history: MemoryHistory, witness: ForgeWitness | None, mode: Mode = Mode.AGENTS) -> Findings:
    asked = Asked("range", "base..head", "base", "head", mode)
    return verify_range(history, asked, Signing(PastKeys(), None, NOW, witness, "the forge"))


def of_path(history: MemoryHistory, witness: ForgeWitness | None, path: str = "f") -> Level:
    return {one.path: one.level for one in examined(history, witness).document.files}[path]


def merged(f: bytes = NEW, a: bytes | None = b"a\n", before: bytes = OLD) -> MemoryHistory:
    """A clone in which the change was squashed."""
    head = {"f": stored(f), **({"a": stored(a)} if a is not None else {})}
    history = MemoryHistory({"f": stored(before)}, head)
    history.data |= {stored(data).blob: data for data in (OLD, before, f)}
    return history


def noted(history: MemoryHistory, one: Truth, **more: object) -> MemoryHistory:
    history.approve(note(one.first(), *FIRST, **more), "")
    history.approve(note(one.second(), *SECOND, **more), "")
    return history


def test_the_squashed_change_is_covered_as_the_person_saw_it():
    one = truth()
    told = examined(noted(merged(), one), one.witness).document
    assert told.covered
    assert {file.path: file.level for file in told.files} == {"f": Level.CONFIRMED, "a": Level.CONFIRMED}
    assert told.forge == "the forge"
    assert not examined(noted(merged(), one), None).document.covered
    assert not examined(noted(merged(), one), one.witness, Mode.STRICT).document.covered


def test_one_byte_more_is_not():
    one = truth()
    assert of_path(noted(merged(NEW + b"!"), one), one.witness) is Level.NONE


def test_what_a_commit_in_between_had_nobody_saw():
    """Somebody pushes two commits: the second takes back what the first brought."""
    one = truth()
    assert of_path(noted(merged(MIDDLE), one), one.witness) is Level.NONE
    assert "as a whole" in str(examined(noted(merged(MIDDLE), one), one.witness).why["f"])


def test_what_was_fixed_since_does_not_come_back():
    """The approved bytes again, in place of others than those that they were approved for."""
    one = truth()
    history = noted(merged(before=b"one\nfixed\n"), one)
    history.approve(note(one.second(), change("f", b"one\nfixed\n", NEW)), "")
    assert of_path(history, one.witness) is Level.NONE


def diff(before: bytes, after: bytes) -> str:
    return render_patch([FileDelta("f", FileSide(before, "100644"), FileSide(after, "100644"))]).decode()


def single() -> Truth:
    """One commit that changes one file."""
    one = truth()
    one.forge.trees[ONE] = tree(f=b"one\ntwo\nthree\n", other=b"o\n")
    one.forge.trees[BASE] = tree(f=b"one\ntwo\n", other=b"o\n")
    one.forge.opens(NUMBER, "aiflow/x", [ONE])
    one.forge.given.clear()
    one.forge.reviews_it(NUMBER, ONE, at=SEEN)
    return one._replace(review=replace(one.review, commit=ONE))


def rebased(words: str, after: bytes) -> tuple[MemoryHistory, Truth]:
    """The base got a line before those that were changed."""
    one, before = single(), b"zero\none\ntwo\n"
    history = MemoryHistory({"f": stored(before)}, {"f": stored(after)})
    history.data |= {stored(data).blob: data for data in (b"one\ntwo\n", before, after)}
    said = note(one.first(), change("f", b"one\ntwo\n", b"one\ntwo\nthree\n"), diff=words)
    history.approve(said, "")
    return history, one


def test_the_reviewed_diff_on_newer_bytes():
    history, one = rebased(diff(b"one\ntwo\n", b"one\ntwo\nthree\n"), b"zero\none\ntwo\nthree\n")
    assert of_path(history, one.witness) is Level.CONFIRMED
    assert of_path(history, None) is Level.TYPED


def test_a_diff_that_nobody_reviewed_is_not_applied():
    evil = b"zero\none\ntwo\nevil\n"
    for words in (diff(b"one\ntwo\n", b"one\ntwo\nevil\n"), diff(b"zero\none\ntwo\n", evil)):
        history, one = rebased(words, evil)
        assert of_path(history, one.witness) is Level.NONE


# Whatever is in a note.

_OIDS = st.sampled_from([BASE, ONE, TWO, LATER, "", "f" * 40])
_PROJECTS = st.sampled_from(
    [PROJECT, replace(PROJECT, path="eve/app"), replace(PROJECT, base_url="https://e.example")]
)
_ITEMS = st.builds(Item, st.sampled_from(ItemKind), st.sampled_from([NUMBER, 8]))
_REVIEWS = st.builds(
    ReviewProof,
    project=_PROJECTS,
    item=_ITEMS,
    how=st.sampled_from(ReviewHow),
    id=st.sampled_from(["1000", "1001", "5000", "5001", "x"]),
    login=st.sampled_from(["alice", "Alice", "bob", "ringi"]),
    commit=_OIDS,
    step_commit=_OIDS,
    at=st.just(SEEN),
    url=st.just(""),
)
_STEPS = st.lists(
    st.builds(
        change,
        st.sampled_from(["f", "a", "other", "evil"]),
        st.sampled_from([None, OLD, MIDDLE, NEW, b"a\n", b"o\n"]),
        st.sampled_from([None, OLD, MIDDLE, NEW, b"a\n", b"evil\n"]),
    ).filter(lambda step: step.before != step.after),
    min_size=1,
    max_size=3,
    unique_by=lambda step: step.path,
)


def crowded() -> Truth:
    """With more that is there and does not count."""
    one = truth()
    one.forge.reviews_it(NUMBER, ONE, BOB, at=SEEN)
    one.forge.comments_on(THERE, approval_command(TWO), created_at=SEEN, updated_at=SEEN)
    one.forge.comments_on(THERE, approval_command(ONE[:12]), BOB, created_at=SEEN, updated_at=SEEN)
    one.forge.opens(8, "eve", [LATER], RINGI)
    one.forge.reviews_it(8, LATER, BOB, verdict=ReviewVerdict.COMMENTED)
    return one


def really(review: ReviewProof, steps: list[PathChange]) -> bool:
    """What is on that forge, said independently of the code that asks it."""
    yes = {
        (ReviewHow.REVIEW, "1000", "alice", TWO),
        (ReviewHow.REVIEW, "1001", "bob", ONE),
        (ReviewHow.COMMENT, "5000", "alice", TWO),
    }
    if (review.how, review.id, review.login.lower(), review.commit) not in yes:
        return False
    if (review.project, review.item) != (PROJECT, THERE):
        return False
    within = {TWO: (ONE, TWO), ONE: (ONE,)}[review.commit]
    true = {ONE: {*FIRST}, TWO: {*SECOND}}
    return review.step_commit in within and all(
        step in true[review.step_commit] or (step.path == "other" and step.before == step.after)
        for step in steps
    )


@given(
    review=_REVIEWS, steps=_STEPS, approver=st.sampled_from(["", "alice@forge.example", "bob@forge.example"])
)
def test_nothing_is_reviewed_that_the_forge_does_not_confirm(
    review: ReviewProof, steps: list[PathChange], approver: str
):
    one = crowded()
    said = note(review, *steps, approver=approver or review.account)
    found = level(said, one.witness)
    agrees = not approver or approver == review.account
    assert (found is Level.CONFIRMED) == (agrees and really(review, steps))
    assert level(said, None) in {Level.TYPED, Level.NONE}


@given(st.sampled_from(ProofKind), st.sampled_from(["", "AAAA"]))
def test_only_that_kind_of_proof_is_a_review(proof: ProofKind, key: str):
    one = truth()
    made = note(one.first(), *FIRST)
    said = replace(made, predicate=replace(made.predicate, proof=proof))
    found = judge(parse_envelope(envelope(said, key)), grounds(one.witness)).evidence.level
    assert (found is Level.CONFIRMED) == (proof is ProofKind.REVIEW and not key)
