"""`ringi mcp` without what it needs."""

import sys
from pathlib import Path

import pytest

from ringi.errors import NoExtra
from ringi.mcp.start import serve


def test_without_the_sdk_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mcp", None)  # as if nothing by that name could be imported

    with pytest.raises(NoExtra) as caught:
        serve({}, tmp_path, "")
    assert caught.value.details["extra"] == "mcp"
    assert sys.executable in caught.value.details["command"]
