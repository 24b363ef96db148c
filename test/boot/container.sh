# shellcheck shell=bash disable=SC2154
# Machines that are containers of this computer: systemd as process 1, on the computer's kernel and
# at its speed. They live in the namespaces that alone.sh makes. Sourced by vm.sh, which calls a
# function NAME_container for what depends on the kind of machine.
#
# The machine's root is an overlay over the tree that image-fast.sh unpacked; its /var is a plain
# folder, since the overlays of containerd cannot lie on an overlay. Its cgroups lie under
# kiln-boot-NET in each hierarchy, and it has one interface, eth0, on the bridge. If UPLINK names a
# segment when it starts, eth0 is on that one, where machines reach the router but not each other,
# and eth1 is on the bridge.

# The names of the cgroup v1 hierarchies that machines use.
hierarchies='cpu cpuacct cpuset memory devices freezer blkio pids systemd'
group=kiln-boot-$net

# bridge SEGMENT prints the name of the bridge that is a segment.
bridge() {
  if [[ $1 == a ]]; then echo "$group"; else echo "$group$1"; fi
}

# A machine's files before its first boot. KILN_BOOT_TREE names others than those of
# image-fast.sh.
machine_tree=$cache/${KILN_BOOT_TREE:-fast/tree}

# hold_tree TREE keeps a tree as it is until this process ends, and what has inherited $tree_lock.
# image-fast.sh and conformance-image.sh wait until then before they make it anew.
hold_tree() {
  exec {tree_lock}>>"${1%/*}/lock"
  flock --nonblock --shared "$tree_lock" || {
    say "somebody makes $1 anew: waiting"
    flock --shared "$tree_lock"
  }
}

# The process is the machine's only if it lives in the machine's cgroup: a number in an old file may
# belong to another process by now.
running_container() { # NAME
  local pid
  pid=$(cat "$vms/$1/pid" 2>/dev/null) && [[ -n $pid ]] &&
    grep -qsE "name=systemd:.*/$group/$1(/|\$)" "/proc/$pid/cgroup"
}

# enter_cgroups NAME moves this process into the machine's cgroups.
enter_cgroups() {
  local h
  for h in $hierarchies; do echo "$BASHPID" >"/sys/fs/cgroup/$h/$group/$1/cgroup.procs"; done
}

remove_cgroups() { # remove_cgroups [NAME]
  local h
  for h in $hierarchies; do
    [[ ! -d /sys/fs/cgroup/$h/$group${1:+/$1} ]] ||
      find "/sys/fs/cgroup/$h/$group${1:+/$1}" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done
}

# thaw [NAME] lets processes of a machine, or of all, end that runc has frozen: it freezes a
# container for a moment when it writes its cgroup.
thaw() {
  local file folder=/sys/fs/cgroup/freezer/$group${1:+/$1}
  [[ -d $folder ]] || return 0
  find "$folder" -name freezer.state 2>/dev/null | while read -r file; do
    echo THAWED >"$file" 2>/dev/null || true
  done || true # they go away meanwhile
}

power_on_container() {
  ip link show "$group" >/dev/null 2>&1 ||
    die "this kind of machine runs inside alone.sh only; see its head"
  cut_power_container "$name"
  : >>"$dir/console.log"
  rm -f "$dir/pty" "$dir/up" "$dir/supply.log"
  socat -u "PTY,link=$dir/pty,rawer,wait-slave=0" "OPEN:$dir/console.log,append" \
    </dev/null >/dev/null 2>&1 &
  echo $! >"$dir/console.pid"
  setsid nice -n "${NICE:-0}" "$here/container-run.sh" "$name" </dev/null >>"$dir/supply.log" 2>&1 &
  for _ in {1..2400}; do
    ! grep -qs '^ended' "$dir/supply.log" || break
    [[ ! -e $dir/up ]] || return 0
    sleep 0.05
  done
  die "$name does not start: $(tail -n 5 "$dir/supply.log")"
}

cut_power_container() { # NAME
  local pid file
  for file in supply console; do # first, so that nothing boots it again
    if alive "$vms/$1/$file.pid" "$1"; then kill -KILL "$(cat "$vms/$1/$file.pid")"; fi
  done
  if running_container "$1"; then
    pid=$(cat "$vms/$1/pid")
    kill -KILL "$pid"
    while [[ -e /proc/$pid ]]; do
      thaw "$1"
      sleep 0.05
    done
  fi
  rm -f "$vms/$1"/{pid,supply.pid,console.pid}
  ip netns delete "$1" 2>/dev/null || true
  remove_cgroups "$1"
}

# KILN_BOOT_WITHOUT names files and folders of the tree that a machine does not have, and
# KILN_BOOT_ADD is a folder with files that it has besides. If KILN_BOOT_IMAGES is none, its
# containerd has no images.
# The unpacked files of images are hard links: they are lower layers, which nobody changes.
empty_disk_container() { # DIR
  local store=var/lib/containerd tree=$machine_tree file seed
  rm -rf "${1:?}"/{upper,work,root,var,ignited}
  mkdir -p "$1"/{upper,work,root,var/lib}
  tar -C "$tree/var" --exclude=./lib/containerd -cf - . | tar -C "$1/var" -xpf -
  if [[ ${KILN_BOOT_IMAGES:-} != none ]]; then
    cp -al "$tree/$store" "$1/var/lib/"
    find "$tree/$store" -name '*.db' -type f -printf '%P\n' | while read -r file; do
      cp --remove-destination -p "$tree/$store/$file" "$1/$store/$file"
    done
  fi
  for file in ${KILN_BOOT_WITHOUT:-}; do
    mkdir -p "$1/upper/$(dirname "$file")"
    mknod "$1/upper/$file" c 0 0 # how an overlay marks what is gone
  done
  [[ -z ${KILN_BOOT_ADD:-} ]] || cp -a "$KILN_BOOT_ADD/." "$1/upper/"
  seed=$1/var/lib/cloud/seed/nocloud
  mkdir -p "$seed"
  if [[ -f $1/seed.iso ]]; then
    # The machine has no disks, and the computer's kernel may not know the file system.
    isoinfo -J -f -i "$1/seed.iso" | while read -r file; do
      isoinfo -J -i "$1/seed.iso" -x "$file" >"$seed$file"
    done
  elif [[ -f $1/seed/user-data ]]; then
    cp "$1"/seed/* "$seed/"
  fi
}

remote_container() { # NAME [COMMAND...]
  local name=$1 shell=(/bin/bash -l)
  shift
  [[ $# == 0 ]] || shell=(/bin/bash -c "$*")
  running_container "$name" || die "$name is off"
  enter_cgroups "$name"
  exec nsenter --target "$(cat "$vms/$name/pid")" --mount --uts --ipc --net --pid --cgroup --root \
    env -C / -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    TERM="${TERM:-dumb}" "${shell[@]}"
}

api_container() { # NAME
  local family address interface=eth0
  ! ip -n "$1" link show eth1 >/dev/null 2>&1 || interface=eth1
  for family in -4 -6; do
    address=$(ip -n "$1" "$family" -o address show dev "$interface" scope global | awk '{print $4; exit}')
    [[ -z $address ]] || break
  done
  address=${address%/*}
  [[ $address != *:* ]] || address=[$address]
  echo "https://$address:6443"
}
