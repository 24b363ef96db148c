# shellcheck shell=bash disable=SC2154
# Machines that announce the state of their first boot to kiln serve (machines.report), and the
# time that a state takes to arrive. Sourced after cluster.sh. The server runs on this computer.

# Where machines reach it, and where it listens. QEMU's user network leads to this computer's
# loopback; no machine has the first port.
address=10.10.0.1:8080 listen=(10.10.0.1:8080 --plain-http) server=''
# The milliseconds that a state may take. The machine starts a dozen programs to send one: while an
# emulated machine starts its pods, that takes four to nine seconds.
soon=5000
if [[ $MACHINES != container ]]; then
  address=10.0.2.2:$net listen=("127.0.0.1:$net" --from 127.0.0.1) soon=15000
fi

# reporting: the machines announce to the server of this script.
reporting() {
  sed -i "0,/^  machines:/s|^  machines:|&\n    report: {url: \"http://$address\"}|" \
    "$dir/cluster.yaml"
  grep -q "report:" "$dir/cluster.yaml" || fail "the cluster has no settings of all machines"
}

# serve starts the server on the documents as they were rendered, in the place of the one that runs.
# It knows what that one knew, and writes to the same log. It ends with the scenario.
serve() { serve_with; }
# serve_again MACHINE: the new one forgets what that one knew of the machine.
serve_again() { serve_with --again "$1"; }
# serve_anew: the new one knows nothing.
serve_anew() {
  stop_server
  rm -rf "$dir"/{served,audit.log,lines,messages}
  serve
}
serve_with() { # serve_with FLAG...
  stop_server
  [[ -d $dir/served ]] || cp -r "$dir/nodes" "$dir/served"
  "$tmp/kiln" serve "$dir/served" --listen "${listen[@]}" --wait --wait-timeout 1h \
    --log "$dir/audit.log" "$@" >>"$dir/lines" 2>>"$dir/messages" &
  server=$!
  trap stop_server EXIT
}
# ends_with CODE WHY: the server ends by itself, with this exit code.
ends_with() {
  local code=0
  timeout $((step_limit * ${PATIENCE:-1})) tail -s 0.1 --pid "$server" -f /dev/null ||
    fail "the server does not end, $2"
  wait "$server" || code=$?
  server=''
  ((code == $1)) || fail "the server ended with $code, want $1"
  record "the server ended with $1, $2"
}
stop_server() {
  [[ -n $server ]] || return 0
  kill -9 "$server" 2>/dev/null || true
  wait "$server" 2>/dev/null || true
  server=''
}

# arrived MACHINE: the state that the machine has now is in the log of the server; records by how
# many milliseconds it came later than the machine wrote it. If the power went before it came, the
# hook's next start counts. All times are by the machine's clock, which may be wrong.
arrived() {
  local now asked written started state line='' time came lag
  {
    read -r now && asked=$(date +%s%3N) && read -r written && read -r started && read -r state
  } < <(vm ssh "$1" 'date +%s%3N; stat -c %.3Y /var/lib/kiln/status.json
    systemctl show kiln --timestamp unix -p ExecMainStartTimestamp --value
    cat /var/lib/kiln/status.json') || fail "$1 has no state"
  written=${written/./} started=${started#@}000
  for _ in {1..200}; do
    line=$(taken "$state" | head -n 1) || line=''
    [[ -z $line ]] || break
    sleep 0.1
  done
  [[ -n $line ]] || {
    { cat "$dir/messages" && vm ssh "$1" journalctl --no-pager -u kiln-announce; } \
      >"$tmp/attempt" || true
    fail "the state of $1 has not arrived: $state"
  }
  time=${line#*'"time":"'}
  came=$(($(date -d "${time%%'"'*}" +%s%3N) - asked + now))
  lag=$((came - (written < started && started < came ? started : written)))
  record "$1, arrived after $lag ms: $(grep -oE '"(phase|step|code)":"[^"]*"' <<<"$state" |
    tr '\n' ' ')"
  ((lag <= soon)) || fail "it came too late"
}
# taken STATE prints the lines of the log about this state, by what stands before its lists.
taken() { grep -sF "\"announced\":${1%%'"steps":'*}" "$dir/audit.log"; }
