#!/bin/sh
# The machine's part of kiln verify. The text of a listing, whose reader is listing.go:
#
#	kiln-listing 1
#	list SUM             the SHA-256 of /etc/kiln/files, or -
#	made SUM             the identity of the document that the machine was made from, or -
#	done yes|no          whether the first boot is done
#	file SUM ALIKE MODE UID:GID USER:GROUP PATH
#	                     ALIKE is SUM, or for the manifest of etcd the SHA-256 without what
#	                     the hook may write to it
#	dir MODE UID:GID USER:GROUP PATH
#	link HEX PATH        where it leads to; all that is not of the document is in hexadecimal
#	other PATH           something else is there
#	none PATH            nothing is there
#	unit NAME HEX        a line of systemctl show
#	dropin HEX           a drop-in of one of the units, in a folder of the administrator's
#	pod HEX              a file for static pods
#	end
#
# shellcheck shell=sh disable=SC2250,SC2310,SC2312
set -u
LC_ALL=C PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH

hex() {
	od -An -v -tx1 | tr -d ' \n'
}

sum() {
	text=$(sha256sum)
	echo "${text%% *}"
}

# without_members prints the manifest of etcd without what the hook may write to it.
without_members() {
	sed -e 's|--initial-cluster=[^ "]*|--initial-cluster=|' \
		-e 's|--initial-cluster-state=existing|--initial-cluster-state=new|' "$file"
}

entry() {
	file=$root$1
	if [ -L "$file" ]; then
		echo "link $(readlink -n "$file" | hex) $1"
	elif [ -f "$file" ]; then
		all=$(sum <"$file") alike=$all
		[ "$1" != /etc/kubernetes/manifests/etcd.yaml ] || alike=$(without_members | sum)
		echo "file ${all:--} ${alike:--} $(stat -c '%a %u:%g %U:%G' "$file") $1"
	elif [ -d "$file" ]; then
		echo "dir $(stat -c '%a %u:%g %U:%G' "$file") $1"
	elif [ -e "$file" ]; then
		echo "other $1"
	else
		echo "none $1"
	fi
}

state() {
	made='' steps=''
	file=$root/var/lib/kiln/state
	[ ! -r "$file" ] || { read -r made && read -r steps; } <"$file"
	case $made in
	'' | *[!0-9a-f]*) made=- ;;
	*) ;;
	esac
	echo "made $made"
	case $steps in
	*'"done":'*)
		# It keeps its credential as long as it has objects to try again.
		[ -e "$root/var/lib/kiln/refused" ] && echo 'done no' || echo 'done yes'
		;;
	*) echo 'done no' ;;
	esac
}

unit() {
	systemctl show -p LoadState -p UnitFileState -p FragmentPath -p DropInPaths "$1" |
		while IFS= read -r line; do
			echo "unit $1 $(printf %s "$line" | hex)"
		done
	# Those that systemd has not read yet count too.
	for dir in /etc/systemd/system /etc/systemd/system.control /run/systemd/system \
		/run/systemd/system.control; do
		for file in "$root$dir/$1".d/*.conf; do
			[ ! -e "$file" ] || echo "dropin $(printf %s "${file#"$root"}" | hex)"
		done
	done
}

main() {
	root=${KILN_ROOT-}
	if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
		echo 'kiln verify: this needs root on the machine' >&2
		exit 1
	fi
	echo 'kiln-listing 1'
	list=''
	[ ! -f "$root/etc/kiln/files" ] || list=$(sum <"$root/etc/kiln/files")
	echo "list ${list:--}"
	state
	while IFS= read -r path; do
		entry "$path"
	done <<'KILN_PATHS'
@PATHS@
KILN_PATHS
	while IFS= read -r name; do
		unit "$name" </dev/null
	done <<'KILN_UNITS'
@UNITS@
KILN_UNITS
	for file in "$root"/etc/kubernetes/manifests/*; do
		[ ! -f "$file" ] || echo "pod $(printf %s "${file#"$root"}" | hex)"
	done
	echo end
}

# All of the program is read before it begins, even from standard input.
main </dev/null
exit
