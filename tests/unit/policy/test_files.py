"""Which files are critical, which hold state, and globs by the thousand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.config.keys import UNJUDGED
from ringi.policy.files import (
    CRITICAL,
    MUTABLE,
    critical_category,
    critical_files,
    is_mutable_state,
    mutable_state_files,
)
from ringi.policy.globs import Globs, matches
from ringi.policy.risk_level import Category
from tests.tables import each

CRITICAL_PATHS = {
    Category.PROGRAM: """
        x.exe lib/native.so libz.so.1.2 a.dylib pkg/mod.pyc Main.class app.jar dist/x-1.0-py3-none-any.whl
        build/addon.node game.wasm model.pkl weights.joblib x.o libx.a app.phar a.beam tool.deb book.xlsm""",
    Category.LOCK: """
        uv.lock deep/down/Cargo.lock requirements-dev.txt package-lock.json requirements/core.txt
        a/requirements/dev.in bun.lockb flake.lock go.sum pnpm-lock.yaml gradle.lockfile pylock.toml
        .terraform.lock.hcl Package.resolved""",
    Category.CI: """
        .github/workflows/ci.yml sub/.github/x .gitlab-ci.yml ci/base.gitlab-ci.yml .ci/run Jenkinsfile
        azure-pipelines-release.yml .travis.yml bitbucket-pipelines.yml .buildkite/pipeline.yml
        .forgejo/workflows/x.yaml cloudbuild.yaml renovate.json docs/CODEOWNERS .goreleaser.yaml""",
    Category.MIGRATION: """
        migrations/0001.py app/migrations/0001.py db/migrate/2024_x.rb alembic/versions/1.py
        sql/V12__add_table.sql 0003_users.up.sql prisma/schema.prisma""",
    Category.CREDENTIALS: """
        .env conf/.env.production tls/server.KEY id_rsa.pub .netrc .npmrc .ssh/config .aws/credentials
        kubeconfig.yaml prod.tfvars .git-credentials service-account-prod.json release.keystore
        .agent/allowed_signers .htpasswd group_vars/vault.yml""",
    Category.BUILD: """
        Makefile makefile GNUmakefile PYPROJECT.TOML Dockerfile.dev infra/main.tf package.json pom.xml
        build.gradle build.gradle.kts gradlew gradle/wrapper/gradle-wrapper.properties .mvn/wrapper/x
        BUILD src/BUILD.bazel WORKSPACE defs.bzl .bazelrc justfile Taskfile.yml Rakefile flake.nix
        docker-compose.prod.yml Procfile serverless.yml netlify.toml k8s/app.yaml ansible/site.yml
        playbook.yml Vagrantfile setup.cfg .cargo/config.toml build.rs configure meson.build app.service
        pnpm-workspace.yaml bunfig.toml deno.jsonc pip.conf chart.yaml""",
    Category.OBEYED: """
        .Rprofile r/.Rprofile .RData .ghci .iex.exs .erlang .hg/hgrc .jj/repo/config.toml .venv/bin/python
        venv/bin/pip node_modules/.bin/eslint web/node_modules/.bin/tsc pyvenv.cfg .ocamlinit .octaverc
        .latexmkrc .user.ini
        tests/conftest.py .vscode/settings.json AGENTS.md docs/CLAUDE.md CLAUDE.local.md .gitattributes
        .gitmodules .husky/pre-commit hooks/pre-push x.pth .envrc .mcp.json .claude/settings.json
        .cursor/mcp.json .github/copilot-instructions.md .github/prompts/x.md .windsurfrules
        .aider.conf.yml opencode.json pytest.ini tox.ini .pre-commit-config.yaml lefthook.yml .yarnrc.yml
        .yarn/plugins/x.cjs .pnpmfile.cjs .tool-versions mise.toml .flake8 pylintrc vite.config.ts
        web/eslint.config.mjs .eslintrc.json .devcontainer/devcontainer.json .idea/workspace.xml
        docs/conf.py .gdbinit .clinerules project.code-workspace skills/x/SKILL.md""",
}
STATE_PATHS = """
    app.db data/x.SQLITE3 x.sqlite-wal x.db-journal terraform.tfstate infra/terraform.tfstate.backup
    prod.tfstate.1700.backup dump.rdb appendonly.aof data.mdb server.pid celerybeat-schedule.db
    state.json .terraform/providers/x pgdata/base/1 store.duckdb x.realm disk.qcow2"""
ORDINARY = """
    src/main.py README.md docs/github/x.md locks.py makefiles/x.py migrations env a.env setup.pyx github/x
    mymigrations/x.py keys/readme.txt conftest.py.txt xMakefile src/api/workspace.py src/build/x.py
    docs/build.md lib/config.js src/config.ts .dockerignore .ruby-version .gitignore .editorconfig
    src/state.py state/x.py db/x.py docs/agents/readme.md src/agents.py hooks/useThing.ts compose.py
    locale/en/auth.json src/package.py src/lock.py src/migrate.py database.py src/pid.py LICENSE"""


@pytest.mark.req("PT-7", "CP-6")
@each("category", CRITICAL_PATHS)
def test_critical_files(category: Category):
    paths = CRITICAL_PATHS[category].split()
    assert {path: critical_category(path) for path in paths} == dict.fromkeys(paths, category)
    assert critical_files(paths) == tuple(paths)


@pytest.mark.req("PT-7", "CP-6")
def test_files_that_hold_state():
    paths = STATE_PATHS.split()
    assert mutable_state_files([*paths, *ORDINARY.split()]) == tuple(paths)
    assert all(map(is_mutable_state, paths))


@pytest.mark.req("PT-7", "CP-6")
def test_ordinary_files():
    paths = ORDINARY.split()
    assert {path: critical_category(path) for path in paths} == dict.fromkeys(paths)
    assert critical_files(paths) == mutable_state_files(paths) == ()


def test_configured_globs_come_beside_the_usual_ones():
    paths = ["launch/x", "a/b.sql", "Makefile", "x.py"]
    assert critical_files(paths, ["launch/**", "*.SQL"]) == ("launch/x", "a/b.sql", "Makefile")
    assert critical_category("launch/x", ["launch/**"]) is Category.CONFIGURED
    assert critical_category("Makefile", ["*"]) is Category.BUILD
    assert mutable_state_files(paths, ["*.sql"]) == ("a/b.sql",)


def test_every_category_has_globs_that_match_something():
    assert set(CRITICAL_PATHS) == set(CRITICAL)
    for glob in (*MUTABLE, *(glob for globs in CRITICAL.values() for glob in globs)):
        assert matches(glob.replace("/**", "/x").replace("[0-9]", "1").replace("*", "x"), glob)


def test_no_glob_is_listed_twice():
    everything = [glob.lower() for globs in CRITICAL.values() for glob in globs]
    assert sorted(everything) == sorted(set(everything))
    assert len(set(MUTABLE)) == len(MUTABLE)


@each(
    ("path", "glob", "expected"),
    [
        ("deploy/x/y", "deploy/**", True),
        ("a/deploy/x", "deploy/**", True),
        ("deploys/x", "deploy/**", False),
        ("deploy", "deploy/**", False),
        ("a/b/c.sql", "*.sql", True),
        ("a/b/c.sql", "a/*.sql", True),
        ("c.sql", "a/*.sql", False),
        ("A/B.SQL", "a/b.sql", True),
        ("[x]", "[x]", False),
        ("a\nb/c.sql", "*.sql", True),
    ],
)
def test_globs(path: str, glob: str, expected: bool):
    assert matches(path, glob) is expected
    assert Globs([glob]).match(path) is expected


paths = st.text("abAB.*/[]\n-é", max_size=10)
some_globs = st.lists(st.text("abAB*?.[]-!/é", max_size=6) | st.just("a/**"), max_size=4)


@given(paths, some_globs)
def test_many_globs_at_once_say_what_each_says(path: str, globs: list[str]):
    assert Globs(globs).match(path) is any(matches(path, glob) for glob in globs)


def test_fifty_thousand_paths_take_no_time():
    paths = [f"src/package{n % 97}/module_{n}/some_file_{n}.py" for n in range(50_000)]
    assert critical_files([*paths, "Makefile"], ["deploy/**"]) == ("Makefile",)
    assert mutable_state_files([*paths, "a.db"]) == ("a.db",)


def test_every_extension_that_no_review_can_judge_is_that_of_a_program():
    paths = [f"bin/tool{extension}" for extension in UNJUDGED]
    assert {critical_category(path) for path in paths} == {Category.PROGRAM}
