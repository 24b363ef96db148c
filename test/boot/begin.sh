# shellcheck shell=bash disable=SC2034,SC2154
# How a script that boots machines begins, calls its scenarios and ends, for each kind of machine.
# Sourced first of all.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$here/cluster.sh"
source "$here/etcd.sh"
source "$here/as-operator.sh"

# begin ARGUMENT... makes what the script needs: the image, $tmp, a folder, and the programs in it.
# Machines that are containers live in namespaces of their own, in which begin runs the script
# anew, with these arguments.
begin() {
  if [[ $MACHINES != container ]]; then
    "$here/image.sh"
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    programs
  elif [[ -z ${KILN_BOOT_ALONE:-} ]]; then
    "$here/alone.sh" true # before minutes go into the image
    "$here/image-fast.sh"
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    programs
    KILN_BOOT_TMP=$tmp exec "$here/alone.sh" "$0" "$@"
  else
    tmp=${KILN_BOOT_TMP:?leave the shell of alone.sh first: this script starts alone.sh itself}
  fi
  : >"$tmp/summary"
  trap finish EXIT
  vm off
  fail_on_errors
}

# begin_case NAME WORD... begins a script of one scenario, which takes --keep and what words knows.
begin_case() {
  case=$1 every=()
  words "${@:2}"
  begin "${arguments[@]}"
  dir=$tmp/$case
}

programs() {
  CGO_ENABLED=0 go build -C "$here/../.." -o "$tmp/kiln" ./cmd/kiln
  CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./net ./audit ./overlay ./store ./registry
  own_programs
}

# own_programs builds what one script needs beside that. A script that wants that replaces it.
own_programs() { :; }

# finish prints the summary, and takes the machines away. With $keep it leaves them, or, where they
# would end with this script, gives a shell in their network first.
finish() {
  trap - ERR
  [[ ! -s $tmp/summary ]] ||
    printf '\nSeconds since the last power-on; all of it took %s s:\n' "$SECONDS" | cat - "$tmp/summary"
  if [[ -n ${keep:-} && $MACHINES != container ]]; then
    say "left running: what was rendered is in $tmp; end it with: $here/vm.sh off"
    return
  fi
  if [[ -n ${keep:-} ]]; then
    say "running: what was rendered is in $tmp; the machines end with this shell"
    bash -i || true
  fi
  vm off
  rm -rf "$tmp"
}

# each FUNCTION NAME...: the rest of the script. It calls FUNCTION with each name, where $case is
# the name and $dir a folder for it. It goes on where one fails, and exits with 1 if one has failed.
each() {
  local function=$1 status failed=0
  shift
  trap - ERR
  for case in "$@"; do
    vm off
    power_on=$SECONDS dir=$tmp/$case
    # A shell of its own, and not as a condition, which would switch its "set -e" off.
    set +e
    (
      set -e
      fail_on_errors
      "$function" "$case"
    )
    status=$?
    set -e
    ((status == 0)) || failed=1
  done
  exit "$failed"
}

# scenario NAME: the function of that name.
scenario() { "scenario_$1"; }
