r"""A forge on loopback, in memory, with the face of GitHub or of GitLab, and real git over HTTP.

    with ForgeServer(ForgeKind.GITHUB, tmp_path / "forge") as forge:
        forge.user("alice"), forge.user("ringi", bot=True)
        repo = forge.project("acme/app", {"a.py": "x = 1\n"}, {"alice": "admin", "ringi": "write"})
        issue = repo.issue("alice", "It is slow", "Make it fast.")
        environment |= forge.environment("ringi")        # token and address for ringi
        git clone forge.clone_url(repo, "ringi")
        …
        repo.review(2, "alice", "request_changes", lines=[("a.py", 1, "Why?")])
        repo.merge(2, squash=True)

`fault` makes a call fail in a way of one's choice, `requests` has all that were made. Fields have the names
and shapes of the real interfaces, but only those that Ringi reads. It does not do: webhooks, GraphQL (but the
one mutation that marks a draft as ready), forks, rate limits by itself, merge conflicts, required checks,
Markdown, e-mail, search, projects that move. A token may do whatever its account may. Whoever is not a member
of a project that is not public gets 404, as on the real ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ringi.approvals.forge import ForgeKind
from tests.fakes.loopback import Handler, Loopback
from tests.support.forge_state import ChangeThing, Forge, Note, Refused, Repo, ReviewGiven, Thing, User

__all__ = [
    "ChangeThing",
    "Fault",
    "ForgeServer",
    "Note",
    "Refused",
    "Repo",
    "Request",
    "ReviewGiven",
    "Thing",
    "User",
]

HTML = b"<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>"


class Request(NamedTuple):
    method: str
    path: str
    """Decoded, without the query."""
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in small letters."""
    body: bytes
    answered: int = 0

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body or b"{}")
        return found if isinstance(found, dict) else {}


class Answer(NamedTuple):
    status: int
    body: Any = None
    headers: Mapping[str, str] = {}


@dataclass
class Fault:
    """How a call goes wrong. `times`: how often; 0 is for ever."""

    status: int = 0
    """0: the call is answered as usual, unless something else below prevents it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b'{"message": "it fails"}'
    kind: str = "application/json"
    cut: str = ""
    """before: the connection ends and nothing was done; after: it was done; middle: half of the answer."""
    done: bool = False
    """The call is carried out all the same, before the status is sent."""
    wait: threading.Event | None = None
    """Nothing is answered before it is set."""
    times: int = 1
    method: str = ""
    path: str = ""


class ForgeServer(Forge, Loopback):
    def __init__(self, kind: ForgeKind, folder: Path) -> None:
        Forge.__init__(self, kind, folder)
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.largest_page = 100
        self.busy = threading.RLock()
        folder.mkdir(parents=True, exist_ok=True)
        Loopback.__init__(self)

    @property
    def url(self) -> str:  # type: ignore[override]
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def environment(self, login: str) -> dict[str, str]:
        """For a command that works with this account."""
        variable = "GITHUB_TOKEN" if self.kind is ForgeKind.GITHUB else "GITLAB_TOKEN"
        return {
            variable: self.users[login].token,
            "RINGI_FORGE_BASE_URL": self.url,
            "RINGI_FORGE_KIND": self.kind.value,
        }

    def clone_url(self, repo: Repo, login: str) -> str:
        """With the token in it; nobody should write one like this down."""
        return repo.git_url.replace("://", f"://{login}:{self.users[login].token}@")

    def fault(self, method: str, path: str, **how: Any) -> Fault:
        """`path` is a regular expression that is searched in the path of the interface."""
        made = Fault(**how, method=method, path=path)
        self.faults.append(made)
        return made

    def calls(self, method: str = "", path: str = "") -> list[Request]:
        """Those that were made, without git's."""
        return [
            one for one in self.requests
            if method in {"", one.method} and re.search(path, one.path) and "/api/" in one.path
        ]  # fmt: skip

    def handler(self, *given: Any) -> Handler:
        forge = self

        class Asked(Handler):
            def answer(self) -> None:
                forge.answered(self)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

            def date_time_string(self, timestamp: Any = None) -> str:
                return format_datetime(datetime.now(UTC) + forge.ahead, usegmt=True)

        return Asked(*given)

    def answered(self, asked: Handler) -> None:
        parts = urlsplit(asked.path)
        request = Request(
            asked.command,
            unquote(parts.path),
            dict(parse_qsl(parts.query, keep_blank_values=True)),
            {name.lower(): value for name, value in asked.headers.items()},
            asked.body(),
        )
        if not parts.path.startswith("/api/"):
            self.requests.append(request)
            _git(self, asked, parts.path, parts.query, request)
            return
        with self.busy:
            fault = self._fault(request)
        if fault is not None and self._failed(fault, asked, request, parts.path):
            return
        with self.busy:
            answer = _tagged(request, self._do(request, parts.path))
            self.requests.append(request._replace(answered=answer.status))
        _send(asked, answer, cut=fault.cut if fault else "")

    def _fault(self, request: Request) -> Fault | None:
        for fault in self.faults:
            if fault.method in {"", request.method} and re.search(fault.path, request.path):
                if fault.times == 1:
                    self.faults.remove(fault)
                elif fault.times:
                    fault.times -= 1
                return fault
        return None

    def _failed(self, fault: Fault, asked: Handler, request: Request, raw: str) -> bool:
        """Whether there is nothing more to answer."""
        if fault.wait is not None:
            while not (fault.wait.wait(0.02) or self.closing.is_set()):
                pass
        if fault.cut == "before":
            self.requests.append(request)
            _hang_up(asked)
            return True
        if not fault.status:
            return False
        if fault.done:
            with self.busy:
                self._do(request, raw)
        self.requests.append(request._replace(answered=fault.status))
        asked.whole(fault.status, fault.kind, fault.body, fault.headers)
        return True

    def _do(self, request: Request, raw: str) -> Answer:
        from tests.support.forge_github import GitHubFace
        from tests.support.forge_gitlab import GitLabFace

        face = GitHubFace(self) if self.kind is ForgeKind.GITHUB else GitLabFace(self)
        try:
            return face.answer(request, raw)
        except Refused as problem:
            return face.refusal(problem)


