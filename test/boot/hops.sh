#!/usr/bin/env bash
# Upgrades clusters by kiln roll: machines get another document, an empty disk, and the image of the
# kubelet that the document wants. Meanwhile a Service is asked ten times a second.
#
#   hops.sh [--keep] [SCENARIO...]
#
#   hops     three control planes and a worker, from Kubernetes 1.35 to 1.36 and to 1.37, by one
#            roll-out of two hops. Both at once are refused. A wrong command, a machine that does not
#            come back, and an API server that is away stop it, and it goes on when that is mended.
#   single   a control plane with the only member of etcd, and a worker, from 1.36.2 to 1.36.3: a
#            snapshot before and the restore after it are a person's, the rest is kiln roll's. What
#            was written before the snapshot is there.
#
# kiln roll reaches the API servers through a balancer on this computer, which leads to one that is
# not being replaced. The Service has two pods. They may run on control planes, where they go when the
# only worker is drained, and a budget lets one of them go at a time. A pod that ends still answers
# for ten seconds, until every kube-proxy knows. asker asks the Service at its node port on each
# machine in turn, as a load balancer does: none from the moment before its power goes until it
# answers again. No answer may be lost, also while the only API server is away.
set -euo pipefail
export MACHINES=container
unset KILN_BOOT_MINOR
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/container.sh"

every=(hops single)
words "$@"
form_limit=300 step_limit=120
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
  KILN_BOOT_MINOR=$2 start_all "${machines[@]}"
  all_up
  within "$step_limit" "CoreDNS Available" coredns_is_available
  within "$step_limit" "each node has ${states[0]}" all_have "${states[0]}"
  operator
  make_ways
  push "${machines[-1]}"
  check_net
  balance "${control_planes[0]}"
  sed -i "s#^\( *server: \).*#\1https://10.10.0.1:6443#" "$tmp/admin.conf"
  # shellcheck disable=SC2016 # what is in $( ) is of that program
  printf '#!/bin/sh\nexec socat - "TCP:$(cat "%s"):6443,connect-timeout=2"\n' "$dir/api" \
    >"$tmp/bin/balancer"
  chmod 755 "$tmp/bin/balancer"
  socat TCP-LISTEN:6443,bind=10.10.0.1,fork,reuseaddr "EXEC:$tmp/bin/balancer" 2>/dev/null &
  start_asking
}
# balance MACHINE: the balancer leads to this one.
balance() { sed -n "s#^https://\(.*\):.*#\1#p" <<<"$(vm api "$1")" >"$dir/api"; }

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
  out=$1
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

# There is no registry, and an image of a machine has the container images of its own release
# alone. But the pods of kube-proxy and CoreDNS are of one release on all machines: of the oldest
# one until API objects are applied, of the newest one from then on. So a folder is the registry of
# these two. push MACHINE puts the machine's there, pull MACHINE brings those that the machine lacks.
images_on() { vm ssh "$1" ctr -n k8s.io images ls -q 2>"$tmp/attempt"; }
push() {
  local name file
  mkdir -p "$dir/registry"
  for name in $(images_on "$1" | grep -E '/(kube-proxy|coredns):'); do
    file=$dir/registry/${name//[\/:]/_}
    [[ ! -e $file ]] || continue
    vm ssh "$1" ctr -n k8s.io images export - "$name" >"$file" 2>"$tmp/attempt"
  done
}
pull() {
  local names file
  names=$(images_on "$1" | tr '/:' '__') && [[ -n $names ]] || return
  for file in "$dir"/registry/*; do
    grep -qx "${file##*/}" <<<"$names" ||
      vm ssh "$1" ctr -n k8s.io images import - <"$file" || return
  done
}

# make_ways: kiln roll reaches a machine by way, and asks this script for a new one by replaces. Each
# word that replaces sends is answered by a word: on, if the machine has its power.
make_ways() {
  mkdir -p "$tmp/bin"
  [[ -p $tmp/requests ]] || mkfifo "$tmp/requests" "$tmp/answers"
  # shellcheck disable=SC2016 # the variable is of that program
  printf '#!/bin/sh\nexec "%s" ssh "$1" sh -s\n' "$here/vm.sh" >"$tmp/bin/way"
  cat >"$tmp/bin/replaces" <<END
#!/bin/sh
echo "\$1 \$2" >"$tmp/requests" && read -r answer <"$tmp/answers" && [ "\$answer" = on ]
END
  chmod 755 "$tmp/bin/way" "$tmp/bin/replaces"
  exec {requests}<>"$tmp/requests"
}

# roll WORD...: kiln roll with these words, whose machines get what they ask for. Its status is that
# of kiln roll, and what it says is in $tmp/attempt.
roll() {
  local rolling machine document status=0
  (cd "$dir" && exec "$tmp/kiln" roll "$@" --kubeconfig "$tmp/admin.conf" \
    --run "$tmp/bin/way {node}" --timeout "${timeout:-6m}") >"$dir/rolled" 2>&1 &
  rolling=$!
  while kill -0 "$rolling" 2>/dev/null; do
    if read -r -t 1 machine document <&"$requests"; then
      replace "$machine" "$document"
      echo on >"$tmp/answers"
    elif [[ -s $dir/away ]] && answers "$out" >"$tmp/attempt" 2>&1; then
      take_back "$out"
    fi
  done
  wait "$rolling" || status=$?
  cp "$dir/rolled" "$tmp/attempt"
  return "$status"
}

