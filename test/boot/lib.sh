# shellcheck shell=bash disable=SC2034
# What the scripts of this folder share: where things are, and how they speak. Sourced, never run.

# here is this folder; store holds everything that is built or booted, outside the repository, and
# cache what belongs to one minor of Kubernetes. KILN_BOOT_MINOR is a minor, or a release such as
# 1.36.2, for another release than the one that versions.sh has for the minor.
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
store=${KILN_BOOT_CACHE:-$HOME/.cache/kiln-boot}
release=${KILN_BOOT_MINOR:-1.36}
minor=$(cut -d . -f 1,2 <<<"$release")
cache=$store
[[ $release == 1.36 ]] || cache=$store/$release

# The set of machines of this user. Its number is also the first of a hundred local ports, so two
# users, or two runs, with different numbers share nothing but the image.
net=${KILN_BOOT_NET:-2400}
vms=$store/vms/$net
[[ ${MACHINES:-} != container && -z ${KILN_BOOT_ALONE:-} ]] || vms=$store/vms/container-$net

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() {
  say "$@"
  exit 1
}

# commit FILE... prints the commit of this checkout, and whether there are changes in it beside those
# of the FILEs, which are paths from the top of the repository.
commit() {
  local changes
  changes=$(git -C "$here" status --porcelain -- "$here/../.." "${@/#/:(top,exclude)}")
  git -C "$here" rev-parse HEAD | sed "s/\$/${changes:+ and changes}/"
}

# usage WORD ends a script with its head, which is its help, or fails if WORD does not ask for that.
# A head that tells of exit codes tells of others than those of most scripts.
usage() {
  case $1 in
  -h | --help) ;;
  *) die "what is $1? See $0 --help" ;;
  esac
  local head
  head=$(sed -n '2,/^set/{/^# shellcheck/d;s/^# \{0,1\}//p}' "$0")
  echo "$head"
  [[ $head == *"Exits with"* ]] || printf '\n%s\n' "The machines are of the kind $MACHINES. Exits with 0 if all
went well, 1 if something did not, 77 if this computer cannot run the test."
  exit 0
}

# choose SCENARIO: adds one of $every, the script's own list, to $scenarios.
# shellcheck disable=SC2154
choose() {
  [[ " ${every[*]} " == *" $1 "* ]] || die "there is no scenario $1; see $0 --help"
  scenarios+=("$1")
}

# words WORD... reads the command line of a script: --keep; --NAME for each of $flags, which sets
# $NAME to yes; --NAME NUMBER for each of $numbers, which sets $NAME; and scenarios, if the script
# has a list of them. It sets $keep, $scenarios, which are all of them if none is named, and
# $arguments.
# shellcheck disable=SC2034
words() {
  local name
  keep='' scenarios=() arguments=("$@")
  while (($#)); do
    name=${1#--}
    if [[ $1 != -* ]]; then
      choose "$1"
    elif [[ " keep ${flags[*]-} " == *" $name "* ]]; then
      declare -g "$name=yes"
    elif [[ " ${numbers[*]-} " == *" $name "* ]]; then
      [[ ${2:-} =~ ^[0-9]+$ ]] || die "$1 needs a number"
      declare -g "$name=$2"
      shift
    else
      usage "$1"
    fi
    shift
  done
  ((${#scenarios[@]})) || scenarios=("${every[@]}")
}

# skip ends a script that cannot run on this computer. automake, meson and others take the exit code
# 77 for "skipped".
skip() {
  say "skipped: $*"
  exit 77
}
