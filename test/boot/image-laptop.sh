#!/usr/bin/env bash
# Makes what laptop.sh serves to a cluster on a laptop, into the folder laptop of the cache:
#
#   debian.qcow2        a cloud image of Debian 13, with the packages of Debian's own `generic` one,
#                       its partitions and its settings; it boots from a BIOS alone
#   mirror              programs, packed as their projects publish them, and container images as a
#                       registry has them (v2), for mirror/main.go
#   cluster.lock.yaml   the lock for these builds
#
# The versions are those that kiln gives a machine unless somebody sets others. Files that exist are
# not made again, unless their sources changed. Exits with 77 if this computer cannot make them.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=versions.sh
source "$here/versions.sh"
# shellcheck source=build.sh
source "$here/build.sh"

"$here/image.sh" # Kubernetes, etcd, CoreDNS and Flannel are those of the other machines

laptop=$cache/laptop
# default PROGRAM prints the version that kiln gives a machine.
default() { sed -n "s/^ *$1 .*, v\([0-9.]*\) if it is not set/\1/p" <<<"$defaults"; }
defaults=$(go run -C "$here/../.." ./cmd/kiln explain machines.binaries)
containerd=$(default containerd) runc=$(default runc) crictl=$(default crictl)
plugins=$(default cniPlugins)

inputs=$(
  cat "$cache/node.inputs"
  echo "$containerd $runc $plugins $crictl"
  sha256sum "$here/image-laptop.sh" | cut -d ' ' -f 1
)
is_made() { [[ $inputs == "$(cat "$laptop/inputs" 2>/dev/null)" ]]; }
! is_made || exit 0
work_alone
! is_made || exit 0

packages mmdebstrap e2fsprogs fdisk qemu-utils gcc libc6-dev libseccomp-dev pkg-config
ctrd=github.com/containerd/containerd/v2 oci=github.com/opencontainers/runc
cni=github.com/containernetworking/plugins cri=sigs.k8s.io/cri-tools
VARIABLES=$ctrd/version.Version=v$containerd \
  compile containerd "$containerd" $ctrd $ctrd/cmd/{containerd,containerd-shim-runc-v2,ctr}
GOFLAGS=-tags=seccomp CGO_ENABLED=1 compile runc "$runc" $oci $oci
VARIABLES=$cni/pkg/utils/buildversion.BuildVersion=v$plugins \
  compile cni-plugins "$plugins" $cni \
  $cni/plugins/{main/bridge,main/loopback,ipam/host-local,meta/portmap}
VARIABLES=$cri/pkg/version.Version=v$crictl compile crictl "$crictl" $cri $cri/cmd/crictl

# The packages that config_space/13 of Debian's debian-cloud-images names for the classes of its
# image `generic`, without those that they recommend, as there: SYSTEM_BOOT, AMD64, CLOUD, GENERIC,
# EXTRAS.
debian cloud --variant=minbase --include="
  apparmor apt-utils init iptables iputils-ping less libnss-myhostname libnss-resolve libpam-systemd
  linux-sysctl-defaults nano netbase netplan.io polkitd sudo systemd-resolved systemd-timesyncd
  unattended-upgrades vim-tiny whiptail zstd
  dosfstools grub-cloud-amd64 linux-image-amd64
  cloud-initramfs-growroot openssh-server ssh-import-id
  cloud-guest-utils cloud-init
  apt-listchanges bash-completion bind9-host ca-certificates curl ethtool man-db manpages pciutils
  psmisc reportbug screen socat tcpdump traceroute uuid-runtime vim xz-utils"

rm -rf "$work" "$laptop"
mkdir -p "$work/images" "$work/pack/bin" "$laptop/mirror"
for program in mkimg pause probe; do
  go build -C "$here" -trimpath -ldflags '-s -w' -o "$work/$program" "./$program"
done

say "packing the container images"
kubernetes=$bin/kubernetes-$KUBERNETES
registry=registry.k8s.io
tables=()
for program in {iptables,ip6tables}{,-save,-restore}; do
  tables+=("/usr/sbin/$program=$here/iptables")
