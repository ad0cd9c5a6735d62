"""Which variables go on to what Ringi starts."""

import pytest

from ringi.kernel.process.environment import GITHUB_TOKENS, GITLAB_TOKENS, harmless, without_forge_tokens

pytestmark = pytest.mark.req("PP-25")
TOKEN = "glpat-0123456789abcdef"


@pytest.mark.parametrize(
    "name",
    [
        *GITHUB_TOKENS,
        *GITLAB_TOKENS,
        "GH_ENTERPRISE_TOKEN",
        "GITHUB_ENTERPRISE_TOKEN",
        "GITLAB_PRIVATE_TOKEN",
        "CI_JOB_JWT",
        "CI_JOB_JWT_V2",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    ],
)
def test_no_token_of_a_forge_goes_on_and_nothing_that_repeats_it(name: str) -> None:
    kept = {
        "HOME": "/home/hanako",
        "CI": "true",
        "ANTHROPIC_API_KEY": "sk-1",
        "GITHUB_SERVER_URL": "https://x",
    }
    address = {"CI_REPOSITORY_URL": f"https://gitlab-ci-token:{TOKEN}@gitlab.com/acme/app.git"}
    assert without_forge_tokens({**kept, name: TOKEN, **address}) == kept
    assert harmless({**kept, name: TOKEN}).keys() == {"HOME", "CI"}


def test_an_empty_or_short_one_takes_nothing_else_along() -> None:
    kept = {"PATH": "/usr/bin", "EMPTY": ""}
    assert without_forge_tokens({**kept, "GITHUB_TOKEN": "", "GH_TOKEN": "/", "CI_JOB_TOKEN": " "}) == kept
