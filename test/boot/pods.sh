#!/usr/bin/env bash
# Boots machines that are containers of this computer (alone.sh), and holds the network of their
# pods (cni routed) to what it promises: on one network segment and on two with a router between
# them that drops the packets of pods, for each family of addresses, and while the API server is
# away.
#
#   pods.sh [SCENARIO...]
#
# SCENARIO is one of the functions scenario_... below. Without one, all run, in this order:
#
#   direct     all machines on one segment
#   segments   on two, which takes VXLAN
#   small      the same with an MTU of 1450
#   ipv6       two segments, without IPv4
#   dual       two segments, both families
#   pool       two segments, both families; the workers are a pool's, and choose their pods' networks
#   iptables   two segments, and the rules of kube-proxy by iptables
#   cache      one segment, and a DNS cache on each machine
#   encrypted  two segments, both families, encryption wireguard: nothing on the wire is in clear
#   flushed    somebody removes all rules of nftables, as nftables.service does when it reloads
#   dropped    two segments, and vxlan never: the machines say whose pods do not answer
#   away       the API server is away for AWAY seconds (600), and a machine reboots meanwhile
#   host-gw    Flannel on one segment, without VXLAN
#   no-proxy   Flannel on two segments, without kube-proxy: pods alone are asked
#   thousand   a thousand more Nodes: what the API server is asked, and when all routes are set
#
# CNI is the network of pods: routed (the default) or flannel, for which direct, segments, small,
# ipv6, dual, iptables, cache, encrypted, host-gw and no-proxy are made.
#
# The first five and encrypted end with a machine that joins later: the documents of the others are
# the same as before, and so are their files. In pool a machine joins later, too.
#
# The computer is the router. A namespace beside it is somebody outside of the cluster.
#
# Each boot ends with the boot net, except for dropped. Exits with 0 if all went well, 1 if something
# did not, 77 if this computer cannot run the test.
# shellcheck disable=SC2034,SC2317 # sourced files read variables, and call scenarios and checks by name
set -euo pipefail
export MACHINES=container
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
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
# shellcheck source=pods-cluster.sh
source "$here/pods-cluster.sh"
# shellcheck source=pods-ask.sh
source "$here/pods-ask.sh"
# shellcheck source=pods-thousand.sh
source "$here/pods-thousand.sh"

every=(
  direct segments small ipv6 dual pool iptables cache encrypted flushed dropped away host-gw
  no-proxy thousand
)
scenarios=() arguments=("$@")
while (($#)); do
  case $1 in
  -h | --help) usage "$1" ;;
  *) choose "$1" ;;
  esac
  shift
