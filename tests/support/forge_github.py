"""The face of GitHub's REST interface, as of GitHub Enterprise Server: /api/v3."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from tests.support.forge_server import Answer, Face, Request
from tests.support.forge_state import ChangeThing, LineNote, Note, Refused, Repo, ReviewGiven, Thing, User

_REPO = r"/repos/(?P<owner>[^/]+)/(?P<name>[^/]+)"
_N = r"(?P<number>\d+)"
_ID = r"(?P<id>\d+)"


def when(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


class GitHubFace(Face):
    prefix = "/api/v3"

    def token(self, request: Request) -> str:
        kind, _, told = request.headers.get("authorization", "").partition(" ")
        return told if kind.lower() in {"bearer", "token"} else ""

    def below(self, raw: str) -> str:
        return "/graphql" if raw == "/api/graphql" else super().below(raw)

    def refusal(self, problem: Refused) -> Answer:
        body = {"message": problem.words, "documentation_url": "https://docs.github.com/rest"}
        if problem.status == 422:
            body["errors"] = [{"resource": "PullRequest", "message": problem.words, **problem.more}]  # type: ignore[assignment]
        return Answer(problem.status, body, {"X-GitHub-Request-Id": "ABCD:1234"})

    def routes(self) -> Mapping[str, Callable[..., Any]]:
        return {
            "GET /user": lambda _: self.account(self.me()),
            f"GET {_REPO}": self.get_repo,
            f"GET {_REPO}/collaborators/(?P<login>[^/]+)/permission": self.permission,
            "GET /orgs/(?P<org>[^/]+)/teams/(?P<team>[^/]+)/memberships/(?P<login>[^/]+)": self.membership,
            "GET /orgs/(?P<org>[^/]+)/teams/(?P<team>[^/]+)": self.get_team,
            "GET /orgs/(?P<org>[^/]+)": self.get_team,
            "GET /orgs/(?P<org>[^/]+)/members/(?P<login>[^/]+)": self.member,
            f"GET {_REPO}/issues/{_N}": self.get_issue,
            f"GET {_REPO}/issues/{_N}/comments": self.get_comments,
            f"POST {_REPO}/issues/{_N}/comments": self.post_comment,
            f"GET {_REPO}/issues/{_N}/events": self.get_events,
            f"GET {_REPO}/issues/comments/{_ID}": self.get_comment,
            f"PATCH {_REPO}/issues/comments/{_ID}": self.patch_comment,
            f"POST {_REPO}/issues/{_N}/labels": self.add_labels,
            f"DELETE {_REPO}/issues/{_N}/labels/(?P<label>.+)": self.remove_label,
            f"POST {_REPO}/labels": self.make_label,
            f"GET {_REPO}/pulls": self.get_pulls,
            f"POST {_REPO}/pulls": self.post_pull,
            f"GET {_REPO}/pulls/{_N}": self.get_pull,
            f"PATCH {_REPO}/pulls/{_N}": self.patch_pull,
            f"GET {_REPO}/pulls/{_N}/commits": self.get_commits,
            **self.review_routes(),
        }

    def review_routes(self) -> Mapping[str, Callable[..., Any]]:
        return {
            f"GET {_REPO}/pulls/{_N}/reviews": self.get_reviews,
            f"GET {_REPO}/pulls/{_N}/reviews/{_ID}": self.get_review,
            f"GET {_REPO}/pulls/{_N}/comments": self.get_remarks,
            f"POST {_REPO}/pulls/{_N}/comments/{_ID}/replies": self.reply,
            f"POST {_REPO}/statuses/(?P<sha>[0-9a-f]+)": self.post_status,
            f"GET {_REPO}/commits/(?P<sha>[0-9a-f]+)/statuses": self.get_statuses,
            f"GET {_REPO}/git/trees/(?P<sha>[0-9a-f]+)": self.get_tree,
            f"GET {_REPO}/git/commits/(?P<sha>[0-9a-f]+)": self.get_git_commit,
            "POST /graphql": self.graphql,
        }

    # Shapes.

    def account(self, user: User) -> dict[str, Any]:
        return {
            "login": user.login,
            "id": user.id,
            "type": "Bot" if user.bot else "User",
            "html_url": f"{self.forge.url}/{user.login}",
        }

    def issue(self, repo: Repo, thing: Thing) -> dict[str, Any]:
        change = isinstance(thing, ChangeThing)
        url = f"{repo.url}/{'pull' if change else 'issues'}/{thing.number}"
        shape = {
            "number": thing.number,
            "title": thing.title,
            "body": thing.body or None,
            "user": self.account(thing.author),
            "labels": [{"name": name} for name in thing.labels],
            "state": "open" if thing.open else "closed",
            "html_url": url,
            "created_at": when(thing.created),
            "comments": len(thing.comments),
        }
        return {**shape, "pull_request": {"html_url": url}} if change else shape

    def comment(self, repo: Repo, thing: Thing, note: Note) -> dict[str, Any]:
        return {
            "id": note.id,
            "node_id": f"IC_{note.id}",
            "user": self.account(note.author),
            "body": note.body,
            "created_at": when(note.created),
            "updated_at": when(note.updated),
            "html_url": f"{self.issue(repo, thing)['html_url']}#issuecomment-{note.id}",
            "issue_url": f"{self.forge.url}{self.prefix}/repos/{repo.path}/issues/{thing.number}",
        }

    def pull(self, repo: Repo, change: ChangeThing) -> dict[str, Any]:
        head = self.forge.repos.get(change.head_project)
        return {
            **self.issue(repo, change),
            "draft": change.draft,
            "merged": change.merged,
            "merged_at": when(change.created) if change.merged else None,
            "node_id": f"PR_{change.number}",
            "head": {
                "ref": change.head,
                "sha": change.head_commit,
                "repo": {"full_name": head.path} if head else None,
            },
            "base": {"ref": change.base, "sha": repo.tip(change.base), "repo": {"full_name": repo.path}},
        }

    def review(self, repo: Repo, change: ChangeThing, review: ReviewGiven) -> dict[str, Any]:
        return {
            "id": review.id,
            "node_id": f"PRR_{review.id}",
            "user": self.account(review.author),
            "body": review.body,
            "state": review.state,
            "commit_id": review.commit,
            "submitted_at": when(review.at),
            "html_url": f"{repo.url}/pull/{change.number}#pullrequestreview-{review.id}",
        }

    def remark(self, repo: Repo, change: ChangeThing, note: LineNote) -> dict[str, Any]:
        shape = {
            "id": note.id,
            "user": self.account(note.author),
            "body": note.body,
            "path": note.path,
            "line": note.line,
            "original_line": note.original or None,
            "side": "LEFT" if note.old_side else "RIGHT",
            "subject_type": "line" if note.original else "file",
            "commit_id": change.head_commit,
            "original_commit_id": note.commit,
            "created_at": when(note.created),
            "updated_at": when(note.updated),
            "html_url": f"{repo.url}/pull/{change.number}#discussion_r{note.id}",
            "pull_request_review_id": note.review,
        }
        return {**shape, "in_reply_to_id": note.answers} if note.answers else shape

    # Calls.

    def thing(self, repo: Repo, number: str) -> Thing:
        found = repo.issues.get(int(number)) or repo.changes.get(int(number))
        if found is None:
            raise Refused(404, "Not Found")
        return found

    def change(self, repo: Repo, number: str) -> ChangeThing:
        if int(number) not in repo.changes:
            raise Refused(404, "Not Found")
        return repo.changes[int(number)]

    def get_repo(self, _: Request, owner: str, name: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        level = repo.level(self.user)
        return {
            "id": repo.id,
            "full_name": repo.path,
            "default_branch": "main",
            "private": not repo.public,
            "html_url": repo.url,
            "permissions": {"admin": level == "admin", "push": level in {"write", "admin"}, "pull": True},
        }

    def permission(self, _: Request, owner: str, name: str, login: str) -> Any:
        repo = self.repo(f"{owner}/{name}", "write")
        user = self.forge.users.get(login)
        if user is None:
            raise Refused(404, f"{login} is not a user")
        level = repo.level(user)
        return {"permission": level, "role_name": level, "user": self.account(user)}

    def membership(self, _: Request, org: str, team: str, login: str) -> Any:
        self.me()
        if login not in self.forge.groups.get(f"{org}/{team}", set()):
            raise Refused(404, "Not Found")
        return {"state": "active", "role": "member"}

    def get_team(self, _: Request, org: str, team: str = "") -> Any:
        self.me()
        if (f"{org}/{team}" if team else org) not in self.forge.groups:
            raise Refused(404, "Not Found")
        return {"name": team or org, "slug": team}

    def member(self, _: Request, org: str, login: str) -> Any:
        if login not in self.forge.groups.get(org, set()):
            raise Refused(404, "Not Found")
        return Answer(204)

    def get_issue(self, _: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        return self.issue(repo, self.thing(repo, number))

    def get_comments(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        thing = self.thing(repo, number)
        return self.page(request, [self.comment(repo, thing, note) for note in thing.comments])

    def get_events(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        thing = self.thing(repo, number)
        events = thing.events if isinstance(thing, ChangeThing) else []
        shapes = [
            {
                "id": one.id,
                "actor": self.account(one.actor),
                "event": one.event,
                "commit_id": None,
                "created_at": when(one.at),
            }
            for one in events
        ]
        return self.page(request, shapes)

    def post_comment(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        thing = self.thing(repo, number)
        body = request.json.get("body")
        if not isinstance(body, str) or not body or len(body) > 65_536:
            raise Refused(422, "Validation Failed")
        note = repo.comment(thing, self.me().login, body)
        return Answer(201, self.comment(repo, thing, note))

    def noted(self, repo: Repo, identity: str) -> tuple[Thing, Note]:
        for thing in (*repo.issues.values(), *repo.changes.values()):
            for note in thing.comments:
                if note.id == int(identity):
                    return thing, note
        raise Refused(404, "Not Found")

    def get_comment(self, _: Request, owner: str, name: str, id: str) -> Any:  # noqa: A002
        repo = self.repo(f"{owner}/{name}")
        return self.comment(repo, *self.noted(repo, id))

    def patch_comment(self, request: Request, owner: str, name: str, id: str) -> Any:  # noqa: A002
        repo = self.repo(f"{owner}/{name}")
        thing, note = self.noted(repo, id)
        if note.author is not self.me() and repo.level(self.user) not in {"write", "admin"}:
            raise Refused(403, "Must have admin rights to Repository.")
        repo.edit_comment(note, request.json["body"])
        return self.comment(repo, thing, note)

    def add_labels(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}", "write")
        thing = self.thing(repo, number)
        for label in request.json["labels"]:
            repo.labels.add(label)  # GitHub makes those that are missing
            if label not in thing.labels:
                thing.labels.append(label)
        return [{"name": one} for one in thing.labels]

    def remove_label(self, _: Request, owner: str, name: str, number: str, label: str) -> Any:
        repo = self.repo(f"{owner}/{name}", "write")
        thing = self.thing(repo, number)
        if label not in thing.labels:
            raise Refused(404, "Label does not exist")
        thing.labels.remove(label)
        return [{"name": one} for one in thing.labels]

    def make_label(self, request: Request, owner: str, name: str) -> Any:
        repo = self.repo(f"{owner}/{name}", "write")
        label = request.json["name"]
        if label in repo.labels:
            raise Refused(422, "Validation Failed", code="already_exists")
        repo.labels.add(label)
        return Answer(201, {"name": label})

    def get_pulls(self, request: Request, owner: str, name: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        state, head = request.query.get("state", "open"), request.query.get("head", "")
        found = [
            change
            for change in sorted(repo.changes.values(), key=lambda one: -one.number)
            if state in {"all", "open" if change.open else "closed"}
            and (":" not in head or head == f"{repo.owner}:{change.head}")
        ]
        return self.page(request, [self.pull(repo, change) for change in found])

    def post_pull(self, request: Request, owner: str, name: str) -> Any:
        repo = self.repo(f"{owner}/{name}", "write")
        told = request.json
        change = repo.open_change(
            self.me().login,
            told["head"].rpartition(":")[2],
            told["base"],
            told["title"],
            told.get("body") or "",
            draft=told.get("draft", False),
        )
        return Answer(201, self.pull(repo, change))

    def get_pull(self, _: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        return self.pull(repo, self.change(repo, number))

    def patch_pull(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}", "write")
        change, told = self.change(repo, number), request.json
        change.title = told.get("title", change.title)
        change.body = told.get("body", change.body)
        if told.get("base", change.base) != change.base:
            repo.retarget(change.number, told["base"], self.me().login)
        if "state" in told:
            if told["state"] == "open" and (change.merged or not repo.tip(change.head)):
                raise Refused(422, "state cannot be changed.")
            change.open = told["state"] == "open"
        return self.pull(repo, change)

    def get_commits(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        change = self.change(repo, number)
        listed = repo.git("rev-list", "--reverse", f"refs/heads/{change.base}..{change.head_commit}")
        return self.page(request, [{"sha": sha} for sha in listed.split()][:250])

    def get_reviews(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        change = self.change(repo, number)
        return self.page(request, [self.review(repo, change, one) for one in change.reviews])

    def get_review(self, _: Request, owner: str, name: str, number: str, id: str) -> Any:  # noqa: A002
        repo = self.repo(f"{owner}/{name}")
        change = self.change(repo, number)
        found = [one for one in change.reviews if one.id == int(id)]
        if not found:
            raise Refused(404, "Not Found")
        return self.review(repo, change, found[0])

    def get_remarks(self, request: Request, owner: str, name: str, number: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        change = self.change(repo, number)
        return self.page(request, [self.remark(repo, change, note) for note in change.remarks])

    def reply(self, request: Request, owner: str, name: str, number: str, id: str) -> Any:  # noqa: A002
        repo = self.repo(f"{owner}/{name}")
        change = self.change(repo, number)
        above = [note for note in change.remarks if note.id == int(id) and not note.answers]
        if not above:
            raise Refused(404, "Not Found")
        note = repo.remark(
            change.number, self.me().login, above[0].path, above[0].line or 0, request.json["body"],
            answers=above[0].id,
        )  # fmt: skip
        return Answer(201, self.remark(repo, change, note))

    def post_status(self, request: Request, owner: str, name: str, sha: str) -> Any:
        repo = self.repo(f"{owner}/{name}", "write")
        told = request.json
        if len(told.get("description") or "") > 140:
            raise Refused(422, "Validation Failed", code="custom")
        if repo.git("cat-file", "--batch-check", data=f"{sha}\n".encode()).endswith("missing"):
            raise Refused(422, f"No commit found for SHA: {sha}")
        repo.statuses.setdefault(sha, []).insert(0, told)
        return Answer(201, told)

    def get_statuses(self, request: Request, owner: str, name: str, sha: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        return self.page(request, repo.statuses.get(sha, []))

    def get_tree(self, _: Request, owner: str, name: str, sha: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        if repo.git("cat-file", "--batch-check", data=f"{sha}\n".encode()).endswith("missing"):
            raise Refused(404, "Not Found")
        lines = repo.git("ls-tree", "-r", "-t", "-z", sha).split("\0")
        entries = []
        for line in filter(None, lines):
            head, _, path = line.partition("\t")
            mode, kind, oid = head.split()
            entries.append({"path": path, "mode": mode, "type": kind, "sha": oid})
        return {"sha": sha, "tree": entries, "truncated": False}

    def get_git_commit(self, _: Request, owner: str, name: str, sha: str) -> Any:
        repo = self.repo(f"{owner}/{name}")
        if (
            not repo.git("cat-file", "--batch-check", data=f"{sha}\n".encode())
            .split(" ", 1)[-1]
            .startswith("commit")
        ):
            raise Refused(404, "Not Found")
        parents = repo.git("show", "-s", "--format=%P", sha).split()
        return {"sha": sha, "parents": [{"sha": one} for one in parents]}

    def written(self) -> Iterator[Note | ReviewGiven]:
        for repo in self.forge.repos.values():
            for thing in (*repo.issues.values(), *repo.changes.values()):
                yield from thing.comments
            for change in repo.changes.values():
                yield from change.reviews

    def graphql(self, request: Request) -> Any:
        """Whose token it is, whether words were edited, and the mutations that mark a draft as ready."""
        me, told = self.me(), request.json
        if "lastEditedAt" in told["query"]:
            identity = int(told["variables"]["id"].rpartition("_")[2])
            edited = next((one.edited for one in self.written() if one.id == identity), None)
            return {"data": {"node": {"lastEditedAt": when(edited) if edited else None}}}
        if "viewer" in told["query"]:
            return {"data": {"viewer": {"login": me.login, "databaseId": me.id}}}
        ready = "markPullRequestReadyForReview" in told["query"]
        number = int(told["variables"]["id"].removeprefix("PR_"))
        for repo in self.forge.repos.values():
            if number in repo.changes:
                repo.changes[number].draft = not ready
        return {"data": {"done": {"clientMutationId": None}}}
