# Each target does its own set-up: `make try` and `make test` work on a fresh clone with python3, git and make.
# Written for GNU make 3.81 and later; the work is in tools/environment.py.

PYTHON ?= python3
ARGS ?=

# make cannot keep a file name with spaces in a list, so the shell finds the folder. This must come first:
# the list holds this file alone only as long as nothing else was read.
ROOT := $(shell file="$$(printf '%s' '$(subst ','\'',$(MAKEFILE_LIST))' | sed 's/^ *//')"; \
	CDPATH= cd -- "$$(dirname -- "$$file")" && pwd -P)
HERE := $(shell cd . && pwd -P)
ifeq ($(ROOT),)
$(error The folder of this Makefile cannot be found)
endif

TARGETS := help try picture test campaign test-power test-model test-agents test-servers test-forges test-install test-editors vscode show-planning show-runs history lint bench bench-context catalog requirements venv clean seeded walk records
.PHONY: $(TARGETS)
.DEFAULT_GOAL := help

# Settings of the caller's shell that would lead python astray.
unexport PYTHONPATH PYTHONHOME PYTHONOPTIMIZE PYTHONDONTWRITEBYTECODE VIRTUAL_ENV

ifneq ($(ROOT),$(HERE))

$(TARGETS):
	@$(MAKE) --no-print-directory -C '$(subst ','\'',$(ROOT))' $@

else

RUN := .venv/bin/python
# Said in words that any Python understands.
FOUND := command -v "$(PYTHON)" >/dev/null || \
	{ echo "There is no $(PYTHON) here; name one: make ... PYTHON=/path/to/python3" >&2; exit 1; }; \
	"$(PYTHON)" -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Ringi needs Python 3.11 or newer; %s is %s. \
	If there is another one, name it: make ... PYTHON=python3.11" % (sys.executable, sys.version.split()[0]))' || exit 1
CORE := $(FOUND); "$(PYTHON)" tools/environment.py
DEV := $(CORE) --dev

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

try: ## the whole way once, in a scratch repository: offline, no model
	@$(CORE)
	@$(RUN) tools/try.py $(ARGS)

picture: ## the same in a real terminal, recorded and drawn: docs/journey.svg
	@$(DEV)
	@$(RUN) tools/record.py $(ARGS)

test: ## every test; ARGS= goes to pytest
	@$(DEV)
	@$(RUN) -m pytest -n auto --dist worksteal $(ARGS)

records: ## what the installed program does, compared with what is recorded; ARGS=--write records anew, ARGS=NAME some scenes
	@$(CORE) --installed
	@$(RUN) -m tests.records $(ARGS)

campaign: ## kill -9 at every system call of every plan, links swapped in by a racing process, 1,000 examples of every property; takes minutes
	@$(DEV)
	@RINGI_CAMPAIGN=full HYPOTHESIS_PROFILE=campaign $(RUN) -m pytest -n auto tests/crash tests/unit/patching \
		tests/functional/test_cache.py tests/functional/test_forge_offer.py tests/functional/test_forge_offer_faults.py tests/functional/test_forge_told.py \
		tests/functional/test_watch_review.py tests/functional/test_traps.py $(ARGS)
	@HYPOTHESIS_PROFILE=campaign $(RUN) -m pytest -n auto -m hypothesis tests/conventions tests/unit \
		--ignore tests/unit/patching $(ARGS)

seeded: ## small faults put into a copy of the program one by one, and the tests that have to catch each; takes minutes. ARGS=--list names them
	@$(DEV)
	@$(RUN) tools/seeded.py $(ARGS)

test-power: ## power loss for real on loop-mounted ext4 and xfs, cut before every operation; needs root, takes minutes
	@$(DEV)
	@RINGI_POWER=1 $(RUN) -m pytest tests/power $(ARGS)

test-model: ## a whole planning session with a real, small language model on this machine; takes minutes
	@$(DEV)
	@$(RUN) tools/real_model.py
	@RINGI_REAL_MODEL=1 $(RUN) -m pytest tests/model $(ARGS)

test-agents: ## real agents from npm and PyPI against a scripted model, offline; 2 GB, takes minutes
	@$(DEV)
	@$(RUN) tools/agents.py
	@RINGI_AGENTS=1 $(RUN) tools/agents.py offline .venv/bin/python -m pytest tests/agents $(ARGS)

