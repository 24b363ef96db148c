#!/usr/bin/env bash
# Runs make example and make test where almost no program is: in a fresh clone of the last commit,
# in roots of Debian and Ubuntu that have make, git, ca-certificates and Go. docs/testing.md has the
# results.
#
#   test/roots.sh [RUN...]
#
#   trixie      Debian 13, bare, as root
#   static      the same with busybox-static, as root
#   full        the same with every program that Debian has, as root
#   without     full, without each program in turn: the tests that ask for it
#   bookworm    Debian 12, bare, as a plain user without a home
#   noble       Ubuntu 24.04, bare, as a plain user without a home
#
# Go's tree and its modules are those of this computer; roots and Go's cache are kept in KILN_ROOTS
# (by default ~/.cache/kiln-roots). Exits with 77 without root or mmdebstrap. Ubuntu wants the
# Debian package ubuntu-keyring too.
set -euo pipefail
cd "$(dirname "$0")/.."

work=${KILN_ROOTS:-$HOME/.cache/kiln-roots}
goroot=$(go env GOROOT)
modules=$(go env GOMODCACHE)
bare=make,git,ca-certificates
full=(busybox systemd curl haproxy genisoimage libarchive-tools cpio cloud-init python3-yaml
  strace)

# The programs of the table in test/need that Debian has: name, file, and packages that ask for it.
without=(
  "apt-get /usr/bin/apt-get render/machine/assembly"
  "bash /usr/bin/bash templates render/pack/cloudinit"
  "blkid /usr/sbin/blkid cmd/kiln/boot/media/iso9660"
  "bsdtar /usr/bin/bsdtar cmd/kiln/boot/media/... cmd/kiln"
  "busybox /usr/bin/busybox render/pack/cloudinit"
  "cloud-init /usr/bin/cloud-init render render/pack/cloudinit cmd/kiln/boot/media"
  "cpio /usr/bin/cpio cmd/kiln/boot/media/..."
  "curl /usr/bin/curl render/pack/cloudinit templates"
  "dash /usr/bin/dash templates render/pack/cloudinit"
  "git /usr/bin/git cmd/kiln cmd/kiln/vault cmd/kiln/term"
  "haproxy /usr/sbin/haproxy manifests"
  "isoinfo /usr/bin/isoinfo cmd/kiln/boot/media/... cmd/kiln"
  "openssl /usr/bin/openssl pki"
  "python3-yaml /usr/bin/python3 render/pack/cloudinit"
  "strace /usr/bin/strace render cmd/kiln"
  "systemd-analyze /usr/bin/systemd-analyze templates"
  "systemd-networkd /usr/lib/systemd/systemd-networkd render"
)

skip() {
  echo "roots: $*" >&2
  exit 77
}

[[ $(id -u) == 0 ]] || skip "needs root, to make and enter roots"
command -v mmdebstrap >/dev/null || skip "needs mmdebstrap"

# root NAME SUITE makes a bare root.
root() {
  local name=$1
  [[ ! -d $work/$name ]] || return 0
  rm -rf "$work/$name.part"
  mmdebstrap --quiet --variant=minbase --include="$bare" "$2" "$work/$name.part"
  printf '127.0.0.1 localhost\n::1 localhost\n' >"$work/$name.part/etc/hosts" # no system lacks it
  mv "$work/$name.part" "$work/$name"
}

# more NAME PACKAGE... makes a copy of trixie with more packages.
more() {
  local name=$1
  shift
  root trixie trixie
  [[ ! -d $work/$name ]] || return 0
  rm -rf "$work/$name.part"
  cp -a "$work/trixie" "$work/$name.part"
  # No service starts, and cloud-init never configures anything.
  printf '#!/bin/sh\nexit 101\n' >"$work/$name.part/usr/sbin/policy-rc.d"
  chmod 755 "$work/$name.part/usr/sbin/policy-rc.d"
  mkdir -p "$work/$name.part/etc/cloud"
  touch "$work/$name.part/etc/cloud/cloud-init.disabled"
  chroot "$work/$name.part" sh -c 'apt-get update -q && DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "$@"' -- "$@" >/dev/null
  # sh stays where dash goes.
  cp --remove-destination "$work/$name.part/usr/bin/dash" "$work/$name.part/usr/bin/sh"
  mv "$work/$name.part" "$work/$name"
}

