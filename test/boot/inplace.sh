#!/usr/bin/env bash
# Changes machines in place, with restarts, by the lines of kiln plan: settings of the kubelet, flags
# of the API server and of etcd, certificates that are renewed, and all of it back again.
#
#   inplace.sh [--keep] [--cuts NUMBER] [SCENARIO...]
#
#   many     three control planes and two workers, under a client that writes and reads all the time:
#            nothing that was acknowledged is lost. In the end a machine is replaced, and the one that
#            was changed and the new one have the same files.
#   rolls    the same machines: kiln roll is killed NUMBER (10) times at random moments, and goes on,
#            in the end on another computer. Two at once, a budget that never yields, and a pod of
#            nobody: it stops, says why, and goes on when that is mended.
#   roots    the same machines: every root is rotated through all stages. What a stage has signed or
#            encrypted is known to each API server in the next one, and what the old roots had signed
#            is refused in the end.
#   alone    one control plane and one worker: how many seconds the API is away, also while every
#            root is rotated; and units that come and go
#   harm     there too: a flag with which the API server ends, a setting with which the kubelet ends,
#            a full disk, and NUMBER (10) kills and power cuts at random moments. Each time the machine
#            has the files of its older or of its newer document, all of them, and the same command
#            goes on.
#   versions three control planes and two workers that fetch their programs, under the client: from
#            Kubernetes 1.36.2 to 1.36.3 and to 1.37, with a newer minor of etcd
#   single   the same with one control plane, and how many seconds the API is away; then a mirror
#            that has not what is wanted: nothing has changed
#   gap      three control planes and a worker that fetch programs and images from kiln serve and an
#            archive: from Kubernetes 1.36.2 to 1.36.3 by a new lock, a new archive and kiln roll. No
#            packet goes to another address.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/versions.sh"
source "$here/build.sh"
source "$here/download.sh"
without=$KILN_BOOT_WITHOUT
unset KILN_BOOT_WITHOUT
source "$here/traces.sh"

every=(many rolls roots alone harm versions single gap)
cuts=10 numbers=(cuts)
words "$@"
command -v jq >/dev/null || skip "needs jq"
form_limit=240 step_limit=120 pause=0.5 asks=2

own_programs() {
  CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./client ./mirror
  [[ " ${scenarios[*]} " =~ ' '(versions|single|gap)' ' ]] || return 0
  KILN_BOOT_MINOR=1.36.2 "$here/image-fast.sh"
  build_downloads
  [[ " ${scenarios[*]} " =~ ' '(versions|single)' ' ]] || return 0
  KILN_BOOT_MINOR=1.37 "$here/image-fast.sh"
  publish_images 1.36
  publish_images 1.37
}

