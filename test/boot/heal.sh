#!/usr/bin/env bash
# Boots three control planes in a random order, with random delays, and takes them away again: the disk of each in turn, with the same
# document on the new one; then the power of two at once. Whatever was written must be there afterwards, on each member of etcd.
#
#   heal.sh [--keep]
#
# Exits with 0 if all went well, 1 if something did not, 77 if this computer cannot run the test.
# shellcheck disable=SC2317 # the checks are called by their names, through within
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=cluster.sh
source "$here/cluster.sh"

keep=''
case ${1:-} in
'') ;;
--keep) keep=yes ;;
*)
  sed -n '2,/^set/{s/^# \{0,1\}//p}' "$0"
  exit 0
  ;;
esac

# Three emulated machines share the processors of one computer.
form_limit=2400 step_limit=900
case=ha

tmp=$(mktemp -d) dir=$tmp/ha
trap '[[ -n $keep ]] || { vm off; rm -rf "$tmp"; }' EXIT
: >"$tmp/summary"
"$here/image.sh"
go build -C "$here/../.." -o "$tmp/kiln" ./cmd/kiln
vm off
render_case ha

etcdctl() { # etcdctl MACHINE ARGUMENT...
  kubectl -n kube-system exec "etcd-$1" -- etcdctl --endpoints https://127.0.0.1:2379 \
    --cacert /etc/etcd/pki/ca.crt --cert /etc/etcd/pki/server.crt --key /etc/etcd/pki/server.key "${@:2}"
}

# any_server lets kubectl speak to the first control plane that is ready.
any_server() {
  local machine
  for machine in "$@"; do
    control_planes=("$machine")
    ! kubectl get --raw /readyz || return 0
  done
  return 1
}

all_vote() {
  local members
  members=$(etcdctl "${control_planes[0]}" member list -w fields) || return
  echo "$members"
  [[ $(grep -c '"IsLearner" : false' <<<"$members") == 3 && $(grep -c '"Name" : "cp-' <<<"$members") == 3 ]]
}

# written WHAT...: each member has these ConfigMaps itself, without asking the others.
written() {
  local machine what
  for machine in "${machines[@]}"; do
    for what in "$@"; do
      etcdctl "$machine" get "/registry/configmaps/default/$what" --consistency=s --keys-only | grep -x "/registry/configmaps/default/$what" || return
    done
  done
}
write() { kubectl create configmap "$1"; }

power_on=$SECONDS
first=''
for machine in $(shuf -e "${machines[@]}"); do
  [[ -z $first ]] || sleep $((RANDOM % 60))
  first=${first:-$machine}
  vm start "$machine" "$dir/nodes/$machine" "$control_plane_memory"
  record "$machine has power"
done
within "$form_limit" "an API server is ready" any_server "${machines[@]}"
within "$form_limit" "all nodes Ready" nodes_are_ready
within "$form_limit" "hook done on every machine" hooks_are_done
within "$step_limit" "three votes" all_vote
within "$step_limit" "something is written" write first
things=(first)

for machine in "${machines[@]}"; do
  others=()
  for other in "${machines[@]}"; do [[ $other == "$machine" ]] || others+=("$other"); done
  within "$step_limit" "another API server is ready" any_server "${others[@]}"
  forget_boots "$machine"
  power_on=$SECONDS
  vm wipe "$machine"
  within "$step_limit" "something is written while $machine is away" write "without-$machine"
  things+=("without-$machine")
  within "$form_limit" "$machine Ready with an empty disk" nodes_are_ready
  within "$form_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "three votes" all_vote
  within "$step_limit" "everything that was written is on each member" written "${things[@]}"
done

forget_boots cp-1 cp-2
vm kill cp-1
vm kill cp-2
power_on=$SECONDS
vm again cp-1
vm again cp-2
within "$step_limit" "an API server is ready" any_server "${machines[@]}"
within "$form_limit" "all nodes Ready after a power cut of two" nodes_are_ready
within "$step_limit" "everything that was written is on each member" written "${things[@]}"

printf '\nSeconds since the last power-on:\n'
cat "$tmp/summary"
