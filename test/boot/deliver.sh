#!/usr/bin/env bash
# Boots a cluster whose machines get their documents in every way but the plain one:
#
#   cp-1            reads the image of kiln iso, which has its secrets, and fetches the rest, for
#                   cloud-init
#   worker-1, -2    hold a pointer, for cloud-init and for Ignition, and fetch everything
#   worker-3        boots over the network: firmware, iPXE, kernel, initrd and the appended archive,
#                   all from kiln serve; fetches its secrets, with Ignition
#   pool-a, pool-b  read one document, the pool's
#
#   deliver.sh [--keep]
#
# worker-2 and worker-3 are emulated, since their documents come by the network before the system
# starts; the others are containers of this computer, on the same segment. The boot ends with the
# boot net.
#
# The kiln serve that has the bodies starts after the machines. It gives each body out once. The
# servers use the ports 2497 and 2498 of 10.0.2.2, as every machine calls this computer. Emulated
# machines reach them through a NAT, so that their requests come from 127.0.0.1.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"

begin_case deliver "$@"
form_limit=1800
servers=()
leave() {
  ((${#servers[@]} == 0)) || kill "${servers[@]}" 2>/dev/null || true
  finish
}
trap leave EXIT
ip address add 10.0.2.2/32 dev "kiln-boot-$net"
render_case deliver
machines=(cp-1 worker-1 worker-2 worker-3 pool-a pool-b)
kiln=$tmp/kiln nodes=$dir/nodes

serve() { # serve NAME ARGUMENT... in the background, with a log
  "$kiln" serve "${@:2}" --from 127.0.0.1 --state "$tmp/$1.json" --log "$tmp/$1.log" &
  servers+=($!)
}

# start KIND MACHINE FOLDER
start() {
  MACHINES=$1 power "$2" "$3"
  record "$2 has power"
}

api_server_is_ready() { kubectl get --raw /readyz; }
gone() { # gone URL: it is not there any more
  local code
  code=$(curl -s -o /dev/null -w '%{http_code}' --cacert "$tmp/ca.crt" \
    --connect-to "10.0.2.2:2497:127.0.0.1:2497" "$1")
  echo "$1: $code"
  [[ $code == 404 ]]
}

power_on=$SECONDS
mkdir "$dir/cp-1"
"$kiln" iso "$nodes/cp-1" --out "$dir/cp-1/seed.iso"
start container cp-1 "$dir/cp-1"
for machine in worker-1 worker-2; do
  mkdir "$dir/$machine"
  cp "$nodes/$machine"/{config.ign,user-data,meta-data,network-config} "$dir/$machine/" \
    2>/dev/null || true
done
start container worker-1 "$dir/worker-1"
start qemu worker-2 "$dir/worker-2"

"$kiln" netboot "$nodes" --url http://10.0.2.2:2498 --out "$dir/netboot" --ignition initrd \
  --append 'flatcar=root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off panic=1 cloud-init=disabled'
mkdir -p "$dir/netboot/images/flatcar" "$dir/worker-3"
cp "$cache/vmlinuz" "$dir/netboot/images/flatcar/flatcar_production_pxe.vmlinuz"
cp "$cache/initrd" "$dir/netboot/images/flatcar/flatcar_production_pxe_image.cpio.gz"
echo http://10.0.2.2:2498/boot.ipxe >"$dir/worker-3/bootfile"
serve netboot "$nodes" "$dir/netboot" --listen 127.0.0.1:2498
start qemu worker-3 "$dir/worker-3"

# All machines of a pool have the same document. Their names and addresses come from elsewhere: here
# from the rest of the seed.
number=31
for machine in pool-a pool-b; do
  member_folder "$machine" "$nodes/pools/small/user-data" "$dir"
  member_network "10.10.0.$number" >"$dir/$machine/network-config"
  number=$((number + 1))
  start container "$machine" "$dir/$machine"
done

sleep 60 # they ask in vain
record "the server of the bodies starts"
serve bodies "$nodes" --listen 0.0.0.0:2497 --secrets "$dir/boot-deliver.secrets.yaml" \
  --tls-name 10.0.2.2

within "$form_limit" "the API server is ready" api_server_is_ready
all_up
check_net

vm ssh cp-1 cat /etc/kubernetes/pki/ca.crt >"$tmp/ca.crt"
for machine in cp-1 worker-1 worker-2 worker-3; do
  url=$(sed -n "s|.*\"url\": *\"\(https://10.0.2.2:2497/$machine/[^\"]*\)\".*|\1|p" \
    "$nodes/inventory.json")
  within 5 "$machine's body is gone" gone "$url"
done
grep -h refused "$tmp/bodies.log" | tail -n 4
