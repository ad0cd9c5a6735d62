"""What the agent reads: everything the person said, as data, and not too much of it."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.approvals.feedback import Feedback, FeedbackKind, LineComment, Side
from ringi.beside.message import message_of
from ringi.kernel.text import visible
from ringi.plans.document import Difference, OutcomeKind, PlanAnswer, PlanStatus, SpecDifference
from ringi.tree.check_result import CheckResult


def answer(**more: object) -> PlanAnswer:
    facts = {
        "plan_id": "id", "name": "p3", "version": 2, "status": PlanStatus.PENDING_REVIEW, "outcome": None
    }  # fmt: skip
    return PlanAnswer(**{**facts, **more})


def comment(text: str, at: str = "2") -> LineComment:
    return LineComment(at, "a/b.py", 7, Side.NEW, text, "\treturn  x", 2)


def test_nothing_was_said():
    text = message_of(answer(), ())
    assert "plan p3, version 2" in text
    assert "has not decided yet" in text
    assert "no further feedback" in text


def test_everything_in_its_place():
    changed = (
        SpecDifference("a", Difference.CHANGED, "-x\n+y\n"),
        SpecDifference("b", Difference.REMOVED, "-z\n"),
    )
    checks = (CheckResult("make test", 2, 1.0, "t", "one\nlast words\n"), CheckResult("ok", 0, 1.0, "t", ""))
    said = Feedback("2", "first\nsecond", FeedbackKind.DECLINED)
    text = message_of(answer(feedback=(said,), comments=(comment("say why"),), changed=changed), checks)
    assert "declined it" in text
    assert "> first\n> second" in text
    assert "a/b.py:7: say why\n    the line: return x" in text
    assert "- edited: a\n- dropped: b" in text
    assert "> -x\n> +y\n> -z" in text
    assert "exit code 2: make test\n> one\n> last words" in text
    assert "ok" not in text.split()


def test_what_was_told_is_not_told_again():
    told = answer(
        feedback=(Feedback("1", "old", FeedbackKind.DECLINED), Feedback("3", "new", FeedbackKind.AMENDED)),
        comments=(comment("earlier", "1"), comment("later", "3")),
        outcome=OutcomeKind.DECLINED,
    )
    text = message_of(told, (), since="2")
    assert "> new" in text
    assert "later" in text
    assert "earlier" not in text
    assert "> old" not in text
    assert "has not decided" in text


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_line_of_the_persons_passes_for_one_of_ours(said: str, quoted: str):
    plain = message_of(answer(), ())
    one = LineComment("2", "x", 1, Side.OLD, said, quoted, 1)
    text = message_of(answer(feedback=(Feedback("2", said, FeedbackKind.AMENDED),), comments=(one,)), ())
    ours = {"Their feedback:", "Comments on lines:", *plain.split("\n")}
    for line in text.split("\n"):
        assert line in ours or line.startswith(("> ", "x:1: ", "    the line (as it was")) or line == ">"


@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_it_is_never_long(diff: int, output: int):
    changed = (SpecDifference("a", Difference.CHANGED, "+line\n" * (diff // 6)),)
    text = message_of(answer(changed=changed), (CheckResult("c", 1, 1.0, "t", "x" * output),))
    assert len(text) < 30_000
    assert ("characters more" in text) is (len(changed[0].diff) - 1 > 12_000)


@given(st.text(max_size=40), st.text(max_size=40))
def test_it_can_be_a_word_of_a_command_line(words: str, printed: str):
    """Whatever a person typed or a check printed: no zero byte, no escape, nothing invisible."""
    said = Feedback("2", f"{words}\0\x1b[2J", FeedbackKind.DECLINED)
    failed = CheckResult("c\0", 1, 1.0, "t", f"\u202e{printed}\0")
    text = message_of(answer(feedback=(said,), comments=(comment(words + "\0"),)), (failed,))
    assert visible(text, keep="\n\t") == text
    assert "\\x00" in text
