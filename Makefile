# Needs make and Python 3.11 or newer; everything else is installed into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt
WORKFLOW ?= workflows/mini_text_to_image.json
export LATENTGRAPH_HOME ?= $(CURDIR)/.latentgraph

.DEFAULT_GOAL := demo
.PHONY: demo serve install test test-all bench mini mutants clean

# Draws a picture and prints its path. The second time every node but the save is remembered.
demo: $(VENV)/.installed
	@$(BIN)/latentgraph run $(WORKFLOW) --output outputs

# Serves the page and the API on 127.0.0.1:8765 and prints the link; Ctrl-C lets running jobs end.
serve: $(VENV)/.installed
	@$(BIN)/latentgraph serve

install: $(VENV)/.installed

# Lint, types and every test that needs neither a GPU nor many minutes.
test: $(VENV)/.installed-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest

# The same with the tests marked long.
test-all: $(VENV)/.installed-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m pytest -m "not gpu"

# Prints the tables of times and sizes with their bars.
bench: $(VENV)/.installed-dev
	$(BIN)/latentgraph bench

# Trains the shipped miniature again (about an hour on two cores).
mini: $(VENV)/.installed
	$(PY) -m nodes.mini.train

# Applies deliberate faults one by one; each must be caught by a test.
mutants: $(VENV)/.installed-dev
	$(PY) -m tests.mutants

clean:
	rm -rf $(VENV) .latentgraph outputs build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Stamps: nothing is installed again until one of the files they depend on changes.
$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"{sys.executable} is Python {sys.version.split()[0]}; Latentgraph needs 3.11 or newer. Run: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt
	$(INSTALL) -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(INSTALL) -e '.[dev]'
	@touch $@