done
for program in kube-apiserver kube-controller-manager kube-scheduler; do
  image "$registry/$program:v$KUBERNETES" "/usr/local/bin/$program=$kubernetes/$program"
done
image "$registry/kube-proxy:v$KUBERNETES" -base "$store/proxy.tar" \
  "/usr/local/bin/kube-proxy=$kubernetes/kube-proxy" "${tables[@]}"
image "$registry/etcd:$ETCD-0" "/usr/local/bin/etcd=$bin/etcd-$ETCD/etcd" \
  "/usr/local/bin/etcdctl=$bin/etcdctl-$ETCD/etcdctl" \
  "/usr/local/bin/etcdutl=$bin/etcdutl-$ETCDUTL/etcdutl"
image "$registry/coredns/coredns:v$COREDNS" -entrypoint /coredns \
  "/coredns=$bin/coredns-$COREDNS/coredns"
image "$registry/pause:$PAUSE" -entrypoint /pause "/pause=$work/pause"
image "$registry/probe:1" -entrypoint "/probe serve" "/probe=$work/probe"
image "ghcr.io/flannel-io/flannel:v$FLANNEL" -base "$store/proxy.tar" \
  "/opt/bin/flanneld=$bin/flannel-$FLANNEL/flannel" \
  "/opt/bin/install-conf=$bin/flannel-$FLANNEL/install_conf" "${tables[@]}"
image "ghcr.io/flannel-io/flannel-cni-plugin:v$FLANNEL_PLUGIN" -base "$store/proxy.tar" \
  "/flannel=$bin/flannel-plugin-0.9.1/flannel-plugin"

for file in "$work"/images/*.tar; do publish_image "$file" "$laptop/mirror"; done

# publish NAME VERSION FILE puts a program into the mirror, and an entry into the lock.
publish() {
  mv "$3" "$laptop/mirror/"
  printf -- '- {name: %s, version: "v%s", arch: amd64, url: "https://builds.example.com/%s"' \
    "$1" "$2" "${3##*/}"
  printf ', sha256: "%s"}\n' "$(sha256sum <"$laptop/mirror/${3##*/}" | cut -d ' ' -f 1)"
}
say "packing the programs"
cp "$kubernetes/kubelet" "$bin/runc-$runc/runc" "$work/pack/"
cp "$bin/containerd-$containerd"/{containerd,containerd-shim-runc-v2,ctr} "$work/pack/bin/"
tar -C "$work/pack" -czf "$work/pack/containerd.tar.gz" bin
tar -C "$bin/cni-plugins-$plugins" -czf "$work/pack/cni-plugins.tgz" .
tar -C "$bin/crictl-$crictl" -czf "$work/pack/crictl.tar.gz" crictl
{
  printf '%s\n' 'apiVersion: kiln.dev/v1alpha1' 'kind: Lock' 'artifacts:'
  publish kubelet "$KUBERNETES" "$work/pack/kubelet"
  publish containerd "$containerd" "$work/pack/containerd.tar.gz"
  publish runc "$runc" "$work/pack/runc"
  publish cniPlugins "$plugins" "$work/pack/cni-plugins.tgz"
  publish crictl "$crictl" "$work/pack/crictl.tar.gz"
} >"$laptop/cluster.lock.yaml"

say "building the disk of the cloud image"
tree=$work/tree
read -r root </proc/sys/kernel/random/uuid
read -r esp </proc/sys/kernel/random/uuid
mkdir "$tree"
tar -xpf "$store/cloud.tar" -C "$tree" --exclude='./dev/*'
# write FILE makes a file of the tree from standard input.
write() {
  mkdir -p "$tree/$(dirname "$1")"
  cat >"$tree/$1"
}
# The files and scripts of the same classes.
printf 'PARTUUID=%s\n' \
  "$root / ext4 rw,discard,errors=remount-ro,x-systemd.growfs 0 1" \
  "$esp /boot/efi vfat defaults,umask=077 0 2" | write etc/fstab
