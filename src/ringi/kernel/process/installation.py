"""How this very installation is extended, and how another machine gets the same."""

import json
import shlex
import shutil
import sys
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.util import find_spec
from typing import Final, NamedTuple

EXTRAS: Final = {
    "models": ("cryptography>=45", "pydantic-ai-slim[anthropic,openai]"),
    "mcp": ("mcp>=2",),
    "forges": ("httpx2>=2",),
    "graph": ("tree-sitter>=0.25.2,<0.26", "tree-sitter-language-pack==0.13.*"),
    "otel": ("opentelemetry-exporter-otlp-proto-http>=1.38", "opentelemetry-sdk>=1.38"),
}
"""As in pyproject.toml: by their own names, so that no registry has to know ours."""


def extending_command(extra: str) -> str:
    python, packages = sys.executable, EXTRAS[extra]
    by_pip = shlex.join([python, "-m", "pip", "install", *packages])
    if find_spec("pip") is not None:
        return by_pip
    if uv := shutil.which("uv"):  # what it installs has no pip
        return shlex.join([uv, "pip", "install", "--python", python, *packages])
    return f"{shlex.join([python, '-m', 'ensurepip'])} && {by_pip}"


class Requirement(NamedTuple):
    words: str
    """For pip, pinned."""
    local: bool
    """We were installed from a folder or a file of this machine, so an index may not have us."""


def requirement(version: str, *, name: str = "ringi", extra: str = "") -> Requirement:
    """What pip installs elsewhere to get what is installed here."""
    wanted = f"{name}[{extra}]" if extra else name
    plain = f"{wanted}=={version}"
    try:
        text = Distribution.from_name(name).read_text("direct_url.json")  # as pip writes it, not for an index
        origin = json.loads(text) if text else None
    except (PackageNotFoundError, ValueError):
        return Requirement(plain, local=True)
    match origin:
        case None:
            return Requirement(plain, local=False)
        case {"url": str(url), "vcs_info": {"vcs": "git", "commit_id": str(commit)}} if _public(url):
            return Requirement(f"{wanted} @ git+{url}@{commit}", local=False)
        case {"url": str(url), "archive_info": {"hashes": {"sha256": str(digest)}}} if _public(url):
            return Requirement(f"{wanted} @ {url}#sha256={digest}", local=False)
        case _:
            return Requirement(plain, local=True)


def _public(url: str) -> bool:
    return url.startswith("https://")
