#!/usr/bin/env bash
# run.sh [MINOR...]: the judges judge every golden cluster, once built from the Kubernetes of go.mod
# and once from that of each MINOR (v1.34: v1.34.mod). zlint and openssl judge their certificates
# (test/certificates). The machines are rendered once.
set -euo pipefail
cd "$(dirname "$0")"

KILN_TREES=$(mktemp -d)
export KILN_TREES
trap 'rm -rf "$KILN_TREES"' EXIT
go run -C ../.. ./test/trees "$KILN_TREES"

echo "judges: the certificates"
go test -C ../certificates -count=1 .
for module in go "$@"; do
  echo "judges: $module.mod"
  # Go's test cache does not notice changes in that folder; it would repeat the verdict on older
  # machines.
  go test -count=1 -modfile="$module.mod" -skip TestVerdicts ./...
  # It sets feature gates, which are global: the clients of other tests must not see them.
  go test -count=1 -modfile="$module.mod" -run TestVerdicts .
done
