#!/bin/sh
# kiln apply's change of a machine, old or new and nothing between. It runs as the unit kiln-apply,
# which no broken connection ends. The old files lie in /var/lib/kiln/before from before the first
# write until all is well. Whatever cuts the change off, kiln.service finds them there and puts them
# back before anything else: it runs this program as "sh change undo".
#
# shellcheck shell=sh disable=SC2154,SC2250,SC2310,SC2312,SC2317
set -eu
umask 077
LC_ALL=C
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/systemd
PATH=$PATH:/opt/bin # of machines that fetch their programs
export LC_ALL PATH
root=${KILN_ROOT-}
etc=$root/etc/kiln lib=$root/var/lib/kiln run=$root/run/kiln
stage=$run/change before=$lib/before pki=$root/var/lib/kubelet/pki
db=/var/lib/etcd/member/snap/db
client=/var/lib/kubelet/pki/kubelet-client-kiln.pem cas=/etc/kubernetes/pki/ca.crt
# Seconds of the computer's clock for all programs to be well, and then for the hook.
limit=300
cd /

# fail REASON... ends the change. kiln.service puts the old files back.
fail() {
	echo "$*" >"$run/why"
	exit 1
}

# put FILE writes standard input to FILE: whole or not at all, even if the power fails.
put() {
	rm -f "$1.new" && cat >"$1.new" && { sync "$1.new" 2>/dev/null || sync; } && mv -f "$1.new" "$1"
}

# full ends the change before anything has changed.
full() {
	fail "the files of before cannot be kept: make room in $lib"
}

# part_of PATH sets $part to the name that a file has until it is whole. A kubelet ignores a
# manifest whose name begins with a dot. In etcd's own folder its user could put a link there.
part_of() {
	part=${1%/*}
	[ "$part" != /etc/etcd/pki ] || part=/etc/etcd
	part=$root$part/.${1##*/}.kiln
}

# place SOURCE PATH moves a copy of a file, with its mode and owner, to its place in one step.
place() {
	file=$root$2
	part_of "$2"
	(umask 022 && mkdir -p "${file%/*}")
	{ rm -f "$part" && cp -p "$1" "$part" && mv -fT "$part" "$file"; } ||
		fail "$2 cannot be written"
	! command -v restorecon >/dev/null || restorecon "$file" || :
}

# save keeps what the change overwrites: files, the state of the hook, and this program. A machine
# whose programs start anew goes through the last steps of its hook again.
save() {
	mkdir -p "$before.new/tree" || full
	while IFS= read -r path; do
		[ ! -e "$root$path" ] || {
			mkdir -p "$before.new/tree${path%/*}" && cp -p "$root$path" "$before.new/tree$path"
		} || full
	done <"$stage/paths"
	cp "$stage/change" "$stage/paths" "$stage/commands" "$stage/restarts" "$stage/states" \
		"$stage/later" "$before.new/" || full
	sed -n 's/^unit \([^ ]*\) .*/\1/p' "$stage/states" >"$before.new/units"
	those is-enabled <"$before.new/units" >"$before.new/enabled" || full
	# What needs the kubelet ends with it.
	if [ -s "$stage/restarts" ]; then
		systemctl show -p RequiredBy -p BoundBy -p ConsistsOf --value kubelet.service |
			tr ' ' '\n' >>"$before.new/units"
	fi
	those is-active <"$before.new/units" >"$before.new/active" || full
	readlink "$root/etc/localtime" >"$before.new/zone" || :
	again <"$lib/state" >"$before.new/state" || full
	readlink "$pki/kubelet-client-current.pem" >"$before.new/current" || :
	[ ! -e "$lib/born" ] || cp "$lib/born" "$before.new/" || full
	sync
	mv "$before.new" "$before"
	sync
}

# those IS prints those units from standard input of which "systemctl IS" holds.
those() {
	while read -r name; do
		[ -z "$name" ] || ! systemctl "$1" --quiet "$name" </dev/null || echo "$name"
	done
}

