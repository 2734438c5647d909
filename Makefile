# Everything a person or CI runs. Each target does its own set-up; nothing global is touched.
.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help venv lock demo test check lint unit integration examples bench clean generated

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

venv: $(STAMP)  ## the development environment

$(STAMP): pyproject.toml requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=") if sys.version_info < (3, 11) else None'
	@echo "setting up $(VENV) with the development dependencies; the first time takes a few minutes"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $(STAMP)

lock: ## lock the development dependencies to what is installed
	$(BIN)/python -m pip install --quiet --upgrade -e '.[dev]'
	$(BIN)/python -m pip freeze --exclude-editable > requirements-dev.txt

check: venv lint unit  ## ruff, mypy, import-linter, the unit tier

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: venv  ## values only, no socket
	$(BIN)/pytest tests/unit -q

integration: venv  ## the command line, real clients, real disks
	$(BIN)/pytest tests/integration -q

demo: venv  ## a local hub with a small real model: resolve, download, verify, flip one bit, be refused
	$(BIN)/python -m examples.demo

torture: venv  ## pulls killed 250 times with SIGKILL at random instants; a line for each, then the counts
	$(BIN)/python -m tests.integration.store.torture

test: venv  ## every tier this machine can run; under CI=true none may be missing
	$(BIN)/pytest tests

generated: venv  ## write the CRDs and the reference anew from the models and the rules
	$(BIN)/python -m tests.generated

examples: venv  ## write the examples' rendered output anew; read the difference
	$(BIN)/python -m tests.examples

bench: venv  ## the benchmark tables of docs/performance.md
	$(BIN)/python -m benchmarks

clean:  ## remove what the targets made in this folder
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

-include tests/bed/bed.mk
