#!/usr/bin/env bash
# Times kubeadm on the same image and the same emulation: one control plane that runs `kubeadm init`
# from its user-data, the usual way without kiln. It prints the figures that the README compares
# with.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

machine=kubeadm-1
memory=3072
limit=1200 # seconds until CoreDNS is available

vm() { "$here/vm.sh" "$@"; }

"$here/image.sh"
[[ ! -d $vms/$machine ]] || die "there is a machine $machine already; end it with: $here/vm.sh off"
seed=$(mktemp -d)
trap 'vm off; rm -rf "$seed"' EXIT

printf 'instance-id: %s\nlocal-hostname: %s\n' $machine $machine >"$seed/meta-data"
cat >"$seed/network-config" <<'EOF'
version: 2
ethernets:
  eth0: {dhcp4: true}
  eth1: {addresses: [10.10.0.11/24]}
EOF
# The files are those of Kubernetes' packages and installation guide. The CNI configuration is
# kiln's for a single machine, so that the node becomes Ready.
cat >"$seed/user-data" <<'EOF'
#cloud-config
write_files:
- path: /etc/containerd/config.toml
  content: |
    version = 3
    [plugins.'io.containerd.cri.v1.images'.pinned_images]
      sandbox = 'registry.k8s.io/pause:3.10.2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      SystemdCgroup = true
- path: /etc/cni/net.d/10-bridge.conflist
  content: |
    {"cniVersion": "1.0.0", "name": "pods", "plugins": [
      {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
       "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.244.11.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
      {"type": "portmap", "capabilities": {"portMappings": true}}]}
- path: /etc/sysctl.d/99-kubernetes.conf
  content: |
    net.ipv4.ip_forward = 1
- path: /etc/systemd/system/kubelet.service
  content: |
    [Unit]
    Wants=network-online.target
    After=network-online.target
    [Service]
    ExecStart=/usr/local/bin/kubelet
    Restart=always
    StartLimitInterval=0
    RestartSec=10
    [Install]
    WantedBy=multi-user.target
- path: /etc/systemd/system/kubelet.service.d/10-kubeadm.conf
  content: |
    [Service]
    Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
    Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
    EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
    ExecStart=
    ExecStart=/usr/local/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
- path: /etc/kubeadm.yaml
  content: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: InitConfiguration
    localAPIEndpoint: {advertiseAddress: 10.10.0.11}
    nodeRegistration:
      kubeletExtraArgs: [{name: node-ip, value: 10.10.0.11}]
    ---
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: ClusterConfiguration
    kubernetesVersion: KUBERNETES
    networking: {podSubnet: 10.244.0.0/16}
    ---
    apiVersion: kubeproxy.config.k8s.io/v1alpha1
    kind: KubeProxyConfiguration
    mode: nftables
- path: /usr/local/sbin/init
  permissions: "0755"
  content: |
    #!/bin/sh
    sysctl -q --system
    systemctl daemon-reload
    systemctl restart containerd
    systemctl enable kubelet
    begun=$(cut -d. -f1 /proc/uptime)
    kubeadm init --config /etc/kubeadm.yaml >/var/log/kubeadm.log 2>&1
    status=$?
    ended=$(cut -d. -f1 /proc/uptime)
    echo "kubeadm init: status $status seconds $((ended - begun))" >/dev/console
runcmd:
- [/usr/local/sbin/init]
EOF
version=$("$cache/kubectl" version --client -o json | sed -n 's/.*"gitVersion": "\(.*\)",$/\1/p')
sed -i "s/KUBERNETES/$version/" "$seed/user-data"

begun=$(date +%s)
vm start $machine "$seed" $memory
since() { echo $(($(date +%s) - begun)); }

# The console tells the end of kubeadm, so that no question from here slows the machine down.
until verdict=$(grep -ao 'kubeadm init: status .*' "$vms/$machine/console.log"); do
  (($(since) < limit)) || die "kubeadm init did not end in $limit seconds"
  sleep 2
done
ended=$(since)
read -r _ _ _ status _ seconds <<<"${verdict//$'\r'/}"
if [[ $status != 0 ]]; then
  vm ssh $machine tail -n 40 /var/log/kubeadm.log >&2
  die "kubeadm init failed"
fi
vm ssh $machine cat /etc/kubernetes/admin.conf >"$seed/admin.conf"
kubectl() {
  "$cache/kubectl" --kubeconfig "$seed/admin.conf" --cache-dir "$seed/kube" \
    --server "$(vm api $machine)" --tls-server-name kubernetes "$@"
}
kubectl wait --timeout ${limit}s --for condition=Ready node/$machine >/dev/null
kubectl -n kube-system wait --timeout ${limit}s --for condition=Available deployment/coredns >/dev/null

# When it happened, by the cluster's own record; the machine's clock is this computer's.
at() { echo $(($(date -d "$(kubectl "$@")" +%s) - begun)); }
when='jsonpath={.status.conditions[?(@.type=="%s")].lastTransitionTime}'
# shellcheck disable=SC2059 # the format is the line above
cat <<EOF
kubeadm init itself           $seconds s
power-on to its end           $ended s
power-on to node registered   $(at get node $machine -o 'jsonpath={.metadata.creationTimestamp}') s
power-on to node Ready        $(at get node $machine -o "$(printf "$when" Ready)") s
power-on to CoreDNS Available $(at -n kube-system get deployment coredns -o "$(printf "$when" Available)") s
EOF
