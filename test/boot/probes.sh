# shellcheck shell=bash
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
