#!/usr/bin/env bash
# Makes what conformance.sh needs, for one minor of Kubernetes (KILN_BOOT_MINOR), in the cache:
#
#   bin/NAME-VERSION/       e2e.test and the programs of its images, of the same release; ginkgo of
#                           the version that the release names
#   conformance/tree        the files of a machine that is a container (image-fast.sh), and in its
#                           store the test images, under their real names
#   conformance/inputs      what they were made of: if none of it changed, nothing is done
#
# No registry is asked: the images hold the programs of the release's sources, in trees of Debian
# packages. Images that cannot be made so are not made. Exits with 77 if something is missing.
set -euo pipefail
# shellcheck source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=versions.sh
source "$here/versions.sh"
# shellcheck source=build.sh
source "$here/build.sh"

[[ $(id -u) == 0 ]] || skip "needs root, to make the machines' root"
"$here/image-fast.sh"

folder=$cache/conformance
mkdir -p "$folder"
exec {lock}>>"$folder/lock" {fast}>>"$cache/fast/lock"
for how in --shared --exclusive; do
  flock --unlock "$fast" # nobody waits for a script that waits
  take_lock "$how" "$lock" "those who make $folder/tree, or whose machines run from it"
  take_lock --shared "$fast" "those who make $cache/fast/tree"
  inputs=$(
    cd "$here"
    cat "$cache/fast/inputs"
    find conformance-image.sh build.sh mkimg -type f -print0 | sort -z | xargs -0 sha256sum
    echo "$KUBERNETES $ETCD $CONTAINERD"
  )
  [[ ! -d $folder/tree || $inputs != "$(cat "$folder/inputs" 2>/dev/null)" ]] || exit 0
done
work_alone

k8s=k8s.io/kubernetes
packages mmdebstrap
compile agnhost "$KUBERNETES" $k8s $k8s/test/images/agnhost
compile nnp "$KUBERNETES" $k8s $k8s/test/images/nonewprivs
# A spec of 1.37 asks for the release of its own program.
VARIABLES=$(release_variables) TESTS=yes \
  compile e2e.test "$KUBERNETES" $k8s $k8s/test/e2e
