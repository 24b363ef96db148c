#!/usr/bin/env bash
# Runs a machine that is a container (container.sh), until its power is cut or it switches itself
# off. It boots a machine again that reboots.
#
#   container-run.sh NAME        the power supply, outside of the machine
#   container-run.sh NAME init   process 1: makes the machine's root and becomes systemd
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$here/container.sh"

name=$1 dir=$vms/$1 root=$vms/$1/root index='' segment='' uplink='' mtu=''
# shellcheck source=/dev/null
source "$dir/settings"

supply() {
  local status
  echo $$ >"$dir/supply.pid"
  while :; do
    make_network
    make_cgroups
    status=0
    (
      enter_cgroups "$name"
      exec nsenter "--net=/run/netns/$name" \
        unshare --mount --uts --ipc --pid --cgroup --fork --propagation private "$0" "$name" init
    ) || status=$?
    [[ $status == 129 ]] || break # the kernel makes a SIGHUP of a reboot in a namespace
  done
  echo "ended with $status"
  rm -f "$dir/pid"
}

make_network() {
  ip netns delete "$name" 2>/dev/null || true
  ip netns add "$name"
  if [[ -z $uplink ]]; then
    plug "m$index" eth0 00 "$segment"
    return
  fi
  plug "u$index" eth0 00 "$uplink" isolated on
  plug "m$index" eth1 01 "$segment"
}
plug() { # plug DEVICE INTERFACE BYTE SEGMENT [OPTION...] gives the machine an interface
  local device=$1 interface=$2 byte=$3 segment=$4
  shift 4
  ip link delete "$device" 2>/dev/null || true
  ip link add "$device" type veth peer name "$interface" \
    address "52:54:00:00:$byte:$(printf %02x "$index")" netns "$name"
  ip link set "$device" mtu "$mtu" master "$(bridge "$segment")" up
  (($# == 0)) || ip link set "$device" type bridge_slave "$@"
  ip -n "$name" link set "$interface" mtu "$mtu"
}

# All machines together would weigh as one process of the computer does (1024), and starve beside a
# compiler: they weigh as ten.
make_cgroups() {
  local h folder file weight=10240
  remove_cgroups "$name"
  for h in $hierarchies; do
    for folder in "$group" "$group/$name"; do
      mkdir -p "/sys/fs/cgroup/$h/$folder"
      [[ $h/$folder != "cpu/$group" ]] || echo $weight >"/sys/fs/cgroup/$h/$folder/cpu.shares"
      [[ $h == cpuset ]] || continue # a new one has no processors, and nothing can enter it
      for file in cpuset.cpus cpuset.mems; do
        cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$folder/$file"
      done
    done
  done
}

become_init() {
  local pid _
  read -r pid _ </proc/self/stat # /proc is still the one outside of the machine
  echo "$pid" >"$dir/pid"
  mount -t overlay overlay "$root" \
    -o "lowerdir=$machine_tree,upperdir=$dir/upper,workdir=$dir/work"
  mount_var
  mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
  mount -t tmpfs -o mode=755,nosuid,size=1g tmpfs "$root/run"
  mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
  mkdir -p "$root/run/lock" "$root/run/.old"
  mount_sys
  mount_dev
  shadow_settings
  if [[ -f $dir/seed/config.ign && ! -e $dir/ignited ]]; then ignite; fi
  : >"$dir/up"
  cd "$root"
  pivot_root . run/.old
  mount --make-rshared /
  # systemd 257 runs on cgroup v1 only if its command line says so.
  exec chroot . /bin/sh -c '
    umount -l /run/.old
    rmdir /run/.old
    exec env -i container=kiln-boot TERM=linux \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
      /sbin/init SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1 systemd.unified_cgroup_hierarchy=0 \
      systemd.legacy_systemd_cgroup_controller=1 \
      </dev/console >/dev/console 2>&1'
}

# With VAR_SIZE, in MB, /var has so much room, in memory, and is lost with the power.
mount_var() {
  local store=var/lib/containerd
  if [[ -z ${VAR_SIZE:-} ]]; then
    mount --bind "$dir/var" "$root/var"
    return
  fi
  mount -t tmpfs -o "mode=755,size=${VAR_SIZE}m" tmpfs "$root/var"
  tar -C "$dir/var" --exclude=./lib/containerd -cf - . | tar -C "$root/var" -xpf -
  mkdir "$root/$store"
  mount --bind "$dir/$store" "$root/$store"
}

mount_sys() {
  local h
  mount -t sysfs -o nosuid,nodev,noexec sysfs "$root/sys"
  mount -t tmpfs -o mode=755,nosuid,nodev,noexec tmpfs "$root/sys/fs/cgroup"
  for h in $hierarchies; do
    mkdir "$root/sys/fs/cgroup/$h"
    mount -t cgroup -o "${h/#systemd/none,name=systemd}" cgroup "$root/sys/fs/cgroup/$h"
  done
  mount -o remount,bind,ro "$root/sys" # so that networkd waits for no udev
}

# kmsg is a second null: the computer's messages are not the machine's.
mount_dev() {
  local dev=$root/dev file major minor i
  mount -t tmpfs -o mode=755,nosuid tmpfs "$dev"
  mkdir "$dev"/{pts,shm,mqueue,net}
  while read -r file major minor; do
    mknod -m 666 "$dev/$file" c "$major" "$minor"
  done <<'END'
null 1 3
kmsg 1 3
zero 1 5
full 1 7
random 1 8
urandom 1 9
tty 5 0
net/tun 10 200
loop-control 10 237
END
  for i in {0..15}; do mknod -m 660 "$dev/loop$i" b 7 "$i"; done # for images of extensions
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$dev/pts"
  mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$dev/shm"
  mount -t mqueue mqueue "$dev/mqueue"
  ln -s pts/ptmx "$dev/ptmx"
  ln -s /proc/self/fd "$dev/fd"
  i=0
  for file in stdin stdout stderr; do
    ln -s "/proc/self/fd/$i" "$dev/$file"
    i=$((i + 1))
  done
  : >"$dev/console"
  mount --bind "$(readlink -f "$dir/pty")" "$dev/console"
}

# Settings of the kernel that the computer and all machines share are plain files in a machine: it
# may write what it likes, and reads it again.
shadow_settings() {
  local file sys=$root/proc/sys
  mkdir -p "$root/run/.settings"
  for file in "$sys"/vm/* "$sys"/fs/{inotify/*,protected_*,suid_dumpable,aio-max-nr,pipe-*} \
    "$sys"/kernel/{keys/*,yama/*,panic,panic_on_*,dmesg_restrict,kptr_restrict,sysrq,core_*} \
    "$sys"/kernel/{randomize_va_space,unprivileged_bpf_disabled,perf_event_*,threads-max,printk*} \
    "$sys"/kernel/{hung_task_*,softlockup_*,kexec_*,sched_*,watchdog*}; do
    [[ ! -f $file ]] || shadow "$file" "$(cat "$file" 2>/dev/null || true)"
  done
  shadow "$sys/kernel/random/boot_id" "$(cat /proc/sys/kernel/random/uuid)"
  # Hierarchies that the machine does not have.
  shadow "$root/proc/cgroups" "$(grep -vE '^(net_|perf_event|hugetlb|rdma|misc)' /proc/cgroups)"
}
shadow() { # shadow FILE CONTENT
  local copy=$root/run/.settings/${1//\//_}
  printf '%s\n' "$2" >"$copy"
  mount --bind "$copy" "$1"
}

# ignite does what the initramfs of such a system does (rootfs/…/local-bottom/ignition).
ignite() {
  local stage unit presets=$root/etc/systemd/system-preset/20-ignition.preset
  : >"$root/etc/cloud/cloud-init.disabled" # Flatcar has none
  install -D -m 600 "$dir/seed/config.ign" "$root/usr/lib/ignition/user.ign"
  for stage in fetch-offline fetch kargs disks mount files umount; do
    chroot "$root" /usr/local/bin/ignition --platform metal --root / --stage "$stage" \
      --log-to-stdout >>"$root/var/log/ignition.log" 2>&1 ||
      die "Ignition: stage $stage failed: $(tail -n 3 "$root/var/log/ignition.log")"
  done
  rm "$root/usr/lib/ignition/user.ign"
  if [[ -e $presets ]]; then
    while read -r _ unit; do
      chroot "$root" systemctl --quiet --root=/ preset "$unit"
    done <"$presets"
  fi
  : >"$dir/ignited"
}

case ${2:-} in
init) become_init ;;
*) supply ;;
esac
