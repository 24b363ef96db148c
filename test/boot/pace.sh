#!/usr/bin/env bash
# Measures how many bits a second pass from a pod on one machine to a pod on another, with kiln's
# network and with Flannel's, on the same two machines (alone.sh) and the same pods:
#
#   direct    both machines are on one network segment: kiln's routes, Flannel's host-gw
#   vxlan     kiln's VXLAN, and Flannel's
#
#   pace.sh [ROUNDS]   how often each of the four is measured, in turn (7), five seconds each
#
# It prints the median of each, in Gbit/s. Exits with 0 if kiln reaches 95 % of Flannel in both, 1 if
# not, 77 if this computer cannot run the test.
# shellcheck disable=SC2317 # checks are called by their names
set -euo pipefail
export MACHINES=container
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=versions.sh
source "$here/versions.sh"
# shellcheck source=build.sh
source "$here/build.sh"
# shellcheck source=container.sh
source "$here/container.sh"
# shellcheck source=cluster.sh
source "$here/cluster.sh"
# shellcheck source=probes.sh
source "$here/probes.sh"
# shellcheck source=begin.sh
source "$here/begin.sh"

rounds=${1:-7}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || usage "$rounds"
FLANNEL=0.26.7
flanneld=$bin/flannel-$FLANNEL/flannel

if [[ -z ${KILN_BOOT_ALONE:-} ]]; then
  "$here/alone.sh" true # before minutes go into the image
  packages iperf3 iputils-ping
  "$here/image-fast.sh"
  ( # the lock ends with this shell
    work_alone
    # One of its backends, which is not used here, is written in C.
    CGO_ENABLED=1 compile flannel "$FLANNEL" github.com/flannel-io/flannel{,}
  )
fi
begin "${rounds}"
form_limit=180 step_limit=120 pause=0.5
case=pace dir=$tmp/pace

adapt_case() { # two workers, on one segment, without IPv6
  sed 's|, "fd00[^]]*\]|]|; s|, {to: "::/0"[^}]*}||; s|10\.10\.1\.|10.10.0.|g
    /- name: worker-3/,$d' "$here/clusters/pods/cluster.yaml" >"$dir/cluster.yaml"
  suit_kind "$dir/cluster.yaml"
}
render_case pods
power_on=$SECONDS
for machine in "${machines[@]}"; do vm start "$machine" "$dir/nodes/$machine" "$worker_memory"; done
within "$form_limit" "all nodes Ready" nodes_are_ready
within "$step_limit" "hook done on every machine" hooks_are_done
pair=(worker-1 worker-2)
for machine in "${pair[@]}"; do probe_pod "probe-$machine" "$machine"; done >"$dir/probe.yaml"
within "$step_limit" "a pod on both machines" kubectl apply --server-side -f "$dir/probe.yaml"
for machine in "${pair[@]}"; do
  within "$step_limit" "the bridge of $machine" ip -n "$machine" link show cni0
done

# part MACHINE prints the first three numbers of the addresses of its pods.
part() { vm ssh "$1" cat /etc/kiln/routes | sed 's|\.0/24 .*||'; }

# pod MACHINE makes a namespace pod-MACHINE like that of a pod, with the address 200.
pod() {
  local name=pod-$1 own
  own=$(part "$1")
  ip netns add "$name"
  ip -n "$1" link add to-pod type veth peer name eth0 netns "$name"
  ip -n "$1" link set to-pod master cni0 up
  ip -n "$name" link set lo up
  ip -n "$name" link set eth0 up
  ip -n "$name" address add "$own.200/24" dev eth0
  ip -n "$name" route add default via "$own.1"
}
for machine in "${pair[@]}"; do pod "$machine"; done
to=$(part worker-2).200
ip netns exec pod-worker-2 iperf3 --server --daemon

reached() { ip netns exec pod-worker-1 ping -c 1 -W 1 "$to"; }
is_gone() { ! reached; }

