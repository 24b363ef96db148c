#!/usr/bin/env bash
# Boots machines that are containers of this computer (alone.sh), and asks what Flannel promises of
# their pods: on one network segment and on two with a router between them that drops the packets of
# pods, and for each family of addresses.
#
#   pods.sh [SCENARIO...]
#
# SCENARIO is one of the functions scenario_... below. Without one, all run, in this order:
#
#   direct     all machines on one segment
#   segments   on two
#   small      the same with an MTU of 1450
#   ipv6       two segments, without IPv4
#   dual       two segments, both families
#   pool       two segments, both families; the workers are a pool's
#   iptables   two segments, and the rules of kube-proxy by iptables
#   cache      one segment, and a DNS cache on each machine
#   flushed    nftables.service starts, and reloads: it removes all rules of nftables
#   host-gw    one segment, without VXLAN
#   uplink     two interfaces: the default route is at the one that machines do not share
#   no-proxy   two segments, without kube-proxy: pods alone are asked
#
# The first five, host-gw and uplink end with a machine that joins later: the documents of the others are
# the same as before, and so are their files. In pool a machine joins later, too.
#
# The computer is the router. A namespace beside it is somebody outside of the cluster.
#
# Each boot ends with the boot net.
# shellcheck disable=SC2034 # sourced files read variables
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/build.sh"
source "$here/container.sh"
source "$here/probes.sh"
source "$here/pods-cluster.sh"
source "$here/pods-ask.sh"

every=(direct segments small ipv6 dual pool iptables cache flushed host-gw uplink no-proxy)
words "$@"

if [[ -z ${KILN_BOOT_ALONE:-} ]]; then
  "$here/alone.sh" true # before anything is installed
  packages curl
fi
begin "${arguments[@]}"
form_limit=180 step_limit=120 pause=0.5 asks=2
pool=''    # no workers that are known by name
proxy=''   # another mode of kube-proxy than nftables
caching='' # a DNS cache on each machine
backend='' # settings of Flannel's
uplink=''  # a segment of the machines' second interface
flushed='' # ports of machines that pods have are gone

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
  ip link add "$(bridge u)" type bridge
  ip link set "$(bridge u)" up
  ip address add 10.20.0.1/24 dev "$(bridge u)"
  ip address add fd00:20::1/64 dev "$(bridge u)" nodad
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
  start_all worker-3
  within "$form_limit" "worker-3 has a Node" kubectl get node worker-3
  machines+=(worker-3)
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
  all_up
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
  join
  check_net
}
has_no_vxlan() { # has_no_vxlan MACHINE
  vm ssh "$1" ip -o link >"$tmp/attempt" || fail "$1 does not show its devices"
  ! grep -F flannel.1 "$tmp/attempt" || fail "$1 has a VXLAN"
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

scenario_host-gw() {
  backend='backend: host-gw'
  works ipv4 1
  has_no_vxlan cp-1
  join
  check_net
}

# Flannel takes the interface of the Node's address, and not that of the default route.
scenario_uplink() {
  uplink=u
  works dual 1
  within 1 "machines do not reach each other at eth0" eth0_leads_nowhere
  join
  check_net
}
eth0_leads_nowhere() {
  answers 10.20.0.1 refused || return
  answers 10.20.0.11 'No route'
}
answers() { # answers ADDRESS WHAT: a connection of worker-1 to a port that nobody has ends so
  vm ssh worker-1 "exec 2>&1; ! : </dev/tcp/$1/9" | grep -F "$2"
}

# Nothing of Flannel's needs kube-proxy. CoreDNS does, so names and Services are not asked.
scenario_no-proxy() {
  proxy=none
  set_up dual 2
  all_up
  within "$step_limit" "pods may take ports" kubectl label namespace default --overwrite \
    pod-security.kubernetes.io/enforce=privileged
  pods "${machines[@]}"
  within "$step_limit" "every pod reaches every pod and port" all_connected
  within "$step_limit" "no kube-proxy" has_no_proxy
  check_net
}
has_no_proxy() { [[ -z $(kubectl get pods -A -o name -l k8s-app=kube-proxy) ]]; }

scenario_pool() {
  local machine
  family=dual segments=2 pool=yes
  adapt_case() { cluster dual 2 worker-1; }
  render_case pods
  for machine in pool-1 pool-2 pool-3; do member "$machine"; done
  machines=(cp-1 pool-1 pool-2)
  start_all pool-2 pool-1 cp-1
  holds
  start_all pool-3
  within "$form_limit" "pool-3 has a Node" kubectl get node pool-3
  machines+=(pool-3)
  within "$form_limit" "pool-3 Ready" nodes_are_ready
  within "$step_limit" "hook done on it" is_done pool-3
  pods pool-3
  check_verify
  check_network ", with pool-3"
  pool=''
  check_net
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

# What is outside of the cluster, services and names come back by themselves. Ports of machines that
# pods have do not: the plugin sets them when the pod starts. Then nothing ends any more.
scenario_flushed() {
  local machine verb before
  works ipv4 1
  flushed=yes step_limit=30
  for verb in restart reload; do
    power_on=$SECONDS
    for machine in "${machines[@]}"; do
      vm ssh "$machine" "echo flush ruleset >/etc/nftables.conf; systemctl $verb nftables"
    done
    check_network ", after a $verb of nftables.service"
    for machine in "${machines[@]}"; do
      within "$step_limit" "$machine has Flannel's rules again" vm ssh "$machine" \
        nft list table ip flannel-ipv4
    done
  done
  sleep 5 # until the API server knows of the last restart
  before=$(restarts)
  sleep 60
  within 1 "kube-proxy and Flannel go on for a minute" has_restarts "$before"
  check_net
}
restarts() {
  kubectl get pods -A -l 'k8s-app in (kube-proxy, flannel)' --no-headers \
    -o 'custom-columns=pod:metadata.name,restarts:status.containerStatuses[0].restartCount'
}
has_restarts() { restarts && [[ -n $1 && $(restarts) == "$1" ]]; }
say "$(uname -r), $(nproc) processors"
each scenario "${scenarios[@]}"
