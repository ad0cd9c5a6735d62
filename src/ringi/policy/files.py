"""Which files are critical or change at run time, judged by their names."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ringi.policy.globs import globs
from ringi.policy.risk_level import Category

CRITICAL: Final[Mapping[Category, tuple[str, ...]]] = {
    Category.LOCK: (
        "*.lock", "*.lockb", "*.lockfile", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml",
        "packages.lock.json", "conda-lock.y*ml", "pylock*.toml", "go.sum", "go.work.sum", "package.resolved",
        "cartfile.resolved", "cabal.project.freeze", "manifest.toml", ".terraform.lock.hcl",
        "requirements*.txt", "requirements*.in", "constraints*.txt", "requirements/*.txt",
        "requirements/*.in", "*/requirements/*.txt", "*/requirements/*.in",
    ),
    Category.OBEYED: (
        # Agents
        "AGENTS.md", "AGENTS.*.md", "AGENT.md", "CLAUDE.md", "CLAUDE.*.md", "GEMINI.md", "QWEN.md", "WARP.md",
        "SKILL.md", "copilot-instructions.md", "*.instructions.md", "*.prompt.md", "*.chatmode.md",
        ".github/agents/**", ".github/instructions/**", ".github/prompts/**", ".claude/**", ".claude.json",
        ".codex/**", ".gemini/**", ".cursor/**", ".cursorrules", ".windsurf/**", ".windsurfrules",
        ".clinerules", ".clinerules/**", ".roo/**", ".roorules*", ".roomodes", ".aider*", ".continue/**",
        ".continuerules", ".kiro/**", ".junie/**", ".amazonq/**", ".augment/**", ".augment-guidelines",
        ".goosehints", ".goose/**", ".opencode/**", "opencode.json*", ".crush.json", "crush.json", ".trae/**",
        ".qwen/**", ".agents/**", ".rules", ".mcp.json", "mcp.json",
        # Git
        ".gitattributes", ".gitmodules", ".gitconfig", ".githooks/**", ".husky/**", ".huskyrc*",
        "pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-merge-commit", "post-merge",
        "pre-push", "pre-rebase", "post-rewrite", "post-checkout", "pre-receive", "post-receive",
        "applypatch-msg", "pre-applypatch", "post-applypatch", "fsmonitor-watchman", "hooks/update",
        "hooks/post-update", "hooks/reference-transaction", "hooks/post-index-change", "hooks/pre-auto-gc",
        "hooks/push-to-checkout", "hooks/proc-receive", "git-hooks/**", ".hooks/**",
        ".pre-commit-config.y*ml",
        ".pre-commit-hooks.y*ml", "lefthook*.y*ml", ".lefthook*", "lefthook.toml", "lefthook.json",
        ".lintstagedrc*", ".overcommit.yml", ".simple-git-hooks.*",
        # Editors, shells, debuggers
        ".vscode/**", "*.code-workspace", ".idea/**", ".fleet/**", ".zed/**", ".devcontainer/**",
        ".devcontainer.json", ".gitpod.y*ml", ".gitpod.dockerfile", ".replit", ".exrc", ".vimrc", ".lvimrc",
        ".nvimrc", ".nvim.lua", ".dir-locals*.el", ".gdbinit", ".lldbinit", ".envrc", ".bashrc",
        ".bash_profile", ".profile", ".zshrc", ".zshenv", ".zprofile", ".tool-versions", "mise.toml",
        ".mise.toml", "mise.*.toml", ".mise.*.toml", "mise/**", ".mise/**", ".config/mise*",
        # Python
        "conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pytest.ini", ".pytest.ini",
        "tox.ini", "noxfile.py", "fabfile.py", "dodo.py", ".pdbrc*", ".pylintrc", "pylintrc", "mypy.ini",
        ".mypy.ini", ".flake8", "docs/conf.py", "docs/source/conf.py", "doc/conf.py", "mkdocs.y*ml",
        "jupyter_*config.py", "ipython_config.py",
        # JavaScript, Ruby, PHP
        "*.config.js", "*.config.cjs", "*.config.mjs", "*.config.ts", "*.config.cts", "*.config.mts",
        "*.conf.js", ".eslintrc*", ".babelrc*", ".prettierrc*", ".stylelintrc*", ".mocharc*", "nodemon.json",
        "gulpfile*", "gruntfile*", ".yarnrc*", ".yarn/**", ".pnpmfile.*", ".pnp.*", ".rspec", ".irbrc",
        ".pryrc", ".rdbgrc", ".byebugrc", ".rubocop*.yml", "phpunit.xml*", ".php-cs-fixer*.php", "rector.php",
        ".user.ini", "php.ini", ".htaccess", "web.config", ".mongorc.js", ".mongoshrc.js",
        # Start-up files of other interpreters and programs
        ".rprofile", ".rprofile.site", ".renviron", ".rdata", ".ghci", ".iex.exs", ".erlang", ".ocamlinit",
        ".octaverc", "startup.m", ".gnuplot", ".latexmkrc", "latexmkrc", "texmf.cnf", ".ackrc", ".ctags",
        ".ctags.d/**", ".emacs", ".emacs.d/**", ".vim/**", ".nvim/**", ".ipython/**", ".jupyter/**",
        ".direnvrc", ".bash_login", ".bash_logout", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
        ".login", ".logout", "config.fish",
        # Other version control
        ".hg/**", ".hgrc", ".jj/**", ".sl/**", ".bzr/**", ".svn/**",
        # Installed commands
        ".venv/**", "venv/bin/**", "venv/scripts/**", "env/bin/**", "pyvenv.cfg", "node_modules/.bin/**",
    ),
    Category.CI: (
        ".github/**", "*.gitlab-ci.y*ml", ".gitlab/**", ".circleci/**", ".ci/**", "azure-pipelines*.y*ml",
        ".azure-pipelines/**", ".azuredevops/**", "Jenkinsfile*", "*.jenkinsfile", ".travis.y*ml",
        "appveyor.y*ml", ".appveyor.y*ml", "bitbucket-pipelines.y*ml", ".drone.y*ml", ".drone.star",
        ".woodpecker*.y*ml", ".woodpecker/**", ".buildkite/**", ".cirrus.*", ".forgejo/**", ".gitea/**",
        ".teamcity/**", ".semaphore/**", ".tekton/**", ".harness/**", ".builds/**", ".build.y*ml",
        ".zuul.y*ml", ".zuul.d/**", "cloudbuild*.y*ml", "buildspec*.y*ml", "wercker.y*ml", "codefresh*.y*ml",
        "bitrise.y*ml", "codemagic.y*ml", "screwdriver.y*ml", ".readthedocs.y*ml", "renovate.json*",
        ".renovaterc*", "dependabot.y*ml", ".mergify.y*ml", ".releaserc*", ".goreleaser*.y*ml", "CODEOWNERS",
    ),
    Category.MIGRATION: (
        "migrations/**", "alembic/**", "alembic.ini", "db/migrate/**", "flyway/**", "liquibase/**",
        "db/changelog/**", "evolutions/**", "v[0-9]*__*.sql", "*.up.sql", "*.down.sql", "schema.prisma",
        "db/schema.rb", "db/structure.sql",
    ),
    Category.CREDENTIALS: (
        ".env", ".env.*", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk",
        "*.kdbx", "*.gpg", "*.ovpn", "*.mobileprovision", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
        ".ssh/**", ".gnupg/**", ".aws/**", ".azure/**", ".gcloud/**", ".kube/**", "kubeconfig*",
        "credentials", "credentials.json", "credentials.y*ml", "credentials.toml", "credentials.ini",
        "credentials.enc", "credentials.csv", "secrets", "secrets.json", "secrets.y*ml", "secrets.toml",
        "secrets.env", "secrets.ini", "secrets.enc", "secrets/**",
        "service-account*.json", "serviceaccount*.json", "google-services.json",
        "googleservice-info.plist", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".npmrc",
        ".pypirc", ".git-credentials", ".dockercfg", ".docker/config.json", "*.tfvars", "*.tfvars.json",
        "vault.y*ml", ".vault-token", ".vault_pass*", ".sops.y*ml", "*.sops.*", ".s3cfg", ".boto",
        ".terraformrc", "terraform.rc", "local.settings.json", "allowed_signers",
        "authorized_keys*", "known_hosts",
    ),
    Category.BUILD: (
        # Deploy
        "deploy/**", "deployment/**", "deploy.sh", "deploy.y*ml", "deploy.py", "action.y*ml",
        # Build
        "Makefile", "GNUmakefile", "BSDmakefile", "Makefile.*", "*.mk", "*.mak", "CMakeLists.txt", "*.cmake",
        "cmakepresets.json", "cmakeuserpresets.json", "configure", "configure.ac", "configure.in",
        "meson.build", "meson.options", "meson_options.txt", "SConstruct", "SConscript", "wscript",
        "BUILD", "*.bazel", "WORKSPACE", "WORKSPACE.bzlmod", "*.bzl", ".bazelrc", "*.bazelrc",
        ".bazelversion", "BUCK", ".buckconfig", "pants*.toml", "justfile", ".justfile", "*.just",
        "taskfile*.y*ml", "Earthfile", "dagger.json", "magefile.go", "Rakefile", "*.rake", "Gemfile",
        "*.gemspec", "pyproject.toml", "setup.py", "setup.cfg", "manifest.in", "Pipfile", "environment.y*ml",
        "hatch.toml", "uv.toml", "pip.conf", "pip.ini", ".condarc", "package.json", "pnpm-workspace.y*ml",
        "lerna.json", "nx.json",
        "turbo.json", "rush.json", "deno.json*", "bunfig.toml", "angular.json", "composer.json",
        "Cargo.toml", ".cargo/**", "build.rs", "rust-toolchain*", "go.mod", "go.work", "pom.xml", ".mvn/**",
        "mvnw*", "*.gradle", "*.gradle.kts", "gradle.properties", "gradlew*", "gradle/wrapper/**",
        "buildsrc/**", "*.sbt", "build.sc", "build.mill", "project/build.properties", "*.csproj", "*.fsproj",
        "*.vbproj", "*.vcxproj", "*.sln", "*.slnx", "*.targets", "directory.build.*", "directory.packages.*",
        "nuget.config", "package.swift", "Podfile", "*.podspec", "Cartfile", "fastlane/**",
        "mix.exs", "rebar.config*", "stack.yaml", "*.cabal", "cabal.project*", "dune-project", "*.opam",
        "build.zig*", "PKGBUILD", "debian/**", "snapcraft.y*ml", "*.nix", "devbox.json", "Brewfile",
        # Deploy
        "Dockerfile*", "*.dockerfile", "Containerfile*", "docker-compose*.y*ml", "compose*.y*ml",
        "docker-bake*", "docker-entrypoint*", "*.tf", "*.tf.json", "*.tofu", "*.hcl", "*.nomad", "*.bicep",
        "k8s/**", "kubernetes/**", "helm/**", "chart.y*ml", "kustomization.y*ml", "helmfile*.y*ml",
        "skaffold.y*ml", "Tiltfile", "Procfile*", "serverless*.y*ml", "serverless.json", "serverless.ts",
        "netlify.toml", "vercel.json", "fly.toml", "fly.*.toml", "render.y*ml", "railway.json",
        "railway.toml", "wrangler.toml", "wrangler.json*",
        "firebase.json", ".firebaserc", "amplify.y*ml", "samconfig.*", "cdk.json", "pulumi*.y*ml",
        "ansible.cfg", "ansible/**", "playbook*.y*ml", "playbooks/**", "Vagrantfile", "*.service", "*.timer",
        "crontab*", "*.cron", "nginx*.conf", "supervisord.conf",
    ),
    Category.PROGRAM: (
        "*.exe", "*.dll", "*.so", "*.dylib", "*.pyc", "*.class", "*.jar", "*.whl", "*.node", "*.wasm",
        "*.scr", "*.msi", "*.ko", "*.so.*", "*.a", "*.o", "*.lib", "*.rlib",
        "*.pyo", "*.pyd", "*.egg", "*.pyz", "*.pyzw", "*.pex", "*.pkl", "*.pickle", "*.joblib", "*.dill",
        "*.marshal", "*.ckpt", "*.rds", "*.rdata", "*.war", "*.ear", "*.aar", "*.jmod", "*.dex",
        "*.apk", "*.ipa", "*.beam", "*.elc", "*.luac", "*.phar", "*.swf", "*.bc", "*.mexa64", "*.xll",
        "*.gem", "*.nupkg", "*.vsix", "*.xpi", "*.crx", "*.deb", "*.rpm", "*.appimage",
        "*.flatpak", "*.dmg", "*.pkg", "*.cab", "*.docm", "*.xlsm", "*.pptm",
    ),
}  # fmt: skip

MUTABLE: Final[tuple[str, ...]] = (
    "*.db", "*.db3", "*.db-wal", "*.db-shm", "*.db-journal", "*.sqlite", "*.sqlite3", "*.sqlite-*",
    "*.sqlite3-*", "*.s3db", "*.duckdb", "*.duckdb.wal", "*.mdb", "*.accdb", "*.mdf", "*.ldf", "*.ibd",
    "*.frm", "*.myd", "*.myi", "ibdata*", "*.fdb", "*.dbf", "*.realm", "*.ldb", "*.lmdb", "*.leveldb/**",
    "*.rocksdb/**", "*.bolt", "*.boltdb", "*.rdb", "*.aof", "*.rrd", "*.wal", "pgdata/**",
    "postgres-data/**", "mysql-data/**", "mongo-data/**", "redis-data/**", "pg_version", "*.tfstate",
    "*.tfstate.*", "terraform.tfstate.d/**", ".terraform/**", ".pulumi/**", ".vagrant/**", "*.state",
    "state.json", "*.state.json", "*.pid", "celerybeat-schedule*", "*.qcow2", "*.vmdk", "*.vdi",
)  # fmt: skip

_ALL: Final = tuple(glob for some in CRITICAL.values() for glob in some)


def critical_category(path: str, configured: Sequence[str] = ()) -> Category | None:
    if globs(_ALL).match(path):
        return next(category for category, some in CRITICAL.items() if globs(some).match(path))
    return Category.CONFIGURED if globs(tuple(configured)).match(path) else None


def is_credential(path: str) -> bool:
    """Whether its name says that it holds credentials, whatever else it is."""
    return globs(CRITICAL[Category.CREDENTIALS]).match(path)


def is_mutable_state(path: str, configured: Sequence[str] = ()) -> bool:
    return globs(MUTABLE, tuple(configured)).match(path)


def critical_files(paths: Iterable[str], configured: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(filter(globs(_ALL, tuple(configured)).match, paths))


def mutable_state_files(paths: Iterable[str], configured: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(filter(globs(MUTABLE, tuple(configured)).match, paths))
