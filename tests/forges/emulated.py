"""`emulate` (npm), a GitHub with a memory, with git in front of it.

The gateway serves git, mirrors what is pushed into the emulator object by object (it computes the ids that
git does), and passes the rest on. Where emulate 0.12.2 differs from GitHub, it answers as GitHub does:
- the head of a pull request stays where it was when it was opened, and so do its commits;
- there are no commit statuses, no replies to a comment on a line, no GraphQL;
- a pull request has no events, so a change of its base leaves none;
- `permission` has `push` and `pull` instead of `write` and `read`, and a stranger is 404 instead of `read`;
- a new comment is a millisecond older than its last change, as if somebody had edited it;
- a comment of a review has a `position` but no `line`: those are made one by one;
- a merge takes the old head, so people squash with git here, and the gateway says that it is merged.
"""

import base64
import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import yaml
from tools.forges import EMULATE

from ringi.approvals.forge import ForgeKind, Item
from tests.forges.conftest import NODE, offered
from tests.support.forge_server import Answer, ForgeServer, Repo, Request, User

API = "/api/v3"
_LEVELS = {"push": "write", "maintain": "write", "pull": "read", "triage": "read"}


class EmulatedRepo(Repo):
    """What is pushed to it is in the emulator, too."""

    known: frozenset[str] = frozenset()

    def pushed(self) -> None:
        forge = self.forge
        assert isinstance(forge, EmulatedForge)
        if not forge.emulator:
            return
        refs = dict(
            reversed(line.split(" ", 1))
            for line in self.git(
                "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"
            ).splitlines()
        )
        fresh = self.git(
            "rev-list", "--reverse", "--topo-order", *refs.values(), *(f"^{one}" for one in self.known)
        )
        for commit in fresh.splitlines():
            self._mirror(forge, commit)
        self.known |= {*refs.values()}
        for ref, commit in refs.items():
            forge.set_ref(self.path, ref, commit)

    def _mirror(self, forge: "EmulatedForge", commit: str) -> None:
        there = f"/repos/{self.path}/git"
        entries = []
        for line in self.git("ls-tree", "-r", "-z", commit).split("\0"):
            if line:
                meta, _, path = line.partition("\t")
                mode, kind, blob = meta.split()
                entries.append({"path": path, "mode": mode, "type": kind, "sha": blob})
                data = subprocess.run(
                    ["git", f"--git-dir={self.folder}", "cat-file", "blob", blob],
                    capture_output=True,
                    check=True,
                ).stdout
                told = {"content": base64.b64encode(data).decode(), "encoding": "base64"}
                assert forge.ask("POST", f"{there}/blobs", told)["sha"] == blob
        raw = self.git("cat-file", "commit", commit)
        head, _, message = raw.partition("\n\n")
        fields: dict[str, list[str]] = {}
        for line in head.splitlines():
            name, _, value = line.partition(" ")
            fields.setdefault(name, []).append(value)
        tree = forge.ask("POST", f"{there}/trees", {"tree": entries})["sha"]
        assert tree == fields["tree"][0]
        made = forge.ask(
            "POST",
            f"{there}/commits",
            {
                "message": message,
                "tree": tree,
                "parents": fields.get("parent", []),
                "author": _who(fields["author"][0]),
                "committer": _who(fields["committer"][0]),
            },
        )
        assert made["sha"] == commit


