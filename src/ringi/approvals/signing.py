"""SSH signatures, made and checked by `ssh-keygen -Y`.

ssh-keygen decides. This module reads only the envelope, to say precisely what is wrong with it.
"""

import base64
import binascii
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from ringi.approvals.document import NAMESPACE
from ringi.approvals.statement import fingerprint as fingerprint_of
from ringi.errors import (
    BadSignature,
    SignatureRefused,
    SignatureUnchecked,
    SigningFailed,
    UnacceptedList,
    UnlistedKey,
)
from ringi.kernel.process.environment import SYSTEM_PATH, find_program
from ringi.kernel.text import Text

_BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
_END: Final = "-----END SSH SIGNATURE-----"
_MAGIC: Final = b"SSHSIG"
_VERSION: Final = (1).to_bytes(4, "big")
_HASHES: Final = (b"sha256", b"sha512")
_MAX_SIGNATURE: Final = 65536  # the largest RSA keys need a tenth of it
_MAX_LINES: Final = 100  # that list the same key
_MAX_SHOWN: Final = 200
_CHECK_SEC: Final = 30.0
_SIGN_SEC: Final = 300.0  # time to find the key and touch it


class SshSignature(NamedTuple):
    """What surrounds the signature itself, as PROTOCOL.sshsig of OpenSSH defines it."""

    blob: bytes
    key: bytes
    namespace: bytes

    @property
    def key_type(self) -> str:
        return _string(self.key)[0].decode("ascii", "replace")

    @property
    def key_text(self) -> str:
        return f"{self.key_type} {base64.b64encode(self.key).decode()}"

    @property
    def fingerprint(self) -> str:
        return fingerprint_of(self.key_text)

    @property
    def armoured(self) -> str:
        """Encoded again, so that ssh-keygen reads exactly what was read here."""
        text = base64.b64encode(self.blob).decode()
        lines = (text[start : start + 70] for start in range(0, len(text), 70))
        return "\n".join([_BEGIN, *lines, _END, ""])


class Signer(NamedTuple):
    principal: str
    key: str
    """The public key: its type and its base64."""
    where: str
    """The list it was found in."""


class SignerList(NamedTuple):
    where: str
    """The file's name, for people."""
    data: bytes
    """In the format of allowed_signers(5)."""


class Signatures(Protocol):
    def signer(self, message: bytes, signature: str, lists: Sequence[SignerList] | None = None) -> Signer:
        """Who signed, by these lists, or by those that count in the workspace.

        Raises UnlistedKey, BadSignature or SignatureUnchecked.
        """

    def requires_signature(self) -> bool:
        """Whether a typed answer does not suffice here."""


Lists = Callable[[], Sequence[SignerList]]


class SshSignatures:
    """`accepted` are the lists that count, `offered` those that could."""

    def __init__(
        self,
        accepted: Lists,
        path: str = SYSTEM_PATH,
        *,
        offered: Lists = tuple,
        requires_signature: Callable[[], bool] = lambda: False,
    ) -> None:
        self._accepted = accepted
        self._path = path
        self._offered = offered
        self.requires_signature = requires_signature

    def signer(self, message: bytes, signature: str, lists: Sequence[SignerList] | None = None) -> Signer:
        return self.signer_at(message, signature, self._accepted() if lists is None else lists, None)

    def signer_at(
        self,
        message: bytes,
        signature: str,
        lists: Sequence[SignerList],
        at: datetime | None,
        namespace: str = NAMESPACE,
    ) -> Signer:
        """None stands for now."""
        envelope = parse_signature(signature)
        if envelope.namespace != namespace.encode():
            found = envelope.namespace[:_MAX_SHOWN].decode("utf-8", "backslashreplace")
            raise BadSignature(
                why=Text("it was made for {found}, not for {wanted}", found=found, wanted=namespace)
            )
        program = shutil.which("ssh-keygen", path=self._path)
        if program is None:
            raise SignatureUnchecked(why=Text("ssh-keygen is not installed"))
        try:
            with _checking(program, message, envelope, namespace, at) as check:
                return self._identify(check, envelope, lists)
        except OSError as error:
            raise SignatureUnchecked(why=error.strerror or str(error)) from None

    def _identify(self, check: "_Check", envelope: SshSignature, lists: Sequence[SignerList]) -> Signer:
        listed = ""
        for entry in lists:
            for line in listing(entry.data, envelope):
                listed = listed or entry.where
                if principal := check.principal(line):
                    return Signer(principal, envelope.key_text, entry.where)
        if not listed:
            key, read = f"{envelope.key_type} {envelope.fingerprint}", tuple(entry.where for entry in lists)
            for entry in self._offered():
                if any(listing(entry.data, envelope)):
                    raise UnacceptedList(key=key, lists=read, where=entry.where)
            raise UnlistedKey(key=key, lists=read)
        if not check.genuine():
            raise BadSignature(why=Text("something else was signed, or it was changed since"))
        raise SignatureRefused(
            why=Text("its key is listed in {where}, but not for this use or not at this time", where=listed)
        )


