#!/bin/sh
# Starts a Kubernetes cluster on this computer, for trying it: a control plane and a worker, each a
# virtual machine in QEMU, from Debian's cloud image. Nobody has to be root. It waits until both
# nodes are Ready. down.sh beside it takes everything away.
#
#   docs/examples/laptop/up.sh
#
# It needs kiln (in PATH, or built by make), kubectl, QEMU 7.2 or later with qemu-img, and curl. It
# uses KVM on Linux and HVF on a Mac, if they work. Else QEMU emulates the processors, much slower.
#
# The environment may have:
#
#   KILN_LAPTOP    the folder for all that it makes, ./laptop unless it is set; it must not exist
#   KILN_IMAGE     the file of a cloud image of Debian 13, in place of one that is fetched from
#                  cloud.debian.org into the current folder
#   KILN_MIRROR    the URL of a mirror of the programs, for machines.binaries.mirror
#   KILN_LOCK      a cluster.lock.yaml, if the mirror has builds of your own
#   KILN_REGISTRY  the URL of a mirror of the registries, for machines.registries
#   KILN_PORT      the local port that leads to the API server, 6443 unless it is set
#   KILN_SSH_KEY   the file of a public key that may log in to the machines, as the user debian; the
#                  two ports after KILN_PORT lead to the control plane and to the worker
#   KILN_ACCEL     kvm, hvf or tcg (emulation), in place of what works
#   KILN_PXE       if it is set, the machines get kernel, initrd and document over the network, as
#                  docs/walk-pxe.md has it for bare metal. For x86_64, with debugfs of e2fsprogs.
#                  The third port after KILN_PORT is that of kiln serve
set -eu

dir=${KILN_LAPTOP:-laptop} port=${KILN_PORT:-6443} accel=${KILN_ACCEL:-}
image=${KILN_IMAGE:-} pxe=${KILN_PXE:-}
here=$(cd "$(dirname "$0")" && pwd)
begun=$(date +%s)

say() { echo "up.sh: $*" >&2; }
die() {
  say "$*"
  exit 1
}
need() { command -v "$1" >/dev/null || die "there is no $1 here; $2. Nothing was started"; }

# --- What is needed, before anything is made.

PATH=$PATH:$here/../../../bin
case $(uname -m) in
x86_64) arch=amd64 qemu=qemu-system-x86_64 board=q35 ;;
*)
  arch=arm64 qemu=qemu-system-aarch64 firmware=/usr/share/qemu-efi-aarch64/QEMU_EFI.fd # of Debian
  [ -f "$firmware" ] || firmware=edk2-aarch64-code.fd                                  # QEMU's own
  board=virt,firmware=$firmware
  ;;
esac
need kiln "build it: make, in the top folder of its repository"
need kubectl "get it: https://kubernetes.io/docs/tasks/tools/"
need "$qemu" "get QEMU: apt install qemu-system, or brew install qemu"
need qemu-img "get it: apt install qemu-utils, or brew install qemu"
PATH=$PATH:/sbin:/usr/sbin
[ -z "$pxe" ] || need debugfs "get it: apt install e2fsprogs"
[ ! -e "$dir" ] || die "$dir is there already: $here/down.sh ends that cluster and removes it"

# works ACCELERATOR: QEMU can use it here.
works() {
  echo quit | "$qemu" -machine "none,accel=$1" -display none -monitor stdio >/dev/null 2>&1
}
[ -n "$accel" ] || for accel in kvm hvf tcg; do if works "$accel"; then break; fi; done
model=host
if [ "$accel" = tcg ]; then
  accel=tcg,thread=multi model=max
  # With cx16 its emulation corrupts the memory of guests.
  [ "$arch" = arm64 ] || model=max,-cx16
  say "QEMU emulates the processors, because neither KVM nor HVF is used: this takes long"
fi

