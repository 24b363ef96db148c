#!/bin/sh
# What a user's own shell does to one file of public keys, whose path is $1. Standard input has a
# line for each key of the documents, TYPE BASE64 COMMENT, after a word: gone is of older documents
# alone, keep of all, some of the newer and of some older ones, new of the newer one alone. The
# status is 0 if nothing is left to do, 3 if the file has no key of an older document, 4 if the
# options of its keys differ and one has to be added, and 5 if it could not be written.
#
# An added key gets the options that all keys of the document have in the file: cloud-init gives
# root's some that keep root out. Where they differ, a person gave them.
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

tab=$(printf '\t')

# bare splits a line of standard input into $what, $type and $text, the key.
bare() {
	what=${1%% *} text=${1#* }
	type=${text%% *} text=${text#* }
	text=${text%% *}
}

# has LINE holds if the line of the file has the key, and sets $before to its options.
has() {
	case ${1#"${1%%[! "$tab"]*}"} in
	'#'*) return 1 ;;
	*) ;;
	esac
	case "$1 " in
	*"$type"[\ $tab]*[\ $tab]"$text"[\ $tab]* | *"$type"[\ $tab]"$text"[\ $tab]*)
		before=${1%"$type"[ "$tab"]*"$text"*}
		;;
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
		new | some) there="$there$text$IFS" ;;
		*) ;;
		esac
		case $what in
		new) ;;
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
	*"$IFS$text$IFS"*) continue ;;
	*) ;;
	esac
	case $what in
	new | some) lacks="$lacks$options${key#* }$IFS" count=$((count + 1)) ;;
	*) ;;
	esac
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
