# Every command of the project. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What `make load` plays (loadtests/profiles.py).
PROFILE ?= peak
# Tests run in this many processes; each has its own Redis and its own database.
WORKERS ?= 2
PACKAGES := $(wildcard validator backoffice loadtests)
UV ?= uv
LOCK = $(UV) pip compile -q --universal --generate-hashes --no-header --python-version 3.11 --group build
PIP := $(BIN)/python -m pip --disable-pip-version-check
HASHED := $(PIP) install -q --require-hashes --only-binary :all:
EDITABLE := $(PIP) install -q --no-deps --no-build-isolation --no-index -e .

.PHONY: help
help: ## list the targets
	@printf 'Catraca. Targets:\n\n'
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@printf '\nStart with: make demo, then make check.\n'

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo 'Catraca needs Python 3.11 or newer with venv; $(PYTHON) was not found. Install it, or name one: make PYTHON=/path/to/python3.12' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Catraca needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo 'This Python has no venv (on Debian and Ubuntu: apt-get install python3-venv).' >&2; exit 1; }
	@echo 'Making $(VENV) ...'
	@$(PYTHON) -m venv $(VENV)

# What the product needs to run; `make demo` installs no more than this.
$(VENV)/runtime.stamp: requirements.lock pyproject.toml | $(BIN)/python
	@echo 'Installing the packages of requirements.lock into $(VENV) (about half a minute) ...'
	@$(HASHED) -r requirements.lock
	@$(EDITABLE)
	@touch $@

# The same and the tools of development.
$(VENV)/development.stamp: requirements-dev.lock requirements.lock pyproject.toml | $(BIN)/python
	@echo 'Installing the packages of requirements-dev.lock into $(VENV) (about a minute) ...'
	@$(HASHED) -r requirements-dev.lock
	@$(EDITABLE)
	@touch $(VENV)/runtime.stamp $@

.PHONY: install
install: $(VENV)/development.stamp ## make .venv from the lock, nothing else

.PHONY: demo
demo: $(VENV)/runtime.stamp ## a demonstration city, from the first tap to the claim (ARGS=--exit stops there)
	@$(BIN)/catraca demo $(ARGS)

.PHONY: check
check: lint types contracts test ## everything that must hold before a commit

.PHONY: lint
lint: $(VENV)/development.stamp ## style and formatting (ruff)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

.PHONY: types
types: $(VENV)/development.stamp ## types (mypy, strict)
	$(BIN)/mypy --strict $(PACKAGES)

.PHONY: contracts
contracts: $(VENV)/development.stamp ## which package may import which (import-linter)
	$(BIN)/lint-imports --no-logo

.PHONY: test
test: $(VENV)/development.stamp ## the tests, on real servers, with coverage (ARGS=... goes to pytest)
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --cov --cov-report=term:skip-covered $(ARGS)

.PHONY: outside
outside: $(VENV)/development.stamp ## the tests on outside data, whose folder CATRACA_OUTSIDE_DATA names
	@test -n "$${CATRACA_OUTSIDE_DATA:-}" || { echo 'Set CATRACA_OUTSIDE_DATA to the folder of the outside data.' >&2; exit 1; }
	@test -d "$$CATRACA_OUTSIDE_DATA" || { echo "CATRACA_OUTSIDE_DATA names no folder: $$CATRACA_OUTSIDE_DATA" >&2; exit 1; }
	$(BIN)/pytest -m outside $(ARGS)

.PHONY: simulate
simulate: $(VENV)/development.stamp ## play simulated cities in which everything breaks (SEEDS=200 FIRST=1, LARGE=yes, MUTATIONS=all)
	@$(BIN)/python -m tests.simulation $(if $(MUTATIONS),--mutations $(filter-out all,$(MUTATIONS)),--seeds $(or $(SEEDS),20) --first $(or $(FIRST),1) $(if $(LARGE),--large))

.PHONY: format
format: $(VENV)/development.stamp ## format the code and repair what can be repaired
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: bench
bench: $(VENV)/development.stamp ## the target table as ratios, in minutes (FULL=1: all of it, up to an hour)
	$(BIN)/python -m loadtests.bench $(if $(FULL),--full,--quick) $(ARGS)

.PHONY: load
load: $(VENV)/development.stamp ## riders of a rush hour on a city of its own (PROFILE=peak, one-bus, garage, day, ...)
	CATRACA_LOAD_PROFILE=$(PROFILE) $(BIN)/python -m loadtests.ready_city -- \
	  $(BIN)/locust -f loadtests/locustfile.py --headless --only-summary --host http://127.0.0.1:8099

.PHONY: lock
lock: ## write both lock files again (needs uv; add UV_ARGS=--upgrade to take newer versions)
	@$(LOCK) $(UV_ARGS) pyproject.toml -o requirements-dev.lock --group dev
	@$(LOCK) -c requirements-dev.lock pyproject.toml -o requirements.lock --no-annotate
