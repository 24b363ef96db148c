#!/usr/bin/env bash
# Gives the module another import path: in go.mod, in each import and in each page.
set -euo pipefail
cd "$(dirname "$0")/.."
old=$(go list -m)
new=${1-}

[[ $new =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+(/[A-Za-z0-9._~-]+)+$ ]] || {
  echo "module: want a path with a host, as in make module TO=forge.example/team/kiln" >&2
  exit 2
}

files=$(git grep --untracked -lIF "$old" -- ':!CHANGELOG.md')
for file in $files; do
  sed "s|${old//./\\.}|$new|g" "$file" >"$file.new"
  cat "$file.new" >"$file" # which keeps its mode
  rm "$file.new"
done
# shellcheck disable=SC2046 # each is a file
gofmt -w $(grep '\.go$' <<<"$files")
echo "The module is $new now, and was $old. Look at git diff, and commit it."
