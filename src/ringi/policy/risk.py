"""How risky a change is, computed from facts (PT-7, PT-8, rule 6)."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from ringi.domain.plan import ActionSpecExt, Risk, RiskCode, RiskReason, SpecKind, highest

CRITICAL: Final = (
    # Lock files.
    "*.lock", "package-lock.json", "npm-shrinkwrap.json",
    "pnpm-lock.yaml", "go.sum", "requirements*.txt",
    # Continuous integration.
    ".github/**", ".gitlab-ci.yml", ".circleci/**", ".ci/**", "azure-pipelines.yml", "Jenkinsfile",
    # Migrations.
    "migrations/**", "**/migrations/**", "alembic/**",
    # Credentials.
    ".env", ".env.*", "*.pem", "*.key", "*.p12",
    "*.pfx", "id_rsa*", "id_ed25519*", "credentials*", "secrets*",
    ".netrc", ".npmrc", ".pypirc", "allowed_signers",
    # Build and deploy.
    "Makefile", "makefile", "GNUmakefile", "*.mk",
    "CMakeLists.txt", "pyproject.toml", "setup.py", "setup.cfg",
    "package.json", "Cargo.toml", "build.rs", "go.mod", "pom.xml", "build.gradle*", "Dockerfile*",
    "docker-compose*.yml", "docker-compose*.yaml", "compose*.yml",
    "compose*.yaml", "*.tf", "k8s/**", "helm/**",
    # What makes tools run code or obey.
    "conftest.py", "sitecustomize.py", "usercustomize.py",
    "*.pth", "tox.ini", "noxfile.py", ".envrc",
    ".vscode/**", ".idea/**", ".devcontainer/**",
    ".claude/**", ".codex/**", ".gemini/**", ".cursor/**",
    ".mcp.json", "AGENTS.md", "CLAUDE.md",
    "GEMINI.md", ".cursorrules", ".gitattributes", ".gitmodules",
    ".gitconfig", ".githooks/**", ".husky/**", ".pre-commit-config.yaml",
)  # fmt: skip


_SCORE: Final = {Risk.LOW: 0.1, Risk.MEDIUM: 0.5, Risk.HIGH: 0.9}
_PER_SPEC: Final = 0.01
_SPREAD: Final = 0.1


class Facts(NamedTuple):
    kind: SpecKind
    path: str
    exists: bool
    changed_lines: int
    changed_bytes: int
    """Only for binary files, where lines mean nothing."""


class Thresholds(NamedTuple):
    large_overwrite_lines: int
    large_overwrite_bytes: int
    critical: tuple[str, ...] = ()


def assess(facts: Facts, thresholds: Thresholds) -> tuple[Risk, tuple[RiskReason, ...]]:
    reasons = []
    if facts.kind is SpecKind.DELETE:
        reasons.append(RiskReason(RiskCode.DELETE, facts.path))
    elif facts.exists and facts.changed_lines >= thresholds.large_overwrite_lines:
        reasons.append(RiskReason(RiskCode.LARGE_OVERWRITE, f"{facts.changed_lines} lines"))
    elif facts.exists and facts.changed_bytes >= thresholds.large_overwrite_bytes:
        reasons.append(RiskReason(RiskCode.LARGE_OVERWRITE, f"{facts.changed_bytes} bytes"))
    if pattern := critical_pattern(facts.path, (*CRITICAL, *thresholds.critical)):
        reasons.append(RiskReason(RiskCode.CRITICAL_FILE, pattern))
    return (Risk.HIGH if reasons else Risk.LOW), tuple(reasons)


def critical_pattern(path: str, patterns: Sequence[str]) -> str | None:
    """The first glob that names the path; upper and lower case count as the same."""
    folded = path.lower()
    name = folded.rsplit("/", 1)[-1]
    for pattern in patterns:
        glob = pattern.lower()
        if fnmatchcase(folded if "/" in glob else name, glob):
            return pattern
        if glob.endswith("/**") and f"/{glob[:-3]}/" in f"/{folded}":
            return pattern
    return None


def score(specs: Sequence[ActionSpecExt]) -> float:
    """0 to 1: the riskiest spec decides, the number of specs adds a little."""
    if not specs:
        return 0.0
    top = _SCORE[highest(tuple(spec.risk for spec in specs))]
    return round(top + min(_SPREAD, _PER_SPEC * (len(specs) - 1)), 3)
