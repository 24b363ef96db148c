package target

import (
	"net/netip"
	"slices"
)

// Platform is where a machine runs: what it takes as a document, and what people should know before
// they put one there. `kiln platforms -o json` prints the fields that have a name in JSON.
type Platform struct {
	// Name is the value of machines.platform.
	Name string `json:"name"`
	// Limit is the size of the largest document in bytes, as kiln writes it; 0 means that there is
	// no limit, or that it is not known.
	Limit int `json:"limit,omitempty"`
	// Unknown reports whether the platform may well have a limit that nobody publishes.
	Unknown bool `json:"unknown,omitempty"`
	// Counted is what the vendor counts, and the vendor's own figure.
	Counted string `json:"counted"`
	// TextOnly reports whether the document must be text. A compressed document is then part of a
	// MIME message for cloud-init. A document of Ignition is always text.
	TextOnly bool `json:"textOnly,omitempty"`
	// NoCloud reports whether meta-data and network-config are delivered beside the user-data.
	NoCloud bool `json:"noCloud,omitempty"`
	// Ignition and CloudInit are where each of them reads the document.
	Ignition  string `json:"ignition"`
	CloudInit string `json:"cloudInit"`
	// Readers are those who can read the document later, with its secrets: from few to many.
	Readers []Reader `json:"readers"`
	// Trap is what else goes wrong there; empty if no trap is known.
	Trap string `json:"trap,omitempty"`
	// Source is where the limit was read, in August 2026.
	Source string `json:"source"`
	// Metadata lists the addresses at which any process on the machine can read the document; empty
	// if the document arrives otherwise. Link-local IPv6 addresses are left out, because nothing
	// forwards to them.
	Metadata []netip.Addr `json:"metadata,omitempty"`
	// Internal lists the platform's other services for the machine alone, each as address and TCP
	// port. They are closed to pods like Metadata.
	Internal []netip.AddrPort `json:"internal,omitempty"`

	// PodRoutes is what the platform's network asks of clusters whose machines send packets of pods
	// as they are; nil if nothing is known that keeps them from other machines.
	PodRoutes *PodRoutes `json:"podRoutes,omitempty"`

	// NoARP reports whether the platform's network drops ARP for addresses that it did not assign
	// (kube-vip's documentation, "Architecture"; the networks' own). It is not known of the others.
	NoARP bool `json:"-"`
	// NetworkConfig reports whether cloud-init reads a network-config beside the user-data. On the
	// other platforms the platform's own description of the interfaces holds.
	NetworkConfig bool `json:"-"`
	// NameSource is how a machine asks the platform for its name; nil if kiln knows no way.
	NameSource *NameSource `json:"-"`
	// Medium is the disk from which Ignition reads the document; nil if it reads none.
	Medium *Medium `json:"-"`
	// NoSUSEImage reports whether openSUSE has no image of its own for the platform. MicroOS then
	// reads the medium of openSUSE's own provider (System.Medium).
	NoSUSEImage bool `json:"-"`
	// Handover is how a document of Ignition reaches the machine without a medium; empty if the
	// platform takes it as user-data.
	Handover string `json:"-"`
	// IgnitionID is what Ignition calls the platform (ignition.platform.id); empty if it has the
	// same name. A live image of Fedora CoreOS is for all platforms and needs the name (docs of
	// Fedora CoreOS, "Running directly from RAM").
	IgnitionID string `json:"-"`
}

// PodRoutes is what a platform's network does with packets between pods of two machines that carry
// the pods' own addresses, which the platform did not give away: with Flannel's backend host-gw,
// and with its directRouting.
type PodRoutes struct {
	// Never reports whether the platform routes between machines itself: no route of a machine
	// leads to the pods of another.
	Never bool `json:"never,omitempty"`
	// Text is why they never pass or, if they can, what has to be set for it.
	Text string `json:"text"`
	// Source is where that was read, in November 2026.
	Source string `json:"source"`
}

// hostGateway is Rancher's page on networks in which machines are the gateways of their pods.
const hostGateway = "Rancher: Networking Requirements for Host Gateway"

// layer3 is the row of platforms whose machines stand on no common segment.
var layer3 = PodRoutes{
	Never: true, Source: hostGateway,
	Text: "its network is layer 3: machines do not reach each other directly",
}

// linkLocal is where nearly all platforms have their metadata service.
const linkLocal = "169.254.169.254"