# present FILE makes it the kubelet's client certificate. The kubelet may have one of its own by
# now, which an older CA has signed.
present() {
	ln -sfn "$1" "$pki/.current.kiln"
	mv -fT "$pki/.current.kiln" "$pki/kubelet-client-current.pem"
}

# again prints the state of the hook without the steps that wait for health, if something starts
# anew.
again() {
	if [ -s "$stage/restarts" ]; then
		sed -E 's/,"(kubelet|control-plane|ready|node|network|done)":[0-9]*//g'
	else
		cat
	fi
}

# remove PATH removes a file. The container runtime looks into the folder of a registry, even if it
# is empty.
remove() {
	rm -f "$root$1"
	case $1 in
	/etc/containerd/certs.d/* | /etc/systemd/system/*.d/*)
		rmdir "$root${1%/*}" 2>/dev/null || :
		;;
	*) ;;
	esac
}

# write puts all files in their places.
write() {
	while IFS= read -r path; do
		if [ -f "$stage/tree$path" ]; then
			place "$stage/tree$path" "$path"
			continue
		fi
		remove "$path"
	done <"$stage/paths"
	if [ -e "$root$client" ] && grep -qx -e "$client" -e "$cas" "$stage/paths"; then
		present "${client##*/}"
	fi
	state=$(newer_state)
	echo "$state" | again | put "$lib/state"
	[ -e "$lib/born" ] ||
		sed -n 's/^end \([0-9a-f]*\).*/\1/p' "$before/tree/etc/kiln/files" | put "$lib/born"
}

# newer_state prints the state of the hook with the newer document. Steps that the older one did not
# have count as done, but for those that wait for health: scripts of a first boot do not run on a
# machine that runs.
newer_state() {
	{
		read -r _ && read -r steps && IFS= read -r self
	} <"$lib/state"
	# shellcheck disable=SC2013 # words are wanted
	for step in $(sed -n "s/^steps='\(.*\)'$/\1/p" "$etc/machine"); do
		case $step in
		kubelet | control-plane | ready | node | network) continue ;;
		*) ;;
		esac
		case $steps in
		*"\"$step\":"*) ;;
		*) steps="$steps,\"$step\":0" ;;
		esac
	done
	sum=$(sha256sum <"$etc/files")
	printf '%s\n' "${sum%% *}" "$steps" "$self"
}

# run LIST runs its commands.
run() {
	set -f # a pattern is for systemctl: it finds no unit, or one
	while read -r words; do
		# shellcheck disable=SC2086 # words are wanted
		case $words in
		'systemctl '*) ctl ${words#systemctl } </dev/null ;;
		*) $words </dev/null ;;
		esac || failed "$words"
	done <"$from/$1"
	set +f
}

# ctl is systemctl. It does not wait for what is put back: the machine may be starting.
ctl() {
	[ "$from" = "$stage" ] || set -- --no-block "$@"
	timeout "$limit" systemctl "$@"
}

# failed COMMAND ends the change, but not what puts all back.
failed() {
	[ "$from" = "$before" ] || fail "this failed: $*; mend cluster.yaml and render again"
}

# release takes each unit whose state changes out of the one that it has.
release() {
	while read -r kind name old new; do
		[ "$from" = "$stage" ] || old=$new
		case $kind-$old in
		# When all is put back: those that the system had enabled stay so.
		unit-enabled)
			[ "$from" = "$before" ] && grep -qxF -- "$name" "$before/enabled" ||
				ctl --quiet disable --now "$name" || :
			;;
		unit-masked) ctl --quiet unmask "$name" || : ;;
		*) ;;
		esac
	done <"$from/states"
}

# wanted UNIT: what it is enabled for has been reached. One for the end of the machine has not.
wanted() {
	for by in $(systemctl show -p WantedBy -p RequiredBy --value "$1"); do
		! systemctl is-active --quiet "$by" || return 0
	done
	return 1
}

