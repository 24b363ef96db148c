#!/usr/bin/env bash
# Runs a command in namespaces of its own, in which vm.sh can start machines that are containers
# (MACHINES=container). Processes, mounts, bridge and addresses of the machines exist in there only,
# and all of it ends with the command, with Ctrl-C, and with the death of this process.
#
#   alone.sh COMMAND...
#   alone.sh bash              look around: vm.sh start, list, ssh, kill, ...
#
# In there this computer is 10.10.0.1 on the machines' segment, and there is no other network. A set
# of machines (KILN_BOOT_NET) has one run at a time: another waits ten minutes and says for whom.
# The tree that machines boot from stays as it is until the end. KILN_BOOT_TMP is a folder of the
# caller that goes away with the machines.
#
# Exits with the command's code, with 77 if this computer cannot have such machines.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$here/container.sh"

# inside COMMAND...: the rest, in the new namespaces.
inside() {
  mkdir -p /run/netns
  mount -t tmpfs tmpfs /run/netns # ip's names for namespaces would stay
  ip link set lo up
  ip link add "$group" type bridge
  ip address add 10.10.0.1/24 dev "$group"
  ip link set "$group" up
  KILN_BOOT_ALONE=yes "$@"
}

if [[ ${1:-} == --inside ]]; then
  shift
  inside "$@"
  exit
fi
(($#)) || die "which command? See the head of this script"

child=''
clean() {
  trap - EXIT
  rm -rf "${KILN_BOOT_TMP:-/nonexistent}"
  [[ -n $child ]] || return 0
  kill -KILL "$child" 2>/dev/null || true
  wait "$child" 2>/dev/null || true
  for _ in {1..100}; do
    thaw
    remove_cgroups
    compgen -G "/sys/fs/cgroup/*/$group" >/dev/null || break
    sleep 0.1
  done
  ! compgen -G "/sys/fs/cgroup/*/$group" >&2 || say "these cgroups are left: processes are in them"
  rm -rf "$vms"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

[[ $(id -u) == 0 ]] || skip "needs root"
[[ ! -e /sys/fs/cgroup/cgroup.controllers ]] ||
  skip "this computer has cgroup v2 alone; machines that are containers need the hierarchies of v1," \
    "emulated ones (MACHINES=qemu) do not"
for h in $hierarchies; do
  mountpoint -q "/sys/fs/cgroup/$h" ||
    skip "needs the hierarchy $h of cgroup v1, writable, at /sys/fs/cgroup/$h"
done
apart=(unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private)
"${apart[@]}" true 2>/dev/null || skip "cannot make namespaces: ${apart[*]}"
for program in ip socat nsenter setpriv; do
  command -v "$program" >/dev/null || skip "needs $program"
done

mkdir -p "$vms"
exec {lock}>>"$vms.lock"
if ! flock --nonblock "$lock"; then
  say "the machines $net are in use by $(cat "$vms.lock"): waiting; KILN_BOOT_NET names others"
  flock --timeout 600 "$lock" || die "the machines $net are still in use by $(cat "$vms.lock")"
fi
printf 'process %s since %s: %s\n' $$ "$(date +%T)" "$*" >"$vms.lock"

mkdir -p "${machine_tree%/*}"
hold_tree "$machine_tree"

# Each machine's systemd, containerd and kubelet take some. It stays until the computer boots again.
instances=/proc/sys/fs/inotify/max_user_instances
(($(cat $instances) >= 4096)) || echo 4096 >$instances

# The machines die with the first process in the namespaces, this one with unshare, and unshare with
# this script, even if that is killed.
remove_cgroups # of a run that was killed
rm -rf "$vms"
setpriv --pdeathsig KILL "${apart[@]}" "$0" --inside "$@" <&0 {lock}>&- {tree_lock}>&- &
child=$!
wait "$child"
