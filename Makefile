# Plain `make` prints the targets. Each of them first makes the environment that it needs, inside this folder.

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-v1 test-viewer test-oldest fuzz lint coverage-table docs wheel bench clean

VENV := .venv
OLDEST := .venv-oldest
SPHINX := $(VENV)/bin/python -m sphinx
# In the order of the tree: long files with few tests would else come last, to one worker, while the other waits.
PYTEST_OPTIONS := -n 2 --dist loadfile --no-loadscope-reorder -rs

help: ## print this help
	@echo "symgrad: derivatives of TensorFlow graphs. Targets:"
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "make PYTHON=/path/to/python ... chooses the Python that the environments are made with."

$(VENV)/.installed: pyproject.toml setup.py scripts/make_venv.sh
	bash scripts/make_venv.sh $(VENV) 10 13 --editable ".[demo,test,lint,docs]"

# TensorFlow 2.15 is the last release before Keras 3 and has wheels up to Python 3.11.
$(OLDEST)/.installed: pyproject.toml setup.py scripts/make_venv.sh
	bash scripts/make_venv.sh $(OLDEST) 10 11 "tensorflow==2.15.*" "numpy<2" --editable ".[test]"

setup: $(VENV)/.installed ## make .venv with symgrad and all that the other targets need

demo: setup ## train on real digits, differentiate, draw; writes symgrad-demo/
	$(VENV)/bin/symgrad demo

test: setup ## run the whole test suite
	$(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) $(ARGS)

# Not the sweep over op types, which builds V2 control flow in either behaviour: test-oldest runs it in V1's.
test-v1: setup ## run the tests marked core after tf.disable_v2_behavior(), as most TF1 code runs
	SYMGRAD_WORLD=v1 $(VENV)/bin/python -m pytest $(PYTEST_OPTIONS) -m core --ignore=tests/sweep $(ARGS)

test-viewer: setup ## run the viewer's tests: by Node's test runner and in a browser
	$(VENV)/bin/python -m pytest tests/viewer -rs $(ARGS)

test-oldest: $(OLDEST)/.installed ## run the tests marked core on TensorFlow 2.15 and NumPy 1, after tf.disable_v2_behavior()
	SYMGRAD_WORLD=v1 $(OLDEST)/bin/python -m pytest $(PYTEST_OPTIONS) -m core $(ARGS)

fuzz: setup ## read 10,000 damaged graph files, differentiate 20,000 random graphs, half in V1 behaviour
	SYMGRAD_FUZZ=10000 $(VENV)/bin/python -m pytest tests/model/test_malformed.py tests/cli/test_hostile_files.py
	for world in v2 v1; do PYTHONPATH=tests:. $(VENV)/bin/python -m random_graphs --count 10000 --world $$world || exit 1; done

lint: setup ## check style (ruff; biome for JavaScript), types (mypy) and layers (import-linter)
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m mypy
	$(VENV)/bin/python -m mypy --strict --follow-imports=silent tests/typing/a_users_script.py
	$(VENV)/bin/lint-imports --no-logo
	$(VENV)/bin/biome ci --error-on-warnings

coverage-table: setup ## run the sweep over TensorFlow's op types and write docs/coverage.md
	cd tests && PYTHONPATH=.:.. ../$(VENV)/bin/python -m sweep.coverage

docs: setup ## build the documentation into docs/_build; warnings are errors
	$(SPHINX) --fail-on-warning --keep-going -q -b html docs docs/_build
	@echo "The documentation is in docs/_build/index.html"

wheel: setup ## build the wheel and import symgrad from it, outside this folder
	bash scripts/check_wheel.sh $(VENV)/bin/python

$(VENV)/.bench: $(VENV)/.installed
	$(VENV)/bin/python -m pip install -qq --editable ".[bench]"
	touch $@

bench: $(VENV)/.bench ## measure speed and memory beside the peers; takes minutes
	set -e; for script in benchmarks/*.py; do echo "== $$script"; $(VENV)/bin/python $$script; done

clean: ## remove the environments and everything that was built
	rm -rf $(VENV) $(OLDEST) build dist docs/_build symgrad.egg-info symgrad-demo
