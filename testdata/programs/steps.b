able() {
registered || return
case $text in
*'"type":"Ready","status":"True"'*) return 0 ;;
esac
found=$(sed -n 's/.*"type":"Ready","status":"[^}]*"message":"\([^"]*\)".*/\1/p' "$run/body")
return 1
}
addresses() {
bad=''
for name; do
case $(ip -o address show to "$name") in
'') bad="$bad $name" ;;
esac
done
[ -z "$bad" ] || saw "missing:$bad; has $(ip -br a)"
}
apply() {
admin "$1?fieldManager=kiln&force=true" -X PATCH -H 'Content-Type: application/apply-patch+yaml' --data-binary "@$2"
accepted || return
}
brought() {
list=$from/parts/$arch/${digest#*:}
proxied && store pull --hosts-dir "$root/etc/containerd/certs.d" "$image"
}
endure() {
[ "$rc$settled" != 2 ] || halt
waiting="$what: $found"
rm -f "$lib/starts"
tell waiting
rest 600
}
finish() {
clock
step='done' settled='done' since=$now step_timeout=60
say "$node is part of its cluster"
tell 'done'
[ -e "$lib/refused" ] || forget
until await 'this machine' sound; do
judge
[ -n "$faults" ] || break
done
[ -z "$named" ] || tell 'done'
}
forget() {
[ ! -e "$root/run/cloud-init/enabled" ] || timeout 1800 cloud-init status --wait >/dev/null 2>&1 || :
set +f
for path in $retire; do
rm -f $root$path
done
set -f
sync
}
healthy() {
ask "$@"
[ "$http" = 200 ]
}
judge() {
clear
while IFS='|' read -r severity id call remedy found <&3; do
case $severity in
warn) [ -n "$told" ] || say "warning: $id: $found; $remedy" ;;
*) blame "$id" "$call" "$found" "$remedy" ;;
esac
done 3<"$run/checked"
found=$seen
[ -z "$faults" ] || endure
}
loaded() {
from=$root$preload lost=''
while read -r image digest <&3; do
: "${digest:=${image#*@}}"
stored || { say "loading $image" && found=$(brought 2>&1) && stored; } &&
found=$(store label "$image" io.cri-containerd.pinned=pinned) ||
lost="$lost$image: $(echo "$found" | tail -n 2); "
done 3<"$etc/preload"
[ -z "$lost" ] || saw "${lost%; }" || return 3
}
pullable() {
host=${image%%/*} path=${image#*/}
case $path in
*@*) path=${path%@*}/manifests/${path#*@} ;;
*) path=${path%:*}/manifests/${path##*:} ;;
esac
bad=''
for url in $(echo "$registries" | tr , ' '); do
case $url in
*"//$host/"*) url=$url$path ;;
*) url="$url$path?ns=$host" ;;
esac
found=$(
proxied
docker=application/vnd.docker.distribution.manifest oci=application/vnd.oci.image
curl -q -sSgLI "$@" -m 9 -o /dev/null -w "$url HTTP %{http_code} %{content_type}" \
-H "Accept: $docker.list.v2+json,$docker.v2+json,$oci.index.v1+json,$oci.manifest.v1+json" "$url" 2>&1
)
case $found in
*" HTTP 200 text/html"*) found="$found, no registry" ;;
*" HTTP 200"* | *" HTTP 40"[13]*) return 0 ;;
esac
bad="$bad$found; "
done
saw "${bad%; }"
}
somebody() {
verdict=2
found='no other member answers'
[ -n "$members" ] || return "$verdict"
}
sound() {
ill=''
checked address cert-expired disk mount resolv-conf swap || ill=yes
[ -z "$ill" ] || return
found='no API server'
[ -n "$heard" ] || { (annotate 'done') 2>/dev/null && heard=yes; }
}
step_etcd() {
data=$root/var/lib/etcd members=''
[ -d "$data/member" ] || [ -n "$members" ] || in_time
if [ -d "$data/member" ]; then
found='somebody who left no name'
[ -L "$data/kiln" ] || read -r found 2>/dev/null <"$data/kiln" || :
[ "$found" = "$etcd_cluster $etcd_member" ] || stop etcd-foreign /var/lib/etcd "its data is of: $found" \
'give this machine an empty disk, or its own'
fi
owned
}
step_machine() {
rm -f "$issue"
systemctl stop '*.swap' || :
}
step_node() {
until await "$node" registered; do
code=node-not-registered remedy="$look"
case $http in
000)
code=api-endpoint remedy='see that this leads to the cluster'
name=${api#*://}
found="$found; it leads to $(led "${name%:*}")"
;;
40[13])
code=kubelet-credential remedy='kubectl get csr'
;;
200) code=name-taken remedy='another machine has this name: turn it off, or give it its own document' ;;
esac
[ "$curled" != 60 ] || code=api-wrong-cluster remedy='another cluster, or a certificate without this name: correct endpoint or apiServer.certSANs'
late "$code" "$api/api/v1/nodes/$node" "$found" "$remedy"
done
}
step_objects() {
until await kube-apiserver answers; do
ails kube-apiserver "$api"
done
wake
clock
given='' since=$now
until await "$marker" offered; do
if [ -s "$run/refused" ]; then
say "later: $found"
refusals
: >"$lib/refused"
relieve
return
fi
late object "$marker" "$found" 'see that the API server is healthy'
done
}
step_preload() {
until await 'this machine' checked mac product-uuid runtime tool; do
judge
done
until await "images from $preload" loaded; do
late preload "$preload" "$found" 'kiln archive makes an archive of the lock, or with --push a registry'
done
}
