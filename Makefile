# Every target does its own set-up in .venv and is quick when that is done.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# The CPU build of torch; a plain `torch` brings gigabytes of CUDA libraries.
TORCH  ?= torch==2.13.0

# Tools are those that are known to work; what users install is not held to them.
PIP := -m pip install --quiet --disable-pip-version-check --constraint constraints/tools.txt

# Test workers side by side are faster with a thread each than with all threads each.
ONE_THREAD := OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all lint docs bench coverage mutants package audit clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# A stamp per set of extras: made again only when pyproject.toml changes.
$(VENV)/.installed-%: pyproject.toml constraints/tools.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Setting up $(VENV) ($*): a minute or two, the first time only."
	@$(BIN)/python $(PIP) --editable ".[$*]"
	@touch $@

$(VENV)/.installed-heavy: $(VENV)/.installed-test
	@$(BIN)/python $(PIP) $(TORCH)
	@$(BIN)/python $(PIP) --editable ".[all,browser,test]"
	@touch $@

# Pages are tested in Chromium. Only root of a Debian gets it by itself; elsewhere those
# tests are skipped where it is missing.
.PHONY: chromium
chromium:
	@command -v chromedriver >/dev/null || test "$$(id -u)" -ne 0 || { \
	  apt-get update -qq && apt-get install -qq --yes chromium chromium-driver; } \
	  || echo "No chromium: the tests of pages are skipped."

install: $(VENV)/.installed-plots  ## Install the library into .venv

demo: install  ## Shuffle four views of the digits, cluster them, tell what it is worth
	@$(BIN)/unaligned demo

test: $(VENV)/.installed-test  ## Run the quick tests (no torch, no download)
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "not heavy and not slow"

test-all: test $(VENV)/.installed-heavy chromium  ## Run all tests: slow ones too, and those with torch and the other extras
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m "heavy or slow"

lint: $(VENV)/.installed-lint  ## Style and types
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed-docs  ## Build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.installed-test  ## Time the kernels and the fit against plain NumPy
	$(BIN)/python -m benchmarks

coverage: $(VENV)/.installed-heavy  ## Measure which branches of src/ the tests reach
	$(ONE_THREAD) $(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered

mutants: $(VENV)/.installed-heavy  ## Change code in small ways; do the tests notice?
	$(ONE_THREAD) $(BIN)/python tools/mutants.py src/unaligned/kernels src/unaligned/pavuc src/unaligned/savuc

package: $(VENV)/.installed-test  ## Test the wheel with the lowest and newest dependencies
	$(BIN)/python $(PIP) build
	$(BIN)/python tools/check_package.py lowest newest

audit: $(VENV)/.installed-test  ## Look for published advisories on what is installed
	$(BIN)/python $(PIP) pip-audit
	$(BIN)/python -m pip_audit --skip-editable

clean:  ## Remove everything that the targets made
	rm -rf $(VENV) docs/_build docs/gallery docs/api/generated .pytest_cache .mypy_cache .ruff_cache
