"""The five requests on real packages: `make show-planning` fetches them."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.packages import FOLDER, PACKAGES

from tests.functional.desk import Desk
from tests.functional.five_requests import Request, led

if os.environ.get("RINGI_PACKAGES") != "1":
    pytest.skip("they are fetched first: make show-planning", allow_module_level=True)

REQUESTS = {
    "flask": {
        "readme": Request("Add a section about the development server to README.md", ("README.md",)),
        "bug": Request(
            "url_for with _anchor='' appends a stray # to the URL",
            ("src/flask/helpers.py", "tests/test_helpers.py", "CHANGES.rst"),
        ),
        "feature": Request(
            "Let send_from_directory take a default file for when the wanted one is missing",
            ("src/flask/helpers.py", "CHANGES.rst"),
        ),
        "refactor": Request("Split get_root_path into smaller functions", ("src/flask/helpers.py",)),
        "faster": Request("Make it faster", ("src/flask/helpers.py",), "url_for: 10,000 calls in a loop"),
    },
    "click": {
        "readme": Request("Add a section about shell completion to README.rst", ("README.rst",)),
        "bug": Request(
            "format_filename raises for a path with surrogates", ("src/click/utils.py", "CHANGES.rst")
        ),
        "feature": Request(
            "Let echo_via_pager take the name of the pager", ("src/click/termui.py", "CHANGES.rst")
        ),
        "refactor": Request("Move the colour codes out of click.style", ("src/click/termui.py",)),
        "faster": Request("Make it faster", ("src/click/formatting.py",), "wrap_text, on a long help page"),
    },
    "requests": {
        "readme": Request("Add a section about proxies to README.md", ("README.md",)),
        "bug": Request(
            "get_netrc_auth raises if the netrc file has no entry for the host",
            ("src/requests/utils.py", "tests/test_utils.py", "HISTORY.md"),
        ),
        "feature": Request(
            "Let HTTPAdapter take a default timeout", ("src/requests/adapters.py", "HISTORY.md")
        ),
        "refactor": Request("Split extract_cookies_to_jar in two", ("src/requests/cookies.py",)),
        "faster": Request("Make it faster", ("src/requests/utils.py",), "should_bypass_proxies, per request"),
    },
    "attrs": {
        "readme": Request("Add a section about slots to README.md", ("README.md",)),
        "bug": Request(
            "asdict loses the order of keys in nested dicts when retain_collection_types is set",
            ("src/attr/_funcs.py", "tests/test_funcs.py", "CHANGELOG.md"),
        ),
        "feature": Request(
            "Add a validator not_empty beside min_len", ("src/attr/validators.py", "CHANGELOG.md")
        ),
        "refactor": Request("Split _transform_attrs into smaller functions", ("src/attr/_make.py",)),
        "faster": Request("Make it faster", ("src/attr/_make.py",), "_transform_attrs, with 100 attributes"),
    },
    "httpx": {
        "readme": Request("Add a section about proxies to README.md", ("README.md",)),
        "bug": Request(
            "raise_for_status raises for a response without a request", ("httpx/_models.py", "CHANGELOG.md")
        ),
        "feature": Request(
            "Let AsyncHTTPTransport take a resolver", ("httpx/_transports/default.py", "CHANGELOG.md")
        ),
        "refactor": Request("Split build_request into smaller methods", ("httpx/_client.py",)),
        "faster": Request("Make it faster", ("httpx/_urlparse.py",), "urlparse(), with 100,000 addresses"),
    },
}  # fmt: skip


@pytest.fixture(scope="module", params=sorted(REQUESTS))
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """As git would have it, unpacked."""
    name = str(request.param)
    folder = tmp_path_factory.mktemp(name)
    with tarfile.open(FOLDER / f"{name}-{PACKAGES[name]}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    root = folder / f"{name}-{PACKAGES[name]}"
    for made in root.glob("**/*.egg-info"):
        shutil.rmtree(made)
    for words in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return name, root


@pytest.mark.req("IP-3", "PP-2", "RN-1")
@pytest.mark.parametrize("kind", ["readme", "bug", "feature", "refactor", "faster"])
def test_no_question_that_the_project_answers(
    package: tuple[str, Path], kind: str, tmp_path: Path, record_property: Callable[[str, object], None]
):
    name, root = package
    story = led(Desk(root), REQUESTS[name][kind], tmp_path)
    assert len(story.asked) == (kind == "faster")
    paths = ", ".join(one.path + " (new)" * one.new for one in story.design.target_paths)
    took = f"{story.calls} calls, {story.tokens} tokens in, {len(story.asked)} questions"
    record_property("story", [f"{name}, {kind}: {took}; {paths}"])
