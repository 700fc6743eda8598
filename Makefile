# Toolloop. `make run` serves it with a demo; `make test` runs everything that can run here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests
PORT ?= 8000
# The tests share the work: those of the browser in the first process, the others in the rest.
PROCESSES ?= 2
# An environment that was broken off while it was made is made anew.
MAKE_VENV = $(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)

.PHONY: run test lint format clean

run: $(STAMP)
	@exec $(BIN)/python manage.py serve --port $(PORT)

test: lint
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python -m pytest -n $(PROCESSES) $(PYTEST_ARGS)

lint: $(TEST_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TEST_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml constraints.txt
	@echo "Installing, about a minute, once ..."
	@$(MAKE_VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(TEST_STAMP): pyproject.toml constraints.txt
	@$(MAKE_VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[test]'
	touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache
