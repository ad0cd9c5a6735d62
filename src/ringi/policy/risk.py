"""How risky a spec, a command or a change plan is, computed from facts (PT-7, PT-8, CP-6, rule 6)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ringi.kernel.text import Text, deceiving
from ringi.patch.render import count_budget_lines, is_binary
from ringi.policy.files import critical_category, critical_files, is_mutable_state, mutable_state_files
from ringi.policy.risk_level import CATEGORY, Category, Risk, RiskCode, RiskReason, highest
from ringi.policy.scripts import CODES, strange_words
from ringi.policy.spec_kind import SpecKind

if TYPE_CHECKING:
    from ringi.tree.action_spec import ActionSpecExt

_RISK: Final = dict.fromkeys(
    [
        RiskCode.MUTABLE_STATE,
        RiskCode.COMMAND,
        RiskCode.BINARY,
        RiskCode.MIXED_SCRIPTS,
        RiskCode.YOUR_LINES,
    ],
    Risk.MEDIUM,
)
"""All other reasons are high risk."""
_SCORE: Final = {Risk.LOW: 0.1, Risk.MEDIUM: 0.5, Risk.HIGH: 0.9}
_PER_SPEC: Final = 0.01
_SPREAD: Final = 0.1


_TEXTS: Final = frozenset(
    {
        ".bash", ".bat", ".c", ".cc", ".cfg", ".cjs", ".cmd", ".conf", ".cpp", ".cs", ".css",
        ".csv", ".env", ".fish", ".go", ".gradle", ".h", ".hpp", ".htm", ".html", ".ini", ".java",
        ".js", ".json", ".jsx", ".kt", ".lock", ".lua", ".md", ".mjs", ".mk", ".php", ".pl",
        ".properties", ".ps1", ".py", ".pyi", ".pyw", ".r", ".rb", ".rs", ".rst", ".scala",
        ".service", ".sh", ".sql", ".svg", ".swift", ".tf", ".toml", ".ts", ".tsx", ".txt", ".vue",
        ".xml", ".yaml", ".yml", ".zsh",
    }
)  # fmt: skip
"""Extensions of text files, if the name is honest."""


class RiskFacts(NamedTuple):
    kind: SpecKind
    path: str
    exists: bool
    changed_lines: int
    changed_bytes: int
    """A file of one long line, or none, can change completely in few lines."""
    found: tuple[RiskReason, ...] = ()
    """In the lines it adds."""
    unshown: bool = False
    """A person cannot see the content, but a program may act on it."""
    binary: bool = False
    """A person cannot see the content."""
    emptied: bool = False
    your_lines: tuple[int, ...] = ()
    """Lines that go although the person wrote them meanwhile; 0 stands for a file that is not text."""


class Thresholds(Protocol):
    """The section `risk` of the configuration."""

    @property
    def large_overwrite_lines(self) -> int: ...
    @property
    def large_overwrite_bytes(self) -> int: ...
    @property
    def critical(self) -> tuple[str, ...]: ...
    @property
    def mutable(self) -> tuple[str, ...]: ...


_FORMATS: Final = (
    b"\x7fELF", b"MZ", b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe", b"\0asm", b"!<arch>\n", b"dex\n", b"\x1bLua", b"BC\xc0\xde", b"FOR1",
    b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05",
)  # fmt: skip
"""How programs begin, whatever their names: Linux, Windows, macOS, Java, WebAssembly, archives of objects,
Android, Lua, LLVM, Erlang, and Python's pickles."""
_PYC: Final = slice(2, 4)
_FEWEST: Final = 10
"""Lines: in a smaller file, half of them are not much."""


def is_unshown(path: str, old: bytes | None, new: bytes | None, mode: str) -> bool:
    """Whether a file that is not text, and so is not shown, is one that somebody executes or reads.

    One non-text byte is enough to keep a script from being shown, and shells run it all the same.
    """
    if new is None:
        return False
    was_binary = old is not None and is_binary(old)
    if not is_binary(new):
        return was_binary  # text now, but no difference from the old content can be shown
    was_text = old is not None and not was_binary
    executable = bool(int(mode, 8) & 0o111) or new.startswith((b"#!", *_FORMATS)) or new[_PYC] == b"\r\n"
    return was_text or executable or PurePosixPath(path).suffix.lower() in _TEXTS


def is_emptied(old: bytes | None, new: bytes | None) -> bool:
    """Whether the file stays and most of its content goes. Blank and repeated lines are no content."""
    if old is None or new is None or old == new:
        return False
    before, after = _content(old), _content(new)
    return bool(before and not after) or (before >= _FEWEST and after * 2 < before)


def _content(data: bytes) -> int:
    """In lines, or by size if they are long or there are none."""
    lines = {line.strip() for line in data.split(b"\n")} - {b""}
    return max(len(lines), count_budget_lines(sum(map(len, lines))))


