"""A forge on loopback that holds one of the projects, with an issue that asks for the change."""

from collections.abc import Iterator
from contextlib import contextmanager

from ringi.approvals.forge import ForgeKind
from tests.support.forge_server import ForgeServer, Thing
from tests.walk.projects import Place


@contextmanager
def forge_with(place: Place) -> Iterator[Thing]:
    """The person's clone comes from there, and they have a token; alice wrote the issue."""
    with ForgeServer(ForgeKind.GITHUB, place.base / "forge") as forge:
        forge.user("alice")
        forge.user("ringi", bot=True)
        repo = forge.project("acme/app", {"x": "x\n"}, {"alice": "admin", "ringi": "write"})
        git = place.person.git
        git("push", "-q", "--force", str(repo.folder), "main")
        git("remote", "add", "origin", repo.git_url)
        git("update-ref", "refs/remotes/origin/main", "main")
        place.person.extra = forge.environment("ringi")
        title, _, _ = place.project.request.partition("; ")
        yield repo.issue("alice", title, f"{place.project.request}.\n\n{place.project.example}.")
