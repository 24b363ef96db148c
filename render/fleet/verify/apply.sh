#!/bin/sh
# The machine's part of kiln apply: it gives a running machine the newer document of the same
# machine. It first makes sure that the machine runs one of the documents that kiln compared, and
# that nothing differs but what kiln apply writes. Then it starts change.sh as a unit, and waits.
#
# shellcheck shell=sh disable=SC2015,SC2154,SC2250,SC2310,SC2312,SC2317
set -eu
umask 077
LC_ALL=C
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/systemd
PATH=$PATH:/opt/bin # of machines that fetch their programs
export LC_ALL PATH
root=${KILN_ROOT-}
etc=$root/etc/kiln lib=$root/var/lib/kiln run=$root/run/kiln
# In memory, so that a power failure leaves nothing of the document but its files.
stage=$run/apply change=$run/change
# Programs that are fetched are too large for that, and no secret.
next=$lib/next

refuse() {
	echo "kiln apply: $1" >&2
	exit 1
}

# keep PATH takes a file of the newer document from standard input.
keep() {
	mkdir -p "$stage/tree${1%/*}"
	base64 -d >"$stage/tree$1" || refuse "$1 cannot be stored"
}

sum() {
	text=$(sha256sum)
	echo "${text%% *}"
}

# lines LIST prints what a list of files says, without its last line.
lines() {
	sed '/^end /d' "$1" | sort
}

# prepare refuses everything that would not end as the newer document says. It changes nothing that
# the machine uses: it writes to $stage and $next, pulls images, and clears what was cut off.
prepare() {
	[ -r "$lib/state" ] && [ -r "$etc/files" ] ||
		refuse 'this machine was not made by kiln, or its first boot has not begun'
	{ read -r made && read -r steps; } <"$lib/state"
	case $steps in
	*'"done":'*) ;;
	# It was done once if it was changed since, and may have been left with what needs mending.
	*) [ -e "$lib/born" ] || refuse 'the first boot of this machine is not done' ;;
	esac
	grep -q lib/before "$etc/boot" ||
		refuse 'the hook of this machine is of an older kiln, and could not put it back: replace it'
	case $(systemctl show -p ActiveState --value kiln-apply.service) in
	inactive | failed) ;;
	*) refuse 'another kiln apply is at work: try again' ;;
	esac
	[ ! -e "$lib/before" ] ||
		refuse 'another kiln apply was cut off, and is being put back: try again'
	# Of one that was cut off.
	rm -rf "$run/applying" "$change" "$next" "$lib/before.new" "$lib/before.over"
	now=$(sum <"$etc/files") wanted=$(sum <"$stage/tree/etc/kiln/files")
	[ "$made" = "$now" ] ||
		refuse 'this machine was made from another document than that of its /etc/kiln/files'
	twin=$(sed -n 's/^end \([^ ]*\).*/\1/p' "$etc/files")
	case " $twins " in
	*" $twin "*) ;;
	*)
		refuse "this machine runs another document, ${twin:-without a digest}: name the state \
that it runs with --since"
		;;
	esac
	lines "$etc/files" >"$stage/old"
	lines "$stage/tree/etc/kiln/files" >"$stage/new"
	# A path without its sum, mode and owner.
	comm -3 "$stage/old" "$stage/new" | tr -d '\t' | cut -d ' ' -f 4- | sort -u >"$stage/differ"
	others=$(comm -23 "$stage/differ" "$stage/may" | head -n 5 | tr '\n' ' ')
	[ -z "$others" ] ||
		refuse "the document of this machine needs a replacement: ${others}differ too"
	while read -r sum mode owner path; do
		file=$stage/tree$path
		[ -f "$file" ] || continue
		case $(sum <"$file") in
		"$sum"*) ;;
		*) refuse "$path was damaged on its way here" ;;
		esac
		[ ! -d "$root$path" ] || refuse "$path is a folder here"
		[ "$owner" != - ] || owner=root:root
		chown "$owner" "$file" || refuse "$path cannot be $owner's"
		chmod "$mode" "$file"
	done <"$stage/new"
	skew
	fetch
	images | pull
	# Units and the links by which they start: with what the older document made of them.
	sed -n "s/^$twin //p" "$stage/all-states" >"$stage/states"
	sed -n 's/^link \([^ ]*\) .*/\1/p' "$stage/states" | sort -u >"$stage/links"
	{ cat "$stage/differ" "$stage/programs" && [ "$now" = "$wanted" ] || echo /etc/kiln/files; } |
		sort -u | comm -23 - "$stage/links" >"$stage/paths"
	safe
	# What starts anew, and commands: each once, of the paths that differ.
	for list in restarts commands; do
		while read -r path what; do
			! grep -qxF -- "$path" "$stage/paths" || echo "$what"
		done <"$stage/all-$list" | cat -n | sort -uk 2 | sort -n | cut -f 2- >"$stage/$list"
	done
	# The user's own units start again when all else is well.
	sed -n '/^systemctl restart /p' "$stage/commands" >"$stage/later"
	sed '/^systemctl restart /d' "$stage/commands" >"$stage/first"
	mv "$stage/first" "$stage/commands"
	tr ' ' '\n' <"$stage/restarts" | here | sort -u >"$stage/each"
	mv "$stage/each" "$stage/restarts"
	! grep -qx etcd "$stage/restarts" || others
}

