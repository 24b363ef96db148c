#!/usr/bin/env bash
# Boots machines from documents that kiln renders, touches nothing, and checks that they become a
# cluster. Each boot ends with the boot net (net/main.go): what console and journal must not say.
#
#   run.sh [--keep] [--power-cut SECONDS] [--replace] [CASE...]
#
# CASE is a folder of clusters/: cloud-init and ignition (one control plane and one worker), or ha
# (three control planes). Without a CASE, all three run. Machines whose names begin with cp- are
# control planes.
#
# The machines are containers of this computer. With MACHINES=qemu they are emulated: a kernel, an
# initramfs and a disk of their own, which a power cut harms.
#
#   --keep                leave the machines running, and the rendered files where they are; for a
#                         single CASE
#   --power-cut SECONDS   cut the first control plane's power SECONDS after its first power-on, and
#                         power it on again
#   --replace             at the end, power on the last machine with an empty disk and the same
#                         document
set -euo pipefail
export MACHINES=${MACHINES:-container}
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/probes.sh"

keep='' power_cut='' replace='' cases=() arguments=("$@")
while (($#)); do
  case $1 in
  --keep) keep=yes ;;
  --replace) replace=yes ;;
  --power-cut)
    power_cut=${2:-}
    [[ $power_cut =~ ^[0-9]+$ ]] || die "--power-cut needs a number of seconds"
    shift
    ;;
  -h | --help) usage "$1" ;;
  -*) die "unknown option $1; see $0 --help" ;;
  *)
    [[ -f $here/clusters/$1/cluster.yaml ]] || die "there is no clusters/$1/cluster.yaml"
    cases+=("$1")
    ;;
  esac
  shift
