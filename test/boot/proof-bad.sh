# shellcheck shell=bash disable=SC2034,SC2154
# The bad documents of the proof. Each is rendered well and then changed behind kiln's back (plant),
# because kiln refuses most of these mistakes itself. Sourced by a script that has status_of
# MACHINE, which prints what the machine's hook says, and note KIND NAME VALUE.
#
# A function bad_NAME plants the mistake in the document of $machines, and says in $what what it is,
# and in $finds what has to be found: a pattern of grep for a fault and its evidence, or for a sign
# of the boot net. Another finding does not count. The function may put a patch of cluster.yaml into
# $patch, or an expression of sed for cluster.yaml into $edit, that makes the same mistake: the
# proof notes what kiln says to it.

# The number of a repetition is a place in this list.
bad=(byte missing-file missing-key wrong-san flag kubelet-value cni-path peer-url owner cycle
  credential image absent-image object clock)

plant() { "$tmp/plant" "$dir/nodes/${machines[0]}/user-data" "$@"; }
manifests=/etc/kubernetes/manifests

bad_byte() {
  what="a byte of a certificate is flipped"
  finds='file-damaged: not what was rendered'
  flip_byte "$dir/nodes/cp-1/user-data"
}
bad_missing-file() {
  what="apiserver.key is not in the document"
  finds='file-damaged: missing'
  plant drop /etc/kubernetes/pki/apiserver.key
}
bad_missing-key() {
  what="apiserver.key is neither in the document nor in its list of files"
  finds='kube-apiserver-unhealthy: .*apiserver\.key: no such file'
  plant hidden drop /etc/kubernetes/pki/apiserver.key
}
# The certificate is of the cluster's own CA, and its key fits.
bad_wrong-san() {
  local other=$dir/other file
  what="the API server's certificate is that of another address"
  finds='kube-apiserver-unhealthy: .*no alternative certificate subject name'
  mkdir "$other"
  cp "$dir"/*.yaml "$other/"
  sed -i 's/10\.10\.0\.11/10.10.0.99/' "$other/cluster.yaml"
  "$tmp/kiln" render --config "$other/cluster.yaml" --out "$other/nodes" 2>&1
  for file in crt key; do
    "$tmp/plant" "$other/nodes/cp-1/user-data" print "/etc/kubernetes/pki/apiserver.$file" \
      >"$other/$file"
    plant hidden content "/etc/kubernetes/pki/apiserver.$file" "$other/$file"
  done
}
bad_flag() {
  what="the API server has a flag that does not exist"
  finds='kube-apiserver-unhealthy: .*unknown flag: --no-such-flag'
  patch='- {op: add, path: /spec/containers/0/command/-, value: --no-such-flag=1}'
  target='kind: Pod, name: kube-apiserver'
  plant hidden replace $manifests/kube-apiserver.yaml $'\n    - kube-apiserver\n' \
    $'\n    - kube-apiserver\n    - --no-such-flag=1\n'
}
bad_kubelet-value() {
  what="the kubelet's configuration has a value that it refuses: maxPods: -1"
  finds='kubelet-crash: .*maxPods'
  patch='- {op: add, path: /maxPods, value: -1}'
  target='kind: KubeletConfiguration'
  plant hidden replace /var/lib/kubelet/config.yaml $'kind: KubeletConfiguration\n' \
    $'kind: KubeletConfiguration\nmaxPods: -1\n'
}
bad_cni-path() {
  what="containerd looks for CNI in a folder that does not exist"
  finds='node-not-ready: .*cni plugin not initialized'
  plant hidden replace /etc/containerd/config.toml '"/etc/cni/net.d"' '"/etc/cni/nothing.d"'
}
bad_peer-url() {
  what="etcd advertises a peer URL that is not the machine's"
  finds='etcd-unhealthy: .*10\.10\.0\.77'
  patch='- {op: add, path: /spec/containers/0/command/-, value: "'
  patch+='--initial-advertise-peer-urls=https://10.10.0.77:2380"}'
  target='kind: Pod, name: etcd'
  plant hidden replace $manifests/etcd.yaml \
    '--initial-advertise-peer-urls=https://10.10.0.11:2380' \
    '--initial-advertise-peer-urls=https://10.10.0.77:2380'
}
bad_owner() {
  what="etcd's key belongs to root, and only root may read it"
  finds='etcd-unhealthy: .*server\.key: permission denied'
  plant hidden own /etc/etcd/pki/server.key 0600 root:root
}
bad_cycle() {
  what="kubelet.service and containerd.service each wait for the other"
  finds='ordering cycle'
  plant hidden replace /etc/systemd/system/kubelet.service $'\nAfter=containerd.service' \
    $'\nBefore=containerd.service\nAfter=containerd.service'
}
bad_credential() {
  local other=$dir/other file=/var/lib/kubelet/pki/kubelet-client-kiln.pem
  what="a worker's client certificate is of another cluster's CA"
  finds='kubelet-credential: HTTP 401'
  mkdir "$other"
  cp "$dir/cluster.yaml" "$other/"
  "$tmp/kiln" render --config "$other/cluster.yaml" --out "$other/nodes" 2>&1
  "$tmp/plant" "$other/nodes/worker-1/user-data" print "$file" >"$other/pem"
  machines=(worker-1)
  plant hidden content "$file" "$other/pem"
  machines=(cp-1 worker-1)
}
bad_image() {
  what="the scheduler's image has a tag that is not there"
  finds='kube-scheduler-unhealthy: '
  patch='- {op: replace, path: /spec/containers/0/image, value: "'
  patch+='registry.k8s.io/kube-scheduler:v1.36.99"}'
  target='kind: Pod, name: kube-scheduler'
  plant hidden replace $manifests/kube-scheduler.yaml 'kube-scheduler:v1.36.3' \
    'kube-scheduler:v1.36.99'
}
bad_absent-image() {
  what="the same, and the machine's check for images names it"
  edit='s/kubernetesVersion: v1.36.3/kubernetesVersion: v1.36.99/'
  bad_image
  patch=''
  what="the same, and the machine's check for images names it"
  finds='images: .*v1\.36\.99 is not here'
  plant hidden replace /etc/kiln/checks 'kube-scheduler:v1.36.3' 'kube-scheduler:v1.36.99'
}
bad_object() {
  local object # its number moves with each object before it
  object=$(sed -n 's/^- path: "\(.*-deployment-coredns\.yaml\)"$/\1/p' \
    "$dir/nodes/${machines[0]}/user-data")
  what="the API server refuses an object: CoreDNS with -1 replicas"
  finds='object: HTTP 422: .*spec\.replicas'
  patch='- {op: replace, path: /spec/replicas, value: -1}'
  target='kind: Deployment, name: coredns'
  plant hidden replace "$object" '"replicas":2' '"replicas":-1'
}
bad_clock() {
  what="the machine's clock is a year behind (the document is a year ahead)"
  finds='clock-behind: '
  local check
  check=$("$tmp/plant" "$dir/nodes/cp-1/user-data" print /etc/kiln/checks |
    sed -n 's/^clock-behind.*at_least \([0-9]*\).*/\1/p')
  plant hidden replace /etc/kiln/checks "at_least $check" "at_least $((check + 365 * 24 * 3600))"
}