// Texts of several rows.
const (
	seedDisk    = "a file on the disk with the label cidata"
	vendorDocs  = "the vendor's API documentation"
	ignitionDoc = "Ignition's source (internal/providers)"
	fwCfg       = "hand QEMU the document: -fw_cfg name=opt/com.coreos/config,file=config.ign"
)

// Platforms is the table of platforms, by name. Limits are on the document before the platform's
// own base64: where the vendor counts base64, Limit is three quarters of it. A document of Ignition
// is never compressed as a whole, since hardly any reader of it decompresses; its stub holds a
// compressed one. cloud-init decompresses on every platform.
var Platforms = []Platform{
	{
		Name: "akamai", Unknown: true, Counted: "not said",
		Ignition: "metadata service, user-data in base64", CloudInit: "metadata service",
		Readers: metadata("", "Akamai: Metadata service"),
		Source:  ignitionDoc, Metadata: addresses(linkLocal),
	}, {
		Name:  "aws",
		NoARP: true, Limit: 16384, Counted: "16 KiB, before base64",
		Ignition: "IMDS user-data", CloudInit: "IMDS user-data",
		Readers: metadata("", ec2UserData, account("anyone who may call "+
			"ec2:DescribeInstanceAttribute or ec2:DescribeLaunchTemplateVersions",
			"EC2 API reference, by these names")),
		Trap:   "launch configurations take 16,383; set the hop limit of IMDS to 1",
		Source: "EC2 user guide", Metadata: addresses(linkLocal, "fd00:ec2::254"),
		NameSource: &awsName,
		PodRoutes: &PodRoutes{
			Text: "all machines in one subnet, and the source/destination check of each " +
				"instance off", Source: hostGateway,
		},
	}, {
		Name:  "azure",
		NoARP: true, Limit: 65535, Counted: "64 KB of customData, before base64",
		Ignition:  "IMDS userData, or CustomData.bin on the provisioning disk",
		CloudInit: "the provisioning disk, or IMDS userData",
		Readers: metadata(", if the document is userData", azureUserData,
			account("anyone who may read the machine with $expand=userData", azureUserData)),
		Trap:   "customData is not in IMDS, userData is",
		Source: "Azure custom data page, ARM property text", Metadata: addresses(linkLocal),
		// The WireServer's goal state names the machine's certificates and extensions; its port
		// 32526 is the agent's plugin channel (Azure: What is IP address 168.63.129.16). Health
		// probes come from there too, so no other port may be closed.
		Internal: []netip.AddrPort{
			netip.MustParseAddrPort("168.63.129.16:80"),
			netip.MustParseAddrPort("168.63.129.16:32526"),
		},
		NameSource: &azureName, PodRoutes: &layer3,
	}, {
		Name:  "digitalocean",
		NoARP: true, Limit: 65536, TextOnly: true, Counted: "64 KiB, plain " +
			"text",
		Ignition: "metadata service", CloudInit: "metadata service",
		Readers: metadata("", ignitionDoc),
		Source:  vendorDocs, Metadata: addresses(linkLocal),
	}, {
		Name: "exoscale", Unknown: true, Counted: "not said",
		Ignition: "metadata service", CloudInit: "metadata service",
		Readers: metadata("", ignitionDoc),
		Source:  ignitionDoc, Metadata: addresses(linkLocal),
	}, {
		Name:  "gcp",
		NoARP: true, Limit: 262144, TextOnly: true,
		Counted:  "256 KiB a value, text; 512 KB of all",
		Ignition: "metadata attribute user-data", CloudInit: "metadata attribute user-data",
		Readers: metadata(" that sends Metadata-Flavor: Google",
			"Compute Engine: About VM metadata",
			account("viewers of the project", "Compute REST reference: instances.get")),
		Source: "Compute REST reference", Metadata: addresses(linkLocal, "fd20:ce::254"),
		NameSource: &gcpName, PodRoutes: &layer3,
	}, {
		Name:  "hetzner",
		NoARP: true, Limit: 32768, TextOnly: true, Counted: "32 KiB, a string of the API",
		Ignition: "metadata service", CloudInit: "metadata service",
		Readers: metadata("", ignitionDoc),
		Source:  vendorDocs, Metadata: addresses(linkLocal),
		PodRoutes: &PodRoutes{
			Never: true, Text: "a router stands between the machines of a network",
			Source: "hetznercloud/hcloud-cloud-controller-manager#329",
		},
		Trap: "its Debian has no systemd-resolved: set profile.resolvConf to /etc/resolv.conf " +
			"(kubernetes/kops#16494)",
	}, {
		Name: "hyperv", Unknown: true,
		Counted:  "about 1 KiB a value of the key-value pool; Ignition reads several",
		Ignition: "KVP pool 0, ignition.config.0, .1, …", CloudInit: seedDisk,
		Readers: owners,
		Trap:    "the document has to be split over values (kvpctl)",
		Source:  "Ignition's documentation", NetworkConfig: true, NoSUSEImage: true,
	}, {
		Name: "kubevirt", Limit: 1 << 20,
		Counted: "2,048 bytes in the VirtualMachine itself; " +
			"a Secret that it names takes 1 MiB",
		Ignition: "the disk cidata or config-2", CloudInit: seedDisk,
		Readers: readers(account("anyone who may read the Secret or the VirtualMachineInstance",
			"KubeVirt's webhook")),
		Trap:   "name a Secret; the document is not in the VirtualMachine",
		Source: "KubeVirt's webhook", NetworkConfig: true,
		// Ignition reads cidata from 2.25 on alone, and Flatcar's is 2.24. Every version reads
		// config-2 (coreos/ignition#1334, #2134).
		Medium: &configDrive,
	}, {
		Name: "libvirt", NoCloud: true, Counted: "a file",
		Ignition: "QEMU's fw_cfg opt/com.coreos/config", CloudInit: seedDisk,
		Readers:       owners,
		Source:        ignitionDoc,
		NetworkConfig: true, NoSUSEImage: true, Handover: fwCfg, IgnitionID: "qemu",
	}, {
		Name: "metal", NoCloud: true, Counted: "a file",
		Ignition: "the installed disk, or ignition.config.url", CloudInit: seedDisk,
		Readers: readers(medium(ignitionDoc), Reader{
			Kind: NetworkReader, Who: "anyone who reaches the URL, if it is booted over HTTP",
			Source: ignitionDoc,
		}),
		Source:        ignitionDoc,
		NetworkConfig: true, NoSUSEImage: true,
		Handover: "write the document to its disk (flatcar-install -i, " +
			"coreos-installer install --ignition-file), " +
			"or boot it over the network: kiln netboot",
	}, {
		Name: "nocloud", NoCloud: true, Counted: "a file",
		Ignition:      "the disk cidata or config-2 where the image's platform says so",
		CloudInit:     seedDisk,
		Readers:       readers(medium("cloud-init's documentation")),
		Source:        "cloud-init's documentation",
		NetworkConfig: true, NoSUSEImage: true, Medium: &NoCloud, IgnitionID: "metal",
	}, {
		Name: "openstack", Limit: 49149, Counted: "65,535 characters of base64",
		Ignition:  "config drive and metadata service",
		CloudInit: "config drive or metadata service",
		Readers: metadata("", ignitionDoc, account("accounts that the policy "+
			"os-extended-server-attributes lets read user_data: administrators",
			"Nova: policies/extended_server_attributes.py")),
		Source: "Nova's request schema", Metadata: addresses(linkLocal),
		NameSource: &openstackName, Medium: &configDrive,
		PodRoutes: &PodRoutes{
			Text: "the pod subnets among the allowed address pairs of each port, " +
				"or port security off", Source: "Neutron: allowed address pairs",
		},
	}, {
		Name:  "oracle",
		NoARP: true, Limit: 23500,
		Counted:  "32,000 bytes of all metadata in base64, with the ssh keys",
		Ignition: "metadata service, user_data in base64", CloudInit: "metadata service",
		Readers: metadata(" that sends Authorization: Bearer Oracle", ignitionDoc,
			account("anyone who may read the metadata of the instance", "OCI SDK")),
		Trap:   "about 500 bytes are left for ssh keys",
		Source: "OCI SDK", Metadata: addresses(linkLocal, "fd00:c1::a9fe:a9fe"),
		PodRoutes: &PodRoutes{
			Text: "the source/destination check of each VNIC off", Source: "OCI: VNICs",
		},
	}, {
		Name: "proxmox", NoCloud: true, Counted: "a file",
		Ignition: "the disk cidata", CloudInit: seedDisk,
		Readers:       owners,
		Source:        ignitionDoc,
		NetworkConfig: true, NoSUSEImage: true, Medium: &NoCloud, IgnitionID: "proxmoxve",
	}, {
		Name: "qemu", NoCloud: true, Counted: "a file",
		Ignition: "fw_cfg opt/com.coreos/config", CloudInit: seedDisk,
		Readers: owners,
		Trap:    "reading fw_cfg takes time with the square of the size", Source: ignitionDoc,
		NetworkConfig: true, NoSUSEImage: true, Handover: fwCfg,
	}, {
		Name: "scaleway", Unknown: true, Counted: "not said",
		Ignition: "metadata service", CloudInit: "metadata service",
		Readers: readers(account("anyone who may read user_data in the API",
			"Scaleway: Instance API"),
			Reader{
				Kind: PodReader, Setting: metadataSetting, Source: ignitionDoc,
				Who: "a pod that may take a port below 1024: the service answers no other",
			}),
		Source: ignitionDoc, Metadata: addresses("169.254.42.42", "fd00:42::42"),
	}, {
		Name: "vsphere", Limit: 49152, Counted: "64 KiB of guestinfo, in base64",
		Ignition:  "guestinfo.ignition.config.data with .encoding base64",
		CloudInit: "guestinfo.userdata with .encoding base64 or gzip+base64",
		Readers: readers(
			account("anyone who may read the machine's settings in vSphere",
				"Broadcom's guest SDK guide"),
			Reader{Kind: ProcessReader, Who: "every process" + backdoor, Source: guestInfo},
			Reader{Kind: PodReader, Who: "every pod" + backdoor, Source: guestInfo}),
		Trap:          "govc takes 128 KiB on a command line; vm.change -f reads a file",
		Source:        "VMware vm-operator issue 138, Broadcom's guest SDK guide",
		NetworkConfig: true, IgnitionID: "vmware",
	}, {
		Name:  "vultr",
		NoARP: true, Unknown: true, Counted: "not said",
		Ignition: "metadata service", CloudInit: "metadata service",
		Readers: metadata("", "Vultr: Metadata API",
			account("anyone who may call the API: vultr-cli instance user-data get",
				"Vultr: vultr-cli instance user-data")),
		Source: ignitionDoc, Metadata: addresses(linkLocal),
	},
}

