"""agents.json, beside the ledger: what `ringi init` wrote into agents' files, and what stood there before."""

from collections.abc import Iterable
from typing import Final

import msgspec

from ringi.domain import codec
from ringi.domain.base import Document, Versioned
from ringi.errors import BadDocument, InTheWay, StorageFailed
from ringi.fs import OsFileSystem, opened, replace_file
from ringi.store.connection import private_folder
from ringi.text import why_failed
from ringi.workspace.places import Places

_NAME: Final = "agents.json"


class Written(Document, frozen=True, kw_only=True):
    agent: str
    file: str
    """Below the workspace's root."""
    made: bool
    """There was no such file."""
    before: str | None
    """All that stood in it; None also where it was already ours and somebody else's together."""
    holders: int
    """How many of the objects around our entry were there."""
    made_folder: bool
    after_sha256: str

    def again(self, after_sha256: str, *, between: bool) -> "Written":
        """Written once more; `between` says that somebody else wrote in the meantime."""
        kept = {"made": False, "before": None} if between else {}
        return msgspec.structs.replace(self, after_sha256=after_sha256, **kept)


class Record(Versioned, frozen=True, kw_only=True):
    files: tuple[Written, ...] = ()


def load(places: Places) -> tuple[Written, ...]:
    path = places.state / _NAME
    fs = OsFileSystem()
    try:
        with opened(fs, fs.open_root(places.state)) as folder:
            data, _ = fs.read(folder, _NAME)
        return codec.foreign(data, Record, _NAME).files
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InTheWay(what=str(path), why=why_failed(error)) from None
    except BadDocument as error:
        raise InTheWay(what=str(path), why=error.details["why"]) from None


def save(places: Places, files: Iterable[Written]) -> None:
    """In one step; gone where there is nothing to remember."""
    record = Record(files=tuple(files))
    path = private_folder(places.state) / _NAME
    try:
        if record.files:
            replace_file(path, codec.pretty(record))
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageFailed(what=str(places.state / _NAME), why=why_failed(error)) from None
