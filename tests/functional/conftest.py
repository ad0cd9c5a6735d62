import os
import pwd
from pathlib import Path

import pytest

from tests.fakes.signing import RealKey
from tests.functional.desk import Desk
from tests.helpers import accept_signers_in

USER = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def desk(repo: Path) -> Desk:
    return Desk(repo)


@pytest.fixture
def key(isolated: Path) -> RealKey:
    """Where ssh-keygen would have put it; nobody has listed it yet."""
    folder = isolated / ".ssh"
    folder.mkdir(mode=0o700)
    return RealKey(folder, "id_ed25519")


@pytest.fixture
def listed(key: RealKey, isolated: Path, repo: Path) -> RealKey:
    signers().parent.mkdir(exist_ok=True)
    signers().write_text(f"{USER} {key.public}\n")
    signers().chmod(0o600)
    accept_signers_in(repo)
    return key


def signers() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "allowed_signers"
