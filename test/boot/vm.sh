#!/usr/bin/env bash
# Boots machines from the image that image.sh built: emulated ones in QEMU, with User Mode Linux, or
# containers of this computer.
#
#   vm.sh start NAME SEED MEMORY   a new machine with an empty disk, MEMORY MB, and the boot
#                                  document in the folder SEED: user-data, meta-data and
#                                  network-config (a NoCloud disk), seed.iso (one that is ready),
#                                  config.ign (for Ignition), or bootfile, a URL that the firmware
#                                  boots from
#   vm.sh again NAME               power on, with the disk as it is
#   vm.sh kill NAME                cut the power
#   vm.sh stop NAME                shut down; after two minutes, cut the power
#   vm.sh wipe NAME                power on, with an empty disk and the same boot document
#   vm.sh ssh NAME [COMMAND...]    run a command, or a shell, as root
#   vm.sh log NAME                 the serial console since the last power-on
#   vm.sh api NAME                 the URL under which this computer reaches the machine's port 6443
#   vm.sh list                     the machines, with the process ids of those that run
#   vm.sh off                      cut the power of all machines and forget them
#
# eth0 is QEMU's user network, for ssh: every machine is 10.0.2.15 there, so a node cannot use this
# address. eth1 is one Ethernet segment between all machines; the boot document gives it an address.
# Nothing needs the internet.
#
# KILN_BOOT_NET (2400) is the first of the hundred local ports used and names the set of machines.
# KILN_BOOT_CACHE (~/.cache/kiln-boot) holds the image and the machines. SMP (2) is the number of
# processors of a machine that is started, NICE (0) its priority. QEMU_OPTIONS are more words for
# QEMU's command line, and VAR_SIZE is the size of a container's /var in MB, in memory; both for
# this power-on only.
#
# MACHINES (qemu) is the kind of machine that is started. With uml it is Linux as a process of this
# computer: a kernel of its own (6.1, without nftables for IP), one processor, and programs that run
# at the computer's own speed, while QEMU translates each instruction. Three control planes need
# that, on two processors. It reads NoCloud disks only. With container it is systemd on the
# computer's own kernel (container.sh), inside alone.sh only; MEMORY is not a limit then.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$here/container.sh"

