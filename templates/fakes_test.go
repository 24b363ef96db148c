package templates_test

// fakes are the programs of the fake commands, after the line #!/bin/sh. Time passes only in sleep.
// Each is a file of its own: a run of the hook starts some 350 of them, and a shell reads all of
// its program before it begins.
var fakes = map[string]string{
	"sync": ``,
	"sleep": `
# In tenths of a second, which are as exact as the pauses of the hook.
case $1 in
0.*) pause=${1#*.} ;;
*.*) pause=${1%.*}${1#*.} ;;
*) pause=${1}0 ;;
esac
read -r up rest <"$KILN_ROOT/proc/uptime"
was=${up%.*}${up#*.} was=${was%?}
then=$((was + pause))
echo "$((then / 10)).$((then % 10))0 $rest" >"$KILN_ROOT/proc/uptime"
read -r now <"$WORLD/clock"
echo "$((now + then / 10 - was / 10))" >"$WORLD/clock"
# While the hook is overdue, the world changes as WORLD/meanwhile says, once; else this is the
# end of the test.
read -r status 2>/dev/null <"$KILN_ROOT/var/lib/kiln/status.json" || status=''
case $status in
*'"phase":"waiting"'*'"faults":[{'* | *'"phase":"done"'*'"faults":[{'*)
	echo "$1" >>"$WORLD/rested"
	[ -e "$WORLD/meanwhile" ] || kill -KILL 0
	mv "$WORLD/meanwhile" "$WORLD/then"
	. "$WORLD/then"
	;;
esac
`,
	"date":  known + `known clock`,
	"id":    known + `known uid`,
	"nproc": known + `known cpus`,
	"uname": known + `
case $1 in
-m) known arch ;;
*) known kernel ;;
esac
`,
	"kubelet":    known + `known kubelet-version`,
	"journalctl": known + `known journal`,
	"timeout": `
shift
exec "$@"
`,
	"cloud-init":  `echo "$*" >>"$WORLD/cloud-init"; . "$WORLD/cloud-init-ends"`,
	"timedatectl": `echo NTPSynchronized=no`,
	"systemd-run": `
case $* in
*kiln-announce*)
	echo "$*" >>"$WORLD/announcing"
	[ ! -e "$WORLD/no-announce" ] || { echo 'Unit was already loaded' >&2; exit 1; }
	exit 0
	;;
*--on-calendar*) echo "$*" >>"$WORLD/timers" && exit ;;
esac
while [ "$1" != sh ] && [ "$1" != ctr ]; do
	case $1 in
	RuntimeMaxSec=*) limit=${1#*=} ;;
	esac
	shift
done
[ "$1" = sh ] || exec "$@"
case $(cat "$2") in
*forever*) sleep "$limit" && exit 1 ;;
esac
exec "$@"
`,
	"ctr": `
case $* in
*'images ls'*) cat "$WORLD/images" ;;
*'images pull'*)
	echo images pull >>"$WORLD/ctr"
	[ -e "$WORLD/can-pull" ] || { echo 'ctr: no such host' >&2; exit 1; }
	echo "${*##* }" >"$WORLD/images"
	;;
*'containers rm'*) echo containers rm >>"$WORLD/ctr" ;;
*' run '*)
	echo run >>"$WORLD/ctr"
	echo "$*" >"$WORLD/ctr-run"
	[ ! -e "$WORLD/bad-snapshot" ] ||
		{ echo 'Error: expected sha256 [1], got [2]' >&2; exit 1; }
	mkdir "$KILN_ROOT/var/lib/etcd/restore"
	mkdir -p "$KILN_ROOT/var/lib/etcd/restore/member/snap"
	echo whole >"$KILN_ROOT/var/lib/etcd/restore/member/snap/db"
	;;
esac
`,
	"ip": known + `
case $* in
*"show to "*) known address ;;
*' route get '*)
	cat "$WORLD/route$2" 2>/dev/null ||
		{ echo 'RTNETLINK answers: Network is unreachable' >&2; exit 2; }
	;;
*'show scope global'*) echo "$*" >>"$WORLD/ip" && cat "$WORLD/global$2" 2>/dev/null ;;
*) echo 'lo UNKNOWN 127.0.0.1/8'; known addresses ;;
esac
`,
	"systemctl": known + `
echo "$*" >>"$WORLD/systemctl"
case $* in
'restart '*)
	case $* in
	*systemd-sysctl.service*)
		[ -e "$WORLD/no-sysctl" ] || echo 1 >"$KILN_ROOT/proc/sys/net/ipv4/ip_forward"
		known hostname >"$KILN_ROOT/proc/sys/kernel/hostname"
		;;
	esac
	case $* in
	*systemd-modules-load.service*)
		[ -e "$WORLD/no-module" ] || mkdir -p "$KILN_ROOT/sys/module/br_netfilter"
		;;
	esac
	case $* in
	*systemd-sysext.service*)
		[ ! -e "$KILN_ROOT/var/lib/extensions/kubernetes.raw" ] ||
			cp -R "$WORLD/extension/." "$KILN_ROOT/usr/"
		;;
	esac
	;;
'show -p FragmentPath -p DropInPaths --value '*)
	[ ! -e "$WORLD/show-$7" ] || cat "$WORLD/show-$7"
	;;
'start kiln-packages.service') [ ! -e "$WORLD/no-packages" ] || exit 1 ;;
'stop *.swap') [ -e "$WORLD/no-swapoff" ] || echo Filename >"$KILN_ROOT/proc/swaps" ;;
'is-active kubelet.service')
	if [ -e "$WORLD/no-kubelet" ]; then known no-kubelet; else echo active; fi
	;;
*' kubelet.service')
	[ -e "$KILN_ROOT/var/lib/kiln/kubelet-allowed" ] || exit 0
	[ ! -e "$WORLD/no-kubelet" ] || exit 0
	: >"$WORLD/running"
	[ ! -e "$KILN_ROOT/etc/kubernetes/bootstrap-kubelet.conf" ] || {
		mkdir -p "$KILN_ROOT/var/lib/kubelet/pki"
		echo pem >"$KILN_ROOT/var/lib/kubelet/pki/kubelet-client-current.pem"
		echo conf >"$KILN_ROOT/etc/kubernetes/kubelet.conf"
	}
	;;
'is-active '*)
	if [ -e "$WORLD/active-$2" ]; then known "active-$2"; else known active; fi
	;;
esac
`,
	"curl": `
# What the hook tells the cluster of itself is beside what it asks.
case $* in
*/run/kiln/mark*) ;;
*) echo "$*" >>"$WORLD/curl" ;;
esac
method=GET out='' body='' url='' head=/dev/null
while [ $# -gt 0 ]; do
	case $1 in
	-o) out=$2 && shift ;;
	-X) method=$2 && shift ;;
	-d) method=POST && shift ;;
	--data-binary) body=${2#@} && shift ;;
	-D) head=$2 && shift ;;
	-w | -H | -A | -m | --noproxy | --cacert) shift ;;
	--cert | --key)
		[ -r "$2" ] || { echo 'curl: (58) no certificate' >&2; printf 000; exit 58; }
		shift
		;;
	-*) ;;
	*) url=$1 ;;
	esac
	shift
done
rest=${url#*://*/}
# The first rule for this request that has not been used up answers it: method, URL, times,
# code, exit, body.
[ ! -e "$WORLD/rules" ] || for rule in "$WORLD"/rules/*; do
	[ -e "$rule" ] || continue
	{
		read -r rule_method && read -r rule_url && read -r times && read -r code &&
			read -r status
	} <"$rule"
	[ "$rule_method" = "$method" ] || continue
	case $url in
	$rule_url) ;;
	*) continue ;;
	esac
	tail -n +6 "$rule" >"$out"
	[ "$head" = /dev/null ] || printf 'HTTP/1.1 200 OK\r\nX-Etcd-Cluster-Id: %s\r\n' \
		"$(cat "$WORLD/etcd-id" 2>/dev/null)" >"$head"
	case $times in
	1) rm "$rule" ;;
	9999) ;;
	*)
		{
			printf '%s\n' "$rule_method" "$rule_url" "$((times - 1))"
			tail -n +4 "$rule"
		} >"$rule.new"
		mv "$rule.new" "$rule"
		;;
	esac
	says='as the rule says'
	[ ! -e "$WORLD/curl-says" ] || read -r says <"$WORLD/curl-says" || :
	[ "$status" = 0 ] || echo "curl: ($status) $says" >&2
	printf %s "$code"
	exit "$status"
done
case $method$url in
*/v3/cluster/member/* | *:2380/members) echo 'curl: (7) refused' >&2 && printf 000 && exit 7 ;;
esac
[ -e "$WORLD/running" ] || { echo 'curl: (7) refused' >&2; printf 000; exit 7; }
name=${rest%%\?*}
while :; do
	case $name in
	*/*) name=${name%%/*}_${name#*/} ;;
	*) break ;;
	esac
done
case $method$url$body in
PATCH*/run/kiln/mark)
	cat "$body" >>"$WORLD/marks"
	echo >>"$WORLD/marks"
	printf 200
	;;
PATCH*)
	cp "$body" "$WORLD/api/$name"
	echo "$name" >>"$WORLD/applied"
	printf 200
	;;
*/nodes/*)
	printf '{"status":{"conditions":[{"type":"Ready","status":"True"}],' >"$out"
	printf '"nodeInfo":{"machineID":"%s"}}}' "$(cat "$KILN_ROOT/etc/machine-id")" >>"$out"
	printf 200
	;;
*/api/v1/* | */apis/*)
	if cp "$WORLD/api/$name" "$out" 2>/dev/null; then printf 200; else printf 404; fi
	;;
*) printf 200 ;;
esac
`,
}

