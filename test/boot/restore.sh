#!/usr/bin/env bash
# Boots a control plane, takes a snapshot of etcd as its timer does, takes its disk away, and brings
# the cluster back from the snapshot with the documents of kiln render --restore. Data from before
# the snapshot is there, data from after it is not.
#
#   restore.sh [--keep]
#
# The machine is a container of this computer. With MACHINES=qemu it is emulated, and the power cut
# at the end harms a disk. Each boot ends with the boot net.
set -euo pipefail
export MACHINES=${MACHINES:-container}
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

begin_case restore "$@"
render_case restore

is_gone() { # is_gone CONFIGMAP
  kubectl get configmap -o name | grep -vx "configmap/$1" && ! kubectl get configmap "$1"
}

start_all cp-1
within "$form_limit" "hook done" hooks_are_done
within "$step_limit" "a Secret is written" \
  kubectl create secret generic before --from-literal=word=kept
within "$step_limit" "the timer waits" \
  vm ssh cp-1 'systemctl list-timers kiln-backup.timer | grep kiln-backup'
within "$step_limit" "a snapshot" vm ssh cp-1 systemctl start kiln-backup.service
vm ssh cp-1 'journalctl -u kiln-backup -o cat --no-pager | tail -n 3; ls -l /var/backups/etcd'
# If it is asked again because the first answer was slow, the unit takes another snapshot; their
# names are in order of time.
snapshot=$(vm ssh cp-1 'ls /var/backups/etcd/*.db' | tail -n 1)
vm ssh cp-1 cat "$snapshot" >"$tmp/snapshot"
within "$step_limit" "something is written after it" kubectl create configmap after
check_net

forget_boots cp-1
"$tmp/kiln" render --config "$dir/cluster.yaml" --out "$dir/nodes" --restore "cp-1:$snapshot"
start_all cp-1
within "$form_limit" "the hook waits for the snapshot" waits_for cp-1 "$snapshot: missing"
bring "$tmp/snapshot" cp-1 "$snapshot"
within "$form_limit" "hook done" hooks_are_done
within "$form_limit" "the node is Ready, on its new disk" nodes_are_ready
within "$step_limit" "what was written is there, and can be read" secret_says before kept
within "$step_limit" "what came after the snapshot is not" is_gone after
within "$step_limit" "something can be written" kubectl create configmap again
within "$form_limit" "CoreDNS is Available" coredns_is_available
vm ssh cp-1 'journalctl -u kiln -o short-monotonic --no-pager
  tail -n 3 /var/lib/kiln/restore.log; ls -la /var/lib/etcd
  ctr -n k8s.io containers ls | grep restore || echo no container is left'
check_net

forget_boots cp-1
vm kill cp-1
power_on=$SECONDS
vm again cp-1
within "$form_limit" "Ready after a power cut" nodes_are_ready
within "$step_limit" "what was written is there" secret_says before kept
check_net