def _keygen(key: Path, environment: Mapping[str, str]) -> str:
    found = find_program("ssh-keygen", environment)
    if found is None:
        raise SigningFailed(key=str(key), why=Text("ssh-keygen is not installed"))
    return found


def fingerprint(path: Path, key: str, environment: Mapping[str, str]) -> str:
    """Of the public key read from the path. Raises SigningFailed if it is not one."""
    try:
        shown = subprocess.run(
            [_keygen(path, environment), "-l", "-E", "sha256", "-f", "-"],
            env={"LC_ALL": "C"},
            input=f"{key}\n".encode("ascii"),
            capture_output=True,
            timeout=_CHECK_SEC,
            check=False,
        )
    except subprocess.TimeoutExpired:
        why = Text("ssh-keygen did not end within {seconds} seconds", seconds=int(_CHECK_SEC))
        raise SigningFailed(key=str(path), why=why) from None
    except OSError as error:
        raise SigningFailed(key=str(path), why=error.strerror or str(error)) from None
    words = shown.stdout.decode("utf-8", "replace").split()
    if shown.returncode != 0 or len(words) < 2:  # noqa: PLR2004  # bits, fingerprint, comment
        raise SigningFailed(key=str(path), why=Text("it does not hold exactly one public key"))
    return words[1]


def sign(key: Path, message: bytes, environment: Mapping[str, str]) -> str:
    """The signature with this key, or by the SSH agent if the key is a public one. Raises SigningFailed.

    At a terminal, ssh-keygen itself asks for passphrases and touches, and prints what went wrong.
    """
    seated = os.isatty(0) or os.isatty(2)
    # It would open a window to ask, because its input is not a terminal.
    never = {"SSH_ASKPASS_REQUIRE": "never"} if seated and "SSH_ASKPASS_REQUIRE" not in environment else {}
    try:
        made = subprocess.run(
            [_keygen(key, environment), "-Y", "sign", "-n", NAMESPACE, "-f", str(key)],
            env={**environment, **never},
            input=message,
            stdout=subprocess.PIPE,
            stderr=None if os.isatty(2) else subprocess.PIPE,
            start_new_session=not seated,  # without a terminal there is nobody to wait for
            timeout=_SIGN_SEC,
            check=False,
        )
    except OSError as error:
        raise SigningFailed(key=str(key), why=error.strerror or str(error)) from None
    except subprocess.TimeoutExpired:
        why = Text("ssh-keygen did not end within {seconds} seconds", seconds=int(_SIGN_SEC))
        raise SigningFailed(key=str(key), why=why) from None
    if made.returncode != 0:
        said = _last_line(made.stderr or b"")
        why = Text("ssh-keygen ended with exit code {code}", code=made.returncode)
        raise SigningFailed(key=str(key), why=said or why)
    try:
        return parse_signature(made.stdout.decode("utf-8", "replace")).armoured
    except BadSignature as error:
        raise SigningFailed(key=str(key), why=error.details["why"]) from None


# The envelope.


def parse_signature(signature: str) -> SshSignature:
    """Raises BadSignature if it is anything but one whole signature."""
    if len(signature) > _MAX_SIGNATURE:
        raise BadSignature(why=Text("it is too large"))
    lines = signature.strip("\r\n").replace("\r\n", "\n").split("\n")
    if len(lines) < 3 or (lines[0], lines[-1]) != (_BEGIN, _END):  # noqa: PLR2004  # the two, and one between
        raise BadSignature(why=Text("it is not in the form that ssh-keygen writes"))
    try:
        blob = base64.b64decode("".join(lines[1:-1]).encode("ascii"), validate=True)
        return _read(blob)
    except (binascii.Error, UnicodeEncodeError, EOFError):
        raise BadSignature(why=Text("it is damaged")) from None


