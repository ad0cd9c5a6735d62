"""Patches as git and diff write them, read strictly: contradictions are refused, never guessed.

A hunk must have exactly the lines that its header counts.
"""

import re
from typing import Final, NamedTuple, NoReturn

from ringi.errors import BadPatch, BinaryPatch
from ringi.kernel.text import Text
from ringi.patch.patch import (
    NOWHERE,
    FilePatch,
    Hunk,
    Patch,
    PatchKind,
    decode,
    is_epoch,
    name_pairs,
    side_name,
    unquote,
    without_prefix,
)

_START: Final = re.compile(
    rb"^(?:diff --git |--- [^\n]*\n\+\+\+ |@@ -\d|GIT binary patch$|Binary files [^\n]* differ\r?$)",
    re.MULTILINE,
).search
GIT: Final = b"diff --git "
# The form of nine files in ten: changed, with a plain name repeated in every line. Others are read by line.
USUAL: Final = re.compile(
    rb'diff --git a/([^\s"\0]+) b/\1\n(?:index ([0-9a-f]+\.\.[0-9a-f]+(?: ([0-7]{6}))?)\n)?'
    rb"--- a/\1\n\+\+\+ b/\1\n(?=@@ )"
).match
_EXTENDED: Final = re.compile(
    rb"(old mode|new mode|new file mode|deleted file mode|(?:dis)?similarity index|rename from|rename to"
    rb"|copy from|copy to|index) ([^\n]*)\n"
).match
_SIDES: Final = re.compile(rb"--- ([^\n]*)\n\+\+\+ ([^\n]*)\n").match
_BINARY: Final = (b"GIT binary patch", b"Binary files ")
_MODE: Final = re.compile(rb"[0-7]{6}").fullmatch
_INDEX: Final = re.compile(rb"[0-9a-f]+\.\.[0-9a-f]+(?: ([0-7]{6}))?").fullmatch
_LIKENESS: Final = re.compile(rb"(?:100|[1-9]?[0-9])%").fullmatch


class _Section(NamedTuple):
    """The header of one file."""

    data: bytes
    at: int
    end: int
    """Where its hunks begin."""
    line: bytes
    """What follows `diff --git`; empty without it."""
    said: dict[bytes, bytes]
    sides: tuple[bytes, bytes] | None
    """The rest of the --- and +++ lines."""

    def fail(self, why: Text) -> NoReturn:
        raise BadPatch(why=why, line=line_of(self.data, self.at))


def parse_patch(data: bytes) -> Patch:
    """Raises BadPatch if any part cannot be read, and BinaryPatch for a file that is not text."""
    limit = data.rfind(b"\n") + 1
    marks = b"\n\\" in data
    files: list[FilePatch] = []
    starts: list[int] = []
    at = 0
    while found := _START(data, at):
        at = found.start()
        file, at = _read_file(data, at, limit, marks=marks)
        starts.append(found.start())
        files.append(file)
        if file.hunks and at < len(data) and not _START_HERE(data, at):
            check_after(data, at)
    if not files:
        why = Text("no file is named in it") if data.strip() else Text("it is empty")
        raise BadPatch(why=why, line=1)
    _check_apart(data, files, starts)
    return Patch(tuple(files))


def _read_file(data: bytes, at: int, limit: int, *, marks: bool) -> tuple[FilePatch, int]:
    if usual := USUAL(data, at):
        hunks, end = read_hunks(data, usual.end(), limit, marks=marks)
        if hunks:
            name, blobs, mode = usual.groups(b"")
            path, both = decode(name), mode.decode() or None
            return FilePatch(PatchKind.CHANGED, path, path, both, both, hunks, b"", blobs, usual[0]), end
    if data.startswith(GIT, at):
        section = _git_section(data, at)
        file = _git_file(section)
    elif data.startswith(b"--- ", at):
        section = _plain_section(data, at)
        file = _plain_file(section)
    else:
        _refuse(data, at)
    hunks, end = read_hunks(data, section.end, limit, marks=marks)
    return _check(section, file._replace(hunks=hunks, header=data[at : section.end])), end


_START_HERE: Final = re.compile(rb"diff --git |--- [^\n]*\n\+\+\+ ").match


def _refuse(data: bytes, at: int) -> NoReturn:
    line = line_of(data, at)
    if data.startswith(b"@@", at):
        raise BadPatch(why=Text("a hunk without a file"), line=line)
    what = data[at : data.find(b"\n", at)].removeprefix(_BINARY[1])
    raise BinaryPatch(path=decode(what.strip()), line=line)


