#!/usr/bin/env bash
# Boots three control planes and three workers whose CAs have their keys elsewhere: OpenSSL signs
# what kiln certs csr asks for. Then it signs everything again, and one control plane and one worker
# are replaced with an empty disk: with later certificates, they join the others, which have the
# earlier ones. The cluster itself can sign nothing.
#
#   external.sh [--keep]
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

command -v openssl >/dev/null || skip "needs openssl"
begin_case external "$@"
form_limit=240 step_limit=120 pause=1
roots=(ca etcd-ca front-proxy-ca)

# authorities makes the CAs, below $dir/company. kiln sees their certificates alone.
authorities() {
  local root
  mkdir "$dir/company"
  for root in "${roots[@]}"; do
    openssl req -x509 -newkey rsa:3072 -nodes -keyout "$dir/company/$root.key" \
      -out "$dir/$root.crt" -days 3650 -subj "/O=Example/CN=$root" \
      -addext keyUsage=critical,keyCertSign,cRLSign 2>"$tmp/attempt" || fail "a CA is made"
  done
}

# sign DAYS has all requests signed, and gives kiln the certificates.
sign() {
  local root request days
  rm -rf "$dir/signed"
  mkdir "$dir/signed"
  for root in "${roots[@]}"; do
    for request in "$dir/requests/$root"/*.csr; do
      days=$1
      [[ $request != *.install.csr ]] || days=7
      openssl x509 -req -in "$request" -CA "$dir/$root.crt" -CAkey "$dir/company/$root.key" \
        -days "$days" -copy_extensions copy \
        -out "$dir/signed/$(basename "$request" .csr).crt" 2>"$tmp/attempt" || fail "signed"
    done
  done
  kiln certs add --config cluster.yaml signed
}

adapt_case() {
  echo 'spec: {certificates: {signing: offline}}' >"$dir/offline.yaml"
  lay_over "$dir/cluster.yaml" "$dir/offline.yaml"
  authorities
  kiln secrets import cluster.yaml --new-cluster --external-ca ca,etcd-ca,front-proxy-ca \
    --ca ca.crt --etcd-ca etcd-ca.crt --front-proxy-ca front-proxy-ca.crt
  kiln certs csr cluster.yaml --out requests
  sign 60
}

# replace MACHINE: it has an empty disk and its new document.
replace() {
  local now
  avoid "$1"
  [[ $1 != cp-* ]] || remember_member "$1"
  forget_boots "$1"
  vm kill "$1"
  power_on=$SECONDS
  now=$(date -u +%FT%TZ)
  power "$1"
  within "$form_limit" "hook done on $1" is_done "$1"
  within "$step_limit" "heartbeats of $1 go on" heartbeat_after "$1" "$now"
  within "$step_limit" "all nodes Ready" nodes_are_ready
}

lives_longer() { # lives_longer MACHINE OTHER: the certificate of its kubelet
  local first second
  first=$(kubelet_ends "$1") && second=$(kubelet_ends "$2") || return
  ((first > second))
}
signs_nothing() { # no key of a CA is on a control plane
  vm ssh "$1" '! ls /etc/kubernetes/pki/ca.key /etc/kubernetes/pki/etcd/ca.key 2>/dev/null &&
    ! grep -r "cluster-signing.*-file=." /etc/kubernetes/manifests'
}

render_case fast-ha
operator_files
start_all "${machines[@]}"
all_up
within "$step_limit" "three votes" all_vote
within "$step_limit" "CoreDNS Available" coredns_is_available
within "$step_limit" "logs of a pod" kubectl -n kube-system logs --tail 1 kube-scheduler-cp-2
within "$step_limit" "cp-1 signs nothing" signs_nothing cp-1
check_net

kiln certs csr cluster.yaml --out requests --within 100d
sign 365
kiln render --config cluster.yaml --out nodes
operator_files
for machine in cp-2 worker-1; do
  replace "$machine"
done
within "$step_limit" "three votes" all_vote
within "$step_limit" "cp-2 has the later certificate" lives_longer cp-2 cp-1
within "$step_limit" "worker-1 has the later certificate" lives_longer worker-1 worker-2
within "$step_limit" "logs of a pod on the new machine" \
  kubectl -n kube-system logs --tail 1 kube-scheduler-cp-2
check_net
