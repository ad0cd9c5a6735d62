"""Real keys, real ssh-keygen, a real agent."""

import base64
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.approvals.document import NAMESPACE
from ringi.approvals.signing import (
    Signer,
    SignerList,
    SshSignatures,
    fingerprint,
    parse_signature,
    sign,
)
from ringi.errors import (
    BadSignature,
    SignatureRefused,
    SignatureUnchecked,
    SigningFailed,
    UnlistedKey,
)
from tests.helpers import ROOT
from tests.tables import each

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")

MESSAGE = b'{"act":"approve","digest":"00"}'
PATIENCE = 90


class Keys:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mine = make(folder, "mine")
        self.other = make(folder, "other")


def make(folder: Path, name: str, *options: str, phrase: str = "") -> Path:
    path = folder / name
    kind = options or ("-t", "ed25519")
    subprocess.run(
        ["ssh-keygen", "-q", *kind, "-N", phrase, "-C", f"{name}@host", "-f", str(path)],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return path


def public(key: Path) -> str:
    """Type and base64."""
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def signed(key: Path, message: bytes = MESSAGE, namespace: str = NAMESPACE) -> str:
    argv = ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", str(key)]
    return subprocess.run(argv, input=message, capture_output=True, check=True).stdout.decode()


def listing(*lines: str) -> SshSignatures:
    return SshSignatures(lambda: [SignerList("the list", "".join(f"{line}\n" for line in lines).encode())])


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture(scope="module")
def genuine(keys: Keys) -> str:
    return signed(keys.mine)


# Whose it is


@pytest.mark.req("PT-8")
def test_a_listed_key(keys: Keys, genuine: str):
    found = listing("# people", "", f"hanako@example.invalid {public(keys.mine)} a comment").signer(
        MESSAGE, genuine
    )
    assert found == Signer("hanako@example.invalid", public(keys.mine), "the list")


@pytest.mark.parametrize("options", [("-t", "rsa", "-b", "2048"), ("-t", "ecdsa", "-b", "384")])
def test_other_kinds_of_keys(tmp_path: Path, options: tuple[str, ...]):
    key = make(tmp_path, "key", *options)
    found = listing(f"hanako {public(key)}").signer(MESSAGE, sign(key, MESSAGE, os.environ))
    assert found == Signer("hanako", public(key), "the list")


@pytest.mark.req("PT-8")
def test_an_unlisted_key(keys: Keys, genuine: str):
    shown_by_ssh = subprocess.run(
        ["ssh-keygen", "-l", "-f", f"{keys.mine}.pub"], capture_output=True, text=True, check=True
    ).stdout.split()[1]
    mine = public(keys.mine)
    for lines in ([], [f"taro {public(keys.other)}"], [f"# hanako {mine}"], [f"# a comment\rhanako {mine}"]):
        with pytest.raises(UnlistedKey) as caught:
            listing(*lines).signer(MESSAGE, genuine)
        assert caught.value.details["key"] == f"ssh-ed25519 {shown_by_ssh}"


@pytest.mark.req("PT-8")
def test_another_namespace(keys: Keys):
    for namespace in ("git", "ringi", "ringi-approval2", "file"):
        with pytest.raises(BadSignature) as caught:
            listing(f"hanako {public(keys.mine)}").signer(MESSAGE, signed(keys.mine, namespace=namespace))
        assert str(caught.value.details["why"]) == f"it was made for {namespace}, not for {NAMESPACE}"


@pytest.mark.req("PT-8")
def test_other_bytes(keys: Keys, genuine: str):
    for message in (b"", MESSAGE + b"\n", MESSAGE.upper()):
        with pytest.raises(BadSignature, match="something else was signed"):
            listing(f"hanako {public(keys.mine)}").signer(message, genuine)


def test_a_list_counts_as_long_as_the_key_is_in_it(keys: Keys, genuine: str):
    lists = [SignerList("theirs", b""), SignerList("mine", f"hanako {public(keys.mine)}\n".encode())]
    signatures = SshSignatures(lambda: lists)
    assert signatures.signer(MESSAGE, genuine).where == "mine"
    lists.pop()
    with pytest.raises(UnlistedKey):
        signatures.signer(MESSAGE, genuine)


# What the list says about it is for ssh-keygen to obey


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("options", ['namespaces="git"', 'valid-before="20200101"', 'valid-after="29990101"'])
def test_options_that_exclude_it(keys: Keys, genuine: str, options: str):
    with pytest.raises(
        SignatureRefused, match="listed in the list, but not for this use or not at this time"
    ):
        listing(f"hanako {options} {public(keys.mine)}").signer(MESSAGE, genuine)


def test_options_that_allow_it(keys: Keys, genuine: str):
    options = 'namespaces="git,ringi-*",valid-after="20200101",valid-before="29990101"'
    assert listing(f"hanako {options} {public(keys.mine)}").signer(MESSAGE, genuine).principal == "hanako"


def test_a_second_line_for_the_same_key_counts_too(keys: Keys, genuine: str):
    lines = [f'work namespaces="git" {public(keys.mine)}', f"approvals {public(keys.mine)}"]
    assert listing(*lines).signer(MESSAGE, genuine).principal == "approvals"


@pytest.mark.parametrize(
    ("names", "principal"),
    [
        ("a@example.invalid,b@example.invalid", "a@example.invalid"),
        ('"Hanako Yamada"', "Hanako Yamada"),
        ("*@example.invalid", "*@example.invalid"),
        ("!taro@example.invalid,*@example.invalid", "*@example.invalid"),
        ("花子", "花子"),
        ("-rf", "-rf"),
    ],
)
def test_names_of_every_kind(keys: Keys, genuine: str, names: str, principal: str):
    assert listing(f"{names} {public(keys.mine)}").signer(MESSAGE, genuine).principal == principal


def certified(keys: Keys, *options: str) -> str:
    """Signed by a key that another one vouches for."""
    shutil.copy(keys.mine, keys.folder / "held")
    shutil.copy(f"{keys.mine}.pub", keys.folder / "held.pub")
    argv = ["ssh-keygen", "-q", "-s", str(keys.other), "-I", "id", "-n", "hanako", *options]
    subprocess.run([*argv, str(keys.folder / "held.pub")], check=True, capture_output=True)
    return signed(keys.folder / "held-cert.pub")


@pytest.mark.req("PT-8")
def test_a_certificate_counts_by_its_authority(keys: Keys):
    signature = certified(keys)
    found = listing(f"hanako cert-authority {public(keys.other)}").signer(MESSAGE, signature)
    assert found.principal == "hanako"
    assert found.key.startswith("ssh-ed25519-cert-v01@openssh.com ")
    for line in (f"hanako {public(keys.other)}", f"taro {public(keys.mine)}"):
        with pytest.raises(UnlistedKey):
            listing(line).signer(MESSAGE, signature)
    for line in (f"taro cert-authority {public(keys.other)}", f"hanako cert-authority {public(keys.mine)}"):
        with pytest.raises(SignatureRefused):
            listing(line).signer(MESSAGE, signature)


# Hostile envelopes


def rewrapped(blob: bytes) -> str:
    text = base64.b64encode(blob).decode()
    return f"-----BEGIN SSH SIGNATURE-----\n{text}\n-----END SSH SIGNATURE-----\n"


def unwrapped(signature: str) -> bytes:
    return base64.b64decode("".join(signature.split("\n")[1:-2]))


@each(
    "text",
    [
        "",
        "yes",
        "-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN SSH SIGNATURE-----\n!!!!\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN SSH SIGNATURE-----\n花子\n-----END SSH SIGNATURE-----\n",
        "-----BEGIN PGP SIGNATURE-----\nU1NIU0lH\n-----END PGP SIGNATURE-----\n",
        rewrapped(b""),
        rewrapped(b"SSHSIG"),
        rewrapped(b"SSHSIG\0\0\0\x02" + bytes(20)),
        rewrapped(b"SSHSIG\0\0\0\x01\xff\xff\xff\xff"),
        rewrapped(b"SSHSIG\0\0\0\x01" + bytes(20)),
        "A" * 10_000_000,
    ],
)
def test_what_is_no_signature(text: str):
    with pytest.raises(BadSignature):
        SshSignatures(tuple).signer(MESSAGE, text)


def test_every_shortened_or_lengthened_one_is_refused(genuine: str):
    blob = unwrapped(genuine)
    assert parse_signature(genuine).blob == blob
    for other in [*(blob[:end] for end in range(len(blob))), blob + b"\0", blob + blob]:
        with pytest.raises(BadSignature):
            parse_signature(rewrapped(other))


@given(st.data())
def test_no_changed_byte_passes(keys: Keys, genuine: str, data: st.DataObject):
    blob = bytearray(unwrapped(genuine))
    place = data.draw(st.integers(0, len(blob) - 1))
    blob[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(SignatureRefused):
        listing(f"hanako {public(keys.mine)}").signer(MESSAGE, rewrapped(bytes(blob)))


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_by_name(data: bytes):
    with pytest.raises(BadSignature):
        parse_signature(rewrapped(b"SSHSIG\0\0\0\x01" + data))


def test_other_line_ends_and_widths_are_the_same_signature(keys: Keys, genuine: str):
    who = listing(f"hanako {public(keys.mine)}")
    for text in (genuine.replace("\n", "\r\n"), rewrapped(unwrapped(genuine)), f"\n{genuine.strip()}"):
        assert who.signer(MESSAGE, text).principal == "hanako"
        assert parse_signature(text).armoured == genuine


# The program that decides


def test_without_ssh_keygen_nothing_counts(keys: Keys, genuine: str, tmp_path: Path):
    lists = [SignerList("mine", f"hanako {public(keys.mine)}\n".encode())]
    with pytest.raises(SignatureUnchecked, match="ssh-keygen is not installed"):
        SshSignatures(lambda: lists, str(tmp_path)).signer(MESSAGE, genuine)
    with pytest.raises(SigningFailed, match="ssh-keygen is not installed"):
        sign(keys.mine, MESSAGE, {"PATH": str(tmp_path)})


@pytest.mark.req("PT-8")
def test_a_program_of_that_name_in_the_path_does_not_decide(
    keys: Keys, genuine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake = tmp_path / "ssh-keygen"
    fake.write_text("#!/bin/sh\necho hanako\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(BadSignature):
        listing(f"hanako {public(keys.mine)}").signer(b"something else", genuine)


@pytest.mark.req("PT-8")
def test_a_program_of_that_name_in_the_current_folder_signs_nothing(
    keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake = tmp_path / "ssh-keygen"
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    fake.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    path = f":.:{os.environ['PATH']}"
    assert sign(keys.mine, MESSAGE, {"PATH": path})
    assert fingerprint(keys.mine, public(keys.mine), {"PATH": path}).startswith("SHA256:")
    assert not (tmp_path / "ran").exists()


def test_nothing_is_left_in_the_temporary_folder(
    keys: Keys, genuine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert listing(f"hanako {public(keys.mine)}").signer(MESSAGE, genuine)
    assert list(tmp_path.iterdir()) == []


# Signing


@pytest.mark.req("PT-8")
def test_a_private_key_signs(keys: Keys):
    signature = sign(keys.mine, MESSAGE, os.environ)
    assert listing(f"hanako {public(keys.mine)}").signer(MESSAGE, signature).principal == "hanako"
    assert signature == signed(keys.mine)  # ed25519 signs the same bytes the same way


@pytest.mark.parametrize("message", [b"", b"\0\xff" * 100_000])
def test_any_message_is_signed(keys: Keys, message: bytes):
    signature = sign(keys.mine, message, os.environ)
    assert listing(f"hanako {public(keys.mine)}").signer(message, signature).principal == "hanako"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of an SSH agent of the test's own."""
    socket = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    yield {**os.environ, "SSH_AUTH_SOCK": str(socket)}
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)


@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="ssh-agent is not installed")
@pytest.mark.req("PT-8")
def test_the_agent_signs_for_a_public_key(tmp_path: Path, agent: dict[str, str]):
    key = make(tmp_path, "key")
    subprocess.run(["ssh-add", "-q", str(key)], env=agent, check=True, stdin=subprocess.DEVNULL)
    key.unlink()
    name = Path(f"{key}.pub")
    signature = sign(name, MESSAGE, agent)
    assert listing(f"hanako {public(key)}").signer(MESSAGE, signature).principal == "hanako"
    without = {variable: value for variable, value in agent.items() if variable != "SSH_AUTH_SOCK"}
    with pytest.raises(SigningFailed):
        sign(name, MESSAGE, without)


def test_a_key_that_is_not_there(tmp_path: Path):
    with pytest.raises(SigningFailed, match="No such file") as caught:
        sign(tmp_path / "nowhere", MESSAGE, os.environ)
    assert caught.value.details["key"] == str(tmp_path / "nowhere")


def test_without_a_terminal_no_passphrase_is_waited_for(tmp_path: Path):
    key = make(tmp_path, "key", phrase="a long phrase")
    with pytest.raises(SigningFailed):
        sign(key, MESSAGE, os.environ)


@pytest.mark.parametrize("windows", [{}, {"DISPLAY": ":99"}])
def test_a_passphrase_is_asked_for_at_the_terminal(tmp_path: Path, windows: dict[str, str]):
    key = make(tmp_path, "key", phrase="a long phrase")
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from ringi.approvals.signing import sign\n"
        f"Path(sys.argv[2]).write_text(sign(Path(sys.argv[1]), {MESSAGE!r}, os.environ))\n"
        "print('done')\n"
    )
    environment = {**os.environ, **windows, "PYTHONPATH": str(ROOT / "src")}
    argv = ["-c", code, str(key), str(tmp_path / "signature")]
    person = pexpect.spawn(sys.executable, argv, env=environment, timeout=PATIENCE, encoding="utf-8")
    person.expect("Enter passphrase")
    person.sendline("a long phrase")
    person.expect("done")
    person.close()
    signature = (tmp_path / "signature").read_text()
    assert listing(f"hanako {public(key)}").signer(MESSAGE, signature).principal == "hanako"
