#!/bin/sh
# Ends the cluster of up.sh: the power of its machines goes, and the folder with all that up.sh made
# is removed. The image that up.sh fetched stays, except with --image.
#
#   docs/examples/laptop/down.sh [--image]
#
# KILN_LAPTOP is the folder, ./laptop unless it is set.
set -eu

dir=${KILN_LAPTOP:-laptop}
die() {
  echo "down.sh: $*" >&2
  exit 1
}
case $* in
'' | --image) ;;
*) die "what is $*? There is --image, and nothing else" ;;
esac
[ -f "$dir/made-by-up.sh" ] || die "$dir is no folder of up.sh; KILN_LAPTOP names another one"
dir=$(cd "$dir" && pwd)

for file in "$dir"/*.pid; do
  [ -f "$file" ] || continue
  pid=$(cat "$file")
  # The number may be that of another program by now.
  while ps -o args= -p "$pid" | grep -qF "$dir/"; do
    kill "$pid" 2>/dev/null || break
    sleep 1
  done
done
rm -rf "$dir"
if [ "$*" = --image ]; then rm -f debian-13-generic-*.qcow2; fi
