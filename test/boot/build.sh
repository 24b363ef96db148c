# shellcheck shell=bash disable=SC2154
# Functions that make programs from Go modules, trees from Debian packages, and container images of
# both. Sourced after lib.sh and versions.sh.

export CGO_ENABLED=0 GOFLAGS='' GOWORK=off
bin=$store/bin
work=$store/work # whatever is half done

# take_lock HOW FD WHAT takes the lock of an open file, --shared or --exclusive, and says for whom it
# waits. The lock ends with this script and what it has started.
take_lock() {
  flock --nonblock "$1" "$2" && return
  say "waiting for $3"
  flock "$1" "$2"
}

# work_alone lets nobody else build in the same folders until this shell ends.
work_alone() {
  local fd
  exec {fd}>>"$store/lock"
  take_lock --exclusive "$fd" "another script, which builds in $store"
}

# packages installs the Debian packages that are missing.
packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [[ ${#missing[@]} == 0 ]] && return
  say "installing ${missing[*]}"
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y "${missing[@]}"; } >/dev/null ||
    skip "cannot install ${missing[*]}"
}

# compile NAME VERSION MODULE PACKAGE... builds the programs of one module's release into
# bin/NAME-VERSION; a single package's program is called NAME. A scratch module requires MODULE,
# because `go install MODULE@VERSION` refuses modules that replace others, as most of these do. With
# the release's own requirements, the result is the release. The linker sets VARIABLES, each
# IMPORT/PATH.NAME=VALUE, as the release's own Makefile does. With TESTS=yes it builds the tests of
# the one package. REQUIRES are other modules, each MODULE@VERSION, in versions that the release does
# not have; REPLACES are modules whose version is not served, each MODULE=MODULE@VERSION.
compile() {
  local name=$1 version=$2 module=$3 out=$bin/$1-$2
  shift 3
  [[ -d $out ]] && return
  say "building $name $version"
  rm -rf "$work"
  mkdir -p "$work/module" "$work/out"
  (
    cd "$work/module"
    go mod init boot/scratch
    go mod edit -go=1.26.0
    if [[ $module == k8s.io/kubernetes ]]; then
      # Its go.mod replaces the libraries in its tree (staging) by folders; they are also published,
      # as v0.MINOR.PATCH.
      gomod=$(module_file GoMod "$module" "$version")
      sed -n 's|^\t\(k8s.io/[a-z0-9-]*\) => ./staging/.*|\1|p' "$gomod" | while read -r library; do
        go mod edit -replace "$library=$library@v0.${version#1.}"
      done
    fi
    for replace in ${REPLACES:-}; do go mod edit -replace "$replace"; done
    # shellcheck disable=SC2086 # REQUIRES are words
    go get ${TESTS:+-t} "${@/%/@v$version}" ${REQUIRES:-} || exit 77
    flags='-s -w'
    for variable in ${VARIABLES:-}; do flags+=" -X $variable"; done
    to=$work/out/
    [[ $# -gt 1 ]] || to+=$name
    verb=(build)
    [[ -z ${TESTS:-} ]] || verb=(test -c)
    go "${verb[@]}" -trimpath -ldflags "$flags" -o "$to" "$@"
  ) >"$work/log" 2>&1 || {
    status=$?
    tail -n 20 "$work/log" >&2
    [[ $status != 77 ]] || modules_come ||
      skip "cannot download $name $version: the Go module proxy does not answer"
    die "building $name $version: see $work/log"
  }
  mv "$work/out" "$out"
}

# modules_come: the proxy answers. It is asked anew each time, whatever has been downloaded.
modules_come() { (cd "$work" && go list -m golang.org/x/sys@latest >/dev/null 2>&1); }

# release_variables prints what a program of Kubernetes is told of its release, for VARIABLES.
release_variables() {
  local version=k8s.io/component-base/version
  echo "$version.gitVersion=v$KUBERNETES $version.gitMajor=1 $version.gitMinor=${minor#1.}"
}

# module_file FIELD MODULE VERSION prints what Go says of a module's release: Dir is its folder.
module_file() {
  go mod download -json "$2@v$3" | sed -n "s/^\t\"$1\": \"\(.*\)\",\$/\1/p"
}

# debian NAME ARGUMENT... makes NAME.tar, a Debian tree, with mmdebstrap's arguments.
debian() {
  local out=$store/$1.tar list="$DEBIAN $*"
  [[ -e $out && $list == "$(cat "$out.arguments")" ]] && return
  say "unpacking Debian $DEBIAN into ${out##*/}"
  mmdebstrap --quiet "${@:2}" "$DEBIAN" "$store/part.tar" || {
    rm -f "$store/part.tar"
    mirror_answers || skip "cannot unpack Debian $DEBIAN: no mirror answers"
    die "unpacking Debian $DEBIAN into ${out##*/}: see above; a mirror answers"
  }
  mv "$store/part.tar" "$out"
  printf '%s' "$list" >"$out.arguments"
}

# mirror_answers: mmdebstrap gets the lists of packages. It installs nothing.
mirror_answers() { mmdebstrap --quiet --simulate --variant=custom "$DEBIAN" /dev/null >/dev/null 2>&1; }

# image REFERENCE MKIMG-ARGUMENT... packs a container image; mkimg's flags come first, then its
# files.
image() {
  local reference=$1 flags=()
  shift
  while [[ ${1:-} == -* ]]; do
    flags+=("$1" "$2")
    shift 2
  done
  "$work/mkimg" "${flags[@]}" "$reference" "$work/images/${reference//[\/:]/_}.tar" "$@"
}

# publish_image FILE FOLDER puts an image of mkimg's into the folder of a mirror, where clients of a
# registry ask for it.
publish_image() {
  local layout reference digest folder blob
  layout=$(mktemp -d)
  tar -xf "$1" -C "$layout"
  reference=$(grep -o '"io.containerd.image.name":"[^"]*' "$layout/index.json" | cut -d '"' -f 4)
  digest=$(grep -o '"digest":"[^"]*' "$layout/index.json" | cut -d '"' -f 4)
  folder=${reference#*/}
  folder=$2/v2/${folder%:*}
  mkdir -p "$folder/manifests" "$folder/blobs"
  cp "$layout/blobs/sha256/${digest#*:}" "$folder/manifests/$digest"
  cp "$layout/blobs/sha256/${digest#*:}" "$folder/manifests/${reference##*:}"
  for blob in "$layout"/blobs/sha256/*; do mv "$blob" "$folder/blobs/sha256:${blob##*/}"; done
  rm -r "$layout"
}

# load FILE... puts images into the containerd store of the tree of a machine, $tree, with a
# containerd that runs here for a moment, and ends with this script, whatever ends it: it has the
# script's locks.
load() {
  local state socket file pid
  state=$(mktemp -d)
  socket=$state/containerd.sock
  cat >"$state/config.toml" <<EOF
version = 3
root = "$tree/var/lib/containerd"
state = "$state/state"
[grpc]
  address = "$socket"
EOF
  setpriv --pdeathsig KILL "$bin/containerd-$CONTAINERD/containerd" -c "$state/config.toml" \
    >"$state/log" 2>&1 &
  pid=$!
  local ctr=("$bin/containerd-$CONTAINERD/ctr" -a "$socket" -n k8s.io)
  for _ in {1..50}; do
    "${ctr[@]}" version >/dev/null 2>&1 && break
    sleep 0.2
  done
  for file in "$@"; do
    "${ctr[@]}" images import "$file" >>"$state/log" 2>&1 || {
      tail "$state/log" >&2
      kill "$pid"
      die "loading ${file##*/} into containerd"
    }
  done
  "${ctr[@]}" images ls -q 2>>"$state/log" | sed -n '/^sha256/!s/^/  /p' >&2
  kill "$pid"
  wait "$pid" || true
  rm -rf "$state"
}
