#!/usr/bin/env bash
# Builds the machine that the boot tests boot, and the programs that they need, into the cache
# (KILN_BOOT_CACHE, by default ~/.cache/kiln-boot): from Go modules and Debian packages, so that
# every program is a known release and no container registry is asked.
#
#   bin/NAME-VERSION/      programs: Kubernetes, etcd, CoreDNS, containerd, Ignition
#   kubectl                the kubectl among them
#   node.img               the machine's disk: Debian 13 with cloud-init, Ignition, the kubelet,
#   vmlinuz, initrd        kubectl, and containerd whose store holds images of the programs under
#                          their real names; no configuration of Kubernetes at all
#   id, known_hosts        root's key for ssh, and the machines' host key
#
# KILN_BOOT_MINOR (1.36) is the minor of Kubernetes. versions.sh has the versions of each. What is
# made for another minor lies in a folder of its name; programs and trees of Debian are in bin and
# beside it for all.
#
# Files that exist are not made again. After a change of a version or of this folder, the files that
# depend on it are made again. Needs root on Debian or Ubuntu (amd64), Go, the Go module proxy and a
# Debian mirror; exits with 77 if one is missing, and with 1 if they are there and the image cannot
# be made.
set -euo pipefail

DISK_SIZE=8G

# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=versions.sh
source "$here/versions.sh"
# shellcheck source=build.sh
source "$here/build.sh"
kubernetes=$bin/kubernetes-$KUBERNETES

[[ $(uname -sm) == "Linux x86_64" ]] || skip "needs Linux on amd64"
[[ $(id -u) == 0 ]] || skip "needs root, to unpack Debian and to load images into containerd's store"
command -v go >/dev/null || skip "needs Go"

packages qemu-system-x86 qemu-utils user-mode-linux genisoimage vde2 socat openssh-client
mkdir -p "$bin" "$cache"
chmod 700 "$store"

# Everything that the disk is made of: if none of it changed, neither did the disk.
inputs=$(
  cd "$here"
  find image.sh build.sh iptables rootfs mkimg pause probe vip -type f -print0 | sort -z |
    xargs -0 sha256sum
  echo "$KUBERNETES $ETCD $ETCDUTL $COREDNS $PAUSE $CONTAINERD $HAPROXY $KUBE_VIP $IGNITION $FLANNEL $FLANNEL_PLUGIN $DEBIAN"
)
is_made() { [[ -e $cache/node.img && $inputs == "$(cat "$cache/node.inputs" 2>/dev/null)" ]]; }
! is_made || exit 0 # also while somebody else builds something
work_alone
! is_made || exit 0
[[ -e $cache/id ]] || ssh-keygen -q -t ed25519 -N '' -C boot-test -f "$cache/id"

packages mmdebstrap e2fsprogs gcc libc6-dev libblkid-dev
k8s=k8s.io/kubernetes
ctrd=github.com/containerd/containerd/v2
ignition=github.com/coreos/ignition/v2
VARIABLES=$(release_variables) \
  compile kubernetes "$KUBERNETES" $k8s $k8s/cmd/{kubeadm,kubelet,kubectl,kube-proxy,kube-apiserver,kube-controller-manager,kube-scheduler}
compile etcd "$ETCD" go.etcd.io/etcd/server/v3{,}
compile etcdctl "$ETCD" go.etcd.io/etcd/etcdctl/v3{,}
compile etcdutl "$ETCDUTL" go.etcd.io/etcd/etcdutl/v3{,}
compile coredns "$COREDNS" github.com/coredns/coredns{,}
compile containerd $CONTAINERD $ctrd $ctrd/cmd/{containerd,containerd-shim-runc-v2,ctr}
# Ignition links with libblkid. Debian has no SELinux labels to restore, as Flatcar has not.
VARIABLES="$ignition/internal/distro.selinuxRelabel=false $ignition/internal/version.Raw=v$IGNITION" CGO_ENABLED=1 \
  compile ignition $IGNITION $ignition $ignition/internal
# Flannel's backend udp wants cgo. The proxy does not serve the versions of two modules of a cloud's
# backend, which nothing here uses.
flannel=github.com/flannel-io/flannel
cloud=github.com/tencentcloud/tencentcloud-sdk-go/tencentcloud
REPLACES="$cloud/common=$cloud/common@v1.1.15 $cloud/vpc=$cloud/vpc@v1.1.14" CGO_ENABLED=1 \
  compile flannel $FLANNEL $flannel $flannel{,/cmd/install_conf}
# Nor does it serve the module of Flannel's CNI plugin. The plugin's source was in another one
# before, which speaks CNI 1.0.0 with a newer library.
plugins=github.com/containernetworking/plugins
REQUIRES=github.com/containernetworking/cni@v1.2.3 \
  compile flannel-plugin 0.9.1 $plugins $plugins/plugins/meta/flannel

# kube-proxy's image needs the programs below and no whole system. Its packages are unpacked and not
# configured, so the links that their scripts would make are made here.
# shellcheck disable=SC2016 # $1 is the hook's
debian proxy --variant=extract --include=conntrack,coreutils,dash,ipset,iptables,kmod,libc-bin,nftables --extract-hook='
  cd "$1"
  for folder in bin sbin lib lib64; do [ -e $folder ] || ln -s usr/$folder $folder; done'
# What stands in for the images of HAProxy and kube-vip.
# shellcheck disable=SC2016 # $1 is the hook's
debian balancer --variant=extract --include=haproxy,iproute2,iputils-arping,libc-bin --extract-hook='
  cd "$1"
  for folder in bin sbin lib lib64; do [ -e $folder ] || ln -s usr/$folder $folder; done'
