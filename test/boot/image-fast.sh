#!/usr/bin/env bash
# Unpacks the root of the machines that are containers of this computer (container.sh):
#
#   fast/tree      the files of node.img, without its kernel
#   fast/inputs    what they were made of: if none of it changed, nothing is done
#
# It is the disk that QEMU boots. Only what concerns the computer, and not a machine in it, is
# switched off. While machines run from the tree (alone.sh), a newer one has to wait. Exits with 77
# if something is missing.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=build.sh
source "$here/build.sh"

[[ $(id -u) == 0 ]] || skip "needs root, to make the machines' root"
"$here/image.sh"

fast=$cache/fast tree=$cache/fast/tree.part
mkdir -p "$fast"
exec {lock}>>"$fast/lock"
for how in --shared --exclusive; do
  take_lock "$how" "$lock" "those who make $fast/tree, or whose machines run from it"
  inputs=$(
    sha256sum "$cache/node.inputs" "$here/image-fast.sh" | cut -d ' ' -f 1
    uname -r
  )
  [[ ! -d $fast/tree || $inputs != "$(cat "$fast/inputs" 2>/dev/null)" ]] || exit 0
done

say "unpacking node.img into $fast/tree"
rm -rf "$fast/inputs" "$fast/tree" "$tree"
mkdir -p "$tree"
# The mount goes away with the namespace, whatever happens.
# shellcheck disable=SC2016 # $1 and $2 are the inner shell's
unshare --mount sh -euc '
  mount -o loop,ro,noload "$1" /mnt || exit 77
  cp -a /mnt/. "$2/"' sh "$cache/node.img" "$tree" || {
  status=$?
  rm -rf "$tree"
  [[ $status != 77 ]] || skip "cannot mount node.img here"
  die "cannot unpack node.img"
}
rm -rf "${tree:?}"/{boot/*,lost+found,usr/lib/modules,vmlinuz*,initrd.img*}
: >"$tree/etc/fstab" # the root is mounted before systemd starts

# A kernel that has everything built in has no folder of modules. The hook looks for some by name.
modules=$tree/usr/lib/modules/$(uname -r)
install -d "$modules"
if [[ -r /proc/config.gz ]]; then
  config=$(zcat /proc/config.gz)
  while read -r option file; do
    ! grep -qx "CONFIG_$option=y" <<<"$config" || echo "kernel/$file.ko"
  done >"$modules/modules.builtin" <<'LIST'
OVERLAY_FS fs/overlayfs/overlay
BRIDGE_NETFILTER net/bridge/br_netfilter
NF_CONNTRACK net/netfilter/nf_conntrack
NF_TABLES net/netfilter/nf_tables
NETFILTER_XTABLES net/netfilter/x_tables
VXLAN drivers/net/vxlan/vxlan
LIST
fi

# systemd-modules-load finds what is built in only with the index of these lists.
: >"$modules/modules.order"
: >"$modules/modules.builtin.modinfo"
chroot "$tree" depmod "$(uname -r)" || die "depmod"

# Units for devices, disks and terminals, which these machines do not have; and timers that ask a
# mirror of Debian.
for unit in cpuinfo.service getty@.service console-getty.service dev-hugepages.mount \
  e2scrub_all.timer e2scrub_reap.service fstrim.timer apt-daily.timer apt-daily-upgrade.timer; do
  ln -sf /dev/null "$tree/etc/systemd/system/$unit"
done

# A computer may have taken CAP_SYS_RESOURCE from everybody. Nothing may lower an OOM score then,
# and runc fails if it has to.
cat >"$tree/usr/local/sbin/runc" <<'RUNC'
#!/bin/sh
before=
for word; do
  case $before in
  --bundle | -b) file=$word/config.json ;;
  --process | -p) file=$word ;;
  *) file= ;;
  esac
  [ ! -f "$file" ] || sed -i 's/"oomScoreAdj":-[0-9]*/"oomScoreAdj":0/g' "$file"
  before=$word
done
exec /usr/sbin/runc "$@"
RUNC
chmod 755 "$tree/usr/local/sbin/runc"

# With these protections systemd gives the hook a /proc of its own, without the files that stand in
# for the kernel's shared settings (container-run.sh). The drop-in is part of the system, below /usr:
# kiln verify names those in /etc.
install -d "$tree/usr/lib/systemd/system/kiln.service.d"
printf '[Service]\nProtectKernelTunables=no\nProtectControlGroups=no\n' \
  >"$tree/usr/lib/systemd/system/kiln.service.d/container.conf"

mv "$tree" "$fast/tree"
printf '%s' "$inputs" >"$fast/inputs"