# publish_images MINOR: the mirror has the images of this minor.
publish_images() (
  release=$1 minor=$1 work=$tmp/work
  source "$here/versions.sh"
  mkdir -p "$work/images"
  go build -C "$here" -o "$work/" ./mkimg
  for program in kube-apiserver kube-controller-manager kube-scheduler; do
    image "registry.k8s.io/$program:v$KUBERNETES" \
      "/usr/local/bin/$program=$bin/kubernetes-$KUBERNETES/$program"
  done
  tables=()
  for program in {iptables,ip6tables}{,-save,-restore}; do
    tables+=("/usr/sbin/$program=$here/iptables")
  done
  image "registry.k8s.io/kube-proxy:v$KUBERNETES" -base "$store/proxy.tar" \
    "/usr/local/bin/kube-proxy=$bin/kubernetes-$KUBERNETES/kube-proxy" "${tables[@]}"
  image "registry.k8s.io/etcd:$ETCD-0" "/usr/local/bin/etcd=$bin/etcd-$ETCD/etcd" \
    "/usr/local/bin/etcdctl=$bin/etcdctl-$ETCD/etcdctl" \
    "/usr/local/bin/etcdutl=$bin/etcdutl-$ETCDUTL/etcdutl"
  image "registry.k8s.io/coredns/coredns:v$COREDNS" -entrypoint /coredns \
    "/coredns=$bin/coredns-$COREDNS/coredns"
  for file in "$work"/images/*.tar; do publish_image "$file" "$tmp/mirror.d"; done
  rm -rf "$work"
)

begin "${arguments[@]}"

# adapt_case: machines that fetch their programs begin with an older release.
adapt_case() {
  [[ -n ${fetched:-} ]] || return 0
  adapt_download
  [[ $case != gap ]] || {
    lay_over "$dir/cluster.yaml" "$dir/served.yaml"
    serve_archive 1.36.2
    return
  }
  cat >"$dir/fetched.yaml" <<'END'
spec:
  kubernetesVersion: v1.36.2
  machines: {registries: [{host: registry.k8s.io, mirrors: ["http://10.10.0.1:8080"]}]}
END
  lay_over "$dir/cluster.yaml" "$dir/fetched.yaml"
}

# start NAME MACHINE...: a cluster of these machines.
start() {
  local machine
  dir=$tmp/$case
  render_case "$1"
  machines=("${@:2}")
  kiln render --config cluster.yaml --out nodes --review old || fail "the twin"
  start_all "${machines[@]}"
  all_up
  operator
  ssh_by_vm
  make_way
  check_net
}

# lay TEXT lays a piece of YAML over the configuration, and renders. Before it the documents and the
# twin become those of before.
lay() {
  if [[ -n $1 ]]; then
    printf '%s\n' "$1" >"$dir/change.yaml"
    lay_over "$dir/cluster.yaml" "$dir/change.yaml"
  fi
  if [[ -d $dir/new ]]; then
    rm -rf "$dir/old"
    mv "$dir/new" "$dir/old"
  fi
  rm -rf "$dir/nodes-before"
  cp -a "$dir/nodes" "$dir/nodes-before"
  kiln render --config cluster.yaml --out nodes --review new || fail "$case: the change is rendered"
  operator
}

# change WHAT [TEXT]: kiln roll does what kiln plan says for the change. No machine is replaced.
change() {
  local began
  [[ $# == 1 ]] || lay "$2"
  began=$SECONDS
  rolls old nodes || fail "$1: kiln roll"
  record "$1: $((SECONDS - began)) s; machines: $(grep -c '"event":"step".*"machine"' "$tmp/attempt")"
  check_verify
}

# rolls WORD...: kiln roll with these words. The client leaves out a control plane while it changes.
# Machines that are not there are left out, and all that is left in the end.
rolls() {
  local status=0
  kiln roll "$@" --kubeconfig "$tmp/admin.conf" --run "$tmp/bin/way {node}" --timeout 5m \
    --skip add || status=$?
  [[ $status == 0 || $status == 3 ]] && ! grep '"event":"left"' "$tmp/attempt" | grep -v ': *"add"'
}
make_way() {
  mkdir -p "$tmp/bin"
  cat >"$tmp/bin/way" <<END
#!/bin/sh
# way MACHINE: the way of kiln roll to it
case \$1 in cp-*) [ ! -e "$dir/away" ] || echo "https://10.10.0.1\${1#cp-}:6443" >"$dir/away" ;; esac
"$here/vm.sh" ssh "\$1" sh -s
status=\$?
[ ! -e "$dir/away" ] || : >"$dir/away"
exit "\$status"
END
  chmod 755 "$tmp/bin/way"
}

max_pods="spec: {machines: {kubelet: {maxPods: 77}}}"
flag="spec: {controlPlane: {apiServer: {extraArgs: [{name: audit-log-maxage, value: '9'}]}}}"
quota="spec: {controlPlane: {etcd: {extraArgs: [{name: quota-backend-bytes, value: '4294967296'}]}}}"
scheduler="spec: {controlPlane: {scheduler: {extraArgs: [{name: v, value: '3'}]}}}"

# renew: new certificates of a later day.
renew() {
  kiln secrets renew cluster.yaml || fail "kiln secrets renew"
  lay ''
  change "secrets renew"
}

scenario_many() {
  start fast-ha cp-1 cp-2 cp-3 worker-1 worker-2
  within "$step_limit" "three votes" all_vote
  operator_files
  start_client
  change maxPods "$max_pods"
  change "a flag of the API server" "$flag"
  change "a flag of etcd" "$quota"
  change "a flag of the scheduler" "$scheduler"
  renew
  end_client 0
  within "$step_limit" "all nodes Ready" nodes_are_ready
  [[ $(kubectl get node worker-1 -o jsonpath='{.status.capacity.pods}') == 77 ]] || fail "77 pods"
  same_as_new worker-1
  check_net
}

scenario_roots() {
  start fast-ha cp-1 cp-2 cp-3 worker-1 worker-2
  within "$step_limit" "three votes" all_vote
  operator_files
  cp "$dir/cert" "$dir/old.cert"
  cp "$dir/key" "$dir/old.key"
  within "$step_limit" "something is written" write first
  start_client
  leave_traces none
  turn_roots turn
  end_client 0
  within "$step_limit" "what was written is on each member" are_written first
  within "$step_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "CoreDNS Available" coredns_is_available
  for machine in "${control_planes[@]}"; do
    [[ $(answer "$machine" --cert "$dir/old.cert" --key "$dir/old.key") == 401 ]] ||
      fail "$machine does not refuse a certificate of the old CA"
    [[ $(answer_token "$machine" "$dir/token-none") == 401 ]] ||
      fail "$machine does not refuse a token of the old key"
  done
  record "what the old roots had signed is refused"
  check_net
}

# turn STAGE: a stage under the eyes of those that trust old and new roots.
turn() {
  change "$1"
  operator_files
  within "$step_limit" "the worker is served" worker_is_served
  if [[ $1 == *drop ]]; then
    tokens=(issue)
    within "$step_limit" "the old roots are trusted no more" trust 1
  else
    within "$step_limit" "old and new roots are trusted" trust 2
  fi
  within "$step_limit" "what earlier stages left is known" find_traces
  leave_traces "${1#* }"
}

# trust COUNT: every control plane trusts so many of each root.
trust() {
  local machine file
  for machine in "${control_planes[@]}"; do
    for file in {,etcd/,front-proxy-}ca.crt sa.pub ../apiserver/encryption.yaml; do
      vm ssh "$machine" grep -c -e BEGIN -e secret: "/etc/kubernetes/pki/$file" | grep -x "$1" || {
        echo "$machine: $file"
        return 1
      }
    done
  done
}

scenario_rolls() {
  local kill at=200 begun=''
  start fast-ha cp-1 cp-2 cp-3 worker-1 worker-2
  within "$step_limit" "three votes" all_vote
  operator_files
  start_client
  for ((kill = 1; kill <= cuts; kill++)); do
    [[ -n $begun ]] || lay "spec: {machines: {kubelet: {maxPods: $((at--))}}}"
    begun=yes
    (cd "$dir" && exec "$tmp/kiln" roll old nodes --kubeconfig "$tmp/admin.conf" \
      --run "$tmp/bin/way {node}" --skip add) >"$dir/rolled" 2>&1 &
    until grep -q '"event":"step"' "$dir/rolled" || ! kill -0 $! 2>/dev/null; do sleep 0.2; done
    sleep "$((RANDOM % 25)).$((RANDOM % 10))"
    if kill -9 $! 2>/dev/null; then
      record "kill $kill: $(tail -n 1 "$dir/rolled" | jq -r '.event + " " + (.machine // "")')"
    else
      begun=''
    fi
    wait $! || true
  done
  cp -a "$dir" "$tmp/elsewhere"
  dir=$tmp/elsewhere rolls old nodes || fail "it goes on on another computer"
  check_verify
  record "$kill kills: done on another computer"

  lay "spec: {machines: {kubelet: {maxPods: $((at--))}}}"
  rolls old nodes &
  sleep 4
  (cd "$dir" && "$tmp/kiln" roll old nodes --kubeconfig "$tmp/admin.conf" --run true \
    --skip add) >"$tmp/second" 2>&1 && fail "two at once"
  wait $! || fail "the first of two"
  cp "$tmp/second" "$tmp/attempt"
  says 'another kiln roll holds the Lease kube-system/kiln-roll: .*; wait until it ends'
  record "a second one is kept away"

  lay "spec: {machines: {kubelet: {maxPods: $((at--))}}}"
  pinned >"$dir/pinned.yaml"
  within "$step_limit" "a budget that never yields" kubectl apply --server-side -f "$dir/pinned.yaml"
  within "$step_limit" "its pod runs" kubectl rollout status deployment pinned --timeout 5s
  kiln roll old nodes --kubeconfig "$tmp/admin.conf" --run "$tmp/bin/way {node}" --skip add \
    --timeout 30s && fail "a budget that never yields"
  says '^kiln: restart worker-1: kubectl drain .*pinned.*; a budget keeps this pod: '
  kubectl delete pdb pinned
  kubectl run lonely --image kiln.test/probe:1 --image-pull-policy IfNotPresent \
    --overrides '{"spec": {"nodeName": "worker-1"}}'
  rolls old nodes && fail "a pod of nobody"
  says '^kiln: restart worker-1: kubectl drain .*default/lonely.*; nothing makes these pods again: '
  kubectl delete pod lonely --force
  rolls old nodes || fail "what was mended"
  record "a budget that never yields, and a pod of nobody: it says so, and goes on"

  end_client 0
  within "$step_limit" "all nodes Ready" nodes_are_ready
  check_net
}
# pinned prints a workload of worker-1 that a budget keeps.
pinned() {
  cat <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {name: pinned, namespace: default}
spec:
  selector: {matchLabels: {app: pinned}}
  template:
    metadata: {labels: {app: pinned}}
    spec:
      nodeSelector: {kubernetes.io/hostname: worker-1}
      securityContext:
        {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: probe
        image: kiln.test/probe:1
        imagePullPolicy: IfNotPresent
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: pinned, namespace: default}
spec: {minAvailable: 1, selector: {matchLabels: {app: pinned}}}
END
}

# turn_roots COMMAND rotates every root through all stages. COMMAND takes the name of a stage, and
# does what kiln plan says for it.
turn_roots() {
  local stage
  kiln secrets rotate ca etcd-ca front-proxy-ca service-account encryption --config cluster.yaml ||
    fail "kiln secrets rotate"
  for stage in trust issue drop; do
    [[ $stage == trust ]] || kiln secrets rotate ca etcd-ca front-proxy-ca service-account encryption \
      --config cluster.yaml --next --all-replaced || fail "kiln secrets rotate --next"
    lay ''
    "$1" "stage $stage"
    operator_files
    [[ $stage == drop ]] || within "$step_limit" "pods are new" restart_pods
    [[ $stage != issue ]] || within "$step_limit" "every Secret is written with the new key" rewrite
  done
}
restart_pods() {
  local object
  for object in $(kubectl get deployments,daemonsets -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.kind}/{.metadata.name} {end}'); do
    kubectl -n "${object%%/*}" rollout restart "${object#*/}" || return
  done
  for object in $(kubectl get deployments,daemonsets -A -o jsonpath='{range .items[*]}{.metadata.namespace}/{.kind}/{.metadata.name} {end}'); do
    kubectl -n "${object%%/*}" rollout status "${object#*/}" --timeout 60s || return
  done
}
rewrite() {
  local status
  kubectl get secrets -A -o json >"$tmp/secrets.json" && kubectl replace -f "$tmp/secrets.json"
  status=$?
  rm -f "$tmp/secrets.json"
  return "$status"
}

