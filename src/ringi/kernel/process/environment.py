"""Variables and folders that affect which repository and which tools a program uses."""

import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Final

WITH_VARIABLE: Final = "RINGI_WITH"
"""Names the work copy that a command runs in."""
STATE_VARIABLE: Final = "RINGI_STATE_DIR"
"""Names the folder of all ledgers."""
CACHE_VARIABLE: Final = "RINGI_CACHE_DIR"
"""Names the folder of everything that can be made again."""

# Variables that would point git to another repository than the one it is started in.
GIT_PLACES: Final = frozenset(
    f"GIT_{name}"
    for name in (
        "DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES",
        "COMMON_DIR", "NAMESPACE", "PREFIX", "CEILING_DIRECTORIES",
    )
)  # fmt: skip
GITHUB_TOKENS: Final = ("GH_TOKEN", "GITHUB_TOKEN")
"""Where Ringi looks for its token, the first one first."""
GITLAB_TOKENS: Final = ("GITLAB_TOKEN", "CI_JOB_TOKEN")
_FORGE_TOKENS: Final = frozenset(
    {
        *GITHUB_TOKENS, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN",
        "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        *GITLAB_TOKENS, "GITLAB_PRIVATE_TOKEN", "GITLAB_ACCESS_TOKEN", "GL_TOKEN",
    }
)  # fmt: skip
_JOB_TOKENS: Final = "CI_JOB_JWT"  # and with a version behind it
_SHORTEST_TOKEN: Final = 8
# Someone who can put a program into PATH must not decide which signatures count or what a sandbox is.
SYSTEM_PATH: Final = os.pathsep.join(
    ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"]
)
# Paths, tools and preferences. Nothing that may contain a secret (proxies) or lead to one (sockets), and
# nothing that loads code into a program (LD_PRELOAD, NODE_OPTIONS).
_HARMLESS: Final = frozenset(
    {
        "HOME", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER",
        "COLORTERM", "COLUMNS", "FORCE_COLOR", "LANG", "LANGUAGE", "LINES", "NO_COLOR", "TERM", "TZ",
        "CI", "NODE_ENV", "SOURCE_DATE_EPOCH",
        "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
        "ANDROID_HOME", "ASDF_DATA_DIR", "ASDF_DIR", "BUN_INSTALL", "CARGO_HOME", "CARGO_TARGET_DIR",
        "CONDA_DEFAULT_ENV", "CONDA_PREFIX", "DENO_DIR", "DOTNET_ROOT", "GEM_HOME", "GEM_PATH", "GOBIN",
        "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "GRADLE_USER_HOME", "JAVA_HOME", "M2_HOME",
        "MISE_DATA_DIR", "NIX_PATH", "NIX_PROFILES", "NIX_SSL_CERT_FILE", "NVM_BIN", "NVM_DIR", "PIPX_HOME",
        "PNPM_HOME", "POETRY_HOME", "PYENV_ROOT", "PYENV_VERSION", "RBENV_ROOT", "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN", "SDKMAN_DIR", "SSL_CERT_DIR", "SSL_CERT_FILE", "UV_CACHE_DIR", "VIRTUAL_ENV",
        "VOLTA_HOME",
    }
)  # fmt: skip


def search_path(variables: Mapping[str, str]) -> str:
    """Without relative folders, which could lead into the repository."""
    folders = variables.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder.startswith("/"))


def find_program(name: str, variables: Mapping[str, str]) -> str | None:
    """A program that we start ourselves: never one that a repository brings along."""
    return shutil.which(name, path=search_path(variables))


def harmless(environment: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """What a command gets of it: the variables above, and those named."""
    named = _HARMLESS.union(more) - GIT_PLACES
    return {name: value for name, value in environment.items() if name in named or name.startswith("LC_")}


def without_forge_tokens(environment: Mapping[str, str]) -> dict[str, str]:
    """For what nobody has approved: with such a token it could push and merge without passing here.

    Variables that repeat one go too: GitLab puts that of a job into addresses and passwords.
    """
    named = {name for name in environment if name in _FORGE_TOKENS or name.startswith(_JOB_TOKENS)}
    values = [value for name in named if len(value := environment[name].strip()) >= _SHORTEST_TOKEN]
    return {
        name: value
        for name, value in environment.items()
        if name not in named and not any(token in value for token in values)
    }