# fresh NAME USER puts a clone of the last commit into a root.
fresh() {
  rm -rf "$work/$1/src"
  git clone -q --no-hardlinks . "$work/$1/src"
  mkdir -p "$work/cache"
  chown -R "$2" "$work/$1/src" "$work/cache"
}

# inside NAME USER MASKED COMMAND... runs a command in the clone in a root, where the file MASKED is
# empty.
inside() {
  local name=$1 user=$2 masked=$3 path=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin
  [[ $user != 0 ]] || path=$path:/usr/local/sbin:/usr/sbin:/sbin
  shift 3
  # shellcheck disable=SC2016 # the inner shell expands
  unshare --mount bash -euc '
    root=$1 goroot=$2 modules=$3 cache=$4 masked=$5
    shift 5
    mount --bind "$root" "$root"
    mkdir -p "$root/usr/local/go" "$root/go/modules" "$root/go/cache"
    mount --bind -o ro "$goroot" "$root/usr/local/go"
    mount --bind -o ro "$modules" "$root/go/modules"
    mount --bind "$cache" "$root/go/cache"
    mount -t proc proc "$root/proc"
    mkdir -p "$root/dev/pts"
    mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    [ -z "$masked" ] || mount --bind /dev/null "$root$masked"
    exec chroot "$@"' -- "$work/$name" "$goroot" "$modules" "$work/cache" "$masked" \
    --userspec="$user:$user" "$work/$name" /usr/bin/env -i -C /src PATH="$path" \
    GOCACHE=/go/cache GOMODCACHE=/go/modules GOPROXY=off GOTOOLCHAIN=local "$@"
}

# run NAME USER runs make example and make test in a root, and prints how long each took, what
# failed, and the closing line.
run() {
  local name=$1 user=$2 code=0 log=$work/$1.log start
  fresh "$name" "$user"
  start=$SECONDS
  inside "$name" "$user" "" make example >"$log" 2>&1 || code=$?
  echo "$name: make example ends with $code after $((SECONDS - start)) s"
  start=$SECONDS
  inside "$name" "$user" "" make test >>"$log" 2>&1 || code=$?
  echo "$name: make test ends with $code after $((SECONDS - start)) s;" \
    "$(grep -c '^ok' "$log") packages are ok"
  grep -E '^(FAIL|--- FAIL|panic)' "$log" || true
  tail -n 1 "$log"
  [[ $code == 0 ]] || failed=1
}

# forget lets Go repeat no verdict of another system or another user.
forget() {
  mkdir -p "$work/cache"
  GOCACHE=$work/cache go clean -testcache
}

failed=''
mkdir -p "$work"
[[ $# -gt 0 ]] || set -- trixie static full without bookworm noble
for which in "$@"; do
  case $which in
  trixie)
    root trixie trixie
    forget
    run trixie 0
    ;;
  static)
    more static busybox-static
    run static 0
    ;;
  full)
    more full "${full[@]}"
    run full 0
    ;;
  without)
    more full "${full[@]}"
    fresh full 0
    for row in "${without[@]}"; do
      read -r name masked packages <<<"$row"
      read -r -a packages <<<"$packages"
      code=0 log=$work/without-$name.log
      # The tests are those of the closing line. It names none for a shell, and then all run.
      # shellcheck disable=SC2016 # the inner shell expands
      inside full 0 "$masked" sh -ec 'export CGO_ENABLED=0
        name=$1
        shift
        line=$(go run ./test/missing)
        echo "$line" | grep " $name (" || { echo "the closing line names no $name"; exit 1; }
        tests=$(echo "$line" | sed -n "s/.* $name (\(Test[^:]*\): .*/\1/p" | sed "s/, /|/g")
        env $(go run ./test/missing -found) go test -v -run "^(${tests:-.*})\$" "$@"' \
        -- "$name" "${packages[@]/#/./}" >"$log" 2>&1 || code=$?
      echo "without $name: ${packages[*]} end with $code; $(grep -c '^ *--- PASS' "$log") tests" \
        "pass, $(grep -c '^ *--- SKIP' "$log") are skipped"
      if [[ $code != 0 ]]; then
        failed=1
        grep -E '^(FAIL|--- FAIL|panic|the closing)' "$log" || true
      fi
    done
    ;;
  bookworm)
    root bookworm bookworm
    forget
    run bookworm 65534
    ;;
  noble)
    root noble noble
    forget
    run noble 65534
    ;;
  *)
    echo "roots: there is no run $which" >&2
    exit 2
    ;;
  esac
done
[[ -z $failed ]]