# same_as_new MACHINE: replaced with the same document it has the same files.
same_as_new() {
  listed "$1" "$dir/changed"
  kubectl drain "$1" --ignore-daemonsets --delete-emptydir-data --timeout=60s >"$tmp/attempt" 2>&1 ||
    fail "$1 is drained"
  forget_boots "$1"
  check_net "$1"
  vm kill "$1"
  power "$1"
  within "$form_limit" "the new $1 is done" is_done "$1"
  within "$step_limit" "all nodes Ready with it" nodes_are_ready
  listed "$1" "$dir/new-one"
  diff "$dir/changed" "$dir/new-one" >"$tmp/attempt" || fail "the one that was changed and the new one differ"
  record "a new $1 has the same files"
}
listed() { # listed MACHINE FILE: what the script of kiln verify lists of it
  kiln verify "nodes/$1" --script || fail "the script of kiln verify"
  vm ssh "$1" sh -s <"$tmp/attempt" >"$2"
}

# watch_api asks the API server ten times a second. unwatch prints for how long it was away.
watch_api() {
  while :; do
    printf '%s %s\n' "$(date +%s%1N)" "$(curl -sk -m 1 -o /dev/null -w '%{http_code}' https://10.10.0.11:6443/readyz)"
    sleep 0.1
  done >"$dir/asked" &
  watcher=$!
}
unwatch() {
  kill "$watcher"
  wait "$watcher" || true
  awk '$2 != 200 && $2 != 401 { if (!from) from = $1; next } from { away += $1 - from; from = 0 }
    END { printf "%.1f s\n", away / 10 }' "$dir/asked"
}

