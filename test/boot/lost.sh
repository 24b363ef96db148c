#!/usr/bin/env bash
# Boots three control planes and a worker, and loses the bundle. A new bundle is made of what a
# control plane has, as docs/secrets.md says, and the cluster comes back from a snapshot of etcd.
# The worker keeps its disk and its document, and its pods run on. Then a worker that never had a
# document of the old bundle joins, and the first one is replaced.
#
#   lost.sh [--keep]
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

begin_case lost "$@"
form_limit=240 step_limit=120 pause=1

# pods_of MACHINE prints the pods of a machine, and since when their containers run.
pods_of() {
  local each='{.metadata.uid} {.status.containerStatuses[*].state.running.startedAt}{"\n"}'
  kubectl get pods -A --field-selector "spec.nodeName=$1" \
    -o jsonpath="{range .items[*]}$each{end}" | sort | grep .
}
same_pods() { # same_pods MACHINE
  pods_of "$1" >"$tmp/pods.now" && diff "$tmp/pods" "$tmp/pods.now"
}

render_case fast-ha
machines=("${control_planes[@]}" worker-1)
start_all "${machines[@]}"
all_up
within "$step_limit" "three votes" all_vote
within "$step_limit" "CoreDNS Available" coredns_is_available
within "$step_limit" "a Secret is written" \
  kubectl create secret generic before --from-literal=word=kept
check_net
within "$step_limit" "the pods of worker-1 run" pods_of worker-1
cp "$tmp/attempt" "$tmp/pods"
old_uuid=$(sed -n 's/^cluster: //p' "$dir"/*.secrets.yaml)
[[ -n $old_uuid ]] || fail "the bundle has no UUID"

# What docs/secrets.md says, word for word where it is a command.
rm "$dir"/*.secrets.yaml
within "$step_limit" "a snapshot" kubectl -n kube-system exec etcd-cp-1 -- etcdctl \
  --cacert /etc/etcd/pki/ca.crt --cert /etc/etcd/pki/server.crt --key /etc/etcd/pki/server.key \
  snapshot save /var/lib/etcd/lost.db
vm ssh cp-1 cat /var/lib/etcd/lost.db >"$tmp/snapshot"
mkdir "$dir/kubernetes"
vm ssh cp-1 tar -C /etc/kubernetes -cf - pki/ca.crt pki/ca.key pki/sa.key pki/sa.pub \
  apiserver/encryption.yaml | tar -C "$dir/kubernetes" -xf -
forget_boots "${control_planes[@]}"
mv "$dir/nodes" "$tmp/old-nodes"
kiln secrets import cluster.yaml --new-cluster --ca kubernetes/pki/ca.crt \
  --ca-key kubernetes/pki/ca.key --service-account-key kubernetes/pki/sa.key \
  --service-account-public kubernetes/pki/sa.pub \
  --encryption-config kubernetes/apiserver/encryption.yaml
rm -r "$dir/kubernetes"
! grep -q "$old_uuid" "$dir"/*.secrets.yaml || fail "the new bundle is that of the lost one"
kiln render --config cluster.yaml --out nodes --restore cp-1:/var/backups/etcd/lost.db

for machine in "${control_planes[@]}"; do vm kill "$machine"; done
start_all "${control_planes[@]}"
within "$form_limit" "cp-1 waits for the snapshot" waits_for cp-1 "lost.db: missing"
bring "$tmp/snapshot" cp-1 /var/backups/etcd/lost.db
within "$form_limit" "hook done on every machine" hooks_are_done
within "$form_limit" "all nodes Ready" nodes_are_ready
within "$step_limit" "three votes" all_vote
within "$step_limit" "the Secret can be read" secret_says before kept
within "$step_limit" "heartbeats of worker-1 go on" heartbeat_after worker-1 "$(date -u +%FT%TZ)"
within "$step_limit" "the pods of worker-1 ran on" same_pods worker-1
within "$step_limit" "CoreDNS Available" coredns_is_available
within "$step_limit" "logs of a pod" kubectl -n kube-system logs --tail 1 kube-scheduler-cp-2
check_net "${control_planes[@]}"

kiln render --config cluster.yaml --out nodes
machines+=(worker-2)
start_all worker-2
within "$form_limit" "hook done on a new worker" is_done worker-2
forget_boots worker-1
vm kill worker-1
power worker-1
within "$form_limit" "hook done on the replaced worker" is_done worker-1
within "$form_limit" "all nodes Ready" nodes_are_ready
check_net worker-1 worker-2
