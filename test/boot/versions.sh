# shellcheck shell=bash disable=SC2034,SC2154
# The versions of what runs on a machine. Sourced after lib.sh, which says what $minor and $release
# are.

# The parts of each minor of Kubernetes, as render/facts/target/release.go names them: Kubernetes, etcd,
# CoreDNS, pause.
case $minor in
1.34) parts=(1.34.4 3.6.11 1.12.1 3.10.1) ;;
1.35) parts=(1.35.4 3.6.11 1.13.1 3.10.1) ;;
1.36) parts=(1.36.3 3.6.11 1.14.2 3.10.2) ;;
1.37) parts=(1.37.1 3.7.0 1.14.6 3.10.2) ;;
*) die "KILN_BOOT_MINOR is 1.34, 1.35, 1.36 or 1.37, or a release of one, not $release" ;;
esac
# The checksum database does not know the module of etcdutl 3.6.11.
ETCDUTL=${parts[1]/3.6.11/3.6.8}
KUBERNETES=${parts[0]} ETCD=${parts[1]} COREDNS=${parts[2]} PAUSE=${parts[3]}
[[ $release == "$minor" ]] || KUBERNETES=$release

# The same for each minor.
CONTAINERD=2.4.2
HAPROXY=3.2.23
KUBE_VIP=1.1.2
IGNITION=2.26.0
FLANNEL=0.28.10
FLANNEL_PLUGIN=1.9.1-flannel3 # the name of its image; build.sh says which source it has here
CNI_PLUGINS=1.9.1             # stock.sh fetches these two
CRICTL=1.36.0
DEBIAN=trixie
