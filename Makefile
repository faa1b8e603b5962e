# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := bus config hooks pipeline sinks stages

CLAUDE_VERSION := 2.1.330
CLAUDE_HOME := .cache/claude

.PHONY: setup demo test check lint types view perf docs claude clean

setup: $(VENV)/.ready ## a virtual environment with everything in it

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("subcog needs Python 3.11 or later; set PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: setup ## a real prompt through the real hook pipe, and what was injected and why
	@$(BIN)/python -m subcog.pipeline.demo $(ARGS)

test: setup ## the whole suite
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

check: lint types test ## what CI runs

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup view
	$(BIN)/mypy $(addprefix .view/subcog/,$(ROOMS))

view: ## directory links, so that type checkers and editors see the package subcog
	@mkdir -p .view/subcog
	@for room in $(ROOMS); do ln -sfn ../../$$room .view/subcog/$$room; done

perf: setup ## measure, and print beside each target
	$(BIN)/python -m pytest perf -s -q $(ARGS)

docs: setup ## rewrite what is made from the code: docs/reference and the diagram in ARCHITECTURE.md
	$(BIN)/python -m subcog.pipeline.reference --write

claude: $(CLAUDE_HOME)/$(CLAUDE_VERSION).ready ## the real agent, which tests/e2e runs

$(CLAUDE_HOME)/$(CLAUDE_VERSION).ready:
	@mkdir -p $(CLAUDE_HOME)
	npm install --prefix $(CLAUDE_HOME) --no-save --no-audit --no-fund --loglevel=error @anthropic-ai/claude-code@$(CLAUDE_VERSION)
	@touch $@

clean:
	rm -rf $(VENV) .view build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
