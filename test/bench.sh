#!/usr/bin/env bash
# Prints how long a cold process takes for clusters of several sizes, and its peak memory, beside what is promised.
# Exits 1 if a promise is not held. The figures are meant for two cores.
set -euo pipefail
kiln=$(realpath "$1")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cluster() { # WORKERS : a cluster of three control planes and so many workers
  cat <<EOF
apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata:
  name: bench
spec:
  kubernetesVersion: v1.36.3
  endpoint: api.bench.example.com
  network:
    podSubnets: [10.128.0.0/10]
  machines:
    os: flatcar
  nodes:
EOF
  awk -v workers="$1" 'BEGIN {
    for (i = 1; i <= 3; i++) printf "  - {name: cp-%d, role: control-plane, addresses: [10.0.0.%d]}\n", i, i
    for (i = 1; i <= workers; i++) {
      n = i + 255
      printf "  - {name: worker-%05d, role: worker, addresses: [10.0.%d.%d]}\n", i, n / 256, n % 256
    }
  }'
}

failed=0
measure() { # WORKERS SECONDS MEBIBYTES
  cluster "$1" >"$dir/cluster.yaml"
  # The first run makes the bundle, so that every measured one renders from it.
  [ -e "$dir/bench.secrets.yaml" ] || "$kiln" render --config "$dir/cluster.yaml" --out "$dir/first" >/dev/null 2>&1
  local best='' seconds memory
  for _ in 1 2 3; do
    rm -rf "$dir/out"
    read -r seconds memory < <({ command time -f '%e %M' "$kiln" render --config "$dir/cluster.yaml" --out "$dir/out" >/dev/null 2>/dev/null; } 2>&1 | tail -n 1)
    if [ -z "$best" ] || awk "BEGIN { exit !($seconds < ${best% *}) }"; then best="$seconds $memory"; fi
    [ "$1" -lt 1000 ] || break
  done
  read -r seconds memory <<<"$best"
  memory=$((memory / 1024))
  local verdict=held
  awk "BEGIN { exit !($seconds <= $2 && $memory <= $3) }" || {
    verdict="NOT HELD"
    failed=1
  }
  printf '3+%-6d %6.2f s (promised %5.2f)  %5d MiB (promised %4d)  %s\n' "$1" "$seconds" "$2" "$memory" "$3" "$verdict"
}

echo "cores: $(nproc), $("$kiln" version)"
measure 10 0.3 1024
measure 100 1 1024
measure 9997 30 1024
exit "$failed"
