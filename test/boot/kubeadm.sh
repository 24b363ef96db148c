#!/usr/bin/env bash
# Boots one control plane by turns with kubeadm and with kiln, on containers of this computer
# (alone.sh), and says how long each takes. kubeadm runs from cloud-init's runcmd, the usual way
# without kiln, with its defaults; kiln's machine has kiln's, the profile cis among them. Both have
# the same network of pods: a list of CNI plugins on the disk, or Flannel.
#
#   kubeadm.sh [--flannel] [RUNS]   5 of each
#
# Its figures are only worth something on a computer that does nothing else.
#
# Exits with 0 if all machines came up, 1 if one did not, 77 if this computer cannot run the test.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

flannel='' arguments=("$@")
if [[ ${1-} == --flannel ]]; then
  flannel=yes
  shift
fi
runs=${1:-5}
[[ $runs =~ ^[1-9][0-9]*$ && $# -le 1 ]] || die "how many runs? $runs is no number; see the head of $0"
limit=300 # seconds until CoreDNS is available
case=race

begin "${arguments[@]}"

# clock prints the hundredths of a second since this computer's start, which the machines share.
clock() {
  local up _
  read -r up _ </proc/uptime
  echo "${up/./}"
}

# soon COMMAND...: prints the hundredths of a second from power-on until the command holds.
soon() {
  until "$@" >"$tmp/attempt" 2>&1; do
    (($(clock) - power_on < limit * 100)) || {
      cat "$tmp/attempt" >&2
      die "not reached in $limit seconds: $*"
    }
    sleep 0.2
  done
  echo $(($(clock) - power_on))
}

node_is_ready() {
  [[ $(kubectl get node cp-1 -o jsonpath='{.status.conditions[?(@.type=="Ready")].status}') == True ]]
}

# race KIND: boots the machine of the folder $dir/nodes/cp-1, and adds a line to the results: what
# made it; seconds from power-on to Ready, to CoreDNS Available, and to the end of kubeadm init or
# the hook; seconds of kubeadm init itself, or from the hook's start to Ready.
race() {
  local ready available ended own
  control_planes=(cp-1)
  power_on=$(clock)
  vm start cp-1 "$dir/nodes/cp-1" "$control_plane_memory"
  # kubectl takes processor time, so it begins late, and for both at the same event.
  soon server_listens >/dev/null
  [[ $1 != kubeadm ]] || soon admin_conf >/dev/null
  ready=$(soon node_is_ready)
  available=$(soon coredns_is_available)
  "ended_$1"
  printf '%s %d.%02d %d.%02d %d.%02d %d.%02d\n' "$1" $((ready / 100)) $((ready % 100)) \
    $((available / 100)) $((available % 100)) $((ended / 100)) $((ended % 100)) \
    $((own / 100)) $((own % 100)) | tee -a "$tmp/results"
  vm off
}
server_listens() { : </dev/tcp/10.10.0.11/6443; }
admin_conf() {
  vm ssh cp-1 'cat /etc/kubernetes/admin.conf' >"$dir/nodes/admin.conf"
}
ended_kubeadm() {
  local begun status
  soon vm ssh cp-1 test -s /var/log/kubeadm.ended >/dev/null
  begun=$(vm ssh cp-1 cat /var/log/kubeadm.begun)
  read -r status ended <<<"$(vm ssh cp-1 cat /var/log/kubeadm.ended)"
  ((status == 0)) || {
    vm ssh cp-1 tail -n 40 /var/log/kubeadm.log >&2
    die "kubeadm init failed"
  }
  own=$((${ended/./} - ${begun/./})) ended=$((${ended/./} - power_on))
}
ended_kiln() {
  local begun age
  soon is_done cp-1 >/dev/null
  # shellcheck disable=SC2016 # the machine expands it
  age=$(vm ssh cp-1 'echo $(($(date +%s%N) - $(stat -c %.9Y /var/lib/kiln/status.json | tr -d .)))')
  ended=$(($(clock) - power_on - age / 10000000))
  begun=$(vm ssh cp-1 systemctl show --property InactiveExitTimestampMonotonic --value kiln.service)
  own=$((ready + power_on - begun / 10000))
}

prepare_kubeadm() {
  local version etcd
  etcd=$("$tmp/kiln" images --config "$here/clusters/kubeadm/cluster.yaml" | sed -n 's|.*/etcd:||p')
  version=$("$cache/kubectl" version --client -o json | sed -n 's/.*"gitVersion": "\(.*\)",$/\1/p')
  mkdir -p "$dir/nodes/cp-1"
  printf 'instance-id: kubeadm\nlocal-hostname: cp-1\n' >"$dir/nodes/cp-1/meta-data"
  cp "$here/clusters/kubeadm/network-config" "$dir/nodes/cp-1/"
  sed "s/KUBERNETES/$version/;s/ETCD/$etcd/" "$here/clusters/kubeadm/user-data" >"$dir/nodes/cp-1/user-data"
  [[ -z $flannel ]] || with_flannel "$dir/nodes/cp-1/user-data"
}

# with_flannel USER-DATA: kubeadm's machine applies kiln's objects of Flannel, in their order, and has
# no list of plugins.
with_flannel() {
  local case=flannel dir=$tmp/flannel object
  if [[ ! -d $dir ]]; then
    render_case kubeadm >/dev/null
    "$tmp/kiln" unpack --show-secrets "$dir/nodes/cp-1" --out "$dir/tree" >/dev/null
  fi
  {
    printf -- '- path: /etc/flannel.yaml\n  content: |\n'
    for object in "$dir"/tree/etc/kiln/objects/*flannel*; do
      printf '    ---\n'
      sed 's/^/    /' "$object"
      echo
    done
  } >"$dir/part"
  sed -i -e '/10-bridge.conflist/,/portMappings/d' -e "/^write_files:/r $dir/part" \
    -e '/^    kubeadm init /a\    kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f /etc/flannel.yaml >>/var/log/kubeadm.log' "$1"
}

prepare_kiln() { case=kiln render_case kubeadm; }

# adapt_case: without Flannel kiln's machine has the list of plugins of kubeadm's.
adapt_case() {
  [[ -z $flannel ]] || return 0
  {
    printf 'spec: {network: {cni: none}, machines: {files: [{path: /etc/cni/net.d/10-bridge.conflist, content: '"'"
    sed -n '/10-bridge.conflist/,/portMappings/s/^    \([ {]\)/\1/p' "$here/clusters/kubeadm/user-data" | tr -d '\n'
    printf "'}]}}"
  } >"$dir/list.yaml"
  lay_over "$dir/cluster.yaml" "$dir/list.yaml"
}

: >"$tmp/results"
for ((run = 1; run <= runs; run++)); do
  for maker in kubeadm kiln; do
    dir=$tmp/$maker-$run
    "prepare_$maker"
    race "$maker"
  done
done

# spread COLUMN MAKER prints minimum, median and maximum.
spread() {
  awk -v maker="$2" -v column="$1" '$1 == maker { print $column }' "$tmp/results" | sort -n |
    awk '{ a[NR] = $1 } END { print a[1] " " a[int((NR + 1) / 2)] " " a[NR] }'
}
printf '\nseconds, of %s runs: minimum, median, maximum\n' "$runs"
row() { printf '%-46s %-18s %s\n' "$1" "$(spread "$2" kubeadm)" "$(spread "$2" kiln)"; }
printf '%-46s %-18s %s\n' '' kubeadm kiln
row 'power-on to Ready' 2
row 'power-on to CoreDNS Available' 3
row 'power-on to the end of kubeadm init / the hook' 4
row 'kubeadm init itself / hook start to Ready' 5
