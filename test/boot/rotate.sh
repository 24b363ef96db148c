#!/usr/bin/env bash
# Boots three control planes and a worker, and turns over the roots of the cluster: for each stage of
# the rotation it renders, asks kiln plan, and does what the plan says, one machine after another: it
# gets its new document and an empty disk, or is changed in place. Meanwhile a client writes
# and reads all the time. No request may fail but those to the machine that is switched off, and for
# each of them one write that was under way in its etcd: that one may time out. What a stage has
# signed or encrypted must be accepted in the next one, by every API server, and what the old roots
# had signed must be refused at the end.
#
#   rotate.sh [--keep] [ROOT...]   ROOTs (ca etcd-ca front-proxy-ca service-account encryption)
#                                  go through the stages together
#
# The machines are containers of this computer. Exits with 0 if all went well, 1 if something did
# not, 77 if this computer cannot run the test.
# shellcheck disable=SC2317 # the checks are called by their names, through within
set -euo pipefail
export MACHINES=container
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=cluster.sh
source "$here/cluster.sh"
# shellcheck source=etcd.sh
source "$here/etcd.sh"
# shellcheck source=begin.sh
source "$here/begin.sh"
# shellcheck source=traces.sh
source "$here/traces.sh"

every=(ca etcd-ca front-proxy-ca service-account encryption)
keep='' roots=() arguments=("$@")
for word in "$@"; do
  case $word in
  --keep) keep=yes ;;
  -*) usage "$word" ;;
  *)
    [[ " ${every[*]} " == *" $word "* ]] || die "there is no root $word; see $0 --help"
    roots+=("$word")
    ;;
  esac
