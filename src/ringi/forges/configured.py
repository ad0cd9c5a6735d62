"""Which forge an address leads to, and the token that belongs to it (see docs/forges.md).

A token of the environment goes to the public forge of its kind, to the one that the person's own
configuration names, and to the one whose job this is. For every other host only git's credential helpers are
asked, which keep logins by host.
"""

# ruff: noqa: PLC0415  # most commands know no forge

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from ringi.approvals.forge import ForgeKind, Item, ItemKind, Project
from ringi.approvals.view import NAME_ISSUE
from ringi.config.keys import Config, KeyOrigin
from ringi.errors import ForgeFailed, NoExtra, NoForge, NoForgeToken
from ringi.forges.document import Account
from ringi.kernel.places import user_file
from ringi.kernel.process.environment import GITHUB_TOKENS, GITLAB_TOKENS
from ringi.kernel.process.network import origin
from ringi.kernel.text import Text, lazy_pattern

if TYPE_CHECKING:
    from ringi.approvals.forge import ReviewChecks
    from ringi.config.keys import Forge
    from ringi.forges.port import CodeHost, ForgePlace

_PUBLIC: Final = {
    ForgeKind.GITHUB: "https://github.com",
    ForgeKind.GITLAB: "https://gitlab.com",
}
_SERVERS: Final = {ForgeKind.GITHUB: "GITHUB_SERVER_URL", ForgeKind.GITLAB: "CI_SERVER_URL"}
"""What a job says about where it runs."""
_TOKENS: Final = {
    ForgeKind.GITHUB: GITHUB_TOKENS,
    ForgeKind.GITLAB: GITLAB_TOKENS,
}
_JOB_TOKEN: Final = "CI_JOB_TOKEN"  # noqa: S105  # the name of a variable
_SSH_HOSTS: Final = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}
_SCP: Final = lazy_pattern(r"(?:[^@/:\s]+@)?([A-Za-z0-9.-]+):(?!//)(.+)")
_PART: Final = r"[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*"
_PATH: Final = lazy_pattern(rf"{_PART}(?:/{_PART})+")
_ITEM: Final = lazy_pattern(
    r"(?P<path>.+?)(?:/-)?/(?P<kind>issues|work_items|pull|merge_requests)/(?P<number>\d{1,9})(?:/.*)?"
)
_SHORT: Final = lazy_pattern(r"([#!]?)(\d{1,9})")
_CHOSEN: Final = "forge: {remote: NAME}"
_CHANGES: Final = frozenset(["pull", "merge_requests", "!"])


class _KnownForge(NamedTuple):
    kind: ForgeKind
    base_url: str


