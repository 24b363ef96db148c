# shellcheck shell=bash disable=SC2034,SC2154
# The clusters of pods.sh, and the power of their machines. Sourced by it.

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
  [[ -z $uplink ]] || add_uplinks
  [[ -z $proxy ]] || sed -i "s|proxy: nftables|proxy: $proxy|" "$dir/cluster.yaml"
  [[ -z $backend ]] || sed -i "s|^  network:$|&\n    flannel: {$backend}|" "$dir/cluster.yaml"
  # suit_kind writes the lists in another way than addresses reads them.
  cp "$dir/cluster.yaml" "$dir/lines.yaml"
  suit_kind "$dir/cluster.yaml"
  # The kind's last lines are a patch of kube-proxy's settings.
  [[ $proxy != none ]] || sed -i '/^  patches:$/,$d' "$dir/cluster.yaml"
  [[ -z $caching ]] || {
    cp -r "$here/../../docs/examples/addons/dns-cache/addons" "$dir/"
    sed '/^metadata:/,+1d; /kubernetesVersion:/d; /endpoint:/d; /^  nodes:/,$d' \
      "$here/../../docs/examples/addons/dns-cache/cluster.yaml" >"$dir/cache.yaml"
    lay_over "$dir/cluster.yaml" "$dir/cache.yaml"
  }
}

# add_uplinks moves what each machine has at eth0 to eth1. Its new eth0 has the default route.
add_uplinks() {
  awk '
    $1 == "eth0:" {
      n++
      print
      printf "          addresses: [10.20.0.%d/24, \"fd00:20::%d/64\"]\n", n + 10, n + 10
      print "          accept-ra: false"
      print "          routes: [{to: 0.0.0.0/0, via: 10.20.0.1}, {to: \"::/0\", via: \"fd00:20::1\"}]"
      print "        eth1:"
      seen = 1
      next
    }
    $1 == "routes:" && seen {next}
    $2 == "name:" {seen = 0}
    {print}' "$dir/cluster.yaml" >"$dir/uplinks.yaml"
  mv "$dir/uplinks.yaml" "$dir/cluster.yaml"
}

# set_up FAMILY SEGMENTS renders three machines and powers them on.
set_up() {
  local machine
  family=$1 segments=$2
  adapt_case() { cluster "$family" "$segments" worker-3; }
  render_case pods
  start_all worker-2 worker-1 cp-1
}

# power MACHINE powers a machine on for the first time, on its segment.
power() {
  local segment=a
  [[ $segments == 1 || $1 != *-[23] ]] || segment=b
  SEGMENT=$segment UPLINK=$uplink vm start "$1" "$dir/nodes/$1" "$worker_memory"
}

# member MACHINE makes the folder of a machine of the pool: the pool's document, and the rest of the
# seed, from which the machine has its name and its addresses.
member() {
  local four six
  read -r four six < <(addresses "$1" | tr -d '[]' | xargs)
  member_folder "$1" "$dir/nodes/pools/pool/user-data"
  cat >"$dir/nodes/$1/network-config" <<EOF
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