def _git_section(data: bytes, at: int) -> _Section:
    end = data.find(b"\n", at) + 1 or len(data)
    line = data[at + len(GIT) : end].removesuffix(b"\n")
    said: dict[bytes, bytes] = {}
    while found := _EXTENDED(data, end):
        key, value = found.groups()
        if said.setdefault(key, value) is not value:
            why = Text("the header says {what} twice", what=key.decode())
            raise BadPatch(why=why, line=line_of(data, end))
        end = found.end()
    sides = _SIDES(data, end)
    section = _Section(
        data, at, sides.end() if sides else end, line, said, (sides[1], sides[2]) if sides else None
    )
    if line.endswith(b"\r"):
        section.fail(Text("its lines end with CR LF, so it was converted on the way"))
    if data.startswith(_BINARY, section.end):
        names = [new for old, new in name_pairs(line) if old == new] or [line]
        raise BinaryPatch(path=decode(said.get(b"rename to", names[0])), line=line_of(data, section.end))
    return section


def _plain_section(data: bytes, at: int) -> _Section:
    sides = _SIDES(data, at)
    section = _Section(
        data, at, sides.end() if sides else at, b"", {}, (sides[1], sides[2]) if sides else None
    )
    if not sides or not data.startswith(b"@@", section.end):
        section.fail(Text("two files are named and no hunk follows"))
    return section


def _git_file(section: _Section) -> FilePatch:
    said = section.said
    kind, old, new = _kind(section)
    old_mode, new_mode = _modes(section, kind)
    if section.sides:
        old, new = _read_sides(section, kind, old, new)
    elif old is None:
        old = new = _only_name(section)
    if new is None or old is None:
        section.fail(Text("a file has no name"))
    if section.line != b"a/%s b/%s" % (old, new) and (old, new) not in name_pairs(section.line):
        section.fail(Text("the lines of the header name different files"))
    if (old == new) is (kind in (PatchKind.RENAMED, PatchKind.COPIED)):
        section.fail(Text("the lines of the header name different files"))
    likeness = b"".join(
        b"%s %s" % (key, said[key]) for key in (b"similarity index", b"dissimilarity index") if key in said
    )
    return FilePatch(
        kind,
        None if kind is PatchKind.NEW else _path(section, old),
        None if kind is PatchKind.DELETED else _path(section, new),
        old_mode,
        new_mode,
        likeness=likeness,
        blobs=said.get(b"index", b""),
    )


def _kind(section: _Section) -> tuple[PatchKind, bytes | None, bytes | None]:
    """Also returns the names from rename and copy lines, which have no prefix."""
    said = section.said
    kinds = []
    if b"new file mode" in said:
        kinds.append(PatchKind.NEW)
    if b"deleted file mode" in said:
        kinds.append(PatchKind.DELETED)
    old = new = None
    for word, kind in ((b"rename", PatchKind.RENAMED), (b"copy", PatchKind.COPIED)):
        source, target = said.get(word + b" from"), said.get(word + b" to")
        if source is None and target is None:
            continue
        kinds.append(kind)
        if source is None or target is None:
            section.fail(Text("a renamed or copied file needs both names"))
        old, new = unquote(source), unquote(target)
        if not old or not new:
            section.fail(Text("the name of a file cannot be read"))
    if len(kinds) > 1:
        section.fail(Text("a file cannot be two of new, deleted, renamed and copied"))
    return kinds[0] if kinds else PatchKind.CHANGED, old, new


def _modes(section: _Section, kind: PatchKind) -> tuple[str | None, str | None]:
    said = section.said
    for key in (b"similarity index", b"dissimilarity index"):
        if key in said and not _LIKENESS(said[key]):
            section.fail(Text("the header has a line that cannot be read"))
    both = None
    if b"index" in said:
        found = _INDEX(said[b"index"])
        if not found:
            section.fail(Text("the header has a line that cannot be read"))
        both = found[1]
    old = said.get(b"old mode", said.get(b"deleted file mode"))
    new = said.get(b"new mode", said.get(b"new file mode"))
    if (b"old mode" in said) is not (b"new mode" in said):
        section.fail(Text("a changed mode needs the old and the new one"))
    if kind in (PatchKind.NEW, PatchKind.DELETED) and b"old mode" in said:
        section.fail(Text("a new or deleted file has one mode only"))
    if any(mode is not None and not _MODE(mode) for mode in (old, new)):
        section.fail(Text("the mode of a file is six octal digits"))
    if both is not None and (old or new) and both not in {old, new}:
        section.fail(Text("the header gives different modes"))
    if old is None and new is None:
        old = new = both
    return old.decode() if old else None, new.decode() if new else None


