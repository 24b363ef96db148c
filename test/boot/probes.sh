# shellcheck shell=bash disable=SC2154
# Pods and Services that show what the network of pods does (probe/main.go), as manifests. Sourced.

# probe_pod NAME MACHINE [APP [PORT]] prints a pod of the probe on that machine, with the label app,
# which is its name if APP is not there, and with PORT as a port of the machine. Without PORT it
# satisfies the strictest pod security standard. It requests some processor time: without a request
# a pod gets next to nothing on a saturated machine, and these are saturated.
probe_pod() {
  cat <<EOF
---
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: default, labels: {app: ${3:-$1}}}
spec:
  nodeSelector: {kubernetes.io/hostname: $2}
  tolerations: [{operator: Exists}]
  securityContext: {runAsNonRoot: true, runAsUser: 65534, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: probe
    image: kiln.test/probe:1
    imagePullPolicy: IfNotPresent
    ports: [{containerPort: 8080${4:+, hostPort: $4}}]
    readinessProbe: {httpGet: {path: /ready, port: 8080}}
    resources: {requests: {cpu: 50m, memory: 16Mi}}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
EOF
}
# probe_service prints a Service before the pods of the app probe-server.
probe_service() {
  cat <<EOF
---
apiVersion: v1
kind: Service
metadata: {name: probe, namespace: default}
spec:
  selector: {app: probe-server}
  ports: [{port: 80, targetPort: 8080}]
EOF
}

# make_probes: a pod that asks on the first machine, one that answers on the last, and a Service.
make_probes() {
  {
    probe_pod probe-client "${machines[0]}"
    probe_pod probe-server "${machines[-1]}"
    probe_service
  } >"$dir/probe.yaml"
  within "$step_limit" "probe pods created" kubectl apply --server-side -f "$dir/probe.yaml"
}

# check_probes WHEN: the two reach each other, Services and names.
check_probes() {
  within "$step_limit" "pod reaches pod on another machine$1" pod_answers
  within "$step_limit" "pod reaches service by name$1" service_answers
  within "$step_limit" "pod resolves kubernetes.default$1" dns_resolves
}
# answers URL: the client pod gets the server pod's answer from URL.
answers() {
  local answer
  answer=$(kubectl exec probe-client -- /probe get "$1") && echo "$answer" && [[ $answer == probe-server ]]
}
pod_answers() {
  local ip
  ip=$(kubectl get pod probe-server -o jsonpath='{.status.podIP}') && [[ -n $ip ]] && answers "http://$ip:8080/"
}
service_answers() { answers http://probe.default.svc.cluster.local/; }

dns_resolves() {
  local found wanted
  found=$(kubectl exec probe-client -- /probe resolve kubernetes.default.svc.cluster.local) &&
    wanted=$(kubectl get service kubernetes -o jsonpath='{.spec.clusterIP}') &&
    echo "found $found, wanted $wanted" && [[ $found == "$wanted" ]]
}
