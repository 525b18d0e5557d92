# Every command of the project. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests run in this many processes; each has its own Redis and its own database.
WORKERS ?= 2
PACKAGES := validator backoffice loadtests
UV ?= uv
LOCK = $(UV) pip compile -q --universal --generate-hashes --no-header --python-version 3.11 --group build
PIP := $(BIN)/python -m pip --disable-pip-version-check
HASHED := $(PIP) install -q --require-hashes --only-binary :all:
EDITABLE := $(PIP) install -q --no-deps --no-build-isolation --no-index -e .

.PHONY: help
help: ## list the targets
	@printf 'Catraca. Targets:\n\n'
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sort | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'
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

.PHONY: lock
lock: ## write both lock files again (needs uv; add UV_ARGS=--upgrade to take newer versions)
	@$(LOCK) $(UV_ARGS) pyproject.toml -o requirements-dev.lock --group dev
	@$(LOCK) -c requirements-dev.lock pyproject.toml -o requirements.lock --no-annotate
