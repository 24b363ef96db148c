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
#   flushed    somebody removes all rules of nftables, as nftables.service does when it reloads
#   dropped    two segments, and vxlan never: the machines say whose pods do not answer
#   away       the API server is away for AWAY seconds (600), and a machine reboots meanwhile
#   thousand   a thousand more Nodes: what the API server is asked, and when all routes are set
#
# The first five end with a machine that joins later: the documents of the others are the
# same as before, and so are their files. In pool a machine joins later, too.
#
# The computer is the router. A namespace beside it is somebody outside of the cluster.
#
# Each boot ends with the boot net, except for dropped. Exits with 0 if all went well, 1 if something
# did not, 77 if this computer cannot run the test.
# shellcheck disable=SC2317 # scenarios and checks are called by their names
set -euo pipefail
export MACHINES=container
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=container.sh
source "$here/container.sh"
# shellcheck source=cluster.sh
source "$here/cluster.sh"
# shellcheck source=probes.sh
source "$here/probes.sh"
# shellcheck source=begin.sh
source "$here/begin.sh"

every=(
  direct segments small ipv6 dual pool iptables cache flushed dropped away thousand
)
scenarios=() arguments=("$@")
while (($#)); do
  case $1 in
  -h | --help) usage ;;
  *) choose "$1" ;;
  esac
  shift
