"""The command that adds an optional part to this very installation."""

import shlex
import shutil
import sys
from importlib.util import find_spec
from typing import Final

EXTRAS: Final = {
    "models": ("cryptography>=45", "pydantic-ai-slim[anthropic,openai]"),
    "mcp": ("mcp>=2",),
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