class Face:
    """Finds the function for a call: `routes` are pairs of method and pattern of the path."""

    prefix = ""
    default_page = 30

    def __init__(self, forge: ForgeServer) -> None:
        self.forge = forge
        self.user: User | None = None
        self.raw = ""

    def token(self, request: Request) -> str:
        raise NotImplementedError

    def routes(self) -> Mapping[str, Callable[..., Any]]:
        raise NotImplementedError

    def refusal(self, problem: Refused) -> Answer:
        return Answer(problem.status, {"message": problem.words})

    def answer(self, request: Request, raw: str) -> Answer:
        self.raw, token = raw, self.token(request)
        self.user = self.forge.by_token(token)
        if token and self.user is None:
            return self.refusal(Refused(401, "Bad credentials"))
        path = self.below(raw)
        for route, act in self.routes().items():
            method, _, pattern = route.partition(" ")
            found = re.fullmatch(pattern, path)
            if method == request.method and found:
                given = {name: unquote(value) for name, value in found.groupdict().items()}
                result = act(request, **given)
                return result if isinstance(result, Answer) else Answer(200, result)
        return Answer(404, {"message": "Not Found"})

    def below(self, raw: str) -> str:
        return raw.removeprefix(self.prefix) if raw.startswith(f"{self.prefix}/") else ""

    def me(self) -> User:
        if self.user is None:
            raise Refused(401, "Requires authentication")
        return self.user

    def repo(self, path: str, level: str = "read") -> Repo:
        found = self.forge.repos.get(path) or next(
            (repo for repo in self.forge.repos.values() if str(repo.id) == path), None
        )
        order = ["none", "read", "write", "admin"]
        if found is None or found.level(self.user) == "none":
            raise Refused(404, "Not Found")
        if order.index(found.level(self.user)) < order.index(level):
            raise Refused(403, "Resource not accessible by personal access token")
        return found

    def page(self, request: Request, items: list[Any]) -> Answer:
        size = min(int(request.query.get("per_page") or self.default_page), self.forge.largest_page)
        number = int(request.query.get("page") or 1)
        part = items[(number - 1) * size : number * size]
        last = max(-(-len(items) // size), 1)
        headers = {}
        if number < last:
            query = "&".join(
                f"{name}={value}" for name, value in {**request.query, "page": str(number + 1)}.items()
            )
            headers["Link"] = (
                f'<{self.forge.url}{self.raw}?{query}>; rel="next", '
                f'<{self.forge.url}{self.raw}?page={last}>; rel="last"'
            )
        return Answer(200, part, headers | self.page_headers(number, last, len(items), size))

    def page_headers(self, number: int, last: int, total: int, size: int) -> dict[str, str]:
        return {}


def _bytes(answer: Answer) -> bytes:
    return b"" if answer.body is None else json.dumps(answer.body).encode()


def _tagged(request: Request, answer: Answer) -> Answer:
    """What the client has already is not sent again."""
    if request.method != "GET" or answer.status != 200:
        return answer
    tag = f'W/"{hashlib.sha256(_bytes(answer)).hexdigest()[:40]}"'
    if request.headers.get("if-none-match") == tag:
        return Answer(304, None, {"ETag": tag})
    return answer._replace(headers={**answer.headers, "ETag": tag})


def _send(asked: Handler, answer: Answer, *, cut: str = "") -> None:
    data, headers = _bytes(answer), dict(answer.headers)
    if cut == "after":
        _hang_up(asked)
    elif cut == "middle":
        asked.send_response(answer.status)
        asked.send_header("Content-Type", "application/json; charset=utf-8")
        asked.send_header("Content-Length", str(len(data) + 10))
        asked.end_headers()
        asked.wfile.write(data[: len(data) // 2])
        _hang_up(asked)
    else:
        asked.whole(answer.status, "application/json; charset=utf-8", data, headers)


def _hang_up(asked: Handler) -> None:
    """At once, with a reset."""
    asked.close_connection = True
    asked.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    asked.connection.close()


# --- git over HTTP ------------------------------------------------------------------------------------------


def _git(forge: ForgeServer, asked: Handler, path: str, query: str, request: Request) -> None:
    name, _, below = unquote(path).removeprefix("/").partition(".git/")
    repo = forge.repos.get(name)
    kind, _, told = request.headers.get("authorization", "").partition(" ")
    password = ""
    if kind.lower() == "basic":
        password = base64.b64decode(told).decode().partition(":")[2]
    user = forge.by_token(password)
    writes = "git-receive-pack" in (query + below)
    level = repo.level(user) if repo else "none"
    if (user is None and (password or writes or level == "none")) or not below:
        asked.whole(401, "text/plain", b"", {"WWW-Authenticate": 'Basic realm="forge"'})
        return
    if repo is None or level == "none":
        asked.whole(404, "text/plain", b"Repository not found.")
        return
    if writes and level not in {"write", "admin"}:
        asked.whole(403, "text/plain", b"You may not push here.")
        return
    _backend(forge, asked, repo, below, query, request, user)


def _backend(
    forge: ForgeServer,
    asked: Handler,
    repo: Repo,
    below: str,
    query: str,
    request: Request,
    user: User | None,
) -> None:
    done = subprocess.run(
        ["git", "http-backend"],
        input=request.body,
        capture_output=True,
        check=False,
        env={
            **forge.git_environment(),
            "GIT_PROJECT_ROOT": str(forge.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": f"/{repo.path}.git/{below}",
            "REQUEST_METHOD": request.method,
            "QUERY_STRING": query,
            "CONTENT_TYPE": request.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(request.body)),
            "HTTP_CONTENT_ENCODING": request.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": request.headers.get("git-protocol", ""),
            "REMOTE_USER": user.login if user else "",
            "REMOTE_ADDR": "127.0.0.1",
        },
    )
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if ": " in line)
    status = int(headers.pop("Status", "200").split()[0])
    if below == "git-receive-pack":
        with forge.busy:
            repo.pushed()
    asked.whole(status, headers.pop("Content-Type", "text/plain"), body, headers)
