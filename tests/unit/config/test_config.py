import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import ringi
from ringi.config import keys as module
from ringi.config.file import MAX_FILE_BYTES
from ringi.config.keys import DEFAULTS, KEYS, SECTIONS, Config, KeyOrigin, ValueSource
from ringi.config.load import check_expressions, executable, load
from ringi.config.pins import Trust
from ringi.config.rules import Guard, Section
from ringi.errors import BadConfiguration
from ringi.kernel.places import project_file, user_file
from tests.fakes.config import values_of
from tests.helpers import assert_not_loaded, modules_after
from tests.tables import each

# For every key a value that no guard objects to, and one that differs from it.
SAMPLES: dict[str, tuple[Any, Any]] = {
    "language": ("ja", "en"),
    "model": ("openai:gpt-5", "command:claude -p"),
    "approval.expires_sec": (3600, 60),
    "approval.together": ("none", "none"),
    "approval.proof": ("signed", "signed"),
    "risk.large_overwrite_lines": (100, 0),
    "risk.large_overwrite_bytes": (1024, 0),
    "risk.critical": (["infra/**", "*.pem"], ["deploy/*"]),
    "risk.mutable": (["var/**"], ["data/*.db"]),
    "limits.max_file_bytes": (4096, 0),
    "limits.max_specs": (50, 1),
    "limits.forbidden_extensions": ([".exe", ".tar.gz"], [".dll"]),
    "lock.wait_sec": (0.5, 7.0),
    "checks.before": (["make lint"], ["true"]),
    "checks.after": (["make test", "make build"], ["true"]),
    "checks.on_failure": ("undo", "undo"),
    "checks.timeout_sec": (30.0, 900.0),
    "run.sandbox": ("auto", "required"),
    "run.allowed": (["make test", "pytest *"], ["true"]),
    "run.environment": (["NODE_ENV", "GOFLAGS"], ["A_B"]),
    "run.timeout_sec": (30, 900),
    "run.output_bytes": (1024, 0),
    "diagnostics.commands": (["ruff check", "mypy"], ["true"]),
    "diagnostics.format": ("sarif", "lines"),
    "diagnostics.timeout_sec": (30.0, 900.0),
    "keep.replaced_days": (60, 90),
    "keep.copies_days": (7, 0),
    "keep.copies_mb": (500, 0),
    "keep.projections": (50, 0),
    "with.carry": (["node_modules", "a/b"], [".venv"]),
    "with.checks": (["make test", "ruff check"], ["true"]),
    "with.sandbox": ("auto", "required"),
    "with.writable": (["~/.cache/uv", "/var/cache/x"], ["/opt/y"]),
    "notify.how": ("off", "desktop"),
    "llm.base_url": ("http://127.0.0.1:8080/v1", "https://models.internal"),
    "llm.timeout_sec": (30.0, 900.0),
    "llm.max_output_tokens": (4096, 100),
    "llm.prices": (["openai:gpt-5 1.25 10", "x 0 0"], ["y 1 2"]),
    "runs.max_tokens": (1_000_000, 10),
    "runs.max_dollars": (20.5, 0.0),
    "runs.main_branches": (["trunk", "release/*"], ["stable"]),
    "planning.skip_after_sec": (0.0, 60.0),
    "provenance.notes": (True, True),
    "forge.kind": ("gitlab", "github"),
    "forge.base_url": ("https://git.internal", "http://127.0.0.1:8080"),
    "forge.ca": ("~/ca.pem", "/etc/ssl/own.pem"),
    "forge.read_all": (False, False),
    "forge.reviews": ("off", "off"),
    "forge.label": ("help", ""),
    "forge.comments": (False, True),
    "forge.poll_sec": (30.0, 5.0),
    "forge.remote": ("upstream", "origin"),
    "logs.detail": ("off", "off"),
    "logs.format": ("json", "text"),
    "logs.confidential": (True, True),
    "context.tokens": (2000, 100),
    "context.never_send": (["legal/**", "*.pdf"], ["notes/*"]),
    "logs.mask": (["EMP-[0-9]+", "case (\\d+)"], ["x y"]),
    "planning.strategy": ("simple", "hierarchical"),
    "planning.max_subtasks": (15, 3),
    "planning.decomposition_level": ("detailed", "minimal"),
    "planning.reflection.depth": ("deep", "shallow"),
    "planning.revision.require_human_approval": (True, True),
    "planning.revision.approval_timeout": (600, 60),
    "planning.security.allowed_tools": (["github_get_*", "read"], ["read"]),
    "planning.security.forbidden_tools": (["github_delete_*", "*_admin_*"], ["x"]),
    "planning.security.require_approval": (["github_merge_*"], ["y"]),
    "planning.logging.level": ("WARNING", "ERROR"),
    "planning.logging.mask_sensitive_data": (True, True),
    "planning.logging.sensitive_patterns": (["password", "EMP-[0-9]+"], ["x y"]),
    "runs.budget.planning_tokens": (2_000, 1_000),
    "runs.budget.execution_tokens": (20_000, 10_000),
    "runs.budget.reflection_tokens": (500, 400),
    "planning.permissions.allowed_users": (["admin-team", "developer-group"], ["admin-team"]),
    "planning.permissions.auto_execution_allowed": (["trusted-user"], ["other"]),
    "planning.permissions.always_require_approval": (["external-contributor"], ["other"]),
    "mcp_servers": (["files: npx -y server-filesystem .", "web: http://127.0.0.1:9/mcp"], ["a-1: x"]),
    "mcp_environment": (["files: A_B C", "web: D"], ["a-1: E"]),
    "planning.permissions.dangerous_operations": (["admin-team", "group:wheel"], ["admin-team"]),
    "tracing.provider": ("opentelemetry", "opentelemetry"),
    "tracing.content": ("off", "off"),
    "tracing.spans": (["planning.understand_goal"], ["x.y"]),
}
MORE: dict[type, tuple[Any, Any]] = {bool: (False, True), int: (7, 8)}
ROLES = ("implementer", "reviewer", "qa", "planner")
for role in ROLES:
    SAMPLES |= {
        f"roles.{role}.how": ("person", "off"),
        f"roles.{role}.command": ("claude --model opus", "codex"),
        f"roles.{role}.model": ("openai:gpt-5", "command:claude"),
        f"roles.{role}.timeout_sec": (600.0, 1.0),
        f"roles.{role}.output_bytes": (65_536, 1_024),
        f"roles.{role}.max_tokens": (1_000_000, 1),
        f"roles.{role}.max_dollars": (5.0, 0.5),
    }
