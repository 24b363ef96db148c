#!/bin/sh
# The machine's part of kiln apply: it gives a running machine the newer document of the same
# machine. It first makes sure that the machine runs one of the documents that kiln compared, and
# that nothing differs but what kiln apply writes. Then it writes: whatever interrupts it, the
# machine starts again, and the same script goes on.
#
# shellcheck shell=sh disable=SC2015,SC2154,SC2250,SC2310,SC2312,SC2317
set -eu
umask 077
LC_ALL=C PATH=${PATH-}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
root=${KILN_ROOT-}
etc=$root/etc/kiln lib=$root/var/lib/kiln
stage=$lib/apply

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

# write puts the files in place. Until it is over, the machine counts as made from both documents.
write() {
	[ "$made" = "$wanted" ] || printf '%s\n' "$now $wanted" "$steps" "$self" | put "$lib/state"
	count=0
	while read -r sum mode owner path; do
		[ -f "$stage/tree$path" ] || continue
		[ "$owner" != - ] || owner=root:root
		place "$path" "$mode" "$owner"
		count=$((count + 1))
	done <"$stage/new"
	comm -23 "$stage/old" "$stage/new" | cut -d ' ' -f 4- | while IFS= read -r path; do
		grep -q " $(echo "$path" | sed 's/[][\.*^$]/\\&/g')\$" "$stage/new" || rm -f "$root$path"
	done
	login
	sync
	place /etc/kiln/files 0600 root:root
	printf '%s\n' "$wanted" "$steps" "$self" | put "$lib/state"
}

# place PATH MODE OWNER moves a file into its place in one step.
place() {
	file=$root$1
	(umask 022 && mkdir -p "${file%/*}")
	cp "$stage/tree$1" "$file.kiln-new"
	chown "$3" "$file.kiln-new"
	chmod "$2" "$file.kiln-new"
	mv -f "$file.kiln-new" "$file"
	! command -v restorecon >/dev/null || restorecon "$file" || :
}

# login gives the files of public keys the keys of the newer document: each file that has a key of
# one of the documents. A line of cloud-init's may have options in front of the key, such as those
# that keep root out; each new key gets the same. Root writes nothing below the home of somebody
# else, who could lead it to another file.
login() {
	[ -s "$stage/known" ] || return 0
	found=''
	cut -d : -f 1,6 "$root/etc/passwd" >"$stage/homes"
	while IFS=: read -r user home; do
		for file in "$root$home"/.ssh/authorized_keys "$root$home"/.ssh/authorized_keys.d/*; do
			[ -f "$file" ] && grep -qF -f "$stage/known" "$file" || continue
			found=yes
			before=$(grep -F -f "$stage/known" "$file" | head -n 1 |
				sed 's/ssh-.*//;s/ecdsa-.*//;s/sk-.*//')
			{
				grep -vF -f "$stage/known" "$file" || :
				while IFS= read -r key; do
					printf '%s%s\n' "$before" "$key"
				done <"$stage/keys"
			} >"$stage/login"
			# shellcheck disable=SC2016 # the other shell expands it
			runuser -u "$user" -- sh -c \
				'umask 077 && cat >"$1.kiln-new" && mv -f "$1.kiln-new" "$1"' \
				sh "$file" <"$stage/login" || refuse "$file cannot be written by $user"
		done
	done <"$stage/homes"
	[ -n "$found" ] ||
		refuse 'no file of public keys has one of the document: write the new ones by hand'
}

main() {
	[ -n "$root" ] || [ "$(id -u)" = 0 ] || refuse 'this needs root on the machine'
	mkdir -p "$lib"
	exec 9>"$lib/apply.lock"
	flock -n 9 || refuse 'another kiln apply is at work on this machine'
	rm -rf "$stage"
	trap 'rm -rf "$stage"' EXIT
	trap 'exit 1' HUP INT TERM
	mkdir -p "$stage"
	twins='@TWINS@'
	sort -u >"$stage/may" <<'KILN_END'
@MAY@
KILN_END
	cat >"$stage/keys" <<'KILN_END'
@KEYS@
KILN_END
	cat >"$stage/known" <<'KILN_END'
@KNOWN@
KILN_END
	@FILES@
	prepare
	write
	systemctl daemon-reload
	set -f # a pattern is for systemctl: it finds no unit, or one
	while read -r words; do
		# shellcheck disable=SC2086 # words are wanted
		systemctl $words || refuse "everything is written, and systemctl $words failed: see \
journalctl, mend cluster.yaml and apply again"
	done <<'KILN_END'
@SYSTEMCTL@
KILN_END
	# It tells the cluster which document this machine runs now.
	systemctl restart kiln.service ||
		refuse 'everything is written, and the hook failed: sh /etc/kiln/boot report'
	echo "$count files written"
	sh "$etc/boot" verify
}

# All of the program is read before it begins, even from standard input.
main </dev/null
exit
