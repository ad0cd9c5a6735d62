"""How a project is tested: the commands that its own files name."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final

from ringi.project.context import FileKind
from ringi.project.source import ProjectSource

_MOST: Final = 5
_TARGET: Final = re.compile(r"^(tests?|check|unit-?tests?)\s*:(?![=:]=?)", re.MULTILINE)
_RECIPE: Final = re.compile(r"^(tests?|check|unit-?tests?)(?: [^:\n]*)?:(?!=)", re.MULTILINE)
_TASK: Final = re.compile(r"^ {1,4}(tests?|check):", re.MULTILINE)
_SESSION: Final = re.compile(r"^def (tests?|unit|unit_tests?|pytest)\(", re.MULTILINE)
_PYTEST: Final = re.compile(r"\[tool\.pytest|\[(?:tool:)?pytest\]|[\"']?\bpytest\b")
_COLLECTED: Final = re.compile(r"\bdef test|\bclass \w*Test|TestCase|\bpytest\b")
_MOST_READ: Final = 20
_SCRIPTS: Final = ("script/test", "scripts/test", "scripts/test.sh", "bin/test", "test.sh", "run_tests.sh")
_RUN_TESTS: Final = ("runtests.py", "tests/runtests.py", "test/runtests.py")
_LOCKS: Final = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun run", "bun.lockb": "bun run"}
_RUNNERS: Final = {"uv.lock": "uv run ", "poetry.lock": "poetry run ", "pdm.lock": "pdm run "}
_BY_FILE: Final[Mapping[str, str]] = {
    "cargo.toml": "cargo test", "go.mod": "go test ./...", "mvnw": "./mvnw test", "pom.xml": "mvn test",
    "gradlew": "./gradlew test", "build.gradle": "gradle test", "build.gradle.kts": "gradle test",
    "mix.exs": "mix test", "package.swift": "swift test", "build.sbt": "sbt test",
    "dune-project": "dune test", "stack.yaml": "stack test", "*.cabal": "cabal test",
    "rebar.config": "rebar3 eunit",
    "phpunit.xml": "vendor/bin/phpunit", "phpunit.xml.dist": "vendor/bin/phpunit",
    ".rspec": "bundle exec rspec",
    "pubspec.yaml": "dart test", "build.zig": "zig build test", "deno.json": "deno test",
    "deno.jsonc": "deno test", "*.sln": "dotnet test", "*.csproj": "dotnet test", "manage.py":
    "python manage.py test", "module.bazel": "bazel test //...", "meson.build": "meson test -C build",
    "tox.ini": "tox",
}  # fmt: skip
_INSTEAD: Final = {"mvnw": "mvn test", "gradlew": "gradle test", "stack.yaml": "cabal test"}
"""What the first names makes the second unnecessary."""
_CI: Final = re.compile(
    r"^\s*(?:- )?(?:run:|script:|-)?\s*[\"']?((?:[\w./-]+ (?:run |exec )?)??(?:python3? -m )?"
    r"(?:pytest|tox|nox|unittest|(?:npm|yarn|pnpm)(?: run)? test|cargo (?:nextest run|test)|go test"
    r"|make (?:test|check)|mvn (?:test|verify)|gradlew? test|\./gradlew (?:test|check)|rspec|phpunit"
    r"|rake(?: test| spec)?|mix test|dotnet test|swift test|ctest|bazel test)(?![\w:-])"
    r"[^\n\"'#|&;<>$`{}\[\]\\]*)[\"']?[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_NO_TEST: Final = re.compile(r"doc|release|lint|publish|build|coverage|bench")
_WORKFLOWS: Final = ".github/workflows/"
_CI_FILES: Final = (
    ".gitlab-ci.yml", ".travis.yml", "appveyor.yml", ".circleci/config.yml", "azure-pipelines.yml",
    ".cirrus.yml",
)  # fmt: skip
_MOST_CI: Final = 6


def test_commands(source: ProjectSource, rules: tuple[str, ...]) -> tuple[str, ...]:
    """Best first: those that the rules of the project mention, then its own targets, then what is usual."""
    found: dict[str, None] = {}
    for look in sorted(_LOOKS, key=lambda look: look is _package and _is_python(source)):
        found |= dict.fromkeys(look(source))
    found = found or dict.fromkeys(_ci_commands(source))
    said = "\n".join(line for path in rules for line in source.read(path))
    places = {command: at for command in found if (at := said.find(command)) >= 0}
    return tuple(sorted(found, key=lambda command: places.get(command, len(said))))[:_MOST]


def _is_python(source: ProjectSource) -> bool:
    """More than anything that a package.json is for."""
    code = Counter(path.rpartition(".")[2] for path, kind in source.kinds.items() if kind is FileKind.SOURCE)
    return code["py"] > sum(code[suffix] for suffix in ("js", "jsx", "ts", "tsx", "vue", "svelte"))


def _targets(source: ProjectSource) -> Iterator[str]:
    for name in ("gnumakefile", "makefile"):
        yield from (f"make {name}" for name in _best(_TARGET, source.text(name)))
    for name in ("justfile", ".justfile"):
        yield from (f"just {name}" for name in _best(_RECIPE, source.text(name)))
    for name in ("taskfile.yml", "taskfile.yaml"):
        yield from (f"task {name}" for name in _best(_TASK, source.text(name)))


def _best(expression: re.Pattern[str], text: str) -> list[str]:
    names = [found[1] for found in expression.finditer(text)]
    return sorted(names, key=lambda name: name not in {"test", "tests"})[:1]


def _package(source: ProjectSource) -> Iterator[str]:
    test = _scripts(source.text("package.json")).get("test")
    if isinstance(test, str) and "no test specified" not in test:
        manager = next((word for name, word in _LOCKS.items() if name in source.top), "npm")
        yield f"{manager} test"
    if _scripts(source.text("composer.json")).get("test"):
        yield "composer test"


def _scripts(text: str) -> Mapping[str, Any]:
    try:
        document = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    scripts = document.get("scripts") if isinstance(document, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def _own_scripts(source: ProjectSource) -> Iterator[str]:
    yield from (path if "/" in path else f"./{path}" for path in list(source.find(*_SCRIPTS))[:1])
    yield from (f"python {path}" for path in list(source.find(*_RUN_TESTS))[:1])


def _python(source: ProjectSource) -> Iterator[str]:
    manifest = source.text("pyproject.toml")
    said = manifest + source.text("setup.cfg") + source.text("tox.ini") + source.text("noxfile.py")
    configured = {"pytest.ini", ".pytest.ini", "conftest.py"} & source.top.keys() or _PYTEST.search(said)
    tests = [path for path in source.tests if path.endswith(".py")]
    runner = next((word for name, word in _RUNNERS.items() if name in source.top), "")
    if tests and "manage.py" not in source.top:
        named = [path for path in tests if path.rpartition("/")[2].startswith("test_")]
        scripts = [] if configured else _plain_scripts(source, named)
        yield from (f"{runner}python {path}" for path in scripts)
        if not scripts:
            yield f"{runner}pytest" if configured or named else f"{runner}python -m unittest"
    if "[tool.tox" in manifest or "[tox:" in source.text("setup.cfg"):
        yield "tox"
    if (noxfile := source.text("noxfile.py")) and (session := _best(_SESSION, noxfile)):
        yield f"nox -s {session[0]}"


def _plain_scripts(source: ProjectSource, tests: list[str]) -> list[str]:
    """The tests, if none of them has a function or class that a runner would find."""
    texts = "\n".join(line for path in tests[:_MOST_READ] for line in source.read(path))
    return tests[:_MOST] if texts.strip() and not _COLLECTED.search(texts) else []


def _usual(source: ProjectSource) -> Iterator[str]:
    skipped = {_INSTEAD[name] for name in _INSTEAD if name in source.top}
    for pattern, command in _BY_FILE.items():
        there = pattern in source.top if "*" not in pattern else _matching(source, pattern)
        if there and command not in skipped:
            yield command
    if "enable_testing" in source.text("cmakelists.txt"):
        yield "ctest"


def _matching(source: ProjectSource, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in source.top)


def _ci_commands(source: ProjectSource) -> Iterator[str]:
    """What the project's CI runs."""
    flows = (path for path in source.paths if path.startswith(_WORKFLOWS))
    workflows = [path for path in flows if path.endswith((".yml", ".yaml"))]
    for path in (*workflows[:_MOST_CI], *source.find(*_CI_FILES)):
        for found in _CI.finditer("\n".join(source.read(path))):
            if not _NO_TEST.search(found[1]):
                yield " ".join(found[1].split())


_LOOKS: Final[tuple[Callable[[ProjectSource], Iterator[str]], ...]] = (
    _targets,
    _package,
    _own_scripts,
    _python,
    _usual,
)
