#!/usr/bin/env bash
# Repeats first boots, heals and harm on machines that are containers of this computer, and writes
# docs/proof.md and docs/proof-steps.svg from what it measured.
#
#   proof.sh [--short] [--page] [--continue] [SCENARIO...]
#   proof.sh --seed NUMBER SCENARIO       one repetition again
#
# SCENARIO is one of these. Without one, all run, in this order:
#
#   kills      a first boot loses its power at a random moment, KILLS (50) times
#   negative   documents that are bad in different ways (proof-bad.sh), the first NEGATIVE (16)
#   order      three control planes in a random order with random delays, ORDER (20) times
#   wiped      a control plane of three loses its disk, WIPED (20) times
#   soak       six machines for SOAK (7200) seconds, one replaced every SOAK_EVERY (600), under a
#              client
#
# The soak runs beside the others, which run one after the other. Each repetition has a seed, which
# determines all that is random in it; the first one is SEED (random), and each next one is larger
# by one. The seeds of negative are places in the list of bad documents.
#
# Results are kept in a folder of KILN_PROOF (~/.cache/kiln-proof), and the evidence of failures
# with them. --continue goes on with the newest folder, if it is of the same commit; those of --seed
# do not count. --short makes a few of each. With --short or a SCENARIO it writes no page in docs
# unless --page is given.
#
# KILN_BOOT_NET names the machines; the soak takes the next hundred. Exits with 0 if every repetition
# went well, 1 if one did not, 77 if this computer cannot run the test.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$here/container.sh"

every=(kills negative order wiped soak)
page=yes short='' go_on='' one='' scenarios=()
while (($#)); do
  case $1 in
  --short) short=yes ;;
  --page) page=asked ;;
  --continue) go_on=yes ;;
  --seed)
    one=${2:-}
    [[ $one =~ ^(0|[1-9][0-9]*)$ ]] || die "--seed needs a number"
    shift
    ;;
  -h | --help) usage "$1" ;;
  *) choose "$1" ;;
  esac
  shift
