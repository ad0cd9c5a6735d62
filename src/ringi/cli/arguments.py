"""What a person gives to a command: files to read, texts, ids to look for."""

import os
import re
import sys
from datetime import UTC, datetime
from gettext import gettext as _
from typing import Any, Final, TypeVar

import click

from ringi.cli.app import App
from ringi.errors import BadDocument, NotFound, TooLarge, Unreadable
from ringi.kernel import codec
from ringi.kernel.text import Text, visible
from ringi.ledger.subject import SESSION_PREFIX

T = TypeVar("T")
STDIN: Final = "-"
MOST_BYTES: Final = 256 * 1024 * 1024
LEAST: Final = 4
"""Fewer characters of an id could match anything."""


_SESSIONS: Final = "ringi status"
_SPAN: Final = re.compile(r"([1-9][0-9]{0,3})([hd])")
_SECONDS: Final = {"h": 3600, "d": 86400}
_DAY_ONLY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


class Moment(click.ParamType[str]):
    """A span, or a moment as text; a date without a time is the beginning of that day, or its end."""

    name = "DATE|7d"

    def __init__(self, *, end_of_day: bool = False) -> None:
        self._time = "T23:59:59+00:00" if end_of_day else "T00:00:00+00:00"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if _SPAN.fullmatch(value):
            return value
        text = value + self._time if _DAY_ONLY.fullmatch(value) else value
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            self.fail(_("{value} is not {form}").format(value=value, form=self.name), param, ctx)
        # Without a time zone it means UTC, as everywhere in the output.
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()


def span_of(moment: str) -> int | None:
    """In seconds; None if it is a moment."""
    span = _SPAN.fullmatch(moment)
    return int(span[1]) * _SECONDS[span[2]] if span else None


def text_of(given: str) -> str:
    """A dash means standard input, which must be text."""
    return read_named(STDIN).decode("utf-8", "surrogateescape") if given == STDIN else given


def read_named(name: str, *, most_bytes: int = MOST_BYTES) -> bytes:
    """A dash is standard input, which has no limit."""
    if name == STDIN:
        if sys.stdin is None:  # the parent process closed it
            raise Unreadable(what=Text("standard input"), why=Text("it is closed"))
        return sys.stdin.buffer.read()
    try:
        data = _bytes(name, most_bytes + 1)
    except FileNotFoundError:
        raise NotFound(what=Text("file"), name=name, see="ls") from None
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise Unreadable(what=name, why=why or str(error)) from None
    if len(data) > most_bytes:
        raise TooLarge(what=name, why=Text("it has more than {limit} bytes", limit=most_bytes))
    return data


def document_in(data: bytes, kind: type[T], name: str, schema: str) -> T:
    """What was read from the file of this name. Raises BadDocument with all that is wrong with it."""
    what = Text("standard input") if name == STDIN else name
    try:
        return codec.decode_foreign(data, kind, what)
    except BadDocument as error:
        from ringi.kernel.problems import faults, format_faults  # noqa: PLC0415  # only if something is wrong

        why = error.details["why"]
        if not isinstance(why, Text):
            why = format_faults(faults(codec.parse_json(data, what), kind))
        raise BadDocument(what=what, why=why, see=f"ringi check --schema {schema}") from None


def _bytes(name: str, count: int) -> bytes:
    """Does not block on a pipe without a writer, nor read a device without end."""
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123  # it is open already
        os.set_blocking(descriptor, True)
        return file.read(count)


def only_with(option: str, other: str) -> click.UsageError:
    return click.UsageError(_("{option} belongs to {other}").format(option=option, other=other))


def choose_one(*options: str) -> click.UsageError:
    return click.UsageError(_("Choose one: {options}").format(options=", ".join(options)))


def require_one_stdin(count: int) -> None:
    """Raises if more than one argument is a dash."""
    if count > 1:
        raise click.UsageError(_("Standard input can be read only once"))


def require_text(*given: str | None) -> None:
    """Raises if the command line held bytes that are not UTF-8."""
    if any("\ud800" <= c <= "\udfff" for text in given for c in text or ""):
        raise click.UsageError(_("A text on the command line is not UTF-8"))


def require_long(name: str) -> None:
    """Raises if it is too short to look up: the id of a planning session or a run."""
    require_named(name, Text("planning session or run"), _SESSIONS)
    if name[:1] in {"p", "P"} and name[1:].isdecimal():
        words = _("{name} is a plan, and this is about planning sessions and runs. See it: {see}")
        raise click.UsageError(words.format(name=name, see=f"ringi show {name}"))
    if len(name.lower().removeprefix(SESSION_PREFIX)) < LEAST:
        words = _("{name} is too short for an id: it needs at least {count} characters. {next}")
        found = _("See what there is: {see}").format(see=_SESSIONS)
        raise click.UsageError(words.format(name=visible(name), count=LEAST, next=found))


def require_named(name: str, what: Text, see: str) -> None:
    """Raises if it is empty, as a variable of the shell may be; `see` lists what could be meant."""
    if not name.strip():
        raise NotFound(what=what, name='""', see=see)


def no_cache(command: Any) -> Any:
    """The option of every command that plans."""
    return click.option(
        "--no-cache",
        is_flag=True,
        expose_value=False,
        callback=_read_nothing,
        help="Ask the model anew, whatever it answered before.",
    )(command)


def _read_nothing(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        app: App = ctx.find_object(App)  # type: ignore[assignment]  # every command has one
        app.workspace.cache.reads = False
