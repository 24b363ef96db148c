#!/usr/bin/env bash
# Lists the modules that a go.mod of this project names and that have a newer version, or that their
# authors have deprecated or retracted. It asks Go's module proxy.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck disable=SC2016 # Go reads these dollars
form='{{if not (or .Indirect .Main)}}{{$name := printf "%s %s" .Path .Version}}
{{with .Update}}{{$name}}: {{.Version}} is newer{{end}}
{{with .Deprecated}}{{$name}}: deprecated: {{.}}{{end}}
{{with .Retracted}}{{$name}}: retracted: {{.}}{{end}}
{{with .Error}}{{$name}}: {{.Err}}{{end}}{{end}}'
for file in go.mod cmd/release/go.mod test/*/go.mod; do
  found=$(go list -C "$(dirname "$file")" -m -u -e -f "$form" all)
  found=$(sed '/^[[:space:]]*$/d' <<<"$found")
  printf '%s\n%s\n' "$file" "${found:-all are the newest}" | sed '2,$s/^/  /'
done
