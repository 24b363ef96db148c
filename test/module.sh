#!/usr/bin/env bash
# Gives the module another import path: in go.mod, in each import and in each page.
set -euo pipefail
cd "$(dirname "$0")/.."
old=$(go list -m)
new=${1-}
part='[A-Za-z0-9_~-]+(\.[A-Za-z0-9_~-]+)*'
[[ $new =~ ^[a-z0-9-]+(\.[a-z0-9-]+)+(/$part)+$ ]] || {
  echo "module: want a path with a host, as in make module TO=forge.example/team/kiln" >&2
  exit 2
}

files=() programs=()
while IFS= read -r -d '' file; do
  [[ ! -L $file ]] || continue
  files+=("./$file")
  [[ $file != *.go ]] || programs+=("./$file")
done < <(git grep --color=never --untracked -lzIF "$old" -- ':!CHANGELOG.md')
sed -i "s|${old//./\\.}|$new|g" "${files[@]}"
gofmt -w "${programs[@]}"
echo "The module is $new now, and was $old. Look at git diff, and commit it. Who
publishes, and where, is in cmd/release/identity.go, README.md and CONTRIBUTING.md: change that by
hand."
