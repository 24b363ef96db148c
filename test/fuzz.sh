#!/usr/bin/env bash
# Runs the whole search for hostile values, then every fuzz target of the module, one after the
# other, for the time given (60s by default). Making each new input as small as it can be takes a
# minute by default, which is all of that time, so it is bounded.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-60s}
go test ./render -run '^TestHostileValues$' -hostile -timeout 30m
folders=$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n 1 dirname | sort -u)
for dir in $folders; do
  grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go | cut -d' ' -f2 | while read -r target; do
    echo "== $dir $target"
    go test "$dir" -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x
  done
done