scenario_alone() {
  local what
  start fast cp-1 worker-1
  for what in max_pods flag quota scheduler; do
    watched_change "$what" "${!what}"
  done
  watch_api
  renew
  record "secrets renew: the API was away for $(unwatch)"
  within "$step_limit" "CoreDNS Available" coredns_is_available
  units
  operator_files
  turn_roots watched_change
  within "$step_limit" "CoreDNS Available" coredns_is_available
  check_net
}

# watched_change WHAT [TEXT]: a change, and for how long the API was away.
watched_change() {
  watch_api
  change "$@"
  record "$1: the API was away for $(unwatch)"
}

beat='[{name: beat.service, enabled: true, content: "[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n"}]'

# units: a unit that comes is there at once and after a restart of the machine, as are snapshots of
# etcd. Masked it ends. In the end there is neither.
units() {
  local machine cluster
  cluster=$(<"$dir/cluster.yaml")
  change "units that come" "spec: {machines: {units: $beat}, controlPlane: {etcd: {backup: {directory: /var/lib/kiln-backups}}}}"
  for machine in "${machines[@]}"; do runs "$machine" beat.service; done
  runs cp-1 kiln-backup.timer
  forget_boots worker-1
  vm kill worker-1
  vm again worker-1
  within "$step_limit" "the unit runs after a restart" vm ssh worker-1 systemctl is-active beat.service
  within "$step_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "all nodes Ready" nodes_are_ready
  printf '%s\n' "$cluster" >"$dir/cluster.yaml"
  change "a unit that nothing may start" "spec: {machines: {units: [{name: beat.service, masked: true}]}}"
  for machine in "${machines[@]}"; do ends "$machine" beat.service; done
  ends cp-1 kiln-backup.timer
  printf '%s\n' "$cluster" >"$dir/cluster.yaml"
  lay ''
  change "units that go"
  for machine in "${machines[@]}"; do ends "$machine" beat.service; done
}
runs() { # runs MACHINE UNIT
  vm ssh "$1" systemctl is-active "$2" >"$tmp/attempt" || fail "$2 runs on $1"
}
ends() { # ends MACHINE UNIT
  vm ssh "$1" systemctl is-active "$2" >"$tmp/attempt" && fail "$2 ends on $1"
  return 0
}

