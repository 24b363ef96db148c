#!/usr/bin/env bash
# Boots machines that are containers of this computer (alone.sh), in seconds, and checks that they
# become a cluster, and that a bad document is found.
#
#   fast.sh [--cached] [--logs] [--seed NUMBER] [SCENARIO...]
#
# SCENARIO is one of the functions scenario_... below. Without one, all run, in this order:
#
#   cloud-init   a control plane and a worker
#   ignition     the same from Ignition documents
#   pods         the same, and pods on both machines reach each other, Services and names
#   ha           three control planes and a worker, in a random order with random delays; then a
#                control plane with an empty disk and the same document
#   workloads    kube-proxy gets an image that does not exist, and kiln status says so
#   damaged      one byte of a document flipped: the machine says so, and the boot net has it
#   broken       a document that is right by every rule, and whose machine has a unit that fails:
#                the boot net has it
#
# Each boot ends with the boot net (net/main.go): what console and journal must not say. cloud-init
# also holds the audit log to what was applied (audit/main.go), and the machines to what the CIS
# evaluator says of their documents (cis.sh). kiln verify finds nothing on a machine before somebody
# tampers with it, and then everything. With --logs it is held to the logs of all components
# too, whose harmless lines differ between computers. NUMBER repeats the order and the delays of a
# run, which prints it. With --cached a computer without the image skips the test: to build it takes
# fifteen minutes.
#
# Exits with 0 if all went well, 1 if something did not, 77 if this computer cannot run the test.
# shellcheck disable=SC2317 # scenarios and checks are called by their names
set -euo pipefail
export MACHINES=container
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=cluster.sh
source "$here/cluster.sh"
# shellcheck source=etcd.sh
source "$here/etcd.sh"
# shellcheck source=probes.sh
source "$here/probes.sh"
# shellcheck source=begin.sh
source "$here/begin.sh"
# shellcheck source=cis.sh
source "$here/cis.sh"
# shellcheck source=as-operator.sh
source "$here/as-operator.sh"

every=(cloud-init ignition pods ha workloads damaged broken)
seed=$RANDOM scenarios=() cached='' hold_logs='' arguments=("$@")
while (($#)); do
  case $1 in
  --cached) cached=yes ;;
  --logs) hold_logs=yes ;;
  --seed)
    seed=${2:-}
    [[ $seed =~ ^[0-9]+$ ]] || die "--seed needs a number"
    shift
    ;;
  -h | --help) usage "$1" ;;
  *) choose "$1" ;;
  esac
  shift
