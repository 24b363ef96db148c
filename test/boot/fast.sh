#!/usr/bin/env bash
# Boots machines that are containers of this computer (alone.sh), in seconds, and checks that they
# become a cluster, and that a bad document is found.
#
#   fast.sh [--cached] [--logs] [--room MINUTES] [--seed NUMBER] [SCENARIO...]
#
# SCENARIO is one of the functions scenario_... below. Without one, all run, in this order:
#
#   cloud-init   a control plane and a worker
#   ignition     the same from Ignition documents
#   pods         the same, and pods on both machines reach each other, Services and names
#   ha           three control planes and a worker, in a random order with random delays; then a
#                control plane with an empty disk and the same document
#   workloads    kube-proxy gets an image that does not exist, and kiln status says so
#   brought      what users bring: a static pod, a drop-in of the kubelet, a second runtime, objects
#                whose definitions come when the machine runs, a reader of metrics, a KMS, a registry
#                that wants a certificate and a login
#   gap          three control planes and a worker without images and without a registry: the archive
#                in their image has all; one that lacks an image says which, and goes on when it comes
#   damaged      one byte of a document flipped: the machine says so, and the boot net has it
#   broken       a document that is right by every rule, and whose machine has a unit that fails:
#                the boot net has it
#
# Each boot ends with the boot net (net/main.go): what console and journal must not say. cloud-init
# also holds the audit log to what was applied (audit/main.go), and the machines to what the CIS
# evaluator says of their documents (cis.sh). kiln verify finds nothing on a machine before somebody
# tampers with it, and then everything. With --logs it is held to the logs of all components
# too, whose harmless lines differ between computers. With --room the scenario gap goes on for so many
# minutes with a disk that is full enough for a kubelet to remove images: it removes those that the
# machine did not preload, within ten minutes, and no other. NUMBER repeats the order and the delays of a
# run, which prints it. With --cached a computer without the image skips the test: to build it takes
# fifteen minutes.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/probes.sh"
source "$here/cis.sh"

every=(cloud-init ignition pods ha workloads brought gap damaged broken)
seed=$RANDOM room=0 cached='' logs='' flags=(cached logs) numbers=(seed room)
words "$@"
hold_logs=$logs logs='' # check_net's

[[ -z $cached || -r $cache/node.img ]] ||
  skip "there is no image in $cache; make boot-fast builds it"
begin "${arguments[@]}"
form_limit=180 step_limit=90 # a slow computer; what is measured is a fourth of it
pause=0.5 asks=2

# boots_well: what each good boot is held to, and the bad one of the scenario broken.
boots_well() {
  all_up
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
  start_all worker-1 cp-1 # the order must not matter
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
  start_all worker-1 cp-1
  boots_well
  within 1 "the control plane knows its surroundings" knows_its_surroundings cp-1
}