done
((${#roots[@]})) || roots=("${every[@]}")
form_limit=600 step_limit=200

own_programs() { CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./client ./steps; }

begin "${arguments[@]}"
case=rotate dir=$tmp/rotate

render() {
  "$tmp/kiln" render --config "$dir/cluster.yaml" --out "$dir/nodes" >"$tmp/attempt" 2>&1
}

# rotate WORD...: kiln secrets rotate with the roots.
rotate() { "$tmp/kiln" secrets rotate "${roots[@]}" --config "$dir/cluster.yaml" "$@"; }

# follow does what the plan from the documents in nodes.old to those in nodes says.
follow() {
  local what which
  "$tmp/kiln" plan "$dir/nodes.old" "$dir/nodes" -o json >"$tmp/plan.json" || true
  cp "$tmp/plan.json" "$tmp/attempt"
  "$tmp/steps" <"$tmp/plan.json" >"$tmp/steps.txt" || fail "the plan has another step"
  [[ -s $tmp/steps.txt ]] || fail "the plan has no step"
  say "the plan: $(paste -s -d ';' "$tmp/steps.txt")"
  while read -r what which <&3; do "${what}_it" "$which"; done 3<"$tmp/steps.txt"
}

replace_it() { # replace_it MACHINE
  local machine=$1
  [[ " ${machines[*]} " == *" $machine "* ]] || return 0
  avoid "$machine"
  within "$step_limit" "another API server is ready" kubectl get --raw /readyz
  forget_boots "$machine"
  if [[ $machine == cp-* ]]; then
    remember_member "$machine"
    url_of "$machine" >"$dir/away"
    cuts=$((cuts + 1))
    sleep 1 # requests that are under way
  fi
  power_on=$SECONDS
  vm kill "$machine"
  power "$machine"
  within "$form_limit" "$machine Ready with its new document" nodes_are_ready
  within "$form_limit" "hook done on every machine" hooks_are_done
  if [[ $machine == cp-* ]]; then
    within "$step_limit" "three votes" all_vote
    prefer "$machine"
    within "$step_limit" "$machine's API server is ready" kubectl get --raw /readyz
    avoid "$machine"
    : >"$dir/away"
  fi
  replaced=$((replaced + 1))
}

restart_it() { # restart_it MACHINE
  [[ " ${machines[*]} " == *" $1 "* ]] || return 0
  PATH=$tmp/bin:$PATH "$tmp/kiln" apply "$dir/nodes/$1" --since "$dir/nodes.old" --ssh "$1" \
    >"$tmp/attempt" 2>&1 || fail "$1 is changed in place"
  record "$1 is changed in place"
  changed=$((changed + 1))
}

apply_it() { # apply_it FILE
  rm -rf "$dir/unpacked"
  "$tmp/kiln" unpack "$dir/nodes/cp-1/user-data" --out "$dir/unpacked" >"$tmp/attempt" 2>&1
  within "$step_limit" "applied $1" kubectl apply --server-side --force-conflicts \
    -f "$dir/unpacked/etc/kiln/objects/$1"
}

# rewrite stores each Secret once more, with the key that writes now.
rewrite() {
  kubectl get secrets -A -o json >"$tmp/secrets.json" && kubectl replace -f "$tmp/secrets.json"
  local status=$?
  rm -f "$tmp/secrets.json"
  return "$status"
}

# trust COUNT: every control plane trusts so many of each root that is rotated.
declare -A trusted=(
  ["ca"]=/etc/kubernetes/pki/ca.crt
  ["etcd-ca"]=/etc/etcd/pki/ca.crt
  ["front-proxy-ca"]=/etc/kubernetes/pki/front-proxy-ca.crt
  ["service-account"]=/etc/kubernetes/pki/sa.pub
  ["encryption"]=/etc/kubernetes/apiserver/encryption.yaml
)
trust() {
  local machine root
  for machine in cp-1 cp-2 cp-3; do
    for root in "${roots[@]}"; do
      vm ssh "$machine" grep -c -e BEGIN -e ' secret: ' "${trusted[$root]}" | grep -x "$1" || {
        echo "$machine: $root"
        return 1
      }
    done
  done
}

# refused fails the case if an API server still knows what the roots of the beginning have signed.
refused() {
  local machine
  for machine in cp-1 cp-2 cp-3; do
    [[ " ${roots[*]} " != *" service-account "* ||
      $(answer_token "$machine" "$dir/token-none") == 401 ]] ||
      fail "$machine does not refuse a token of the old key"
    [[ " ${roots[*]} " != *" ca "* ||
      $(answer "$machine" --cert "$dir/old.cert" --key "$dir/old.key") == 401 ]] ||
      fail "$machine does not refuse a certificate of the old CA"
  done
  record "what the old roots had signed is refused"
}

render_case fast-ha
machines=("${control_planes[@]}" worker-1) # the cluster has more workers, which are off
operator_files
cp "$dir/cert" "$dir/old.cert"
cp "$dir/key" "$dir/old.key"
power_on=$SECONDS replaced=0 changed=0 cuts=0
ssh_by_vm
for machine in $(shuf -e "${machines[@]}"); do
  power "$machine"
done
within "$form_limit" "all nodes Ready" nodes_are_ready
within "$form_limit" "hook done on every machine" hooks_are_done
within "$step_limit" "three votes" all_vote
within "$step_limit" "something is written" write first
check_net

start_client
leave_traces none
for stage in trust issue drop; do
  rm -rf "$dir/nodes.old"
  cp -r "$dir/nodes" "$dir/nodes.old"
  if [[ $stage == trust ]]; then rotate; else rotate --next --all-replaced; fi
  render || fail "stage $stage: rendered"
  operator_files
  follow
  operator_files
  within "$step_limit" "the worker is served" worker_is_served
  case $stage in
  drop)
    within "$step_limit" "the old roots are trusted no more" trust 1
    refused
    [[ " ${roots[*]} " != *" service-account "* ]] || tokens=(issue)
    ;;
  *) within "$step_limit" "old and new roots are trusted" trust 2 ;;
  esac
  within "$step_limit" "stage $stage: what earlier stages left is known" find_traces
  if [[ $stage == issue ]]; then
    within "$step_limit" "every Secret is written with the new key" rewrite
  fi
  leave_traces "$stage"
  check_net
done
within "$step_limit" "everything that was written is on each member" are_written first
end_client "$cuts"

printf '\nSeconds since the last power-on; %s machines were replaced, %s changed in place:\n' \
  "$replaced" "$changed"
cat "$tmp/summary"
