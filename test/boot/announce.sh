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
#   alone       a machine without a server: its boot takes as long as without report
#   restarted   a hook that stopped is started again, by a person who mended the machine
#
# Exits with 0 if all went well, 1 if something did not, 77 if this computer cannot run the test.
# shellcheck disable=SC2016,SC2317 # scenarios and checks are called by their names
set -euo pipefail
export MACHINES=container
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=cluster.sh
source "$here/cluster.sh"
# shellcheck source=begin.sh
source "$here/begin.sh"
# shellcheck source=proof-bad.sh
source "$here/proof-bad.sh"

every=("done" damaged alone restarted "${bad[@]}")
scenarios=() arguments=("$@")
while (($#)); do
  case $1 in
  -h | --help) usage ;;
  *) choose "$1" ;;
  esac
  shift
done
((${#scenarios[@]})) || scenarios=("${every[@]}")
own_programs() { CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./plant; }
begin "${arguments[@]}"
form_limit=240 step_limit=120 # a slow computer
pause=0.5 asks=10000
address=10.10.0.1:8080 server=''

# reporting: the machines announce to the server of this script.
reporting() {
  sed -i "0,/^  machines:/s|^  machines:|&\n    report: {url: \"http://$address\"}|" "$dir/cluster.yaml"
  grep -q "report:" "$dir/cluster.yaml" || fail "the cluster has no settings of all machines"
}
adapt_case() { reporting; }

# serve starts the server on the documents as they were rendered.
serve() {
  [[ -d $dir/served ]] || cp -r "$dir/nodes" "$dir/served"
  "$tmp/kiln" serve "$dir/served" --listen "$address" --plain-http --wait --wait-timeout 10m \
    --log "$dir/audit.log" >>"$dir/lines" 2>>"$dir/messages" &
  server=$!
}
# ends_with CODE WHAT: the server ends, with this exit code.
ends_with() {
  local code=0
  within "$form_limit" "the server ends, $2" server_ended
  wait "$server" || code=$?
  ((code == $1)) || fail "the server ended with $code, want $1"
  cat "$dir/messages"
}
server_ended() { ! kill -0 "$server"; }
stop_server() {
  kill -9 "$server" 2>/dev/null || return 0
  wait "$server" 2>/dev/null || true
}

# arrived MACHINE: the state that the machine has now is in the log of the server; records by how
# many milliseconds it came later than the machine wrote it.
arrived() {
  local state written line time lag
  read -r written state < <(vm ssh "$1" 'stat -c %.3Y /var/lib/kiln/status.json | tr "\n" " "
    cat /var/lib/kiln/status.json')
  for _ in {1..100}; do
    line=$(taken "$state" | head -n 1) || line=''
    [[ -z $line ]] || break
    sleep 0.1
  done
  [[ -n $line ]] || {
    vm ssh "$1" journalctl --no-pager -u kiln-announce >"$tmp/attempt" || true
    fail "the state of $1 has not arrived: $state"
  }
  time=${line#*'"time":"'}
  lag=$(($(date -d "${time%%'"'*}" +%s%3N) - ${written/./}))
  record "$1, arrived after $lag ms: $(grep -oE '"(phase|step)":"[^"]*"|"code":"[^"]*"' <<<"$state" | tr '\n' ' ')"
  ((lag <= 5000)) || fail "it came too late"
}
# taken STATE prints the lines of the log about this state, by what stands before its lists.
taken() { grep -F "\"announced\":${1%%'"steps":'*}" "$dir/audit.log"; }

start_all() {
  local machine
  power_on=$SECONDS
  for machine in "$@"; do vm start "$machine" "$dir/nodes/$machine" "$worker_memory"; done
}

scenario_done() {
  render_case fast
  serve
  start_all worker-1 cp-1
  within "$step_limit" "the first lines" grep -q '"machine":"cp-1"' "$dir/lines"
  kill -9 "$server"
  wait "$server" || true
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
  local document=$dir/nodes/worker-1/user-data line
  cp -r "$dir/nodes" "$dir/served"
  line=$(($(grep -n -m 1 'BEGIN CERTIFICATE' "$document" | cut -d : -f 1) + 2))
  sed -i "${line}{s/x\$/y/;t;s/.\$/x/}" "$document"
  serve
  start_all worker-1
  within "$step_limit" "the hook stops" has_phase stopped worker-1
  arrived worker-1
  ends_with 3 "as one has stopped"
  grep -q '"code":"file-damaged"' "$dir/lines" || fail "the lines do not name the fault"
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
}
boot_time() { vm ssh cp-1 cat /var/lib/kiln/status.json | sed 's/.*"steps":{\([^}]*\)}.*/\1/' | tr ',' '\n' | sed 's/.*://' | paste -s -d + | bc; }

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
  within "$form_limit" "hook done" has_phase "done" cp-1
  arrived cp-1
  stop_server
}

# A bad document: the verdict arrives, whether it is a fault or done.
bad_document() {
  local what='' patch='' target='' edit=''
  adapt_case() { reporting && adapt_bad; }
  render_case fast
  adapt_case() { reporting; }
  machines=(cp-1)
  cp -r "$dir/nodes" "$dir/served"
  "bad_$1"
  record "$what"
  serve
  start_all "${machines[@]}"
  within 300 "a verdict" has_verdict
  arrived "${machines[-1]}"
  stop_server
}
adapt_bad() {
  sed -i '0,/^  endpoint:/s//  boot: {stepTimeout: 1m}\n&/' "$dir/cluster.yaml"
}
has_verdict() { has_fault "${machines[-1]}" || has_phase "done" "${machines[-1]}"; }

one() {
  if declare -F "scenario_$1" >/dev/null; then "scenario_$1"; else bad_document "$1"; fi
  stop_server
}
each one "${scenarios[@]}"
