"""How risky a change is, computed from facts (PT-7, PT-8, rule 6)."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from ringi.domain.plan import ActionSpecExt, Category, Risk, RiskCode, RiskReason, SpecKind, highest

CRITICAL: Final[Mapping[Category, tuple[str, ...]]] = {
    Category.LOCK: (
        "*.lock", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum", "requirements*.txt",
    ),
    Category.CI: (
        ".github/**", ".gitlab-ci.yml", ".circleci/**", ".ci/**", "azure-pipelines.yml", "Jenkinsfile",
    ),
    Category.MIGRATION: ("migrations/**", "alembic/**"),
    Category.CREDENTIALS: (
        ".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "id_rsa*", "id_ed25519*", "credentials*",
        "secrets*", ".netrc", ".npmrc", ".pypirc", "allowed_signers",
    ),
    Category.BUILD: (
        "Makefile", "GNUmakefile", "*.mk", "CMakeLists.txt", "pyproject.toml", "setup.py", "setup.cfg",
        "package.json", "Cargo.toml", "build.rs", "go.mod", "pom.xml", "build.gradle*", "Dockerfile*",
        "docker-compose*.yml", "docker-compose*.yaml", "compose*.yml", "compose*.yaml", "*.tf", "k8s/**",
        "helm/**",
    ),
    Category.OBEYED: (
        "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "tox.ini", "noxfile.py", ".envrc",
        ".vscode/**", ".idea/**", ".devcontainer/**", ".claude/**", ".codex/**", ".gemini/**", ".cursor/**",
        ".mcp.json", "AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", ".gitattributes", ".gitmodules",
        ".gitconfig", ".githooks/**", ".husky/**", ".pre-commit-config.yaml",
    ),
}  # fmt: skip

_SCORE: Final = {Risk.LOW: 0.1, Risk.MEDIUM: 0.5, Risk.HIGH: 0.9}
_PER_SPEC: Final = 0.01
_SPREAD: Final = 0.1


class Facts(NamedTuple):
    kind: SpecKind
    path: str
    exists: bool
    changed_lines: int
    changed_bytes: int
    """A file of one long line, or of none at all, can change wholly in few lines."""


class Thresholds(NamedTuple):
    large_overwrite_lines: int
    large_overwrite_bytes: int
    critical: tuple[str, ...] = ()


def assess(facts: Facts, thresholds: Thresholds) -> tuple[Risk, tuple[RiskReason, ...]]:
    reasons = []
    if facts.kind is SpecKind.DELETE:
        reasons.append(RiskReason(RiskCode.DELETE, facts.path))
    elif facts.exists and facts.changed_lines >= thresholds.large_overwrite_lines:
        reasons.append(RiskReason(RiskCode.LARGE_OVERWRITE, str(facts.changed_lines)))
    elif facts.exists and facts.changed_bytes >= thresholds.large_overwrite_bytes:
        reasons.append(RiskReason(RiskCode.LARGE_REWRITE, str(facts.changed_bytes)))
    if category := critical_category(facts.path, thresholds.critical):
        reasons.append(RiskReason(RiskCode.CRITICAL_FILE, category))
    return (Risk.HIGH if reasons else Risk.LOW), tuple(reasons)


def critical_category(path: str, configured: Sequence[str] = ()) -> Category | None:
    for category, globs in CRITICAL.items():
        if any(matches(path, glob) for glob in globs):
            return category
    return Category.CONFIGURED if any(matches(path, glob) for glob in configured) else None


def matches(path: str, glob: str) -> bool:
    """A glob without a slash names a file in any folder, `x/**` everything below a folder x anywhere.

    Upper and lower case count as the same.
    """
    path, glob = path.lower(), glob.lower()
    if glob.endswith("/**") and f"/{glob[:-2]}" in f"/{path}":
        return True
    return fnmatchcase(path if "/" in glob else path.rsplit("/", 1)[-1], glob)


def score(specs: Sequence[ActionSpecExt]) -> float:
    """0 to 1: the riskiest spec decides, the number of specs adds a little."""
    if not specs:
        return 0.0
    top = _SCORE[highest(tuple(spec.risk for spec in specs))]
    return round(top + min(_SPREAD, _PER_SPEC * (len(specs) - 1)), 3)
