"""`ringi mcp` without what it needs."""

import sys
from collections.abc import Mapping
from types import MappingProxyType

import pytest

from ringi.errors import NoExtra
from ringi.mcp import command


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mcp", None)  # as if nothing by that name could be imported

    class Nothing:
        environment: Mapping[str, str] = MappingProxyType({})

    with pytest.raises(NoExtra) as caught:
        command.mcp.callback.__wrapped__(Nothing(), "")
    assert caught.value.details["extra"] == "mcp"
    assert sys.executable in caught.value.details["command"]
