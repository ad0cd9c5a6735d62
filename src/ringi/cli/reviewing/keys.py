"""What each key does."""

from collections.abc import Callable, Mapping
from typing import Final

from ringi.cli.ask import FAILED, is_yes
from ringi.cli.reviewing import editing
from ringi.cli.reviewing.acts import reject, to_type, update
from ringi.cli.reviewing.beside import overlaps_of, preview_of
from ringi.cli.reviewing.ends import End
from ringi.cli.reviewing.loading import delta_parts
from ringi.cli.reviewing.model import Model, Page, Place, fold, step, to_hunk, to_part
from ringi.cli.reviewing.pages import help_page, info_page
from ringi.cli.reviewing.rows import LINES, Kind, Row
from ringi.cli.reviewing.session import GONE, WAIT, Session
from ringi.domain.feedback import Side
from ringi.domain.plan import ActionSpecExt, PlanStatus, risk_of
from ringi.errors import (
    BadTransition,
    LostRace,
    NotRequested,
    NotTaken,
    PlanChanged,
    RingiError,
    Stale,
    Superseded,
)
from ringi.text import Text

Act = Callable[[Session], End | None]
_PAGE: Final = 10
_SIDEWAYS: Final = 16


def press(session: Session, key: str) -> End | None:
    """Does what the key says; answers how the review ended, if it did."""
    model = session.model
    if key in GONE:
        return End.LEFT if key == "eof" else End.INTERRUPTED
    if session.deaf.swallows(key):
        return None
    if key == "ctrl-z":
        session.terminal.suspend_self()
    elif model.page is not None:
        _turn(model, model.page, key)
    elif _moved(session, key):
        pass
    elif key in ACTS:
        return _done(session, ACTS[key])
    return None


def _done(session: Session, act: Act) -> End | None:
    """What was decided elsewhere meanwhile is not decided here; what was not on the screen is shown first."""
    session.model.message = None
    if session.review.document.state.status is PlanStatus.COMPLETED and act not in _AFTERWARDS:
        session.say(Text("{plan} was carried out already.", plan=session.review.name))
        return None
    try:
        return act(session)
    except BadTransition:
        return End.ELSEWHERE
    except Superseded:
        raise
    except (PlanChanged, LostRace, NotRequested) as error:
        session.review.look()
        session.show_again()
        session.fail(error)
    except (Stale, NotTaken) as error:
        session.review.look()
        session.show_again(anew=True)
        session.fail(error)
    except RingiError as error:
        session.fail(error)
    return None


def _turn(model: Model, page: Page, key: str) -> None:
    steps = {
        "j": 1, "down": 1, "k": -1, "up": -1, "pgdn": _PAGE, " ": _PAGE, "pgup": -_PAGE,
        "home": -len(page.lines) ** 2, "end": len(page.lines) ** 2,
    }  # fmt: skip
    if key in steps:
        model.page_top += steps[key]
    elif key in {"q", "esc", "enter", "i", "?"}:
        model.page, model.page_top = None, 0


