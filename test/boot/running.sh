#!/usr/bin/env bash
# Boots three control planes and three workers and asks the running cluster: kiln status waits for
# it, the Nodes say which documents run, and kiln plan --kubeconfig follows a change to its end, by
# its own steps: a control plane at a time, then a worker. In between a worker is away, a Node is
# deleted, and a machine gets a document that nobody named.
#
#   running.sh [--keep]
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

begin_case running "$@"
form_limit=240 step_limit=120 pause=1

status() { kiln status "$@" --kubeconfig "$tmp/admin.conf"; }
plan() { kiln plan "$@" --kubeconfig "$tmp/admin.conf"; }

# shows plan|status PATTERN...: whether kiln prints these lines.
shows() {
  local verb=$1 pattern
  shift
  case $verb in
  status) status new || [[ $? = 3 ]] || return ;;
  *) plan "${states[@]}" || return ;;
  esac
  for pattern in "$@"; do
    grep -Eq -- "$pattern" "$tmp/attempt" || return
  done
}

# replace MACHINE: an empty disk and the new document, as the plan says.
replace() {
  avoid "$1"
  operator
  forget_boots "$1"
  kubectl drain "$1" --ignore-daemonsets --delete-emptydir-data --timeout=60s \
    >"$tmp/attempt" 2>&1 || fail "$1 is drained"
  check_net "$1"
  [[ $1 != cp-* ]] || remember_member "$1"
  vm kill "$1"
  power "$1"
}

render_case fast-ha
kiln render --config cluster.yaml --out nodes --review old || fail "the twin"
start_all "${machines[@]}"
operator

# The operator waits from the beginning, when no API server answers.
status old --wait --timeout "${form_limit}s" || fail "kiln status --wait"
record "kiln status --wait ends with 0"
says '^etcd: 3 of 3 members vote$'
says '^cp-2 +control-plane +Ready +v[0-9.]+ +wanted +done done$'
says '^worker-3 +worker +Ready +v[0-9.]+ +wanted +done done$'
within "$step_limit" "hook done on every machine" hooks_are_done

# Nothing differs: there is nothing to do.
plan old old || fail "a plan without a change"
says '^  wanted: 6 machines: cp-1 … cp-3, worker-1 … worker-3$'

# A change of every machine.
printf 'spec: {machines: {units: [{name: boot-test.mount, masked: true}]}}\n' >"$dir/change.yaml"
cp "$dir/cluster.yaml" "$dir/before.yaml"
lay_over "$dir/cluster.yaml" "$dir/change.yaml"
kiln render --config cluster.yaml --out nodes --review new || fail "the change is rendered"
operator_files
states=(old new)
plan old new || fail "the plan"
says '^  older: 6 machines: '
says '^1\. replace cp-1 … cp-3, 1 at a time$'

# The first control plane: the plan waits for it, and then goes on.
replace cp-1
# It is coming for some seconds only, which a busy computer may miss.
within "$step_limit" "cp-1 runs its new document" shows plan '^  (coming|wanted): cp-1$'
if grep -q '^  coming' "$tmp/attempt"; then says '^1\. wait for cp-1$'; fi
within "$form_limit" "cp-1 is as wanted" shows plan '^  wanted: cp-1$' '^1\. replace cp-2, cp-3'
says 'member list has NAME'
says '^   kubectl uncordon cp-1'
kubectl uncordon cp-1 >"$tmp/attempt" 2>&1 || fail "cp-1 takes pods"
within "$step_limit" "three votes" all_vote

# Somebody deletes a Node; its machine starts its hook again and says the same.
kubectl delete node worker-2 >"$tmp/attempt" 2>&1 || fail "a Node is deleted"
within "$step_limit" "worker-2 has no Node" shows plan '^  absent: worker-2$'
vm ssh worker-2 systemctl restart kubelet.service || fail "its kubelet starts again"
within "$step_limit" "worker-2 does not say" shows plan '^  unsaid: worker-2$'
vm ssh worker-2 systemctl restart kiln.service || fail "its hook starts again"
within "$step_limit" "worker-2 says what it runs" shows plan '^  older: 5 machines: .*worker-1 … '

# A worker gets a document that no state has.
cp -r "$dir/nodes" "$dir/wanted"
printf 'spec: {machines: {units: [{name: boot-test-other.mount, masked: true}]}}\n' >"$dir/change.yaml"
cp "$dir/cluster.yaml" "$dir/now.yaml"
lay_over "$dir/cluster.yaml" "$dir/change.yaml"
kiln render --config cluster.yaml --out nodes --review other || fail "another change"
replace worker-3
within "$form_limit" "worker-3 runs another document" shows plan '^  neither: worker-3$' \
  '^[0-9]\. replace worker-3, worker-1, worker-2'
states=(other old new)
shows plan '^  older: ' || fail "an earlier state explains it"
! grep -q neither "$tmp/attempt" || fail "an earlier state explains it"
states=(old new)
cp "$dir/now.yaml" "$dir/cluster.yaml"
rm -rf "$dir/nodes" && mv "$dir/wanted" "$dir/nodes"

# The rest, as the plan says.
for machine in cp-2 cp-3 worker-3 worker-1 worker-2; do
  shows plan "^[0-9]\. replace $machine" || fail "the plan goes on with $machine"
  replace "$machine"
  within "$form_limit" "$machine is done" \
    shows status "^$machine +[a-z-]+ +Ready, cordoned +v[^ ]+ +wanted +done done\$"
  shows plan "^   kubectl uncordon (.* )?$machine( |\$)" || fail "$machine still takes no pods"
  kubectl uncordon "$machine" >"$tmp/attempt" 2>&1 || fail "$machine takes pods"
  within "$step_limit" "three votes" all_vote
done
within "$step_limit" "nothing is left" shows plan '^  wanted: 6 machines: ' '^  nothing: 6 machines'
! grep -q '^[0-9]\. replace' "$tmp/attempt" || fail "nothing is left"
status new --wait --timeout 120s || fail "kiln status at the end"
record "the change is rolled out"
check_net