class EmulatedForge(ForgeServer):
    """The accounts and the files are set up as on the small forge; all the rest is the emulator's."""

    repo_type = EmulatedRepo

    def __init__(self, folder: Path) -> None:
        super().__init__(ForgeKind.GITHUB, folder)
        self.emulator = ""
        self.admin = ""
        self.told: dict[str, list[dict[str, Any]]] = {}
        self.merged: set[int] = set()
        self.events: dict[str, list[dict[str, Any]]] = {}
        """By the number of the pull request."""
        self.edited: set[int] = set()
        """Comments."""

    def ask(self, method: str, path: str, body: object = None, token: str = "") -> Any:
        status, _, found = self.asked(method, path, body, token or self.admin)
        assert status < 300, (method, path, body, status, found)
        return found

    def asked(self, method: str, path: str, body: object, token: str) -> tuple[int, Mapping[str, str], Any]:
        request = urllib.request.Request(
            f"{self.emulator}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                data = reply.read()
                return reply.status, dict(reply.headers), json.loads(data) if data else None
        except urllib.error.HTTPError as error:
            data = error.read()
            return error.code, dict(error.headers), json.loads(data) if data[:1] in b"{[" else {}

    def set_ref(self, path: str, ref: str, commit: str) -> None:
        there = f"/repos/{path}/git/refs"
        status, _, _ = self.asked(
            "PATCH", f"{there}/{ref.removeprefix('refs/')}", {"sha": commit, "force": True}, self.admin
        )
        if status == 404:
            self.ask("POST", there, {"ref": ref, "sha": commit})

    def _do(self, request: Request, raw: str) -> Answer:
        token = request.headers.get("authorization", "").partition(" ")[2]
        path = raw.removeprefix(API)
        parts = path.strip("/").split("/")
        if raw == "/api/graphql":
            return self._graph(request, token)
        if parts[0] == "repos" and len(parts) > 3:
            own = self._own(request, parts, token)
            if own is not None:
                return own
        query = urllib.parse.urlencode(request.query)
        body = request.json if request.body else None
        status, headers, found = self.asked(request.method, f"{path}?{query}" if query else path, body, token)
        kept = {name: value for name, value in headers.items() if name.lower() in {"link", "retry-after"}}
        return Answer(status, self._as_github(parts, found), kept)

    def _own(self, request: Request, parts: list[str], token: str) -> Answer | None:
        """What the emulator cannot do."""
        repo = self.repos["/".join(parts[1:3])]
        match [request.method, *parts[3:]]:
            case ["PATCH", "issues", "comments", comment]:
                self.edited.add(int(comment))
            case ["POST", "statuses", sha]:
                self.told.setdefault(sha, []).insert(0, {"id": len(self.told), **request.json})
                return Answer(201, self.told[sha][0])
            case ["GET", "issues", number, "events"]:
                return Answer(200, self.events.get(number, []))
            case ["GET", "commits", sha, "statuses"]:
                return Answer(200, self.told.get(sha, []))
            case ["GET", "pulls", number, "commits"]:
                pull = self.ask("GET", f"/repos/{repo.path}/pulls/{number}")
                listed = repo.git("rev-list", "--reverse", pull["head"]["ref"], f"^{pull['base']['ref']}")
                return Answer(200, [{"sha": commit} for commit in listed.split()])
            case ["POST", "pulls", number, "comments", first, "replies"]:
                told = {"body": request.json["body"], "in_reply_to_id": int(first)}
                found = self.ask("POST", f"/repos/{repo.path}/pulls/{number}/comments", told, token)
                return Answer(201, found)
            case ["GET", "collaborators", login, "permission"]:
                status, _, found = self.asked("GET", f"/{'/'.join(parts)}", None, token)
                if status == 404 and login in self.users:
                    return Answer(200, {"permission": "read", "user": {"login": login}})
                level = found.get("permission", "")
                return Answer(status, {**found, "permission": _LEVELS.get(level, level)})
        return None

    def _graph(self, request: Request, token: str) -> Answer:
        """That a draft is one no longer; and no words are edited here before they are read."""
        if "lastEditedAt" in request.json["query"]:
            return Answer(200, {"data": {"node": {"lastEditedAt": None}}})
        wanted = request.json["variables"]["id"]
        for path in self.repos:
            for pull in self.ask("GET", f"/repos/{path}/pulls?state=all"):
                if pull["node_id"] == wanted:
                    draft = "convertPullRequestToDraft" in request.json["query"]
                    self.ask("PATCH", f"/repos/{path}/pulls/{pull['number']}", {"draft": draft}, token)
        return Answer(200, {"data": {}})

    def _as_github(self, parts: list[str], found: Any) -> Any:
        for one in found if isinstance(found, list) else [found]:
            if "comments" in parts and isinstance(one, dict) and one.get("id") not in self.edited:
                one["updated_at"] = one.get("created_at")
            if "pulls" in parts and isinstance(one, dict) and "head" in one:
                tip = self.repos["/".join(parts[1:3])].tip(one["head"]["ref"])
                one["head"]["sha"] = tip or one["head"]["sha"]
                if one["number"] in self.merged:
                    one |= {"merged": True, "merged_at": one["closed_at"]}
        return found


class EmulatedHands:
    """People's buttons, pressed over REST with a token of theirs, as a browser does with a cookie."""

    def __init__(self, forge: EmulatedForge, repo: Repo) -> None:
        self._forge = forge
        self.repo = repo

    def issue(self, author: str, title: str, body: str) -> int:
        return int(self._ask(author, "POST", "/issues", {"title": title, "body": body})["number"])

    def comment(self, item: Item, author: str, body: str) -> str:
        return str(self._ask(author, "POST", f"/issues/{item.number}/comments", {"body": body})["id"])

    def said(self, item: Item, author: str) -> Sequence[str]:
        found = self._ask(author, "GET", f"/issues/{item.number}/comments?per_page=100")
        return [one["body"] for one in found if one["user"]["login"] == author]

    def head(self, number: int) -> str:
        return self.repo.tip(self._ask("alice", "GET", f"/pulls/{number}")["head"]["ref"])

    def statuses(self, commit: str) -> Sequence[str]:
        return [one["state"] for one in self._forge.told.get(commit, ())]

    def push(self, branch: str, files: dict[str, str]) -> str:
        return self.repo.commit(branch, files)

    def review(
        self, number: int, author: str, state: str, body: str = "", lines: Iterable[tuple[str, int, str]] = ()
    ) -> None:
        head = self.head(number)
        for path, line, words in lines:
            told = {"body": words, "path": path, "line": line, "side": "RIGHT", "commit_id": head}
            self._ask(author, "POST", f"/pulls/{number}/comments", told)
        event = {"approve": "APPROVE", "request_changes": "REQUEST_CHANGES"}[state]
        self._ask(
            author, "POST", f"/pulls/{number}/reviews", {"event": event, "body": body, "commit_id": head}
        )

    def retarget(self, number: int, author: str, *bases: str) -> None:
        for base in bases:
            self._ask(author, "PATCH", f"/pulls/{number}", {"base": base})
            at = self._forge.now().strftime("%Y-%m-%dT%H:%M:%SZ")
            event = {"event": "base_ref_changed", "created_at": at}
            self._forge.events.setdefault(str(number), []).append(event)

    def squash(self, number: int, author: str) -> str:
        pull = self._ask(author, "GET", f"/pulls/{number}")
        base, head = (self.repo.tip(pull[side]["ref"]) for side in ("base", "head"))
        tree = self.repo.git("merge-tree", "--write-tree", base, head).splitlines()[0]
        made = self.repo.git("commit-tree", tree, "-p", base, "-m", f"{pull['title']} (#{number})")
        self.repo.git("update-ref", f"refs/heads/{pull['base']['ref']}", made, base)
        self.repo.pushed()
        self._ask(author, "PATCH", f"/pulls/{number}", {"state": "closed"})
        self._forge.merged.add(number)
        return made

    def _ask(self, author: str, method: str, below: str, body: object = None) -> Any:
        token = self._forge.users[author].token
        return self._forge.ask(method, f"/repos/{self.repo.path}{below}", body, token)


@contextmanager
def emulated(
    folder: Path, users: Iterable[str], path: str, files: Mapping[str, str], members: Mapping[str, str]
) -> Iterator[EmulatedForge]:
    """The first user owns everything."""
    owner, name = path.split("/")
    with EmulatedForge(folder / "forge") as forge:
        accounts = [forge.user(login) for login in users]
        seed = folder / "seed.yaml"
        seed.write_text(yaml.safe_dump(_seed(accounts, owner, name, members)))
        forge.admin = accounts[0].token
        with _started(seed, folder / "emulate.log", forge.url) as url:
            repo = forge.project(path, files, members)
            forge.emulator = url
            team = {"name": "core", "privacy": "closed"}
            forge.ask("POST", f"/orgs/{owner}/teams", team)
            forge.ask("PUT", f"/orgs/{owner}/teams/core/memberships/{accounts[0].login}", {"role": "member"})
            for login, level in members.items():
                told = {"permission": {"write": "push", "read": "pull"}.get(level, level)}
                forge.ask("PUT", f"/repos/{path}/collaborators/{login}", told)
            repo.pushed()
            yield forge


def _seed(users: list[User], owner: str, name: str, members: Mapping[str, str]) -> dict[str, Any]:
    return {
        "tokens": {
            user.token: {"login": user.login, "scopes": ["repo", "user", "admin:org"]} for user in users
        },
        "github": {
            "users": [
                {"login": user.login, "name": user.login, "email": f"{user.login}@example.invalid"}
                for user in users
            ],
            "orgs": [
                {"login": owner, "name": owner, "members": [{"login": users[0].login, "role": "admin"}]}
            ],
            "repos": [{"owner": owner, "name": name, "private": True, "auto_init": False}],
        },
    }


@contextmanager
def _started(seed: Path, log: Path, shown: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(NODE), str(EMULATE), "start", "--service", "github", "--port", str(port)]
    words += ["--seed", str(seed), "--base-url", shown]
    with (
        log.open("wb") as out,
        subprocess.Popen(
            words,
            cwd=log.parent,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=offered(),
        ) as process,
    ):
        try:
            until = time.monotonic() + 120
            while True:
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/meta", timeout=10).read()
                    break
                except OSError:
                    assert process.poll() is None, log.read_text(encoding="utf-8")
                    assert time.monotonic() < until
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _who(line: str) -> dict[str, str]:
    """From `Name <address> 1700000000 +0900`."""
    name, _, rest = line.partition(" <")
    address, _, when = rest.partition("> ")
    seconds, zone = when.split()
    minutes = int(zone[1:3]) * 60 + int(zone[3:])
    offset = timedelta(minutes=-minutes if zone[0] == "-" else minutes)
    at = datetime.fromtimestamp(int(seconds), UTC).astimezone(timezone(offset))
    return {"name": name, "email": address, "date": at.isoformat()}