debian machine --variant=minbase --include="
  systemd systemd-sysv systemd-resolved udev dbus linux-image-cloud-amd64 zstd cloud-init cloud-guest-utils
  iproute2 iptables nftables conntrack ethtool kmod procps socat netbase ca-certificates curl openssh-server
  util-linux mount e2fsprogs runc containernetworking-plugins"

rm -rf "$work"
mkdir -p "$work/images"
for program in mkimg pause probe vip; do
  go build -C "$here" -trimpath -ldflags '-s -w' -o "$work/$program" "./$program"
done

say "packing the container images"
registry=registry.k8s.io
for program in kube-apiserver kube-controller-manager kube-scheduler; do
  image "$registry/$program:v$KUBERNETES" /usr/local/bin/$program="$kubernetes/$program"
done
tables=()
for program in {iptables,ip6tables}{,-save,-restore}; do tables+=("/usr/sbin/$program=$here/iptables"); done
image "$registry/kube-proxy:v$KUBERNETES" -base "$store/proxy.tar" /usr/local/bin/kube-proxy="$kubernetes/kube-proxy" "${tables[@]}"
image "$registry/etcd:$ETCD-0" /usr/local/bin/etcd="$bin/etcd-$ETCD/etcd" /usr/local/bin/etcdctl="$bin/etcdctl-$ETCD/etcdctl" \
  /usr/local/bin/etcdutl="$bin/etcdutl-$ETCDUTL/etcdutl"
image "$registry/coredns/coredns:v$COREDNS" -entrypoint /coredns /coredns="$bin/coredns-$COREDNS/coredns"
image "$registry/pause:$PAUSE" -entrypoint /pause /pause="$work/pause"
# The programs of Debian's HAProxy and our own vip, under the names that kiln gives to a machine.
image docker.io/library/haproxy:$HAPROXY-alpine -base "$store/balancer.tar" /probe="$work/probe"
image ghcr.io/kube-vip/kube-vip:v$KUBE_VIP -base "$store/balancer.tar" /kube-vip="$work/vip"
# Flannel's own image has the same programs of iptables and nftables, and runs without an entry
# point: its DaemonSet names the programs.
image ghcr.io/flannel-io/flannel:v$FLANNEL -base "$store/proxy.tar" /opt/bin/flanneld="$bin/flannel-$FLANNEL/flannel" \
  /opt/bin/install-conf="$bin/flannel-$FLANNEL/install_conf" "${tables[@]}"
image ghcr.io/flannel-io/flannel-cni-plugin:v$FLANNEL_PLUGIN -base "$store/proxy.tar" \
  /flannel="$bin/flannel-plugin-0.9.1/flannel-plugin"
image kiln.test/probe:1 -entrypoint "/probe serve" /probe="$work/probe"

say "building the machine's disk"
tree=$work/tree
mkdir "$tree"
tar -xpf "$store/machine.tar" -C "$tree" --exclude='./dev/*'
cp -r --no-preserve=ownership "$here/rootfs/." "$tree/"
install -d "$tree/opt/cni/bin" "$tree/var/lib/containerd"
install -t "$tree/usr/local/bin" "$kubernetes"/{kubelet,kubectl,kubeadm} \
  "$bin/containerd-$CONTAINERD"/{containerd,containerd-shim-runc-v2,ctr} "$bin/ignition-$IGNITION/ignition"
cp -a "$tree"/usr/lib/cni/* "$tree/opt/cni/bin/"
cp -r /usr/lib/uml/modules/* "$tree/usr/lib/modules/"

# Every machine has the same host key, and root the same authorized key: nothing secret ever runs
# here, and ssh can verify the machine from the first second.
rm -f "$tree"/etc/ssh/ssh_host_*
ssh-keygen -q -t ed25519 -N '' -C boot-test -f "$tree/etc/ssh/ssh_host_ed25519_key"
printf 'boot-test %s\n' "$(cat "$tree/etc/ssh/ssh_host_ed25519_key.pub")" >"$work/known_hosts"
install -d -m 700 "$tree/root/.ssh"
install -m 600 "$cache/id.pub" "$tree/root/.ssh/authorized_keys"

: >"$tree/etc/machine-id" # each machine makes its own
# The /proc that these want goes away with the mount namespace, whatever happens.
# shellcheck disable=SC2016 # $1 is the inner shell's
unshare --mount sh -euc '
  mount -t proc proc "$1/proc"
  chroot "$1" systemctl --quiet enable containerd cpuinfo systemd-networkd systemd-resolved ssh
  chroot "$1" update-initramfs -u >/dev/null' sh "$tree"
load "$work"/images/*.tar

cp "$tree"/boot/vmlinuz-* "$work/vmlinuz"
cp "$tree"/boot/initrd.img-* "$work/initrd"
truncate -s $DISK_SIZE "$work/node.img"
mke2fs -q -t ext4 -L root -d "$tree" "$work/node.img"

# Machines that were started from the old disk cannot go on with the new one. The list of inputs
# goes in last.
rm -f "$cache/node.inputs"
ln -sfr "$kubernetes/kubectl" "$cache/kubectl"
mv "$work"/{known_hosts,vmlinuz,initrd,node.img} "$cache/"
printf '%s' "$inputs" >"$cache/node.inputs"
rm -rf "$work"
say "done: $cache/node.img"
