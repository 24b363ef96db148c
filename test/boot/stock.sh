#!/usr/bin/env bash
# Boots machines that are containers of this computer (alone.sh), and whose image has no kubelet,
# containerd, runc and CNI plugins: they fetch them from a mirror (mirror/main.go), also from a sick
# one.
#
#   stock.sh [SCENARIO...]
#
# SCENARIO is one of the functions scenario_... below. Without one, all run, in this order:
#
#   cloud-init   a control plane and a worker become Ready
#   ignition     the same from Ignition documents
#   readme       README's three commands, as a newcomer types them, then the one that they print
#   sysext       a system extension has the kubelet, and containerd is in the image
#   packages     apt installs packages
#   unsigned     the repository was changed: the machine says so, until it is as it was
#   serve        kiln serve hands out what kiln lock --save kept, over TLS
#   power        the power goes while the worker fetches; what was there is not fetched again
#   cut          a connection breaks ten times on each machine
#   sick         503 for 90 seconds
#   slow         50 kB a second for crictl, 300 for the rest
#   noexec       /etc and /tmp may not be executed
#   digest       a file was changed: the machine says so and stops
#   missing      404, until the file is there
#   full         /opt is full, until there is room
#
# The programs are packed as their projects publish them. Each scenario ends with the boot net,
# which may find the fault that is wanted in unsigned, digest, missing and full, and nothing else.
set -euo pipefail
export MACHINES=container
source "$(dirname "${BASH_SOURCE[0]}")/begin.sh"
source "$here/versions.sh"
source "$here/build.sh"
source "$here/download.sh"

every=(
  cloud-init ignition readme sysext packages unsigned serve power cut sick slow noexec digest
  missing full
)
words "$@"

own_programs() { CGO_ENABLED=0 go build -C "$here" -o "$tmp/" ./mirror; }

if [[ -z ${KILN_BOOT_ALONE:-} ]]; then
  "$here/alone.sh" true # before minutes go into the image
  packages gnupg squashfs-tools
  "$here/image-fast.sh"
  build_downloads
fi
begin "${arguments[@]}"
form_limit=240 step_limit=90 pause=0.5 asks=2

# publish_extension packs the kubelet and the CNI plugins as flatcar/sysext-bakery does
# (kubernetes.sysext, lib/generate.sh), with the units that start the kubelet by themselves.
publish_extension() {
  local root=$tmp/extension units file
  units=$root/usr/lib/systemd/system
  mkdir -p "$tmp/mirror.d/extensions" "$root/usr/bin" "$root/usr/local/bin" \
    "$root/usr/local/share" "$root/usr/libexec/kubernetes/kubelet-plugins/volume" \
    "$root/usr/lib/extension-release.d" "$units/kubelet.service.d" "$units/multi-user.target.d"
  for file in kubelet kubeadm kubectl; do
    [[ ! -e $tree/usr/local/bin/$file ]] || cp "$tree/usr/local/bin/$file" "$root/usr/bin/"
  done
  cp -r "$bin/cni-plugins-$CNI_PLUGINS" "$root/usr/local/bin/cni"
  echo "v$KUBERNETES" >"$root/usr/local/share/kubernetes-version"
  ln -s /var/kubernetes/kubelet-plugins/volume/exec \
    "$root/usr/libexec/kubernetes/kubelet-plugins/volume/exec"
  printf '[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n' >"$units/kubelet.service"
  printf '[Unit]\nUpholds=kubelet.service\n' >"$units/multi-user.target.d/10-kubelet-service.conf"
  printf '%s\n' '[Service]' 'ExecStartPre=/usr/bin/mkdir -p /opt/cni/bin' \
    'ExecStartPre=/usr/bin/cp -r /usr/local/bin/cni/. /opt/cni/bin/' 'ExecStart=' \
    'ExecStart=/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --kubeconfig=/etc/kubernetes/kubelet.conf' \
    >"$units/kubelet.service.d/10-kubeadm.conf"
  printf '%s\n' ID=_any ARCHITECTURE=x86-64 EXTENSION_RELOAD_MANAGER=1 \
    >"$root/usr/lib/extension-release.d/extension-release.kubernetes"
  mksquashfs "$root" "$tmp/mirror.d/extensions/kubernetes-v$KUBERNETES-x86-64.raw" \
    -all-root -noappend -quiet -no-progress
  entry kubernetes-flatcar "$KUBERNETES" "extensions/kubernetes-v$KUBERNETES-x86-64.raw"
}

