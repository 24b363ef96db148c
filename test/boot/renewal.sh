#!/usr/bin/env bash
# Boots a control plane, a worker and a machine of a pool. The certificates of documents live for
# fifteen minutes, those that the cluster signs for five. The kubelets must renew theirs before they
# end, and that of the pool, which has it from the cluster, sends heartbeats when the first one has
# ended. Meanwhile the pool's token is renewed as `kiln token renew` says: one more machine joins
# with the old token, one with the new one, and after --revoke none with either.
#
#   renewal.sh [--keep]
#
# The machines are containers of this computer. It has fifteen minutes, then the certificates of the
# API server end.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

begin_case renewal "$@"
form_limit=180 step_limit=90 pause=1 asks=10

adapt_case() {
  # kiln gives this flag the lifetime. The last one counts.
  cat >"$dir/short.yaml" <<'END'
spec:
  certificates: {lifetime: 15m, stagger: 0s}
  patches:
  - target: {kind: Pod, name: kube-controller-manager}
    patch: |
      - op: add
        path: /spec/containers/0/command/-
        value: --cluster-signing-duration=5m
END
  lay_over "$dir/cluster.yaml" "$dir/short.yaml"
  printf '  pools:\n  - name: blue\n    tokenLifetime: 1h\n' >>"$dir/cluster.yaml"
}

# member NAME ADDRESS DOCUMENT makes the folder of a machine of the pool.
member() {
  member_folder "$1" "$3"
  member_network "$2" >"$dir/nodes/$1/network-config"
}

# joins MACHINE: it gets power, and is Ready and done.
joins() {
  machines+=("$1")
  power_on=$SECONDS
  power "$1"
  within "$form_limit" "$1 Ready, which has $2" nodes_are_ready
  within "$step_limit" "hook done on it" is_done "$1"
}

has_renewed() { # has_renewed MACHINE: another certificate, before the first one has ended
  local end
  end=$(kubelet_ends "$1") || return
  ((end != first_end[$1] && $(date +%s) < first_end[$1]))
}

# is_refused MACHINE: its kubelet asks, and the API server does not know its token.
is_refused() {
  vm ssh "$1" journalctl --no-pager -u kubelet | grep -iF unauthorized
}

has_no_node() { # has_no_node MACHINE
  ! kubectl get node "$1" >"$tmp/answer" 2>&1 && cat "$tmp/answer" && grep NotFound "$tmp/answer"
}

token() { "$tmp/kiln" token "$@" --config "$dir/cluster.yaml"; }
render() {
  "$tmp/kiln" render --config "$dir/cluster.yaml" --out "$dir/nodes" >"$tmp/attempt" 2>&1
}

render_case fast
pool=$dir/nodes/pools/blue/user-data
cp "$pool" "$dir/old"
member blue-1 10.10.0.31 "$dir/old"
machines=(cp-1 worker-1 blue-1)
start_all "${machines[@]}"
all_up
declare -A first_end
for machine in cp-1 worker-1; do first_end[$machine]=$(kubelet_ends "$machine" kiln); done
first_end["blue-1"]=$(kubelet_ends blue-1)
for machine in "${machines[@]}"; do
  record "$machine: the first certificate ends in $((first_end[$machine] - $(date +%s))) s"
done
check_net

# A kubelet renews after 70 to 90 % of the time, which begins before the certificate was made: five
# minutes where the cluster signs, an hour in a document.
within 300 "blue-1: the kubelet has renewed its certificate" has_renewed blue-1

# The folders of machines that kiln does not know would be in its way.
mv "$dir/nodes" "$dir/before"
token renew blue >"$tmp/attempt" 2>&1 || fail "the token is renewed"
token manifest blue --out "$dir/token.yaml"
render || fail "rendered with the new token"
within "$step_limit" "the Secret of the new token is applied" \
  kubectl apply --server-side --force-conflicts -f "$dir/token.yaml"
! cmp -s "$pool" "$dir/old" || fail "the pool's document has another token"
member blue-2 10.10.0.32 "$dir/old"
member blue-3 10.10.0.33 "$pool"
joins blue-2 "the old token"
joins blue-3 "the new token"

token renew blue --revoke >"$dir/revoked" 2>&1 || fail "the tokens are revoked"
mapfile -t commands < <(sed -n 's/^ *kubectl \(.* delete secret .*\)/\1/p' "$dir/revoked")
((${#commands[@]} == 1)) || fail "no command deletes the Secrets: $(cat "$dir/revoked")"
read -ra words <<<"${commands[0]}"
within "$step_limit" "the Secrets of the old tokens are deleted" kubectl "${words[@]}"
member blue-4 10.10.0.34 "$pool" # a minute ago this document was the newest one
start_all blue-4
within "$form_limit" "blue-4 is refused" is_refused blue-4
within "$step_limit" "blue-4 has not joined" has_no_node blue-4

ended=$(date -u -d "@${first_end["blue-1"]}" +%FT%TZ)
within 600 "blue-1: heartbeats when the first certificate has ended" \
  heartbeat_after blue-1 "$ended"
for machine in cp-1 worker-1; do
  within 600 "$machine: the kubelet has renewed the document's certificate" has_renewed "$machine"
done
now=$(date -u +%FT%TZ)
for machine in cp-1 worker-1; do
  within 60 "$machine: heartbeats go on" heartbeat_after "$machine" "$now"
done
machines=(cp-1 worker-1 blue-1 blue-2 blue-3)
within 1 "all nodes Ready at the end" nodes_are_ready
check_net