# begin starts the units that are enabled, and those of the user's that start again, when all else
# is well. What needs the kubelet has ended with it.
begin() {
	while read -r kind name _ new; do
		[ "$kind-$new" != unit-enabled ] || ! wanted "$name" || ctl start "$name" ||
			fail "$name does not start; mend cluster.yaml and render again"
	done <"$stage/states"
	run later
	while read -r name; do
		grep -qF "unit $name " "$stage/states" || ctl start "$name" || :
	done <"$before/active"
}

# settle gives each unit its other state.
settle() {
	while read -r kind name old new; do
		[ "$from" = "$stage" ] || new=$old
		case $kind-$new in
		unit-enabled) ctl --quiet enable "$name" || failed "systemctl enable $name" ;;
		unit-off)
			# The system may have one of this name, which starts in its place.
			if [ "$old" = there ] && [ "$from" = "$stage" ]; then
				case $(systemctl show -p LoadState --value "$name") in
				loaded) ctl try-restart "$name" || : ;;
				*) ctl stop "$name" || : ;;
				esac
			fi
			;;
		unit-masked)
			ctl --quiet mask "$name" || failed "systemctl mask $name"
			ctl stop "$name" || :
			;;
		link-off) rm -f "$root$name" ;;
		link-*) { mkdir -p "$root${name%/*}" && ln -sfn "$new" "$root$name"; } || failed "$name" ;;
		*) ;;
		esac
	done <"$from/states"
}

# forget_shares removes what the kubelet has kept of the processors and the memory of pods.
forget_shares() {
	rm -f "$root/var/lib/kubelet/cpu_manager_state" "$root/var/lib/kubelet/memory_manager_state"
}

# etcd_minor FOLDER prints the minor of etcd in the manifest there, if its image says it.
etcd_minor() {
	sed -n 's/^ *\(- \)\{0,1\}image: .*etcd[^:]*:v\{0,1\}\(3\.[0-9]*\)\..*/\2/p' \
		"$1/etc/kubernetes/manifests/etcd.yaml" 2>/dev/null || :
}

# snapshot keeps what etcd has, before a newer minor of it opens the data. The program is that of
# etcd's own image.
snapshot() {
	pids=$(processes etcd) at=/etc/etcd/pki data=/var/lib/etcd/kiln.db
	rm -f "$root$data" "$root$data.part"
	# A full disk harms more than a missing snapshot.
	size=$(stat -c %s "$root$db")
	for folder in "$root/var/lib/etcd" "$lib"; do
		[ "$(($(stat -f -c '%a*%S' "$folder")))" -gt "$((2 * size))" ] ||
			fail "there is no room for a snapshot of etcd: make some in $folder"
	done
	said=$(timeout 600 chroot "$root/proc/${pids%% *}/root" etcdctl --cacert "$at/ca.crt" \
		--cert "$at/server.crt" --key "$at/server.key" snapshot save "$data" 2>&1 </dev/null) ||
		fail "there is no snapshot of etcd: $(echo "$said" | tail -n 1)"
	mv "$root$data" "$lib/etcd.db" ||
		fail "the snapshot of etcd cannot be kept: make room in $lib"
	sync
}

# opened holds if a newer minor of etcd has written to its data since the older one ended. Nothing
# leads back then: the older one could not read it.
opened() {
	[ -e "$before/newer" ] && [ -n "$(find "$root$db" -newer "$before/newer")" ]
}

# restarts NAME: it is to start anew.
restarts() {
	grep -qx -- "$1" "$from/restarts"
}

# processes POD prints those of a static pod: what has the name of its program, in its own group.
processes() {
	for logs in "$root/var/log/pods/kube-system_$1-$node"_*; do
		for process in "$root"/proc/[0-9]*; do
			name=''
			! { read -r name <"$process/comm"; } 2>/dev/null ||
				[ "$name" != "$(printf %.15s "$1")" ] ||
				! grep -q "pod${logs##*_}" "$process/cgroup" 2>/dev/null ||
				printf '%s ' "${process##*/}"
		done
	done
}

