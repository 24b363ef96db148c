#!/usr/bin/env bash
# Runs docs/examples/laptop/up.sh and down.sh as they stand: two machines in QEMU from a cloud image
# with the packages of Debian's own, which fetch programs and container images from a mirror here
# (image-laptop.sh, mirror/main.go).
#
#   laptop.sh [SCENARIO...]
#
# SCENARIO is one of these; without one, all run:
#
#   refuse   without kubectl, or with a folder that exists, up.sh says so and makes nothing; down.sh
#            removes no folder of others
#   up       both nodes are Ready, pods reach each other, and down.sh leaves nothing
#   pxe      the same, where the machines boot over the network
#
# KILN_ACCEL (tcg) is QEMU's accelerator; kvm is for those who want it quicker.
set -euo pipefail
export MACHINES=qemu KILN_ACCEL=${KILN_ACCEL:-tcg}
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/probes.sh"

every=(refuse up pxe)
words "$@"

example=$here/../../docs/examples/laptop
ssh=$(command -v ssh)         # ssh_by_vm puts another one before it in PATH
served=10.0.2.2:$((net + 90)) # this computer, as the machines see it
export KILN_PORT=$((net + 91)) KILN_SSH_KEY=$cache/id.pub KILN_IMAGE=$cache/laptop/debian.qcow2 \
  KILN_LOCK=$cache/laptop/cluster.lock.yaml KILN_MIRROR=http://$served KILN_REGISTRY=http://$served

# What up.sh finds in PATH: kiln and kubectl of these sources, not the computer's own.
own_programs() {
  CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./mirror
  mkdir "$tmp/bin"
  ln -s "$tmp/kiln" "$cache/kubectl" "$tmp/bin/"
}
# vm is what the checks of other machines ask for. The machines of up.sh have a user, and ports.
vm() {
  case $1 in
  ssh) log_in "${@:2}" ;;
  off) [[ ! -f $KILN_LAPTOP/made-by-up.sh ]] || "$example/down.sh" ;;
  *) die "vm $1: these machines are up.sh's" ;;
  esac
}
log_in() { # log_in MACHINE COMMAND...
  local to=$((KILN_PORT + 1))
  [[ $1 == cp-1 ]] || to=$((KILN_PORT + 2))
  "$ssh" -q -i "$cache/id" -p "$to" -o ConnectTimeout=10 -o StrictHostKeyChecking=no \
    -o UserKnownHostsFile=/dev/null debian@127.0.0.1 "sudo sh -c $(printf %q "${*:2}")"
}
ssh_by_vm() {
  {
    # shellcheck disable=SC2016 # these are the variables of that program
    printf '#!/bin/bash\nKILN_PORT=%s cache=%q ssh=%q\n' "$KILN_PORT" "$cache" "$ssh"
    declare -f log_in
    # shellcheck disable=SC2016
    printf 'log_in "$3" "$4"\n'
  } >"$tmp/bin/ssh"
  chmod 755 "$tmp/bin/ssh"
}
kubectl() {
  command kubectl --kubeconfig "$KILN_LAPTOP/kubeconfig" --cache-dir "$tmp/kube" \
    --request-timeout 30s "$@"
}

"$here/image-laptop.sh"
KILN_LAPTOP='' # there are no machines yet
begin "${arguments[@]}"
export PATH=$tmp/bin:$PATH KILN_LAPTOP=$tmp/laptop
machines=(cp-1 worker-1) control_planes=(cp-1)

scenario_refuse() {
  local program
  mkdir -p "$dir/bin" "$dir/mine"
  for program in sh dirname date uname; do ln -s "$(command -v "$program")" "$dir/bin/"; done
  ln -s "$tmp/kiln" "$dir/bin/"
  within 1 "without kubectl nothing is started" refuses 'no kubectl here' \
    env PATH="$dir/bin" "$example/up.sh"
  within 1 "nothing was made" test ! -e "$KILN_LAPTOP"
  local -x KILN_LAPTOP=$dir/mine
  within 1 "a folder that exists is refused" refuses 'is there already' "$example/up.sh"
  within 1 "a folder of others is not removed" refuses 'no folder of up.sh' "$example/down.sh"
  within 1 "it is still there" test -d "$KILN_LAPTOP"
}
refuses() { # refuses MESSAGE COMMAND...
  ! "${@:2}" >"$tmp/refused" 2>&1 && grep "$1" "$tmp/refused"
}

scenario_pxe() { KILN_PXE=yes scenario_up; }
scenario_up() {
  local machine
  mkdir "$dir"
  vms=$tmp/vms
  for machine in "${machines[@]}"; do
    mkdir -p "$vms/$machine"
    ln -sf "$KILN_LAPTOP/$machine.log" "$vms/$machine/console.log"
  done
  power_on=$SECONDS
  timeout 3600 "$example/up.sh" | tee "$tmp/printed" || fail "up.sh ended with an error"
  record "up.sh has ended"
  within 1 "it shows two Ready nodes" grep -c ' Ready ' "$tmp/printed"
  ln -sfn "$KILN_LAPTOP/nodes" "$dir/nodes" # for the checks of other clusters
  check_cluster
  "$example/down.sh"
  within 1 "the folder is gone" test ! -e "$KILN_LAPTOP"
  within 1 "no machine is left" no_process_has "$KILN_LAPTOP/"
  within 1 "the image is still there" test -f "$KILN_IMAGE"
}
# check_cluster: it is as every good cluster here. Its machines know no registry kiln.test.
check_cluster() {
  within "$step_limit" "CoreDNS Available" coredns_is_available
  {
    probe_pod probe-client "${machines[0]}"
    probe_pod probe-server "${machines[-1]}"
    probe_service
  } | sed 's|kiln\.test/|registry.k8s.io/|' >"$dir/probe.yaml"
  within "$step_limit" "probe pods created" kubectl apply --server-side -f "$dir/probe.yaml"
  check_probes ""
  within "$step_limit" "hook done on every machine" hooks_are_done
  check_verify
  check_net
}
no_process_has() { ! pgrep -af "qemu-system.*$1"; }

"$tmp/mirror" -listen "127.0.0.1:${served#*:}" -dir "$cache/laptop/mirror" \
  >"$tmp/mirror.log" 2>&1 &
mirror=$!
trap 'kill "$mirror" 2>/dev/null || true; finish' EXIT
each scenario "${scenarios[@]}"