# safe refuses to write where somebody else could put a link in root's way: below folders that are
# not root's alone, and over what is no file.
safe() {
	me=$(id -u)
	while IFS= read -r path; do
		[ ! -L "$root$path" ] && { [ ! -e "$root$path" ] || [ -f "$root$path" ]; } ||
			refuse "$path is no file here"
		folder=${path%/*}
		while [ -n "$folder" ]; do
			# The sixth and the ninth letter say whether its group and others may write.
			case $(stat -c '%F %u %g %A' "$root$folder" 2>/dev/null) in
			'' | "symbolic link $me "* | "directory $me "*\ d????-??-? | \
				"directory $me $me "d???????-?) ;;
			*)
				# What comes there is made outside of it.
				[ "$folder" = /etc/etcd/pki ] ||
					refuse "$path: others may write to $folder; replace the machine, or write \
the file by hand"
				;;
			esac
			folder=${folder%/*}
		done
	done <"$stage/paths"
}

# skew refuses a kubelet of a newer minor than that of the API server to which it reports. On a
# control plane the API server comes with it.
skew() {
	list=$stage/tree/etc/kiln/artifacts client=$root/var/lib/kubelet/pki/kubelet-client-current.pem
	[ -f "$list" ] && [ -e "$root/etc/kubernetes/kubelet.conf" ] &&
		[ ! -e "$root/etc/kubernetes/manifests/kube-apiserver.yaml" ] || return 0
	minor='s#^[^ ]* v1\.\([0-9]*\)\.[^ ]* [^ ]*/kubelet .*#\1#p'
	newer=$(sed -n "$minor" "$list") older=$(sed -n "$minor" "$etc/artifacts")
	[ "${newer:-0}" -gt "${older:-0}" ] || return 0
	api=$(sed -n "s/^api='\(.*\)'$/\1/p" "$etc/machine")
	said=$(curl -q -sSf -m 10 --noproxy '*' --cacert "$root/etc/kubernetes/pki/ca.crt" \
		--cert "$client" --key "$client" "$api/version" 2>"$stage/error") ||
		refuse "the API server does not say its version: $(tail -n 1 "$stage/error")"
	is=$(echo "$said" | sed -n 's/.*"minor": *"\([0-9]*\).*/\1/p')
	[ "${is:-0}" -ge "$newer" ] || refuse "the API server is of 1.${is:-?}, and a kubelet of \
1.$newer must not be newer: change the control planes first"
}

# fetch brings the programs that the newer document fetches and the older one did not, and lays them
# beside the files of the document. $stage/programs lists what differs from what is there.
fetch() {
	: >"$stage/programs"
	list=$stage/tree/etc/kiln/artifacts ca=$stage/tree/etc/kiln/artifacts.crt
	[ -f "$list" ] || return 0
	[ -f "$ca" ] || ! grep -q ' /etc/kiln/artifacts.crt$' "$stage/new" || ca=$etc/artifacts.crt
	mkdir -p "$next/tree"
	while read -r sum version program folder proxy url; do
		! grep -qF -- "$sum $version $program $folder " "$etc/artifacts" || continue
		echo "fetching $url" || :
		[ "$proxy" = - ] && set -- --noproxy '*' || set -- -x "$proxy"
		[ ! -s "$ca" ] || set -- "$@" --cacert "$ca"
		(ulimit -f 2097152 && curl -q -sSfgL --proto "=https,${url%%:*}" -A kiln \
			--connect-timeout 10 -y 30 -Y 1000 --retry 3 -o "$next/part" "$@" "$url") \
			2>"$stage/error" || refuse "$url cannot be fetched: $(tail -n 1 "$stage/error")"
		[ "$(sum <"$next/part")" = "$sum" ] ||
			refuse "$url has another SHA-256 than $sum, which the document wants"
		unpack 2>"$stage/error" || refuse "$url: $(head -n 1 "$stage/error")"
	done <"$list"
	find "$next/tree" -type f | while IFS= read -r file; do
		path=${file#"$next/tree"}
		[ ! -e "$root$path" ] || [ "$(sum <"$file")" != "$(sum <"$root$path")" ] || continue
		mkdir -p "$stage/tree${path%/*}" && ln -s "$file" "$stage/tree$path"
		echo "$path"
	done >"$stage/programs"
}

# unpack lays what was fetched where its program belongs, below $next/tree.
unpack() {
	umask 022
	to=$next/tree$folder
	[ "$folder" != - ] || to=$next/tree${program%/*}
	mkdir -p "$to" || return
	if [ "$folder" = - ]; then
		chmod 755 "$next/part" && mv -f "$next/part" "$next/tree$program"
	else
		tar -xzof "$next/part" -C "$to" && chmod 755 "$next/tree$program" && rm "$next/part"
	fi || return
	umask 077
}

# pull has containerd get the images of the newer manifests that it does not have, from the
# registries of the newer document and through containerd's own proxy.
pull() {
	hosts=$stage/hosts
	mkdir "$hosts"
	for folder in "$root" "$stage/tree"; do
		from=$folder/etc/containerd/certs.d
		[ ! -d "$from" ] || cp -R "$from/." "$hosts/"
	done
	sed -n 's#^/etc/containerd/certs.d/##p' "$stage/differ" | while IFS= read -r gone; do
		[ -e "$stage/tree/etc/containerd/certs.d/$gone" ] || rm -f "$hosts/$gone"
	done
	stored=" $(ctr -n k8s.io images ls -q 2>/dev/null | tr '\n' ' ')"
	while read -r image; do
		case $stored in
		*" $image "*) continue ;;
		*) ;;
		esac
		echo "pulling $image" || :
		(
			for setting in $(systemctl show -p Environment --value containerd.service); do
				case $setting in
				*_proxy=* | *_PROXY=*) export "${setting?}" ;;
				*) ;;
				esac
			done
			timeout 1800 ctr -n k8s.io images pull --hosts-dir "$hosts" "$image" </dev/null
		) >"$stage/error" 2>&1 && continue
		said=$(tail -n 1 "$stage/error")
		case $image$said in
		*etcd*) ;;
		*'401 Unauthorized'* | *'403 Forbidden'* | *'authorization failed'*)
			# The kubelet may have a login.
			! cat "$root"/etc/systemd/system/kubelet.service.d/*.conf |
				grep -q image-credential-provider || continue
			;;
		*) ;;
		esac
		refuse "$image cannot be pulled: $said"
	done
}

# images prints those of the newer manifests and sandboxes, as containerd names them: with a digest
# they have no tag.
images() {
	cat "$stage/tree"/etc/kubernetes/manifests/*.yaml "$stage/tree/etc/containerd/config.toml" \
		2>/dev/null | sed -n 's/^ *\(- \)\{0,1\}image: //p
			s/^ *sandbox\(_image\)\{0,1\} = //p' |
		tr -d "'\"" | sed 's#:[^/@]*@#@#' | sort -u
}

# others refuses to end this machine's member of etcd while another one is away.
others() {
	pki=$root/etc/etcd/pki
	# shellcheck disable=SC2013 # words are wanted
	for peer in $(sed -n "s/^etcd_peers='\(.*\)'$/\1/p" "$etc/machine"); do
		curl -q -sf -m 5 --noproxy '*' -o /dev/null --cacert "$pki/ca.crt" \
			--cert "$pki/server.crt" --key "$pki/server.key" "${peer##*,}/health" ||
			refuse "the member of etcd on ${peer%%=*} is not well, and this one would go: see \
to it first"
	done
}

# here prints the names from standard input that this machine has. An API server whose etcd was away
# connects to it only minutes later, and so long its clients hang: the kubelet among them, which
# then starts no pod. So it starts anew too.
here() {
	while read -r name; do
		case $name in
		*.service) echo "$name" ;;
		*) [ ! -e "$root/etc/kubernetes/manifests/$name.yaml" ] || echo "$name" ;;
		esac
		[ "$name" != etcd ] || echo kube-apiserver | here
	done
}

# run_change runs the change as a unit, which goes on if the connection ends.
run_change() {
	rm -rf "$change" && mkdir "$change"
	mv "$stage/tree" "$stage/change" "$stage/paths" "$stage/commands" "$stage/restarts" \
		"$stage/states" "$stage/later" "$change/"
	: >"$run/applying"
	echo 'the change was cut off' >"$run/why"
	rm -f "$run/kept"
	systemd-run --quiet --wait --pipe --collect --unit kiln-apply \
		-p "ExecStopPost=/bin/sh $change/change ended" sh "$change/change" </dev/null || :
	# It counts what is there. Perhaps the hook puts everything back just now.
	tries=0
	until [ ! -e "$lib/before" ] || [ "$tries" = 120 ]; do
		tries=$((tries + 1))
		sleep 1
	done
	why=$(cat "$run/why" 2>/dev/null) || why=''
	rm -f "$run/why"
	[ ! -e "$lib/before" ] || refuse "$why; it is still being put back: sh /etc/kiln/boot report"
	[ "$(sum <"$etc/files")" = "$wanted" ] || refuse "$why; the machine is as it was before"
	[ ! -e "$run/kept" ] || refuse "$why; the machine has its newer document, because a newer \
minor of etcd has the data by now: mend cluster.yaml, render and apply that; etcd's data of before \
is the snapshot $lib/etcd.db"
}

# left prints what a person has to do.
left() {
	rest=yes
	echo "$1"
}

# login gives each user with keys of an older document those of the newer one. root's file may have
# them with options that keep root out. Each user's own shell writes the file: root must not follow
# a link that a user made.
login() {
	[ -s "$stage/login" ] || return 0
	found=''
	cut -d : -f 1,6 "$root/etc/passwd" >"$stage/homes"
	while IFS=: read -r user home; do
		[ -d "$root$home/.ssh" ] || continue
		for file in "$root$home"/.ssh/authorized_keys "$root$home"/.ssh/authorized_keys.d/*; do
			rc=0
			setsid -w timeout 10 runuser -u "$user" -- sh -c "$(cat "$stage/as-user")" sh "$file" \
				<"$stage/login" >/dev/null 2>&1 9>&- || rc=$?
			case $rc in
			0) found=yes ;;
			3) ;;
			4) left "$file: keys in it have different options; write the new ones by hand" ;;
			*) left "$file: could not be written by $user" ;;
			esac
		done
	done <"$stage/homes"
	[ -n "$found" ] ||
		left 'no file of public keys could be given those of the document: write them by hand'
}

main() {
	[ -n "$root" ] || [ "$(id -u)" = 0 ] || refuse 'this needs root on the machine'
	mkdir -p "$run"
	exec 9>"$run/apply.lock"
	flock -n 9 || refuse 'another kiln apply is at work on this machine'
	rm -rf "$stage"
	trap 'rm -rf "$stage"' EXIT
	trap 'exit 1' HUP INT TERM
	trap '' PIPE
	# Some shells keep what follows << in a file of this folder.
	unset TMPDIR
	TMPDIR=$run
	mkdir -p "$stage"
	rest=''
	twins='@TWINS@'
	sort -u >"$stage/may" <<'KILN_END'
@MAY@
KILN_END
	cat >"$stage/login" <<'KILN_END'
@LOGIN@
KILN_END
	cat >"$stage/as-user" <<'KILN_END'
@AS_USER@
KILN_END
	cat >"$stage/change" <<'KILN_END'
@CHANGE@
KILN_END
	cat >"$stage/all-commands" <<'KILN_END'
@COMMANDS@
KILN_END
	cat >"$stage/all-restarts" <<'KILN_END'
@RESTARTS@
KILN_END
	cat >"$stage/all-states" <<'KILN_END'
@STATES@
KILN_END
	@FILES@
	prepare
	count=$(wc -l <"$stage/paths")
	starts=$({ cat "$stage/restarts" && sed 's/^systemctl restart //' "$stage/later"; } |
		tr '\n' ' ')
	units=$(sed -n 's/^unit \([^ ]*\) [^ ]* /\1 /p' "$stage/states" | paste -s -d , -)
	[ "$count" = 0 ] || run_change
	login
	[ -z "$starts" ] || echo "started anew: ${starts% }"
	[ -z "$units" ] || echo "units: $units"
	echo "files written: $((count))"
	[ -z "$rest" ] || exit 3
}

# All of the program is read before it begins, even from standard input.
main </dev/null
exit
