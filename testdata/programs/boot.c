#!/bin/sh
# kiln's hook: verifies this machine, starts its kubelet, waits for health. Kill it anywhere: the next start goes on.
# State: /var/lib/kiln/status.json. For a bug report: sh /etc/kiln/boot report
set +x
set -euf
umask 077
trap '' PIPE
trap 'exit 143' HUP INT TERM
trap 'ended $? || exit 1' EXIT
export LC_ALL=C
root=${KILN_ROOT-}
cd "$root/"
etc=$root/etc/kiln lib=$root/var/lib/kiln run=$root/run/kiln kube=$root/etc/kubernetes proc=$root/proc
issue=$root/etc/issue.d/kiln.issue
client=$root/var/lib/kubelet/pki/kubelet-client-current.pem
step=start node='' cluster='' document='' steps_done='' waiting='' lines='' faults='' keys='' told='' over='' settled=''
look='sh /etc/kiln/boot report'
nl='
'
flat() {
case $1 in
*[!\ -~]* | *[\"\\]*) set -- "$(printf %s "$1" | tr '\t\n\r"\\' "   '/" | tr -c ' -~' '?')" ;;
esac
printf %.400s "$1"
}
say() {
printf '%s\n' "$(flat "$step: $1")" >&2 || :
}
clock() {
read -r now _ <"$proc/uptime"
now=${now%.*}
}
put() {
rm -f "$1.new" && cat >"$1.new" && sync "$1.new" && mv -f "$1.new" "$1"
}
status() {
set -- "${settled:-$1}"
clock
printf '{"phase":"%s","step":"%s","node":"%s","cluster":"%s","document":"%s","uptime":%s,"steps":{%s},"waiting":"%s","faults":[%s]}\n' \
"$1" "$(flat "$step")" "$(flat "$node")" "$(flat "$cluster")" "$document" "$now" "$steps_done" \
"$(flat "$waiting")" "$faults" | put "$lib/status.json" || :
heard=yes
! is_done node || (annotate "$1") || heard=''
} 2>/dev/null
fault() {
set -- "$(flat "$1")" "$(flat "$2")" "$(flat "$3")" "$(flat "$4")"
lines="${lines}FAULT $1 $2: $3; $4$nl" keys="$keys$1 $2 "
faults="$faults${faults:+,}{\"code\":\"$1\",\"object\":\"$2\",\"evidence\":\"$3\",\"remedy\":\"$4\"}"
}
tell() {
[ "$keys" = "$told" ] || printf %s "$lines" >&2 || :
told=$keys
[ -n "$lines" ] && (umask 022 && mkdir -p "$root/etc/issue.d" && printf %s "$lines" | put "$issue") || rm -f "$issue" || :
status "$1"
}
halt() {
over=yes
[ -z "${retire-}" ] || expire || :
tell stopped
exit 1
}
stop() {
fault "$@"
halt
}
spent() { rm -f "$kube/pki/install.key" "$kube/pki/install.crt" "$kube/bootstrap-kubelet.conf"; }
unwritable() {
stop unwritable "$1" 'full, or it cannot be written' 'make room there; then systemctl restart kiln'
}
room() {
{ printf %4096s x >"$1/.kiln"; } 2>/dev/null && rm -f "$1/.kiln" || unwritable "$1"
}
ended() {
set +e
trap - EXIT
case $over$1 in
yes*) exit "$1" ;;
143)
say 'interrupted; the next start goes on'
faults=''
status stopped
exit 143
;;
*)
room "$run"
room "$lib"
stop hook "$step" "ended with status $1" 'journalctl -u kiln; then systemctl restart kiln'
;;
esac
}
is_done() {
case $steps_done in
*"\"$1\":"*) ;;
*) return 1 ;;
esac
}
perform() {
step=$1
case $step in
machine | kubelet) ;;
*) ! is_done "$step" || return 0 ;;
esac
clock
started=$now since=$now
status running
[ "$step" = 'done' ] || say started
"step_${step%-*}"
clock
if ! is_done "$step"; then
steps_done="$steps_done${steps_done:+,}\"$step\":$((now - started))"
rm -f "$lib/starts"
fi
printf '%s\n' "$document" "$steps_done" "$self" | put "$lib/state" || unwritable "$lib"
}
step_files() {
set --
while read -r sum mode owner path && [ "$sum" != end ]; do
file=$root$path
case $sum in
dir) mkdir -p "$file" && set -- "$@" "$file" || damaged "$path" 'not a folder' ;;
none) aside ;;
link)
[ "$(readlink "$file")" = "$mode" ] || { aside && ln -s "$mode" "$file"; } || damaged "$path" "not a link to $mode"
;;
*) [ -f "$file" ] && set -- "$@" "$file" || damaged "$path" missing ;;
esac
done <"$etc/files"
[ "$sum" = end ] || damaged /etc/kiln/files 'cut off'
[ -z "$faults" ] || halt
sums=$nl$(sha256sum -z "$@" 2>/dev/null | tr '\0' '\n' | cut -c -8,65-)$nl
modes=$nl$(stat -c '0%a %U:%G %n' "$@")$nl
while read -r sum mode owner path && [ "$sum" != end ]; do
file=$root$path
case $sum$sums in
link* | none*) continue ;;
dir* | *"$nl$sum  $file$nl"*) ;;
*) damaged "$path" 'not what was rendered' ;;
esac
[ "$owner" != - ] || owner=root:root
case $modes in
*"$nl$mode $owner $file$nl"*) ;;
*) { chown -c "$owner" "$file" && chmod -c "$mode" "$file"; } >&2 || damaged "$path" "not $mode $owner" ;;
esac
done <"$etc/files"
[ -z "$faults" ] || halt
sync
}
aside() {
{ [ ! -e "$file" ] && [ ! -L "$file" ]; } || { say "moving aside $path" && mv -fT "$file" "$file.kiln-old"; }
}
damaged() {
fault file-damaged "$1" "$2" 'write the document to this machine again'
}
whole() {
[ ! -e "$lib/before" ] || [ -e "$run/applying" ]
}
identify() {
document=$(sha256sum <"$etc/files") || { damaged /etc/kiln/files missing && halt; }
document=${document%% *}
self=$(echo $(cat "$root/etc/machine-id" "$root/sys/class/dmi/id/product_uuid" 2>/dev/null))
{ read -r origin && read -r steps_done && read -r was; } 2>/dev/null <"$lib/state"
}
case ${1-} in
report)
trap - EXIT
. "$etc/report"
exit
;;
kubelet)
trap - EXIT
until whole; do sleep 1; done
. "$etc/machine"
. "$etc/steps" && remembered again
echo "$node" >"$proc/sys/kernel/hostname"
step=kubelet found='another document, or a copy of another machine'
identify && [ "$was$origin" = "$self$document" ] && exit 0
say "not started: $found"
exit 1
;;
esac
mkdir -p "$run" "$lib"
exec 9>"$run/lock"
flock -n 9 || [ $? != 1 ] || { say already-running && over=yes && exit 0; }
if ! whole; then
systemd-run --quiet --wait --collect sh "$lib/before/change" undo || unwritable "$lib/before"
exec sh "$etc/boot"
fi
rm -rf "$lib/before.over"
if identify; then
[ "$origin$was" = "$document$self" ] || spent || :
[ "$origin" = "$document" ] || stop document-changed /etc/kiln/files "this machine was made from $origin" \
'replace the machine, or bring the old document back'
[ "$was" = "$self" ] || stop cloned /etc/machine-id "the disk is that of $was, this is $self" \
'a copy cannot join: boot a fresh image with its own document'
fi
if ! is_done 'done'; then
starts=0
[ ! -e "$lib/starts" ] || read -r starts <"$lib/starts"
starts=$((starts + 1))
if [ "$starts" -gt 20 ]; then
rm -f "$lib/starts" "$lib/kubelet-allowed"
stop no-progress /var/lib/kiln/state "$starts starts since the last step was done" "$look; then systemctl restart kiln"
fi
echo "$starts" | put "$lib/starts" || unwritable "$lib"
perform files
fi
. "$etc/machine"
. "$etc/steps"
remembered
if ! is_done 'done'; then
for name in $steps 'done'; do
perform "$name"
done
fi
finish
over=yes
