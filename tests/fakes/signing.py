"""Keys to sign with: made up ones, which are quick, and real ones of ssh-keygen."""

import subprocess
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from ringi.approvals.document import NAMESPACE, SignedAnswer
from ringi.approvals.signing import Signer, SignerList
from ringi.errors import BadSignature, UnlistedKey
from ringi.kernel.text import Text


class MadeUpKeys:
    """Whoever knows a key's name signs with it; those that are listed count."""

    def __init__(self, *listed: str) -> None:
        self.listed = {key: f"{key}@example.invalid" for key in listed}
        self.asked = 0
        self.only = False
        """Whether a typed answer does not suffice."""

    def sign(self, key: str, statement: str, namespace: str = NAMESPACE) -> SignedAnswer:
        return SignedAnswer(statement, f"{key} {namespace} {_mark(key, namespace, statement.encode())}")

    def requires_signature(self) -> bool:
        return self.only

    def signer(self, message: bytes, signature: str, lists: Sequence[SignerList] | None = None) -> Signer:
        self.asked += 1
        key, namespace, mark = signature.split(" ")
        if namespace != NAMESPACE:
            why = Text("it was made for {found}, not for {wanted}", found=namespace, wanted=NAMESPACE)
            raise BadSignature(why=why)
        if key not in self.listed:
            raise UnlistedKey(key=key, lists=("the list",))
        if mark != _mark(key, namespace, message):
            raise BadSignature(why=Text("something else was signed"))
        return Signer(self.listed[key], f"made-up {key}", "the list")


def _mark(key: str, namespace: str, message: bytes) -> str:
    return sha256(b" ".join([key.encode(), namespace.encode(), message])).hexdigest()


class RealKey:
    """An ed25519 key without a passphrase."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(self.path)]
        subprocess.run(command, check=True)
        self.public = self.path.with_suffix(".pub").read_text().strip()

    def sign(self, statement: str, namespace: str = NAMESPACE) -> SignedAnswer:
        command = ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", str(self.path)]
        made = subprocess.run(command, input=statement.encode(), check=True, capture_output=True)
        return SignedAnswer(statement, made.stdout.decode())


def assert_signed(folder: Path, proof: Mapping[str, str], statement: bytes) -> None:
    """The proof of an approval.json, checked with ssh-keygen and with nothing but what stands in it."""
    (folder / "signers").write_text(f"anyone {proof['key']}\n")
    (folder / "signature").write_text(proof["signature"])
    command = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "anyone", "-n", "ringi-approval"]
    command += ["-s", "signature"]
    subprocess.run(command, input=statement, cwd=folder, check=True, capture_output=True)
