# The project's tasks. Each does only what is still to do; `make setup` is implied everywhere.

MAKEFLAGS += --no-print-directory
python := .venv/bin/python
jobs := $(shell nproc 2>/dev/null || echo 1)
js_files = $(wildcard src/heapglass/web/assets/*.js)
# Not those whose line numbers are what a test is about.
c_files = $(shell find native tests examples bench -path tests/unit/symbols/programs -prune -o \
	-name '*.[ch]' -print -o -name '*.cpp' -print -o -name '*.cc' -print)

help:
	@echo "make setup    virtual environment in .venv, native library"
	@echo "make demo     record the examples and look at them"
	@echo "make quick    formatting, lint, types, warnings and the fast unit tests, in half a minute"
	@echo "make test     all tests, of long ones a slice (installs the Debian packages they need)"
	@echo "make soak     all tests, whole: every seed, every case"
	@echo "make check    formatting, lint, types, layers, all tests, the hot path's instruction counts"
	@echo "make format   rewrite sources in the project's format"
	@echo "make tidy     static analysis of the C sources (advice, not part of the check)"
	@echo "make bench    measure"
	@echo "make clean    remove what was built"

setup: environment library

environment:
	@tools/setup.sh

# An editable install does not notice changed C sources by itself.
library:
	@$(MAKE) -C native -j$(jobs)

packages:
	@tools/install-packages.sh

demo: setup
	@tools/demo.sh

test: packages setup native-test
	@echo "test     python"
	@$(python) -m pytest -q -n auto --dist worksteal

# tests/harness/soak.py reads this.
soak: export HEAPGLASS_SOAK = 1
soak: test

native-test:
	@$(MAKE) -C native -j$(jobs) test

check: lint test races instructions

races: setup
	@$(MAKE) -C native/tests races

# The hot path's cost, counted: repeatable where times are not.
instructions: packages setup
	@echo "cost     instructions"
	@$(python) bench/instructions.py --check

# Between one edit and the next: what most mistakes show up in.
quick: setup
	@$(MAKE) -j$(jobs) --output-sync quick-python $(lints) quick-native

quick-python:
	@echo "test     python, fast unit tests"
	@$(python) -m pytest -q -n $(jobs) --dist worksteal -m "not slow" tests/unit

quick-native:
	@$(MAKE) -C native quick

lints := format-python format-c format-javascript lint-python types layers warnings

lint: setup
	@$(MAKE) -j$(jobs) --output-sync $(lints)

format-python:
	@echo "format   python"
	@$(python) -m ruff format --quiet --check .

format-c:
	@echo "format   c"
	@.venv/bin/clang-format --dry-run -Werror $(c_files)

format-javascript:
	@echo "format   javascript"
	@.venv/bin/clang-format --dry-run -Werror $(js_files)

lint-python:
	@echo "lint     python"
	@$(python) -m ruff check --quiet .

types:
	@echo "types    python"
	@$(python) -m mypy --no-error-summary

layers:
	@echo "layers   python"
	@.venv/bin/lint-imports --no-logo >build/layers 2>&1 || { cat build/layers; exit 1; }

warnings:
	@echo "warnings c"
	@$(MAKE) -C native warnings

format: setup
	@$(python) -m ruff check --quiet --fix-only .
	@$(python) -m ruff format .
	@.venv/bin/clang-format -i $(c_files) $(js_files)

tidy: setup
	@$(python) -m pip install --quiet --disable-pip-version-check --group tidy
	@.venv/bin/clang-tidy --quiet $(wildcard native/src/*.c) -- -std=gnu11 -Inative/include

# 35 minutes; ARGS=--quick takes two; ARGS='--only NAME' one workload, NAME may be a pattern
# such as 'part*' or 'growth*' (bench/run.py --help lists them).
bench: setup
	@$(python) bench/run.py --install $(ARGS)

clean:
	@echo "remove   build .venv src/heapglass/_native"
	@rm -rf build dist .venv src/heapglass/_native .mypy_cache .ruff_cache .pytest_cache \
		.hypothesis .import_linter_cache
	@find src tests tools bench -name __pycache__ -prune -exec rm -rf {} +

.PHONY: help setup environment library packages demo test soak native-test check races instructions \
	quick quick-python quick-native lint $(lints) format tidy bench clean