def _read(blob: bytes) -> SshSignature:
    head = len(_MAGIC) + len(_VERSION)
    if blob[:head] != _MAGIC + _VERSION:
        raise BadSignature(why=Text("it is of another kind or of a later version"))
    key, rest = _string(blob[head:])
    namespace, rest = _string(rest)
    _reserved, rest = _string(rest)
    hashed_by, rest = _string(rest)
    signature, rest = _string(rest)
    if rest or not signature or hashed_by not in _HASHES or not _string(key)[0].isascii():
        raise EOFError
    return SshSignature(blob, key, namespace)


def _string(data: bytes) -> tuple[bytes, bytes]:
    """The first string and what follows it. Raises EOFError."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < end:
        raise EOFError
    return data[4:end], data[end:]


# The lists.


def listing(data: bytes, envelope: SshSignature) -> list[bytes]:
    """The lines that may list the key, each checked separately: ssh-keygen stops at the first match."""
    wanted = base64.b64encode(envelope.key)
    certified = "-cert-v01@" in envelope.key_type
    found = [
        line
        for line in data.split(b"\n")  # not splitlines: lines must be those that ssh-keygen sees
        if not line.lstrip().startswith(b"#")
        and (wanted in line.split() or (certified and b"cert-authority" in line.lower()))
    ]
    return found[:_MAX_LINES]


class _Check:
    """One signature of one message, in a folder that nobody else sees."""

    def __init__(
        self, program: str, message: bytes, folder: Path, namespace: str, at: datetime | None
    ) -> None:
        self._program = program
        self._message = message
        self._namespace = namespace
        # Days without a time zone in a list are those of UTC then: one answer on every machine.
        self._time = [f"-Overify-time={at.astimezone(UTC):%Y%m%d%H%M%S}"] if at else []
        self._environment = {"LC_ALL": "C", **({"TZ": "UTC"} if at else {})}
        self._list = folder / "allowed_signers"
        self._signature = folder / "signature"

    def write(self, envelope: SshSignature) -> None:
        self._signature.write_text(envelope.armoured, encoding="ascii")

    def principal(self, line: bytes) -> str | None:
        """The first name on the line that the signature is valid for."""
        self._list.write_bytes(line + b"\n")
        names = self._ask("find-principals", *self._time, "-f", str(self._list))
        for name in [] if names is None else names.decode("utf-8", "surrogateescape").split("\n"):
            # A pattern with ! excludes somebody; it is not a name.
            if name and not name.startswith("!") and self._verifies(name):
                return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        return None

    def genuine(self) -> bool:
        """Whether the key in the envelope signed this message, listed or not."""
        return self._ask("check-novalidate", "-n", self._namespace) is not None

    def _verifies(self, name: str) -> bool:
        words = ("-f", str(self._list), "-I", name, "-n", self._namespace)
        return self._ask("verify", *self._time, *words) is not None

    def _ask(self, what: str, *options: str) -> bytes | None:
        """Its answer; None if it refuses. Without the user's variables, so that no SSH agent is involved."""
        try:
            asked = subprocess.run(
                [self._program, "-Y", what, *options, "-s", str(self._signature)],
                env=self._environment,
                input=self._message,
                capture_output=True,
                timeout=_CHECK_SEC,
                check=False,
            )
        except OSError as error:
            why = Text("ssh-keygen cannot be started: {why}", why=error.strerror or str(error))
            raise SignatureUnchecked(why=why) from None
        except subprocess.TimeoutExpired:
            why = Text("ssh-keygen did not end within {seconds} seconds", seconds=int(_CHECK_SEC))
            raise SignatureUnchecked(why=why) from None
        if asked.returncode < 0:
            raise SignatureUnchecked(
                why=Text("ssh-keygen ended with exit code {code}", code=asked.returncode)
            )
        return asked.stdout if asked.returncode == 0 else None


@contextmanager
def _checking(
    program: str, message: bytes, envelope: SshSignature, namespace: str, at: datetime | None
) -> Iterator[_Check]:
    import tempfile  # noqa: PLC0415  # some ms that only a signature needs

    with tempfile.TemporaryDirectory(prefix="ringi-") as folder:
        check = _Check(program, message, Path(folder), namespace, at)
        check.write(envelope)
        yield check


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:_MAX_SHOWN] if lines else ""
