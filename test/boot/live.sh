#!/usr/bin/env bash
# Boots a control plane and a worker, and changes them while they run, by the lines of kiln plan: a
# label, a kernel setting, a mirror of a registry, and the keys for ssh. The power is cut while the
# worker takes its newer document: it starts with one of the two, whole. In the end the worker is
# replaced, and both machines, the one that was changed and the one that is new, have the same files.
#
#   live.sh [--keep] [--cuts NUMBER]
#
# NUMBER (8) is how often the power is cut.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

command -v jq >/dev/null || skip "needs jq"
cuts=8 numbers=(cuts)
begin_case live "$@"
form_limit=180 step_limit=90 pause=0.5 asks=2

# key NAME prints a line with a public key, of which nobody has the private one.
key() {
  local bytes
  bytes=$(printf '\0\0\0\013ssh-ed25519\0\0\0 %-32s' "$1" | base64 -w 0)
  echo "ssh-ed25519 $bytes $1@example.com"
}

# change TEXT lays a piece of YAML over the configuration.
change() {
  printf '%s\n' "$1" >"$dir/change.yaml"
  lay_over "$dir/cluster.yaml" "$dir/change.yaml"
}
adapt_case() { change "spec: {machines: {sshAuthorizedKeys: ['$(key first)']}}"; }

plan() { kiln plan old new --kubeconfig "$tmp/admin.conf" "$@"; }
shows_plan() {
  local pattern
  plan || return
  for pattern in "$@"; do grep -Eq -- "$pattern" "$tmp/attempt" || return; done
}

# listed MACHINE FILE: what the script of kiln verify lists of it, and its files of keys.
listed() {
  kiln verify "nodes/$1" --script || fail "the script of kiln verify"
  vm ssh "$1" sh -s <"$tmp/attempt" >"$2"
  vm ssh "$1" 'cat /root/.ssh/authorized_keys /home/*/.ssh/authorized_keys' >"$2.keys"
}

# starts MACHINE: when its kubelet and its container runtime were started.
starts() { vm ssh "$1" systemctl show -p ActiveEnterTimestampMonotonic kubelet containerd; }

ssh_by_vm
render_case fast
kiln render --config cluster.yaml --out nodes --review old || fail "the twin"
start_all cp-1 worker-1
operator
kiln status old --wait --timeout "${form_limit}s" --kubeconfig "$tmp/admin.conf" ||
  fail "kiln status --wait"
within "$step_limit" "hook done on every machine" hooks_are_done
vm ssh worker-1 'grep -qs first@ /home/*/.ssh/authorized_keys' || fail "nobody has the first key"
# Somebody else's key is in the same file.
# shellcheck disable=SC2016 # the machine expands it
vm ssh worker-1 'echo ssh-rsa AAAAB3NzaC1yc2E= platform >>"$(echo /home/*/.ssh/authorized_keys)"'

change "spec:
  machines:
    sshAuthorizedKeys: ['$(key second)']
    sysctls: {net.ipv4.tcp_fin_timeout: '42'}
    registries: [{host: docker.io, mirrors: ['http://10.10.0.1:5000']}]
  workers: {machines: {labels: {disk: ssd}}}"
sed -i '/first@example.com/d' "$dir/cluster.yaml" # lists are added to
cp -a "$dir/nodes" "$dir/nodes-before"
kiln render --config cluster.yaml --out nodes --review new || fail "the change is rendered"
operator
plan -o json || fail "the plan"
[[ $(jq -r '[.machines[].verdict] | unique | .[]' "$tmp/attempt") == live ]] ||
  fail "both machines are changed while they run"
jq -r '.steps[].how[]' "$tmp/attempt" >"$dir/typed"
before_cp=$(starts cp-1)

# The power is cut while the worker is at it. It starts with the older document or the newer one, and
# the same command goes on. A slow mv makes the time long in which that does something.
# shellcheck disable=SC2016 # the machine expands it
vm ssh worker-1 'printf "#!/bin/sh\nsleep 0.3\nexec /usr/bin/mv \"\$@\"\n" >/usr/local/sbin/mv &&
  chmod 755 /usr/local/sbin/mv'