# end stops what is to start anew. A kubelet that runs would need half a minute to end a static pod
# and to start it with another manifest; one that starts does not wait. The API server ends before
# etcd, which it needs for that.
end() {
	[ -s "$from/restarts" ] || return 0
	systemctl stop kubelet.service
	for pod in kube-vip haproxy kube-scheduler kube-controller-manager kube-apiserver etcd; do
		! restarts "$pod" || end_pod "$pod"
	done
}

# end_pod POD ends a static pod. At a second signal the API server drops the requests that it still
# serves: so each comes two seconds after the one before.
end_pod() {
	signal=TERM tries=0
	while processes=$(processes "$1") && [ -n "$processes" ]; do
		# shellcheck disable=SC2086 # each is a word
		[ "$((tries % 10))" != 0 ] || kill -s "$signal" $processes 2>/dev/null || :
		tries=$((tries + 1))
		[ "$tries" -lt 60 ] || signal=KILL
		# What was to start anew, and does not end, has the files of before when they are put back.
		[ "$tries" -lt 90 ] || [ "$from" = "$before" ] || fail "$1 does not end"
		[ "$tries" -lt 90 ] || return 0
		sleep 0.2 || sleep 1
	done
}

# clock sets $now to the seconds since the computer's start.
clock() {
	read -r now _ <"$root/proc/uptime"
	now=${now%%.*}
}

# wait_for WHAT COMMAND... tries the command every second until $deadline, or until it sets $over.
wait_for() {
	what=$1 over=''
	shift
	until "$@"; do
		clock
		[ -n "$over" ] || [ "$now" -lt "$deadline" ] || over=yes
		[ -z "$over" ] || fail "$what is not well: $(why)"
		sleep 1
	done
}

# why prints the last words of what is not well.
why() {
	case $what in
	kubelet) journalctl -t kubelet -n 1 -o cat ;;
	'its hook') sed 's/.*"steps":{[^}]*},//' "$lib/status.json" ;;
	*)
		# The newest one may be empty yet.
		# shellcheck disable=SC2046 # the names have no spaces
		tail -qn 1 /dev/null $(newest 2) | head -n 1 | cut -d ' ' -f 4-
		;;
	esac 2>&1 | cut -c -400
}

kubelet_is_well() {
	# It exits at once if it cannot read its configuration, and systemd starts it again.
	[ "$(systemctl show -p NRestarts --value kubelet.service)" -lt 3 ] 2>/dev/null || over=yes
	curl -q -sf -m 5 --noproxy '*' -o /dev/null http://127.0.0.1:10248/healthz
}

# kubelet_stays: it is well, and has run for ten seconds. Some settings end it only some seconds
# after its start.
kubelet_stays() {
	kubelet_is_well || return
	since=$(systemctl show -p ActiveEnterTimestampMonotonic --value kubelet.service)
	clock
	[ "$((now - since / 1000000))" -ge 10 ]
}

