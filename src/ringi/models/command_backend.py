"""A command-line agent that is already logged in, used as a model; it needs no key."""

import contextlib
import fcntl
import os
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from typing import Final, NamedTuple

from ringi.agents.agent_above import PRIVATE_VARIABLES
from ringi.agents.output import AgentOutput
from ringi.agents.reading import Enclosed, ProjectReader
from ringi.agents.record import FILES, LONGEST_WORD
from ringi.agents.table import PLAIN, model_of
from ringi.errors import (
    BadModelAnswer,
    Interrupted,
    ModelFailed,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
    RingiError,
    StorageFailed,
    UnknownModel,
)
from ringi.kernel.process.capture import CommandResult, at_most, last, run
from ringi.kernel.process.environment import find_program, without_forge_tokens
from ringi.kernel.process.erase import erase
from ringi.kernel.text import Text, why_failed, without_codes
from ringi.models.backend import Call, ChatMessage, Reply, RetryLater

PREFIX: Final = "command:"
MOST_BYTES: Final = 1024 * 1024
_PROMPT: Final = "{prompt}"
_RUNS_IT: Final = re.compile(r"-\w*[ce]|--(?:command|eval|exec)")
"""Options of shells and interpreters that take code."""
_BYTES_A_TOKEN: Final = 4  # an estimate; a plain command reports no tokens
_KEPT_ERRORS: Final = 16_384
_ERROR_LINES: Final = 8
_ERROR_LENGTH: Final = 600
_SCRATCH: Final = "ringi-model-"
_NEW_SEC: Final = 60.0
_BUSY: Final = 429
_REFUSING: Final = frozenset([400, 401, 402, 403, 404])
_FAULT: Final = 500

# They point the agent out of the empty folder, or colour the output.
_ELSEWHERE: Final = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "OLDPWD",
        "FORCE_COLOR",
        "CLICOLOR_FORCE",
    }
)
_HEADINGS: Final[Mapping[str, str]] = {"user": "User", "assistant": "You, earlier"}
_NO_TOOLS: Final = "Answer immediately with text only. Use no tools, read no files, and ask no questions."
_READING: Final = (
    "You are in a read-only copy of the project. Look up there what you need to know; change nothing, and "
    "ask no questions. Then answer with text only."
)


def _unsafe(words: Sequence[str]) -> Text | None:
    """The prompt holds untrusted text: it may be an argument, but never part of code that runs."""
    for before, word in pairwise(words):
        if _PROMPT in word and (_RUNS_IT.fullmatch(before) or re.search(r"\s", word)):
            return Text("{placeholder} would be run as a part of a command", placeholder=_PROMPT)
    return None


class _Stopped(Exception):
    """The listener stopped the command; not a failure of the command."""

    def __init__(self, why: Exception) -> None:
        super().__init__(str(why))
        self.why = why


