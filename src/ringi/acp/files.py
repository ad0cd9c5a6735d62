"""Files that an agent asks its editor for: read from its copy and written there."""

from typing import Any, Final

import msgspec
from msgspec import Raw, Struct, UnsetType

from ringi.acp.paths import ProjectPaths
from ringi.acp.protocol import INTERNAL_ERROR, INVALID_PARAMS, LONGEST_LINE, NOT_FOUND, RpcError
from ringi.errors import RingiError, StorageFailed, Unreadable
from ringi.kernel.document import prepare
from ringi.kernel.fs import FileTooLarge, NotRegular, OsFileSystem, read_bounded
from ringi.kernel.text import Text, translate, why_failed
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import lay_over
from ringi.tree.tree import Tree

LARGEST: Final = LONGEST_LINE // 4
"""Bytes of a file; in JSON it has more."""


class ReadFileRequest(Struct):
    path: str
    line: int | None = None
    """Counted from 1."""
    limit: int | None = None


class WriteFileRequest(Struct):
    path: str
    content: str


def parse_params(params: Raw | UnsetType, kind: type[Any]) -> Any:
    """Raises RpcError."""
    try:
        return msgspec.json.decode(params if isinstance(params, Raw) else b"{}", type=prepare(kind))
    except (msgspec.MsgspecError, RecursionError) as error:
        words = Text("This is not what the protocol says here: {why}", why=str(error))
        raise RpcError(INVALID_PARAMS, words) from None


def read_text_file(copy: WorkCopy, paths: ProjectPaths, params: Raw | UnsetType) -> dict[str, Any]:
    wanted: ReadFileRequest = parse_params(params, ReadFileRequest)
    name = paths.inside(wanted.path)
    tree = Tree(OsFileSystem(), copy.tree)
    try:
        with tree.open_root() as root, tree.folder_of(name, root) as (folder, file):
            text = read_bounded(file, LARGEST, at=folder, follow=False).decode()
    except FileNotFoundError:
        raise RpcError(NOT_FOUND, Text("{path} does not exist.", path=wanted.path)) from None
    except FileTooLarge:
        words = Text(
            "{path} has more than {limit} bytes: read parts of it with a command.",
            path=wanted.path,
            limit=LARGEST,
        )
        raise RpcError(INTERNAL_ERROR, words) from None
    except NotRegular:
        raise RpcError(INTERNAL_ERROR, Text("{path} is not a regular file.", path=wanted.path)) from None
    except RingiError as error:
        raise in_words(error) from None
    except OSError as error:
        raise in_words(Unreadable(what=wanted.path, why=why_failed(error))) from None
    except UnicodeDecodeError:
        raise RpcError(INTERNAL_ERROR, Text("{path} is not text in UTF-8.", path=wanted.path)) from None
    if wanted.line is not None or wanted.limit is not None:
        first = max((wanted.line or 1) - 1, 0)
        last = None if wanted.limit is None else first + max(wanted.limit, 0)
        text = "".join(text.splitlines(keepends=True)[first:last])
    return {"content": text}


def write_text_file(copy: WorkCopy, paths: ProjectPaths, params: Raw | UnsetType) -> dict[str, Any]:
    wanted: WriteFileRequest = parse_params(params, WriteFileRequest)
    name = paths.inside(wanted.path)
    tree = Tree(OsFileSystem(), copy.tree)
    try:
        found = tree.look(name)
        mode = int(found.state.mode, 8) if found else 0o644
        lay_over(tree, {name: (wanted.content.encode(), mode)})
    except RingiError as error:
        raise in_words(error) from None
    except OSError as error:
        raise in_words(StorageFailed(what=wanted.path, why=why_failed(error))) from None
    except UnicodeEncodeError:
        words = Text("The text for {path} has no form in UTF-8.", path=wanted.path)
        raise RpcError(INVALID_PARAMS, words) from None
    return {}


def in_words(error: Exception) -> RpcError:
    """With the command that helps, as on a terminal."""
    if not isinstance(error, RingiError):
        return RpcError(INTERNAL_ERROR, str(error))
    message = translate(Text(error.message, **error.details))
    if not error.hint:
        return RpcError(INTERNAL_ERROR, message)
    hint = translate(Text(error.hint, **error.details))
    stop = ". " if hint.isascii() else "。"  # as a sentence of its own, in the reader's language
    return RpcError(INTERNAL_ERROR, message.rstrip(".。") + stop + hint)
