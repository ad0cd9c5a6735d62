"""`ringi init --key`: list the key that signs the user's approvals."""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from ringi.approvals.document import NAMESPACE
from ringi.config.pins import SIGNERS
from ringi.errors import InTheWay, NotFound, SigningFailed, StorageFailed, Unreadable
from ringi.kernel.fs import FileTooLarge, OsFileSystem, open_for_block, read_bounded, replace_file
from ringi.kernel.lock import FileLock
from ringi.kernel.places import user_folder
from ringi.kernel.text import Text, deceiving

_WAIT_SEC: Final = 10.0
_OTHERS_WRITE: Final = 0o022
_MAX_LIST_BYTES: Final = 1024 * 1024
# Hardware keys first: they need a touch, so no program of the user can sign with them unseen.
_USUAL: Final = (
    "id_ed25519_sk.pub", "id_ecdsa_sk.pub", "id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub",
)  # fmt: skip
_MAX_KEY_BYTES: Final = 65536
_PUBLIC_KEY: Final = re.compile(r"([a-z0-9][a-z0-9.@-]*) ([A-Za-z0-9+/]+={0,2})(?: .*)?", re.DOTALL)
# What allowed_signers reads as one name: no pattern, list, comment or separator.
_PRINCIPAL: Final = re.compile(r"[^\s\"'\\,*?!#][^\s\"'\\,*?!]*")


class SigningKey(NamedTuple):
    line: str
    """Its line in allowed_signers."""
    fingerprint: str


class UsersSigners:
    """`allowed_signers` in the user's folder. The caller must make sure that a person is at the terminal.

    `fingerprint` takes the file and its key, and raises SigningFailed if that is not a key.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        fingerprint: Callable[[Path, str, Mapping[str, str]], str],
    ) -> None:
        self._environment = environment
        self._fingerprint = fingerprint

    @property
    def file(self) -> Path:
        file = users_file(self._environment)
        if file is None:
            raise InTheWay(what=SIGNERS, why=Text("there is no home folder to keep it in"))
        return file

    def look(self, public_key: Path | None, principal: str) -> SigningKey:
        """Without a key, the user's default one; for a private key, the public one next to it."""
        path = _usual(self._environment) if public_key is None else _public(public_key)
        if not _PRINCIPAL.fullmatch(principal) or any(map(deceiving, principal)):
            why = Text("{principal} cannot be the name of a signer", principal=principal)
            raise SigningFailed(key=str(path), why=why)
        key = _key(path)
        fingerprint = self._fingerprint(path, key, self._environment)
        return SigningKey(f'{principal} namespaces="{NAMESPACE}" {key}', fingerprint)

    def add(self, line: str) -> bool:
        """True if the line was not in it yet."""
        file = self.file
        # Links are fine here: the file belongs to the user, like the configuration next to it.
        place = Path(os.path.realpath(file))
        wanted = line.encode()
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(place.with_suffix(".lock"), _WAIT_SEC)("init --key"):
                before = users_bytes(place) or b""
                if wanted in before.split(b"\n"):
                    return False
                gap = b"" if not before or before.endswith(b"\n") else b"\n"
                replace_file(place, before + gap + wanted + b"\n")
        except OSError as error:
            raise StorageFailed(what=str(file), why=error.strerror or str(error)) from None
        return True


def users_file(environment: Mapping[str, str]) -> Path | None:
    folder = user_folder(environment)
    return folder / SIGNERS if folder else None


def users_bytes(place: Path) -> bytes | None:
    """None if there is no file. Raises InTheWay if another user could have written it."""
    fs = OsFileSystem()
    try:
        with open_for_block(fs, fs.open_root(place.parent)) as folder:
            entry = fs.entry(folder, place.name)
            if entry is not None and entry.size > _MAX_LIST_BYTES:
                raise InTheWay(what=str(place), why=Text("it is too large"))
            data, entry = fs.read(folder, place.name)
    except FileNotFoundError:
        return None
    if entry.owner != os.geteuid() or entry.mode & _OTHERS_WRITE:
        raise InTheWay(what=str(place), why=Text("another user could have written it"))
    return data


def _usual(environment: Mapping[str, str]) -> Path:
    folder = Path(environment.get("HOME", "")) / ".ssh"
    if folder.is_absolute():
        for name in _USUAL:
            if (folder / name).is_file():
                return folder / name
    raise NotFound(what=Text("public key in"), name=str(folder), see="ssh-keygen -t ed25519")


def _public(path: Path) -> Path:
    beside = path.with_name(path.name + ".pub")
    if path.suffix != ".pub" and beside.is_file():
        return beside
    if not path.is_file():
        raise NotFound(what=Text("file"), name=str(path), see="ls ~/.ssh/*.pub")
    return path


def _key(path: Path) -> str:
    """Only the type and the base64; the rest of the line is not ours to list."""
    try:
        data = read_bounded(path, _MAX_KEY_BYTES)
    except FileTooLarge:
        data = b""
    except OSError as error:
        raise Unreadable(what=str(path), why=error.strerror or str(error)) from None
    found = _PUBLIC_KEY.fullmatch(data.decode("utf-8", "replace").strip()[:_MAX_KEY_BYTES])
    if found is None or b"\n" in data.strip() or "-cert-v01@" in found[1]:
        raise SigningFailed(key=str(path), why=Text("it does not hold exactly one public key"))
    return f"{found[1]} {found[2]}"


def own_keys(environment: Mapping[str, str], lists: Iterable[bytes]) -> list[Path]:
    """Key files in the user's folder that one of these lists names; hardware keys first.

    The public key, if the private one is not beside it: then the SSH agent signs.
    """
    words = [line.split() for one in lists for line in one.decode("utf-8", "replace").splitlines()]
    listed = {" ".join(pair) for line in words for pair in pairwise(line)}
    folder = Path(environment.get("HOME", "")) / ".ssh"
    if not listed or not folder.is_absolute():
        return []
    try:
        public = sorted(one for one in folder.iterdir() if one.suffix == ".pub")
    except OSError:
        return []
    public.sort(key=lambda one: _USUAL.index(one.name) if one.name in _USUAL else len(_USUAL))
    found = []
    for path in public:
        try:
            key = _key(path)
        except (SigningFailed, Unreadable):
            continue
        if key in listed:
            private = path.with_suffix("")
            found.append(private if private.is_file() else path)
    return found
