package need

// Thing is a program or a right that not every computer has.
type Thing struct {
	Name string
	Gap  string // what is not so without it, as a sentence
	// Tests are the tests that ask for it. For a shell, which most tests of scripts ask for, it is
	// nil.
	Tests []string

	right bool
	look  func() found
}

// found is the path of a program, or the name of a right. If the path is empty, want says what is
// missing.
type found struct{ path, want string }

// Python is the system's Python, which has the modules of the system's packages.
const Python = "/usr/bin/python3"

// Names of things whose names are more than one word.
const (
	CloudInitSchemas = "cloud-init 24.2"
	DNF              = "dnf and what makes packages for it"
	Terraform        = "terraform or tofu"
	ImageMount       = "mounts of images"
	OwnFiles         = "a file system of its own"
	OwnNetwork       = "a network of its own"
)

// Things are in the order of the closing line.
var Things = []Thing{
	{
		Name: "apt-get", Gap: "it does not read the repository of packages",
		Tests: []string{"TestPackagesOfAPT"}, look: program("apt-get"),
	},
	{
		Name: "bash", Gap: "scripts do not run under it", look: shell("bash"),
	},
	{
		Name: "blkid", Gap: "udev's program does not read the images' labels",
		Tests: []string{"TestMount"}, look: program("blkid"),
	},
	{
		Name: "bsdtar", Gap: "libarchive reads neither images nor initrds",
		Tests: []string{"TestLibarchive", "TestInitrds", "TestReadBack", "TestScripts"},
		look:  program("bsdtar"),
	},
	{
		Name: "busybox", Gap: "scripts do not run under it", look: shell("busybox"),
	},
	{
		Name: "cloud-init", Gap: "it does not read the documents",
		Tests: []string{
			"TestCloudInitSchema", "TestSchemaRefuses", "TestSchemaAccepts", "TestPlatforms",
			"TestNetworkConfigUnderstood",
			"TestNetworkConfigSchema", "TestSchema", "TestFetchDocument", "TestCloudInitFetches",
			"TestNeverReadable", "TestBootsAgain",
		},
		look: both(program("cloud-init"), modules("yaml, cloudinit.net.renderers",
			"a cloud-init with its modules in "+Python)),
	},
	{
		Name: CloudInitSchemas, Gap: "network-configs are not held to its schema",
		Tests: []string{"TestNetworkConfigSchema"},
		look: file("/usr/lib/python3/dist-packages/cloudinit/config/schemas/"+
			"schema-network-config-v2.json", CloudInitSchemas),
	},
	{
		Name: "cpio", Gap: "it does not read the initrds",
		Tests: []string{"TestInitrds", "TestReadBack"}, look: program("cpio"),
	},
	{
		Name: "curl", Gap: "the hook and cloud-init's command ask no real server",
		Tests: []string{
			"TestAnnounceGoesOn", "TestAnnounceHostileServer", "TestAnnounceProves",
			"TestAnnounceWithoutServer", "TestBootExtendStops", "TestBootExtends",
			"TestBootFetchGoesOn", "TestBootFetchStops",
			"TestBootFetches", "TestBootSpeaksHTTP", "TestFetchIsBounded", "TestFetchRuns",
			"TestPoolAsksPlatform", "TestFlatcarInstalls",
			"TestFlatcarWaits", "TestFlatcarOutage", "TestFlatcarStops", "TestFlatcarDocument",
			"TestWalkPXE", "TestRegistryAccess",
		},
		look: program("curl"),
	},
	{
		Name: "dash", Gap: "scripts do not run under it", look: shell("dash"),
	},
	{
		Name: DNF, Gap: "it does not install from the repository of packages",
		Tests: []string{"TestPackagesOfDNF"},
		look: both(program("dnf"), both(program("createrepo_c"),
			both(program("rpmbuild"), both(program("rpmsign"), program("gpg"))))),
	},
	{
		Name: "dnsmasq", Gap: "it does not read the page's configuration of DHCP",
		Tests: []string{"TestWalkPXE"}, look: program("dnsmasq"),
	},
	{
		Name: "git", Gap: "kiln asks no git, and make module is not tried",
		Tests: []string{
			"TestCoversForGit", "TestGitFetchesNothing", "TestIsolate", "TestModule", "TestReadme",
			"TestRevisionBounds", "TestScripts", "TestTrackedBounds",
		},
		look: program("git"),
	},
	{
		Name: "haproxy", Gap: "it does not read and run its configuration",
		Tests: []string{"TestBalancerIsHAProxys", "TestBalancerBalances"},
		look:  program("haproxy"),
	},
	{
		Name: "ip", Gap: "rules of routing are not set by the real one",
		Tests: []string{"TestWall", "TestWallStays"},
		look:  program("ip"),
	},
	{
		Name: "isoinfo", Gap: "it does not read the images",
		Tests: []string{"TestIsoinfo", "TestImage", "TestScripts"}, look: program("isoinfo"),
	},
	{
		Name: "nft", Gap: "no firewall removes all rules", Tests: []string{"TestWall"},
		look: program("nft"),
	},
	{
		Name: "openssl", Gap: "it does not verify keys and certificates",
		Tests: []string{
			"TestBarePEM", "TestCutOff", "TestEveryCertificate", "TestExternalCA", "TestScripts",
		},
		look: program("openssl"),
	},
	{
		Name: "python3", Gap: "no second implementation derives keys and tokens",
		Tests: []string{"TestSecondImplementation"}, look: program("python3"),
	},
	{
		Name: "python3-yaml", Gap: "PyYAML does not read the documents",
		Tests: []string{"TestYAML11"}, look: modules("yaml", "python3-yaml"),
	},
	{
		Name: "setsid", Gap: "no encrypted bundle is opened without a terminal",
		Tests: []string{"TestScripts"}, look: program("setsid"),
	},
	{
		Name: "ssh-keygen", Gap: "the signature of an archive is not checked as its page says",
		Tests: []string{"TestAirGap"}, look: program("ssh-keygen"),
	},
	{
		Name: "strace",
		Gap: "no file system refuses to sync a folder, and nobody looks at how cloud-init makes " +
			"secret files",
		Tests: []string{"TestScripts", "TestNeverReadable"},
		look:  both(program("strace"), right("strace", tracing)),
	},
	{
		Name: "systemd-analyze", Gap: "units and timers are not verified",
		Tests: []string{
			"TestUnits", "TestBackupTimer", "TestEveryUnit",
			"TestUnit", "TestUnitProblem",
		},
		look: program("systemd-analyze"),
	},
	{
		Name:  "systemd-networkd",
		Gap:   "it does not read the files of interfaces, nor remove routing rules of others",
		Tests: []string{"TestNetworkdReads", "TestWallStays"}, look: programAt(networkd),
	},
	{
		Name: Terraform, Gap: "the examples are not planned",
		Tests: []string{"TestTerraform", "TestTerraformRefuses", "TestTerraformWalks"},
		look:  program("terraform", "tofu"),
	},

	{
		Name: OwnFiles, Gap: "no disk is full, and none read-only to root", right: true,
		Tests: []string{"TestCutOff", "TestNeverReadable", "TestBootsAgain", "TestUncover"},
		look:  right(OwnFiles, ownFiles),
	},
	{
		Name: "IPv6", Gap: "servers listen on IPv4 alone", right: true,
		Tests: []string{"TestMappedAddress", "TestBootSpeaksHTTP"}, look: right("IPv6", ipv6),
	},
	{
		Name: ImageMount, Gap: "Linux does not read the images", right: true,
		Tests: []string{"TestMount"}, look: right(ImageMount, imageMount),
	},
	{
		Name: OwnNetwork, Gap: "systemd-networkd is not started, and no rules of routing are set",
		right: true,
		Tests: []string{"TestNetworkdReads", "TestWall", "TestWallStays"},
		look:  right(OwnNetwork, ownNetwork),
	},
	{
		Name: "pseudo-terminals", Gap: "kiln colors no terminal", right: true,
		Tests: []string{"TestScripts"}, look: right("pseudo-terminals", pseudoTerminals),
	},
	{
		Name: "root", Gap: "no file belongs to another user", right: true,
		Tests: []string{
			"TestBundleOfAnotherUser", "TestBootOwners", "TestPackagesOfDNF", "TestNeverReadable",
			"TestBootsAgain",
		},
		look: right("root", root),
	},
}