show_usage() {
  sed -n '/^#   vm.sh/,/^#$/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

# load NAME reads the machine's settings: index, memory, smp, kind, segment, uplink, mtu.
load() {
  dir=$vms/$1 index='' smp='' kind=''
  [[ -f $dir/settings ]] || die "there is no machine $1"
  # shellcheck source=/dev/null
  source "$dir/settings"
}

# running NAME: succeeds if the machine's power is on. The process is ours only if it has the
# machine's folder on its command line: a number in an old pid file may belong to another process by
# now.
running() {
  if is_container "$1"; then running_container "$1"; else alive "$vms/$1/pid" "$vms/$1/"; fi
}
is_container() { grep -qsx kind=container "$vms/$1/settings"; }
alive() {
  local pid
  pid=$(cat "$1" 2>/dev/null) && [[ -n $pid ]] && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF "$2"
}

cut_power() { # cut_power NAME
  local pid
  if is_container "$1"; then
    cut_power_container "$1"
    return
  fi
  running "$1" || return 0
  pid=$(cat "$vms/$1/pid")
  kill -KILL "$pid"
  while running "$1"; do sleep 0.1; done
  pkill -KILL -f "ubd0=$vms/$1/" || true # User Mode Linux runs each program in a process of its own
}

# switch_on PATH starts an Ethernet switch, a process that hands frames between machines over a
# socket, unless it runs.
switch_on() {
  alive "$1.pid" "$1" && return
  rm -rf "$1"
  vde_switch --sock "$1" --daemon --pidfile "$1.pid" </dev/null >/dev/null
  for _ in {1..50}; do
    [[ -S $1/ctl ]] && return
    sleep 0.1
  done
  die "the Ethernet switch does not start"
}
switch_off() { # switch_off PATH
  if alive "$1.pid" "$1"; then kill "$(cat "$1.pid")"; fi
}

power_on() { # power_on NAME
  local name=$1 mac
  load "$name"
  ! running "$name" || die "$name is already running"
  [[ -n ${KILN_BOOT_ALONE:-} ]] || switch_on "$vms/switch"
  mac=$(printf %02x "$index")
  # QEMU's user network, and the ports that lead to the machine.
  user="user,id=eth0,hostfwd=tcp:127.0.0.1:$((net + index))-:22,hostfwd=tcp:127.0.0.1:$((net + 50 + index))-:6443"
  "power_on_$kind"
}

power_on_uml() {
  local i
  # The user network is QEMU's here too: a QEMU without a machine, which joins it to a switch of the
  # machine's own.
  if ! alive "$dir/user.pid" "$dir/eth0"; then
    switch_on "$dir/eth0"
    qemu-system-x86_64 -machine none -nodefaults -display none -daemonize -pidfile "$dir/user.pid" \
      -netdev "$user" -netdev hubport,id=a,hubid=0,netdev=eth0 \
      -netdev "vde,id=switch,sock=$dir/eth0" -netdev hubport,id=b,hubid=0,netdev=switch
  fi
  TMPDIR=/dev/shm setsid nice -n "${NICE:-0}" linux.uml "umid=kiln-$net-$name" "uml_dir=$vms" "mem=${memory}M" \
    "ubd0=$dir/disk.cow,$cache/node.img" "ubd1r=$dir/seed.iso" \
    "eth0=vde,$dir/eth0,52:54:00:00:00:$mac" "eth1=vde,$vms/switch,52:54:00:00:01:$mac" \
    root=/dev/ubda rw con=null con0=null,fd:1 net.ifnames=0 quiet </dev/null >"$dir/console.log" 2>&1 &
  echo $! >"$dir/pid"
  disown
  for ((i = 0; i < 50; i++)); do
    running "$name" && return
    sleep 0.1
  done
  die "$name does not start: $(tail -n 1 "$dir/console.log")"
}

power_on_qemu() {
  local options segment append=(root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off panic=1 quiet) document=()
  local kernel=(-kernel "$cache/vmlinuz" -initrd "$cache/initrd")
  if [[ -f $dir/seed/bootfile ]]; then
    kernel=(-boot n) append=()
    user+=",bootfile=$(<"$dir/seed/bootfile")"
  elif [[ -f $dir/seed/config.ign ]]; then
    document=(-fw_cfg "name=opt/com.coreos/config,file=$dir/seed/config.ign")
    append+=(cloud-init=disabled)
  else
    document=(-drive "file=$dir/seed.iso,if=virtio,format=raw,readonly=on")
  fi
  ((${#append[@]} == 0)) || kernel+=(-append "${append[*]}")
  read -ra options <<<"${QEMU_OPTIONS:-}"
  segment=vde,id=eth1,sock=$vms/switch
  if [[ -n ${KILN_BOOT_ALONE:-} ]]; then
    ip link show "q$index" >/dev/null 2>&1 || ip tuntap add dev "q$index" mode tap
    ip link set "q$index" master "$group" up
    segment=tap,id=eth1,ifname=q$index,script=no,downscript=no
    # It shares the weight of the containers (container-run.sh): alone it starves beside them.
    [[ ! -d /sys/fs/cgroup/cpu/$group ]] || echo $$ >"/sys/fs/cgroup/cpu/$group/cgroup.procs"
  fi
  # panic=1: once in many boots, emulation lets a kernel die within its first seconds; it starts
  # again. Emulation is used because KVM is rarely there in a CI machine, and times should compare.
  # cmpxchg16b is off: emulated with threads it corrupts the guest. Disk cache "unsafe" ignores the
  # guest's flushes, but loses data only if the computer itself fails, not when this process is
  # killed. So a power cut has the same effect as on a real disk.
  nice -n "${NICE:-0}" qemu-system-x86_64 -name "$name" -accel tcg,thread=multi -cpu max,-cx16 -smp "$smp" -m "$memory" \
    -display none -serial "file:$dir/console.log" -monitor "unix:$dir/monitor,server,nowait" \
    "${kernel[@]}" \
    -drive "file=$dir/disk.qcow2,if=virtio,cache=unsafe" "${document[@]}" \
    -netdev "$user" \
    -device "virtio-net-pci,netdev=eth0,mac=52:54:00:00:00:$mac" \
    -netdev "$segment" -device "virtio-net-pci,netdev=eth1,mac=52:54:00:00:01:$mac" \
    "${options[@]}" -device virtio-rng-pci -daemonize -pidfile "$dir/pid"
}

empty_disk() { # empty_disk DIR KIND
  if [[ $2 == container ]]; then
    empty_disk_container "$1"
    return
  fi
  rm -f "$1"/disk.*
  [[ $2 == uml ]] || qemu-img create -q -f qcow2 -F raw -b "$cache/node.img" "$1/disk.qcow2"
}

# free_index prints the smallest machine number that is not taken.
free_index() {
  local i
  for ((i = 1; i < 50; i++)); do
    grep -qsx "index=$i" "$vms"/*/settings || {
      echo "$i"
      return
    }
  done
  die "there are already 49 machines"
}

start() { # start NAME SEED MEMORY
  local name=$1 seed=$2 memory=$3 dir=$vms/$1
  local kind=${MACHINES:-qemu}
  [[ $name =~ ^[a-z0-9][a-z0-9-]*$ ]] || die "$name is no name for a machine"
  [[ $kind =~ ^(qemu|uml|container)$ ]] || die "MACHINES is qemu, uml or container, not $kind"
  [[ ${SEGMENT:-a} =~ ^[ab]$ ]] || die "SEGMENT is a or b, not $SEGMENT"
  [[ $kind != uml || -f $seed/user-data || -f $seed/seed.iso ]] || die "a machine of User Mode Linux reads a NoCloud disk only"
  [[ -f $seed/config.ign || -f $seed/user-data || -f $seed/seed.iso || -f $seed/bootfile ]] || die "$seed has no document"
  [[ -f $cache/node.img ]] || die "there is no machine image; run image.sh"
  cut_power "$name"
  rm -rf "$dir"
  mkdir -p "$vms"
  printf 'index=%s\nmemory=%s\nsmp=%s\nkind=%s\nsegment=%s\nuplink=%s\nmtu=%s\n' \
    "$(free_index)" "$memory" "${SMP:-2}" "$kind" "${SEGMENT:-a}" "${UPLINK:-}" "${MTU:-1500}" \
    >"$vms/settings"
  mkdir -p "$dir/seed"
  mv "$vms/settings" "$dir/"
  cp "$seed"/* "$dir/seed/"
  if [[ -f $dir/seed/seed.iso ]]; then
    mv "$dir/seed/seed.iso" "$dir/"
  elif [[ -f $dir/seed/user-data && $kind != container ]]; then
    genisoimage -quiet -output "$dir/seed.iso" -volid cidata -joliet -rock "$dir/seed"
  fi
  empty_disk "$dir" "$kind"
  power_on "$name"
}

wipe() { # wipe NAME
  load "$1"
  cut_power "$1"
  empty_disk "$dir" "$kind"
  power_on "$1"
}

stop() { # stop NAME
  load "$1"
  running "$1" || return 0
  if [[ $kind != qemu ]]; then
    (remote "$1" systemctl poweroff) || true # a container's remote does not return
  else
    echo system_powerdown | socat -t 2 - "unix:$dir/monitor" >/dev/null || true
  fi
  for _ in {1..120}; do
    running "$1" || return 0
    sleep 1
  done
  say "$1 does not shut down; cutting its power"
  cut_power "$1"
}

remote() { # remote NAME [COMMAND...]
  load "$1"
  [[ $kind != container ]] || remote_container "$@"
  shift
  ssh -q -i "$cache/id" -p $((net + index)) -o ConnectTimeout=10 -o HostKeyAlias=boot-test \
    -o UserKnownHostsFile="$cache/known_hosts" -o GlobalKnownHostsFile=/dev/null root@127.0.0.1 "$@"
}

each() { # each FUNCTION: call it with the name of every machine
  local settings
  for settings in "$vms"/*/settings; do
    [[ ! -f $settings ]] || "$1" "$(basename "$(dirname "$settings")")"
  done
}

api() { # api NAME
  load "$1"
  if [[ $kind == container ]]; then
    api_container "$1"
  else
    echo "https://127.0.0.1:$((net + 50 + index))"
  fi
}

line() { # line NAME
  load "$1"
  printf '%-12s ssh %s  memory %s  ' "$1" $((net + index)) "$memory"
  if running "$1"; then echo "pid $(cat "$dir/pid")"; else echo off; fi
}

unplug() { # unplug NAME
  local pid
  cut_power "$1"
  switch_off "$vms/$1/eth0"
  if alive "$vms/$1/user.pid" "$vms/$1/eth0"; then
    pid=$(cat "$vms/$1/user.pid")
    kill "$pid"
  fi
}

off() {
  each unplug
  switch_off "$vms/switch"
  rm -rf "$vms"
}

verb=${1:-} name=${2:-}
case $verb/$# in
start/4) start "$name" "$3" "$4" ;;
again/2) power_on "$name" ;;
kill/2) load "$name" && cut_power "$name" ;;
stop/2 | wipe/2) "$verb" "$name" ;;
log/2) load "$name" && cat "$dir/console.log" ;;
api/2) api "$name" ;;
list/1) each line ;;
off/1) off ;;
ssh/1) show_usage ;;
ssh/*) remote "${@:2}" ;;
*) show_usage ;;
esac