done
((${#scenarios[@]})) || scenarios=("${every[@]}")

[[ -z $cached || -r $cache/node.img ]] ||
  skip "there is no image in $cache; make boot-fast builds it"
begin "${arguments[@]}"
form_limit=180 step_limit=90 # a slow computer; what is measured is a fourth of it
pause=0.5 asks=2

# boots_well: what each good boot is held to. The negative scenarios hold bad ones to it.
boots_well() {
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "install credential gone" install_credential_is_gone
  check_verify
  check_net
}

# fails WHAT COMMAND...: the command must end the case. What it shows goes to a file, and its lines
# do not go into the summary.
fails() {
  local what=$1
  shift
  cp "$tmp/summary" "$dir/summary"
  if ("$@") >"$dir/failure" 2>&1; then fail "$what: it passed"; fi
  mv "$dir/summary" "$tmp/summary"
  record "$what, and not found: $(sed -n "s/^${0##*/}: FAILED: $case: //p" "$dir/failure")"
}

# finds PATTERN: it was the boot net that ended the case, with a line like this.
finds() {
  cp "$dir/failure" "$tmp/attempt"
  if ! grep -q 'FAILED: .*the boot net has findings' "$tmp/attempt" ||
    ! grep -q -e "^[a-z0-9-]*: [a-z]*: $1" "$tmp/attempt"; then
    fail "it failed for another reason"
  fi
}

power_on_all() { # in the order of $machines
  local machine
  power_on=$SECONDS
  for machine in "$@"; do power "$machine"; done
}

# with_surroundings gives the machines of a scenario what clusters/surroundings.yaml has. proof.sh and
# kubeadm.sh measure machines without it.
with_surroundings() {
  adapt_case() {
    cp "$here/../../testdata/clusters/systems/files/company.crt" "$dir/"
    lay_over "$dir/cluster.yaml" "$here/clusters/surroundings.yaml"
  }
}
knows_its_surroundings() {
  vm ssh "$1" 'readlink /etc/localtime | grep -q /Europe/Berlin$' &&
    vm ssh "$1" 'getent hosts registry.example.com | grep -q ^192.0.2.5' &&
    vm ssh "$1" "getent hosts '$1' | grep -q ^10.10.0."
}
# update-ca-certificates has made the link by which programs find the CA. The documents of ignition
# have the CA where Flatcar's update-ca-certificates looks, and Debian's does not.
trusts_the_company() {
  vm ssh "$1" "find -L /etc/ssl/certs -name '*.0' -samefile /etc/ssl/certs/kiln-2.pem | grep -q ."
}

scenario_cloud-init() {
  with_surroundings
  render_case fast
  power_on_all worker-1 cp-1 # the order must not matter
  boots_well
  within 1 "the worker knows its surroundings" knows_its_surroundings worker-1
  within 1 "the worker trusts the company's CA" trusts_the_company worker-1
  within "$step_limit" "CoreDNS Available" coredns_is_available
  check_audit cp-1
  check_cis
  [[ -z $hold_logs ]] || logs=yes check_net
  check_tampered worker-1
  check_tampered cp-1
}

scenario_ignition() {
  with_surroundings
  render_case ignition
  power_on_all worker-1 cp-1
  boots_well
  within 1 "the control plane knows its surroundings" knows_its_surroundings cp-1
}

scenario_pods() {
  render_case fast
  power_on_all worker-1 cp-1
  boots_well
  within "$step_limit" "CoreDNS Available" coredns_is_available
  make_probes
  check_probes ""
}

scenario_ha() {
  local order machine lost
  render_case fast-ha
  machines=("${control_planes[@]}" worker-1)
  RANDOM=$seed
  mapfile -t order < <(
    for machine in "${machines[@]}"; do echo "$RANDOM $machine"; done | sort -n | cut -d ' ' -f 2
  )
  power_on=$SECONDS
  for machine in "${order[@]}"; do
    power "$machine"
    record "$machine has power"
    sleep $((RANDOM % 4))
  done
  boots_well
  within "$step_limit" "three votes in etcd" all_vote

  lost=${control_planes[1 + seed % 2]} # kubectl speaks to the first
  remember_member "$lost"
  forget_boots "$lost"
  power_on=$SECONDS
  vm wipe "$lost"
  within "$form_limit" "$lost Ready with an empty disk" nodes_are_ready
  within "$step_limit" "hook done on it" is_done "$lost"
  within "$step_limit" "three votes in etcd" all_vote
  check_verify "$lost"
  check_net "$lost"
}

scenario_workloads() {
  local image
  render_case fast
  power_on_all worker-1 cp-1
  boots_well
  operator
  within "$step_limit" "kiln status: all is well" status_ends 0
  image=$(kubectl -n kube-system get daemonset kube-proxy \
    -o jsonpath='{.spec.template.spec.containers[0].image}')
  set_proxy "${image%:*}:v0.0.0"
  within "$step_limit" "kiln status: kube-proxy has no image" status_ends 3 \
    '^DaemonSet kube-system/kube-proxy +[01] of 2 +not ready +.*: (ErrImagePull|ImagePullBackOff): '
  set_proxy "$image"
  within "$step_limit" "kiln status: all is well again" status_ends 0
}
# set_proxy IMAGE: as somebody does who makes a mistake.
set_proxy() {
  kubectl -n kube-system set image daemonset/kube-proxy "kube-proxy=$1" >"$tmp/attempt" 2>&1 ||
    fail "kube-proxy gets the image $1"
}
# status_ends CODE [PATTERN]: kiln status ends with this code, and has this line.
status_ends() {
  local code=0
  kiln status --kubeconfig "$tmp/admin.conf" || code=$?
  [[ $code == "$1" ]] && grep -Eq -- "${2:-}" "$tmp/attempt"
}

scenario_damaged() {
  local document
  render_case fast
  machines=(worker-1)
  document=$dir/nodes/worker-1/user-data
  cp "$document" "$dir/whole"
  flip_byte "$document"
  [[ $(cmp -l "$dir/whole" "$document" | wc -l) == 1 ]] || fail "not one byte was flipped"
  power_on_all worker-1
  within "$step_limit" "the fault is in status.json" says_damaged
  fails "a good boot is expected" check_net
  finds 'fault of the hook: .*file-damaged'
}
says_damaged() { vm ssh worker-1 cat /var/lib/kiln/status.json | grep -F '"code":"file-damaged"'; }

scenario_broken() {
  render_case fast-broken
  power_on_all cp-1
  fails "a good boot is expected" boots_well
  finds 'failed unit: .*broken\.service'
}

say "the seed is $seed"
each scenario "${scenarios[@]}"