# replace MACHINE DOCUMENT: the power of the machine goes, and it starts with this document, an empty
# disk, and the image of the kubelet of its folder. With $dead it stays off.
dead='' out='' replaced=0
replace() {
  local machine
  [[ ! -s $dir/away || $out == "$1" ]] || take_back "$out"
  take_out "$1"
  if vm ssh "$1" true 2>/dev/null; then check_net "$1"; fi
  avoid "$1"
  balance "${control_planes[0]}"
  vm kill "$1"
  [[ -z $dead ]] || return 0
  KILN_BOOT_MINOR=${image_of[$(basename "${2%/*}" | sed 's/^nodes-//')]} power "$1" "$dir/$2"
  within "$step_limit" "$1 has the container images" pull "$1"
  push "$1"
  for machine in "${machines[@]}"; do pull "$machine" >"$tmp/attempt" 2>&1 || :; done
  replaced=$((replaced + 1))
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
  record "$replaced machines were replaced"
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

  local states=("${states[0]}" "${states[@]/#/nodes-}")
  unset 'states[1]'
  roll "${states[@]}" --replace false && fail "a wrong command"
  says '^kiln: replace cp-[123]: the command of --replace failed: false: '
  timeout=1m dead=yes roll "${states[@]}" --replace "$tmp/bin/replaces {node} {document}" &&
    fail "a machine that does not come back"
  says '^kiln: replace cp-[123]: kubectl get node .* not within 1m0s: its Node is '
  record "$(grep '^kiln: ' "$tmp/attempt")"
  cp "$dir/api" "$dir/api.before"
  echo 10.10.0.99 >"$dir/api"
  timeout=10s roll "${states[@]}" --replace false && fail "an API server that is away"
  says '^kiln: the API server: not within 10s: '
  record "$(grep '^kiln: ' "$tmp/attempt")"
  mv "$dir/api.before" "$dir/api"
  roll "${states[@]}" --replace "$tmp/bin/replaces {node} {document}" || fail "kiln roll"
  record "kiln roll: nothing is left"
  ends_well "$version"
}

scenario_single() {
  begin_cluster fast 1.36.2 1.36
  within "$step_limit" "a Secret is written" kubectl create secret generic before \
    --from-literal=word=kept
  local plan=(--force single-member --replace "$tmp/bin/replaces {node} {document}")
  roll "${states[0]}" "nodes-$version" "${plan[@]}" && fail "the only member of etcd is a person's"
  says '^kiln: take a snapshot of etcd on cp-1: this step is yours: '
  restore_cp
  roll restored "${states[0]}" "nodes-$version" "${plan[@]}" || fail "kiln roll"
  within "$step_limit" "what was written before the snapshot is there" secret_says before kept
  within "$step_limit" "something can be written" kubectl create configmap after
  ends_well # cp-1 runs the state restored
}

# restore_cp does by hand what kiln plan says for the only control plane.
restore_cp() {
  local line snapshot=/var/backups/etcd/cp-1.db
  kiln plan "${states[@]}" --force single-member --kubeconfig "$tmp/admin.conf" -o json ||
    fail "the plan"
  cp "$tmp/attempt" "$tmp/plan.json"
  kubectl drain cp-1 --ignore-daemonsets --delete-emptydir-data >"$tmp/attempt" 2>&1 ||
    fail "cp-1 is drained"
  line=$(jq -r '.steps[0].how[] | select(test(" snapshot save "))' "$tmp/plan.json")
  within "$step_limit" "a snapshot" eval "$line"
  vm ssh cp-1 cat /var/lib/etcd/cp-1.db >"$dir/copy.db"
  [[ $(vm ssh cp-1 sha256sum /var/lib/etcd/cp-1.db) == "$(sha256sum <"$dir/copy.db" | cut -c 1-64)"* ]] ||
    fail "the copy of the snapshot differs"
  push cp-1
  kiln render --config cluster.yaml --out "nodes-$version" --restore "cp-1:$snapshot" \
    --review restored || fail "the document that restores"
  replace cp-1 "nodes-$version/cp-1"
  within "$form_limit" "the hook of cp-1 waits for $snapshot" waits_for cp-1 "$snapshot"
  bring "$dir/copy.db" cp-1 "$snapshot"
  within "$form_limit" "cp-1 is done" is_done cp-1
  within "$form_limit" "cp-1 is Ready" kubectl wait node cp-1 --for condition=Ready --timeout 5s
  kiln render --config cluster.yaml --out "nodes-$version" --review "$version" ||
    fail "the documents without --restore"
  within "$step_limit" "cp-1 takes pods" kubectl uncordon cp-1
}

command -v jq >/dev/null || skip "needs jq"
begin "${arguments[@]}"
each scenario "${scenarios[@]}"