scenario_pods() {
  render_case fast
  start_all worker-1 cp-1
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
  start_all worker-1 cp-1
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

scenario_brought() {
  local machine
  adapt_case() { private_registry "$dir/registry"; }
  render_case fast-brought
  start_all worker-1 cp-1
  within "$form_limit" "the control plane has its KMS plugin" copy_plugin
  within "$form_limit" "the objects wait for their definitions" waits_for_kinds
  kubectl create -f "$dir/definitions.yaml" >"$tmp/attempt" 2>&1 || fail "definitions"
  boots_well
  within "$step_limit" "both objects are where their definitions say" kubectl get oxen/big yokes/old
  within "$step_limit" "a pod in the second runtime is Available" plough_is_available
  for machine in cp-1 worker-1; do
    within "$step_limit" "the static pod of one's own on $machine" own_pod_runs "$machine"
    within 1 "the drop-in of one's own on $machine" has_niceness "$machine"
    within 1 "the mount of one's own on $machine" vm ssh "$machine" mountpoint -q /srv/own-data
  done
  within "$step_limit" "the service account reads metrics, and no other does" reads_metrics
  within "$step_limit" "a pod from the private registry is Available" private_is_available
  kubectl -n farm delete pod -l app=private --now >"$tmp/attempt" 2>&1 || fail "a pod goes"
  within "$step_limit" "and the next one" private_is_available
  within 1 "the registry has given a token at least twice" gave_tokens
  kubectl -n farm create secret generic plain --from-literal a=b >"$tmp/attempt" 2>&1 || fail "secret"
  within 1 "the KMS encrypts a Secret" is_encrypted
}
# private_registry FOLDER makes the keys of a registry and of its clients, and starts it.
private_registry() {
  local name
  mkdir -p "$1"
  "$tmp/store" "$cache/fast/tree/var/lib/containerd" "$dir/layout" "$dir/lock"
  (umask 077 && openssl rand -hex 16 >"$1/password")
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=ca \
    -keyout "$1/ca.key" -out "$1/ca.crt" 2>"$tmp/attempt"
  for name in tls client; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" \
      -CA "$1/ca.crt" -CAkey "$1/ca.key" -addext basicConstraints=critical,CA:FALSE \
      -addext subjectAltName=IP:10.10.0.1 -keyout "$1/$name.key" -out "$1/$name.crt" 2>>"$tmp/attempt" ||
      fail "openssl"
  done
  "$tmp/registry" "$dir/layout" 10.10.0.1:5000 "$1" robot >"$dir/registry.log" 2>&1 &
}
private_is_available() {
  kubectl -n farm rollout status deployment/private --timeout 1s
}
gave_tokens() { (($(grep -c 'GET /token?.* 200' "$dir/registry.log") >= 2)); }
copy_plugin() { vm ssh cp-1 'cat >/opt/part && chmod 700 /opt/part && mv /opt/part /opt/kms' <"$tmp/kms"; }
is_encrypted() { [[ $(stored /registry/secrets/farm/plain cp-1 | head -c 20) == k8s:enc:kms:v2:test: ]]; }
waits_for_kinds() {
  vm ssh cp-1 'journalctl -u kiln' | grep -q 'waiting for .*/apis/example.com/v1/Ox/big: HTTP 404; '
}
# containerd refuses a pod whose runtime it does not know.
plough_is_available() {
  kubectl -n farm wait --for condition=Available --timeout 1s deployment/plough
}
own_pod_runs() {
  [[ $(kubectl -n kube-system get pod "own-$1" -o jsonpath='{.status.phase}') == Running ]]
}
has_niceness() {
  [[ $(vm ssh "$1" "ps -o ni= -p \$(systemctl show -P MainPID kubelet)") -eq 3 ]]
}
reads_metrics() {
  local account port code
  for account in reader:200 default:403; do
    code=${account#*:} account=${account%:*}
    account=$(kubectl -n farm create token "$account") || return
    for port in 10257 10259; do
      [[ $(curl -sk -o "$tmp/metrics" -w '%{http_code}' --oauth2-bearer "$account" \
        "https://10.10.0.11:$port/metrics") == "$code" ]] || return
      [[ $code != 200 ]] || grep -q '^process_start_time_seconds ' "$tmp/metrics" || return
    done
  done
}

scenario_gap() {
  local machine archive=$tmp/gap/opt/archive probe
  adapt_case() {
    lay_over "$dir/cluster.yaml" "$dir/preload.yaml"
    mkdir -p "$tmp/gap/opt"
    "$tmp/store" "$cache/fast/tree/var/lib/containerd" "$tmp/layout" "$dir/cluster.lock.yaml"
    "$tmp/kiln" archive "$dir/cluster.yaml" --from "$tmp/layout" --out "$archive" >"$tmp/attempt" 2>&1 ||
      fail "kiln archive"
  }
  count_strays
  render_case gap
  probe=$(ls "$archive"/parts/*/"$(sed -n '/probe/{n;s/.*sha256:\(.*\)"/\1/p}' "$dir/cluster.lock.yaml")")
  mv "$probe" "$tmp/probe"
  local -x KILN_BOOT_IMAGES=none KILN_BOOT_ADD=$tmp/gap
  start_all worker-1
  machines=() # a fault is expected
  within "$form_limit" "the worker says which image is missing" says_missing
  mv "$tmp/probe" "$probe"
  vm ssh worker-1 "cat >'${probe#"$tmp/gap"}'" <"$probe"
  start_all cp-1 cp-2 cp-3
  within "$step_limit" "the worker goes on" goes_on
  machines=(cp-1 cp-2 cp-3 worker-1)
  boots_well
  within "$step_limit" "CoreDNS Available" coredns_is_available
  within "$step_limit" "the add-on Available" addon_is_available
  within 1 "the images of the control plane" has_images cp-1 \
    registry.k8s.io/{etcd,kube-apiserver,kube-controller-manager,kube-scheduler}
  within 1 "the images of the worker" has_images worker-1 docker.io/library/haproxy
  for machine in "${machines[@]}"; do
    within 1 "all of them pinned on $machine" all_pinned "$machine"
    within "$step_limit" "the static pod of one's own on $machine" own_pod_runs "$machine"
    within 1 "no image pulled on $machine" pulls_nothing "$machine"
  done
  ((room == 0)) || keeps_images
  check_strays
}
# keeps_images: the worker has all images of the archive for a while, of which it preloaded a part.
keeps_images() {
  local end=$((SECONDS + room * 60))
  vm ssh worker-1 'cd /opt/archive && tar -cf - oci-layout index.json blobs |
    ctr -n k8s.io images import -' >"$tmp/attempt" 2>&1 || fail "the worker gets more images"
  vm ssh worker-1 ctr -n k8s.io images ls -q | grep -q /kube-scheduler: || fail "it has none"
  within 600 "what the worker did not preload is gone" has_images worker-1 docker.io/library/haproxy
  while ((SECONDS < end)); do sleep 10; done
  within 1 "$room minutes later the images of the worker" has_images worker-1 docker.io/library/haproxy
  within 1 "the images of a control plane" has_images cp-1 \
    registry.k8s.io/{etcd,kube-apiserver,kube-controller-manager,kube-scheduler}
}
says_missing() {
  vm ssh worker-1 cat /var/lib/kiln/status.json | grep -E '"code":"preload".*kiln.test/probe@sha256:'
}
goes_on() { vm ssh worker-1 cat /var/lib/kiln/status.json | grep -F '"preload":'; }
addon_is_available() { kubectl wait --for condition=Available --timeout 1s deployment/addon; }
# has_images MACHINE MORE...: those of a worker, and more.
has_images() {
  local machine=$1
  shift
  vm ssh "$machine" ctr -n k8s.io images ls -q | sed -n 's/[@:][^/]*$//; /\//p' | sort -u >"$tmp/there"
  printf '%s\n' ghcr.io/flannel-io/{flannel,flannel-cni-plugin} kiln.test/probe \
    registry.k8s.io/{coredns/coredns,kube-proxy,pause} "$@" | sort | diff - "$tmp/there"
}
all_pinned() {
  [[ -z $(vm ssh "$1" ctr -n k8s.io images ls | sed '1d; /pinned=pinned/d; /^sha256:/d') ]]
}
pulls_nothing() { ! vm ssh "$1" journalctl -u containerd | grep PullImage; }

scenario_damaged() {
  local document
  render_case fast
  machines=(worker-1)
  document=$dir/nodes/worker-1/user-data
  cp "$document" "$dir/whole"
  flip_byte "$document"
  [[ $(cmp -l "$dir/whole" "$document" | wc -l) == 1 ]] || fail "not one byte was flipped"
  start_all worker-1
  within "$step_limit" "the fault is in status.json" says_damaged
  fails "a good boot is expected" check_net
  finds 'fault of the hook: .*file-damaged'
}
says_damaged() { vm ssh worker-1 cat /var/lib/kiln/status.json | grep -F '"code":"file-damaged"'; }

scenario_broken() {
  render_case fast-broken
  start_all cp-1
  fails "a good boot is expected" boots_well
  finds 'failed unit: .*broken\.service'
}

say "the seed is $seed"
each scenario "${scenarios[@]}"
