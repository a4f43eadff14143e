# Every target sets up what it needs by itself, in .venv, from Python >= 3.11 alone.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

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

.PHONY: .venv
.venv: $(VENV)/.dev