def _moved(session: Session, key: str) -> bool:
    model = session.model
    page = max(1, session.terminal.size.rows - _PAGE // 2)
    steps = {"j": 1, "down": 1, "k": -1, "up": -1, "pgdn": page, " ": page, "pgup": -page}
    model.reach = 0
    if key in steps:
        model.cursor = step(model, model.cursor, steps[key])
    elif key in {"home", "g"}:
        model.cursor, model.left = Place(0, 0), 0
    elif key in {"end", "G"}:
        last = len(model.shown) - 1
        model.cursor = Place(last, model.rows_of(last) - 1)
    elif key in {"left", "right"}:
        model.left = max(0, model.left + (_SIDEWAYS if key == "right" else -_SIDEWAYS))
    elif key in {"n", "p"}:
        to_hunk(model, 1 if key == "n" else -1)
    elif key in {"N", "tab", "P", "backtab"}:
        to_part(model, 1 if key in {"N", "tab"} else -1)
    elif key == "enter":
        fold(model)
    else:
        return False
    return True


def _spec(session: Session) -> ActionSpecExt | None:
    """The one under the cursor, where it can be changed."""
    model, specs = session.model, session.review.specs()
    if model.delta is not None:
        session.say(Text("This is only what changed; [t] shows all of it again."))
        return None
    if not specs:
        session.say(Text("It is only a text; there is nothing to change in it."))
        return None
    return specs[model.cursor.part]


def _drop_hunk(session: Session) -> End | None:
    spec, model = _spec(session), session.model
    if spec is None:
        return None
    hunk = 0 if model.part.key in model.folded else model.part.hunk_at(model.cursor.row)
    if not hunk:
        session.say(Text("There is no hunk under the cursor; [D] drops the whole of it."))
        return None
    risk = risk_of(session.review.document)
    session.changed(session.review.drop_hunk(spec, hunk), risk)
    return None


def _drop(session: Session) -> End | None:
    if (spec := _spec(session)) is not None:
        risk = risk_of(session.review.document)
        session.changed(session.review.drop(spec), risk)
    return None


def _line(session: Session, kinds: frozenset[Kind]) -> tuple[ActionSpecExt, Row, bytes] | None:
    """The line under the cursor, with the whole file that it stands in."""
    spec, model = _spec(session), session.model
    if spec is None:
        return None
    row, new = model.row, model.part.content.new
    if model.part.key in model.folded or row.kind not in kinds:
        session.refuse(Text("The cursor is on no line that can be edited."))
    elif new is None:
        session.refuse(Text("It can only be dropped whole."))
    elif len(row.data) > editing.LONGEST_LINE:
        session.refuse(Text("The line is too long to be edited here; [E] opens your editor."))
    else:
        return spec, row, new
    return None


def _edit(session: Session) -> End | None:
    found = _line(session, LINES - {Kind.REMOVED})
    if found is None:
        return None
    spec, row, new = found
    before = editing.line_text(row)
    text = session.ask_line(Text("Line {line}:", line=row.new), start=before)
    if text is not None and text != before:
        _rewrite(session, spec, editing.replaced(new, row, text))
    return None


def _add(session: Session) -> End | None:
    found = _line(session, LINES)
    if found is None:
        return None
    spec, row, new = found
    text = session.ask_line(Text("A new line {line}:", line=row.new + 1))
    if text is not None:
        _rewrite(session, spec, editing.added_below(new, row, text))
    return None


def _delete(session: Session) -> End | None:
    found = _line(session, LINES)
    if found is not None:
        spec, row, new = found
        _rewrite(session, spec, editing.without(new, row))
    return None


def _rewrite(session: Session, spec: ActionSpecExt, new: bytes) -> None:
    risk = risk_of(session.review.document)
    session.changed(session.review.rewrite(spec, new), risk)


def _in_editor(session: Session) -> End | None:
    spec, new = _spec(session), session.model.part.content.new
    if spec is None:
        return None
    if new is None:
        session.say(Text("It can only be dropped whole."))
        return None
    with session.terminal.suspended():
        made, code = editing.in_editor(spec.base.path, new, session.app.environment)
    if code:
        session.say(Text("The editor ended with exit code {code}; nothing was changed.", code=code), "yellow")
    elif made == new:
        session.say(Text("Nothing was changed."))
    else:
        with editing.kept(spec.base.path, made):
            _rewrite(session, spec, made)
    return None


def _comment(session: Session) -> End | None:
    spec, model = _spec(session), session.model
    if spec is None:
        return None
    row = model.row
    if model.part.key in model.folded or row.kind not in LINES:
        session.refuse(Text("The cursor is on no line; comments are about lines."))
        return None
    side, line = (Side.OLD, row.old) if row.kind is Kind.REMOVED else (Side.NEW, row.new)
    path = _path_of(spec, side)
    text = session.ask_line(Text("Your comment on {path}:{line}", path=path, line=line))
    if text and text.strip():
        session.review.comment(path, line, text.strip(), side)
        session.show_again()
        session.say(Text("Noted; it goes to the proposer with your answer."))
    return None


def _path_of(spec: ActionSpecExt, side: Side) -> str:
    """Where the line stands: a renamed file's old lines have the old name."""
    if side is Side.OLD and spec.before is None and spec.also:
        return spec.also[0].path
    return spec.base.path


def _apply(session: Session) -> End | None:
    review = session.review
    if review.document.state.status is PlanStatus.APPROVED:
        question = Text("{plan} is approved already. Carry it out now? [y/n]", plan=review.name)
        return End.APPLY if is_yes(session.ask_key(question)) else None
    return _approved(session, "", End.APPLY)


def _approve_with_note(session: Session) -> End | None:
    if _waits_for_checks(session):
        return None
    note = session.ask_line(Text("Your note on the approval:"))
    if not (note and note.strip()):
        session.say(Text("Nothing was approved."))
        return None
    return _approved(session, note.strip(), End.APPROVED)


def _waits_for_checks(session: Session) -> bool:
    if session.checking is not None:
        session.model.message = WAIT
    return session.checking is not None


def _approved(session: Session, note: str, end: End) -> End | None:
    review = session.review
    if _waits_for_checks(session):
        return None
    failed = any(result.exit_code for result in review.document.state.checks)
    if failed and not is_yes(session.ask_key(FAILED)):
        session.say(Text("Nothing was approved."))
        return None
    asked = review.ask()
    if asked is None:
        return end
    typed, wanted = "a", to_type(review.document, asked)
    if wanted is not None:
        digest = Text("What you approve is sha256 {digest}", digest=asked.digest)
        question = Text("HIGH risk. To apply it, type {wanted}:", wanted=wanted)
        typed = session.ask_line(question, above=[digest]) or ""
        if typed.strip() != wanted:
            session.say(Text("That was not it; nothing was approved."), "yellow")
            return None
        typed = wanted
    review.approve(asked, typed, note)
    return end


def _reject(session: Session) -> End | None:
    feedback = (session.ask_line(Text("What should the proposer change?")) or "").strip()
    if not feedback:
        session.say(Text("A reject needs a word of feedback; nothing was decided."), "yellow")
        return None
    reject(session.review, feedback)
    return End.REJECTED


def _back_or_update(session: Session) -> End | None:
    review, risk = session.review, risk_of(session.review.document)
    if session.model.stale and not review.document.change:
        words = update(review)
        session.show_again(anew=True)
        session.say(words, "yellow")
    elif review.can_take_back:
        session.changed(review.take_back(), risk)
    else:
        session.say(Text("There is no change of yours to take back."))
    return None


def _since_approved(session: Session) -> End | None:
    if session.model.delta is not None:
        session.model.show_delta(None)
        return None
    found = session.review.tool.delta(session.review.plan_id)
    if found is None:
        session.say(Text("No version of it was approved before."))
    elif not found.differences:
        session.say(
            Text("Nothing changed since version {version}, which was approved.", version=found.version)
        )
    else:
        session.model.show_delta(delta_parts(found))
    return None


def _info(session: Session) -> End | None:
    review = session.review
    if session.overlaps is None:
        session.overlaps = overlaps_of(session.app, review.document)
    preview = preview_of(review.document, session.model.parts, session.overlaps)
    session.model.page = info_page(session.app, review.ref, review.document, preview)
    return None


def _help(session: Session) -> End | None:
    session.model.page = help_page()
    return None


def _show(session: Session) -> End | None:
    session.review.look()
    session.show_again(anew=True)
    return None


def _stop(session: Session) -> End | None:
    session.stop_checks()
    session.model.output = ()
    return None


def _undo(session: Session) -> End | None:
    if session.review.document.state.status is PlanStatus.COMPLETED and not session.review.ref.undone:
        return End.UNDO
    session.say(Text("It was not carried out; [u] takes back your last change."))
    return None


def _quit(_: Session) -> End:
    return End.LEFT


ACTS: Final[Mapping[str, Act]] = {
    "a": _apply,
    "m": _approve_with_note,
    "d": _drop_hunk,
    "D": _drop,
    "e": _edit,
    "o": _add,
    "x": _delete,
    "E": _in_editor,
    "c": _comment,
    "r": _reject,
    "u": _back_or_update,
    "t": _since_approved,
    "i": _info,
    "?": _help,
    "s": _show,
    "U": _undo,
    "esc": _stop,
    "q": _quit,
}
_AFTERWARDS: Final = frozenset([_since_approved, _info, _help, _show, _undo, _quit])
"""What can be done with a plan that was carried out."""
