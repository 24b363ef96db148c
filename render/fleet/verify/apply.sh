#!/bin/sh
# The machine's part of kiln apply: it gives a running machine the newer document of the same
# machine. It first makes sure that the machine runs one of the documents that kiln compared, and
# that nothing differs but what kiln apply writes. Then it writes: whatever interrupts it, the
# machine starts again, and the same script goes on.
#
# shellcheck shell=sh disable=SC2015,SC2154,SC2250,SC2310,SC2312,SC2317
set -eu
umask 077
LC_ALL=C
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/systemd
export LC_ALL PATH
root=${KILN_ROOT-}
etc=$root/etc/kiln lib=$root/var/lib/kiln run=$root/run/kiln
# In memory, so that a power failure leaves nothing of the document but its files.
stage=$run/apply

refuse() {
	echo "kiln apply: $1" >&2
	exit 1
}

# put FILE writes standard input to FILE: whole or not at all, even if the power fails.
put() {
	rm -f "$1.new" && cat >"$1.new" && { sync "$1.new" 2>/dev/null || sync; } && mv -f "$1.new" "$1"
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

# prepare refuses everything that would not end as the newer document says. It writes only below
# $stage.
prepare() {
	[ -r "$lib/state" ] && [ -r "$etc/files" ] ||
		refuse 'this machine was not made by kiln, or its first boot has not begun'
	{
		read -r made && read -r steps && IFS= read -r self
	} <"$lib/state"
	case $steps in
	*'"done":'*) ;;
	*) refuse 'the first boot of this machine is not done' ;;
	esac
	now=$(sum <"$etc/files") wanted=$(sum <"$stage/tree/etc/kiln/files")
	case $made in
	"$now" | *" $now" | "$now $wanted") ;;
	"$now "*) refuse 'another kiln apply was interrupted here: give that one again first' ;;
	*) refuse 'this machine was made from another document than that of its /etc/kiln/files' ;;
	esac
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
	done <"$stage/new"
}

# write puts the files in place. The machine counts as made from both documents from then on, until
# all is over.
write() {
	[ "$made" = "$wanted" ] || printf '%s\n' "$now $wanted" "$steps" "$self" | put "$lib/state"
	count=0
	while read -r sum mode owner path; do
		[ "$sum" != dir ] || [ ! -d "$root$path" ] || chmod "$mode" "$root$path"
		[ -f "$stage/tree$path" ] || continue
		[ "$owner" != - ] || owner=root:root
		place "$path" "$mode" "$owner"
		count=$((count + 1))
	done <"$stage/new"
	cut -d ' ' -f 4- "$stage/new" | sort >"$stage/paths"
	comm -23 "$stage/differ" "$stage/paths" >"$stage/gone"
	while IFS= read -r path; do
		rm -f "$root$path"
		# The container runtime looks into the folder of a registry, even if it is empty.
		case $path in
		/etc/containerd/certs.d/*) rmdir "$root${path%/*}" 2>/dev/null || : ;;
		*) ;;
		esac
		count=$((count + 1))
	done <"$stage/gone"
	sync
	place /etc/kiln/files 0600 root:root
}

# place PATH MODE OWNER moves a file into its place in one step.
place() {
	file=$root$1
	(umask 022 && mkdir -p "${file%/*}")
	rm -f "$file.kiln-new" # of an interrupted run, with another mode perhaps
	cp "$stage/tree$1" "$file.kiln-new"
	chown "$3" "$file.kiln-new"
	chmod "$2" "$file.kiln-new"
	mv -f "$file.kiln-new" "$file"
	! command -v restorecon >/dev/null || restorecon "$file" || :
}

# load runs the commands with which the system takes the files that changed. If an earlier kiln
# apply was interrupted before it came here, it runs those of all files.
load() {
	systemctl daemon-reload
	todo=$stage/then
	case $made in
	*' '*) todo=$stage/all ;;
	*) ;;
	esac
	set -f # a pattern is for systemctl: it finds no unit, or one
	while read -r words; do
		# shellcheck disable=SC2086 # words are wanted
		$words </dev/null || refuse "everything is written, and this failed: $words; mend \
cluster.yaml and apply again"
	done <"$todo"
	set +f
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
		refuse 'no file of public keys could be given those of the document: write them by hand'
}

main() {
	[ -n "$root" ] || [ "$(id -u)" = 0 ] || refuse 'this needs root on the machine'
	mkdir -p "$run"
	exec 9>"$run/apply.lock"
	flock -n 9 || refuse 'another kiln apply is at work on this machine'
	rm -rf "$stage"
	trap 'rm -rf "$stage"' EXIT
	trap 'exit 1' HUP INT TERM
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
	cat >"$stage/then" <<'KILN_END'
@THEN@
KILN_END
	cat >"$stage/all" <<'KILN_END'
@ALL@
KILN_END
	@FILES@
	prepare
	login
	write
	load
	printf '%s\n' "$wanted" "$steps" "$self" | put "$lib/state"
	# It tells the cluster which document this machine runs now.
	systemctl restart kiln.service
	echo "files written: $count"
	[ -z "$rest" ] || exit 3
}

# All of the program is read before it begins, even from standard input.
main </dev/null
exit
