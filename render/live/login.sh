#!/bin/sh
# What a user's own shell does to one file of public keys, whose path is $1. Standard input has a
# line for each key of the two documents: keep, gone or new, and the key as TYPE BASE64 COMMENT. It
# ends with 0 if the file has the keys of the newer document, and with 3 if it never had those of
# the older one.
#
# A new key gets the options that all keys of the document have in the file: cloud-init gives root's
# some that keep root out. Where they differ, a person gave them, and nothing is written.
#
# shellcheck shell=sh disable=SC2250,SC2310,SC2312
set -euf
umask 077
LC_ALL=C IFS='
'
export LC_ALL
file=$1
[ -f "$file" ] && [ -r "$file" ] || exit 3
keys=$(cat)

# bare sets $bare to the type and the key of a line of standard input, and $what to its first word.
bare() {
	what=${1%% *} bare=${1#* }
	rest=${bare#* }
	bare="${bare%% *} ${rest%% *}"
}

# has LINE holds if the line of the file has the key $bare, and sets $before to its options.
has() {
	case $1 in
	'#'*) return 1 ;;
	*) ;;
	esac
	case " $1 " in
	*" $bare "*) before=${1%%"$bare"*} ;;
	*) return 1 ;;
	esac
}

ours='' options='' there='' mixed='' kept='' count=0
while IFS= read -r line || [ -n "$line" ]; do
	stays=yes
	for key in $keys; do
		bare "$key"
		has "$line" || continue
		case $what in
		new) there="$there$bare$IFS" ;;
		*)
			[ -z "$ours" ] || [ "$options" = "$before" ] || mixed=yes
			ours=yes options=$before
			;;
		esac
		[ "$what" != gone ] || stays=''
	done
	[ -z "$stays" ] || { kept="$kept$line$IFS" && count=$((count + 1)); }
done <"$file"

lacks=''
for key in $keys; do
	bare "$key"
	case "$IFS$there" in
	*"$IFS$bare$IFS"*) continue ;;
	*) ;;
	esac
	[ "$what" != new ] || { lacks="$lacks$options${key#* }$IFS" && count=$((count + 1)); }
done
if [ -z "$ours" ]; then
	[ -z "$lacks" ] && [ -n "$there" ] || exit 3
	exit 0
fi
[ -z "$mixed" ] || [ -z "$lacks" ] || exit 4
rm -f "$file.kiln-new"
printf %s "$kept$lacks" >"$file.kiln-new"
# A full disk does not always show.
[ "$(wc -l <"$file.kiln-new")" -eq "$count" ] || { rm -f "$file.kiln-new" && exit 5; }
mv -f "$file.kiln-new" "$file"
