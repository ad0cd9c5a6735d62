"""prism between us and a forge: it compares what passes with the forge's own description of its interface."""

import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tools.forges import PRISM

from tests.forges.conftest import NODE, offered

_LINE = re.compile(
    r"\[(HTTP SERVER)\] (\w+) (\S+) .*Request received|Violation: (request|response)(\S*) (.*)$"
)


class Violation(NamedTuple):
    call: str
    """GET /user"""
    side: str
    """request or response"""
    where: str
    words: str


class Prism:
    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self._log = log
        self._seen = 0
        self._asked = 0

    def violations(self) -> list[Violation]:
        """Of the calls since the last time."""
        self._asked += 1
        end = f"/the-end-{self._asked}"
        with_end = self._await(end)
        fresh, self._seen = with_end[self._seen :], len(with_end)
        found, call = [], ""
        for line in fresh.splitlines():
            if (match := _LINE.search(line)) is None:
                continue
            if match[1]:
                call = f"{match[2].upper()} {match[3]}"
            elif end not in call:
                found.append(Violation(call, match[4], match[5], match[6]))
        return found

    def _await(self, end: str) -> str:
        """It writes its log after it has answered."""
        for _ in range(600):
            with suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"{self.url}{end}", timeout=30).read()
            text = self._log.read_text(encoding="utf-8")
            if "Selected route not found" in text[text.rfind(f"{end} ") :]:
                return text
            time.sleep(0.05)
        raise AssertionError(text[-2000:])


def described(description: Path, prefixes: Sequence[str]) -> dict[str, Any]:
    """Without the paths that we never use; with all of them it takes minutes to start."""
    text = description.read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text) if description.suffix == ".json" else yaml.safe_load(text)
    paths: Mapping[str, Any] = found["paths"]
    found["paths"] = {path: value for path, value in paths.items() if path.startswith(tuple(prefixes))}
    found.pop("x-webhooks", None)
    return found


@contextmanager
def prism(description: Mapping[str, Any], upstream: str, folder: Path) -> Iterator[Prism]:
    folder.mkdir(parents=True)
    file, log = folder / "description.json", folder / "log"
    file.write_text(json.dumps(description, default=str))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        log.open("wb") as out,
        subprocess.Popen(
            [str(NODE), str(PRISM), "proxy", "-h", "127.0.0.1", "-p", str(port), str(file), upstream],
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=offered(),
        ) as process,
    ):  # fmt: skip
        try:
            until = time.monotonic() + 300
            while "is listening on" not in log.read_text(encoding="utf-8"):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < until
                time.sleep(0.1)
            yield Prism(f"http://127.0.0.1:{port}", log)
        finally:
            process.terminate()
