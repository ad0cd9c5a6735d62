"""Signatures that were found good are not checked again; everything about them must be the same."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ringi.approvals.signing import Signer, SignerList, SshSignatures
from ringi.errors import BadSignature, SignatureRefused, UnlistedKey
from ringi.provenance.signature_memory import RememberedSignatures
from tests.fakes.signing import RealKey

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
MESSAGE = "what was approved"


class Counted(SshSignatures):
    def __init__(self) -> None:
        super().__init__(tuple)
        self.asked = 0

    def signer_at(self, *given: object, **more: object) -> Signer:
        self.asked += 1
        return super().signer_at(*given, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> RealKey:
    return RealKey(tmp_path_factory.mktemp("key"), "key")


def listing(key: RealKey, options: str = "") -> SignerList:
    public = " ".join(key.public.split()[:2])
    return SignerList("the list", f"alice {options} {public}\n".encode())


def remembered(file: Path) -> tuple[RememberedSignatures, Counted]:
    counted = Counted()
    return RememberedSignatures(counted, file), counted


def test_the_second_time_it_is_not_asked_again(key: RealKey, tmp_path: Path) -> None:
    file = tmp_path / "cache" / "signatures.json"
    signature = key.sign(MESSAGE).signature
    first, asked = remembered(file)
    found = first.signer_at(MESSAGE.encode(), signature, [listing(key)], AT)
    first.save()
    assert (found.principal, asked.asked, file.stat().st_mode & 0o777) == ("alice", 1, 0o600)
    again, asked = remembered(file)
    assert again.signer_at(MESSAGE.encode(), signature, [listing(key)], AT) == found
    assert asked.asked == 0


def test_anything_else_is_asked_again_and_refused(key: RealKey, tmp_path: Path) -> None:
    file = tmp_path / "signatures.json"
    signature = key.sign(MESSAGE).signature
    memory, _ = remembered(file)
    memory.signer_at(MESSAGE.encode(), signature, [listing(key)], AT)
    memory.save()
    memory, asked = remembered(file)
    with pytest.raises(BadSignature):
        memory.signer_at(b"something else", signature, [listing(key)], AT)
    with pytest.raises(UnlistedKey):
        memory.signer_at(MESSAGE.encode(), signature, [], AT)
    with pytest.raises(SignatureRefused):
        memory.signer_at(MESSAGE.encode(), signature, [listing(key, 'namespaces="git"')], AT)
    with pytest.raises(BadSignature):
        memory.signer_at(MESSAGE.encode(), signature, [listing(key)], AT, "git")
    assert asked.asked == 4
    memory.save()
    assert len(file.read_text().split("alice")) == 2


def test_a_key_counts_when_it_was_valid(key: RealKey, tmp_path: Path) -> None:
    """Not now: an approval does not lose its proof when a key is replaced."""
    memory, _ = remembered(tmp_path / "signatures.json")
    signature = key.sign(MESSAGE).signature
    until = [listing(key, 'valid-before="20260102"')]
    with pytest.raises(SignatureRefused):
        memory.signer_at(MESSAGE.encode(), signature, until, AT)
    assert memory.signer_at(MESSAGE.encode(), signature, until, AT - timedelta(days=1)).principal == "alice"
    since = [listing(key, 'valid-after="20260103"')]
    with pytest.raises(SignatureRefused):
        memory.signer_at(MESSAGE.encode(), signature, since, AT)
    assert memory.signer_at(MESSAGE.encode(), signature, since, AT + timedelta(days=1)).principal == "alice"


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"good": 3}', '{"schema_version": 99, "good": {}}'])
def test_a_damaged_memory_is_forgotten(key: RealKey, tmp_path: Path, damage: str) -> None:
    file = tmp_path / "signatures.json"
    file.write_text(damage)
    file.chmod(0o600)
    memory, asked = remembered(file)
    memory.signer_at(MESSAGE.encode(), key.sign(MESSAGE).signature, [listing(key)], AT)
    memory.save()
    assert asked.asked == 1
    assert "alice" in file.read_text()


def test_a_memory_that_others_can_write_is_forgotten(key: RealKey, tmp_path: Path) -> None:
    file = tmp_path / "signatures.json"
    signature = key.sign(MESSAGE).signature
    memory, _ = remembered(file)
    memory.signer_at(MESSAGE.encode(), signature, [listing(key)], AT)
    memory.save()
    file.chmod(0o620)
    memory, asked = remembered(file)
    memory.signer_at(MESSAGE.encode(), signature, [listing(key)], AT)
    assert asked.asked == 1


def test_a_folder_that_cannot_be_written_costs_only_time(key: RealKey, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the way")
    memory, _ = remembered(tmp_path / "cache" / "signatures.json")
    found = memory.signer_at(MESSAGE.encode(), key.sign(MESSAGE).signature, [listing(key)], AT)
    memory.save()
    assert found.principal == "alice"
