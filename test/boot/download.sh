# shellcheck shell=bash disable=SC2034,SC2154
# Machines whose image has no kubelet, containerd, runc and CNI plugins, and the mirror
# (mirror/main.go) that has them, packed as their projects publish them. Sourced after versions.sh,
# build.sh and cluster.sh. Such a script calls build_downloads before begin, and publish after it.

# What these machines do not have, of the tree that image-fast.sh unpacked.
tree=$cache/fast/tree
export KILN_BOOT_WITHOUT="usr/local/bin/kubelet usr/local/bin/kubeadm usr/local/bin/kubectl \
  usr/local/bin/containerd usr/local/bin/containerd-shim-runc-v2 usr/local/bin/ctr usr/bin/runc \
  usr/sbin/runc opt/cni etc/systemd/system/containerd.service \
  etc/systemd/system/multi-user.target.wants/containerd.service"
overlay=stock # of the folder clusters

# build_downloads makes what is not part of the image.
build_downloads() {
  local plugins=github.com/containernetworking/plugins cri=sigs.k8s.io/cri-tools
  ( # the lock ends with this shell
    work_alone
    VARIABLES=$plugins/pkg/utils/buildversion.BuildVersion=v$CNI_PLUGINS \
      compile cni-plugins "$CNI_PLUGINS" $plugins \
      $plugins/plugins/{main/bridge,main/loopback,ipam/host-local,meta/portmap}
    VARIABLES=$cri/pkg/version.Version=v$CRICTL compile crictl "$CRICTL" $cri $cri/cmd/crictl
  )
}

# publish KUBERNETES... makes the mirror's folder and the lock, with a kubelet of each of these
# releases, and starts the mirror.
publish() {
  local root=$tmp/mirror.d version
  for runc in "$tree"/usr/{sbin,bin}/runc; do [[ ! -e $runc ]] || break; done
  [[ -e $runc ]] || die "there is no runc in $tree"
  RUNC=$(chroot "$tree" "${runc#"$tree"}" --version | sed -n 's/^runc version //p' | tr -d '\r')
  adapt_runc
  mkdir -p "$root" "$tmp/pack/bin"
  cp "$tree"/usr/local/bin/{containerd,containerd-shim-runc-v2,ctr} "$tmp/pack/bin/"
  tar -C "$tmp/pack" -czf "$root/containerd.tar.gz" bin
  cp "$runc" "$root/runc.amd64"
  tar -C "$bin/cni-plugins-$CNI_PLUGINS" -czf "$root/cni-plugins.tgz" .
  tar -C "$bin/crictl-$CRICTL" -czf "$root/crictl.tar.gz" crictl
  printf '%s\n' 'apiVersion: kiln.dev/v1alpha1' 'kind: Lock' 'artifacts:' >"$tmp/cluster.lock.yaml"
  entry containerd "$CONTAINERD" containerd.tar.gz
  entry runc "$RUNC" runc.amd64
  entry cniPlugins "$CNI_PLUGINS" cni-plugins.tgz
  entry crictl "$CRICTL" crictl.tar.gz
  for version in "$@"; do
    mkdir -p "$root/release/v$version/bin/linux/amd64"
    cp "$bin/kubernetes-$version/kubelet" "$root/release/v$version/bin/linux/amd64/"
    entry kubelet "$version" "release/v$version/bin/linux/amd64/kubelet"
  done
  "$tmp/mirror" -listen 10.10.0.1:8080 -dir "$root" -trouble "$tmp/trouble" \
    >>"$tmp/mirror.log" 2>&1 &
}

entry() { # entry NAME VERSION PATH: of the lock
  local sum
  sum=$(sha256sum <"$tmp/mirror.d/$3")
  printf -- '- {name: %s, version: "v%s", arch: amd64, url: "https://builds.example.com/%s", sha256: "%s"}\n' \
    "$1" "$2" "$3" "${sum%% *}" >>"$tmp/cluster.lock.yaml"
}

# adapt_runc lets the fetched runc start containers where nothing may lower an OOM score; see
# image-fast.sh, whose own wrapper starts the runc of the image.
adapt_runc() {
  export KILN_BOOT_ADD=$tmp/add
  local drop_ins=$KILN_BOOT_ADD/usr/lib/systemd/system/containerd.service.d
  mkdir -p "$drop_ins" "$KILN_BOOT_ADD/usr/local/sbin"
  sed 's|/usr/sbin/runc|/opt/bin/runc|' "$tree/usr/local/sbin/runc" \
    >"$KILN_BOOT_ADD/usr/local/sbin/runc"
  chmod 755 "$KILN_BOOT_ADD/usr/local/sbin/runc"
  printf '[Service]\nEnvironment=PATH=/usr/local/sbin:/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin\n' \
    >"$drop_ins/container.conf"
}

# adapt_download gives $dir/cluster.yaml the programs of the mirror, and the lock of them.
adapt_download() {
  sed "s/CONTAINERD/$CONTAINERD/; s/RUNC/$RUNC/; s/CNI_PLUGINS/$CNI_PLUGINS/; s/CRICTL/$CRICTL/" \
    "$here/clusters/$overlay.yaml" >"$dir/$overlay.yaml"
  lay_over "$dir/cluster.yaml" "$dir/$overlay.yaml"
  cp "$tmp/cluster.lock.yaml" "$dir/"
}