# fetch_image fetches Debian's image, and compares its SHA-512 with the published one.
fetch_image() {
  url=https://cloud.debian.org/images/cloud/trixie/latest
  need curl "get it, or let KILN_IMAGE name an image"
  say "fetching $url/$image"
  curl -fL -o "$image.part" "$url/$image"
  sums=$(curl -fsSL "$url/SHA512SUMS")
  got=$( (sha512sum "$image.part" 2>/dev/null || shasum -a 512 "$image.part") | cut -d ' ' -f 1)
  case $sums in
  *"$got  $image"*) mv "$image.part" "$image" ;;
  *) die "$image.part has another SHA-512 than $url/SHA512SUMS says: remove it, and try again" ;;
  esac
}
if [ -z "$image" ]; then
  image=debian-13-generic-$arch.qcow2
  [ -e "$image" ] || fetch_image
fi
[ -f "$image" ] || die "there is no image $image"
image=$(cd "$(dirname "$image")" && pwd)/$(basename "$image")
format=$(qemu-img info "$image" | sed -n 's/^file format: //p')

# --- The cluster.

mkdir -m 700 "$dir"
dir=$(cd "$dir" && pwd)
: >"$dir/made-by-up.sh" # down.sh removes no other folder
echo '*' >"$dir/.gitignore"
key=${KILN_SSH_KEY:+$(cat "$KILN_SSH_KEY")}
[ -z "${KILN_LOCK:-}" ] || cp "$KILN_LOCK" "$dir/cluster.lock.yaml"
cd "$dir"
# A machine has two interfaces. The first is QEMU's own network, alike for each machine: it has the
# default route and the name server, and leads to the outside. The second is the network of the
# cluster, with the address of the node.
kiln init --name laptop --os debian --platform qemu --arch "$arch" |
  awk -v pxe="$pxe" -v mirror="${KILN_MIRROR:-}" -v registry="${KILN_REGISTRY:-}" -v key="$key" '
    /^    binaries:/ && mirror {sub("download", "&, mirror: \"" mirror "\"")}
    {print}
    /^    binaries:/ { # what the hook says, it also says on the console
      print "    files:"
      print "    - path: /etc/systemd/system/kiln.service.d/console.conf"
      print "      content: \"[Service]\\nStandardError=journal+console\\n\""
    }
    /^    binaries:/ && registry {
      print "    registries:"
      print "    - {host: registry.k8s.io, mirrors: [\"" registry "\"]}"
      print "    - {host: ghcr.io, mirrors: [\"" registry "\"]}"
    }
    /^    binaries:/ && key {print "    sshAuthorizedKeys: [\"" key "\"]"}
    /^    addresses:/ {
      split($2, part, /[].]/)
      last = part[4]
      out = "out0"
      lan = "lan0"
      if (pxe) { # cards that are up keep the names that the kernel gives them on this board
        out = "enp0s2"
        lan = "enp0s3"
        print "    mac: \"52:54:00:00:00:" last "\""
      }
      print "    interfaces:"
      print "    - {name: " out ", mac: \"52:54:00:00:00:" last "\", dhcp4: true}"
      print "    - name: " lan
      print "      mac: \"52:54:00:00:01:" last "\""
      print "      addresses: [10.0.0." last "/24]"
    }' >cluster.yaml
kiln validate --config cluster.yaml
kiln render --config cluster.yaml --out nodes
if [ -z "$pxe" ]; then
  kiln iso nodes --out .
else
  served=10.0.2.2:$((port + 3)) # this computer, as the machines see it
  kiln netboot nodes --url "http://$served" --out netboot --append 'root=/dev/vda1 console=ttyS0'
  mkdir -p netboot/images/debian
  qemu-img convert -O raw "$image" disk.raw
  disk="disk.raw?offset=$((262144 * 512))" # where the first partition of Debian's images begins
  kernel=$(debugfs -R 'ls -p /boot' "$disk" 2>/dev/null | sed -n 's|.*/vmlinuz-\([^/]*\)/.*|\1|p')
  debugfs -R "dump /boot/vmlinuz-$kernel netboot/images/debian/vmlinuz" "$disk"
  debugfs -R "dump /boot/initrd.img-$kernel netboot/images/debian/initrd" "$disk"
  rm disk.raw
  kiln serve "$dir/nodes" "$dir/netboot" --listen "127.0.0.1:$((port + 3))" --plain-http \
    --from 127.0.0.1 --window 4h >serve.log 2>&1 &
  echo $! >serve.pid
fi
cp nodes/admin.conf kubeconfig
kubectl --kubeconfig kubeconfig config set-cluster laptop --server "https://127.0.0.1:$port" \
  >/dev/null