def _read_sides(
    section: _Section, kind: PatchKind, old: bytes | None, new: bytes | None
) -> tuple[bytes | None, bytes | None]:
    """The names of the --- and +++ lines; they must equal those from rename or copy lines."""
    names = [side_name(side)[0] for side in section.sides or ()]
    if None in names:
        section.fail(Text("the name of a file cannot be read"))
    nowhere = [name == NOWHERE for name in names]
    if nowhere != [kind is PatchKind.NEW, kind is PatchKind.DELETED]:
        section.fail(Text("the header does not say clearly whether the file is new or deleted"))
    left, right = (
        None if absent else without_prefix(name or b"") for name, absent in zip(names, nowhere, strict=True)
    )
    if (left is None and not nowhere[0]) or (right is None and not nowhere[1]):
        section.fail(Text("a file is named without a prefix as a/ or b/"))
    left, right = left or right, right or left
    if (old is not None and old != left) or (new is not None and new != right):
        section.fail(Text("the lines of the header name different files"))
    return left, right


def _only_name(section: _Section) -> bytes:
    names = {old for old, new in name_pairs(section.line) if old == new}
    if len(names) != 1:
        section.fail(Text("the name of the file cannot be told from the diff --git line"))
    return names.pop()


def _plain_file(section: _Section) -> FilePatch:
    (old, old_stamp), (new, new_stamp) = (side_name(side) for side in section.sides or ())
    if not old or not new:
        section.fail(Text("the name of a file cannot be read"))
    if (section.sides or (b"",))[0].endswith(b"\r"):
        section.fail(Text("its lines end with CR LF, so it was converted on the way"))
    absent = [old == NOWHERE or is_epoch(old_stamp), new == NOWHERE or is_epoch(new_stamp)]
    if all(absent):
        section.fail(Text("a file cannot be two of new, deleted, renamed and copied"))
    named = [name for name in (old, new) if name != NOWHERE]
    # Like git: a name without a folder has no prefix.
    if any(b"/" in name for name in named):
        stripped = [without_prefix(name) for name in named]
        if None in stripped:
            section.fail(Text("a file is named without a prefix as a/ or b/"))
        named = [name for name in stripped if name]
    if len(set(named)) != 1:
        section.fail(Text("the lines of the header name different files"))
    path = _path(section, named[0])
    kind = PatchKind.NEW if absent[0] else PatchKind.DELETED if absent[1] else PatchKind.CHANGED
    return FilePatch(kind, None if absent[0] else path, None if absent[1] else path)


def _path(section: _Section, raw: bytes) -> str:
    if b"\0" in raw or not raw:
        section.fail(Text("the name of a file cannot be read"))
    return decode(raw)


def _check(section: _Section, file: FilePatch) -> FilePatch:
    """Checks that the hunks fit the kind."""
    hunks = file.hunks
    if not hunks and section.sides:
        if section.data.startswith(b"@@", section.end):
            section.fail(Text("the header of a hunk cannot be read"))
        section.fail(Text("two files are named and no hunk follows"))
    if not section.sides and section.data.startswith((b"--- ", b"+++ "), section.end):
        section.fail(Text("a --- or a +++ line stands alone"))
    if hunks and not section.sides:
        section.fail(Text("a hunk without a --- and a +++ line"))
    if not hunks and file.kind is PatchKind.CHANGED and file.old_mode == file.new_mode:
        section.fail(Text("a file is named and nothing is changed"))
    if file.kind is PatchKind.NEW and any(hunk.old_count for hunk in hunks):
        section.fail(Text("a new file cannot have old lines"))
    if file.kind is PatchKind.DELETED and any(hunk.new_count for hunk in hunks):
        section.fail(Text("a deleted file cannot keep lines"))
    return file


def _check_apart(data: bytes, files: list[FilePatch], starts: list[int]) -> None:
    """Each file once: no part of a patch may depend on another part."""
    if len({file.path for file in files}) == len(files) and not any(
        file.kind is PatchKind.RENAMED for file in files
    ):
        return
    made: set[str] = set()  # written or deleted at this path
    gone: set[str] = set()  # renamed away or deleted
    held: set[str] = set()  # must exist before, under this very name
    for file, at in zip(files, starts, strict=True):
        leaves = {file.old_path} if file.kind in {PatchKind.RENAMED, PatchKind.DELETED} else set()
        stays = {file.path} if file.kind in {PatchKind.CHANGED, PatchKind.DELETED} else set()
        if file.path in made or leaves & (gone | held) or stays & gone:
            raise BadPatch(why=Text("{path} is in it twice", path=file.path), line=line_of(data, at))
        made.add(file.path)
        gone.update(path for path in leaves if path is not None)
        held |= stays


# More digits than any file has lines would only slow down parsing.
_HEADER: Final = re.compile(
    rb"@@ -(\d{1,15})(?:,(\d{1,15}))? \+(\d{1,15})(?:,(\d{1,15}))? @@([^\n]*)\n"
).match
_BODY_ENDS: Final = re.compile(rb"\n[^ +\-\\]").search
_STRAY: Final = re.compile(rb"[ +\\]|-(?!- ?\r?(?:\n|\Z))|@@|\n+(?:[+]|-(?!-)|@@ )").match
_PLUS, _MINUS, _SPACE, _MARK, _NEWLINE = b"+- \\\n"


