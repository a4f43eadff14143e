# Every target sets up what it needs by itself, in .venv, from Python >= 3.11 alone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

DEMO ?= kustomization-examples/lws-vllm/base/lws.yaml
SECONDS ?= 60
ENGINE ?= docker
IMAGE ?= krmfn
PYTEST ?= $(BIN)/pytest
PYTEST_ARGS ?=
BENCH_ARGS ?=

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## show this list
	@echo "usage: make TARGET   (PYTHON=$(PYTHON), 3.11 or newer)"
	@sed -n 's/^\([.a-z-]*\):[^#]*## \(.*\)/\1: \2/p' $(firstword $(MAKEFILE_LIST)) | while IFS=: read -r name what; do \
	  printf '  %-16s%s\n' "$$name" "$$what"; done

.PHONY: demo
demo: $(VENV)/.runtime ## inject a real manifest and show the difference (DEMO=FILE or folder)
	@echo "krmfn inject --diff $(DEMO)"
	@$(BIN)/krmfn inject --diff $(DEMO)

.PHONY: test
test: $(VENV)/.dev ## run the tests that need nothing but Python (PYTEST_ARGS="-k NAME")
	@echo "running the tests ..."
	@$(PYTEST) --numprocesses=2 --ignore=tests/hosts --ignore=tests/container $(PYTEST_ARGS)

.PHONY: test-hosts
test-hosts: $(VENV)/.dev ## run the tests with the real kustomize, kubectl and kpt
	@echo "running the host tests ..."
	@$(PYTEST) tests/hosts $(PYTEST_ARGS)

.PHONY: test-container
test-container: $(VENV)/.dev ## run the tests of the image (CONTAINER_ENGINE, PYTHON_IMAGE)
	@echo "running the container tests ..."
	@$(PYTEST) tests/container $(PYTEST_ARGS)

.PHONY: check
check: $(VENV)/.dev ## lint, format, types, the rules of the house, the Dockerfile
	@echo "ruff check ..."
	@$(BIN)/ruff check --quiet
	@echo "ruff format --check ..."
	@$(BIN)/ruff format --quiet --diff
	@echo "mypy --strict krmfn ..."
	@$(BIN)/mypy --strict -p krmfn
	@echo "mypy tests bench ..."
	@$(BIN)/mypy -p tests -p bench
	@echo "import rules and other rules of the house ..."
	@$(PYTEST) -q tests/test_house.py
	@echo "hadolint Dockerfile ..."
	@$(BIN)/hadolint Dockerfile

.PHONY: format
format: $(VENV)/.dev ## rewrite the sources in the house's format
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

.PHONY: bench
bench: $(VENV)/.dev ## measure against peers and print ratios (BENCH_ARGS=...)
	@echo "measuring ..."
	@$(BIN)/python -m bench $(BENCH_ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.dev ## look for inputs that break it, for SECONDS=n
	@echo "fuzzing for $(SECONDS) seconds ..."
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

.PHONY: image
image: ## build the container image (ENGINE=docker or podman, IMAGE=krmfn)
	@$(ENGINE) build --tag $(IMAGE) --build-arg VERSION=$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' krmfn/__init__.py) .

.PHONY: wheelhouse
wheelhouse: ## fetch the wheels for an image build without a network
	@scripts/wheelhouse.sh

.PHONY: lock
lock: ## renew the lock files of the image's dependencies
	@scripts/lock.sh

.PHONY: clean
clean: ## remove .venv and every cache
	rm -rf $(VENV) .venv-bench .venv-audit build dist .coverage .coverage.* htmlcov .hypothesis .mypy_cache .pytest_cache .ruff_cache

.PHONY: .venv
.venv: $(VENV)/.dev ## set up the development environment only

# One line a set-up: what pip prints is kept for the case that it fails.
define create_venv
@$(PYTHON) -c '' || { echo "error: '$(PYTHON)' does not run; name one with: make PYTHON=/path/to/python3"; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "error: $$($(PYTHON) --version) is too old, krmfn needs 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
  echo "error: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt-get install python3-venv"; exit 1; }
@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
endef

define pip_install
@$(BIN)/pip install --quiet --disable-pip-version-check --no-input $(1) || { \
  echo "error: pip could not install what is needed, its own words are above; is there a network or a package mirror?"; exit 1; }
endef

$(VENV)/.runtime: pyproject.toml
	@echo "setting up $(VENV) (once, needs the network) ..."
	$(create_venv)
	$(call pip_install,--editable .)
	@touch $@

$(VENV)/.dev: pyproject.toml
	@echo "setting up $(VENV) with the development tools (once, needs the network) ..."
	$(create_venv)
	$(call pip_install,--editable '.[dev]')
	@touch $(VENV)/.runtime $@
