# shellcheck shell=bash disable=SC2034,SC2154,SC2317
# The scenario of pods.sh with a thousand Nodes. Sourced by it.

# A thousand Nodes have no machine behind them: nobody removes them for that, and kiln asks only
# whether a Node is there.
scenario_thousand() {
  thousand=yes
  works ipv4 1
  others >"$dir/others.yaml"
  within 300 "a thousand Nodes" kubectl apply --server-side -f "$dir/others.yaml"
  entries >"$dir/entries.json"
  power_on=$SECONDS
  within 60 "a thousand entries" kubectl -n kube-system patch configmap kiln-routes --type merge \
    --patch-file "$dir/entries.json"
  within "$learned" "every machine has a thousand routes" all_have_many
  check_network ", beside a thousand others"
  sets_them_again
  measure
  check_net
}
others() {
  local i
  for i in {1..1000}; do
    printf -- '---\n{"apiVersion":"v1","kind":"Node","metadata":{"name":"other-%s"},%s}\n' "$i" \
      '"spec":{"unschedulable":true}'
  done
}
entries() { # a part and an address for each, on no segment of the machines
  local i comma=''
  printf '{"data":{'
  for i in {1..1000}; do
    printf '%s"other-%s":"10.%s.%s.0/24 10.10.%s.%s"' "$comma" "$i" $((241 + i / 256)) $((i % 256)) \
      $((4 + i / 250)) $((1 + i % 250))
    comma=,
  done
  printf '}}\n'
}
all_have_many() {
  local machine
  for machine in "${machines[@]}"; do (($(routes_of "$machine" | wc -l) == 1002)) || return; done
}
# sets_them_again: a machine without routes has all of them within five seconds.
# shellcheck disable=SC2016 # the machine's shell expands it
sets_them_again() {
  local took
  took=$(vm ssh worker-1 'systemctl stop kiln-routes; ip route flush proto 107
    begun=$(date +%s%3N)
    systemctl start kiln-routes
    for _ in $(seq 200); do
      [ "$(ip -o route show proto 107 | wc -l)" != 1002 ] || break
      sleep 0.1
    done
    echo $(($(date +%s%3N) - begun))')
  ((took <= 5000)) || fail "a machine sets a thousand routes in $took ms"
  record "a machine sets a thousand routes in $took ms"
}

# measure prints what a thousand machines ask the API server for, in a minute without a change and
# in one in which a machine joins.
measure() {
  local word before pid
  for word in certificate-authority client-certificate client-key; do
    sed -n "s/.*$word-data: //p" "$dir/nodes/admin.conf" | base64 -d >"$dir/$word"
  done
  "$tmp/crowd" -ca "$dir/certificate-authority" -cert "$dir/client-certificate" \
    -key "$dir/client-key" -machines 1000 -minutes 2 "$(vm api cp-1)" >"$dir/crowd" &
  pid=$!
  sleep 60
  before=$(processor_time)
  until [[ -s $dir/crowd ]]; do
    kill -0 "$pid" 2>/dev/null || fail "crowd has ended without a word of the first minute"
    sleep 0.5
  done
  record "a quiet minute: $(tail -n 1 "$dir/crowd"), API server $(($(processor_time) - before)) ms"
  before=$(processor_time)
  kubectl -n kube-system patch configmap kiln-routes --type merge \
    -p '{"data":{"other-1":"10.241.1.0/24 10.10.4.251"}}' >"$tmp/attempt" 2>&1 ||
    fail "no entry can be written"
  wait "$pid" || fail "crowd ends with $?"
  record "one with a change: $(tail -n 1 "$dir/crowd"), API server $(($(processor_time) - before)) ms"
}
processor_time() { # of the API server, in ms
  # shellcheck disable=SC2016 # the machine's shell expands it
  vm ssh cp-1 'set -- $(cat "/proc/$(pidof kube-apiserver)/stat"); echo $((10 * (${14} + ${15})))'
}