test-servers: ## real MCP servers from npm, offline; needs Node, takes minutes
	@$(DEV)
	@$(RUN) tools/servers.py
	@RINGI_SERVERS=1 $(RUN) tools/agents.py offline .venv/bin/python -m pytest tests/servers $(ARGS)

test-forges: ## GitHub and GitLab: emulators, their own descriptions, the workflows of CI; 700 MB, takes minutes. GITLAB_OPENAPI= names GitLab's
	@$(DEV)
	@$(RUN) tools/forges.py
	@RINGI_FORGES=1 $(RUN) tools/agents.py offline .venv/bin/python -m pytest tests/forges $(ARGS)

test-install: ## each way of the README's Install in a fresh home, from the network; takes minutes
	@$(DEV)
	@RINGI_INSTALL=1 $(RUN) -m pytest tests/install $(ARGS)

vscode: ## the VS Code extension as dist/ringi-VERSION.vsix
	@$(FOUND); "$(PYTHON)" tools/vscode.py pack

test-editors: ## the official SDK of the Agent Client Protocol as editor, with real agents; VS Code in a browser; offline; 3 GB, compiles, takes minutes
	@$(DEV)
	@$(RUN) tools/agents.py
	@$(RUN) tools/editors.py
	@$(RUN) tools/vscode.py install
	@RINGI_EDITORS=1 $(RUN) tools/agents.py offline .venv/bin/python -m pytest tests/editors $(ARGS)

show-planning: ## five requests on each of five real packages from PyPI, with a model that knows only what it is sent
	@$(DEV)
	@$(FOUND); "$(PYTHON)" tools/packages.py
	@RINGI_PACKAGES=1 $(RUN) -m pytest tests/packages $(ARGS)

MIRROR ?= mirror
show-runs: ## real issues with their real fixes as runs, one killed at every transition, and their proofs in clones; MIRROR= names a folder of clones, and it says which
	@$(DEV)
	@$(FOUND); "$(PYTHON)" tools/packages.py
	@$(RUN) -m tools.tasks "$(MIRROR)"
	@RINGI_MIRROR="$(MIRROR)" $(RUN) -m pytest tests/real $(ARGS)

walk: ## whole journeys through the installed program, in projects of others; ARGS=--all walks every one, MIRROR= also those of larger projects
	@$(CORE) --installed
	@$(FOUND); "$(PYTHON)" tools/walk.py
	@RINGI_WALK="$(if $(filter --all,$(ARGS))$(filter-out mirror,$(MIRROR)),all,core)" RINGI_WALK_MIRROR="$(filter-out mirror,$(MIRROR))" \
		$(RUN) -m pytest -n 3 --dist worksteal tests/walk $(filter-out --all,$(ARGS))

REPO ?= .
history: ## every patch in the history of REPO= (this one) applied, forward and back, and compared with git
	@$(CORE)
	@$(RUN) tools/history.py "$(REPO)" $(ARGS)

lint: ## ruff, mypy, the layers, the catalogues
	@$(DEV)
	@failed=0; for check in "-m ruff check" "-m ruff format --check" "-m mypy" .venv/bin/lint-imports \
		"tools/catalog.py check"; do echo "== $$check"; $(RUN) $$check || failed=1; done; exit $$failed

bench: ## the speed promises, as ratios; ARGS=--quick takes each figure once, of something tiny
	@$(DEV)
	@$(RUN) -m bench $(ARGS)

bench-context: ## how often the files of real fixes are found; MIRROR= names a folder of clones, and it says which
	@$(CORE)
	@$(RUN) -m bench.context --mirror "$(MIRROR)" $(ARGS)

catalog: ## bring the translations up to date and say what is missing
	@$(CORE)
	@$(RUN) tools/catalog.py update
	@$(RUN) tools/catalog.py compile
	@$(RUN) tools/catalog.py check

requirements: ## which requirements have no test yet; ARGS="--tests PT-6" lists the tests of one
	@$(FOUND)
	@"$(PYTHON)" tools/requirements_report.py $(ARGS)

venv: ## the environment alone
	@$(DEV)

clean: ## everything that make made
	rm -rf .venv .make .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache build dist
	find src tests tools bench -name __pycache__ -prune -exec rm -rf {} +
	find src -name '*.mo' -exec rm -f {} +

endif
