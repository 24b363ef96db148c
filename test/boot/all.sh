#!/usr/bin/env bash
# Runs the scripts of make boot-test, one after the other, each on the machines that it needs. A
# computer without the cgroups for containers still runs what QEMU shows.
#
#   all.sh
#
# The first script that fails ends it. The last lines name the scripts that this computer skipped.
# Exits with 0 if the others went well, and with 1 if one failed, if none could run, or if the image
# cannot be made here, be it absent or of other sources.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

(($# == 0)) || usage "$1"

mapfile -t runs <<'END'
run.sh --power-cut 10 --replace
heal.sh balancer
heal.sh vip
restore.sh
faults.sh
announce.sh
deliver.sh
stock.sh
pods.sh
renewal.sh
import.sh
external.sh
lost.sh
running.sh
hops.sh
live.sh
inplace.sh
MACHINES=qemu run.sh cloud-init ignition
disks.sh
MACHINES=qemu faults.sh --cuts 3 cuts again disk clock-behind clock-ahead cloned
laptop.sh
END

existed=''
[[ ! -e $cache/node.img ]] || existed=yes
status=0
"$here/image.sh" || status=$?
case $status in
0) ;;
77) die "no image can be made here${existed:+, and that in $cache is of other sources}" ;;
*) die "the image was not made" ;;
esac

skipped=()
list_skipped() {
  local run
  ((${#skipped[@]} == 0)) || say "this computer skipped, as said above:"
  for run in "${skipped[@]}"; do say "  $run"; done
}

start() { # start [VARIABLE=VALUE] SCRIPT [WORD...]
  local variables=()
  if [[ $1 == *=* ]]; then
    variables=("$1")
    shift
  fi
  env "${variables[@]}" "$here/$1" "${@:2}"
}

for run in "${runs[@]}"; do
  say "$run"
  read -ra words <<<"$run"
  status=0
  start "${words[@]}" || status=$?
  case $status in
  0) ;;
  77) skipped+=("$run") ;;
  *)
    list_skipped
    die "$run ended with $status"
    ;;
  esac
done
list_skipped
((${#skipped[@]} < ${#runs[@]})) || die "nothing was booted"
