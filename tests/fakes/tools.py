"""A copy with its tools, and a provider of tools that does what it is told."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ringi.agents.sandbox import agent_sandbox
from ringi.agents.state import ProjectSettings
from ringi.kernel.places import places_of
from ringi.policy.masking import mask_secrets
from ringi.runs.copy_tools import CopyCommands, CopyTools
from ringi.runs.tool_box import ToolBox
from ringi.tools.effects import ToolEffect
from ringi.tools.ports_process import ToolInfo, ToolResult
from ringi.tools.rules import ToolRules
from ringi.tree.copy import WorkCopy
from tests.fakes.config import config_with
from tests.helpers import visible_folder
from tests.unit.tree.repositories import commit, repository, write

TEXT = "".join(f"line {number}\n" for number in range(1, 31))
KEY = "ghp_" + "A1b2C3d4" * 4 + "e5F6"
FILES: dict[str, bytes | str] = {
    ".gitignore": "build/\n",
    "README.md": "# Demo\n\nA demo.\n",
    "src/app.py": "def greet(name):\n    return f'Hello {name}'\n",
    "src/lines.txt": TEXT,
    "src/secret.py": f"TOKEN = '{KEY}'\nNAME = 'demo'\n",
    "tests/test_app.py": "from src.app import greet\n\n\ndef test_it():\n    assert greet('a')\n",
    ".env": f"TOKEN={KEY}\n",
    "data/logo.bin": b"\0\1\2",
    "data/latin.txt": "caf\u00e9\n".encode("latin-1"),
    "data/private.csv": "one,two\n",
}


class ToolDesk:
    """A project, a copy of it, and the tools in the copy."""

    def __init__(self, base: Path) -> None:
        self.root = repository(base / "project")
        write(self.root, FILES)
        commit(self.root)
        self.environment = dict(os.environ)
        self.places = places_of(self.root, self.environment)
        self.printed = bytearray()
        self._copy: WorkCopy | None = None

    @property
    def copy(self) -> WorkCopy:
        if self._copy is None:
            self._copy = WorkCopy.make(self.root, self.places.state, self.places.copies)
        return self._copy

    def project(
        self, never_send: tuple[str, ...] = (), sandbox: str = "off", **security: Any
    ) -> ProjectSettings:
        values: dict[str, Any] = {"with.sandbox": sandbox, "context.never_send": never_send}
        values |= {f"planning.security.{name}": value for name, value in security.items()}
        return ProjectSettings(self.places, config_with(**values))

    def tools(self, **changes: Any) -> CopyTools:
        project = self.project(**changes)
        return CopyTools(
            self.copy,
            CopyCommands(project, self.environment, mask, agent_sandbox(project), self.printed.extend),
        )

    def box(self, *servers: Any, approval: Sequence[str] = (), **rules: Any) -> ToolBox:
        sandbox = rules.pop("sandbox", "off")
        found = ToolRules((), approval=tuple(approval), **rules)
        return ToolBox([self.tools(sandbox=sandbox)], servers, found, mask)

    def file(self, name: str) -> str:
        return (self.copy.tree / name).read_text()


@contextmanager
def tool_desk(monkeypatch: Any) -> Iterator[ToolDesk]:
    """Not below /tmp, which is another one in the sandbox."""
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir=visible_folder()) as folder:
        base = Path(folder).resolve()
        (base / "home").mkdir()
        (base / "home" / ".gitconfig").write_text("[user]\n\tname = H\n\temail = h@example.org\n")
        monkeypatch.setenv("HOME", str(base / "home"))
        for kind in ("STATE", "CACHE", "CONFIG", "DATA"):
            monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
        yield ToolDesk(base)


def mask(text: str) -> str:
    return mask_secrets(text, keep_lines=True)


class ToldTools:
    """Offers these tools and notes each call."""

    def __init__(
        self, *infos: ToolInfo, answer: Callable[[str], ToolResult] = lambda name: ToolResult(f"did {name}")
    ) -> None:
        self.infos = infos
        self.called: list[tuple[str, Mapping[str, Any]]] = []
        self._answer = answer

    def list_tools(self) -> Sequence[ToolInfo]:
        return self.infos

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        del timeout_sec
        self.called.append((name, arguments))
        return self._answer(name)


def info(name: str, effect: ToolEffect = ToolEffect.READS, **schema: Any) -> ToolInfo:
    return ToolInfo(name, f"It is {name}.", {"type": "object", **schema}, effect)
