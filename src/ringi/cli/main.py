"""The command line: one group, commands loaded when they are used, one error boundary."""

import codecs
import contextlib
import gettext
import os
import re
import shlex
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

from ringi._version import __version__
from ringi.cli.app import EVERYTHING, App
from ringi.cli.examples import epilog
from ringi.cli.ui import Ui, error_document, in_its_letters, usage_document
from ringi.errors import (
    Interrupted,
    NoSuchCommit,
    NoWorkspace,
    OutOfReach,
    RingiError,
    StorageFailed,
    Unsupported,
)
from ringi.kernel.fs import read_bounded
from ringi.kernel.places import find_root, places_of, project_file, user_file
from ringi.kernel.process.progress import Count, watch_progress
from ringi.kernel.system import process_environment
from ringi.kernel.text import Text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ringi.cli.progress import Counter

_ = gettext.gettext
LOCALES: Final = Path(__file__).parent.parent / "locale"
DOMAIN: Final = "ringi"
LANGUAGES: Final = ("en", "ja")


# What a person uses every day, for the short help page: each line fits 80 columns in both languages.
DAILY: Final = (
    *("init", "with", "review", "undo", "plan", "run", "continue", "status", "report", "verify", "why"),
    "doctor",
)
# All of them, in the order of `ringi help --all`. Each is in the module of its name in `cli/commands`; the
# first line of its help is repeated here, so that the help page need not load them all.
START: Final = {
    "init": Text("Make this folder a workspace."),
    "trust": Text(
        "Allow the commands, the model, the patterns and the signers that the project itself names."
    ),
    "config": Text("Show or check the configuration, and whose signatures count."),
    "mcp": Text("Serve the plan tool to agents over MCP."),
    "hook": Text("Answer an agent's own hooks."),
    "help": Text("Show what ringi can do, or how COMMAND is used."),
}
BESIDE: Final = {
    "with": Text("Run an agent in a copy of the project."),
    "acp": Text("Run COMMAND, an agent that speaks ACP, in a copy of the project, for an editor."),
    "review": Text("Look at a plan, and decide."),
    "apply": Text("Show a plan, ask, and carry it out."),
    "discard": Text("Throw a plan away: no list shows it any more, and it is never carried out."),
    "undo": Text("Restore the files to before a plan or a run."),
}
FROM_REQUEST: Final = {
    "plan": Text("Plan a change: a few questions, then a summary to approve."),
    "run": Text("Carry out a request in small tested steps, a commit for each."),
    "continue": Text("Go on with a run where it stopped."),
    "feedback": Text("Say what should be different about a run; it is never an approval."),
    "watch": Text("Carry sessions and runs on with what is said about them on a forge."),
    "cancel": Text("End a run or a planning session for good, also while another process carries it out."),
    "status": Text("Show what is being planned and carried out."),
    "report": Text("Show what a run did for each of its criteria."),
}
BY_SCRIPT: Final = {
    "propose": Text("Propose exact changes; nothing is written before a person approves them."),
    "specs": Text("List the specs of a plan, or set them."),
    "show": Text("Show a plan: what it changes, how risky it is, what became of it."),
    "amend": Text("Change a plan that waits: drop or rewrite parts of it, comment on its lines."),
    "request": Text("Ask for an approval of a plan as it is now."),
    "approve": Text("Approve a plan exactly as it is shown."),
    "reject": Text("Send a plan back to whoever proposed it, with your feedback."),
    "execute": Text("Carry out exactly what a person approved, and nothing else."),
    "grant": Text("Approve in advance, within limits that you sign."),
    "list": Text("List the plans, newest first."),
    "current": Text("Show the current plan: the one proposed last, until it is done."),
    "state": Text("Look at the project: files, diagnostics, dependencies, and whether all of it is known."),
    "check": Text("Say what a document is and everything that is wrong with it."),
}
PROVE: Final = {
    "verify": Text("Prove that the files are exactly what was approved."),
    "why": Text("Name the approval and the request behind a line."),
    "sync": Text("Exchange the notes that prove approvals with a remote."),
    "log": Text("Show the events of a plan, of a planning session, or of all."),
    "metrics": Text("Show how well plans, runs and decisions go, each figure with its target."),
}
CARE: Final = {
    "doctor": Text("Check that everything is well; each ✗ shows the fix."),
    "recover": Text("Settle what a crash interrupted."),
}
COMMANDS: Final = {**START, **BESIDE, **FROM_REQUEST, **BY_SCRIPT, **PROVE, **CARE}
# Commands of the last version that became part of others: what to type instead. Goes with the next version.
MERGED: Final = {
    "cache": "ringi doctor --cache; ringi doctor --clear-cache",
    "compare": "ringi show PLAN --compare A..B",
    "completion": "ringi init --completion SHELL",
    "context": "ringi run TEXT --context",
    "fork": "ringi propose --fork PLAN",
    "outline": "ringi run TEXT --outline",
    "pending": "ringi list --pending; ringi request PLAN --pending",
    "retry": "ringi continue --retry",
    "revert": "ringi amend PLAN --revert VERSION",
    "schema": "ringi check --schema",
    "signers": "ringi config signers",
    "task": "ringi run TEXT --models",
}
# Words of Python get an underscore.
_NAMES: Final = {"continue": "continue_", "help": "help_", "list": "list_", "with": "with_"}


class RingiGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        name = _NAMES.get(cmd_name, cmd_name)
        command: click.Command = getattr(import_module(f"ringi.cli.commands.{name}"), name)
        return _with_examples(_in_words(command), cmd_name)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Without loading the commands."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415  # only when the shell asks

        found = [
            CompletionItem(name, help=_(words.template))
            for name, words in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in MERGED:
            words = _("ringi {old} is now: {new}").format(old=args[0], new=MERGED[args[0]])
            raise click.UsageError(words, ctx)
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # noqa: PLC0415  # only for a mistyped command

            near = get_close_matches(args[0], COMMANDS, n=1)
            if not near:
                raise
            words = f"{error.message} {_('Did you mean {command}?').format(command=near[0])}"
            raise click.UsageError(words, ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The short page: a dozen commands, and the options in a line, so that all of it fits a screen."""
        if ctx.meta.get(EVERYTHING):
            super().format_options(ctx, formatter)
            return
        with formatter.section(_("Every day")):
            formatter.write_dl([(name, _(COMMANDS[name].template)) for name in DAILY])
        formatter.write_paragraph()
        options = "--workspace PATH  --json  --lang [en|ja]  --version  -h, --help"
        formatter.write(f"{_('Options')}: {options}\n")
        formatter.write(_("All commands: ringi help --all. One of them: ringi help COMMAND.") + "\n")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        groups = {
            _("Start"): START,
            _("Beside an agent"): BESIDE,
            _("From a request"): FROM_REQUEST,
            _("By script"): BY_SCRIPT,
            _("Prove"): PROVE,
            _("Care"): CARE,
        }
        for title, entries in groups.items():
            rows = [(name, click.Command(name, help=_(text.template))) for name, text in entries.items()]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(90)) for name, command in rows])


def _with_examples(command: click.Command, name: str) -> click.Command:
    command.epilog = epilog(name, _("Examples:"))
    if isinstance(command, click.Group):
        for word, below in command.commands.items():
            _with_examples(below, f"{name} {word}")
    return command


def _in_words(command: click.Command) -> click.Command:
    """The command with its help in the reader's language."""
    if not gettext.find(DOMAIN, LOCALES):  # English: nothing to translate
        return command
    from copy import copy  # noqa: PLC0415  # see above
    from inspect import cleandoc  # noqa: PLC0415  # see above

    # A copy, because the next call in this process may use another language.
    command = copy(command)
    if command.help:
        command.help = _(cleandoc(command.help))
    command.params = [copy(parameter) for parameter in command.params]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.help:
            parameter.help = _(parameter.help)
    if isinstance(command, click.Group):
        command.commands = {name: _in_words(below) for name, below in command.commands.items()}
    return command


@click.group(
    cls=RingiGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.option("--workspace", type=click.Path(path_type=Path), default=Path(), help="The project to work on.")
@click.option("--json", "as_json", is_flag=True, help="Answer with JSON on standard output.")
@click.option("--lang", type=click.Choice(LANGUAGES), help="The language to speak.")
@click.version_option(__version__, message="ringi %(version)s")
@click.pass_context
def cli(ctx: click.Context, workspace: Path, as_json: bool, lang: str | None) -> None:
    """The gate between an AI coding agent and your repository: it works in a copy, you decide, ringi writes
    just that and can take it back. Alone, ringi shows what waits for you.
    """
    del lang  # main() has applied it already
    environment = ctx.obj
    ui = Ui(as_json=as_json, environment=environment)
    app = App(environment, workspace, ui)
    ctx.obj = app
    ctx.call_on_close(app.close)
    if not as_json and sys.stderr.isatty() and environment.get("TERM", "dumb") != "dumb":
        ctx.with_resource(watch_progress(partial(_count_on, ui)))
    if ctx.invoked_subcommand is None:
        from ringi.cli.home import home  # noqa: PLC0415  # only for ringi alone

        home(app)


def _count_on(ui: Ui, count: Count) -> "Counter":
    from ringi.cli.progress import Counter  # noqa: PLC0415  # only for long work

    return Counter(ui, count)


def main(arguments: Sequence[str] | None = None) -> int:
    _hear_interrupts()
    arguments = put_global_options_first(list(sys.argv[1:] if arguments is None else arguments))
    environment = process_environment()
    set_language(arguments, environment)
    spoken = _in_words(cli)
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    codecs.register_error(in_its_letters.__name__, in_its_letters)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show a character must not stop the program.
            stream.reconfigure(errors=in_its_letters.__name__)
    as_json = "--json" in arguments[: _end_of_ours(arguments)]
    try:
        code = spoken.main(arguments, prog_name="ringi", standalone_mode=False, obj=environment)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except RingiError as error:
        told = _for_agent(error, arguments, environment)
        return _report(told, as_json=as_json, environment=environment)
    except click.ClickException as error:
        if as_json:
            Ui(as_json=True, environment=environment).document(usage_document(error))
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt, EOFError):
        return _report(Interrupted(), as_json=as_json, environment=environment)
    except BrokenPipeError:
        # The reader has gone. Keeps Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except OSError as error:
        what = error.filename if isinstance(error.filename, str) else Text("The output")
        failed = StorageFailed(what=what, why=error.strerror or str(error))
        return _report(failed, as_json=False, environment=environment)
    except Exception as error:  # noqa: BLE001  # the one boundary: a bug becomes a report in a file, not a traceback
        return _our_mistake(error, environment)


def _hear_interrupts() -> None:
    """A shell script starts `command &` with SIGINT ignored, and our own commands would inherit that."""
    in_charge = threading.current_thread() is threading.main_thread()
    if in_charge and signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _nowhere() -> TextIO:
    """Replaces a stream that the parent process closed."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _for_agent(error: RingiError, arguments: Sequence[str], environment: Mapping[str, str]) -> RingiError:
    """To an agent that cannot reach the ledger: no space, no permission and no other name would help it."""
    asked = error.details.get("what") == Text("plan") or isinstance(error, NoSuchCommit)
    if not asked and not isinstance(error, StorageFailed):
        return error
    from ringi.agents.agent_above import by_variable  # noqa: PLC0415  # only when something failed

    if by_variable(environment) is None:
        return error
    try:
        places = places_of(find_root(Path()), environment)
    except NoWorkspace:
        return error
    in_copy = places.root.is_relative_to(places.copies.parent)
    hidden = not places.state.exists() and (asked or error.details["what"] == str(places.state))
    return OutOfReach(command=shlex.join(["ringi", *arguments])) if in_copy or hidden else error


def _report(error: RingiError, *, as_json: bool, environment: Mapping[str, str]) -> int:
    ui = Ui(as_json=as_json, environment=environment)
    if as_json:
        ui.document(error_document(error))
    ui.error(error)
    return error.exit_code


def _our_mistake(error: Exception, environment: Mapping[str, str]) -> int:
    import tempfile  # noqa: PLC0415  # only when something broke
    import traceback  # noqa: PLC0415  # only when something broke

    if isinstance(error, UnicodeEncodeError) and sys.getfilesystemencoding() != "utf-8":
        what = Text("a locale in which files have such names; set LC_ALL=C.UTF-8")
        return _report(Unsupported(what=what), as_json=False, environment=environment)
    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="ringi-error-",
            suffix=".txt",
            delete=False,
            encoding="utf-8",
            errors="backslashreplace",
        ) as file:
            file.write(f"ringi {__version__}\n{text}")
        where = file.name
    except OSError:
        where = text
    click.echo(
        _("This is a mistake in ringi, not yours. Please report it with this file:") + f" {where}", err=True
    )
    return 1


def put_global_options_first(arguments: list[str]) -> list[str]:
    """Global options may come anywhere before `--` or the arguments of `with`; click wants them first."""
    end = _end_of_ours(arguments)
    front, rest = [], []
    index = 0
    while index < end:
        word = arguments[index]
        if word == "--json" or word.startswith(("--workspace=", "--lang=")):
            front.append(word)
        elif word in {"--workspace", "--lang"} and index + 1 < end:
            front += arguments[index : index + 2]
            index += 1
        else:
            rest.append(word)
        index += 1
    return front + rest + arguments[end:]


def _end_of_ours(arguments: Sequence[str]) -> int:
    """Where another program's arguments begin: at `--`, or at the command `with`."""
    command = valued = False
    for at, word in enumerate(arguments):
        if word == "--" or (word == "with" and not command and not valued):
            return at
        command |= not valued and not word.startswith("-")
        valued = word in {"--workspace", "--lang"}
    return len(arguments)


_LARGEST_FILE: Final = 1024 * 1024


def _read_language(environment: Mapping[str, str]) -> str:
    """A quick look at the files for this one key; mistakes in them are reported later."""
    files = [user_file(environment)]
    with contextlib.suppress(NoWorkspace):
        files.insert(0, project_file(find_root(Path())))
    for path in files:
        try:
            text = read_bounded(path, _LARGEST_FILE).decode() if path else ""
        except (OSError, UnicodeDecodeError):
            continue
        if found := re.search(r"""^language:\s*["']?(\w+)""", text, re.MULTILINE):
            return found[1]
    return ""


def _asks_version(arguments: Sequence[str]) -> bool:
    valued = False
    for word in arguments:
        if word == "--version" and not valued:
            return True
        if not valued and not word.startswith("-"):
            return False  # a command, which may have an option of this name
        valued = word in {"--workspace", "--lang"}
    return False


def set_language(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Choose the language before any output: --lang, RINGI_LANGUAGE, the files, then the locale."""
    chosen = environment.get("RINGI_LANGUAGE", "")
    for index, word in enumerate(arguments[: _end_of_ours(arguments)]):
        if word.startswith("--lang="):
            chosen = word.removeprefix("--lang=")
        elif word == "--lang" and index + 1 < len(arguments):
            chosen = arguments[index + 1]
    if not _asks_version(arguments):  # which reads no file of the project
        chosen = chosen or _read_language(environment)
    if chosen in LANGUAGES:
        # Only for gettext; commands that we start get the original environment.
        os.environ["LANGUAGE"] = chosen
    gettext.bindtextdomain(DOMAIN, LOCALES)
    gettext.textdomain(DOMAIN)