class KnownForges:
    """See `ringi.forges.port.Forges`."""

    def __init__(self, config: Config, environment: Mapping[str, str], root: Path) -> None:
        self._config = config
        self._environment = environment
        self._root = root
        self._file = str(user_file(environment) or "config.yaml")
        self._hosts: dict[Project, CodeHost] = {}

    def here(self, remote: str = "") -> ForgePlace:
        from ringi.forges.port import ForgePlace
        from ringi.tree.remotes import Remotes

        remotes = Remotes(self._root, self._environment)
        name = remote or self._config.forge.remote or remotes.usual()
        address = remotes.address(name) if name else ""
        if not address:
            raise _explain_no_remote(name, remotes.names(), self._file)
        todo = Text("Add a remote that leads to GitHub or GitLab (git remote add NAME URL), and choose it in "
                    "{file}, with: {line}", file=self._file, line=_CHOSEN)  # fmt: skip
        project, _ = self._locate(address, todo)
        return ForgePlace(project, name, _strip_login(address))

    def at(self, address: str) -> tuple[Project, Item | None]:
        address = address.strip()
        if short := _SHORT.fullmatch(address):
            kind = ItemKind.CHANGE if short[1] in _CHANGES else ItemKind.ISSUE
            return self.here().project, Item(kind, int(short[2]))
        return self._locate(address, NAME_ISSUE)

    def _locate(self, address: str, todo: Text) -> tuple[Project, Item | None]:
        """`todo` is said if it can lead to no forge at all."""
        host, path, by_ssh = _split_address(address)
        if not host:
            why = Text("{address} is no address of a forge", address=_strip_login(address))
            raise NoForge(why=why, todo=todo)
        why = Text("{address} leads to no project", address=_strip_login(address))
        nowhere = NoForge(why=why, todo=todo)
        if {".", ".."} & set(unquote(path).split("/")):
            raise nowhere
        known = self._match_forge(host, path, by_ssh=by_ssh)
        below = urlsplit(known.base_url).path.strip("/")
        path = path.removeprefix(f"{below}/") if below else path
        item = None
        if found := _ITEM.fullmatch(path):
            kind = ItemKind.CHANGE if found["kind"] in _CHANGES else ItemKind.ISSUE
            item, path = Item(kind, int(found["number"])), found["path"]
        path = path.removesuffix(".git")
        deep = known.kind is ForgeKind.GITHUB and path.count("/") != 1
        if deep or not _PATH.fullmatch(path):
            raise nowhere
        return Project(known.kind, known.base_url, path), item

    def host(self, project: Project | None = None) -> CodeHost:
        project = project or self.here().project
        if project not in self._hosts:
            self._hosts[project] = self._connect(project)
        return self._hosts[project]

    # Which forges there are.

    def _match_forge(self, host: str, path: str, *, by_ssh: bool) -> _KnownForge:
        for base_url, kind in self._list_forges():
            parts = urlsplit(base_url)
            below = parts.path.strip("/")
            there = parts.hostname if by_ssh else _split_address(base_url)[0]
            if host == there and (by_ssh or not below or path.startswith(f"{below}/")):
                return _KnownForge(kind or self._guess_kind(base_url), base_url)
        todo = _ask_for_kind(f"https://{host}", self._file)
        raise NoForge(why=Text("{host} is not known as one", host=host), todo=todo)

    def _list_forges(self) -> Iterator[tuple[str, ForgeKind | None]]:
        told = self._config.forge
        if told.base_url:
            yield told.base_url, ForgeKind(told.kind) if told.kind != "auto" else None
        for kind, variable in _SERVERS.items():
            if address := self._environment.get(variable, "").rstrip("/"):
                yield address, kind
        for kind, address in _PUBLIC.items():
            yield address, kind

    def _guess_kind(self, base_url: str) -> ForgeKind:
        """By its job, or its name; kinds are too different to just try."""
        for kind, variable in _SERVERS.items():
            if origin(self._environment.get(variable, "")) == origin(base_url):
                return kind
        host = urlsplit(base_url).hostname or ""
        for kind in ForgeKind:
            if kind.value in host:
                return kind
        why = Text("forge.kind does not say what {address} is", address=base_url)
        raise NoForge(why=why, todo=_ask_for_kind(base_url, self._file))

    # How to speak with one.

    def other_accounts(self, project: Project) -> tuple[Account | None, ...]:
        """Whose other credentials for it this machine has; None: one whose account is not known."""
        used, _ = self._token(project)
        others = dict.fromkeys(token for token, job in self._tokens(project) if not job and token != used)
        return tuple(self._find_account(project, token) for token in others)

    def _find_account(self, project: Project, token: str) -> Account | None:
        try:
            return self._connect(project, (token, False)).people.me()
        except ForgeFailed:
            return None

    def _connect(self, project: Project, known: tuple[str, bool] | None = None) -> CodeHost:
        """With this token, or the one that belongs to it."""
        if find_spec("httpx2") is None:
            from ringi.kernel.process.installation import extending_command

            raise NoExtra(what=project.host, extra="forges", command=extending_command("forges"))
        from ringi.forges import github, gitlab
        from ringi.forges.connection import ForgeAddress
        from ringi.forges.http import ForgeClient
        from ringi.kernel.process.network import is_here
        from ringi.models.configured import scrub_of
        from ringi.policy.masking import hiding

        hub = project.kind is ForgeKind.GITHUB
        api = self._api(project) or (github if hub else gitlab).api_url(project.base_url)
        for address in (project.base_url, api):
            parts = urlsplit(address)
            if parts.scheme != "https" and not is_here(parts.hostname or ""):
                todo = Text("A token is sent over https only: set forge.base_url to an https:// address")
                raise NoForge(why=Text("{address} is not https", address=address), todo=todo)
        token, job = known or self._token(project)
        own, others = hiding([token]), scrub_of(self._environment)
        client = ForgeClient(
            ForgeAddress(api, project.host, self._environment, self.certificates()),
            github.token_headers(token) if hub else gitlab.token_headers(token, job=job),
            lambda text: own(others(text)),
        )
        return github.github(client, project) if hub else gitlab.gitlab(client, project)

    def _api(self, project: Project) -> str:
        """What a job says about its own forge."""
        if project.kind is not ForgeKind.GITHUB:
            return ""
        if origin(self._environment.get("GITHUB_SERVER_URL", "")) != origin(project.base_url):
            return ""
        return self._environment.get("GITHUB_API_URL", "").rstrip("/")

    def certificates(self) -> str:
        told = self._config.forge.ca
        return self._environment.get("HOME", "~") + told[1:] if told.startswith("~/") else told

    def _token(self, project: Project) -> tuple[str, bool]:
        """The token, and whether it is that of a job. Raises NoForgeToken."""
        if found := next(self._tokens(project), None):
            return found
        names = _TOKENS[project.kind]
        raise NoForgeToken(host=project.host, variable=names[-1] if names[-1] != _JOB_TOKEN else names[0])

    def _tokens(self, project: Project) -> Iterator[tuple[str, bool]]:
        """All that there are for it, the one to use first."""
        yield from self.variables(project)
        from ringi.tree.remotes import find_stored_login

        login = find_stored_login(self._root, self._environment, f"{project.base_url}/{project.path}.git")
        if login is not None and _is_token(login.password):
            yield login.password, False

    def variables(self, project: Project) -> Iterator[tuple[str, bool]]:
        """Tokens of the environment, as far as they are for this forge."""
        own = self._config.source("forge.base_url").origin in {KeyOrigin.USER, KeyOrigin.ENVIRONMENT}
        named = [self._config.forge.base_url] if own else []
        job = self._environment.get(_SERVERS[project.kind], "")
        places = {origin(address) for address in (*named, job, _PUBLIC[project.kind]) if address}
        for name in _TOKENS[project.kind] if origin(project.base_url) in places else ():
            token = self._environment.get(name, "").strip()
            if token and _is_token(token):
                yield token, name == _JOB_TOKEN