source=$(module_file Dir $k8s "$KUBERNETES")
ginkgo=github.com/onsi/ginkgo/v2
version=$(sed -n "s|^\t$ginkgo v\([0-9.]*\).*|\1|p" "$source/go.mod")
compile ginkgo "$version" $ginkgo $ginkgo/ginkgo
mapfile -t references < <("$bin/e2e.test-$KUBERNETES/e2e.test" --list-images 2>/dev/null | sort -u)
for reference in "${references[@]}"; do
  case $reference in
  */sample-apiserver:1.*)
    sample=0.${reference##*:1.}
    compile sample-apiserver "$sample" k8s.io/sample-apiserver{,}
    ;;
  esac
done

small=(--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*')
# The real agnhost lies in a small system with a shell, tools for the network, and a user.
# shellcheck disable=SC2016 # $1 is the hook's
debian agnhost --variant=minbase \
  --include=bind9-dnsutils,curl,iperf,iproute2,netcat-openbsd,procps,wget --customize-hook='
  chroot "$1" useradd --uid 1000 --user-group user-defined-in-image
  chroot "$1" groupadd --gid 50000 group-defined-in-image
  chroot "$1" usermod --append --groups group-defined-in-image user-defined-in-image
  mkdir -p "$1/uploads"' "${small[@]}"
# The shell of Debian's busybox does not hand on variables whose names it could not use itself, such
# as data-1; the real one does. With such a variable, sh is bash, whose messages are other ones.
# shellcheck disable=SC2016 # these are variables of the hook and of the script
debian busybox --variant=extract --include=bash-static,busybox-static --extract-hook='
  cd "$1"
  for folder in bin sbin; do [ -e $folder ] || ln -s usr/$folder $folder; done
  usr/bin/busybox --list | while read -r program; do
    [ -e "usr/bin/$program" ] || ln -s busybox "usr/bin/$program"
  done
  rm usr/bin/sh
  cat >usr/bin/sh <<"END"
#!/usr/bin/bash-static
shell=busybox
while IFS= read -r -d "" variable; do
  [[ $variable =~ ^[A-Za-z_][A-Za-z_0-9]*= ]] || shell=bash-static
done </proc/self/environ
exec -a "$0" /usr/bin/$shell "$@"
END
  chmod 755 usr/bin/sh
  mkdir -p etc home root tmp var/www
  printf "%s\n" "root:x:0:0:root:/root:/bin/sh" "www-data:x:33:33:www-data:/var/www:/bin/false" \
    "nobody:x:65534:65534:nobody:/home:/bin/false" >etc/passwd
  printf "%s\n" "root:x:0:" "www-data:x:33:" "nobody:x:65534:" >etc/group'
# shellcheck disable=SC2016 # $1 is the hook's
debian nginx --variant=minbase --include=nginx "${small[@]}" --customize-hook='
  echo "daemon off;" >>"$1/etc/nginx/nginx.conf"'
# Specs put a file of the web server where httpd has its own, and take it away.
# shellcheck disable=SC2016 # $1 is the hook's
debian httpd --variant=minbase --include=apache2 "${small[@]}" --customize-hook='
  echo "ServerName localhost" >>"$1/etc/apache2/apache2.conf"
  mkdir -p "$1/usr/local/apache2"
  mv "$1/var/www/html" "$1/usr/local/apache2/htdocs"
  ln -s /usr/local/apache2/htdocs "$1/var/www/html"'

rm -rf "$work"
mkdir -p "$work/images" "$work/nonewprivs/usr/local/bin"
go build -C "$here" -trimpath -ldflags '-s -w' -o "$work/mkimg" ./mkimg
# Its program has the set-user-ID bit.
install -m 6755 "$bin/nnp-$KUBERNETES/nnp" "$work/nonewprivs/usr/local/bin/nnp"
tar -C "$work/nonewprivs" --owner=0 --group=0 -cf "$work/nonewprivs.tar" .

say "packing the test images"
agnhost=$bin/agnhost-$KUBERNETES/agnhost
porter=$source/test/images/agnhost/porter
agnhost_files=(/agnhost="$agnhost" /agnhost-2="$agnhost" /localhost.crt="$porter/localhost.crt"
  /localhost.key="$porter/localhost.key")
for reference in "${references[@]}"; do
  name=${reference##*/}
  html=$source/test/images/${name%:*}/html
  case $reference in
  registry.k8s.io/e2e-test-images/agnhost:*)
    image "$reference" -base "$store/agnhost.tar" -entrypoint /agnhost -cmd pause \
      "${agnhost_files[@]}"
    ;;
  */e2e-test-images/kitten:* | */e2e-test-images/nautilus:*)
    image "$reference" -base "$store/agnhost.tar" -entrypoint /agnhost -cmd test-webserver \
      "${agnhost_files[@]}" "/${name%:*}.jpg=$html/${name%:*}.jpg" "/data.json=$html/data.json"
    ;;
  */e2e-test-images/glibc-dns-testing:* | */e2e-test-images/jessie-dnsutils:*)
    image "$reference" -base "$store/agnhost.tar" -cmd bash
    ;;
  */e2e-test-images/busybox:*) image "$reference" -base "$store/busybox.tar" -cmd sh ;;
  */e2e-test-images/nginx:*) image "$reference" -base "$store/nginx.tar" -cmd nginx ;;
  */e2e-test-images/httpd:*)
    image "$reference" -base "$store/httpd.tar" -cmd 'apachectl -D FOREGROUND'
    ;;
  */e2e-test-images/nonewprivs:*) image "$reference" -base "$work/nonewprivs.tar" -cmd nnp ;;
  registry.k8s.io/etcd:"$ETCD"-0) ;; # it is there
  registry.k8s.io/etcd:*) image "$reference" /usr/local/bin/etcd="$bin/etcd-$ETCD/etcd" ;;
  */e2e-test-images/sample-apiserver:*)
    image "$reference" -entrypoint /sample-apiserver \
      /sample-apiserver="$bin/sample-apiserver-$sample/sample-apiserver"
    ;;
  esac
done

say "making the machine's tree"
tree=$folder/tree.part
rm -rf "$tree" "$folder/tree" "$folder/inputs"
cp -al "$cache/fast/tree" "$tree"
# containerd writes to its databases; what else is there only gets neighbours.
find "$tree/var/lib/containerd" -name '*.db' -type f -print0 | while IFS= read -r -d '' file; do
  cp -p "$file" "$file.part"
  mv "$file.part" "$file"
done
load "$work"/images/*.tar
mv "$tree" "$folder/tree"
printf '%s' "$inputs" >"$folder/inputs"
rm -rf "$work"
