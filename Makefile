# Corral's commands. What is slow is done once and kept: tools/prepare says what each one needs.
# Further arguments for pytest: make unit ARGS="-k session -x"

.DEFAULT_GOAL := help
.PHONY: help run dev test check cover lint format types imports unit sqlite postgresql api engines stories cli sdk mutants \
        soak explore docs browser packaging web api-types console wheel clean

ARGS ?=
# The runner has the rest that a stage needs made ready.
STAGE = @tools/prepare python && .venv/bin/python tools/test.py --stream --arguments="$(ARGS)"

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## set everything up and start Corral on this machine (CORRAL_HOME, CORRAL_PORT)
	@tools/prepare run
	@unset PYTHONDONTWRITEBYTECODE; exec .venv/bin/corral up

dev: ## start Corral with reload of server and console
	@tools/prepare dev
	@exec tools/dev

test: ## set everything up and run every check and test
	@tools/prepare test
	@.venv/bin/python tools/test.py

check: ## the inner loop: lint, types, unit tests and what the change since main touches
	@tools/prepare test
	@.venv/bin/python tools/check.py

lint: ## ruff: rules and format of the Python code
	$(STAGE) lint

format: ## put Python and TypeScript in order
	@tools/prepare dev
	@.venv/bin/ruff check --fix . && .venv/bin/ruff format .
	@npm run --silent --prefix web format

types: ## mypy, strict
	$(STAGE) types

imports: ## do the arrows of the house point inward
	$(STAGE) imports

unit: ## tests that need no database
	$(STAGE) unit

sqlite: ## database and API tests on SQLite
	$(STAGE)" -m sqlite" api

postgresql: ## those that may differ there, on a PostgreSQL that the tests start (ARGS=--postgresql=all: every one)
	$(STAGE)" -m postgresql" api

api: ## database and API tests on SQLite and PostgreSQL
	$(STAGE) api databases

cover: ## choose anew which tests run on PostgreSQL, too: after a check that a statement is not executed there
	$(STAGE)" -m sqlite" api
	@.venv/bin/python tools/cover.py choose

engines: ## tests of the engines: real processes in real sandboxes, as root and as an ordinary user
	$(STAGE) engines

cli: ## tests of the corral command
	$(STAGE) cli

sdk: ## tests of the SDK
	$(STAGE) sdk

mutants: ## does a test notice each small change of the rules of division and reclaim (minutes)
	@tools/prepare mutants
	@.venv/bin/python tools/mutants.py

soak: ## the long runs: restarted machines, clocks that jump, Corral's processes killed 100 times (as root)
	@tools/prepare soak
	@SOAK=1 .venv/bin/python -m pytest -q -s tests/soak tests/chaos $(ARGS)

explore: ## property tests with new random examples each time
	@tools/prepare python
	@.venv/bin/python -m pytest -q -n 2 tests/core tests/scheduling tests/replay --hypothesis-profile=new $(ARGS)

stories: ## work on a real Corral: people who share, processes that die
	$(STAGE) stories

docs: ## checks of the documentation and its examples
	$(STAGE) docs

browser: ## tests of the console in Chromium
	$(STAGE) browser

packaging: ## install the wheel in an empty environment and start it
	$(STAGE) packaging

web: ## lint, types, tests, build and size of the console
	$(STAGE) console

api-types: ## renew the console's API types and the SDK's models after a change of the routes
	@tools/prepare dev
	@tools/api-types

console: ## build the console into the package
	@tools/prepare console

wheel: ## build the wheels, with the console inside, into dist/
	@tools/wheel

clean: ## remove what was built and cached, data in CORRAL_HOME stays
	@rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist mutants \
	    web/node_modules web/dist src/corral/server/console