done
((${#cases[@]})) || cases=(cloud-init ignition ha)
[[ -z $keep || ${#cases[@]} == 1 ]] ||
  die "--keep needs a single case, since the next one takes the machines' place"
begin "${arguments[@]}"

# The checks. Each succeeds if its sentence is true now; within repeats it.

every_api_server_is_ready() {
  local machine
  for machine in "${control_planes[@]}"; do
    kubectl --server "$(vm api "$machine")" get --raw /readyz || return
  done
}

logs_are_shown() { kubectl logs probe-server | grep 'GET / from'; }
exec_works() { [[ $(kubectl exec probe-server -- /probe get http://127.0.0.1:8080/) == probe-server ]]; }

# Without this flag an API server trusts any kubelet's certificate, and logs and exec above would
# prove little.
kubelets_are_verified() {
  local machine
  for machine in "${control_planes[@]}"; do
    vm ssh "$machine" 'cat /proc/[0-9]*/cmdline | tr "\0" "\n" |
      grep -e ^--kubelet-certificate-authority=' || return
  done
}

# roles_of MACHINE prints the roles, NAME=VALUE, that the machine's document gives it.
# shellcheck disable=SC2016 # the machine's shell expands it
roles_of() { vm ssh "$1" '. /etc/kiln/machine; echo "${roles-}"'; }
workers_have_roles() {
  local machine role found='' roles
  for machine in "${machines[@]}"; do
    roles=$(roles_of "$machine") || return
    for role in $roles; do
      found=$(kubectl get nodes -l "node-role.kubernetes.io/$role" -o name) || return
      echo "$role: $found"
      grep -qx "node/$machine" <<<"$found" || return
    done
  done
  [[ -n $found ]]
}
# What a kubelet that somebody has taken over would try.
# shellcheck disable=SC2016 # the machine's shell expands it
kubelet_cannot_take_a_role() {
  local answer
  answer=$(vm ssh "${machines[-1]}" '. /etc/kiln/machine
    curl -s -m 20 --cacert /etc/kubernetes/pki/ca.crt --cert /var/lib/kubelet/pki/kubelet-client-current.pem -X PATCH \
      -H "Content-Type: application/merge-patch+json" -d "{\"metadata\":{\"labels\":{\"role.kiln.dev/other\":\"\"}}}" "$api/api/v1/nodes/$node"') || return
  echo "$answer"
  [[ $answer == *'"code": 403'* || $answer == *'"code":403'* ]]
}

# What the profile cis promises, and that it costs no function.

port_forward_works() {
  local port=18080 pid answer=''
  kubectl port-forward pod/probe-server "$port:8080" &
  pid=$!
  for _ in {1..20}; do
    sleep 1
    answer=$(curl -s -m 5 "http://127.0.0.1:$port/") && break
  done
  kill "$pid"
  wait "$pid" || true
  [[ $answer == probe-server ]]
}
kubelets_show_usage() { # what kubectl top and metrics-server ask for
  local machine
  for machine in "${machines[@]}"; do
    kubectl get --raw "/api/v1/nodes/$machine/proxy/metrics/resource" | grep '^node_cpu_usage_seconds_total' || return
  done
}

# anonymous PATH prints the code of the API server's answer to somebody without a credential.
anonymous() { curl -s -m 20 -k -o /dev/null -w '%{http_code}' "$(vm api "${control_planes[0]}")$1"; }
anonymous_sees_health_alone() {
  local path
  for path in /livez /readyz /healthz; do [[ $(anonymous "$path") == 200 ]] || return; done
  for path in / /version /api /metrics '/api/v1/namespaces/kube-public/configmaps/cluster-info'; do
    [[ $(anonymous "$path") == 401 ]] || return
  done
}

privileged_pod_is_refused() {
  local answer
  answer=$(sed 's/^  - name: probe$/&\n    securityContext: {privileged: true}/; /allowPrivilegeEscalation/d' <<<"$(probe_pod privileged "${machines[0]}")" |
    kubectl create -f - 2>&1) && return 1
  echo "$answer"
  [[ $answer == *'violates PodSecurity "baseline'* ]]
}
privileged_pod_is_taken_in_kube_system() {
  sed 's/^  - name: probe$/&\n    securityContext: {privileged: true}/; /allowPrivilegeEscalation/d; s/namespace: default/namespace: kube-system/' \
    <<<"$(probe_pod privileged "${machines[0]}")" | kubectl create --dry-run=server -f -
}

secrets_are_encrypted() {
  local raw
  kubectl create secret generic hidden --from-literal=word=open-sesame --dry-run=client -o yaml |
    kubectl apply --server-side -f - || return
  kubectl get secret hidden -o jsonpath='{.data.word}' | base64 -d | grep -x open-sesame || return
  stored /registry/secrets/default/hidden "${control_planes[0]}" >"$dir/raw" || return
  raw=$(head -c 24 "$dir/raw" | tr -d '\0')
  echo "begins with $raw"
  [[ $raw == k8s:enc:secretbox:v1:g1:* ]] && ! grep -aq -e open-sesame -e b3Blbi1zZXNhbWU "$dir/raw"
}

# The cluster under test rotates at 1 MiB; a request of some kilobytes fills that sooner.
audit_log_rotates() {
  local long logs
  long=$(printf '%04000d' 0)
  for _ in {1..40}; do kubectl get --raw "/api/v1/namespaces/default/configmaps?labelSelector=a%3D$long" >/dev/null 2>&1 || true; done
  logs=$(vm ssh "${control_planes[0]}" 'stat -c "%a %U %n" /var/log/kubernetes /var/log/kubernetes/*; grep -l -e open-sesame -e b3Blbi1zZXNhbWU /var/log/kubernetes/*')
  echo "$logs"
  [[ $(grep -c '^600 root .*/audit-.*\.log$' <<<"$logs") -ge 1 ]] && grep -q '^700 root /var/log/kubernetes$' <<<"$logs" && ! grep -q '^/' <<<"$logs"
}

# A pod's packet to the metadata service is refused; one to the same address for DNS passes. The
# check runs only if the case's platform has such a service. The first address of the machine's part
# is that of cni0, the second one a pod's.
metadata_is_closed() {
  local machine source
  for machine in "${machines[@]}"; do
    source=$(vm ssh "$machine" sed -n "'s|^FLANNEL_SUBNET=\\(.*\\)1/24$|\\12|p'" /run/flannel/subnet.env) || return
    vm ssh "$machine" "ip route get 169.254.169.254 from $source iif cni0 ipproto tcp dport 53" || return
    ! vm ssh "$machine" "ip route get 169.254.169.254 from $source iif cni0 ipproto tcp dport 80" || return
  done
}

check_hardening() {
  within "$step_limit" "kubectl port-forward" port_forward_works
  within "$step_limit" "kubelets show usage" kubelets_show_usage
  within "$step_limit" "anonymous sees health alone" anonymous_sees_health_alone
  within "$step_limit" "privileged pod refused" privileged_pod_is_refused
  within "$step_limit" "privileged pod allowed in kube-system" privileged_pod_is_taken_in_kube_system
  within "$step_limit" "Secrets encrypted in etcd" secrets_are_encrypted
  within "$step_limit" "audit log rotated, without secrets" audit_log_rotates
  if grep -q 'platform: openstack' "$dir/cluster.yaml"; then
    within "$step_limit" "metadata service closed to pods" metadata_is_closed
  fi
}

# check_pods: the pods on two machines, the network between them, names, logs and exec.
check_pods() {
  check_probes "$1"
  within "$step_limit" "kubectl logs$1" logs_are_shown
  within "$step_limit" "kubectl exec$1" exec_works
}

run_case() {
  local machine seed
  render_case "$1"

  # The last machine, a worker if there is one, gets its power first: the order must not matter.
  power_on=$SECONDS
  for ((i = ${#machines[@]} - 1; i >= 0; i--)); do
    machine=${machines[i]}
    seed=$dir/nodes/$machine
    if [[ $MACHINES == qemu && -f $seed/user-data ]]; then # the disk that kiln makes
      mkdir "$dir/$machine"
      "$tmp/kiln" iso "$seed" --out "$dir/$machine/seed.iso"
      seed=$dir/$machine
    fi
    power "$machine" "$seed"
  done
  if [[ -n $power_cut ]]; then
    sleep "$power_cut"
    vm kill "${control_planes[0]}"
    vm again "${control_planes[0]}"
    record "power of ${control_planes[0]} cut, and on again"
  fi

  within "$form_limit" "API server ready" kubectl get --raw /readyz
  within "$form_limit" "all nodes Ready" nodes_are_ready
  within "$step_limit" "every API server ready" every_api_server_is_ready
  within "$step_limit" "CoreDNS Available" coredns_is_available

  make_probes
  check_pods ""
  check_hardening
  within "$step_limit" "kubelets' certificates are verified" kubelets_are_verified
  within "$step_limit" "hook done on every machine" hooks_are_done
  within "$step_limit" "install credential gone" install_credential_is_gone
  if grep -q node-role.kubernetes.io/ "$dir/cluster.yaml"; then
    within "$step_limit" "workers have their roles" workers_have_roles
    within "$step_limit" "kubelet cannot take a role" kubelet_cannot_take_a_role
  fi
  check_verify
  check_net

  forget_boots "${machines[@]}"
  for machine in "${machines[@]}"; do vm kill "$machine"; done
  power_on=$SECONDS
  for machine in "${machines[@]}"; do vm again "$machine"; done
  within "$form_limit" "all nodes Ready after a power cut of all" nodes_are_ready
  check_pods ", after it"
  within "$step_limit" "hook done on every machine, after it" hooks_are_done
  check_verify
  check_net

  if [[ -n $replace ]]; then
    forget_boots "${machines[-1]}"
    power_on=$SECONDS
    vm wipe "${machines[-1]}"
    within "$form_limit" "${machines[-1]} Ready with an empty disk" nodes_are_ready
    within "$step_limit" "every API server ready, after it" every_api_server_is_ready
    within "$step_limit" "hook done on every machine, after it" hooks_are_done
    check_pods ", after it"
    check_verify "${machines[-1]}"
    check_net "${machines[-1]}"
  fi
}

each run_case "${cases[@]}"
