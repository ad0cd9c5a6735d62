"""The face of GitLab's REST interface: /api/v4."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from tests.support.forge_server import Answer, Face, Request
from tests.support.forge_state import LEVELS, ChangeThing, LineNote, Note, Refused, Repo, Thing, User

_REPO = r"/projects/(?P<project>[^/]+)"
_IID = r"(?P<number>\d+)"
_NOTED = rf"{_REPO}/(?P<kind>issues|merge_requests)/{_IID}/notes"
_MR = rf"{_REPO}/merge_requests/{_IID}"
_ID = r"(?P<id>[0-9a-f]+)"


def when(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.000Z")


class GitLabFace(Face):
    prefix = "/api/v4"
    default_page = 20

    def token(self, request: Request) -> str:
        kind, _, told = request.headers.get("authorization", "").partition(" ")
        return (
            request.headers.get("private-token")
            or request.headers.get("job-token")
            or (told if kind.lower() == "bearer" else "")
        )

    def refusal(self, problem: Refused) -> Answer:
        words = {401: "401 Unauthorized", 403: "403 Forbidden", 404: "404 Not found"}.get(problem.status)
        if problem.status == 422:  # it says 409 for a second one, and 400 for what is wrong
            status = 409 if "already exists" in problem.words else 400
            said = f"Another open merge request already exists for this source branch: {problem.words}"
            return Answer(status, {"message": [said] if status == 409 else {"base": [problem.words]}})
        return Answer(problem.status, {"message": words or problem.words})

    def page_headers(self, number: int, last: int, total: int, size: int) -> dict[str, str]:
        after = str(number + 1) if number < last else ""
        return {
            "X-Page": str(number),
            "X-Next-Page": after,
            "X-Per-Page": str(size),
            "X-Total": str(total),
            "X-Total-Pages": str(last),
        }

    def routes(self) -> Mapping[str, Callable[..., Any]]:
        return {
            "GET /user": lambda _: {**self.account(self.me()), "bot": self.me().bot},
            "GET /job": lambda _: {"id": 1, "user": self.account(self.me())},
            "GET /users": self.get_users,
            r"GET /users/(?P<id>\d+)": self.get_user,
            f"GET {_REPO}": self.get_project,
            rf"GET {_REPO}/members/all/(?P<id>\d+)": self.project_member,
            r"GET /groups/(?P<group>[^/]+)/members/all/(?P<id>\d+)": self.group_member,
            "GET /groups/(?P<group>[^/]+)": self.get_group,
            f"GET {_REPO}/issues/{_IID}": self.get_issue,
            f"PUT {_REPO}/issues/{_IID}": self.put_issue,
            f"GET {_NOTED}": self.get_notes,
            f"POST {_NOTED}": self.post_note,
            f"GET {_NOTED}/{_ID}": self.get_note,
            f"PUT {_NOTED}/{_ID}": self.put_note,
            f"GET {_REPO}/merge_requests": self.get_changes,
            f"POST {_REPO}/merge_requests": self.post_change,
            f"GET {_MR}": self.get_change,
            f"PUT {_MR}": self.put_change,
            **self.review_routes(),
        }

    def review_routes(self) -> Mapping[str, Callable[..., Any]]:
        return {
            f"GET {_MR}/commits": self.get_commits,
            f"GET {_MR}/versions": self.get_versions,
            f"GET {_MR}/approvals": self.get_approvals,
            f"GET {_MR}/reviewers": self.get_reviewers,
            f"GET {_MR}/discussions": self.get_discussions,
            f"GET {_MR}/discussions/{_ID}": self.get_discussion,
            f"POST {_MR}/discussions/{_ID}/notes": self.post_reply,
            f"POST {_REPO}/statuses/(?P<sha>[0-9a-f]+)": self.post_status,
            f"GET {_REPO}/repository/commits/(?P<sha>[0-9a-f]+)": self.get_commit,
            f"GET {_REPO}/repository/commits/(?P<sha>[0-9a-f]+)/statuses": self.get_statuses,
            f"GET {_REPO}/repository/tree": self.get_tree,
        }

    # Shapes.

    def account(self, user: User) -> dict[str, Any]:
        return {
            "id": user.id,
            "username": user.login,
            "name": user.login.title(),
            "state": "active",
            "web_url": f"{self.forge.url}/{user.login}",
        }

    def issue(self, repo: Repo, thing: Thing) -> dict[str, Any]:
        place = "merge_requests" if isinstance(thing, ChangeThing) else "issues"
        return {
            "id": 10_000 + thing.number,
            "iid": thing.number,
            "project_id": repo.id,
            "title": thing.title,
            "description": thing.body or None,
            "author": self.account(thing.author),
            "labels": thing.labels,
            "state": "opened" if thing.open else "closed",
            "web_url": f"{repo.url}/-/{place}/{thing.number}",
            "created_at": when(thing.created),
        }

    def change(self, repo: Repo, change: ChangeThing) -> dict[str, Any]:
        draft = change.title.lower().startswith(("draft:", "wip:", "[draft]"))
        head = self.forge.repos.get(change.head_project)
        return {
            **self.issue(repo, change),
            "state": "merged" if change.merged else "opened" if change.open else "closed",
            "draft": draft,
            "work_in_progress": draft,
            "source_branch": change.head,
            "target_branch": change.base,
            "source_project_id": head.id if head else None,
            "target_project_id": repo.id,
            "sha": change.head_commit,
        }

    def note(self, thing: Thing, note: Note) -> dict[str, Any]:
        shape: dict[str, Any] = {
            "id": note.id,
            "type": "DiffNote" if isinstance(note, LineNote) else None,
            "body": note.body,
            "author": self.account(note.author),
            "created_at": when(note.created),
            "updated_at": when(note.updated),
            "system": note.system,
            "noteable_iid": thing.number,
            "noteable_type": "MergeRequest" if isinstance(thing, ChangeThing) else "Issue",
        }
        if isinstance(note, LineNote):
            shape["position"] = {
                "head_sha": note.commit,
                "old_path": note.path,
                "new_path": note.path,
                "position_type": "text",
                "old_line": note.original or None if note.old_side else None,
                "new_line": None if note.old_side else note.original or None,
            }
            shape["resolvable"] = True
        return shape

    # Calls.

    def thing(self, repo: Repo, kind: str, number: str) -> Thing:
        things: Mapping[int, Thing] = repo.issues if kind == "issues" else repo.changes
        if int(number) not in things:
            raise Refused(404, "Not found")
        return things[int(number)]

    def merge_request(self, project: str, number: str, level: str = "read") -> tuple[Repo, ChangeThing]:
        repo = self.repo(project, level)
        if int(number) not in repo.changes:
            raise Refused(404, "Not found")
        return repo, repo.changes[int(number)]

    def get_users(self, request: Request) -> Any:
        self.me()
        wanted = request.query.get("username", "").lower()
        return [self.account(user) for user in self.forge.users.values() if user.login.lower() == wanted]

    def get_user(self, _: Request, id: str) -> Any:  # noqa: A002
        for user in self.forge.users.values():
            if user.id == int(id):
                return {**self.account(user), "bot": user.bot}
        raise Refused(404, "Not found")

    def get_project(self, _: Request, project: str) -> Any:
        repo = self.repo(project)
        return {
            "id": repo.id,
            "path_with_namespace": repo.path,
            "default_branch": "main",
            "web_url": repo.url,
            "visibility": "public" if repo.public else "private",
        }

    def member(self, user: User, level: int) -> Any:
        return {**self.account(user), "access_level": level}

    def project_member(self, _: Request, project: str, id: str) -> Any:  # noqa: A002
        repo = self.repo(project)
        for login, level in repo.members.items():
            if self.forge.users[login].id == int(id):
                return self.member(self.forge.users[login], LEVELS[level])
        raise Refused(404, "Not found")

    def group_member(self, _: Request, group: str, id: str) -> Any:  # noqa: A002
        self.me()
        for login in self.forge.groups.get(group, ()):
            if self.forge.users[login].id == int(id):
                return self.member(self.forge.users[login], 30)
        raise Refused(404, "Not found")

    def get_group(self, _: Request, group: str) -> Any:
        self.me()
        if group not in self.forge.groups:
            raise Refused(404, "Not found")
        return {"full_path": group}

    def get_issue(self, _: Request, project: str, number: str) -> Any:
        repo = self.repo(project)
        return self.issue(repo, self.thing(repo, "issues", number))

    def put_issue(self, request: Request, project: str, number: str) -> Any:
        repo = self.repo(project, "write")
        thing = self.thing(repo, "issues", number)
        self.relabel(repo, thing, request)
        return self.issue(repo, thing)

    def relabel(self, repo: Repo, thing: Thing, request: Request) -> None:
        told = request.json
        for label in told.get("add_labels", []):
            repo.labels.add(label)
            if label not in thing.labels:
                thing.labels.append(label)
        gone = told.get("remove_labels", [])
        thing.labels = [label for label in thing.labels if label not in gone]

    def get_notes(self, request: Request, project: str, kind: str, number: str) -> Any:
        repo = self.repo(project)
        thing = self.thing(repo, kind, number)
        notes = list(thing.comments)
        if isinstance(thing, ChangeThing):
            notes += thing.remarks
        oldest = request.query.get("sort", "desc") == "asc"
        notes.sort(key=lambda one: (one.created, one.id), reverse=not oldest)
        answer = self.page(request, notes)  # it counts what it does not show
        return answer._replace(body=[self.note(thing, one) for one in answer.body if not one.internal])

    def post_note(self, request: Request, project: str, kind: str, number: str) -> Any:
        repo = self.repo(project)
        thing = self.thing(repo, kind, number)
        if not request.json.get("body"):
            raise Refused(400, "body is missing")
        return Answer(201, self.note(thing, repo.comment(thing, self.me().login, request.json["body"])))

    def noted(self, thing: Thing, identity: str) -> Note:
        notes = [*thing.comments, *(thing.remarks if isinstance(thing, ChangeThing) else ())]
        for note in notes:
            if str(note.id) == identity:
                return note
        raise Refused(404, "Not found")

    def get_note(self, _: Request, project: str, kind: str, number: str, id: str) -> Any:  # noqa: A002
        thing = self.thing(self.repo(project), kind, number)
        return self.note(thing, self.noted(thing, id))

    def put_note(self, request: Request, project: str, kind: str, number: str, id: str) -> Any:  # noqa: A002
        repo = self.repo(project)
        thing = self.thing(repo, kind, number)
        note = self.noted(thing, id)
        if note.author is not self.me():
            raise Refused(403, "Forbidden")
        repo.edit_comment(note, request.json["body"])
        return self.note(thing, note)

    def get_changes(self, request: Request, project: str) -> Any:
        repo = self.repo(project)
        state, branch = request.query.get("state", "all"), request.query.get("source_branch")
        found = [
            shape
            for change in sorted(repo.changes.values(), key=lambda one: -one.number)
            for shape in [self.change(repo, change)]
            if state in {"all", shape["state"]} and branch in {None, change.head}
        ]
        return self.page(request, found)

    def post_change(self, request: Request, project: str) -> Any:
        repo = self.repo(project, "write")
        told = request.json
        change = repo.open_change(
            self.me().login,
            told["source_branch"],
            told["target_branch"],
            told["title"],
            told.get("description") or "",
        )
        return Answer(201, self.change(repo, change))

    def get_change(self, _: Request, project: str, number: str) -> Any:
        return self.change(*self.merge_request(project, number))

    def put_change(self, request: Request, project: str, number: str) -> Any:
        repo, change = self.merge_request(project, number, "write")
        told = request.json
        change.title = told.get("title", change.title)
        change.body = told.get("description", change.body)
        if told.get("target_branch", change.base) != change.base:
            repo.retarget(change.number, told["target_branch"], self.me().login)
        if event := told.get("state_event"):
            if event == "reopen" and change.merged:
                raise Refused(405, "405 Method Not Allowed")
            change.open = event == "reopen"
        self.relabel(repo, change, request)
        return self.change(repo, change)

    def get_commits(self, request: Request, project: str, number: str) -> Any:
        repo, change = self.merge_request(project, number)
        listed = repo.git("rev-list", f"refs/heads/{change.base}..{change.head_commit}")
        return self.page(request, [{"id": sha} for sha in listed.split()])

    def get_versions(self, request: Request, project: str, number: str) -> Any:
        _, change = self.merge_request(project, number)
        shapes = [
            {"id": identity, "head_commit_sha": head, "created_at": when(at), "state": "collected"}
            for identity, head, at in reversed(change.versions)
        ]
        return self.page(request, shapes)

    def get_approvals(self, _: Request, project: str, number: str) -> Any:
        _, change = self.merge_request(project, number)
        approved = {}
        for review in change.reviews:
            if review.state == "APPROVED":
                approved[review.author.login] = review
        shapes = [
            {"user": self.account(review.author), "approved_at": when(review.at)}
            for review in approved.values()
        ]
        return {"iid": change.number, "approved": bool(shapes), "approved_by": shapes}

    def get_reviewers(self, _: Request, project: str, number: str) -> Any:
        _, change = self.merge_request(project, number)
        return [
            {
                "user": self.account(self.forge.users[login]),
                "state": state,
                "created_at": when(change.created),
            }
            for login, state in change.requested.items()
        ]

    def discussions(self, change: ChangeThing) -> list[dict[str, Any]]:
        found: dict[str, list[Note]] = {}
        for note in sorted([*change.comments, *change.remarks], key=lambda one: one.created):
            thread = note.thread if isinstance(note, LineNote) else f"{note.id:040x}"
            found.setdefault(thread, []).append(note)
        return [
            {
                "id": thread,
                "individual_note": not isinstance(notes[0], LineNote),
                "notes": [self.note(change, note) for note in notes],
            }
            for thread, notes in found.items()
        ]

    def get_discussions(self, request: Request, project: str, number: str) -> Any:
        _, change = self.merge_request(project, number)
        return self.page(request, self.discussions(change))

    def get_discussion(self, _: Request, project: str, number: str, id: str) -> Any:  # noqa: A002
        _, change = self.merge_request(project, number)
        for shape in self.discussions(change):
            if shape["id"] == id:
                return shape
        raise Refused(404, "Not found")

    def post_reply(self, request: Request, project: str, number: str, id: str) -> Any:  # noqa: A002
        repo, change = self.merge_request(project, number)
        for first in change.remarks:
            if first.thread == id:
                note = repo.remark(
                    change.number, self.me().login, first.path, first.line or 0, request.json["body"],
                    old_side=first.old_side, answers=first.id,
                )  # fmt: skip
                return Answer(201, self.note(change, note))
        raise Refused(404, "Not found")

    def post_status(self, request: Request, project: str, sha: str) -> Any:
        repo = self.repo(project, "write")
        told = request.json
        if repo.git("cat-file", "--batch-check", data=f"{sha}\n".encode()).endswith("missing"):
            raise Refused(404, "Not found")
        before = repo.statuses.setdefault(sha, [])
        if (
            before
            and before[0].get("name") == told.get("name")
            and before[0]["state"] == "pending" == told["state"]
        ):
            raise Refused(400, f"Cannot transition status via :enqueue from :{told['state']}")
        before.insert(0, {**told, "status": told["state"]})
        return Answer(201, before[0])

    def get_commit(self, _: Request, project: str, sha: str) -> Any:
        repo = self.repo(project)
        if "commit" not in repo.git("cat-file", "--batch-check", data=f"{sha}\n".encode()).split():
            raise Refused(404, "Not found")
        return {"id": sha, "parent_ids": repo.git("show", "-s", "--format=%P", sha).split()}

    def get_statuses(self, request: Request, project: str, sha: str) -> Any:
        return self.page(request, self.repo(project).statuses.get(sha, []))

    def get_tree(self, request: Request, project: str) -> Any:
        repo = self.repo(project)
        ref = request.query.get("ref", "main")
        if repo.git("cat-file", "--batch-check", data=f"{ref}\n".encode()).endswith("missing"):
            raise Refused(404, "Not found")
        entries = []
        for line in filter(None, repo.git("ls-tree", "-r", "-t", "-z", ref).split("\0")):
            head, _, path = line.partition("\t")
            mode, kind, oid = head.split()
            entries.append(
                {"id": oid, "name": path.rpartition("/")[2], "type": kind, "path": path, "mode": mode}
            )
        return self.page(request, entries)