// known FILE prints the first line of a file of the world.
const known = `known() {
	read -r line <"$WORLD/$1" || :
	echo "$line"
}
`

// ownStat is stat for a plain user, whose files it calls root's. Its verb is the real program.
// ownChown is chown there: it does nothing, and knows no user but root.
const ownStat = `#!/bin/sh
real=%s
case $2 in
*' %%U:%%G') ;;
*) exec $real "$@" ;;
esac
format=${2%%'%%U:%%G'}root:root
shift 2
exec $real -c "$format" "$@"
`

const ownChown = `#!/bin/sh
[ "$1" = -R ] || [ "$2" = root:root ]
`

// killer runs before every command in crash tests, and counts the commands: each makes the first
// file in WORLD/calls that is not there yet, which no two can do at once, and which needs no other
// process. At number WORLD/kill-at the hook and everything that it started get SIGKILL, as if the
// power had failed.
const killer = `#!/bin/sh
PATH=$REST
read -r n 2>/dev/null <"$WORLD/next" || n=0
set -C
while ! true 2>/dev/null >"$WORLD/calls/$n"; do n=$((n + 1)); done
set +C
echo "$((n + 1))" >"$WORLD/next"
if read -r at 2>/dev/null <"$WORLD/kill-at" && [ "$n" -ge "$at" ]; then
	kill -KILL 0
fi
exec "${0##*/}" "$@"
`
