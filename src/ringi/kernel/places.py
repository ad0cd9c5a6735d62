"""Where things are: the workspace's root, its ledger, its work copies."""

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple

from ringi.errors import NoHome, NotAbsolute, NoWorkspace
from ringi.kernel.process.environment import CACHE_VARIABLE, STATE_VARIABLE
from ringi.kernel.system import process_environment

DATABASE: Final = "ringi.db"
_HASH_LENGTH = 16


class Places(NamedTuple):
    root: Path
    state: Path
    """The ledger's folder."""
    states: Path
    """The folder of all ledgers."""
    copies: Path
    """The folder of this workspace's work copies."""

    @property
    def database(self) -> Path:
        """The ledger, if there is one."""
        return self.state / DATABASE


def find_root(start: Path) -> Path:
    """The nearest folder upwards that has a `.agent` or a `.git`."""
    try:
        start = start.resolve(strict=True)
    except OSError:
        raise NoWorkspace(path=str(start)) from None
    for folder in (start, *start.parents):
        if (folder / ".agent").is_dir() or (folder / ".git").exists():
            return folder
    raise NoWorkspace(path=str(start))


def places_of(root: Path, environment: Mapping[str, str]) -> Places:
    root = root.resolve()
    states, copies = _states(environment), _cache(environment) / "work"
    name = state_name(root)
    return Places(root=root, state=states / name, states=states, copies=copies / name)


def models_folder(environment: Mapping[str, str]) -> Path:
    """An empty folder for command-line agents that answer as a model."""
    return _cache(environment) / "models"


def signatures_file(environment: Mapping[str, str]) -> Path:
    """Which signatures were found good. Beside the ledgers, where no agent in a sandbox can write."""
    return _states(environment) / "signatures.json"


def state_name(root: Path) -> str:
    text = str(root).encode("utf-8", "surrogateescape")
    name: str = _own_hashes().sha256(text).hexdigest()
    return name[:_HASH_LENGTH]


def _own_hashes() -> Any:
    """Python's own, if it was built with them: hashlib loads OpenSSL, which takes 3 ms of every command."""
    for module in ("_sha2", "_sha256"):
        with suppress(ImportError):
            return import_module(module)
    return import_module("hashlib")


def user_file(environment: Mapping[str, str]) -> Path | None:
    if named := environment.get("RINGI_CONFIG"):
        return Path(named)
    folder = user_folder(environment)
    return folder / "config.yaml" if folder else None


def trust_file(environment: Mapping[str, str]) -> Path | None:
    """Not beside the file that RINGI_CONFIG names: that may belong to a project."""
    folder = user_folder(environment)
    return folder / "trusted.json" if folder else None


def user_folder(environment: Mapping[str, str]) -> Path | None:
    base, home = Path(environment.get("XDG_CONFIG_HOME", "")), Path(environment.get("HOME", ""))
    if base.is_absolute():  # the XDG specification says to ignore a relative path
        return base / "ringi"
    return home / ".config" / "ringi" if home.is_absolute() else None


def own_folders(places: Places, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """What no command may see: all ledgers, all work copies, the user's own configuration."""
    user = user_folder(environment)
    return (places.states, places.copies.parent, *([user] if user else []))


def project_file(workspace: Path) -> Path:
    return workspace / ".agent" / "config.yaml"


def signers_file(workspace: Path) -> Path:
    return workspace / ".agent" / "allowed_signers"


def _states(environment: Mapping[str, str]) -> Path:
    return _base(environment, STATE_VARIABLE, "XDG_STATE_HOME", ".local/state")


def _cache(environment: Mapping[str, str]) -> Path:
    return _base(environment, CACHE_VARIABLE, "XDG_CACHE_HOME", ".cache")


def _base(environment: Mapping[str, str], own: str, xdg: str, fallback: str) -> Path:
    """Always an absolute path: a relative one would be another folder in each folder of the project."""
    if chosen := environment.get(own):
        path = _home(environment) / chosen[2:] if chosen.startswith("~/") else Path(chosen)
        if not path.is_absolute():
            raise NotAbsolute(variable=own, value=chosen)
        return path
    # The XDG specification says to ignore a relative path.
    if (base := environment.get(xdg, "")).startswith("/"):
        return Path(base) / "ringi"
    return _home(environment) / fallback / "ringi"


def _home(environment: Mapping[str, str]) -> Path:
    """`environment` may be one that a caller made, without a home folder."""
    for found in (environment, process_environment()):
        if (home := found.get("HOME", "")).startswith("/"):
            return Path(home)
    raise NoHome
