"""GitLab over REST."""

from ringi.domain.forge import Project
from ringi.forges.connection import Token
from ringi.forges.http import ForgeClient
from ringi.ports.forge import CodeHost


def api_url(base_url: str) -> str:
    return f"{base_url}/api/v4"


def token_headers(token: str, *, job: bool = False) -> Token:
    return Token({"JOB-TOKEN": token} if job else {"Authorization": f"Bearer {token}"})


def gitlab(client: ForgeClient, project: Project) -> CodeHost:
    raise NotImplementedError(client, project)