# newest COUNT prints the logs of the newest containers of the static pod in $what. They have
# numbers for names, which count the starts.
newest() {
	# shellcheck disable=SC2012 # the kubelet's names have no spaces
	ls -t "$root/var/log/pods/kube-system_$what-$node"_*/"$what"/*.log 2>/dev/null | head -n "$1"
}

# pod_is_well [URL [OPTION...]]: the static pod in $what has processes, and answers. It has no more
# time if it has ended three times.
pod_is_well() {
	log=$(newest 1) number=${log##*/}
	number=${number%.log} number=${number:-0}
	[ "${log%/*}" = "$folder" ] || folder=${log%/*} first=$number
	[ "$((number - first))" -lt 3 ] || over=yes
	[ -n "$(processes "$what")" ] || return 1
	[ $# = 0 ] || curl -q -sf -m 5 --noproxy '*' -o /dev/null "$@"
}

# start starts anew what was ended, and waits for it.
start() {
	[ -s "$from/restarts" ] || return 0
	clock
	deadline=$((now + limit))
	! restarts containerd.service || systemctl restart containerd.service ||
		fail 'containerd does not start'
	# Not start: somebody may have started it with the files of before.
	systemctl restart kubelet.service || fail 'the kubelet does not start'
	wait_for kubelet kubelet_is_well
	api=$(sed -n "s/^api='\(.*\)'$/\1/p" "$etc/machine")
	current=$pki/kubelet-client-current.pem folder='' number=0 first=0
	while read -r pod options; do
		# shellcheck disable=SC2086 # words are wanted
		! restarts "$pod" || wait_for "$pod" pod_is_well $options
	done <<END
etcd http://127.0.0.1:2381/readyz
kube-apiserver $api/readyz --cacert $root$cas --cert $current --key $current
kube-controller-manager -k https://127.0.0.1:10257/healthz
kube-scheduler -k https://127.0.0.1:10259/healthz
kube-vip
haproxy
END
}

hook_is_done() {
	! grep -q '"phase":"stopped"' "$lib/status.json" 2>/dev/null || over=yes
	grep -q '"done":' "$lib/state"
}

# undo puts the old files back, unless there is no way back: then the hook goes on, and starts the
# kubelet. It may be cut off too: the next start does it again.
undo() {
	end # so that nothing opens the data from here on
	if opened; then
		: >"$run/kept"
		mv "$before" "$before.over"
		rm -rf "$before.over"
		return
	fi
	release
	while IFS= read -r path; do
		part_of "$path"
		rm -f "$part"
		if [ -f "$before/tree$path" ]; then
			place "$before/tree$path" "$path"
		else
			remove "$path"
		fi
	done <"$before/paths"
	read -r certificate <"$before/current" && present "$certificate"
	put "$lib/state" <"$before/state"
	rm -f "$lib/born"
	[ ! -e "$before/born" ] || put "$lib/born" <"$before/born"
	rm -rf "$lib/next"
	! read -r zone <"$before/zone" || ln -sfn "$zone" "$root/etc/localtime"
	sync
	systemctl daemon-reload
	run commands
	settle
	run later
	while read -r name; do
		ctl start "$name" || :
	done <"$before/active"
	! restarts containerd.service || systemctl restart --no-block containerd.service || :
	[ ! -s "$from/restarts" ] || systemctl restart --no-block kubelet.service || :
	mv "$before" "$before.over"
	rm -rf "$before.over"
}

trap '' PIPE HUP
trap 'exit 1' INT TERM
node=$(sed -n "s/^node='\(.*\)'$/\1/p" "$etc/machine") || :
from=$stage
case ${1-} in
undo)
	from=$before
	undo
	;;
ended) # however the change ended
	rm -rf "$run/applying" "$stage" "$lib/next" "$before.new" "$before.over"
	# Its hook puts everything back, or goes through the steps that are left.
	if [ -e "$before" ] || ! grep -q '"done":' "$lib/state"; then
		systemctl restart --no-block kiln.service
	fi
	;;
*)
	# A hook that is still at work would write the state of the older document.
	grep -q '"done":' "$lib/state" || systemctl stop kiln.service
	newer=$(etcd_minor "$stage/tree") older=$(etcd_minor "$root")
	[ "${newer#3.}" -gt "${older#3.}" ] 2>/dev/null || newer=''
	[ -z "$newer" ] || snapshot
	save
	release
	end
	write
	[ -z "$newer" ] || : >"$before/newer"
	systemctl daemon-reload
	run commands
	settle
	sync
	start
	begin
	# It tells the cluster which document this machine runs, after its last steps if something has
	# started anew.
	rm -f "$lib/status.json"
	systemctl restart kiln.service
	clock
	deadline=$((now + limit))
	wait_for 'its hook' hook_is_done
	! restarts kubelet.service || wait_for kubelet kubelet_stays
	sync
	mv "$before" "$before.over"
	rm -rf "$before.over" "$run/why"
	sync
	;;
esac
exit
