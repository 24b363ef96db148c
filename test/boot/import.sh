#!/usr/bin/env bash
# Makes a cluster of three control planes with kubeadm init and kubeadm join, imports the CAs and
# keys of its folder pki (kiln secrets import), and replaces the control planes by rendered ones,
# one after the other, each with an empty disk. Meanwhile a client writes and reads all the time. No
# request may fail but those to the machine that is switched off, and for each of them one write
# that was under way in its etcd: that one may time out. What the cluster had must stay: its CA, the
# UID of kube-system, tokens of service accounts, Secrets in etcd, on old and new API servers.
#
#   import.sh [--keep]
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/traces.sh"

form_limit=600 step_limit=200

own_programs() { CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./client; }

begin_case import "$@"
machines=(cp-1 cp-2 cp-3) control_planes=(cp-1 cp-2 cp-3)
declare -A old_boots=()

# Credentials of machines that live for minutes, on a network of their own.
token=abcdef.0123456789abcdef
certificate_key=$(printf '%064d' 7)

# prepare MACHINE makes its document for kubeadm: that of kubeadm.sh, for three control planes.
prepare() {
  local machine=$1 folder=$dir/kubeadm/$1 version own
  own=10.10.0.1${machine#cp-}
  version=$("$cache/kubectl" version --client -o json | sed -n 's/.*"gitVersion": "\(.*\)",$/\1/p')
  mkdir -p "$folder"
  printf 'instance-id: kubeadm-%s\nlocal-hostname: %s\n' "$machine" "$machine" >"$folder/meta-data"
  sed "s/10\.10\.0\.11/$own/" "$here/clusters/kubeadm/network-config" >"$folder/network-config"
  # shellcheck disable=SC2016 # the machine expands it
  sed -e "s/KUBERNETES/$version/; s/10\.10\.0\.11/$own/; s/10\.244\.11\./10.244.1${machine#cp-}./" \
    -e "s|kind: InitConfiguration|&\n    bootstrapTokens: [{token: $token}]\n    certificateKey: \"$certificate_key\"|" \
    -e 's|kind: ClusterConfiguration|&\n    controlPlaneEndpoint: api.boot-import.test:6443|' \
    -e 's|kubeadm init --config|kubeadm init --upload-certs --config|' \
    -e 's|^    #!/bin/sh|&\n    for n in 1 2 3; do echo "10.10.0.1$n api.boot-import.test" >>/etc/hosts; done|' \
    "$here/clusters/kubeadm/user-data" >"$folder/user-data"
  [[ $machine != cp-1 ]] || return 0
  sed -i -e 's|kubeadm init --upload-certs --config /etc/kubeadm.yaml|kubeadm join --config /etc/join.yaml|' \
    -e "s|^- path: /etc/kubeadm.yaml|- path: /etc/join.yaml\n  content: \|\n    apiVersion: kubeadm.k8s.io/v1beta4\n\
    kind: JoinConfiguration\n\
    discovery:\n\
      bootstrapToken: {token: $token, apiServerEndpoint: \"10.10.0.11:6443\", unsafeSkipCAVerification: true}\n\
    controlPlane:\n\
      localAPIEndpoint: {advertiseAddress: $own}\n\
      certificateKey: \"$certificate_key\"\n\
    nodeRegistration:\n\
      kubeletExtraArgs: [{name: node-ip, value: $own}]\n\
      ignorePreflightErrors: [all]\n&|" "$folder/user-data"
}

# ended MACHINE: kubeadm has ended there, and its status is in $status.
ended() {
  read -r status _ <<<"$(vm ssh "$1" cat /var/log/kubeadm.ended)"
  [[ -n $status ]]
}

# identity prints what tells the cluster from every other one.
identity() {
  kubectl get namespace kube-system -o jsonpath='{.metadata.uid}{"\n"}'
  kubectl -n kube-system get configmap kube-root-ca.crt -o jsonpath='{.data.ca\.crt}' | sha256sum
}

replace_it() { # replace_it MACHINE
  local machine=$1
  avoid "$machine"
  within "$step_limit" "another API server is ready" kubectl get --raw /readyz
  forget_boots "$machine"
  # Before the first one only kubeadm's members could be asked, and etcd.sh does not know where they
  # listen.
  [[ $machine == cp-1 ]] || remember_member "$machine"
  url_of "$machine" >"$dir/away"
  sleep 1 # requests that are under way
  power_on=$SECONDS
  vm kill "$machine"
  power "$machine"
  within "$form_limit" "$machine Ready with its document" nodes_are_ready
  within "$form_limit" "hook done on $machine" is_done "$machine"
  prefer "$machine"
  within "$step_limit" "three votes" all_vote
  within "$step_limit" "$machine's API server is ready" kubectl get --raw /readyz
  : >"$dir/away"
  check_net "$machine"
}

# By kubeadm.
mkdir -p "$dir/nodes"
power_on=$SECONDS
for machine in "${machines[@]}"; do
  prepare "$machine"
  power "$machine" "$dir/kubeadm/$machine"
  within "$form_limit" "kubeadm has ended on $machine" ended "$machine"
  ((status == 0)) || {
    vm ssh "$machine" tail -n 40 /var/log/kubeadm.log >"$tmp/attempt" || true
    fail "kubeadm has failed on $machine"
  }
done
vm ssh cp-1 cat /etc/kubernetes/admin.conf >"$dir/nodes/admin.conf"
within "$form_limit" "all nodes Ready" nodes_are_ready
operator_files
leave_traces kubeadm
identity >"$dir/identity"

# The import. What kubeadm's etcd says of its members is asked of the first rendered machine.
rm -rf "$dir/nodes" && mkdir "$dir/pki"
vm ssh cp-1 tar -C /etc/kubernetes/pki -cf - . | tar -C "$dir/pki" -xf -
cp "$here/clusters/import/cluster.yaml" "$dir/"
suit_kind "$dir/cluster.yaml"
for machine in "${machines[@]}"; do
  sed -n '/^    {"cniVersion"/,/^      {"type": "portmap"/s/^    //p' \
    "$dir/kubeadm/$machine/user-data" >"$dir/$machine.conflist"
done
"$tmp/kiln" secrets import "$dir/cluster.yaml" --pki "$dir/pki"
"$tmp/kiln" render --config "$dir/cluster.yaml" --out "$dir/nodes" >"$tmp/attempt" 2>&1 ||
  fail "rendered"
operator_files

start_client
for machine in "${machines[@]}"; do
  replace_it "$machine"
  leave_traces "$machine"
  within "$step_limit" "every API server knows what was there" find_traces
done
identity | cmp - "$dir/identity" || fail "the cluster is another one"
record "the cluster is the same"
within "$step_limit" "three votes" all_vote
within "$step_limit" "logs of a pod" kubectl -n kube-system logs --tail 1 kube-scheduler-cp-2
end_client "${#machines[@]}"