apply=$(sed -n 's/  #.*//;s/^kiln apply/apply/p' "$dir/typed")
halfway=0
for ((cut = 1; cut <= cuts; cut++)); do
  read -ra words <<<"${apply//NAME/worker-1}"
  check_net worker-1
  (kiln "${words[@]}" || :) &
  tenths=$((2 + 2 * cut + RANDOM % 2))
  sleep "$((tenths / 10)).$((tenths % 10))"
  vm kill worker-1
  wait
  cut_at=whole
  [[ ! -d $vms/worker-1/var/lib/kiln/before ]] || cut_at='half changed'
  forget_boots worker-1
  vm again worker-1
  within "$step_limit" "worker-1 starts again (cut $cut)" is_done worker-1
  within "$step_limit" "all nodes Ready after cut $cut" nodes_are_ready
  runs=newer
  kiln verify nodes/worker-1 --ssh worker-1 || {
    runs=older
    kiln verify nodes-before/worker-1 --ssh worker-1 || fail "worker-1 is as none of its documents"
  }
  [[ $cut_at == whole ]] || halfway=$((halfway + 1))
  record "cut $cut: worker-1 was $cut_at, and has the files of the $runs document"
done
((halfway || ! cuts)) || fail "no cut came while worker-1 was half changed"
vm ssh worker-1 rm /usr/local/sbin/mv
before=$(starts worker-1)

# Every line of the plan, as it is typed.
while IFS= read -r line; do
  line=${line%%  #*}
  case $line in
  'kiln apply '*)
    for machine in cp-1 worker-1; do
      read -ra words <<<"${line//NAME/$machine}"
      kiln "${words[@]:1}" || fail "${words[*]}"
      says '^files written: [0-9]+$'
      says '^no differences; '
    done
    ;;
  'kubectl '*)
    read -ra words <<<"$line"
    kubectl "${words[@]:1}" >"$tmp/attempt" 2>&1 || fail "$line"
    ;;
  *) fail "nobody can type: $line" ;;
  esac
done <"$dir/typed"
record "both machines are changed"
[[ $(starts worker-1) == "$before" && $(starts cp-1) == "$before_cp" ]] ||
  fail "kubelet and container runtime go on"
for machine in cp-1 worker-1; do
  [[ $(vm ssh "$machine" sysctl -n net.ipv4.tcp_fin_timeout) == 42 ]] ||
    fail "the kernel of $machine"
  vm ssh "$machine" 'grep -q 10.10.0.1:5000 /etc/containerd/certs.d/docker.io/hosts.toml' ||
    fail "the mirror on $machine"
  vm ssh "$machine" 'grep -q second@ /home/*/.ssh/authorized_keys &&
    ! grep -q first@ /home/*/.ssh/authorized_keys /root/.ssh/authorized_keys' ||
    fail "the keys on $machine"
done
vm ssh worker-1 'grep -q platform /home/*/.ssh/authorized_keys' || fail "the platform's key stays"
[[ $(kubectl get node worker-1 -o jsonpath='{.metadata.labels.disk}') == ssd ]] || fail "the label"
within "$step_limit" "the Nodes say so" \
  shows_plan '^  wanted: cp-1, worker-1$' '^  nothing: cp-1, worker-1$'
! grep -q '^[0-9]\.' "$tmp/attempt" || fail "nothing is left"
kiln status new --wait --timeout 60s --kubeconfig "$tmp/admin.conf" || fail "kiln status at the end"
check_verify

# A machine of another document is refused.
kiln apply nodes/cp-1 --since old --ssh worker-1 && fail "the document of another machine"
says 'kiln apply: this machine runs another document'

# The same files on a machine that is new.
vm ssh worker-1 'sed -i /platform/d /home/*/.ssh/authorized_keys'
listed worker-1 "$dir/changed"
forget_boots worker-1
kubectl drain worker-1 --ignore-daemonsets --delete-emptydir-data --timeout=60s \
  >"$tmp/attempt" 2>&1 || fail "worker-1 is drained"
check_net
vm kill worker-1
power worker-1
within "$form_limit" "the new worker-1 is done" is_done worker-1
within "$step_limit" "all nodes Ready with it" nodes_are_ready
listed worker-1 "$dir/new-one"
for file in changed changed.keys; do
  diff "$dir/$file" "$dir/${file/changed/new-one}" >"$tmp/attempt" ||
    fail "the machine that was changed and the new one differ"
done
record "a new worker-1 has the same files"
check_net
