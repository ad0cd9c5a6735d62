"""Which variables go on to what Ringi starts."""

import os
import pwd

import pytest

from ringi.kernel.process.environment import (
    GITHUB_TOKENS,
    GITLAB_TOKENS,
    find_program,
    harmless,
    without_forge_tokens,
)
from ringi.kernel.system import list_ignored_variables, process_environment
from tests.tables import each

pytestmark = pytest.mark.req("PP-25")
TOKEN = "glpat-0123456789abcdef"


@each(
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


@pytest.mark.parametrize("home", [None, "", "rel", "./rel", "~"])
def test_home_that_is_no_absolute_path_is_that_of_the_password_database(
    monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    if home is None:
        monkeypatch.delenv("HOME")
    else:
        monkeypatch.setenv("HOME", home)
    assert process_environment()["HOME"] == pwd.getpwuid(os.getuid()).pw_dir
    assert list_ignored_variables() == (["HOME"] if home else [])


@pytest.mark.parametrize("folder", ["", "rel"])
def test_without_any_home_folder_none_is_set(monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    def entry(user: int) -> pwd.struct_passwd:
        if not folder:
            raise KeyError(user)
        return pwd.struct_passwd(("somebody", "x", user, user, "", folder, "/bin/sh"))

    monkeypatch.setattr(pwd, "getpwuid", entry)
    monkeypatch.setenv("HOME", "rel")
    assert "HOME" not in process_environment()


def test_relative_folders_of_the_xdg_specification_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"XDG_{kind}_HOME" for kind in ("CACHE", "CONFIG", "DATA", "STATE")]
    for name in names:
        monkeypatch.setenv(name, "rel")
    assert not process_environment().keys() & set(names)
    assert list_ignored_variables() == names
    for name in names:
        monkeypatch.setenv(name, "/absolute")
    assert [process_environment()[name] for name in names] == ["/absolute"] * 4
    assert list_ignored_variables() == []


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("path", ["", ":", ".", "bin", "./bin:", "::bin", "/nowhere:"])
def test_no_program_of_the_current_folder_is_found(tmp_path, monkeypatch, path):
    (tmp_path / "bin").mkdir()
    for folder in (tmp_path, tmp_path / "bin"):
        (folder / "tool").write_text("#!/bin/sh\n")
        (folder / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert find_program("tool", {"PATH": path}) is None
    assert find_program("tool", {"PATH": f"{path}:{tmp_path / 'bin'}"}) == str(tmp_path / "bin" / "tool")
