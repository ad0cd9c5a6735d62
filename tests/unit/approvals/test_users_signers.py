"""A key that was listed signs, and nothing else was listed with it."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.app.init import users_signers
from ringi.approvals.own_key import _PRINCIPAL
from ringi.approvals.signers import as_list, read_offered_lists
from ringi.approvals.signing import SshSignatures, sign
from ringi.errors import NotFound, SigningFailed

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


class Listed(NamedTuple):
    file: Path
    line: str
    added: bool
    fingerprint: str


def list_key(environment: Mapping[str, str], key: Path | None, name: str) -> Listed:
    signers = users_signers(environment)
    found = signers.look(key, name)
    return Listed(signers.file, found.line, signers.add(found.line), found.fingerprint)


class Home:
    def __init__(self, root: Path) -> None:
        self.ssh = root / "home" / ".ssh"
        self.ssh.mkdir(parents=True)
        self.environment = {"HOME": str(root / "home"), "PATH": os.environ["PATH"]}
        self.file = root / "home" / ".config" / "ringi" / "allowed_signers"

    def key(self, name: str = "id_ed25519", *options: str) -> Path:
        argv = ["ssh-keygen", "-q", "-N", "", "-C", "a comment * here", "-f", str(self.ssh / name)]
        subprocess.run([*argv, *(options or ("-t", "ed25519"))], check=True, stdin=subprocess.DEVNULL)
        return self.ssh / name


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def public(key: Path) -> str:
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


@pytest.mark.req("PT-8")
def test_a_listed_key_signs_approvals(home: Home, tmp_path: Path):
    key = home.key()
    listed = list_key(home.environment, None, "hanako")
    assert listed.line == f'hanako namespaces="ringi-approval" {public(key)}'
    assert (listed.file, listed.added) == (home.file, True)
    shown = subprocess.run(
        ["ssh-keygen", "-l", "-f", f"{key}.pub"], capture_output=True, text=True, check=True
    )
    assert listed.fingerprint == shown.stdout.split()[1]
    lists = [as_list(file, tmp_path) for file in read_offered_lists(tmp_path / "ws", home.environment)]
    signatures = SshSignatures(lambda: lists)
    found = signatures.signer(b"yes", sign(key, b"yes", home.environment))
    assert (found.principal, found.key, found.where) == ("hanako", public(key), str(home.file))


def test_the_second_time_nothing_is_added(home: Home):
    key = home.key()
    first = list_key(home.environment, key, "hanako")
    assert list_key(home.environment, Path(f"{key}.pub"), "hanako") == first._replace(added=False)
    assert home.file.read_text() == first.line + "\n"


def test_another_name_or_key_is_added(home: Home):
    lines = [
        list_key(home.environment, home.key(), "hanako").line,
        list_key(home.environment, None, "hanako@example.invalid").line,
        list_key(home.environment, home.key("second", "-t", "rsa", "-b", "2048"), "hanako").line,
    ]
    assert home.file.read_text().splitlines() == lines


def test_a_key_that_needs_a_touch_comes_first(home: Home):
    home.key("id_rsa", "-t", "rsa", "-b", "2048")
    key = home.key("id_ecdsa", "-t", "ecdsa")
    assert public(key) in list_key(home.environment, None, "hanako").line
    key = home.key("id_ed25519_sk")
    assert public(key) in list_key(home.environment, None, "hanako").line


def test_no_key_is_there(home: Home, tmp_path: Path):
    with pytest.raises(NotFound, match="public key in"):
        list_key(home.environment, None, "hanako")
    with pytest.raises(NotFound):
        list_key({"PATH": os.environ["PATH"]}, None, "hanako")
    with pytest.raises(NotFound, match="nowhere"):
        list_key(home.environment, tmp_path / "nowhere.pub", "hanako")
    assert not home.file.exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello\n",
        "ssh-ed25519 AAAA\n",
        "ssh-ed25519 !!!!\n",
        "ssh-ed25519\n",
        "{key}\n{key}\n",
        "cert-authority {key}\n",
        "# {key}\n",
        "x" * 100_000,
        "\udcff {key}",
    ],
)
def test_what_is_no_public_key(home: Home, text: str):
    path = home.ssh / "odd.pub"
    path.write_text(text.replace("{key}", public(home.key())), errors="surrogateescape")
    with pytest.raises(SigningFailed, match="not hold exactly one public key"):
        list_key(home.environment, path, "hanako")
    assert not home.file.exists()


def test_a_private_key_alone_or_a_certificate_is_not_listed(home: Home):
    authority, key = home.key("authority"), home.key("key")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(authority), "-I", "id", "-n", "hanako", f"{key}.pub"],
        check=True,
        capture_output=True,
    )
    Path(f"{key}.pub").unlink()
    for path in (key, home.ssh / "key-cert.pub"):
        with pytest.raises(SigningFailed, match="not hold exactly one public key"):
            list_key(home.environment, path, "hanako")


def test_without_ssh_keygen(home: Home, tmp_path: Path):
    home.key()
    with pytest.raises(SigningFailed, match="ssh-keygen is not installed"):
        list_key(home.environment | {"PATH": str(tmp_path)}, None, "hanako")


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "*",
        "a b",
        "a,b",
        'a"b',
        "!a",
        "#a",
        "a\n* x",
        "a\tb",
        "a\u2028b",
        "a\0b",
        "cert?",
        "a\udcffb",
        "a\u202eb",
    ],
)
def test_a_name_that_would_say_more_is_refused(home: Home, name: str):
    home.key()
    with pytest.raises(SigningFailed, match="cannot be the name of a signer"):
        list_key(home.environment, None, name)
    assert not home.file.exists()


@given(st.text())
def test_a_name_that_passes_is_one_word(name: str):
    if _PRINCIPAL.fullmatch(name):
        assert name.split() == [name]
        assert not set(name) & set("*?!,\"'\\")
