# `make demo` and `make test` need python3 (3.11 or later, with venv) and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Real data, where it is at hand; tests that need it say so when they are skipped.
ifneq ($(wildcard ../shared/data),)
export CROWDRANK_DATA ?= $(abspath ../shared/data)
endif

.PHONY: demo test browser check lowest hostile fuzz papers docs constraints benchmarks clean

demo: $(VENV)/installed
	@mkdir -p demo
	$(BIN)/crowdrank rank examples/votes.csv --method crowd-bt --out demo/ranking.csv --annotators demo/annotators.csv
	@echo
	@echo "These votes are simulated, so the truth is known. How near do the methods come?"
	$(BIN)/crowdrank compare examples/votes.csv --gold examples/gold.csv

test: $(VENV)/installed-dev browser
	$(BIN)/python -m pytest -n auto --dist worksteal

# The tests of reports open them in Chromium; without it they are skipped, or fail where CI is set.
browser:
	@command -v chromium > /dev/null || [ "$$(id -u)" != 0 ] || \
		{ apt-get update && apt-get install -y --no-install-recommends chromium; } > /dev/null 2>&1 || true

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) test

# The lowest versions that pyproject.toml allows, in an environment of their own: a fit, and the tests of command and
# formats.
lowest: $(VENV)-lowest/installed
	$(VENV)-lowest/bin/python -m pytest -n auto -W default::DeprecationWarning tests/smoke.py tests/cli tests/formats

# A container's folders, disks and memory, and everything else that could go wrong where it runs.
hostile: $(VENV)/installed-dev
	$(BIN)/python tests/hostile.py

# 10,000 mutants of every kind of file: hours on one core.
fuzz: $(VENV)/installed-dev
	$(BIN)/python tests/fuzz.py

papers: $(VENV)/installed-dev
	$(BIN)/python papers/crowd-bt/run.py
	$(BIN)/python papers/crowdagg/run.py
	$(BIN)/python papers/crowdagg/charts.py
	$(BIN)/python papers/gda/run.py
	$(BIN)/python papers/ltrma/run.py

docs: $(VENV)/installed-dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/site/examples.py
	$(BIN)/python docs/site/build.py

constraints: $(VENV)/installed-dev
	$(BIN)/python -m pip freeze --exclude-editable | sort -f > constraints.txt

benchmarks: $(VENV)/installed-dev $(VENV)-bench/installed
	$(BIN)/python benchmarks/evaluation.py
	$(BIN)/python benchmarks/reading.py
	$(BIN)/python benchmarks/ties.py
	$(BIN)/python benchmarks/choosing.py
	$(BIN)/python benchmarks/intervals.py
	$(BIN)/python benchmarks/verdicts.py
	$(BIN)/python benchmarks/graded_intervals.py $(CROWDRANK_DATA)
	$(BIN)/python benchmarks/field.py $(CROWDRANK_DATA)
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/collect.py
	$(BIN)/python benchmarks/forecasts.py
	$(BIN)/python benchmarks/learn.py
	$(BIN)/python benchmarks/leaderboards.py --data $(CROWDRANK_DATA)
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/server.py
	$(VENV)-bench/bin/python benchmarks/pairwise.py
	$(VENV)-bench/bin/python benchmarks/graded.py
	$(VENV)-bench/bin/python benchmarks/graded.py --agreement 100k
	$(VENV)-bench/bin/python benchmarks/labels.py $(CROWDRANK_DATA)
	$(VENV)-bench/bin/python benchmarks/listwise.py

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-lowest demo dist build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(VENV)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "crowdrank needs Python 3.11 or later; name one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# constraints.txt holds the versions that were tested; `make constraints` writes those that are installed.
$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/installed

$(VENV)-lowest/installed: pyproject.toml tests/lowest.py
	rm -rf $(VENV)-lowest
	$(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) tests/lowest.py > $(VENV)-lowest/constraints.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c $(VENV)-lowest/constraints.txt \
		-e '.[learn,report,spreadsheets]' hypothesis pandas pyarrow pytest pytest-xdist pytrec-eval-terrier
	@touch $@

# The peers hold some of our dependencies back: they get an environment of their own.
$(VENV)-bench/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@