# What flanneld keeps its leases in.
"$bin/etcd-$ETCD/etcd" --data-dir "$tmp/etcd" --log-level error \
  --listen-client-urls http://10.10.0.1:2379 --advertise-client-urls http://10.10.0.1:2379 \
  --listen-peer-urls http://127.0.0.1:0 >"$tmp/etcd.log" 2>&1 &

# stop_all leaves the machines without a way to each other's pods.
stop_all() {
  local machine
  pkill -x flannel || true
  for machine in "${pair[@]}"; do
    vm ssh "$machine" systemctl stop kiln-routes
    # shellcheck disable=SC2016 # the machine's shell expands it
    vm ssh "$machine" 'ip route flush proto 107
      for device in kiln-vxlan flannel.1; do ip link delete "$device" 2>/dev/null; done
      ip route show | sed -n "s/^\(10\.244\.[0-9.]*\/24\) via .*/\1/p" |
        while read -r other; do ip route delete "$other"; done'
  done
  within 10 "nothing connects the machines" is_gone >/dev/null
}

with_kiln() { # with_kiln WAY
  local machine
  for machine in "${pair[@]}"; do
    vm ssh "$machine" "sed -i 's/ [a-z]*\$/ $1/' /etc/kiln/routes; systemctl start kiln-routes"
  done
}

with_flannel() { # with_flannel BACKEND
  local machine
  put /coreos.com/network/config \
    "{\"Network\":\"10.244.0.0/16\",\"SubnetLen\":24,\"Backend\":{\"Type\":\"$1\"}}"
  for machine in "${pair[@]}"; do
    printf 'FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=%s.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=false\n' \
      "$(part "$machine")" >"$tmp/subnet-$machine"
    ip netns exec "$machine" "$flanneld" -iface eth0 -subnet-file "$tmp/subnet-$machine" \
      -etcd-endpoints http://10.10.0.1:2379 >"$tmp/flannel-$machine.log" 2>&1 &
  done
}
put() {
  curl -sSf --noproxy '*' http://10.10.0.1:2379/v3/kv/put \
    -d "{\"key\":\"$(printf %s "$1" | base64 -w 0)\",\"value\":\"$(printf %s "$2" | base64 -w 0)\"}" \
    >"$tmp/attempt"
}

# measure NAME adds the megabits of a second to the figures of NAME.
measure() {
  within 60 "$1 connects the pods" reached >/dev/null
  ip netns exec pod-worker-1 iperf3 --client "$to" --time 5 --omit 1 --json >"$tmp/iperf" ||
    die "iperf3: $(tail -n 3 "$tmp/iperf")"
  sed -n '/"sum_received"/,/}/s/.*"bits_per_second":[ \t]*\([0-9]*\).*/\1/p' "$tmp/iperf" |
    awk '{printf "%d\n", $1 / 1e6}' >>"$tmp/$1"
}

for ((round = 1; round <= rounds; round++)); do
  for way in direct vxlan; do
    stop_all
    with_kiln "$way"
    measure "kiln-$way"
    stop_all
    backend=${way/direct/host-gw}
    with_flannel "$backend"
    measure "flannel-$backend"
  done
done

median() { sort -n "$tmp/$1" | sed -n "$(((rounds + 1) / 2))p"; }
status=0
compare() { # compare KILN FLANNEL
  local name own other
  for name in "$1" "$2"; do
    [[ $(grep -cx '[1-9][0-9]*' "$tmp/$name") == "$rounds" ]] ||
      die "$name was not measured $rounds times; iperf3 said: $(cat "$tmp/iperf")"
  done
  own=$(median "$1") other=$(median "$2")
  printf '%s %s Mbit/s (%s), %s %s Mbit/s (%s)\n' "$1" "$own" "$(sort -n "$tmp/$1" | tr '\n' ' ')" \
    "$2" "$other" "$(sort -n "$tmp/$2" | tr '\n' ' ')"
  ((own * 100 >= other * 95)) || status=1
}
compare kiln-direct flannel-host-gw
compare kiln-vxlan flannel-vxlan
exit "$status"
