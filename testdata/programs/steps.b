endure() {
[ "$rc$settled" != 2 ] || halt
waiting="$what: $found"
rm -f "$lib/starts"
tell waiting
rest 6000
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
[ "$http" != 200 ] || return 0
return 1
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
registered() {
text=''
api "/api/v1/nodes/$node" || :
[ "$curled" != 60 ] || return 3
[ "$http" = 200 ] || return 1
text=$(tr -d ' \n' <"$run/body") id=${self# }
case $text in
*"\"machineID\":\"${id%% *}\""*) return 0 ;;
esac
text=${text#*'"machineID":"'}
found="the Node of machine ${text%%\"*}"
return 1
}
sound() {
ill=''
checked address cert-expired disk mount resolv-conf swap || ill=yes
[ -z "$ill" ] || return
found='no API server'
[ -n "$heard" ] || { (annotate 'done') 2>/dev/null && heard=yes; }
}
step_machine() {
rm -f "$issue"
[ "$swap" = keep ] || systemctl stop '*.swap' || :
[ ! -e "$lib/kubelet-allowed" ] || return 0
steps_done=$(printf %s "$steps_done" | sed 's/,"kubelet":[0-9]*//')
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
401)
code=kubelet-credential remedy='kubectl get csr'
;;
200) code=name-taken remedy='another machine has this name: turn it off, or give it a document of its own' ;;
esac
[ "$curled" != 60 ] || code=api-wrong-cluster remedy='another cluster, or a certificate without this name: correct endpoint or apiServer.certSANs'
late "$code" "$api/api/v1/nodes/$node" "$found" "$remedy"
done
}