# put_back MACHINE WHAT PATTERN: kiln apply says why it puts the machine back, and all is as before.
put_back() {
  local began=$SECONDS
  kiln apply "nodes/$1" --since old --ssh "$1" && fail "$2: it was applied"
  says "$3"
  says '; the machine is as it was before$'
  record "$2, $1: as before after $((SECONDS - began)) s: $(grep -o 'kiln apply: .*' "$tmp/attempt" | cut -c 1-160)"
  within "$step_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "all nodes Ready" nodes_are_ready
  kiln verify "nodes-before/$1" --ssh "$1" || fail "$2: $1 differs from its older document"
}

# undo_lay: the configuration and the documents of before.
undo_lay() {
  cp "$dir/cluster.before" "$dir/cluster.yaml"
  rm -rf "$dir/nodes" "$dir/new"
  cp -a "$dir/nodes-before" "$dir/nodes"
}

scenario_harm() {
  local cut machine how runs
  start fast cp-1 worker-1
  cp "$dir/cluster.yaml" "$dir/cluster.before"
  lay "spec: {controlPlane: {apiServer: {extraArgs: [{name: service-account-max-token-expiration, value: 1m}]}}}"
  put_back cp-1 "a flag that ends the API server" 'kube-apiserver is not well: .*expiration'
  undo_lay
  lay "spec: {workers: {machines: {kubelet: {enforceNodeAllocatable: [pods, system-reserved], systemReservedCgroup: /nope}}}}"
  put_back worker-1 "a setting that ends the kubelet" 'kubelet is not well: '
  undo_lay
  lay "spec: {workers: {machines: {units: [{name: beat.service, enabled: true, content: \"[Service]\\nType=oneshot\\nExecStart=/bin/false\\n[Install]\\nWantedBy=multi-user.target\\n\"}]}}}"
  put_back worker-1 "a unit that does not start" 'beat.service does not start'
  undo_lay

  lay "spec: {machines: {kubelet: {maxPods: 77}}, controlPlane: {apiServer: {extraArgs: [{name: audit-log-maxage, value: '9'}]}}}"
  # There is no room for the files of before.
  vm ssh worker-1 'cp -a /var/lib/kiln /run/kept && mount -t tmpfs -o size=32k,mode=700 none /var/lib/kiln &&
    cp -a /run/kept/. /var/lib/kiln/'
  put_back worker-1 "a full disk" 'make room in /var/lib/kiln'
  vm ssh worker-1 'umount --lazy /var/lib/kiln'
  for ((cut = 1; cut <= cuts; cut++)); do
    machine=worker-1 how=killed
    ((cut % 3)) || machine=cp-1
    ((cut % 2)) || how='without power'
    (kiln apply "nodes/$machine" --since old --ssh "$machine" || :) &
    sleep "$((RANDOM % 18)).$((RANDOM % 10))"
    if [[ $how == killed ]]; then
      vm ssh "$machine" systemctl kill --signal "$((cut % 4 == 1 ? 9 : 15))" kiln-apply || true
    else
      vm kill "$machine"
    fi
    wait $!
    if [[ $how != killed ]]; then
      forget_boots "$machine" || true
      vm again "$machine"
      within "$step_limit" "$machine starts again" is_done "$machine"
    fi
    within "$step_limit" "hook done on every machine" hooks_are_done
    within "$step_limit" "all nodes Ready" nodes_are_ready
    runs=newer
    kiln verify "nodes/$machine" --ssh "$machine" || {
      runs=older
      kiln verify "nodes-before/$machine" --ssh "$machine" || fail "$machine is as none of its documents"
    }
    record "cut $cut: $machine, $how, has the files of the $runs document"
    if [[ $runs == newer ]]; then # back again
      kiln render --config cluster.yaml --review new
      mv "$dir/nodes" "$dir/nodes-newer"
      cp -a "$dir/nodes-before" "$dir/nodes"
      kiln apply "nodes/$machine" --since new --ssh "$machine" || fail "$machine goes back"
      rm -rf "$dir/nodes"
      mv "$dir/nodes-newer" "$dir/nodes"
    fi
  done
  change "after the cuts"
}