done
[[ -z $one || ${#scenarios[@]} == 1 ]] || die "--seed needs one scenario"
[[ -z $go_on || ${#scenarios[@]} == 0 ]] ||
  die "--continue goes on with what was begun: name no scenario"
[[ -z $short || $page == asked ]] || page=''
# A page of some scenarios would say nothing of the others.
((${#scenarios[@]} == 0)) || [[ $page == asked ]] || page=''
((${#scenarios[@]})) || scenarios=("${every[@]}")
if [[ -n $short ]]; then
  : "${KILLS:=2}" "${NEGATIVE:=2}" "${ORDER:=1}" "${WIPED:=1}" "${SOAK:=120}" "${SOAK_EVERY:=60}"
fi
: "${KILLS:=50}" "${NEGATIVE:=16}" "${ORDER:=20}" "${WIPED:=20}" "${SOAK:=7200}"
: "${SOAK_EVERY:=600}" "${KILL_WITHIN:=25}" "${SEED:=$((1 + RANDOM))}"
export SOAK SOAK_EVERY KILL_WITHIN

# plan prints a line for each repetition: scenario and seed.
plan() {
  local scenario count first i
  for scenario in "${scenarios[@]}"; do
    first=$SEED
    case $scenario in
    kills) count=$KILLS ;;
    negative) count=$NEGATIVE first=1 ;;
    order) count=$ORDER ;;
    wiped) count=$WIPED ;;
    soak) count=1 ;;
    esac
    [[ -z $one ]] || count=1 first=$one
    for ((i = 0; i < count; i++)); do echo "$scenario $((first + i))"; done
  done
}

# about prints what the page says of the whole run.
about() {
  printf 'commit\t%s\n' "$commit"
  printf 'begun\t%s\n' "$(date -u +'%F %H:%M UTC')"
  printf 'processor\t%s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
  printf 'cores\t%s\n' "$(nproc)"
  printf 'memory\t%s GiB\n' "$(awk '/^MemTotal/{printf "%.0f", $2 / 1048576}' /proc/meminfo)"
  printf 'kernel\t%s\n' "$(uname -r)"
  printf 'page\t%s\n' "$page"
  printf 'one\t%s\n' "$one"
  printf 'kill-within\t%s\n' "$KILL_WITHIN"
  printf 'soak\t%s\n' "$SOAK"
  printf 'soak-every\t%s\n' "$SOAK_EVERY"
}

"$here/alone.sh" true # before minutes go into the image
"$here/image-fast.sh"
hold_tree "$machine_tree" # between two repetitions, too
root=${KILN_PROOF:-$HOME/.cache/kiln-proof}
mkdir -p "$root"
exec {lock}>>"$root/lock"
[[ -n $one ]] || flock --nonblock "$lock" || die "another proof writes to $root"

commit=$(commit docs/proof.md docs/proof-steps.svg)
[[ $commit != *changes || -z $page$go_on ]] ||
  die "there are changes without a commit: a page is of one, and so is a run that goes on"
if [[ -n $go_on ]]; then
  results=$(grep -LP '^one\t.' "$root"/*/about | sort | tail -n 1) results=${results%/about}
  [[ -n $results ]] || die "there is nothing in $root to go on from"
  was=$(sed -n 's/^commit\t//p' "$results/about")
  [[ $was == "$commit" ]] || die "$results is of commit $was, and this is $commit: begin anew"
  while IFS=$'\t' read -r name value; do
    case $name in
    page) [[ $page == asked ]] || page=$value ;;
    kill-within) KILL_WITHIN=$value ;;
    soak) SOAK=$value ;;
    soak-every) SOAK_EVERY=$value ;;
    esac
  done <"$results/about"
else
  results=$root/$(date -u +%Y%m%dT%H%M%SZ)
  # What runs for hours is a copy: a change of this folder must not change it on the way.
  mkdir -p "$results/programs"
  cp -r "$here" "$results/boot"
  CGO_ENABLED=0 go build -C "$here/../.." -o "$results/programs/kiln" ./cmd/kiln
  CGO_ENABLED=0 go build -C "$here" -o "$results/programs/" ./net ./overlay ./plant ./client \
    ./proof
  plan >"$results/plan"
  about >"$results/about"
fi
say "results are in $results"

# repeat NET SCENARIO SEED makes one repetition. Its folder gets its name when it has ended.
repeat() {
  local folder=$results/$2-$3 tmp status=0
  tmp=$(mktemp -d)
  rm -rf "$folder.part"
  mkdir "$folder.part"
  printf 'run\t%s\t%s\n' commit "$commit" scenario "$2" seed "$3" \
    load "$(cut -d ' ' -f 1 /proc/loadavg)" >"$folder.part/result"
  KILN_BOOT_NET=$1 KILN_BOOT_TMP=$tmp PROGRAMS=$results/programs "$results/boot/alone.sh" \
    "$results/boot/proof-one.sh" "$2" "$3" "$folder.part" >"$folder.part/log" 2>&1 &
  child=$!
  wait "$child" || status=$?
  child=''
  rm -rf "$tmp"
  grep -q $'^end\t' "$folder.part/result" ||
    printf 'end\tfailed\tended with status %s: %s\n' "$status" \
      "$(tail -n 1 "$folder.part/log")" >>"$folder.part/result"
  mv "$folder.part" "$folder"
  say "$2 $3: $(sed -n 's/^end\t//p' "$folder/result")"
}

# lane NET SCENARIO... makes one repetition of these scenarios after the other, as planned.
lane() {
  local scenario seed
  child=''
  trap '[[ -z $child ]] || { kill -TERM "$child"; wait "$child"; }; exit 143' TERM INT HUP
  while read -r scenario seed; do
    [[ " ${*:2} " == *" $scenario "* && ! -e $results/$scenario-$seed ]] || continue
    repeat "$1" "$scenario" "$seed" </dev/null
  done <"$results/plan"
}

# main makes all repetitions and the page, and ends the script. bash reads a function as a whole, so
# a change of this file in the hours that this takes does not reach it.
main() {
  lanes=() code=0
  trap '((${#lanes[@]} == 0)) || { kill -TERM "${lanes[@]}" 2>/dev/null; wait; }' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  lane $((net + 100)) soak </dev/null &
  lanes+=($!)
  lane "$net" kills negative order wiped </dev/null &
  lanes+=($!)
  wait "${lanes[@]}"
  lanes=()

  "$results/programs/proof" "$results" || code=$?
  if [[ -n $page ]]; then
    cp "$results/proof.md" "$results/proof-steps.svg" "$here/../../docs/"
  fi
  exit "$code"
}
main
