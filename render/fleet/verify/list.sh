#!/bin/sh
# The machine's part of kiln verify. The text of a listing, whose reader is listing.go:
#
#	kiln-listing 2
#	list SUM             the SHA-256 of /etc/kiln/files, or -
#	made SUM             the identity of the document that the machine was made from, or -
#	done yes|no          whether the first boot is done
#	none PATH            nothing is there
#	link HEX PATH        where it leads to; all that is not of the document is in hexadecimal
#	is MODE UID:GID USER:GROUP .PATH
#	                     what is there, if it is no link: its mode and its type, as stat -c %f
#	sum SUM  .PATH       of a file
#	alike SUM            of the manifest of etcd, without what the hook may write to it
#	units HEX            what systemctl show prints of the units, in their order
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

# entries prints what is at each path of standard input. stat and sha256sum start once for all.
entries() {
	set --
	while IFS= read -r path; do
		if [ -L ".$path" ]; then
			echo "link $(readlink -n ".$path" | hex) $path"
		elif [ -e ".$path" ]; then
			set -- "$@" ".$path"
		else
			echo "none $path"
		fi
	done
	[ $# != 0 ] || return 0
	stat -c 'is %f %u:%g %U:%G %n' "$@"
	for file; do # a folder has no sum, and a pipe no end
		shift
		[ ! -f "$file" ] || set -- "$@" "$file"
	done
	[ $# = 0 ] || sha256sum -z "$@" | tr '\0' '\n' | sed 's/^/sum /'
	file=./etc/kubernetes/manifests/etcd.yaml
	[ ! -f "$file" ] || echo "alike $(sed -e 's|--initial-cluster=[^ "]*|--initial-cluster=|' \
		-e 's|--initial-cluster-state=existing|--initial-cluster-state=new|' "$file" | sum)"
}

state() {
	made='' steps=''
	file=./var/lib/kiln/state
	[ ! -r "$file" ] || { read -r made && read -r steps; } <"$file"
	case $made in
	'' | *[!0-9a-f]*) made=- ;;
	*) ;;
	esac
	echo "made $made"
	case $steps in
	*'"done":'*)
		# It keeps its credential as long as it has objects to try again.
		[ -e ./var/lib/kiln/refused ] && echo 'done no' || echo 'done yes'
		;;
	*) echo 'done no' ;;
	esac
}

# units prints what systemd says of the units of standard input.
units() {
	set --
	while IFS= read -r name; do
		set -- "$@" "$name"
		# Those that systemd has not read yet count too.
		for dir in /etc/systemd/system /etc/systemd/system.control /run/systemd/system \
			/run/systemd/system.control; do
			for file in ".$dir/$name".d/*.conf; do
				[ ! -e "$file" ] || echo "dropin $(printf %s "${file#.}" | hex)"
			done
		done
	done
	[ $# = 0 ] || echo "units $(systemctl show -p LoadState -p UnitFileState -p FragmentPath \
		-p DropInPaths -- "$@" | hex)"
}

main() {
	root=${KILN_ROOT-}
	if [ -z "$root" ] && [ "$(id -u)" != 0 ]; then
		echo 'kiln verify: this needs root on the machine' >&2
		exit 1
	fi
	cd "$root/" || exit
	echo 'kiln-listing 2'
	list=''
	[ ! -f ./etc/kiln/files ] || list=$(sum <./etc/kiln/files)
	echo "list ${list:--}"
	state
	entries <<'KILN_PATHS'
@PATHS@
KILN_PATHS
	units <<'KILN_UNITS'
@UNITS@
KILN_UNITS
	for file in ./etc/kubernetes/manifests/*; do
		[ ! -f "$file" ] || echo "pod $(printf %s "${file#.}" | hex)"
	done
	echo end
}

# All of the program is read before it begins, even from standard input.
main </dev/null
exit
