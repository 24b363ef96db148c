package layout

import (
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// Parts of a document.
const (
	hook       = "hook"
	objects    = "API objects"
	staticPods = "static pods"
)

// Reasons that several rows share.
const (
	firstBoot = "read by the first boot only"
	servers   = "the time service takes other servers"
	updates   = "what updates the system reads it"
	snapshots = "read for each snapshot of etcd"
)

// What is started anew.
const (
	kubelet    = "kubelet.service"
	containerd = "containerd.service"
	tokens     = target.APIServer + " " + target.ControllerManager // sign them
	clients    = kubelet + " " + tokens + " " + target.Scheduler + " " + target.KubeVIP +
		" " + target.HAProxy
)

// restarts returns the row of a file that units or static pods read when they start.
func restarts(names string, f File) File {
	f.Change, f.Restarts = Restart, names
	switch list := strings.Fields(strings.ReplaceAll(names, ".service", "")); len(list) {
	case 1:
		f.Why = list[0] + " starts again with it"
	case 2:
		f.Why = list[0] + " and " + list[1] + " start again with it"
	default:
		f.Why = "all that reads it starts again"
	}
	return f
}

// manifest returns the row of the manifest of a static pod.
func manifest(name string) File {
	return restarts(name,
		File{Path: plan.ManifestPath(name), Form: YAML, Open: true, Part: staticPods})
}

// trusted returns the row of CAs that the machine trusts. A program reads them once.
func trusted(path, update string) File {
	return restarts(containerd, File{Path: path, Form: Lines, Then: update})
}

// Files is the table. A file that kiln puts on a machine has a row here, or stands below the folder
// of one.
var Files = []File{
	// The hook and its data.
	{Path: templates.BootPath, Form: Program, Open: true, Part: hook,
		Change: Later, Why: firstBoot},
	{Path: templates.StepsPath, Form: Program, Open: true, Part: hook,
		Change: Later, Why: firstBoot},
	{Path: templates.ReportPath, Form: Program, Open: true, Part: hook,
		Change: Later, Why: firstBoot},
	{Path: plan.KilnDir + "/machine", Form: Settings, Open: true, Part: hook,
		Change: Later, Why: firstBoot},
	{Path: plan.RestartList, Form: Lines, Open: true, Part: hook,
		Change: Later, Why: "read when one of its files changes"},
	{Path: plan.KilnDir + "/checks", Form: Checks, Open: true, Part: hook,
		Change: Later, Why: firstBoot},
	{Path: plan.KilnDir + "/node.yaml", Form: Object, Open: true, Part: hook,
		Change: Later, Why: firstBoot},
	{Path: templates.AnnouncePath, Form: Hidden, Part: hook, Change: Later, Why: firstBoot},
	{Path: plan.AnnounceCA, Form: Lines, Part: hook, Change: Later, Why: firstBoot},
	// Not open: it has the hashes of secrets.
	{Path: plan.KilnDir + "/files", Form: Lines, Part: hook, Change: Later, Why: firstBoot},
	{Path: plan.KilnDir + "/pre-boot/", Form: Lines, Part: hook, Change: Later, Why: firstBoot},
	{Path: plan.KilnDir + "/post-boot/", Form: Lines, Part: hook, Change: Later, Why: firstBoot},
	{Path: plan.UnitDir + "/kiln.service", Form: Unit, Change: Later, Why: firstBoot},

	// API objects. Whether one is open depends on what it holds.
	{Path: plan.ObjectsDir, Form: Object, Part: objects,
		Change: Apply, Why: "API objects are applied when the cluster is formed"},
	{Path: plan.ObjectsDir + "index", Form: Lines, Open: true, Part: objects,
		Change: Apply, Why: "API objects are applied when the cluster is formed"},

	// What pods may not reach, and what other firewalls may not end.
	{Path: plan.UnitDir + "/" + plan.WallUnit, Form: Unit},
	{Path: plan.UnitDir + "/kubelet.service.d/20-kiln-wall.conf", Form: Unit},
	{Path: plan.UnitDir + "/nftables.service.d/90-kiln.conf", Form: Unit},
	{Path: plan.LeasesLock, Form: Lines, Open: true,
		Change: Later, Why: "the plugin host-local makes it, too"},

	// Snapshots of etcd.
	{Path: templates.BackupPath, Form: Program, Open: true, Part: hook,
		Change: Live, Why: snapshots},
	{Path: plan.UnitDir + "/kiln-backup.service", Form: Unit, Change: Live, Why: snapshots},
	{Path: plan.UnitDir + "/kiln-backup.timer", Form: Unit,
		Change: Live, Why: snapshots, Then: "systemctl try-restart kiln-backu[p].timer"},

	// Certificates and keys. A row that ends in a dot is that of a certificate and of its key.
	{Path: plan.PKIDir + "/", Form: Hidden},
	restarts(target.APIServer, File{Path: plan.PKIDir + "/apiserver.", Form: Hidden}),
	restarts(target.APIServer, File{Path: plan.PKIDir + "/apiserver-", Form: Hidden}),
	restarts(target.APIServer, File{Path: plan.PKIDir + "/front-proxy-client.", Form: Hidden}),
	restarts(target.ControllerManager,
		File{Path: plan.PKIDir + "/controller-manager.", Form: Hidden}),
	restarts(target.Scheduler, File{Path: plan.PKIDir + "/scheduler.", Form: Hidden}),
	restarts(target.Etcd, File{Path: plan.EtcdPKIDir + "/", Form: Hidden}),
	restarts(kubelet, File{Path: plan.KubeletPKI + "/", Form: Hidden}),
	restarts(clients, File{Path: plan.CACert, Form: Hidden, Authority: "ca"}),
	restarts(target.ControllerManager, File{Path: plan.CASigning, Form: Hidden, Authority: "ca"}),
	restarts(target.ControllerManager, File{Path: plan.CAKey, Form: Hidden}),
	restarts(target.APIServer, File{Path: plan.EtcdCA, Form: Hidden, Authority: "etcd-ca"}),
	restarts(target.Etcd, File{Path: plan.EtcdOwnCA, Form: Hidden, Authority: "etcd-ca"}),
	restarts(target.APIServer,
		File{Path: plan.FrontProxyCA, Form: Hidden, Authority: "front-proxy-ca"}),
	restarts(tokens, File{Path: plan.ServiceKey, Form: Hidden}),
	restarts(tokens, File{Path: plan.ServicePub, Form: Hidden}),
	{Path: plan.PKIDir + "/install.crt", Form: Hidden, Change: Later, Why: firstBoot},
	{Path: plan.PKIDir + "/install.key", Form: Hidden, Change: Later, Why: firstBoot},

	// Kubeconfigs.
	{Path: plan.KubeletConf, Form: YAML, Open: true},
	restarts(target.ControllerManager, File{Path: plan.ManagerConf, Form: YAML, Open: true}),
	restarts(target.Scheduler, File{Path: plan.SchedulerConf, Form: YAML, Open: true}),
	{Path: plan.VIPConf, Form: YAML, Open: true},
	{Path: plan.AdminConf, Form: YAML, Open: true, Change: Later, Why: firstBoot},
	{Path: plan.BootstrapConf, Form: YAML,
		Change: Later, Why: "only a machine that joins needs the token"},
	{Path: plan.ProxyConf, Form: YAML, Open: true,
		Change: Later, Why: "nothing reads it: kube-proxy has its service account"},

	// The control plane.
	restarts(target.APIServer, File{Path: plan.Admission, Form: YAML, Open: true}),
	restarts(target.APIServer, File{Path: plan.Authentication, Form: YAML, Open: true}),
	restarts(target.APIServer, File{Path: plan.AuditPolicy, Form: YAML, Open: true}),
	restarts(target.APIServer, File{Path: plan.Encryption, Form: Hidden}),
	manifest(target.Etcd),
	manifest(target.APIServer),
	manifest(target.ControllerManager),
	manifest(target.Scheduler),
	manifest(target.KubeVIP),
	manifest(target.HAProxy),
	restarts(target.HAProxy, File{Path: plan.BalancerConf, Form: Lines}),

	// The kubelet and the container runtime.
	restarts(kubelet, File{Path: plan.KubeletConfig, Form: YAML, Open: true}),
	restarts(kubelet, File{Path: plan.UnitDir + "/kubelet.service", Form: Unit, Open: true}),
	restarts(kubelet, File{Path: plan.KubeletDropIn, Form: Unit, Open: true}),
	{Path: plan.UnitDir + "/kubelet.service.d/kubeadm.conf", Form: Unit},
	restarts(kubelet, File{Path: plan.UnitDir + "/kubelet.service.d/", Form: Unit}),
	{Path: config.KubeletDropIns + "/", Form: YAML,
		Change: Live, Why: "its fields are in the kubelet's configuration"},
	{Path: plan.UnitDir + "/multi-user.target.d/", Form: Unit},
	restarts(containerd, File{Path: plan.ContainerdConfig, Form: Lines}),
	{Path: "/etc/containerd/conf.d/", Form: Lines,
		Change: Live, Why: "its tables are in containerd's configuration"},
	{Path: plan.RegistriesDir + "/", Form: Lines,
		Change: Live, Why: "containerd reads it for each image"},
	{Path: plan.PreloadList, Form: Lines, Open: true, Part: hook, Change: Later, Why: firstBoot},
	restarts(kubelet, File{Path: plan.LoginsTeller, Form: Program, Open: true}),
	restarts(kubelet, File{Path: plan.LoginsConfig, Form: YAML, Open: true}),
	{Path: plan.Logins, Form: Hidden, Change: Live, Why: "the kubelet asks for it for each image"},
	restarts(containerd, File{Path: plan.UnitDir + "/containerd.service", Form: Unit}),
	restarts(containerd, File{Path: plan.UnitDir + "/containerd.service.d/", Form: Unit}),

	// What the machine fetches.
	{Path: plan.ArtifactList, Form: Programs, Part: hook, Change: Restart,
		Why: "it fetches its programs, and those start again with the new ones"},
	{Path: plan.ArtifactCA, Form: Lines, Part: hook, Change: Later, Why: "read when it fetches"},
	{Path: plan.CrictlConfig, Form: YAML, Change: Live, Why: "crictl reads it each time"},
	{Path: "/etc/apt/keyrings/kubernetes.asc", Form: Lines},
	{Path: "/etc/apt/sources.list.d/kubernetes.sources", Form: Lines},
	{Path: "/etc/pki/rpm-gpg/kubernetes.asc", Form: Lines},
	{Path: "/etc/yum.repos.d/kubernetes.repo", Form: Lines},
	{Path: plan.UnitDir + "/" + target.PackagesUnit, Form: Unit},

	// The operating system.
	{Path: "/etc/hostname", Form: Lines},
	{Path: "/etc/modules-load.d/90-kiln.conf", Form: Lines,
		Change: Live, Why: "the kernel loads them",
		Then: "systemd-modules-load /etc/modules-load.d/90-kiln.conf"},
	{Path: "/etc/sysctl.d/90-kiln.conf", Form: Settings,
		Change: Live, Why: "the kernel takes it",
		Then: "systemd-sysctl /etc/sysctl.d/90-kiln.conf"},
	{Path: "/etc/systemd/logind.conf.d/90-kiln.conf", Form: Unit,
		Change: Live, Why: "logind reads it again",
		Then: "systemctl kill -s HUP systemd-login[d].service"},
	{Path: "/etc/systemd/networkd.conf.d/90-kiln.conf", Form: Unit},
	{Path: "/etc/systemd/network/05-kiln-pods.network", Form: Unit},
	{Path: "/etc/NetworkManager/conf.d/90-kiln.conf", Form: Lines},
	{Path: target.HostsFile, Form: Lines,
		Change: Live, Theirs: true,
		Why: "read for each name; by pods on the network of the machine when they start"},
	{Path: "/etc/systemd/timesyncd.conf.d/90-kiln.conf", Form: Unit,
		Change: Live, Why: servers, Then: "systemctl try-restart systemd-timesync[d].service"},
	{Path: "/etc/chrony.conf", Form: Lines, Theirs: true,
		Change: Live, Why: servers, Then: "systemctl try-restart chrony[d].service"},
	{Path: "/etc/chrony/chrony.conf", Form: Lines, Theirs: true,
		Change: Live, Why: servers,
		Then: "systemctl try-restart chron[y].service chrony[d].service"},
	{Path: "/etc/ntp.conf", Form: Lines, Theirs: true,
		Change: Live, Why: servers, Then: "systemctl try-restart ntp[d].service"},
	trusted("/etc/pki/ca-trust/source/anchors/kiln-", "update-ca-trust"),
	trusted("/etc/pki/trust/anchors/kiln-", "update-ca-certificates --fresh"),
	trusted("/etc/ssl/certs/kiln-", "update-ca-certificates"),
	// Without --fresh another CA in a file of the same name has no link by its hash.
	trusted("/usr/local/share/ca-certificates/kiln-", "update-ca-certificates --fresh"),
	{Path: plan.UnitDir + "/" + target.SystemUnit, Form: Unit, Change: Live,
		Why: "its commands run again", Then: "systemctl try-restart kiln-syste[m].service"},
	{Path: "/etc/flatcar/update.conf", Form: Settings, Theirs: true, Change: Live, Why: updates,
		Then: "systemctl try-restart update-engin[e].service locksmith[d].service"},
	{Path: "/etc/zincati/config.d/90-kiln.toml", Form: Lines, Change: Live, Why: updates,
		Then: "systemctl try-restart zincat[i].service"},
	{Path: "/etc/apt/apt.conf.d/90-kiln", Form: Lines, Change: Live, Why: updates},
	{Path: config.NetworkdPrefix, Form: Unit},
	{Path: config.KeyfilePrefix, Form: Unit, Open: true},
}

// Fetched has the programs that machines fetch, each with what starts again with it.
var Fetched = []string{
	target.BinDir + "/kubelet " + kubelet,
	target.BinDir + "/containerd " + containerd,
	target.BinDir + "/runc " + containerd,
}
