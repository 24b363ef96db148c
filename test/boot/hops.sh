#!/usr/bin/env bash
# Upgrades clusters by the steps of kiln plan: the script asks the plan, types its first step, and
# asks again, until nothing is left (typed.sh). Meanwhile a Service is asked ten times a second.
#
#   hops.sh [--keep] [SCENARIO...]
#
#   hops     three control planes and a worker, from Kubernetes 1.35 to 1.36 and to 1.37, by one
#            plan of two hops. Both at once are refused.
#   single   a control plane with the only member of etcd, and a worker, from 1.36.2 to 1.36.3: a
#            snapshot before, the restore after. What was written before the snapshot is there.
#
# A machine boots from the image of the kubelet that the plan names.
#
# The Service has two pods. They may run on control planes, where they go when the only worker is
# drained, and a budget lets one of them go at a time. A pod that ends still answers for ten
# seconds, until every kube-proxy knows. asker asks the Service at its node port on each machine in
# turn, as a load balancer does: none from the moment at which it is drained until it is uncordoned
# and answers again. No answer may be lost, also while the only API server is away.
#
# The machines are containers of this computer. Exits with 0 if all went well, 1 if something did
# not, 77 if this computer cannot run the test.
# shellcheck disable=SC2317 # the checks are called by their names, through within
set -euo pipefail
export MACHINES=container
unset KILN_BOOT_MINOR
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=container.sh
source "$here/container.sh"
# shellcheck source=cluster.sh
source "$here/cluster.sh"
# shellcheck source=etcd.sh
source "$here/etcd.sh"
# shellcheck source=begin.sh
source "$here/begin.sh"
# shellcheck source=as-operator.sh
source "$here/as-operator.sh"
# shellcheck source=typed.sh
source "$here/typed.sh"

every=(hops single)
keep='' scenarios=() arguments=("$@")
for word in "$@"; do
  case $word in
  --keep) keep=yes ;;
  -*) usage "$word" ;;
  *) choose "$word" ;;
  esac
done
((${#scenarios[@]})) || scenarios=("${every[@]}")
form_limit=300 step_limit=120 drain_limit=300
declare -A minors=([hops]="1.35 1.36 1.37" [single]="1.36.2 1.36")

own_programs() {
  local name one
  CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./asker
  for name in "${scenarios[@]}"; do
    for one in ${minors[$name]}; do KILN_BOOT_MINOR=$one "$here/image-fast.sh"; done
  done
  for name in "${scenarios[@]}"; do # alone.sh holds the tree of one minor
    for one in ${minors[$name]}; do hold_tree "$(tree_of "$one")"; done
  done
}

# tree_of MINOR prints where the files of machines of this minor are.
tree_of() {
  local image=$store
  [[ $1 == 1.36 ]] || image=$store/$1
  echo "$image/fast/tree"
}

# release_of MINOR prints the release that is in the image of this minor.
release_of() {
  "$(tree_of "$1")/usr/local/bin/kubelet" --version | sed 's/^Kubernetes //'
}

# become VERSION: the configuration, the documents and the twin of this version.
become() {
  version=$1
  adapt_case
  kiln render --config cluster.yaml --out "nodes-$1" --review "$1" || fail "$1 is rendered"
}
adapt_case() {
  printf 'spec: {kubernetesVersion: %s}\n' "$version" >"$dir/version.yaml"
  lay_over "$dir/cluster.yaml" "$dir/version.yaml"
}

# begin_cluster CASE MINOR...: the machines of the case with the first of these minors, and the
# Service, which is asked from now on. $states has the releases of the minors, which are rendered.
begin_cluster() {
  local one machine
  declare -gA image_of=()
  states=()
  for one in "${@:2}"; do
    states+=("$(release_of "$one")")
    image_of[${states[-1]}]=$one
  done
  version=${states[0]}
  render_case "$1"
  for one in "${states[@]}"; do become "$one"; done
  power_on=$SECONDS
  for machine in "${machines[@]}"; do
    KILN_BOOT_MINOR=$2 power "$machine"
  done
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$form_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "CoreDNS Available" coredns_is_available
  within "$step_limit" "each node has ${states[0]}" all_have "${states[0]}"
  operator
  check_net
  start_asking
}

# listed WORD... LIST FIELDS: what kubectl WORD... says, a line for each item of the list.
listed() {
  local fields=${*: -1} list=${*: -2:1}
  kubectl "${@:1:$#-2}" -o "jsonpath={range $list}$fields{\"\\n\"}{end}"
}

# all_have VERSION: the kubelet of each Node, and of control planes each component, is of this
# version.
all_have() {
  local found component
  found=$(listed get nodes '.items[*].status.nodeInfo' '{.kubeletVersion}') || return
  echo "$found"
  [[ $(grep -cx "$1" <<<"$found") == "${#machines[@]}" ]] || return
  [[ $(wc -l <<<"$found") == "${#machines[@]}" ]] || return
  found=$(listed -n kube-system get pods '.items[*].spec.containers[*]' '{.image}') || return
  echo "$found"
  for component in apiserver controller-manager scheduler; do
    [[ $(grep -cE "/kube-$component:$1\$" <<<"$found") == "${#control_planes[@]}" ]] || return
  done
  ! grep '/kube-' <<<"$found" | grep -v ":$1\$"
}

workload() {
  cat <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: workload, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: workload}}
  template:
    metadata: {labels: {app: workload}}
    spec:
      tolerations: [{key: node-role.kubernetes.io/control-plane, operator: Exists}]
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - weight: 100
            podAffinityTerm:
              topologyKey: kubernetes.io/hostname
              labelSelector: {matchLabels: {app: workload}}
      terminationGracePeriodSeconds: 20
      securityContext:
        {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: probe
        image: kiln.test/probe:1
        imagePullPolicy: IfNotPresent
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 1}
        lifecycle: {preStop: {sleep: {seconds: 10}}}
        resources: {requests: {cpu: 50m, memory: 16Mi}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: workload, namespace: default}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: workload}}