def line_of(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def read_hunks(data: bytes, at: int, limit: int, *, marks: bool) -> tuple[tuple[Hunk, ...], int]:
    """The hunks from here on, and where they end.

    `limit` is the end of the last whole line, `marks` whether any line is marked as having no newline.
    """
    hunks: list[Hunk] = []
    # The hot loop: works on the bytes in place with as few calls as possible.
    count = data.count
    old_end = shift = 0
    ended = False
    while found := _HEADER(data, at, limit):
        old, old_size, new, new_size, heading = found.groups()
        old_start, new_start = int(old), int(new)
        old_count = 1 if old_size is None else int(old_size)
        new_count = 1 if new_size is None else int(new_size)
        start = found.end()
        body_ends = _BODY_ENDS(data, start - 1, limit)
        end = body_ends.start() + 1 if body_ends else limit
        added = count(b"\n+", start - 1, end) if new_count else 0
        removed = count(b"\n-", start - 1, end) if old_count else 0
        total = count(b"\n", start, end)
        if (
            total - added == old_count
            and total - removed == new_count
            and added + removed
            and not (marks and data.find(b"\n\\", start - 1, end) >= 0)
        ):
            body = data[start:end]
        else:
            body, end = _careful(data, start, limit, old_count, new_count)
        old_at = old_start - 1 if old_count else old_start
        new_at = new_start - 1 if new_count else new_start
        hunk = Hunk(old_start, old_count, new_start, new_count, heading, body)
        if ended or old_at < old_end or new_at != old_at + shift or new_at < 0:
            _refuse_hunk(data, at, hunk, old_end, shift, ended=ended)
        old_end = old_at + old_count
        shift += new_count - old_count
        hunks.append(hunk)
        ended = marks and b"\n\\" in body
        at = end
    return tuple(hunks), at


def _refuse_hunk(data: bytes, at: int, hunk: Hunk, old_end: int, shift: int, *, ended: bool) -> NoReturn:
    if ended:
        _fail(data, at, Text("a hunk follows one that ends the file"))
    if hunk.old_at < 0 or hunk.new_at < 0:
        _fail(data, at, Text("a hunk begins at line 0; lines count from 1"))
    if hunk.old_at < old_end:
        _fail(data, at, Text("a hunk overlaps the one before it or stands before it"))
    why = Text(
        "a hunk claims to begin at new line {claimed}; after the hunks before it that is line {line}",
        claimed=hunk.new_start,
        line=hunk.move(hunk.old_at + shift).new_start,
    )
    _fail(data, at, why)


def _careful(data: bytes, start: int, limit: int, old_left: int, new_left: int) -> tuple[bytes, int]:
    """Line by line, for hunks with marks, with lines that lost their space, or followed by a similar line."""
    lines: list[bytes] = []
    at, before = start, _NEWLINE
    while (old_left or new_left) or (at < limit and data[at] == _MARK and before != _MARK):
        if at >= limit:
            _fail(data, at, Text("the patch ends inside a hunk"))
        end = data.index(b"\n", at) + 1
        sign = data[at]
        if sign == _NEWLINE:  # git and diff have an option to omit the space of an empty line
            lines.append(b" \n")
            sign = _SPACE
        elif sign == _MARK:
            _check_mark(data, at, before, old_left, new_left)
            lines.append(data[at:end])
        elif sign in b" +-":
            lines.append(data[at:end])
        else:
            _fail(data, at, Text("a hunk has fewer lines than its header says"))
        old_left -= sign in b" -"
        new_left -= sign in b" +"
        if old_left < 0 or new_left < 0:
            _fail(data, at, Text("the lines of a hunk are not those that its header counts"))
        at, before = end, sign
    if all(line.startswith((b" ", b"\\")) for line in lines):
        _fail(data, start - 1, Text("a hunk changes nothing"))
    return b"".join(lines), at


def _check_mark(data: bytes, at: int, before: int, old_left: int, new_left: int) -> None:
    ended = {_SPACE: not old_left and not new_left, _MINUS: not old_left, _PLUS: not new_left}
    if not ended.get(before, False):
        _fail(data, at, Text("a line in the middle is said to have no newline"))


def check_after(data: bytes, at: int) -> None:
    """What follows the last hunk must not look like part of it: git would silently ignore it."""
    if found := _STRAY(data, at):
        if data[found.end() - 1] == ord("@"):
            _fail(data, at, Text("the header of a hunk cannot be read"))
        _fail(data, at, Text("a hunk has more lines than its header says"))


def _fail(data: bytes, at: int, why: Text) -> NoReturn:
    raise BadPatch(why=why, line=line_of(data, at))