def reviews_of(forges: KnownForges, told: Forge) -> ReviewChecks | None:
    """None if a review there does not count."""
    from ringi.forges.review_lookup import ForgeReviews

    return ForgeReviews(forges.host, forges.other_accounts) if told.accepts_reviews else None


def _explain_no_remote(name: str, names: Sequence[str], file: str) -> NoForge:
    if name:
        todo = Text("forge.remote chooses one of those that git remote -v lists; this adds one: {command}",
                    command=shlex.join(["git", "remote", "add", name, "URL"]))  # fmt: skip
        return NoForge(why=Text("there is no remote {name}", name=name), todo=todo)
    if names:
        why = Text("there are several remotes, and none is called origin: {names}", names=", ".join(names))
        todo = Text("Choose one in {file}, with: {line}", file=file, line=_CHOSEN)
        return NoForge(why=why, todo=todo)
    todo = Text("Name the project on GitHub or GitLab that this is a clone of: {command}",
                command="git remote add origin URL")  # fmt: skip
    return NoForge(why=Text("this repository has no remote"), todo=todo)


def _ask_for_kind(base_url: str, file: str) -> Text:
    kind = next((kind for kind in ForgeKind if kind.value in base_url), ForgeKind.GITLAB)
    return Text(
        "If it is a server of GitHub or GitLab, say which one (kind: github or gitlab) in {file}, with: "
        "{line}",
        file=file,
        line=f'forge: {{kind: {kind}, base_url: "{base_url}"}}',
    )


def _split_address(address: str) -> tuple[str, str, bool]:
    """Host, path, and whether it is one of SSH; otherwise the host is with its port, if that is unusual."""
    if "://" in address:
        try:
            parts = urlsplit(address)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            return "", "", False
        path = unquote(parts.path).strip("/")
        if parts.scheme in {"ssh", "git+ssh"}:
            return _SSH_HOSTS.get(host, host), path, True
        if parts.scheme not in {"https", "http"}:
            return "", "", False
        usual = port in {None, 443 if parts.scheme == "https" else 80}
        host = f"[{host}]" if ":" in host else host
        return host if usual else f"{host}:{port}", path, False
    if scp := _SCP.fullmatch(address):
        host = scp[1].lower()
        return _SSH_HOSTS.get(host, host), scp[2].strip("/"), True
    return "", "", False


def _strip_login(address: str) -> str:
    """A name before @ may be a token; that of SSH is none."""
    if not address.startswith(("http://", "https://")):
        return address
    scheme, _, rest = address.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _is_token(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