# begin_fetched NAME MACHINE...: a cluster of machines that fetch their programs.
begin_fetched() {
  local fetched=yes releases=(1.36.2 1.36.3)
  [[ ! -d $bin/kubernetes-1.37.1 ]] || releases+=(1.37.1)
  : >"$tmp/mirror.log"
  [[ -n ${published:-} ]] || publish "${releases[@]}"
  published=yes
  local -x KILN_BOOT_WITHOUT=$without KILN_BOOT_MINOR=1.36.2
  start "$@"
  within "$step_limit" "each node has v1.36.2" all_have v1.36.2
}

# all_have VERSION: the kubelet of each Node, and each component, is of this version.
all_have() {
  local found
  found=$(kubectl get nodes -o jsonpath='{range .items[*]}{.status.nodeInfo.kubeletVersion}{"\n"}{end}') &&
    ! grep -vx "$1" <<<"$found" || return
  found=$(kubectl -n kube-system get pods \
    -o jsonpath='{range .items[*].spec.containers[*]}{.image}{"\n"}{end}' | sed 's/@.*//') &&
    [[ $(grep -c "/kube-[a-z-]*:$1\$" <<<"$found") -gt 3 ]] &&
    ! grep '/kube-' <<<"$found" | grep -v ":$1\$"
}

