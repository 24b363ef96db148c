#!/usr/bin/env bash
# Boots a member of etcd whose data and kubelet are on a second disk, wipes the first one, and boots
# it again from the same document: what was written to etcd is there. Both times its images come
# from a third disk, which is the medium of preload.
#
#   disks.sh [--keep]
#
# cloud-init partitions the disk and mounts it. The machine is emulated, since containers have no
# disks, and a member of etcd alone, which is a minute of work, where an API server is many. The
# image's Ignition has no systemd beside it, without which it waits for no disk.
set -euo pipefail
export MACHINES=qemu
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

begin_case disks "$@"
truncate -s 2G "$tmp/disk.img"
QEMU_OPTIONS="-drive file=$tmp/disk.img,if=virtio,format=raw,cache=unsafe"
export QEMU_OPTIONS+=" -drive file=$tmp/data.img,if=virtio,format=raw,readonly=on"
"$here/image-fast.sh"
# adapt_case writes the lock, and the medium with an archive of it.
adapt_case() {
  "$tmp/store" "$cache/fast/tree/var/lib/containerd" "$tmp/layout" "$dir/cluster.lock.yaml"
  "$tmp/kiln" archive "$dir/cluster.yaml" --from "$tmp/layout" --out "$tmp/archive" >/dev/null
  mke2fs -q -t ext4 -L KILN-DATA -d "$tmp/archive" "$tmp/data.img" 1G
}
render_case disks
machines=(etcd-1)

# are_mounted FOLDER...: each is a mount of a partition of the second disk.
are_mounted() {
  local folder
  for folder in "$@"; do
    vm ssh etcd-1 findmnt -n -o SOURCE "$folder" | grep -E '^/dev/vdc[12]$' || return
  done
}
# The gateway of etcd wants base64: kep and kept.
# The names that the machine's own images have there have no digest.
are_from_medium() {
  vm ssh etcd-1 ctr -n k8s.io images ls | grep '@sha256:.*pinned=pinned' | sed 's/@.*//' |
    sort >"$tmp/there"
  printf 'registry.k8s.io/%s\n' etcd pause | diff - "$tmp/there" &&
    vm ssh etcd-1 '! findmnt /run/kiln/medium'
}
is_written() { etcd etcd-1 kv/put '{"key":"a2Vw","value":"a2VwdA=="}'; }
says_kept() { [[ $(stored kep etcd-1) == kept ]]; }

start_all etcd-1
within "$form_limit" "hook done" hooks_are_done
within 1 "etcd and the kubelet are on the second disk" are_mounted /var/lib/etcd /var/lib/kubelet
within 1 "its images are from the medium" are_from_medium
within "$step_limit" "a key is written" is_written
check_verify
check_net

vm kill etcd-1
power_on=$SECONDS
vm wipe etcd-1
within "$form_limit" "hook done, on a new first disk" hooks_are_done
within 1 "etcd and the kubelet are on the second disk" are_mounted /var/lib/etcd /var/lib/kubelet
within 1 "its images are from the medium" are_from_medium
within "$step_limit" "what was written is there" says_kept
check_verify
check_net