# --- The machines.

# start NAME OTHER NUMBER MEMORY FORWARD powers a machine on. NUMBER is the end of its addresses.
# Its second interface is a socket, from which packets go to that of the machine OTHER. Its disk
# does not wait for the computer's own: only when that loses its power, something is lost.
start() {
  name=$1 out=$5
  lan=dgram,id=lan,local.type=unix,local.path=$dir/$1.net,remote.type=unix,remote.path=$dir/$2.net
  set -- -smp 2 -m "$4" \
    -device "virtio-net-pci,netdev=out,mac=52:54:00:00:00:$3" \
    -device "virtio-net-pci,netdev=lan,mac=52:54:00:00:01:$3"
  # Its document is on a disk, or the firmware of its first card gets everything from kiln serve.
  if [ -z "$pxe" ]; then
    set -- "$@" -drive "file=$dir/$name.iso,if=virtio,format=raw,readonly=on"
  else
    set -- "$@" -boot n
    out=$out,bootfile=http://$served/boot.ipxe
  fi
  [ -e "$name.qcow2" ] || qemu-img create -q -f qcow2 -F "$format" -b "$image" "$name.qcow2" 20G
  "$qemu" -name "$name" -machine "$board" -accel "$accel" -cpu "$model" \
    -display none -serial "file:$dir/$name.log" -daemonize -pidfile "$dir/$name.pid" \
    -drive "file=$dir/$name.qcow2,if=virtio,cache=unsafe" \
    -netdev "user,id=out,$out" -netdev "$lan" "$@"
}
# power_on NAME starts one of the two machines.
power_on() {
  case $1 in
  cp-1) start cp-1 worker-1 11 3072 "$to:$port-:6443,$to:$((port + 1))-:22" ;;
  *) start worker-1 cp-1 21 2048 "$to:$((port + 2))-:22" ;;
  esac
}
# power_on_again NAME: QEMU has ended. Emulation does that once in many boots, within the first
# seconds of a kernel.
power_on_again() {
  case $accel in tcg*) ;; *) die "$1 has ended: see $dir/$1.log" ;; esac
  [ ! -e "$1.again" ] || die "$1 has ended twice: see $dir/$1.log"
  : >"$1.again"
  say "$1 has ended, and is powered on again"
  power_on "$1"
}
# said NAME prints what the hook of a machine said last.
said() {
  if [ ! -s "$1.log" ]; then
    echo "nothing on its console yet. If it stays so: $0 with KILN_ACCEL=tcg, after down.sh"
  elif ! grep 'kiln\[[0-9]*\]: ' "$1.log"; then
    echo "boots"
  fi | tr -d '\r' | sed 's/^.*kiln\[[0-9]*\]: //' | tail -n 1
}
ask() { kubectl --kubeconfig kubeconfig --request-timeout 20s get "$@" 2>/dev/null; }
# are_ready MACHINE... waits until as many nodes are Ready, and says each minute how far each is.
are_ready() {
  until ask --raw /readyz >/dev/null && [ "$(ask nodes --no-headers | grep -c ' Ready ')" = $# ]; do
    sleep 5
    now=$(date +%s)
    [ $((now - asked)) -ge 60 ] || continue
    asked=$now
    for machine; do
      kill -0 "$(cat "$machine.pid")" 2>/dev/null ||
        power_on_again "$machine"
      say "$((now - begun)) s: $machine: $(said "$machine")"
    done
  done
}
trap 'say "what runs goes on: $here/down.sh ends it"; exit 130' INT TERM
asked=$begun to=hostfwd=tcp:127.0.0.1
power_on cp-1
say "the control plane boots; its console is in $dir/cp-1.log"
case $accel in
tcg*) # two emulated machines at a time would starve each other, and the API server gives up
  are_ready cp-1
  ;;
esac
power_on worker-1
say "the worker boots; its console is in $dir/worker-1.log"
are_ready cp-1 worker-1

kubectl --kubeconfig kubeconfig get nodes
say "both nodes are Ready after $(($(date +%s) - begun)) seconds. To use the cluster:
  export KUBECONFIG=$dir/kubeconfig
To end it, and to remove it: $here/down.sh"