# adapt_case: a bad machine says so within a minute.
adapt_bad() {
  sed -i '0,/^  endpoint:/s//  boot: {stepTimeout: 1m}\n&/' "$dir/cluster.yaml"
  grep -q stepTimeout "$dir/cluster.yaml"
}

scenario_negative() {
  local name what='' finds='' patch='' target='' edit='' before
  ((seed >= 1 && seed <= ${#bad[@]})) ||
    fail "there are ${#bad[@]} bad documents, and no number $seed"
  name=${bad[seed - 1]}
  adapt_case() { adapt_bad; }
  render_case fast
  machines=(cp-1)
  "bad_$name"
  note fact bad "$name"
  note fact what "$what"
  before=$(before_boot)
  note found before "$before"
  ! "$tmp/kiln" render --config "$dir/cluster.yaml" --out "$dir/nodes" --check \
    >"$tmp/attempt" 2>&1 || fail "render --check sees no difference"
  start_all "${machines[@]}"
  await_verdict
  note seconds found "$(since)"
  note_findings "${machines[-1]}"
}

# await_verdict waits until there is a verdict or none is to be expected.
await_verdict() {
  local end=$((SECONDS + 300))
  until has_verdict >"$tmp/attempt" 2>&1; do
    ((SECONDS < end)) || break
    # A node becomes Ready soon after its hook is done, or never.
    if ((SECONDS + 40 < end)) && hooks_are_done >"$tmp/attempt" 2>&1; then end=$((SECONDS + 40)); fi
    sleep 1
  done
}
# has_verdict: the machine with the mistake has a fault, or is done and its node is Ready.
has_verdict() {
  has_fault "${machines[-1]}" || { hooks_are_done && nodes_are_ready; }
}

# before_boot prints what kiln says to a cluster.yaml with the mistake.
before_boot() {
  local copy=$tmp/before
  [[ -n $patch$edit ]] || {
    echo "cannot be written in cluster.yaml"
    return
  }
  mkdir "$copy"
  cp "$dir"/*.yaml "$copy/"
  [[ -z $edit ]] || sed -i "$edit" "$copy/cluster.yaml"
  [[ -z $patch ]] ||
    sed -i "s#^  patches:\$#&\n  - target: {$target}\n    patch: |\n      $patch#" \
      "$copy/cluster.yaml"
  ! cmp -s "$dir/cluster.yaml" "$copy/cluster.yaml" || fail "the mistake is not in cluster.yaml"
  if "$tmp/kiln" validate "$copy/cluster.yaml" >"$tmp/attempt" 2>&1 &&
    "$tmp/kiln" render --config "$copy/cluster.yaml" --out "$copy/nodes" >"$tmp/attempt" 2>&1; then
    echo "accepted"
  else
    grep -v '^kiln: made' "$tmp/attempt" | head -n 1 | sed "s#$copy/##g"
  fi
}

# note_findings MACHINE notes all that the machine says, and fails unless the mistake is in it.
note_findings() {
  local said signs
  said=$(status_of "$1" | sed 's/{"code":/\n&/g' |
    sed -n 's/^{"code":"\([^"]*\)".*"evidence":"\([^"]*\)".*/\1: \2/p') || said=''
  if [[ -n $said ]]; then
    note found fault "$(cut -d : -f 1 <<<"$said" | paste -s -d ' ')"
    note found evidence "$(head -n 1 <<<"$said" | cut -d ' ' -f 2-)"
  fi
  keep_record "$1" "$dir/net/$1" || true
  signs=$("$tmp/net" "$exceptions" "$dir/net/$1" 2>&1) || {
    # The fault itself is a sign, and is not told twice.
    signs=$(sed '$d' <<<"$signs" | cut -d : -f 3 | grep -v 'fault of the hook' | sort -u |
      sed 's/^ //') || true
    [[ -z $signs ]] || note found net "$(paste -s -d , <<<"$signs")"
  }
  if ! nodes_are_ready >"$tmp/attempt" 2>&1; then
    note found ready "a node is not Ready"
  elif ! hooks_are_done >"$tmp/attempt" 2>&1; then
    note found ready "the hook is not done"
  fi
  printf '%s\n' "$said" "$signs" >"$tmp/attempt"
  grep -q -e "$finds" "$tmp/attempt" || fail "the machine does not say what the mistake is: $finds"
}
