"""`ringi init --key`: a person lists the key that their approvals will be signed with."""

import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ringi.domain.approval import NAMESPACE
from ringi.errors import NotFound, SigningFailed, Unreadable
from ringi.text import Text, deceiving
from ringi.wiring.signers import add_signer

# Those that need a touch first: nothing that runs as the user can sign with them unseen.
_USUAL: Final = (
    "id_ed25519_sk.pub", "id_ecdsa_sk.pub", "id_ed25519.pub", "id_ecdsa.pub", "id_rsa.pub",
)  # fmt: skip
_MAX_KEY_BYTES: Final = 65536
_CHECK_SEC: Final = 30.0
_PUBLIC_KEY: Final = re.compile(r"([a-z0-9][a-z0-9.@-]*) ([A-Za-z0-9+/]+={0,2})(?: .*)?", re.DOTALL)
# What allowed_signers takes for one name: no pattern, no list, no comment, nothing that ends the field.
_PRINCIPAL: Final = re.compile(r"[^\s\"'\\,*?!#][^\s\"'\\,*?!]*")


class ListedKey(NamedTuple):
    file: Path
    """The user's list."""
    line: str
    added: bool
    """False where it was listed already."""
    fingerprint: str


def list_key(environment: Mapping[str, str], public_key: Path | None, principal: str) -> ListedKey:
    """Without a key, the usual one of the user; a private key stands for the public one beside it.

    That a person sits there is for the caller to make sure.
    """
    path = _usual(environment) if public_key is None else _public(public_key)
    if not _PRINCIPAL.fullmatch(principal) or any(map(deceiving, principal)):
        why = Text("{principal} cannot be the name of a signer", principal=principal)
        raise SigningFailed(key=str(path), why=why)
    key = _key(path)
    fingerprint = _fingerprint(path, key, environment)
    line = f'{principal} namespaces="{NAMESPACE}" {key}'
    file, added = add_signer(environment, line)
    return ListedKey(file, line, added, fingerprint)


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
    """Its type and its base64, nothing else: what else the line says is not for us to list."""
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_KEY_BYTES + 1)
    except OSError as error:
        raise Unreadable(what=str(path), why=error.strerror or str(error)) from None
    found = _PUBLIC_KEY.fullmatch(data.decode("utf-8", "replace").strip()[:_MAX_KEY_BYTES])
    if len(data) > _MAX_KEY_BYTES or found is None or b"\n" in data.strip() or "-cert-v01@" in found[1]:
        raise SigningFailed(key=str(path), why=Text("it is not one public key"))
    return f"{found[1]} {found[2]}"


def _fingerprint(path: Path, key: str, environment: Mapping[str, str]) -> str:
    try:
        with tempfile.TemporaryDirectory(prefix="ringi-") as folder:
            alone = Path(folder, "key.pub")
            alone.write_text(key + "\n", encoding="ascii")
            shown = subprocess.run(
                ["ssh-keygen", "-l", "-E", "sha256", "-f", str(alone)],
                env={"PATH": environment.get("PATH", ""), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_CHECK_SEC,
                check=False,
            )
    except FileNotFoundError:
        raise SigningFailed(key=str(path), why=Text("ssh-keygen is not installed")) from None
    except subprocess.TimeoutExpired:
        why = Text("ssh-keygen did not end within {seconds} seconds", seconds=int(_CHECK_SEC))
        raise SigningFailed(key=str(path), why=why) from None
    except OSError as error:
        raise SigningFailed(key=str(path), why=error.strerror or str(error)) from None
    words = shown.stdout.decode("utf-8", "replace").split()
    if shown.returncode != 0 or len(words) < 2:  # noqa: PLR2004  # bits, fingerprint, comment
        raise SigningFailed(key=str(path), why=Text("it is not one public key"))
    return words[1]