class CommandBackend:
    def __init__(
        self,
        template: str,
        environment: Mapping[str, str],
        scrub: Callable[[str], str],
        *,
        folder: Path | None = None,
        reader: ProjectReader | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Makes scratch folders in `folder`; agents read settings from all folders above them.

        With a `reader`, an agent whose tools are known looks around in the project before it answers.
        """
        self.name = PREFIX + template
        self._environment = environment
        self._scrub = scrub
        self._folder = folder
        self._most_bytes = most_bytes
        built_in = model_of(template.strip())
        self._agent = built_in or PLAIN
        self._reader = reader if self._agent.reading else None
        self._reads = False
        try:
            self._words = built_in.words if built_in else tuple(shlex.split(template))
        except ValueError as error:
            raise UnknownModel(model=self.name, why=str(error)) from None
        if not self._words or not self._words[0]:
            raise UnknownModel(model=self.name, why=Text("it names no program"))
        if why := _unsafe(self._words):
            raise UnknownModel(model=self.name, why=why)

    @property
    def sees_project(self) -> bool:
        return self._reader is not None and self._reader.lacks() is None

    def prepare(self) -> Text | None:
        lacks = self._reader.lacks() if self._reader else None
        self._reads = self._reader is not None and lacks is None
        return Text("it cannot look at the project: {why}", why=lacks) if lacks else None

    def send(self, call: Call) -> Reply:
        program = self._program()
        prompt = flat(call.turns, _READING if self._reads else _NO_TOOLS)
        words, given = self._split_prompt(prompt)
        with contextlib.ExitStack() as stack:
            scratch = stack.enter_context(_scratch(self._folder, self._agent.files))
            try:
                argv = [program, *(word.replace(FILES, str(scratch.files)) for word in words)]
                inside = stack.enter_context(self._enter_place(argv, scratch))
                ended = run(
                    inside.argv,
                    cwd=inside.cwd,
                    env=inside.env,
                    confined=inside.confined,
                    timeout_sec=call.seconds,
                    output=at_most(self._most_bytes),
                    errors=last(_KEPT_ERRORS),
                    given=given,
                    mark=str(scratch.temporary),
                    on_beat=self._beat(call.on_tokens),
                )
            except (OSError, ValueError) as error:  # ValueError: a NUL or a surrogate
                reason = error.strerror if isinstance(error, OSError) else str(error)
                why = Text("{program} cannot be started: {why}", program=self._words[0], why=reason)
                raise ModelUnreachable(model=self.name, why=why) from None
            except _Stopped as stopped:
                raise stopped.why from None
            except Interrupted:  # by a signal: same as for a model in this process
                raise KeyboardInterrupt from None
        return self._reply(ended, call)

    @contextlib.contextmanager
    def _enter_place(self, argv: Sequence[str], scratch: "_Scratch") -> Iterator[Enclosed]:
        env = self._command_environment(scratch)
        if not self._reads or self._reader is None:
            yield Enclosed(argv, scratch.work, env, 0)
            return
        with self._reader.enclose(argv, env, [scratch.files]) as inside:
            yield inside

    def _program(self) -> str:
        program = self._words[0]
        found = find_program(program, self._environment)
        if found is None:
            raise ModelUnreachable(model=self.name, why=Text("{program} is not installed", program=program))
        return os.path.abspath(found)  # noqa: PTH100  # keep a link's name; it starts in another folder

    def _split_prompt(self, prompt: str) -> tuple[Sequence[str], bytes | None]:
        """The arguments after the program's name, and its standard input."""
        words = (self._agent.reading if self._reads else self._words)[1:]
        data = prompt.encode("utf-8", errors="replace")
        if not any(_PROMPT in word for word in words):
            return words, data
        if len(data) > LONGEST_WORD:
            why = Text(
                "the prompt has {size} bytes and an argument takes {most}; "
                "without {placeholder} in the command line it goes to standard input",
                size=len(data),
                most=LONGEST_WORD,
                placeholder=_PROMPT,
            )
            raise ModelRejected(model=self.name, why=why)
        word = data.replace(b"\0", b"?").decode()  # an argument cannot contain NUL
        return [one.replace(_PROMPT, word) for one in words], None

    def _command_environment(self, scratch: "_Scratch") -> dict[str, str]:
        kept = {
            name: value
            for name, value in without_forge_tokens(self._environment).items()
            if name not in PRIVATE_VARIABLES and name not in _ELSEWHERE and not name.startswith("RINGI_")
        }
        ours = {"PWD": str(scratch.work), "TMPDIR": str(scratch.temporary), "TERM": "dumb", "NO_COLOR": "1"}
        return {**kept, **ours, **self._agent.environment}

    def _beat(self, on_tokens: Callable[[int], None]) -> Callable[[int], None]:
        def beat(size: int) -> None:
            try:
                on_tokens(size // _BYTES_A_TOKEN if self._agent.streams else 0)
            except (Interrupted, OSError, ValueError) as why:
                raise _Stopped(why) from None

        return beat

    def _reply(self, ended: CommandResult, call: Call) -> Reply:
        output, errors = _text(ended.output), _text(ended.errors)
        said = self._agent.read(output, errors, ended.exit_code)
        if not (ended.too_long or ended.timed_out or ended.exit_code or said.problem):
            if said.output_tokens:
                call.on_tokens(said.output_tokens)
            return Reply(
                said.text,
                said.input_tokens,
                said.output_tokens,
                said.cost_usd,
                cached_tokens=said.cached_tokens,
            )
        call.on_text(output)
        if ended.too_long:
            why = Text("it printed more than {most} bytes", most=self._most_bytes)
            raise BadModelAnswer(model=self.name, why=why)
        if ended.timed_out:
            raise ModelTimeout(model=self.name, seconds=round(call.seconds, 1))
        raise self._failure(ended.exit_code, said, errors or output)

    def _failure(self, exit_code: int, said: AgentOutput, printed: str) -> Exception:
        words = _end_of(self._scrub(said.problem or printed))
        if said.status == _BUSY or said.status >= _FAULT:
            return RetryLater(words)
        if said.status in _REFUSING:
            return ModelRejected(model=self.name, why=words)
        if said.problem:
            return ModelFailed(model=self.name, why=words)
        why = Text("it ended with exit code {code}: {words}", code=exit_code, words=words)
        return ModelFailed(model=self.name, why=why)


def flat(turns: Sequence[ChatMessage], about_tools: str = _NO_TOOLS) -> str:
    """The whole conversation as one text, the rules first."""
    rules = [turn.text.strip() for turn in turns if turn.role == "system"]
    said = [turn for turn in turns if turn.role != "system"]
    parts = ["# Rules", *rules, about_tools]
    if len(said) == 1:
        parts += ["# Task", said[0].text.strip()]
    else:
        parts.append("# Conversation (answer the last message)")
        for turn in said:
            # Quote the model's messages: a heading in them would look like ours.
            text = turn.text.strip()
            quoted = indent(text, "> ", lambda _: True) if turn.role == "assistant" else text
            parts += [f"## {_HEADINGS[turn.role]}", quoted]
    return "\n\n".join(parts) + "\n"


class _Scratch(NamedTuple):
    work: Path
    """Empty; the agent starts here."""
    temporary: Path
    files: Path


@contextlib.contextmanager
def _scratch(folder: Path | None, files: Mapping[str, str]) -> Iterator[_Scratch]:
    with contextlib.ExitStack() as stack:
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            top = Path(os.path.realpath(tempfile.mkdtemp(prefix=_SCRATCH, dir=folder)))
            stack.callback(_remove, top)
            stack.enter_context(_claim(top))
            _sweep(top.parent)
            scratch = _Scratch(top / "work", top / "tmp", top / "files")
            for place in scratch:
                place.mkdir()
            for name, text in files.items():
                (scratch.files / name).write_text(text, encoding="utf-8")
        except OSError as error:
            raise StorageFailed(what=Text("A scratch folder"), why=why_failed(error)) from None
        yield scratch


@contextlib.contextmanager
def _claim(folder: Path) -> Iterator[None]:
    """Locked while the process lives. Raises BlockingIOError if another process has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _sweep(parent: Path) -> None:
    """Removes folders left by killed processes, but not new ones, which may not be locked yet."""
    for old in parent.glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError):
            seen = old.lstat()
            if seen.st_uid == os.getuid() and time.time() - seen.st_mtime > _NEW_SEC:
                with _claim(old):
                    _remove(old)


def _remove(folder: Path) -> None:
    with contextlib.suppress(RingiError):  # the next one sweeps it up
        erase(folder)


def _text(data: bytes) -> str:
    return without_codes(data.decode("utf-8", errors="replace"))


def _end_of(words: str) -> str:
    lines = [line.rstrip() for line in words.strip().splitlines() if line.strip()]
    return "\n".join(lines[-_ERROR_LINES:])[-_ERROR_LENGTH:]