done
((${#scenarios[@]})) || scenarios=("${every[@]}")

own_programs() { CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./crowd; }

begin "${arguments[@]}"
form_limit=180 step_limit=120 pause=0.5 asks=2
learned=60  # seconds until every machine has the route to a new one
never=''    # vxlan never, and a step that gives up after a minute
pool=''     # no workers that are known by name
thousand='' # a pod subnet with room for so many
proxy=''    # another mode of kube-proxy than nftables
caching=''  # a DNS cache on each machine
flushed=''  # ports of machines that pods have are gone

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

# cluster FAMILY SEGMENTS [MACHINE] makes the case of $dir: FAMILY is ipv4, ipv6 or dual, SEGMENTS 1
# or 2, and MACHINE is one that is not there yet.
cluster() {
  local script=''
  case $1 in
  ipv4) script='s|, "fd00[^]]*\]|]|; s|, {to: "::/0"[^}]*}||' ;;
  ipv6) script='s|\[10\.[^,]*, |[|; s|{to: 0[^}]*}, ||; s|10.10.0.11:6443|"[fd00:10::11]:6443"|' ;;
  esac
  sed "$script" "$here/clusters/pods/cluster.yaml" >"$dir/cluster.yaml"
  [[ $2 == 2 ]] || sed -i 's|10\.10\.1\.|10.10.0.|g; s|fd00:10:0:1::|fd00:10::|g' "$dir/cluster.yaml"
  [[ -z ${3:-} ]] || sed -i "/- name: $3/,\$d" "$dir/cluster.yaml"
  [[ -z $pool ]] || printf '  pools:\n  - name: pool\n' >>"$dir/cluster.yaml"
  [[ -z $never ]] || sed -i 's|^    cni: routed$|&\n    vxlan: never|
    s|^  machines:$|  boot: {stepTimeout: 1m}\n&|' "$dir/cluster.yaml"
  [[ -z $thousand ]] || sed -i 's|10\.244\.0\.0/16|10.240.0.0/12|' "$dir/cluster.yaml"
  [[ -z $proxy ]] || sed -i "s|proxy: nftables|proxy: $proxy|" "$dir/cluster.yaml"
  # suit_kind writes the lists in another way than addresses reads them.
  cp "$dir/cluster.yaml" "$dir/lines.yaml"
  suit_kind "$dir/cluster.yaml"
  [[ -z $caching ]] || {
    cp -r "$here/../../docs/examples/addons/dns-cache/addons" "$dir/"
    sed '/^metadata:/,+1d; /kubernetesVersion:/d; /endpoint:/d; /^  nodes:/,$d' \
      "$here/../../docs/examples/addons/dns-cache/cluster.yaml" >"$dir/cache.yaml"
    lay_over "$dir/cluster.yaml" "$dir/cache.yaml"
  }
}

# set_up FAMILY SEGMENTS renders three machines and powers them on.
set_up() {
  local machine
  family=$1 segments=$2
  adapt_case() { cluster "$family" "$segments" worker-3; }
  render_case pods
  power_on=$SECONDS
  for machine in worker-2 worker-1 cp-1; do power "$machine"; done
}

# power MACHINE powers a machine on for the first time, on its segment.
power() {
  local segment=a
  [[ $segments == 1 || $1 != *-[23] ]] || segment=b
  SEGMENT=$segment vm start "$1" "$dir/nodes/$1" "$worker_memory"
}

# member MACHINE makes the folder of a machine of the pool: the pool's document, and the rest of the
# seed, from which the machine has its name and its addresses.
member() {
  local folder=$dir/nodes/$1 four six
  read -r four six < <(addresses "$1" | tr -d '[]' | xargs)
  mkdir "$folder"
  cp "$dir/nodes/pools/pool/user-data" "$folder/"
  printf 'instance-id: %s\nlocal-hostname: %s\n' "$1" "$1" >"$folder/meta-data"
  cat >"$folder/network-config" <<EOF
version: 2
ethernets:
  eth0:
    addresses: [$four/24, "$six/64"]
    accept-ra: false
    nameservers: {addresses: [${four%.*}.1, "${six%::*}::1"]}
    routes: [{to: 0.0.0.0/0, via: ${four%.*}.1}, {to: "::/0", via: "${six%::*}::1"}]
EOF
}

# addresses MACHINE prints the machine's addresses, as a URL has them. Those of the first two
# machines of the pool have the same low bits.
addresses() {
  case $1 in
  pool-1) printf '%s\n' 10.10.0.21 '[fd00:10::21]' ;;
  pool-2) printf '%s\n' 10.10.1.21 '[fd00:10:0:1::21]' ;;
  pool-3) printf '%s\n' 10.10.1.22 '[fd00:10:0:1::22]' ;;
  *) named_addresses "$1" ;;
  esac
}
named_addresses() {
  awk -v name="$1" '$2 == "name:" {here = $3 == name} here && $1 == "addresses:" && !seen {
    gsub(/[][",]/, " "); for (i = 2; i <= NF; i++) print $i; seen = 1 } $2 == "name:" {seen = 0}' \
    "$dir/lines.yaml" | sed 's/.*:.*/[&]/'
}

# pods MACHINE... makes a probe on each machine, with port 8081 of the machine, and waits.
pods() {
  local machine
  for machine in "$@"; do probe_pod "probe-$machine" "$machine" probe-server 8081; done >"$dir/probe.yaml"
  within "$step_limit" "probes created: $*" kubectl apply --server-side -f "$dir/probe.yaml"
  for machine in "$@"; do
    within "$step_limit" "probe-$machine ready" kubectl wait --for=condition=Ready --timeout=1s \
      pod "probe-$machine"
  done
}

# services makes the Service of the probes for each family, with a port on every machine.
services() {
  local one port=30080
  for one in IPv4 IPv6; do
    case $family$one in ipv4IPv6 | ipv6IPv4) continue ;; esac
    cat <<EOF
---
apiVersion: v1
kind: Service
metadata: {name: probe-${one,,}, namespace: default}
spec:
  type: NodePort
  ipFamilies: [$one]
  selector: {app: probe-server}
  ports: [{port: 80, targetPort: 8080, nodePort: $port}]
EOF
    port=$((port + 1))
  done >"$dir/services.yaml"
  within "$step_limit" "services created" kubectl apply --server-side -f "$dir/services.yaml"
}

# The request is longer than a packet may be.
long=$(printf '%06000d' 0)

# asks FROM URL WANT: the probe on a machine gets an answer that matches WANT.
asks() {
  local answer
  answer=$(kubectl exec "probe-$1" -- /probe get "$2?$long" 2>&1) || {
    printf 'probe-%s to %s: %s\n' "$1" "$2" "${answer//$long/}"
    return 1
  }
  # shellcheck disable=SC2053 # a pattern is wanted
  [[ $answer == $3 ]] || {
    echo "probe-$1 to $2: $answer answered, not $3"
    return 1
  }
}
pod_ips() { # MACHINE
  kubectl get pod "probe-$1" -o jsonpath='{range .status.podIPs[*]}{.ip}{"\n"}{end}' |
    sed 's/.*:.*/[&]/'
}

# all_connected: each probe reaches each other one by its addresses and by the ports of the other
# machines, and the Services by their addresses and names.
all_connected() {
  local from to ip ips service
  for from in "${machines[@]}"; do
    for to in "${machines[@]}"; do
      ips=$(pod_ips "$to") && [[ -n $ips ]] || return
      for ip in $ips; do asks "$from" "http://$ip:8080/" "probe-$to" || return; done
      [[ $from != "$to" && -z $flushed ]] || continue
      ips=$(addresses "$to") && [[ -n $ips ]] || return
      for ip in $ips; do
        asks "$from" "http://$ip:8081/" "probe-$to" || return
      done
    done
    for service in $(kubectl get service -o name -l '!component'); do
      service=${service#service/}
      ips=$(kubectl get service "$service" -o jsonpath='{.spec.clusterIP}' | sed 's/.*:.*/[&]/')
      asks "$from" "http://$ips/" 'probe-*' || return
      asks "$from" "http://$service.default.svc.cluster.local/" 'probe-*' || return
    done
  done
}

# reached_from_outside: every machine hands a request at its node port to some probe, and at its
# port 8081 to its own.
reached_from_outside() {
  local machine ip answer port ports found
  for machine in "${machines[@]}"; do
    found=$(addresses "$machine") && [[ -n $found ]] || return
    for ip in $found; do
      ports=(30080)
      [[ $family != dual || $ip != *:* ]] || ports=(30081)
      [[ -n $flushed ]] || ports+=(8081)
      for port in "${ports[@]}"; do
        answer=$(ip netns exec outside curl -sSg -m 5 --noproxy '*' "http://$ip:$port/?$long") ||
          answer="curl ends with $?"
        [[ $answer == probe-* ]] || {
          echo "$ip:$port: $answer"
          return 1
        }
      done
    done
  done
}

check_network() {
  within "$step_limit" "every pod reaches every pod, port and service$1" all_connected
  within "$step_limit" "every machine is reached from outside$1" reached_from_outside
}

# knows MACHINE OTHER: the machine has routes to the pods of the other one.
knows() {
  local family count=0
  for family in -4 -6; do
    count=$((count + $(vm ssh "$1" "ip $family -o route show proto 107" |
      grep -cF "$(part "$family" "$2") " || true)))
  done
  ((count > 0 && count == $(addresses "$2" | wc -l)))
}
part() { # part FAMILY MACHINE prints what the machine's document says, or what it chose
  vm ssh "$2" 'cat /etc/kiln/routes 2>/dev/null || xargs -n 2 </var/lib/kiln/parts' | awk -v six="$1" '(six == "-6") == ($1 ~ /:/) {print $1}'
}
all_know() { # all_know MACHINE
  local machine
  for machine in "${machines[@]}"; do
    [[ $machine == "$1" ]] || knows "$machine" "$1" || {
      echo "$machine does not know $1"
      return 1
    }
  done
}

# no_file_changed SINCE: nothing in these folders of the three machines is newer.
no_file_changed() {
  local machine changed
  for machine in cp-1 worker-1 worker-2; do
    changed=$(vm ssh "$machine" "find /etc /usr /opt -newerct '@$1' ! -type d") || return
    [[ -z $changed ]] || {
      echo "$machine: $changed"
      return 1
    }
  done
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
  within "$learned" "all others have the route to worker-3" all_know worker-3
  ((SECONDS - power_on <= learned)) || fail "the route was there later than after $learned seconds"
  within "$form_limit" "worker-3 Ready" nodes_are_ready
  within "$step_limit" "hook done on it" has_phase "done" worker-3
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
  ! vm ssh cp-1 ip link show kiln-vxlan >"$tmp/attempt" 2>&1 || fail "there is a VXLAN"
  join
  check_net
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
  within 1 "no two machines have one part" parts_differ
  power_on=$SECONDS
  power pool-3
  within "$form_limit" "pool-3 has a Node" kubectl get node pool-3
  machines+=(pool-3)
  within "$form_limit" "pool-3 Ready" nodes_are_ready
  within "$learned" "all others have the route to pool-3" all_know pool-3
  within "$step_limit" "hook done on it" has_phase "done" pool-3
  pods pool-3
  check_network ", with pool-3"
  within 1 "no two machines have one part, with pool-3" parts_differ
  routes_of pool-2 >"$dir/routes-pool-2"
  vm ssh cp-1 mv /etc/kubernetes/manifests/kube-apiserver.yaml /root/
  within "$step_limit" "the API server is away" is_away
  vm kill pool-2
  vm again pool-2
  within "$learned" "pool-2 has its routes after a reboot" same_routes pool-2
  vm ssh cp-1 mv /root/kube-apiserver.yaml /etc/kubernetes/manifests/
  within "$form_limit" "all nodes Ready again" nodes_are_ready
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

# What is outside of the cluster, services and names come back by themselves. Ports of machines that
# pods have do not: the plugin sets them when the pod starts.
scenario_flushed() {
  local machine
  works ipv4 1
  sleep 35 # kiln-routes has seen the rules of kube-proxy
  for machine in "${machines[@]}"; do vm ssh "$machine" nft flush ruleset; done
  power_on=$SECONDS flushed=yes
  check_network ", without the rules of a moment ago"
  for machine in "${machines[@]}"; do vm ssh "$machine" nft list table inet kiln >"$tmp/attempt"; done
}

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
  within "$step_limit" "worker-2 is done" has_phase "done" worker-2
  check_network ", with the API server back"
  # An API server that has just started remembers no versions.
  within "$step_limit" "an entry can be written" kubectl -n kube-system patch configmap kiln-routes \
    --type merge -p '{"data":{"worker-9":"10.244.99.0/24 10.10.0.99"}}'
  within "$learned" "all others have the route of that entry" all_have 10.244.99.0/24
}
routes_of() { vm ssh "$1" ip -o route show proto 107 | sort; }
same_routes() { diff "$dir/routes-$1" <(routes_of "$1"); }
is_away() { ! kubectl get --raw /readyz; }
all_have() {
  local machine
  for machine in "${machines[@]}"; do routes_of "$machine" | grep "^$1 " || return; done
}

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
  until [[ -s $dir/crowd ]]; do sleep 0.5; done
  record "a quiet minute: $(tail -n 1 "$dir/crowd"), API server $(($(processor_time) - before)) ms"
  before=$(processor_time)
  kubectl -n kube-system patch configmap kiln-routes --type merge \
    -p '{"data":{"other-1":"10.241.1.0/24 10.10.4.251"}}' >"$tmp/attempt" 2>&1 ||
    fail "no entry can be written"
  wait "$pid"
  record "one with a change: $(tail -n 1 "$dir/crowd"), API server $(($(processor_time) - before)) ms"
}
processor_time() { # of the API server, in ms
  # shellcheck disable=SC2016 # the machine's shell expands it
  vm ssh cp-1 'set -- $(cat "/proc/$(pidof kube-apiserver)/stat"); echo $((10 * (${14} + ${15})))'
}

say "$(uname -r), $(nproc) processors"
each scenario "${scenarios[@]}"
