part() {
printf '\n== %s\n' "$(flat "$*")"
"$@" 2>&1 | cut -c -1000 | sed -e '/^==> .* <==$/b' -e '/-----BEGIN/,/-----END/d' -e '/^ *[A-Za-z0-9+/]\{16,\}=*$/d' \
-e 's/[A-Za-z0-9+/_=-]\{40,\}/<left out>/g' -e 's/eyJ[A-Za-z0-9._-]*/<left out>/g' \
-e 's/[a-z0-9]\{6\}\.[a-z0-9]\{16\}/<left out>/g' || :
}
pods() {
crictl ps -a || ctr -n k8s.io tasks ls
} 2>/dev/null
server() {
run=$(mktemp -d)
. "$etc/machine"
. "$etc/steps"
api /readyz || :
echo "$url: $found"
rm -rf "$run"
}
set +f
part cat "$lib/status.json" "$issue"
part server
part journalctl -u kiln -n 30
part journalctl -u kubelet -n 20 -o cat
part pods
part tail -vn 9 "$root"/var/log/pods/kube-system_*/*/*.log "$lib"/*.log