---
apiVersion: v1
kind: Service
metadata: {name: workload, namespace: default}
spec:
  type: NodePort
  selector: {app: workload}
  ports: [{port: 80, targetPort: 8080, nodePort: 30080}]
END
}

# url MACHINE prints where the Service is asked on a machine.
url() { echo "http://$(sed -n "s#^$1 ##p" "$dir/addresses"):30080/"; }
answers() { curl -sSf -m 3 --noproxy '*' "$(url "$1")"; }
all_answer() {
  local machine
  for machine in "${machines[@]}"; do answers "$machine" || return; done
}

start_asking() {
  local machine urls=()
  workload >"$dir/workload.yaml"
  listed get nodes '.items[*]' \
    '{.metadata.name} {.status.addresses[?(@.type=="InternalIP")].address}' >"$dir/addresses"
  within "$step_limit" "the workload is created" kubectl apply --server-side -f "$dir/workload.yaml"
  within "$step_limit" "two pods are ready" kubectl rollout status deployment workload --timeout 5s
  within "$step_limit" "each machine answers for the Service" all_answer
  for machine in "${machines[@]}"; do urls+=("$(url "$machine")"); done
  : >"$dir/away"
  "$tmp/asker" -away "$dir/away" "${urls[@]}" >"$dir/asked.json" 2>"$dir/asked.log" &
  asker=$! asked_since=$SECONDS
  # shellcheck disable=SC2064 # this process, also if another one is started
  trap "kill $asker 2>/dev/null || :" EXIT
}
# take_out and take_back MACHINE: what the load balancer is told.
take_out() {
  url "$1" >"$dir/away.part"
  mv "$dir/away.part" "$dir/away"
}
take_back() {
  within "$step_limit" "$1 answers for the Service" answers "$1"
  : >"$dir/away.part"
  mv "$dir/away.part" "$dir/away"
}

# end_asking: no answer was lost.
end_asking() {
  kill -TERM "$asker"
  wait "$asker" || fail "asker"
  trap - EXIT
  cp "$dir/asked.log" "$tmp/attempt"
  record "asked, lost, slowest: $(jq -r \
    '"\(.asked), \(.lost), \(.slowest) s, of \(.by | length) pods"' "$dir/asked.json")"
  [[ $(jq .lost "$dir/asked.json") == 0 ]] || fail "answers were lost"
  (($(jq .asked "$dir/asked.json") > 8 * (SECONDS - asked_since))) || fail "it was asked too rarely"
}

# ends_well [STATE]: everything is as the last version wants it, and each machine runs this state.
ends_well() {
  within "$step_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "each node and component has $version" all_have "$version"
  within "$step_limit" "the members vote" all_vote
  kiln status "$@" --wait --timeout "${step_limit}s" --kubeconfig "$tmp/admin.conf" ||
    fail "kiln status at the end"
  record "kiln status --wait ends with 0"
  end_asking
  check_net
  record "$typed steps were typed"
}

scenario_hops() {
  begin_cluster hops 1.35 1.36 1.37
  within "$step_limit" "three votes" all_vote
  ! kiln plan "${states[0]}" "${states[2]}" --kubeconfig "$tmp/admin.conf" ||
    fail "two minors at once are not refused"
  grep -q "^  version: .*${states[0]} → ${states[2]} skips v1.36\$" "$tmp/attempt" ||
    fail "the refusal does not name the minor between"
  kiln plan "${states[@]}" || fail "the plan of two hops"
  [[ $(grep -c '^hop [12] of 2: ' "$tmp/attempt") == 2 ]] || fail "the plan does not have two hops"
  record "two minors at once are refused, and are two hops"
  follow
  ends_well "$version"
}

scenario_single() {
  begin_cluster fast 1.36.2 1.36
  within "$step_limit" "a Secret is written" kubectl create secret generic before \
    --from-literal=word=kept
  force=(--force single-member)
  follow
  within "$step_limit" "what was written before the snapshot is there" secret_says before kept
  within "$step_limit" "something can be written" kubectl create configmap after
  ends_well # cp-1 runs the state restored
}

command -v jq >/dev/null || skip "needs jq"
begin "${arguments[@]}"
each scenario "${scenarios[@]}"