for added in KEYS.values():
    if added.name.endswith(".target"):
        SAMPLES[added.name] = ("95%", ">=1.5")
    elif added.name.endswith(".breakdown"):
        SAMPLES[added.name] = (["input", "output"], ["all"])
    elif added.name.partition(".")[0].endswith("_metrics"):
        SAMPLES[added.name] = ("所要時間", "seconds, about")
    elif added.name.startswith(("planning.", "tracing.")) and type(added.default) in MORE:
        SAMPLES.setdefault(added.name, MORE[type(added.default)])


class Place:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.workspace = root / "workspace"
        self.project = project_file(self.workspace)
        self.user = root / "home" / ".config" / "ringi" / "config.yaml"
        self.project.parent.mkdir(parents=True)
        self.user.parent.mkdir(parents=True)
        self.environment = {"HOME": str(root / "home")}

    def load(self, **variables: str) -> Config:
        return load(self.workspace, self.environment | variables)

    def trust(self) -> None:
        parts = executable(self.workspace)
        Trust(self.workspace, self.environment).pin(parts, at="", by="hanako", channel="tty")

    def refused(self, **variables: str) -> BadConfiguration:
        with pytest.raises(BadConfiguration) as caught:
            self.load(**variables)
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@contextlib.contextmanager
def a_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield Place(Path(folder))


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PyYAML was built without its C part, the same files must be refused."""
    if request.param == "SafeLoader":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


def written(values: Mapping[str, Any]) -> str:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *sections, key = name.split(".")
        at = tree
        for section in sections:
            at = at.setdefault(section, {})
        at[key] = value
    return yaml.safe_dump(tree)


def in_variable(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


# The table

NO_KEYS = {"sources", "notes", "files", "trust", "by_task"}
"""Where the values come from, rather than values."""


def test_the_table_has_every_field_of_the_configuration_and_no_other():
    def fields(struct: msgspec.Struct) -> Iterator[tuple[str, tuple[str, ...]]]:
        for field, written in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
            default = getattr(struct, field)
            if isinstance(default, Section):
                for name, path in fields(default):
                    yield f"{written}.{name}", (field, *path)
            elif struct is not DEFAULTS or field not in NO_KEYS:
                yield written, (field,)

    assert {(key.name, key.path) for key in KEYS.values()} == set(fields(DEFAULTS))
    assert set(SAMPLES) == set(KEYS)


@each("key", KEYS.values())
def test_a_rule_fits_its_type(key: module.Key):
    assert key.of(DEFAULTS) == key.default
    free = isinstance(key.default, str) and not key.choices
    assert (key.rule.form is not None) == (isinstance(key.default, tuple) or free)
    if free:  # its own default can be written down
        assert key.rule.form is not None
        assert key.rule.form.normal(str(key.default)) == key.default
        assert key.rule.guard in {Guard.NONE, Guard.TRUSTED}
    if isinstance(key.default, bool):
        assert key.rule.guard in {Guard.NONE, Guard.SMALLER, Guard.LARGER, Guard.TRUSTED}
    elif isinstance(key.default, int | float):
        assert key.rule.least <= key.default <= key.rule.most
        assert key.rule.guard in {Guard.NONE, Guard.SMALLER, Guard.LARGER}


def test_what_guards_is_named():
    guards = {name: key.rule.guard for name, key in KEYS.items() if key.rule.guard is not Guard.NONE}
    assert guards == {
        "approval.expires_sec": Guard.SMALLER,
        "approval.together": Guard.LARGER,
        "approval.proof": Guard.LARGER,
        "risk.large_overwrite_lines": Guard.SMALLER,
        "risk.large_overwrite_bytes": Guard.SMALLER,
        "risk.critical": Guard.ADDED,
        "risk.mutable": Guard.ADDED,
        "limits.max_file_bytes": Guard.SMALLER,
        "limits.max_specs": Guard.SMALLER,
        "limits.forbidden_extensions": Guard.ADDED,
        "keep.replaced_days": Guard.LARGER,
        "checks.before": Guard.TRUSTED,
        "checks.after": Guard.TRUSTED,
        "checks.on_failure": Guard.LARGER,
        "run.sandbox": Guard.LARGER,
        "run.allowed": Guard.TRUSTED,
        "run.environment": Guard.TRUSTED,
        "diagnostics.commands": Guard.TRUSTED,
        "with.checks": Guard.TRUSTED,
        "with.sandbox": Guard.LARGER,
        "with.writable": Guard.TRUSTED,
        "model": Guard.TRUSTED,
        "llm.base_url": Guard.TRUSTED,
        "llm.max_output_tokens": Guard.SMALLER,
        "llm.prices": Guard.TRUSTED,
        "runs.max_tokens": Guard.SMALLER,
        "runs.max_dollars": Guard.SMALLER,
        **{f"runs.budget.{phase}_tokens": Guard.SMALLER for phase in ("planning", "execution", "reflection")},
        "runs.main_branches": Guard.ADDED,
        **{f"roles.{role}.{key}": Guard.TRUSTED for role in ROLES for key in ("how", "command", "model")},
        **{
            f"roles.{role}.{key}": Guard.SMALLER
            for role in ROLES
            for key in ("output_bytes", "max_tokens", "max_dollars")
        },
        "provenance.notes": Guard.LARGER,
        "forge.kind": Guard.TRUSTED,
        "forge.base_url": Guard.TRUSTED,
        "forge.ca": Guard.TRUSTED,
        "forge.read_all": Guard.SMALLER,
        "forge.reviews": Guard.LARGER,
        "logs.detail": Guard.LARGER,
        "logs.confidential": Guard.LARGER,
        "context.tokens": Guard.SMALLER,
        "context.never_send": Guard.ADDED,
        "logs.mask": Guard.ADDED_ONCE_TRUSTED,
        "planning.revision.require_human_approval": Guard.LARGER,
        "planning.revision.approval_timeout": Guard.SMALLER,
        "planning.security.allowed_tools": Guard.NARROWED,
        "planning.security.forbidden_tools": Guard.ADDED,
        "planning.security.require_approval": Guard.ADDED,
        "planning.logging.level": Guard.LARGER,
        "planning.logging.mask_sensitive_data": Guard.LARGER,
        "planning.logging.sensitive_patterns": Guard.ADDED_ONCE_TRUSTED,
        "planning.permissions.allowed_users": Guard.NARROWED,
        "planning.permissions.auto_execution_allowed": Guard.TRUSTED,
        "planning.permissions.always_require_approval": Guard.ADDED,
        "planning.permissions.dangerous_operations": Guard.NARROWED,
        "tracing.enabled": Guard.TRUSTED,
        "tracing.content": Guard.LARGER,
        "mcp_servers": Guard.TRUSTED,
        "mcp_environment": Guard.TRUSTED,
    }


# The four places


def test_nothing_set_gives_the_defaults(place: Place):
    config = place.load()
    assert config == Config(sources=dict.fromkeys(KEYS, ValueSource(KeyOrigin.DEFAULT)))
    assert load(None, {}) == config
    assert load(place.root / "nowhere", {}) == config


@pytest.mark.usefixtures("loader")
@each("content", ["", "\n\n", "# only words\n", "---\n", "--- {}\n", "\ufeff", "approval:\n"])
def test_an_empty_file_sets_nothing(place: Place, content: str):
    place.user.write_text(content)
    place.project.write_text(content)
    config = place.load()
    assert values_of(config) == values_of(DEFAULTS)
    assert config.files == (place.user, place.project)


@pytest.mark.usefixtures("loader")
@each("name", KEYS)
def test_every_key_can_be_set_in_the_users_file(place: Place, name: str):
    value = SAMPLES[name][0]
    place.user.write_text("# first line\n" + written({name: value}))
    config = place.load()
    assert KEYS[name].of(config) == frozen(value)
    assert config.sources[name] == ValueSource(KeyOrigin.USER, f"{place.user}:{name.count('.') + 2}")
    others = {key for key, source in config.sources.items() if source.origin is not KeyOrigin.DEFAULT}
    assert others == {name}


@each("name", [name for name in KEYS if not KEYS[name].rule.guard.needs_trust])
def test_every_key_but_commands_can_be_set_in_the_projects_file(place: Place, name: str):
    value = SAMPLES[name][0]
    place.project.write_text(written({name: value}))
    config = place.load()
    wanted = frozen(value)
    if KEYS[name].rule.guard.adds:
        wanted = tuple(dict.fromkeys((*KEYS[name].default, *wanted)))
    assert KEYS[name].of(config) == wanted
    assert config.sources[name] == ValueSource(KeyOrigin.PROJECT, f"{place.project}:{name.count('.') + 1}")
    assert not config.notes


@each("name", KEYS)
def test_every_key_can_be_set_by_its_variable(place: Place, name: str):
    value = SAMPLES[name][0]
    variable = "RINGI_" + name.upper().replace(".", "_")
    config = place.load(**{variable: in_variable(value)})
    assert KEYS[name].of(config) == frozen(value)
    assert config.sources[name] == ValueSource(KeyOrigin.ENVIRONMENT, variable)
    assert not config.notes


@each(
    "name", [name for name in KEYS if not (KEYS[name].rule.guard.adds or KEYS[name].rule.guard.needs_trust)]
)
def test_the_project_comes_after_the_user_and_the_environment_last(place: Place, name: str):
    first, second = SAMPLES[name]
    place.user.write_text(written({name: first}))
    place.project.write_text(written({name: second}))
    assert KEYS[name].of(place.load()) == frozen(second)
    config = place.load(**{KEYS[name].variable: in_variable(first)})
    assert KEYS[name].of(config) == frozen(first)
    assert config.sources[name].origin is KeyOrigin.ENVIRONMENT


def test_where_the_users_file_is():
    home = {"HOME": "/home/a"}
    assert user_file({}) is None
    assert user_file({"HOME": "relative"}) is None
    assert user_file(home) == Path("/home/a/.config/ringi/config.yaml")
    assert user_file(home | {"XDG_CONFIG_HOME": ""}) == Path("/home/a/.config/ringi/config.yaml")
    assert user_file(home | {"XDG_CONFIG_HOME": "relative"}) == Path("/home/a/.config/ringi/config.yaml")
    assert user_file(home | {"XDG_CONFIG_HOME": "/x"}) == Path("/x/ringi/config.yaml")
    assert user_file(home | {"XDG_CONFIG_HOME": "/x", "RINGI_CONFIG": "/y.yaml"}) == Path("/y.yaml")
    assert user_file(home | {"RINGI_CONFIG": ""}) == Path("/home/a/.config/ringi/config.yaml")


def test_a_named_file_that_is_missing_is_noted(place: Place):
    missing = place.root / "missing.yaml"
    config = place.load(RINGI_CONFIG=str(missing))
    assert values_of(config) == values_of(DEFAULTS)
    assert [str(note) for note in config.notes] == [f"RINGI_CONFIG names {missing}, which is not there"]


def test_the_real_environment_is_not_read(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RINGI_LANGUAGE", "ja")
    monkeypatch.setenv("HOME", str(place.root / "home"))
    place.user.write_text("language: en\n")
    assert values_of(load(None, {})) == values_of(DEFAULTS)


def test_without_files_neither_yaml_nor_difflib_is_loaded():
    program = (
        "from pathlib import Path; from ringi.config.load import load;"
        "load(Path('/nonexistent'), {'HOME': '/nonexistent', 'RINGI_LANGUAGE': 'ja'})"
    )
    source = str(Path(ringi.__file__).parents[1])
    assert_not_loaded(modules_after(program, env={"PYTHONPATH": source}), "yaml", "difflib")


# What guards


@each("name", [name for name in KEYS if KEYS[name].rule.guard in {Guard.SMALLER, Guard.LARGER}])
def test_loosening_names_the_key_both_values_and_the_file(place: Place, name: str):
    key = KEYS[name]
    line = name.count(".") + 1
    if key.choices:
        strictest = key.choices[-1]
        place.user.write_text(written({name: strictest}))
        key = key._replace(default=strictest)
        looser: object = key.choices[key.choices.index(strictest) - 1]
    elif isinstance(key.default, bool):
        strict = key.rule.guard is Guard.LARGER
        place.user.write_text(written({name: strict}))
        key, looser = key._replace(default=strict), not strict
    else:
        assert isinstance(key.default, int | float)
        looser = key.default + (1 if key.rule.guard is Guard.SMALLER else -1)
    place.project.write_text(written({name: looser}))
    error = place.refused()
    assert error.details["where"] == f"{place.project}:{line}"
    words = f"{looser} is looser than {key.default}"
    words = words.lower() if isinstance(looser, bool) else words
    assert str(error.details["problem"]) == f"{name} guards: a project may only tighten it, and {words}"
    # Not even when the environment would settle it: the file is wrong in itself.
    assert place.refused(**{key.variable: str(key.default)}).details["where"] == f"{place.project}:{line}"
    place.project.write_text(written({name: key.default}))
    assert key.of(place.load()) == key.default


def test_the_user_may_loosen_and_the_project_is_held_to_that(place: Place):
    place.user.write_text("approval: {expires_sec: 200000}\n")
    place.project.write_text("approval: {expires_sec: 100000}\n")
    assert place.load().approval.expires_sec == 100000
    place.user.write_text("approval: {expires_sec: 50}\n")
    assert "100000 is looser than 50" in str(place.refused())


def test_what_the_project_forbids_is_added_to_the_rest(place: Place):
    place.user.write_text("limits: {forbidden_extensions: [EXE, .dll]}\n")
    place.project.write_text("limits:\n  forbidden_extensions: [.Exe, so]\n")
    name = "limits.forbidden_extensions"
    config = place.load()
    assert config.limits.forbidden_extensions == (".exe", ".dll", ".so")
    assert config.sources[name] == ValueSource(KeyOrigin.USER, f"{place.user}:1", f"{place.project}:2")
    config = place.load(RINGI_LIMITS_FORBIDDEN_EXTENSIONS="bin")
    assert config.limits.forbidden_extensions == (".bin", ".exe", ".so")
    assert config.sources[name] == ValueSource(
        KeyOrigin.ENVIRONMENT, "RINGI_LIMITS_FORBIDDEN_EXTENSIONS", f"{place.project}:2"
    )
    place.project.write_text("limits: {forbidden_extensions: []}\n")
    assert place.load().limits.forbidden_extensions == (".exe", ".dll")


def test_commands_of_the_project_are_ignored_and_named(place: Place):
    place.project.write_text("with:\n  carry: [node_modules/]\n  checks: [make test]\n")
    config = place.load()
    assert config.beside == module.BesideConfig(carry=("node_modules",))
    assert config.sources["with.checks"] == ValueSource(KeyOrigin.IGNORED, f"{place.project}:3")
    assert str(config.sources["with.checks"].origin) == "project (not trusted, ignored)"
    assert [str(note) for note in config.notes] == [
        f"{place.project}:3: with.checks is ignored; commands from a project count once it is trusted"
    ]
    place.user.write_text("with: {checks: [pytest -q]}\n")
    config = place.load()
    assert config.beside.checks == ("pytest -q",)
    assert config.sources["with.checks"].origin is KeyOrigin.USER
    assert len(config.notes) == 1
    config = place.load(RINGI_WITH_CHECKS="tox, ruff check")
    assert config.beside.checks == ("tox", "ruff check")
    assert config.sources["with.checks"].origin is KeyOrigin.ENVIRONMENT


def some_values(name: str) -> st.SearchStrategy[Any]:
    key = KEYS[name]
    if isinstance(key.default, tuple):
        return st.lists(st.sampled_from([*SAMPLES[name][0], *SAMPLES[name][1]]))
    if isinstance(key.default, str):
        return st.sampled_from(key.choices or SAMPLES[name])
    if isinstance(key.default, bool):
        return st.booleans()
    if isinstance(key.default, float):
        return st.floats(key.rule.least, 10_000).map(lambda number: round(number, 3))
    near = st.integers(max(int(key.rule.least), key.default - 3), key.default + 3)
    return near | st.integers(int(key.rule.least), int(key.rule.most))


SETTINGS = st.fixed_dictionaries({}, optional={name: some_values(name) for name in KEYS})


def looser(key: module.Key, value: Any, than: Any) -> bool:
    if key.choices and key.rule.guard is not Guard.NONE:
        value, than = key.choices.index(value), key.choices.index(than)
    match key.rule.guard:
        case Guard.SMALLER:
            return value > than
        case Guard.LARGER:
            return value < than
        case Guard.ADDED | Guard.ADDED_ONCE_TRUSTED:
            return not set(value) >= set(than)
        case Guard.NARROWED:
            return bool(than) and not (value and set(value) <= set(than))
        case Guard.TRUSTED:
            return value != than
        case Guard.NONE:
            return False


@given(user=SETTINGS, project=SETTINGS, variables=st.just({}) | SETTINGS)
def test_a_project_never_loosens_what_guards(
    user: dict[str, Any], project: dict[str, Any], variables: dict[str, Any]
):
    with a_place() as place:
        place.user.write_text(written(user))
        environment = {KEYS[name].variable: in_variable(value) for name, value in variables.items()}
        alone, unset = place.load(**environment), place.load()
        place.project.write_text(written(project))
        wanted_looser = {
            name
            for name, value in project.items()
            if KEYS[name].rule.guard in {Guard.SMALLER, Guard.LARGER, Guard.NARROWED}
            and looser(KEYS[name], value, KEYS[name].of(unset))
        }
        if wanted_looser:
            refusal = str(place.refused(**environment))
            assert any(name in refusal for name in wanted_looser)
            return
        together = place.load(**environment)
        for key in KEYS.values():
            assert not looser(key, key.of(together), key.of(alone)), key.name


# Names nobody knows


@pytest.mark.usefixtures("loader")
@each(
    ("content", "line", "unknown", "nearest"),
    [
        ("lnaguage: ja", 1, "lnaguage", "language"),
        ("Language: ja", 1, "Language", "language"),
        ("\naproval: {expires_sec: 1}", 2, "aproval", "approval"),
        ("approval:\n  expire_sec: 1", 2, "approval.expire_sec", "approval.expires_sec"),
        ("limits:\n  max-specs: 1", 2, "limits.max-specs", "limits.max_specs"),
        ("wait_sec: 1", 1, "wait_sec", "lock.wait_sec"),
        ("risk: {max_specs: 1}", 1, "risk.max_specs", "limits.max_specs"),
        ("beside: {carry: []}", 1, "beside", None),
        ("1: 2", 1, "1", None),
        ("zzz: 1", 1, "zzz", None),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest(
    place: Place, content: str, line: int, unknown: str, nearest: str | None
):
    for path in (place.user, place.project):
        path.write_text(content)
        problem = str(place.refused())
        prefix = f"{path}:{line}: there is no key {unknown}; the nearest known one is "
        assert problem.startswith(prefix)
        assert problem.removeprefix(prefix) in ({nearest} if nearest else {*KEYS, *SECTIONS})
        path.unlink()


def test_a_dotted_key_is_explained(place: Place):
    place.user.write_text("lock.wait_sec: 3\n")
    assert str(place.refused()) == f"{place.user}:1: write wait_sec: below lock:, indented"


def test_an_unknown_variable_is_noted_with_the_nearest(place: Place):
    config = place.load(RINGI_LOCK_WAITSEC="3", RINGI_STATE_DIRECTORY="/x", RINGIER="no")
    assert values_of(config) == values_of(DEFAULTS)
    assert [str(note) for note in config.notes] == [
        "RINGI_LOCK_WAITSEC means nothing here; the nearest known one is RINGI_LOCK_WAIT_SEC",
        "RINGI_STATE_DIRECTORY means nothing here; the nearest known one is RINGI_STATE_DIR",
    ]


def test_variables_with_another_meaning_are_left_alone(place: Place):
    others = dict.fromkeys(["RINGI_STATE_DIR", "RINGI_CACHE_DIR", "RINGI_WITH"], "x")
    assert place.load(**others) == place.load()


def test_an_empty_variable_is_not_set(place: Place):
    place.user.write_text(written({name: value[0] for name, value in SAMPLES.items()}))
    assert place.load(**{key.variable: "" for key in KEYS.values()}) == place.load()


# Values of the wrong kind


@pytest.mark.usefixtures("loader")
@each(
    ("name", "values"),
    [
        (
            "approval.expires_sec",
            ["yes", "true", "'5'", "5.0", "010", "0x10", "1:30", "1__0", "٣", "", "[1]", "{a: 1}", "-1", "0"],
        ),
        ("limits.max_file_bytes", ["-5"]),
        ("keep.replaced_days", ["99999999"]),
        ("lock.wait_sec", ["-0.5", ".nan", "nan", ".inf", "-.inf", "1e999", "'2'", "no", "."]),
        ("checks.timeout_sec", ["0"]),
        ("language", ["fr", "no", "[ja]"]),
        ("risk.critical", ["'*.pem'", "{a: b}", "[1]", "[no]", "[2020-01-01]", "[[a]]", "[~]"]),
        ("model", ["5", "true", "", "[playbook]", "{openai: gpt}"]),
        ("llm.base_url", ["8080", "[http://x]"]),
        ("llm.max_output_tokens", ["63"]),
        ("llm.timeout_sec", ["0"]),
        ("planning.skip_after_sec", ["-1"]),
        ("logs.detail", ["true"]),
        ("logs.mask", ["secret"]),
        ("risk", ["5", "[critical]"]),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(place: Place, name: str, values: list[str]):
    section, _, key = name.partition(".")
    for value in values:
        for path in (place.user, place.project):
            path.write_text(f"{section}: {{{key}: {value}}}" if key else f"{section}: {value}")
            error = place.refused()
            assert error.details["where"] == f"{path}:1"
            assert str(error.details["problem"]).startswith(f"{name} "), value
            path.unlink()


@each(
    ("name", "items"),
    [
        ("risk.critical", ["", " ", "/etc/**", "../x", "a/../b", "./a", "a//b", "~/x", "a\x00b", "a\nb"]),
        ("limits.forbidden_extensions", ["", ".", "*.exe", "a/b", "a b", ". exe", ".exe.", "[ab]"]),
        ("with.carry", ["", "/", "/usr", "..", "../other", "a/..", ".", "~", "~/.ssh", "a\nb"]),
        ("with.checks", ["", "  ", "a\nb", "a\x1b[0m"]),
        ("logs.mask", ["", "(", "[", "*", "a\nb", "a" * 501]),
    ],
)
def test_an_item_that_would_mean_nothing_or_too_much_is_refused(place: Place, name: str, items: list[str]):
    for item in items:
        place.user.write_text(written({name: [item]}))
        assert f"{name} cannot hold" in str(place.refused()), item


@each(
    ("name", "texts"),
    [
        ("model", ["", "  ", "a\nb", "openai:\x1b[0m"]),
        (
            "llm.base_url",
            ["127.0.0.1:8080", "ftp://x", "http://", "http://me:pw@x", "http://x:99999", "http://x/v1?key=1",
             "http://x y", "http://x/#a", "file:///etc/passwd", "http://x\n"],
        ),
    ],
)  # fmt: skip
def test_a_text_that_would_mean_nothing_is_refused(place: Place, name: str, texts: list[str]):
    for text in texts:
        place.user.write_text(written({name: text}))
        assert f"{name} cannot hold" in str(place.refused()), text


@pytest.mark.usefixtures("loader")
@each(
    ("written_so", "model"),
    [
        ("openai:gpt-5", "openai:gpt-5"),
        ("'anthropic:claude-sonnet-4-5'", "anthropic:claude-sonnet-4-5"),
        ("ollama:qwen2.5-coder:7b", "ollama:qwen2.5-coder:7b"),
        ("command:my-agent --print 'two words'", "command:my-agent --print 'two words'"),
        ("command:my-agent a,b  # offline", "command:my-agent a,b"),
        ("  playbook  ", "playbook"),
    ],
)
def test_a_model_is_named_as_people_write_it(place: Place, written_so: str, model: str):
    place.user.write_text(f"model: {written_so}\n")
    assert place.load().model == model
    assert place.load(RINGI_MODEL="playbook").model == "playbook"
    assert place.load(RINGI_MODEL="").model == model
    # A comma is no list here.
    assert place.load(RINGI_MODEL="command:x a,b").model == "command:x a,b"


def test_an_address_is_taken_with_and_without_its_last_slash(place: Place):
    for text, wanted in (
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1"),
        ("https://models.internal", "https://models.internal"),
        ("http://[::1]:11434", "http://[::1]:11434"),
        ("''", ""),
    ):
        place.user.write_text(f"llm:\n  base_url: {text}\n")
        assert place.load().llm.base_url == wanted


@pytest.mark.req("PP-17")
def test_a_project_masks_more_and_never_less(place: Place):
    place.user.write_text("logs: {mask: ['EMP-[0-9]+']}\n")
    place.project.write_text("logs: {mask: [PIN], detail: off}\n")
    config = place.load()
    assert config.logs == module.Logs(detail="off", mask=("EMP-[0-9]+",))
    assert [str(note) for note in config.notes] == [
        f"{place.project}:1: logs.mask is ignored until the project is trusted"
    ]
    place.trust()
    config = place.load()
    assert config.logs == module.Logs(detail="off", mask=("EMP-[0-9]+", "PIN"))
    assert config.sources["logs.mask"] == ValueSource(KeyOrigin.USER, f"{place.user}:1", f"{place.project}:1")
    assert not config.notes


@pytest.mark.req("PP-17")
def test_what_a_project_masks_is_compiled_only_in_a_child_before_it_is_trusted(place: Place):
    place.project.write_text("logs:\n  mask:\n    - '(a+)+$'\n    - x\n    - '('\n    - '['\n")
    config = place.load()
    assert config.logs.mask == ()
    assert config.sources["logs.mask"].origin is KeyOrigin.IGNORED
    with pytest.raises(BadConfiguration, match=r"config\.yaml:5: logs\.mask cannot hold \"\(\""):
        check_expressions(place.workspace)
    place.trust()
    assert "logs.mask cannot hold" in str(place.refused())


def test_a_projects_model_and_address_are_ignored_until_it_is_trusted(place: Place):
    place.project.write_text("model: command:evil\nllm:\n  base_url: http://evil.invalid\n  timeout_sec: 5\n")
    config = place.load()
    assert (config.model, config.llm) == ("playbook", module.Llm(timeout_sec=5.0))
    assert [str(note) for note in config.notes] == [
        f"{place.project}:1: model is ignored until the project is trusted",
        f"{place.project}:3: llm.base_url is ignored until the project is trusted",
    ]
    place.user.write_text("model: ollama:x\n")
    assert place.load().model == "ollama:x"


@each(
    ("variable", "value"),
    [
        ("RINGI_LLM_BASE_URL", "localhost"),
        ("RINGI_LOGS_MASK", "(a"),
        ("RINGI_LANGUAGE", "fr"),
        ("RINGI_APPROVAL_EXPIRES_SEC", "soon"),
        ("RINGI_APPROVAL_EXPIRES_SEC", " 5"),
        ("RINGI_APPROVAL_EXPIRES_SEC", "-5"),
        ("RINGI_LOCK_WAIT_SEC", "inf"),
        ("RINGI_LOCK_WAIT_SEC", "1e400"),
        ("RINGI_RISK_CRITICAL", "a,,b"),
        ("RINGI_RISK_CRITICAL", "/etc"),
        ("RINGI_LIMITS_FORBIDDEN_EXTENSIONS", ".ex\udcff"),
    ],
)
def test_a_wrong_variable_is_refused_by_its_name(place: Place, variable: str, value: str):
    assert place.refused(**{variable: value}).details["where"] == variable


@pytest.mark.usefixtures("loader")
def test_plain_spellings_people_use_are_taken(place: Place):
    place.user.write_text(
        "limits: {max_file_bytes: 1_000_000, forbidden_extensions: [EXE, 'Tar.GZ', .7z, .exe]}\n"
        "lock: {wait_sec: 3}\n"
        "checks:\n  timeout_sec: 1e2\n"
        "keep: {'replaced_days': 33}\n"
        'language: "ja"\n'
        "with: {checks: ['  make test\n  '], carry: [日本/語/, .venv]}\n"
    )
    config = place.load()
    assert config.limits.max_file_bytes == 1_000_000
    assert config.limits.forbidden_extensions == (".exe", ".tar.gz", ".7z")
    assert (config.lock.wait_sec, config.checks.timeout_sec) == (3.0, 100.0)
    assert isinstance(config.lock.wait_sec, float)
    assert (config.keep.replaced_days, config.language) == (33, "ja")
    assert config.beside == module.BesideConfig(carry=("日本/語", ".venv"), checks=("make test",))


def test_a_glob_that_ends_in_a_slash_means_what_is_below(place: Place):
    place.project.write_text("risk: {critical: [deploy/, 'a/*', b]}\n")
    assert place.load().risk.critical == ("deploy/**", "a/*", "b")


def test_a_long_value_is_cut_where_it_is_shown(place: Place):
    for content in ("language: " + "x" * 100_000, "x" * 100_000 + "\n"):
        place.user.write_text(content)
        assert len(str(place.refused())) < 400 + len(str(place.user))


# Files that are no configuration


@pytest.mark.usefixtures("loader")
@each(
    ("content", "line", "part"),
    [
        (b"lock:\n  wait_sec: 1\n  wait_sec: 1\n", 3, "the key wait_sec is here for the second time"),
        (b"lock:\n  wait_sec: 1\nlock:\n", 3, "the key lock is here for the second time"),
        (b"lock: {}\n'lock': {}\n", 2, "the key lock is here for the second time"),
        (b"risk:\n  critical: &a [x]\n", 2, "anchors (&) and aliases (*) are not allowed"),
        (b"lock: &a {}\nkeep: *a\n", 1, "anchors (&) and aliases (*) are not allowed"),
        (b"lock: *a\n", 1, "anchors (&) and aliases (*) are not allowed"),
        (b"risk:\n  critical:\n    - *.pem\n", 3, "a text that begins with * needs quotes"),
        (b"lock: !!python/object/apply:os.system [id]\n", 1, "tags (!) are not allowed"),
        (b"language: !x ja\n", 1, "tags (!) are not allowed"),
        (b"lock:\n\twait_sec: 1\n", 2, "only spaces are allowed here, not a tab"),
        (b"\tlock: {}\n", 1, "only spaces are allowed here, not a tab"),
        (b"language: ja\n---\nlanguage: en\n", 2, "a second document begins here"),
        (b"language: ja\nx: \xff\xfe\n", 2, "it is not UTF-8 here"),
        ("language: ja".encode("utf-16"), 1, "it is not UTF-8 here"),
        (b"language: ja\nx: \x00\n", 2, "a character that YAML does not allow: U+0000"),
        (b"language: \x1b[31m\n", 1, "a character that YAML does not allow: U+001B"),
        (b"language: ja: en\n", 1, "this is not YAML: mapping values are not allowed"),
        (b"language: 'ja\n", None, "this is not YAML: "),
        (b"lock: {wait_sec: 1\n", None, "this is not YAML: "),
        (b"language: @x\n", 1, "this is not YAML: "),
        (b"? [a]\n: b\n", 1, "a key must be a word"),
        (b"? {a: b}\n: b\n", 1, "a key must be a word"),
        (b"~: b\n", 1, "a key must be a word"),
        (b"- language\n", 1, "it must be made of keys and values, not be a list"),
        (b"ja\n", 1, "it must be made of keys and values, not be ja"),
        (b"5\n", 1, "it must be made of keys and values, not be 5"),
        (b"[" * 500_000, 1, "it is nested too deeply"),
        (b"{a: " * 200_000, 1, "it is nested too deeply"),
        (b"- " * 200_000, 1, "it is nested too deeply"),
        (b"risk: {critical: [" + b"a," * 20_000 + b"]}", 1, "it has too many values; 10000 are allowed"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused_with_its_line(
    place: Place, content: bytes, line: int | None, part: str
):
    for path in (place.user, place.project):
        path.write_bytes(content)
        error = place.refused()
        if line is not None:
            assert error.details["where"] == f"{path}:{line}"
        assert part in str(error.details["problem"])
        path.unlink()


def test_a_file_too_large_is_not_even_read(place: Place):
    for path in (place.user, place.project):
        path.write_bytes(b"#" * MAX_FILE_BYTES)
        assert values_of(place.load()) == values_of(DEFAULTS)
        with path.open("r+b") as file:
            file.truncate(100 * 1024 * 1024)
        problem = f"it has {100 * 1024 * 1024} bytes, {MAX_FILE_BYTES} are allowed"
        assert str(place.refused()) == f"{path}: {problem}"
        path.unlink()


def test_what_is_no_file_is_refused_without_waiting(place: Place):
    for path in (place.user, place.project):
        path.mkdir()
        assert str(place.refused()) == f"{path}: it is not a regular file"
        path.rmdir()
        os.mkfifo(path)
        assert str(place.refused()) == f"{path}: it is not a regular file"
        path.unlink()


def test_the_users_file_may_be_a_link(place: Place):
    target = place.root / "dotfiles.yaml"
    place.user.symlink_to(target)
    assert "it cannot be read" in str(place.refused())  # a dangling link is a mistake, not an absence
    target.write_text("language: ja\n")
    config = place.load()
    assert config.language == "ja"
    assert config.sources["language"].where == f"{place.user}:1"
    target.unlink()
    os.mkfifo(target)
    assert str(place.refused()) == f"{place.user}: it is not a regular file"
    place.user.unlink()
    place.user.symlink_to(place.user)
    assert "it cannot be read" in str(place.refused())


def test_the_projects_file_may_not_be_a_link(place: Place):
    target = place.root / "elsewhere"
    target.mkdir()
    (target / "config.yaml").write_text("language: ja\n")
    place.project.symlink_to(target / "config.yaml")
    assert "it is a symbolic link" in str(place.refused())
    place.project.unlink()
    place.project.parent.rmdir()
    place.project.parent.symlink_to(target)
    assert str(place.refused()) == f"{place.project.parent}: it is not a folder"


def test_a_workspace_reached_through_a_link_is_fine(place: Place):
    link = place.root / "link"
    link.symlink_to(place.workspace)
    place.project.write_text("language: ja\n")
    assert load(link, {}).language == "ja"


def test_a_file_in_the_folders_place_is_an_absence_for_the_user_only(place: Place):
    shutil.rmtree(place.user.parent)
    place.user.parent.write_text("")
    assert values_of(place.load()) == values_of(DEFAULTS)
    place.project.parent.rmdir()
    place.project.parent.write_text("")
    assert str(place.refused()) == f"{place.project.parent}: it is not a folder"


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Root ignores file modes."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_an_unreadable_file_or_folder_is_refused():
    with a_place() as place:
        place.root.chmod(0o755)
        for path in (place.user, place.project):
            path.write_text("language: ja\n")
            for barred, mode in ((path, 0o644), (path.parent, 0o755)):
                barred.chmod(0)
                with without_privileges():
                    error = place.refused()
                assert (error.details["where"], str(error.details["problem"])) == (
                    str(path),
                    "it cannot be read: Permission denied",
                )
                barred.chmod(mode)
            path.unlink()


@given(
    st.binary(max_size=200)
    | st.text(alphabet="ab:-[]{}&*!|>'\"#%@`,? \t\n0.~\u3042", max_size=60).map(str.encode)
)
def test_any_bytes_are_read_or_refused(content: bytes):
    with a_place() as place:
        place.project.write_bytes(content)
        with contextlib.suppress(BadConfiguration):
            assert isinstance(place.load(), Config)


@given(st.dictionaries(st.sampled_from([key.variable for key in KEYS.values()]), st.text(max_size=20)))
def test_any_variables_are_read_or_refused(variables: dict[str, str]):
    with contextlib.suppress(BadConfiguration):
        config = msgspec.structs.replace(load(None, variables), sources={}, notes=())
        assert msgspec.json.decode(msgspec.json.encode(config), type=Config) == config


@each("name", ["risk.critical", "logs.mask", "limits.forbidden_extensions"])
def test_a_list_has_an_end(place: Place, name: str):
    section, key = name.split(".")
    place.user.write_text(f"{section}:\n  {key}: [" + ", ".join(f"a{n}" for n in range(501)) + "]\n")
    assert "has 501 items, 500 are allowed" in str(place.refused())
    place.user.write_text(f"{section}:\n  {key}: [" + ", ".join(f"a{n}" for n in range(500)) + "]\n")
    assert len(KEYS[name].of(place.load())) == 500


# Servers by their names


@pytest.mark.req("PP-15")
def test_servers_are_a_section_of_names(place: Place):
    place.user.write_text(
        "mcp_servers:\n"
        '  files: npx -y "a server" .\n'
        "  web: http://127.0.0.1:8000/mcp/\n"
        "mcp_environment:\n"
        "  files: A_TOKEN B\n"
    )
    config = place.load()
    assert config.mcp_servers == ('files: npx -y "a server" .', "web: http://127.0.0.1:8000/mcp")
    assert config.mcp_environment == ("files: A_TOKEN B",)


@pytest.mark.req("PP-15")
@each(
    "line",
    [
        "a_b: x",
        "A: x",
        "1: x",
        "'': x",
        "a: ''",
        "a: 'unclosed \"quote'",
        "a: http://user:secret@host/mcp",
        "a: https://",
        "a: 3",
        "a: [x]",
        "a:",
        '"a\\nb": x',
    ],
)
def test_a_server_that_cannot_be_one_is_refused(place: Place, line: str):
    place.user.write_text(f"mcp_servers:\n  {line}\n")
    with pytest.raises(BadConfiguration, match="mcp_servers"):
        place.load()


@pytest.mark.req("PP-15")
def test_a_projects_servers_count_once_it_is_trusted(place: Place):
    place.project.write_text("mcp_servers:\n  files: npx server\nmcp_environment:\n  files: SECRET\n")
    config = place.load()
    assert (config.mcp_servers, config.mcp_environment) == ((), ())
    assert config.trust is not None
    assert config.trust.lines("mcp_servers") == ("files: npx server",)


@pytest.mark.req("PP-15")
def test_the_variable_of_a_servers_token_is_known(place: Place):
    assert not place.load(RINGI_MCP_TRACKER_TOKEN="x").notes
    assert place.load(RINGI_MCP_TRACKER="x").notes
