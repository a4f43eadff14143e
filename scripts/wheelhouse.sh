#!/bin/sh
# scripts/wheelhouse.sh [FOLDER [PYTHON_VERSION [ARCHITECTURE]]]     (default: wheels 3.13 and this machine's)
#
# Fills FOLDER with the wheels of both locks, for a glibc image of that Python: with them in wheels/ the image builds
# without a network. The host's own Python may be another one. Wheels that were in FOLDER are removed first.
set -eu
here=$(dirname "$0")/..
folder=${1:-$here/wheels} version=${2:-3.13} arch=${3:-$(uname -m)}
[ "$arch" = arm64 ] && arch=aarch64
mkdir -p "$folder"
rm -f "$folder"/*.whl
"${PYTHON:-python3}" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
  --implementation cp --python-version "$version" \
  --abi "cp$(echo "$version" | tr -d .)" --abi abi3 --abi none \
  --platform "manylinux2014_$arch" --platform "manylinux_2_28_$arch" \
  --dest "$folder" -r "$here/requirements.lock" -r "$here/requirements-build.lock"
