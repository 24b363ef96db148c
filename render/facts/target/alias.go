package target

import "strings"

// Alias is a word that other programs have for a value of cluster.yaml.
type Alias struct {
	// Name is the value of cluster.yaml; "" if there is none.
	Name string
	// Advice is what to know or to do besides; "" if Name says it all.
	Advice string
}

// The advice of several aliases.
const (
	bringCNI     = "and bring the CNI with addons"
	likeRHEL     = "which stands for systems that are built like it"
	noLinux      = "kiln renders machines with Linux"
	readsNeither = "it reads neither Ignition nor cloud-init"
)

// aliases holds the words by the field of cluster.yaml, in lower case.
var aliases = map[string]map[string]Alias{
	"role": {
		"agent": {Name: "worker"}, "compute": {Name: "worker"}, "minion": {Name: "worker"},
		"node": {Name: "worker"}, "slave": {Name: "worker"},
		"control": {Name: "control-plane"}, "manager": {Name: "control-plane"},
		"master": {Name: "control-plane"}, "server": {Name: "control-plane"},
	},
	"os": {
		"al2023": {Name: "amazon-linux"}, "amazon": {Name: "amazon-linux"},
		"amzn":         {Name: "amazon-linux"},
		"almalinux":    {Name: "alma"},
		"centos":       {"rhel", likeRHEL},
		"oraclelinux":  {"rhel", likeRHEL},
		"redhat":       {Name: "rhel"},
		"rockylinux":   {Name: "rocky"},
		"bottlerocket": {Advice: readsNeither}, "talos": {Advice: readsNeither},
		"container-linux": {Name: "flatcar"},
		"coreos":          {Name: "fedora-coreos"}, "fcos": {Name: "fedora-coreos"},
		"opensuse-microos": {Name: "microos"},
		"windows":          {Advice: noLinux},
	},
	"platform": {
		"amazon": {Name: "aws"}, "ec2": {Name: "aws"},
		"bare-metal": {Name: "metal"}, "baremetal": {Name: "metal"}, "none": {Name: "metal"},
		"onprem": {Name: "metal"}, "pxe": {Name: "metal"},
		"do":  {Name: "digitalocean"},
		"esx": {Name: "vsphere"}, "esxi": {Name: "vsphere"}, "vmware": {Name: "vsphere"},
		"gce": {Name: "gcp"}, "google": {Name: "gcp"},
		"hcloud":  {Name: "hetzner"},
		"hyper-v": {Name: "hyperv"},
		"kvm":     {Name: "qemu", Advice: "or libvirt"},
		"linode":  {Name: "akamai"},
		"oci":     {Name: "oracle"},
		"pve":     {Name: "proxmox"},
	},
	"arch": {
		"aarch64": {Name: "arm64"}, "arm64v8": {Name: "arm64"},
		"x86_64": {Name: "amd64"}, "x64": {Name: "amd64"},
	},
	"cni": {
		"calico": {"none", bringCNI}, "canal": {"none", bringCNI}, "cilium": {"none", bringCNI},
		"kube-ovn": {"none", bringCNI}, "kube-router": {"none", bringCNI},
		"multus": {"none", bringCNI}, "weave": {"none", bringCNI},
		"bridge": {Name: "flannel"}, "kubenet": {Name: "flannel"},
		"routed": {"flannel", "which has taken the place of kiln's own network"},
	},
	"proxy": {"ipvs": {"nftables", "or iptables"}},
}

// FindAlias returns what cluster.yaml has for another program's word in a field, if it is known.
func FindAlias(field, word string) (a Alias, ok bool) {
	a, ok = aliases[field][strings.ToLower(word)]
	return a, ok
}