done
((${#scenarios[@]})) || scenarios=("${every[@]}")

own_programs() {
  CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./crowd
  CGO_ENABLED=0 go build -C "$here/../wireguard" -o "$tmp/wireguard-go" golang.zx2c4.com/wireguard
}

if [[ -z ${KILN_BOOT_ALONE:-} ]]; then
  "$here/alone.sh" true # before anything is installed
  packages curl
  [[ " ${scenarios[*]} " != *" encrypted "* ]] || packages tcpdump wireguard-tools
fi
begin "${arguments[@]}"
form_limit=180 step_limit=120 pause=0.5 asks=2
learned=60         # seconds until every machine has the route to a new one
never=''           # vxlan never, and a step that gives up after a minute
pool=''            # no workers that are known by name
thousand=''        # a pod subnet with room for so many
proxy=''           # another mode of kube-proxy than nftables
caching=''         # a DNS cache on each machine
encrypt=''         # encryption wireguard
cni=${CNI:-routed} # the network of pods
backend=''         # settings of Flannel's
flushed=''         # ports of machines that pods have are gone

# The router. It is not somebody who asks: the router's own cache of path MTUs changes what it sends.
ip link show "$(bridge b)" >/dev/null 2>&1 || {
  sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
  ip link add "$(bridge b)" type bridge
  ip link set "$(bridge b)" up
  ip address add 10.10.1.1/24 dev "$(bridge b)"
  ip address add fd00:10::1/64 dev "$(bridge a)" nodad
  ip address add fd00:10:0:1::1/64 dev "$(bridge b)" nodad
  # What a cloud does: packets with a foreign sender or receiver are dropped, without a word.
  ip rule add from 10.244.0.0/16 blackhole
  ip -6 rule add from fd00:10:244::/48 blackhole
  ip netns add outside
  ip link add outside type veth peer name eth0 netns outside
  ip link set outside master "$(bridge a)" up
  ip -n outside link set eth0 up
  ip -n outside address add 10.10.0.99/24 dev eth0
  ip -n outside address add fd00:10::99/64 dev eth0 nodad
  ip -n outside route add default via 10.10.0.1
  ip -n outside route add default via fd00:10::1
}

# render_again adds worker-3 to the configuration.
render_again() {
  cluster "$family" "$segments"
  cp -a "$dir/nodes" "$dir/before"
  "$tmp/kiln" render --config "$dir/cluster.yaml" --out "$dir/nodes" >"$tmp/attempt" 2>&1 ||
    fail "the configuration with worker-3 does not render"
}

# join: worker-3 joins the others.
join() {
  local machine since
  render_again
  for machine in cp-1 worker-1 worker-2; do
    diff -r "$dir/before/$machine" "$dir/nodes/$machine" >"$tmp/attempt" ||
      fail "the document of $machine has changed"
  done
  record "the documents of the others are the same"
  since=$(date +%s)
  power_on=$SECONDS
  power worker-3
  within "$form_limit" "worker-3 has a Node" kubectl get node worker-3
  machines+=(worker-3)
  [[ $cni != routed ]] || {
    within "$learned" "all others have the route to worker-3" all_know worker-3
    ((SECONDS - power_on <= learned)) ||
      fail "the route was there later than after $learned seconds"
  }
  within "$form_limit" "worker-3 Ready" nodes_are_ready
  within "$step_limit" "hook done on it" is_done worker-3
  pods worker-3
  check_network ", with worker-3"
  within 1 "no file of the others was written" no_file_changed "$since"
}

works() { # works FAMILY SEGMENTS
  set_up "$@"
  holds
}
holds() { # what a network promises, once its machines have power
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "CoreDNS Available" coredns_is_available
  # Ports of machines are for namespaces that may have them.
  within "$step_limit" "pods may take ports" kubectl label namespace default --overwrite \
    pod-security.kubernetes.io/enforce=privileged
  pods "${machines[@]}"
  services
  check_network ""
}

scenario_direct() {
  works ipv4 1
  [[ $cni != routed ]] || has_no_vxlan cp-1
  join
  check_net
}
has_no_vxlan() { # has_no_vxlan MACHINE
  vm ssh "$1" ip -o link >"$tmp/attempt" || fail "$1 does not show its devices"
  ! grep -F -e kiln-vxlan -e flannel.1 "$tmp/attempt" || fail "$1 has a VXLAN"
}
scenario_segments() {
  works ipv4 2
  join
  check_net
}
scenario_small() {
  export MTU=1450
  works ipv4 2
  join
  check_net
}
scenario_ipv6() {
  works ipv6 2
  join
  check_net
}
scenario_dual() {
  works dual 2
  join
  check_net
}

# Nothing of Flannel's needs kube-proxy. CoreDNS does, so names and Services are not asked.
scenario_host-gw() {
  cni=flannel backend='backend: host-gw'
  works ipv4 1
  has_no_vxlan cp-1
  join
  check_net
}
scenario_no-proxy() {
  cni=flannel proxy=none
  set_up dual 2
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "pods may take ports" kubectl label namespace default --overwrite \
    pod-security.kubernetes.io/enforce=privileged
  pods "${machines[@]}"
  within "$step_limit" "every pod reaches every pod and port" all_connected
  within "$step_limit" "no kube-proxy" has_no_proxy
  check_net
}
has_no_proxy() { [[ -z $(kubectl get pods -A -o name -l k8s-app=kube-proxy) ]]; }

# A machine of the pool keeps its part while it is off. While the API server is away as well, it has
# its routes when it comes back.
scenario_pool() {
  local machine
  family=dual segments=2 pool=yes
  adapt_case() { cluster dual 2 worker-1; }
  render_case pods
  for machine in pool-1 pool-2 pool-3; do member "$machine"; done
  machines=(cp-1 pool-1 pool-2)
  power_on=$SECONDS
  for machine in pool-2 pool-1 cp-1; do power "$machine"; done
  holds
  [[ $cni != routed ]] || within 1 "no two machines have one part" parts_differ
  power_on=$SECONDS
  power pool-3
  within "$form_limit" "pool-3 has a Node" kubectl get node pool-3
  machines+=(pool-3)
  within "$form_limit" "pool-3 Ready" nodes_are_ready
  [[ $cni != routed ]] ||
    within "$learned" "all others have the route to pool-3" all_know pool-3
  within "$step_limit" "hook done on it" is_done pool-3
  pods pool-3
  check_verify
  check_network ", with pool-3"
  [[ $cni == routed ]] || return 0 # Flannel asks the API server when it starts
  within 1 "no two machines have one part, with pool-3" parts_differ
  routes_of pool-2 >"$dir/routes-pool-2"
  vm ssh cp-1 mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/
  within "$step_limit" "the API server is away" is_away
  vm kill pool-2
  vm again pool-2
  within "$learned" "pool-2 has its routes after a reboot" same_routes pool-2
  vm ssh cp-1 mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/
  within "$form_limit" "all nodes Ready again" nodes_are_ready
  check_verify pool-2
  check_network ", after a reboot"
  pool=''
  check_net
}
parts_differ() {
  local machine family all=''
  for machine in "${machines[@]}"; do
    for family in -4 -6; do all+=$(part "$family" "$machine")$'\n'; done
  done
  echo "$all"
  [[ $(sort -u <<<"$all" | grep -c .) == $((2 * ${#machines[@]})) ]]
}

scenario_iptables() {
  proxy=iptables
  works dual 2
  check_net
}
scenario_cache() {
  caching=yes
  works ipv4 1
  within 1 "pods ask the cache" pods_ask_the_cache
  check_net
}
pods_ask_the_cache() {
  vm ssh worker-1 'cat /var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/*/resolv.conf' |
    grep -x 'nameserver 169.254.20.10'
}

# The computer's kernel may have no WireGuard. So a unit of the machine runs wireguard-go, which is
# its kiln-wg.
scenario_encrypted() {
  local segment machine listeners=()
  wireguard_machines "$dir-add"
  export KILN_BOOT_ADD=$dir-add
  encrypt=yes
  for segment in a b; do
    listen "$(bridge "$segment")" &
    listeners+=($!)
  done
  # shellcheck disable=SC2064 # they are known now; the scenario has a shell of its own
  trap "kill ${listeners[*]} 2>/dev/null || true" EXIT
  works dual 2
  join
  within 1 "no packet of a pod was in clear" none_in_clear
  for machine in "${machines[@]}"; do has_no_vxlan "$machine"; done
  check_net
}
wireguard_machines() { # wireguard_machines FOLDER
  local units=$1/etc/systemd/system
  install -D -m 755 -t "$1/usr/local/bin" "$tmp/wireguard-go" "$(command -v wg)"
  mkdir -p "$units/multi-user.target.wants"
  cat >"$units/wireguard-go.service" <<'END'
[Unit]
Before=kiln-routes.service
[Service]
ExecStart=/usr/local/bin/wireguard-go -f kiln-wg
ExecStartPost=/bin/sh -c 'until [ -e /sys/class/net/kiln-wg ]; do sleep 0.1; done'
END
  ln -s ../wireguard-go.service "$units/multi-user.target.wants/"
}
# listen BRIDGE notes packets between machines: encrypted ones, those with a pod's address, and
# VXLAN, which has the pods' addresses inside: tcpdump prints them on a line of their own.
listen() {
  exec tcpdump -n -l -i "$1" \
    udp port 51820 or udp port 4789 or net 10.244.0.0/16 or net fd00:10:244::/48 \
    >"$tmp/wire-$1" 2>"$tmp/wire-$1.log"
}
none_in_clear() {
  local segment wire
  for segment in a b; do
    wire=$tmp/wire-$(bridge "$segment")
    (($(grep -c '\.51820: UDP' "$wire") > 100)) || return
    ! grep -F -e ' 10.244.' -e ' fd00:10:244:' "$wire" || return
  done
}

# What is outside of the cluster, services and names come back by themselves. Ports of machines that
# pods have do not: the plugin sets them when the pod starts.
scenario_flushed() {
  local machine
  works ipv4 1
  if [[ $cni == routed ]]; then
    sleep 35 # kiln-routes has seen the rules of kube-proxy
    for machine in "${machines[@]}"; do vm ssh "$machine" nft flush ruleset; done
  else
    for machine in "${machines[@]}"; do
      vm ssh "$machine" 'echo flush ruleset >/etc/nftables.conf; systemctl restart nftables'
    done
  fi
  power_on=$SECONDS flushed=yes
  check_network ", without the rules of a moment ago"
  for machine in "${machines[@]}"; do
    within 1 "$machine has its own rules again" vm ssh "$machine" nft list table "$(own_table)"
  done
  check_net
}
own_table() { if [[ $cni == routed ]]; then echo inet kiln; else echo ip flannel-ipv4; fi; }

# The first two machines may be done before there is a peer that they could ask. The last one is not.
scenario_dropped() {
  never=yes
  set_up ipv4 2
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "cp-1 names worker-2's pods" says_silent cp-1 worker-2
  render_again
  power_on=$SECONDS
  power worker-3
  within "$step_limit" "worker-3 has the fault pod-network" has_code pod-network worker-3
}
says_silent() { # says_silent MACHINE OTHER
  vm ssh "$1" journalctl --no-pager -u kiln-routes | grep "cannot be reached: .*$2 answers at "
}
has_code() { # has_code CODE MACHINE
  vm ssh "$2" cat /var/lib/kiln/status.json | grep -F "\"code\":\"$1\""
}

# Without an API server no pod starts. What the machines know of each other is the same all the time,
# also on a machine that has rebooted.
scenario_away() {
  local before machine begun
  works ipv4 2
  for machine in "${machines[@]}"; do routes_of "$machine" >"$dir/routes-$machine"; done
  vm ssh cp-1 mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/
  within "$step_limit" "the API server is away" is_away
  begun=$SECONDS
  vm kill worker-2
  vm again worker-2
  within "$learned" "worker-2 has its routes after a reboot" same_routes worker-2
  record "it has them $((SECONDS - begun)) seconds after its power was cut"
  while ((SECONDS - begun < ${AWAY:-600})); do
    sleep 20
    for machine in "${machines[@]}"; do
      same_routes "$machine" >"$tmp/attempt" || fail "the routes of $machine have changed"
    done
  done
  record "the routes were the same for $((SECONDS - begun)) seconds"
  vm ssh cp-1 mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/
  power_on=$SECONDS
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "worker-2 is done" is_done worker-2
  check_network ", with the API server back"
  # An API server that has just started remembers no versions. Control planes remove the entry of a
  # machine without a Node.
  echo '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker-9"}}' >"$dir/node.json"
  within "$step_limit" "a Node can be written" kubectl create -f "$dir/node.json"
  within "$step_limit" "an entry can be written" kubectl -n kube-system patch configmap kiln-routes \
    --type merge -p '{"data":{"worker-9":"10.244.99.0/24 10.10.0.99"}}'
  within "$learned" "all others have the route of that entry" all_have 10.244.99.0/24
  check_net
}
routes_of() { vm ssh "$1" ip -o route show proto 107 | sort; }
same_routes() { diff "$dir/routes-$1" <(routes_of "$1"); }
is_away() { ! kubectl get --raw /readyz; }
all_have() {
  local machine
  for machine in "${machines[@]}"; do routes_of "$machine" | grep "^$1 " || return; done
}

say "$(uname -r), $(nproc) processors"
each scenario "${scenarios[@]}"