# publish_packages makes a repository as that of Kubernetes, with the packages of Debian that are
# wanted beside it. They start their services when they are installed, as packages do.
publish_packages() {
  local repository=$tmp/mirror.d/core:/stable:/v$minor/deb name
  mkdir -p "$repository" "$tmp/kubelet/usr/bin" "$tmp/containerd/usr/bin" \
    "$tmp/containerd/etc/containerd" "$tmp/containerd$(dirname "${runc#"$tree"}")" \
    "$tmp/kubernetes-cni/opt/cni"
  cp "$tree/usr/local/bin/kubelet" "$tmp/kubelet/usr/bin/"
  cp "$tree"/usr/local/bin/{containerd,containerd-shim-runc-v2,ctr} "$tmp/containerd/usr/bin/"
  cp "$runc" "$tmp/containerd${runc#"$tree"}"
  echo '# of the package' >"$tmp/containerd/etc/containerd/config.toml"
  cp -r "$bin/cni-plugins-$CNI_PLUGINS" "$tmp/kubernetes-cni/opt/cni/bin"
  for name in containerd kubelet; do
    mkdir -p "$tmp/$name/usr/lib/systemd/system" "$tmp/$name/DEBIAN"
    printf '[Service]\nExecStart=/usr/bin/%s\n[Install]\nWantedBy=multi-user.target\n' "$name" \
      >"$tmp/$name/usr/lib/systemd/system/$name.service"
    printf '#!/bin/sh -e\nsystemctl daemon-reload\nsystemctl enable %s\nsystemctl start %s\n' \
      "$name" "$name" \
      >"$tmp/$name/DEBIAN/postinst"
    chmod 755 "$tmp/$name/DEBIAN/postinst"
  done
  echo /etc/containerd/config.toml >"$tmp/containerd/DEBIAN/conffiles"
  deb kubernetes-cni "$CNI_PLUGINS-1.1"
  deb containerd "$CONTAINERD-1" 'Replaces: runc'
  deb kubelet "$KUBERNETES-1.1" 'Depends: kubernetes-cni'
  (
    cd "$repository"
    {
      printf 'Date: %s\nSHA256:\n' "$(date -Ru)"
      printf ' %s %s Packages\n' "$(sha256sum <Packages | cut -d ' ' -f 1)" "$(stat -c %s Packages)"
    } >Release
    export GNUPGHOME=$tmp/gpg
    mkdir -m 700 "$GNUPGHOME"
    gpg --batch --quiet --passphrase '' --quick-gen-key stock@example.com ed25519 sign never
    gpg --batch --quiet --clearsign --output InRelease Release
    gpg --batch --quiet --armor --export >"$tmp/kubernetes.asc"
    gpgconf --kill all
  ) 2>"$tmp/gpg.log" || die "$(cat "$tmp/gpg.log")"
}

deb() { # deb NAME VERSION [FIELD...]
  local folder=$tmp/$1 file=$1_$2.deb
  mkdir -p "$folder/DEBIAN"
  printf '%s\n' "Package: $1" "Version: $2" 'Architecture: amd64' \
    'Maintainer: nobody <nobody@example.com>' 'Description: of a test' "${@:3}" \
    >"$folder/DEBIAN/control"
  dpkg-deb --root-owner-group -Znone --build "$folder" "$repository/$file" >/dev/null
  {
    cat "$folder/DEBIAN/control"
    printf '%s\n' "Filename: ./$file" "Size: $(stat -c %s "$repository/$file")" \
      "SHA256: $(sha256sum <"$repository/$file" | cut -d ' ' -f 1)" ''
  } >>"$repository/Packages"
}

adapt_case() {
  adapt_download
  cp "$tmp/kubernetes.asc" "$dir/"
}

# trouble LINE... tells the mirror what goes wrong from now on.
trouble() {
  printf '%s\n' "$@" >"$tmp/trouble.new"
  mv "$tmp/trouble.new" "$tmp/trouble"
}

# asked PATTERN COUNT: so many requests had that pattern since $log_begin.
asked() { [[ $(requests "$1" | wc -l) == "$2" ]]; }
requests() { tail -n +$((log_begin + 1)) "$tmp/mirror.log" | grep "$1" || true; }

# met KIND PATTERN [COUNT]: the requests of each machine for PATTERN met that kind of trouble: so
# often, or at all.
met() {
  local address count
  for address in 10.10.0.11 10.10.0.21; do
    count=$(requests " $address /.*$2.* $1\$" | wc -l)
    echo "$address met '$1' $count times"
    ((count > 0 && count == ${3:-$count})) || return
  done
}

boots_well() {
  all_up
  check_verify
  check_net
}

# start CASE: the machines of a cluster of two have power.
start() {
  render_case "$1"
  power_all
}

power_all() {
  local machine
  log_begin=$(wc -l <"$tmp/mirror.log")
  power_on=$SECONDS
  for machine in worker-1 cp-1; do vm start "$machine" "$dir/nodes/$machine" "$worker_memory"; done
}

scenario_cloud-init() {
  start fast
  boots_well
  within 1 "each file was fetched once by each machine" asked / 10 # five files, two machines
  vm ssh worker-1 systemctl restart kiln
  within "$step_limit" "the hook ran again" is_done worker-1
  within 1 "nothing was fetched again" asked / 10
  within 1 "crictl finds containerd" vm ssh worker-1 /opt/bin/crictl ps
  record "in /opt: $(vm ssh worker-1 du -sm /opt | cut -f 1) MB"
}

scenario_ignition() {
  start ignition
  boots_well
}

# In README's first cluster.yaml a newcomer puts in addresses; these machines want the rest of what
# is changed here, and a mirror.
scenario_readme() {
  local command
  mkdir "$dir"
  sed -n '/^## Three commands/,/^## /s/^\$ \(kiln .*\)/\1/p' "$here/../../README.md" >"$tmp/commands"
  [[ $(wc -l <"$tmp/commands") == 3 ]] || die "README has other commands than this test"
  while read -r command <&3; do
    say "$command"
    (cd "$dir" && PATH=$tmp:$PATH bash -c "$command") | tee "$tmp/printed"
    [[ $command == "kiln init"* ]] || continue
    sed -E -i 's|^    addresses: \[10\.0\.0\.([0-9]+)\]|    addresses: [10.10.0.\1]\
    interfaces: [{name: eth0, addresses: [10.10.0.\1/24], gateways: [10.10.0.1], nameservers: [10.10.0.1]}]|' \
      "$dir/cluster.yaml"
    suit_kind "$dir/cluster.yaml"
    adapt_case
  done 3<"$tmp/commands"
  declare -gA old_boots=()
  machines=(cp-1 worker-1) control_planes=(cp-1)
  power_all
  boots_well
  command=$(sed -n "$ s/^ *//p" "$tmp/printed")
  within 10 "$command: two nodes are Ready" printed_command_shows 2 "$command"
}
printed_command_shows() { # printed_command_shows COUNT COMMAND
  [[ $(cd "$dir" && PATH=$cache:$PATH bash -c "$2" | grep -c ' Ready ') == "$1" ]]
}

scenario_sysext() {
  local overlay=sysext
  local -x KILN_BOOT_ADD='' KILN_BOOT_WITHOUT="opt/cni usr/local/bin/kubelet \
    usr/local/bin/kubeadm usr/local/bin/kubectl"
  start ignition
  boots_well
  within 1 "each machine fetched the extension once" asked extensions/ 2
  within 1 "the kubelet is the extension's, with kiln's flags" vm ssh worker-1 \
    "ps -C kubelet -o args= | grep '^/usr/bin/kubelet .*--node-ip=10.10.0.21'"
  forget_boots worker-1
  vm kill worker-1
  record "the worker lost its power"
  power_on=$SECONDS
  vm again worker-1
  boots_well
  within 1 "the second boot merged what was there" asked extensions/ 2
}

scenario_packages() {
  local overlay=packages
  local -x KILN_BOOT_ADD='' KILN_BOOT_WITHOUT="$KILN_BOOT_WITHOUT etc/apt/sources.list"
  start fast
  boots_well
  within 1 "the packages are held" vm ssh worker-1 "apt-mark showhold | grep -x kubelet"
  within 1 "the configuration of containerd is kiln's" vm ssh worker-1 \
    "grep -F /opt/cni/bin /etc/containerd/config.toml"
}

scenario_unsigned() {
  local overlay=packages
  local -x KILN_BOOT_ADD='' KILN_BOOT_WITHOUT="$KILN_BOOT_WITHOUT etc/apt/sources.list"
  fault_is_wanted packages \
    'kiln-packages\.service: Failed with result|Failed to start .*kiln-packages\.serv'
  trouble 'changed InRelease'
  start fast
  within 180 "the worker says packages" says packages worker-1
  record "$(vm ssh worker-1 cat /etc/issue.d/kiln.issue)"
  within 1 "it got the changed file" met changed InRelease
  trouble
  boots_well
}

scenario_serve() {
  local overlay=serve server status=0
  render_case fast
  "$tmp/kiln" lock "$dir/cluster.yaml" --mirror http://10.10.0.1:8080 --save "$dir/programs"
  "$tmp/kiln" serve "$dir/nodes" "$dir/programs" --listen 10.10.0.1:8443 \
    --secrets "$dir/boot-fast.secrets.yaml" --log "$dir/audit.log" >"$dir/served" &
  server=$!
  power_all
  boots_well
  kill "$server"
  wait "$server" || status=$?
  within 1 "kiln serve ended well: $status" test "$status" = 0
  within 1 "it served ten files" same 10 "$(grep -c '"decision":"served"' "$dir/audit.log")"
}
same() { [[ $1 == "$2" ]]; }

scenario_power() {
  trouble 'slow crictl 300000'
  start fast
  within 150 "both machines fetch crictl" asked crictl 2
  sleep 3
  vm kill worker-1
  record "the worker lost its power"
  trouble
  log_begin=$(wc -l <"$tmp/mirror.log")
  vm again worker-1
  boots_well
  within 1 "what was there is not fetched again" asked kubelet 0
  within 1 "the rest of crictl was fetched" asked_some 'crictl.tar.gz "bytes=[1-9]'
}
asked_some() { ! asked "$1" 0; }

scenario_cut() {
  trouble 'cut kubelet 10'
  start fast
  boots_well
  within 1 "ten connections of each machine broke" met cut kubelet 10
}

scenario_sick() {
  trouble 'sick runc 90'
  start fast
  boots_well
  within 1 "the mirror was sick for each machine" met sick runc
}

scenario_slow() {
  trouble 'slow crictl 50000' 'slow / 300000'
  form_limit=1200
  start fast
  boots_well
  within 1 "the mirror was slow for each machine" met slow crictl
}

# mounts LINE... gives every machine these lines in its /etc/fstab.
mounts() {
  mkdir -p "$KILN_BOOT_ADD/etc"
  printf '%s\n' "$@" >"$KILN_BOOT_ADD/etc/fstab"
}

scenario_noexec() {
  mounts '/etc /etc none bind,noexec 0 0' 'tmpfs /tmp tmpfs noexec 0 0'
  start fast
  boots_well
  within 1 "nothing in /etc may be executed" \
    vm ssh worker-1 'findmnt -no OPTIONS /etc | grep noexec'
}

# says CODE MACHINE: the machine reports that fault in all four places.
says() {
  vm ssh "$2" grep -qF "'\"code\":\"$1\"'" /var/lib/kiln/status.json &&
    vm ssh "$2" grep -qF "'FAULT $1'" /etc/issue.d/kiln.issue &&
    vm ssh "$2" "journalctl -u kiln -o cat | grep -qF 'FAULT $1'" &&
    grep -qF "FAULT $1" "$vms/$2/console.log"
}
stopped() { vm ssh "$1" grep -qF "'\"phase\":\"stopped\"'" /var/lib/kiln/status.json; }

# fault_is_wanted CODE [LINE]: a fault ends a scenario, but not this one. The boot net may find this
# fault, and lines that match LINE.
fault_is_wanted() {
  local where
  has_fault() { false; }
  exceptions=$tmp/exceptions-$case
  cp "$here/net/exceptions.txt" "$exceptions"
  for where in console journal; do
    printf '\ndate: %s\nwhere: %s\nline: %s\nreason: the scenario makes this fault\n' \
      "$(date +%F)" "$where" "FAULT $1 ${2:+|$2}" >>"$exceptions"
  done
}

scenario_digest() {
  local machine
  fault_is_wanted artifact-wrong-digest 'kiln\.service: Failed with result'
  trouble 'changed runc'
  start fast
  within 120 "the worker says artifact-wrong-digest" says artifact-wrong-digest worker-1
  for machine in cp-1 worker-1; do within 120 "$machine has stopped" stopped "$machine"; done
  trouble
  for machine in cp-1 worker-1; do vm ssh "$machine" systemctl restart kiln; done
  boots_well
}

scenario_missing() {
  fault_is_wanted artifact-unreachable
  trouble 'missing crictl'
  start fast
  within 120 "the worker says artifact-unreachable" says artifact-unreachable worker-1
  trouble
  boots_well
}

scenario_full() {
  local machine
  fault_is_wanted artifact-no-room
  mounts 'tmpfs /opt tmpfs size=40m 0 0'
  start fast
  within 120 "the worker says artifact-no-room" says artifact-no-room worker-1
  within 120 "the control plane says it" says artifact-no-room cp-1
  for machine in cp-1 worker-1; do vm ssh "$machine" mount -o remount,size=2g /opt; done
  boots_well
}

: >"$tmp/mirror.log"
publish "$KUBERNETES"
publish_extension
publish_packages
# fresh SCENARIO: the mirror is well, and no machine has a mount of its own.
fresh() {
  rm -f "$tmp/trouble" "$KILN_BOOT_ADD/etc/fstab"
  scenario "$1"
}
each fresh "${scenarios[@]}"