def assess(facts: RiskFacts, thresholds: Thresholds) -> tuple[Risk, tuple[RiskReason, ...]]:
    reasons = [*_losses(facts, thresholds)]
    if category := critical_category(facts.path, thresholds.critical):
        reasons.append(RiskReason(RiskCode.CRITICAL_FILE, category))
    if any(map(deceiving, facts.path)):
        reasons.append(RiskReason(RiskCode.HIDDEN_NAME, facts.path))
    strange = strange_words(facts.path.encode("utf-8", "surrogateescape"))
    reasons += [RiskReason(code, facts.path) for code in sorted({CODES[kind] for kind, _ in strange})]
    if facts.unshown:
        reasons.append(RiskReason(RiskCode.UNSHOWN, facts.path))
    elif facts.binary:
        reasons.append(RiskReason(RiskCode.BINARY, facts.path))
    reasons += facts.found
    if is_mutable_state(facts.path, thresholds.mutable):
        reasons.append(RiskReason(RiskCode.MUTABLE_STATE, facts.path))
    return highest(tuple(_RISK.get(reason.code, Risk.HIGH) for reason in reasons)), tuple(reasons)


def _losses(facts: RiskFacts, thresholds: Thresholds) -> Iterator[RiskReason]:
    """What would go."""
    if facts.kind is SpecKind.DELETE:
        yield RiskReason(RiskCode.DELETE, facts.path)
    elif facts.exists and facts.changed_lines >= thresholds.large_overwrite_lines:
        yield RiskReason(RiskCode.LARGE_OVERWRITE, str(facts.changed_lines))
    elif facts.exists and facts.changed_bytes >= thresholds.large_overwrite_bytes:
        yield RiskReason(RiskCode.LARGE_REWRITE, str(facts.changed_bytes))
    if facts.emptied:
        yield RiskReason(RiskCode.EMPTIED, facts.path)
    if facts.your_lines:
        yield your_lines(facts.your_lines)


def your_lines(lost: Sequence[int]) -> RiskReason:
    """Never low: what the person wrote meanwhile would go."""
    return RiskReason(RiskCode.YOUR_LINES, str(sum(map(bool, lost))))


def score(specs: Sequence[ActionSpecExt]) -> float:
    """0 to 1: the riskiest spec decides, the number of specs adds a little."""
    if not specs:
        return 0.0
    top = _SCORE[highest(tuple(spec.risk for spec in specs))]
    return round(top + min(_SPREAD, _PER_SPEC * (len(specs) - 1)), 3)


MANY_FILES: Final = 5
"""More than this is medium."""
VERY_MANY_FILES: Final = 20
"""More than this is high."""


def change_risk(
    files: Sequence[str], critical: Sequence[str] = (), mutable: Sequence[str] = (), unknown_users: int = 0
) -> tuple[Risk, tuple[RiskReason, ...]]:
    """`critical` and `mutable` are the configured globs, besides the usual ones.

    The specification fixes what decides the level; unknown users are only said.
    """
    paths = sorted(set(files))
    grave = critical_files(paths, critical)
    state = mutable_state_files(paths, mutable)
    reasons = [RiskReason(RiskCode.CRITICAL_FILE, path) for path in grave]
    reasons += [RiskReason(RiskCode.MUTABLE_STATE, path) for path in state]
    if len(paths) > MANY_FILES:
        reasons.append(RiskReason(RiskCode.MANY_FILES, str(len(paths))))
    level = Risk.MEDIUM if reasons else Risk.LOW
    if unknown_users:
        reasons.append(RiskReason(RiskCode.UNKNOWN_USERS, str(unknown_users)))
    return (Risk.HIGH if grave or len(paths) > VERY_MANY_FILES else level), tuple(reasons)


def words(reason: RiskReason) -> str:
    """A reason of `change_risk` as written in the document."""
    if reason.code is RiskCode.MANY_FILES:
        return str(Text("1 file changes", "{count} files change", count=reason.subject))
    if reason.code is RiskCode.UNKNOWN_USERS:
        return str(
            Text("files that could not be analysed and may depend on it: {count}", count=reason.subject)
        )
    if reason.code is RiskCode.MUTABLE_STATE:
        return str(Text("{path} is a database or a file of state", path=reason.subject))
    what = CATEGORY[critical_category(reason.subject) or Category.CONFIGURED]
    return str(Text("{path} is {what}", path=reason.subject, what=what))


_REST: Final = "*"


def is_allowed(argv: Sequence[str], globs: Sequence[str]) -> bool:
    """Word by word, so that no glob matches more than it seems to; a final * matches any further words."""
    return any(_matches(argv, glob) for glob in globs)


def _matches(argv: Sequence[str], glob: str) -> bool:
    try:
        wanted = shlex.split(glob)
    except ValueError:
        return False
    if wanted and wanted[-1] == _REST:
        wanted = wanted[:-1]
        argv = argv[: len(wanted)]
    return (
        bool(wanted)
        and len(argv) == len(wanted)
        and all(fnmatchcase(word, pattern) for word, pattern in zip(argv, wanted, strict=True))
    )
