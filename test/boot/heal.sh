#!/usr/bin/env bash
# Boots three control planes and a worker in a random order, with random delays, and then harms the
# control planes. Each in turn loses its power, and comes back with an empty disk and the same
# document, but not before the worker has reached another API server. Then two lose their power at
# once. All data that was written must be there afterwards, on each member of etcd. Each boot ends
# with the boot net.
#
#   heal.sh [--keep] [CASE]   CASE is balancer (the default) or vip: how the worker reaches them
#
# The machines are containers of this computer. With MACHINES=uml they are of User Mode Linux, where
# a power cut takes what the kernel has not written yet; four emulated ones starve on two processors
# (vm.sh says more). Even so the settings in clusters/uml.yaml save processor time: weights for the
# pods and for etcd, less garbage collection, longer periods of everything that repeats, API servers
# that wait for etcd, and later machines with a lower priority.
set -euo pipefail
export MACHINES=${MACHINES:-container}
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

every=(balancer vip)
words "$@"
case=${scenarios[0]}

# Four machines share the processors of one computer.
delay=5 later=0 # up to so many seconds between two machines, and so much less priority
if [[ $MACHINES != container ]]; then
  form_limit=2400 step_limit=900 pause=20 delay=60 later=3
fi

begin "${arguments[@]}"
dir=$tmp/$case
render_case "$case"
members=("${control_planes[@]}")

# any_server lets kubectl speak to the first control plane that is ready.
any_server() {
  local machine
  for machine in "$@"; do
    control_planes=("$machine")
    ! kubectl get --raw /readyz || return 0
  done
  return 1
}

# Machines of User Mode Linux that start at the same time slow each other down, and an API server
# that is too slow exceeds limits of its own. So each machine that gets power later gets less of this
# computer's processors, until the earlier ones are up.
power_on=$SECONDS
first='' NICE=0
export NICE
for machine in $(shuf -e "${machines[@]}"); do
  [[ -z $first ]] || sleep $((RANDOM % delay))
  first=${first:-$machine}
  power "$machine"
  record "$machine has power"
  NICE=$((NICE + later))
done
unset NICE
within "$form_limit" "an API server is ready" any_server "${members[@]}"
all_up
within "$step_limit" "three votes" all_vote
within "$step_limit" "something is written" write first
check_net
things=(first)

for machine in "${members[@]}"; do
  others=()
  for other in "${members[@]}"; do [[ $other == "$machine" ]] || others+=("$other"); done
  within "$step_limit" "another API server is ready" any_server "${others[@]}"
  remember_member "$machine"
  forget_boots "$machine"
  now=$(vm ssh worker-1 date -u +%FT%TZ)
  power_on=$SECONDS
  vm kill "$machine"
  within "$step_limit" "the worker is served while $machine is away" worker_is_served
  within "$step_limit" "the worker's kubelet has renewed its lease" heartbeat_after worker-1 "$now"
  within "$step_limit" "something is written while $machine is away" write "without-$machine"
  things+=("without-$machine")
  power_on=$SECONDS
  vm wipe "$machine"
  within "$form_limit" "$machine Ready with an empty disk" nodes_are_ready
  within "$form_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "three votes" all_vote
  within "$step_limit" "everything that was written is on each member" are_written "${things[@]}"
  check_net "$machine"
done

forget_boots cp-1 cp-2
vm kill cp-1
vm kill cp-2
power_on=$SECONDS
vm again cp-1
vm again cp-2
within "$step_limit" "an API server is ready" any_server "${members[@]}"
within "$form_limit" "all nodes Ready after a power cut of two" nodes_are_ready
within "$step_limit" "the worker is served" worker_is_served
within "$step_limit" "everything that was written is on each member" are_written "${things[@]}"
check_net