func addresses(list ...string) []netip.Addr {
	out := make([]netip.Addr, len(list))
	for i, text := range list {
		out[i] = netip.MustParseAddr(text)
	}
	return out
}

// PlatformNamed returns the platform with that name, and whether the table has it.
func PlatformNamed(name string) (p Platform, ok bool) {
	i := slices.IndexFunc(Platforms, func(p Platform) bool { return p.Name == name })
	if i < 0 {
		return Platform{}, false
	}
	return Platforms[i], true
}

// PlatformNames returns those for which want is true, or all with nil, in the order of the table.
func PlatformNames(want func(*Platform) bool) (names []string) {
	for i := range Platforms {
		if want == nil || want(&Platforms[i]) {
			names = append(names, Platforms[i].Name)
		}
	}
	return names
}

// NameSource is how a machine asks its platform for its name: the name by which the platform's
// cloud controller finds the machine of a Node. Every source is asked at the link-local address, so
// that no name has to be resolved.
type NameSource struct {
	URL    string
	Header string // a header that the request needs; empty if it needs none
	Token  string // the URL where a PUT returns the token that the request needs; empty if none
	Short  bool   // the name ends at the first dot
	Is     string // what the name is, for people
}

// The name sources, by platform.
var (
	// IMDSv2 alone is on in newer accounts and images; the first version answers a request with the
	// token too (EC2 user guide, "Use IMDS").
	awsName = NameSource{
		URL:   "http://" + linkLocal + "/latest/meta-data/local-hostname",
		Token: "http://" + linkLocal + "/latest/api/token",
		Is:    "the private DNS name, or the name with the instance's id where the subnet says so",
	}
	// The computer's name is the name of the VM, and in a scale set that of the set's machine
	// (cloud-provider-azure, getVmssVM).
	azureName = NameSource{
		URL: "http://" + linkLocal + "/metadata/instance/compute/osProfile/computerName" +
			"?api-version=2021-02-01&format=text",
		Header: "Metadata: true",
		Is:     "the computer's name, also of a scale set's machine",
	}
	gcpName = NameSource{
		URL:    "http://" + linkLocal + "/computeMetadata/v1/instance/name",
		Header: "Metadata-Flavor: Google",
		Is:     "the instance's name",
	}
	// Nova's own meta_data.json would have to be parsed. What Nova serves in the form of EC2 is the
	// name with the domain of the network.
	openstackName = NameSource{
		URL:   "http://" + linkLocal + "/latest/meta-data/local-hostname",
		Short: true,
		Is:    "the server's name",
	}
)
