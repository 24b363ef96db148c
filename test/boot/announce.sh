#!/usr/bin/env bash
# Boots machines that announce the state of their first boot to kiln serve (machines.report), and
# checks that every verdict arrives within five seconds.
#
#   announce.sh [SCENARIO...]
#
# SCENARIO is one of the functions scenario_... below, or one of the bad documents of proof-bad.sh.
# Without one, all run, the bad documents last:
#
#   done        a control plane and a worker; the server is killed and started again meanwhile, and
#               ends with 0 when both are done
#   damaged     one byte of a document is flipped: the server ends with 3 and names the fault
#   alone       machines without a server: the hook takes as long as without report, or at most
#               twice that and twenty seconds, since the computer does other work as well
#   restarted   a hook that stopped is started again, by a person who mended the machine
# shellcheck disable=SC2016
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/announced.sh"
source "$here/proof-bad.sh"

every=("done" damaged alone restarted "${bad[@]}")
words "$@"
own_programs() { CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./plant; }
begin "${arguments[@]}"
form_limit=240 step_limit=120 # a slow computer
pause=0.5 asks=10000
adapt_case() { reporting; }

scenario_done() {
  render_case fast
  serve
  start_all worker-1 cp-1
  within "$step_limit" "the first lines" grep -q '"machine":"cp-1"' "$dir/lines"
  stop_server
  record "the server is killed"
  sleep 7
  serve
  record "the server is started again"
  within "$form_limit" "hooks done" hooks_are_done
  arrived cp-1
  arrived worker-1
  ends_with 0 "as all are done"
  within "$form_limit" "all nodes Ready" nodes_are_ready
  check_net
  within 10 "the scripts have ended" announcers_are_gone
  (($(grep -c . "$dir/lines") > 4)) || fail "there are only $(grep -c . "$dir/lines") lines"
  record "lines of JSON: $(grep -c . "$dir/lines")"
}
announcers_are_gone() {
  local machine
  for machine in "${machines[@]}"; do
    vm ssh "$machine" '! systemctl is-active kiln-announce' || return
  done
}

scenario_damaged() {
  render_case fast
  machines=(worker-1)
  cp -r "$dir/nodes" "$dir/served"
  flip_byte "$dir/nodes/worker-1/user-data"
  serve
  start_all worker-1
  within "$step_limit" "the hook stops" has_phase stopped worker-1
  arrived worker-1
  ends_with 3 "as one has stopped"
  grep -q '"code":"file-damaged"' "$dir/lines" || fail "the lines do not name the fault"
  stops_with file-damaged
  harmless "the hook stops" failed '^kiln\.service'
  check_net
}

scenario_alone() {
  local with without
  render_case fast
  start_all cp-1 worker-1
  within "$form_limit" "hooks done" hooks_are_done
  with=$(boot_time)
  check_net
  vm off
  rm -rf "$dir"
  adapt_case() { :; }
  render_case fast
  start_all cp-1 worker-1
  within "$form_limit" "hooks done" hooks_are_done
  without=$(boot_time)
  adapt_case() { reporting; }
  record "seconds of the hook on cp-1: $with with report and no server, $without without report"
  ((without > 0 && with <= 2 * without + 20)) || fail "the hook waits for the server"
  check_net
}
boot_time() { # the seconds of all steps
  vm ssh cp-1 cat /var/lib/kiln/status.json | sed 's/.*"steps":{\([^}]*\)}.*/\1/' |
    tr ',' '\n' | awk -F : '{sum += $2} END {print sum + 0}'
}

scenario_restarted() {
  render_case fast
  machines=(cp-1)
  serve
  start_all cp-1
  within "$step_limit" "the first lines" grep -q '"machine":"cp-1"' "$dir/lines"
  vm ssh cp-1 'systemctl stop kiln'
  within "$step_limit" "interrupted" has_phase stopped cp-1
  arrived cp-1
  vm ssh cp-1 'systemctl start kiln'
  within "$form_limit" "hook done" is_done cp-1
  arrived cp-1
  check_net
}

# A bad document: the verdict arrives, whether it is a fault or done, and what has arrived is the
# mistake. If only the net sees that, it is what the net says.
bad_document() {
  local what='' finds='' patch='' target='' edit=''
  adapt_case() {
    reporting
    adapt_bad
  }
  render_case fast
  adapt_case() { reporting; }
  machines=(cp-1)
  cp -r "$dir/nodes" "$dir/served"
  "bad_$1"
  record "$what"
  serve
  start_all "${machines[@]}"
  await_verdict
  arrived "${machines[-1]}"
  note_findings "${machines[-1]}"
}
# proof-bad.sh asks for these two: what the machine says is what has arrived of it.
status_of() { grep -F "\"machine\":\"$1\"" "$dir/audit.log" | tail -n 1; }
note() { record "$2: $3"; }

one() {
  if declare -F "scenario_$1" >/dev/null; then "scenario_$1"; else bad_document "$1"; fi
}
each one "${scenarios[@]}"
