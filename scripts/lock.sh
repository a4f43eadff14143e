#!/bin/sh
# scripts/lock.sh [OPTION FOR pip-compile ...]     (needs python3 >= 3.11 and a package index)
#
# Writes requirements.lock (what the function needs to run) and requirements-build.lock (what its wheel is built with):
# every package with its version and the hashes of its files for all platforms. Without options all packages move to
# the newest versions that pyproject.toml allows; `scripts/lock.sh -P pydantic` moves one and keeps the others.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- --upgrade
venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check 'pip-tools>=7.4'
CUSTOM_COMPILE_COMMAND=scripts/lock.sh
export CUSTOM_COMPILE_COMMAND
compile() {
  "$venv/bin/pip-compile" --quiet --no-config --generate-hashes --allow-unsafe --strip-extras --no-emit-options \
    --annotation-style=line "$@" pyproject.toml
}
compile "$@" --output-file=requirements.lock
compile "$@" --only-build-deps --build-deps-for=wheel --output-file=requirements-build.lock
