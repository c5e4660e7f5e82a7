PYTHON ?= python3
VENV ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PYTHON_CODE := $(wildcard src tests benchmarks docs)
CPP_CODE = $(shell find cpp -name '*.hpp' -o -name '*.cpp')
# Folders are listed too, so that a deleted file counts as a change.
SOURCES := pyproject.toml $(wildcard CMakeLists.txt README.md) \
           $(shell find cpp src -not -path '*/__pycache__*')

SECONDS ?= 600

.PHONY: help run test fuzz gpu-test lint format docs bench gpu-bench bench-check data-is-given \
        base-is-given clean
.NOTPARALLEL:  # two installations at once would spoil the environment

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /: /'

run: $(VENV)/.with-plot  ## train a few machines and show what they did
	$(BIN)/python -m widemargin.demo

test: $(VENV)/.with-test  ## run every test
	$(BIN)/python -m pytest -q

fuzz: $(VENV)/.with-test  ## give broken files to all readers for a while: make fuzz SECONDS=600
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

gpu-test: $(VENV)/.with-test  ## run the tests that need an NVIDIA GPU (extra gpu)
	$(BIN)/python -m pytest -q -m gpu

lint: $(VENV)/.with-lint  ## check formatting, rules and types
	$(BIN)/ruff format --check $(PYTHON_CODE)
	$(BIN)/ruff check $(PYTHON_CODE)
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP_CODE)

format: $(VENV)/.with-lint  ## rewrite the sources in the common format
	$(BIN)/ruff format $(PYTHON_CODE)
	$(BIN)/ruff check --fix $(PYTHON_CODE)
	$(BIN)/clang-format -i $(CPP_CODE)

docs: $(VENV)/.with-docs  ## build the documentation as HTML in docs/_build
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build
	@echo "open docs/_build/index.html"

bench: data-is-given $(VENV)/.with-bench  ## compare with other libraries: make bench DATA=folder
	$(BIN)/python -m benchmarks.tile
	$(BIN)/python -m benchmarks.small --data $(DATA)
	$(BIN)/python -m benchmarks.run --data $(DATA)
	$(BIN)/python -m benchmarks.curves --data $(DATA)
	$(BIN)/python -m benchmarks.linear --data $(DATA)

gpu-bench: data-is-given $(VENV)/.with-bench  ## time training on an NVIDIA GPU: make gpu-bench DATA=folder
	$(BIN)/python -m benchmarks.gpu --data $(DATA)

bench-check: base-is-given $(VENV)/.with-bench  ## fail if training got slower: make bench-check BASE=revision
	$(BIN)/python -m benchmarks.check $(BASE) $(if $(DATA),--data $(DATA))

base-is-given:
	@test -n '$(BASE)' || { echo "make bench-check needs BASE=revision, what to compare with"; exit 1; }

data-is-given:
	@test -d '$(DATA)' || { echo "make bench needs DATA=folder, the folder of the data sets"; exit 1; }

clean:  ## remove what was built or made, and .venv
	rm -rf build demo dist docs/_build docs/api docs/gallery .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The build tools live in the environment, because an isolated build compiles everything anew for
# each changed line; setuptools is here for dependencies that come as source.
READ_BUILD_TOOLS := import tomllib; \
	print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")

$(VENV)/.build-tools: pyproject.toml | $(BIN)/python
	$(BIN)/python -c '$(READ_BUILD_TOOLS)' > $@.txt
	$(PIP) install -r $@.txt cmake ninja "setuptools>=70.1"
	touch $@

# One stamp for each extra: installed again only after a source changed.
INSTALL = $(PIP) install --no-build-isolation '.[$(1)]' && touch $(VENV)/.with-$(1)

$(VENV)/.with-%: $(SOURCES) $(VENV)/.build-tools
	$(call INSTALL,$*)

# The tools of lint read the sources, not the installed package.
$(VENV)/.with-lint: pyproject.toml $(VENV)/.build-tools
	$(call INSTALL,lint)