# upgrade VERSION
upgrade() {
  change "$1" "spec: {kubernetesVersion: $1}"
  within "$step_limit" "each node and component has $1" all_have "$1"
}

scenario_versions() {
  begin_fetched fast-ha cp-1 cp-2 cp-3 worker-1 worker-2
  within "$step_limit" "three votes" all_vote
  operator_files
  start_client
  upgrade v1.36.3
  upgrade v1.37.1
  end_client 0
  within "$step_limit" "three votes" all_vote
  within "$step_limit" "all nodes Ready" nodes_are_ready
  local -x KILN_BOOT_WITHOUT=$without
  same_as_new worker-1
  check_net
}

scenario_single() {
  begin_fetched fast cp-1 worker-1
  cp "$dir/cluster.yaml" "$dir/cluster.before"
  printf 'missing kubelet\n' >"$tmp/trouble"
  lay "spec: {kubernetesVersion: v1.36.3}"
  kiln apply nodes/worker-1 --since old --ssh worker-1 && fail "a kubelet that no mirror has"
  says '/kubelet cannot be fetched: .*404'
  printf 'missing kube-scheduler\n' >"$tmp/trouble"
  kiln apply nodes/cp-1 --since old --ssh cp-1 && fail "an image that no registry has"
  says 'kube-scheduler:v1.36.3 cannot be pulled: '
  rm "$tmp/trouble"
  undo_lay
  kiln verify nodes/cp-1 --ssh cp-1 || fail "cp-1 is as it was"
  for version in v1.36.3 v1.37.1; do
    watch_api
    upgrade "$version"
    record "$version: the API was away for $(unwatch)"
  done
  within "$step_limit" "CoreDNS Available" coredns_is_available
  check_net
}

# serve_archive RELEASE: the lock and the archive of this release, which takes from the older one what
# it can, and kiln serve with it in the place of the older one.
serve_archive() {
  local before=("$dir"/archive-*)
  local tree=$store/$1/fast/tree
  [[ -d $tree ]] || tree=$cache/fast/tree
  "$tmp/store" "$tree/var/lib/containerd" "$dir/layout-$1" "$dir/images"
  { cat "$tmp/cluster.lock.yaml" && sed -n '/^images:/,$p' "$dir/images"; } >"$dir/cluster.lock.yaml"
  [[ -d ${before[0]} ]] || before=()
  kiln archive --mirror http://10.10.0.1:8080 --out "archive-$1" --from "layout-$1" \
    "${before[@]/#/--from=}" || fail "kiln archive: $1"
  record "$1: $(tail -n 1 "$tmp/attempt")"
  kiln render --config cluster.yaml --out served || fail "kiln render: $1"
  [[ -z ${server:-} ]] || kill "$server"
  (cd "$dir" && exec "$tmp/kiln" serve served --archive "archive-$1" --listen 10.10.0.1:8443 \
    --secrets ./*.secrets.yaml --window 4h --log "serve-$1.log") >"$dir/serve-$1.out" 2>&1 &
  server=$!
}

scenario_gap() {
  local server='' power_on=$SECONDS
  count_strays
  local -x KILN_BOOT_IMAGES=none
  begin_fetched gap cp-1 cp-2 cp-3 worker-1
  within "$step_limit" "three votes" all_vote
  within "$step_limit" "CoreDNS Available" coredns_is_available
  within "$step_limit" "an add-on of three images" addon_is_available
  printf 'spec: {kubernetesVersion: v1.36.3}\n' >"$dir/change.yaml"
  lay_over "$dir/cluster.yaml" "$dir/change.yaml"
  serve_archive 1.36.3
  change v1.36.3 ''
  within "$step_limit" "each node and component has v1.36.3" all_have v1.36.3
  within "$step_limit" "three votes" all_vote
  within "$step_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "an add-on of three images" addon_is_available
  check_strays
  check_net
}
addon_is_available() { kubectl wait --for condition=Available --timeout 1s deployment/addon; }

for case in "${scenarios[@]}"; do
  "scenario_$case"
  [[ -n $keep && ${#scenarios[@]} == 1 ]] || vm off
done
