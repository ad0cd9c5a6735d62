"""Comments that try to decide or answer something and do not: the author is told once, and how to do it."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ringi.forges.answers import parse_comment
from ringi.forges.document import mark_line, own_lines
from ringi.forges.listen import Spoken, Verb
from ringi.forges.markdown import escape
from ringi.forges.progress import LONGEST
from ringi.forges.watch_project import ProjectWatch, WatchTarget
from ringi.kernel.text import Text, in_language, lazy_pattern, visible

_TRIES: Final = lazy_pattern(r"/ringi\s+(?:approve|reject)\b", re.IGNORECASE)
_ANSWERS: Final = lazy_pattern(r"/ringi\s+(?:answer|skip)\b", re.IGNORECASE)
_SHOWN: Final = 60
_NOTES: Final = 5


def explain_misread(said: Spoken, asked: Sequence[str] = ()) -> Text | None:
    """What to say about it; None if it is understood, or only words. `asked`: what is open now."""
    command = said.command
    if said.comment is None or (command and command.verb is not Verb.OTHER):
        return None
    # If there is nothing but code, the code may be meant.
    lines = [*filter(str.strip, own_lines(said.body))] or _strip_quotes(said.body)
    tried = next(filter(_TRIES.search, lines), "")
    answering = _ANSWERS.match(said.body.strip()) is not None
    if not tried and command and not answering:
        tried = lines[0]
    if tried:
        return Text(
            "not understood: {words} (by @{login}). To approve, begin a comment with a line of only "
            "/ringi approve and the digits, 12 or more; to send back, begin it with /ringi reject and what "
            "should be different. Never both in one comment.",
            words=_shorten(tried), login=said.author.login,
        )  # fmt: skip
    given = [one.to for one in parse_comment(said.comment)]
    if asked and (given or answering) and not any(one in asked or _is_early(one, asked) for one in given):
        return Text(
            "not understood: {words} (by @{login}). What is asked now is answered by a line that begins "
            "with {label}",
            words=_shorten(lines[0]), login=said.author.login, label=_label(asked[0]),
        )  # fmt: skip
    return None


def tell(watch: ProjectWatch, about: WatchTarget, found: Iterable[tuple[Spoken, Text]]) -> Sequence[str]:
    """Here, each once; lines for the progress comment with those that are new."""
    return format_notes(
        about, [(said, words) for said, words in found if watch.ignore(about.id, said, words, "unclear")]
    )


def format_notes(about: WatchTarget, found: Sequence[tuple[Spoken, Text]]) -> Sequence[str]:
    say = in_language(about.language)
    return [escape(say(words)) for _, words in found[-_NOTES:]]


def add_to_progress(watch: ProjectWatch, about: WatchTarget, lines: Sequence[str]) -> None:
    """Below what the comment says now. Raises ForgeFailed."""
    if not lines or not about.terms.comments or not about.terms.item:
        return
    end = mark_line(about.mark)
    for said in watch.listener.comments(about.terms.item):
        body = said.body.rstrip()
        if watch.listener.is_ours(said) and body.endswith(end):
            whole = "\n\n".join([body.removesuffix(end).rstrip(), *lines])
            if len(whole) <= LONGEST * 1.05:
                watch.host.items.write(about.terms.item, about.mark, watch.workspace.mask(whole))
            return


def _label(asked: str) -> str:
    return asked.removeprefix("q").replace("-", "") + "."


def _is_early(to: str, asked: Sequence[str]) -> bool:
    """A decision is asked for after the questions: its answer waits."""
    return to.startswith("d-") and asked[0].startswith("q-")


def _strip_quotes(body: str) -> list[str]:
    lines = filter(str.strip, body.splitlines())
    return [one for one in lines if not one.lstrip().startswith((">", "```", "~~~"))]


def _shorten(line: str) -> str:
    shown = visible(line.strip(), keep="")
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
