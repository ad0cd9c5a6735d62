"""Emulators of forges, as `make test-forges` sets them up."""

import os
from pathlib import Path

import pytest
from tools.forges import EMULATE, GITHUB, PRISM, node

NODE = node() or Path()

pytestmark = [
    pytest.mark.req("PP-25"),
    pytest.mark.skipif(
        os.environ.get("RINGI_FORGES") != "1"
        or not NODE.name
        or not all(map(Path.exists, (EMULATE, PRISM, GITHUB))),
        reason="make test-forges",
    ),
]


def offered(**variables: str) -> dict[str, str]:
    """An environment in which programs of npm find their Node."""
    return {**os.environ, "PATH": f"{NODE.parent}:{os.environ['PATH']}", **variables}