printf 'LANG=C.UTF-8\n' | write etc/default/locale
printf 'do_symlinks = no\n' | write etc/kernel-img.conf
printf 'blacklist pcspkr\nblacklist floppy\n' | write etc/modprobe.d/blacklist.conf
write etc/cloud/cloud.cfg.d/01_debian_cloud.cfg <<'END'
apt:
  generate_mirrorlists: true

system_info:
  default_user:
    name: debian
    lock_passwd: True
    gecos: Debian
    groups: [adm, audio, cdrom, dialout, dip, floppy, plugdev, sudo, video]
    sudo: ["ALL=(ALL) NOPASSWD:ALL"]
    shell: /bin/bash
END
sed -i 's/^#PasswordAuthentication yes/PasswordAuthentication no/' "$tree/etc/ssh/sshd_config"
printf 'ClientAliveInterval 120\n' >>"$tree/etc/ssh/sshd_config"
rm -f "$tree"/etc/ssh/ssh_host_* "$tree/var/lib/dbus/machine-id"
: >"$tree/etc/machine-id"
: >"$tree/etc/hostname"
mkdir -p "$tree/boot/efi" "$tree/boot/grub"
cp -r "$tree/usr/lib/grub/i386-pc" "$tree/boot/grub/"
kernel=$(cd "$tree/boot" && echo vmlinuz-*)
write boot/grub/grub.cfg <<END
linux /boot/$kernel root=PARTUUID=$root ro console=tty0 console=ttyS0,115200 \
earlyprintk=ttyS0,115200 consoleblank=0
initrd /boot/initrd.img-${kernel#vmlinuz-}
boot
END
# The /proc that these want goes away with the mount namespace, whatever happens.
# shellcheck disable=SC2016 # $1 is the inner shell's
unshare --mount sh -euc '
  mount -t proc proc "$1/proc"
  chroot "$1" systemctl --quiet enable systemd-networkd systemd-resolved
  chroot "$1" update-initramfs -u >/dev/null
  chroot "$1" grub-mkimage -O i386-pc -p "(hd0,gpt1)/boot/grub" -o /boot/grub/core.img \
    biosdisk part_gpt ext2
  truncate -s 124M "$1/boot/efi.img"
  chroot "$1" mkfs.vfat /boot/efi.img >/dev/null' sh "$tree"
mv "$tree/boot/efi.img" "$tree/boot/grub/core.img" "$work/"

disk=$work/disk.img
truncate -s 3G "$disk"
sfdisk --quiet "$disk" <<END
label: gpt
unit: sectors
p14 : start=2048, size=6144, type=21686148-6449-6E6F-744E-656564454649
p15 : start=8192, size=253952, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, uuid=$esp
p1 : start=262144, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, uuid=$root
END
# part FILE SECTOR writes a file into the disk.
part() { dd if="$1" of="$disk" bs=512 seek="$2" conv=notrunc,sparse status=none; }
# bytes OFFSET OCTAL writes bytes into the disk.
bytes() { printf '%b' "$2" | dd of="$disk" bs=1 seek="$1" conv=notrunc status=none; }
# What grub-bios-setup does: the boot sector, but for the table of partitions, knows where the rest
# of GRUB begins (sector 2048), and its first sector where the second is. Here is no disk to ask.
head -c 440 "$tree/usr/lib/grub/i386-pc/boot.img" >"$work/boot.img"
dd if="$work/boot.img" of="$disk" conv=notrunc status=none
part "$work/core.img" 2048
bytes $((0x5c)) '\0000\0010\0000\0000\0000\0000\0000\0000'
bytes $((0x66)) '\0220\0220' # no guess at the drive
bytes $((2048 * 512 + 0x1f4)) '\0001\0010\0000\0000\0000\0000\0000\0000'
part "$work/efi.img" 8192
# GRUB and the initramfs read these; the rest of the disk is for growpart.
mke2fs -q -t ext4 -E offset=$((262144 * 512)) -d "$tree" "$disk" $(((3 * 1024 - 129) * 1024))k
qemu-img convert -O qcow2 "$disk" "$laptop/debian.qcow2"

printf '%s' "$inputs" >"$laptop/inputs"
rm -rf "$work"
say "done: $laptop"
