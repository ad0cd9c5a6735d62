"""The way to a forge: pages, tags, pauses, redirects, certificates, sizes, and where the token goes."""

import json
import pickle
import shutil
import ssl
import subprocess
from collections.abc import Callable
from datetime import timedelta
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from ringi.approvals.forge import ForgeKind, Item, ItemKind
from ringi.errors import BadForgeAnswer, ForgeBusy, ForgeFailed, ForgeUnreachable
from ringi.forges.connection import MOST_BYTES, ForgeAddress, ForgeToken
from ringi.forges.http import ForgeClient, to_utc
from tests.fakes.loopback import Handler, Loopback
from tests.support.forge_server import ForgeServer
from tests.tables import each
from tests.unit.forges.conftest import Here, Time, host_of

pytestmark = pytest.mark.req("PP-20", "PP-25")
ISSUE = Item(ItemKind.ISSUE, 1)


class Elsewhere(Loopback):
    """Answers everything, and remembers what it was told."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        super().__init__()

    def handler(self, *given: Any) -> Handler:
        there = self

        class Asked(Handler):
            def answer(self) -> None:
                there.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.whole(200, "application/json", b'{"login": "alice", "username": "alice", "id": 1}')

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer  # noqa: N815

        return Asked(*given)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("call", ["read", "write"])
def test_token_follows_no_redirect_to_another_place(here: Here, status: int, call: str):
    here.repo.issue("alice", "Slow")
    calls: dict[str, Callable[[], Any]] = {
        "read": lambda: here.host.items.issue(1),
        "write": lambda: here.host.items.write(ISSUE, "m", "Begun"),
    }
    with Elsewhere() as there:
        method = "GET" if call == "read" else "POST"
        to = {"Location": f"{there.url}/secret?key=1"}
        here.forge.fault(method, "/issues/", status=status, headers=to, times=0)
        with pytest.raises(ForgeFailed, match="redirects") as caught:
            calls[call]()
        assert there.headers == []
    assert f"{there.url}/secret" in str(caught.value)
    assert "key=1" not in str(caught.value)


def test_project_that_moved_is_read_where_it_is(here: Here):
    here.repo.issue("alice", "Slow")
    here.host.items.issue(1)
    path = here.forge.calls("GET", "/issues/1$")[0].path
    where = path.replace("acme/app", "acme%2Fapp") if here.forge.kind is ForgeKind.GITLAB else path
    here.forge.fault("GET", "/issues/1$", status=301, headers={"Location": f"{where}?again=1"})
    assert host_of(here.forge, "acme/app", "ringi", here.time.pace).items.issue(1).title == "Slow"
    here.forge.fault("GET", "/issues/1$", status=301, headers={"Location": where}, times=0)
    with pytest.raises(ForgeFailed, match="redirects"):
        here.host.items.issue(1)


@pytest.mark.parametrize("told", ["seconds", "date", "reset"])
def test_it_waits_as_long_as_it_is_told_whatever_the_clocks_say(here: Here, told: str):
    here.repo.issue("alice", "Slow")
    here.forge.ahead = timedelta(days=3)
    now = here.forge.now().timestamp()
    status, headers = {
        "seconds": (429, {"Retry-After": "30"}),
        "date": (503, {"Retry-After": formatdate(now + 30, usegmt=True)}),
        "reset": (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(now) + 30)}),
    }[told]
    here.forge.fault("GET", "/issues/1$", status=status, headers=headers)
    assert here.host.items.issue(1).title == "Slow"
    assert 27 <= sum(here.time.slept) <= 31
    assert len(here.time.slept) == 1


def test_it_does_not_wait_for_an_hour_but_says_so(here: Here):
    here.forge.fault("GET", "/issues/1$", status=429, headers={"Retry-After": "3600"})
    with pytest.raises(ForgeBusy, match="again in 3600 s"):
        here.host.items.issue(1)
    assert here.time.slept == []


def test_what_did_not_change_is_not_sent_again(here: Here):
    issue = here.repo.issue("alice", "Slow")
    for number in range(150):
        here.repo.comment(issue, "alice", f"{number}")
    first = here.host.items.comments(ISSUE)
    here.forge.requests.clear()
    assert here.host.items.comments(ISSUE) == first
    assert [one.answered for one in here.forge.calls()] == [304, 304]
    here.repo.comment(issue, "alice", "new")
    assert len(here.host.items.comments(ISSUE)) == 151


def test_large_answers_are_read_and_too_large_ones_refused(here: Here):
    issue = here.repo.issue("alice", "Slow", "x" * 10_000_000)
    assert len(here.host.items.issue(1).body) == 10_000_000
    issue.body = "x" * MOST_BYTES
    with pytest.raises(BadForgeAnswer, match="longer than"):
        here.host.items.issue(1)


def test_list_that_does_not_end(here: Here):
    here.repo.issue("alice", "Slow")
    more = {"Link": f'<{here.forge.url}/?page=2>; rel="next"', "X-Next-Page": "2"}
    here.forge.fault("GET", "/(comments|notes)$", status=200, body=b"[]", headers=more, times=0)
    with pytest.raises(BadForgeAnswer, match="does not end"):
        here.host.items.comments(ISSUE)


def test_next_page_cannot_lead_to_another_host(tmp_path: Path):
    with ForgeServer(ForgeKind.GITHUB, tmp_path / "forge") as forge, Elsewhere() as there:
        forge.user("ringi")
        issue = forge.project("acme/app", members={"ringi": "write"}).issue("ringi", "Slow")
        forge.repos["acme/app"].comment(issue, "ringi", "one")
        link = {"Link": f'<{there.url}/x?page=1>; rel="next"'}
        forge.fault("GET", "/comments$", status=200, body=b"[]", headers=link)
        found = host_of(forge, "acme/app", "ringi", Time().pace).items.comments(ISSUE)
        assert [one.body for one in found] == ["one"]
        assert there.headers == []


@each(
    "body",
    [
        b'{"a":' * 100_000,
        b"\xff\xfe{}",
        b'{"number": 1e400}',
        b"null",
        b"",
        b'{"title": "\\ud800"}',
        b'{"number": -1, "iid": "1", "title": []}',
    ],
)
def test_hostile_answers_are_refused(here: Here, body: bytes):
    here.forge.fault("GET", "/issues/1$", status=200, body=body)
    with pytest.raises(BadForgeAnswer) as caught:
        here.host.items.issue(1)
    assert len(str(caught.value)) < 600


HOSTILE_HEADERS = [
    (301, {"Location": "http://["}),
    (302, {"Location": "http://127.0.0.1:port/"}),
    (307, {"Location": ""}),
    (308, {"Location": "//evil.example/x"}),
    (301, {"Location": "/\x1b[31m"}),
    (301, {"Location": "\xff\xfe"}),
    (301, {"Location": "file:///etc/passwd"}),
    (429, {"Retry-After": "-5"}),
    (429, {"Retry-After": "9" * 5_000}),
    (429, {"Retry-After": "Sat, 01 Jan 9999 00:00:00 +99999999"}),
    (503, {"Retry-After": "soon", "X-RateLimit-Reset": "1e400", "X-RateLimit-Remaining": "many"}),
    (403, {"X-RateLimit-Reset": "9" * 5_000, "X-RateLimit-Remaining": "0"}),
    (200, {"Content-Encoding": "gzip, gzip"}),
    (200, {"Content-Type": "text/html; charset=json\x1b"}),
    (204, {}),
    (304, {}),
    (999, {}),
]


@each(("status", "headers"), HOSTILE_HEADERS)
def test_hostile_headers_are_refused(here: Here, status: int, headers: dict[str, str]):
    here.forge.fault("GET", "/issues/1$", status=status, headers=headers, body=b"{}", times=0)
    with pytest.raises(ForgeFailed) as caught:
        here.host.items.issue(1)
    assert not set(str(caught.value)) & set("\x1b\n")
    assert sum(here.time.slept) <= 120


LINKS = ["<http://[>; rel=next", "<>; rel=next", '<?page=&x=%ff>; rel="next"', "<" * 9_999]


@pytest.mark.parametrize("link", LINKS)
def test_hostile_next_pages_end(here: Here, link: str):
    here.repo.issue("alice", "Slow")
    here.forge.fault("GET", "/(comments|notes)$", status=200, body=b"[]", headers={"Link": link}, times=3)
    assert here.host.items.comments(ISSUE) == []


@pytest.mark.parametrize(
    "words", ["\x1b]0;owned\x07\x1b[2J", "\u202egnp.exe\u2066", "a\nb\rc", "x" * 100_000]
)
def test_words_of_an_error_are_shown_harmlessly(here: Here, words: str):
    said = json.dumps({"message": words}).encode()
    here.forge.fault("GET", "/issues/1$", status=409, body=said)
    with pytest.raises(ForgeFailed) as caught:
        here.host.items.issue(1)
    shown = str(caught.value)
    assert not set(shown) & set("\x1b\x07\u202e\u2066\n\r")
    assert len(shown) < 600


def test_token_is_in_no_repr():
    token = ForgeToken({"Authorization": "Bearer ghp_secret0123456789"})
    address = ForgeAddress("https://api.github.com", "github.com", {"GITHUB_TOKEN": "ghp_secret0123456789"})
    client = ForgeClient(address, token, str)
    assert "secret" not in f"{token!r} {token} {client!r} {vars(client)!r} {vars(client._line)!r}"
    with pytest.raises(TypeError):
        pickle.dumps(token)


def test_nobody_answers(here: Here):
    with Elsewhere() as gone:
        address = gone.url
    closed = ForgeClient(ForgeAddress(f"{address}/api/v3", "gone"), ForgeToken({}), str, here.time.pace)
    with pytest.raises(ForgeUnreachable):
        closed.get("/user", dict, "/user")
    assert sum(here.time.slept) < 5


def test_moments_can_be_compared():
    assert to_utc("2026-01-02T03:04:05Z") == "2026-01-02T03:04:05Z"
    assert to_utc("2026-01-02T12:04:05.120+09:00") == "2026-01-02T03:04:05.120Z"
    assert to_utc("2026-01-02T03:04:05.000Z") == "2026-01-02T03:04:05.000Z"
    assert to_utc("soon") == "soon"
    assert to_utc("") == ""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For localhost, signed by itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    return folder


def test_certificates_count_only_if_they_are_trusted(certificates: Path):
    with Elsewhere() as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates / "cert.pem", certificates / "key.pem")
        server._server.socket = context.wrap_socket(server._server.socket, server_side=True)
        url = server.url.replace("http://", "https://")

        def client(ca: str) -> ForgeClient:
            return ForgeClient(
                ForgeAddress(url, "own", {}, ca), ForgeToken({"X-Token": "secret"}), str, Time().pace
            )

        with pytest.raises(ForgeUnreachable, match="certificate"):
            client("").get("/user", dict, "/user")
        with pytest.raises(ForgeUnreachable):
            client(str(certificates / "none.pem")).get("/user", dict, "/user")
        assert server.headers == []
        assert client(str(certificates / "cert.pem")).get("/user", dict, "/user")["id"] == 1
        assert server.headers[0]["x-token"] == "secret"
