// Package secret holds the table of a cluster's secrets: which machine may hold which secret, who
// uses it there and until when. It also finds the secrets in a document that was read back, where
// nothing marks them.
//
// The table is the only list of secrets in the program. Package check compares every finished
// machine with it, and docs/secrets.md shows it. The package does not know how a machine is
// assembled, and makes no keys.
package secret

import (
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// Kind is one row of the table. A machine may hold a secret only if a row says so.
type Kind struct {
	// Name is the mark of a file that holds such a secret, without the generation. The part in
	// braces stands for the owner's name.
	Name string
	Is   string // what the secret is
	// Path is where the secret lies. A path that ends in a slash is a folder with a file for each.
	Path  string
	Roles []string // of the machines that hold it; empty if no machine does
	When  string   // which machines of these roles hold it; empty means all
	User  string   // the program or person that uses it there
	Until string   // the event that ends its use
	Worth Worth    // what it is worth to a thief

	// applies reports whether a machine is one of those that When describes; nil means all.
	applies func(p *plan.Plan, m *plan.Machine) bool
	// holdings returns the secrets of a machine, if Name and Path do not say which they are.
	holdings func(c *Cluster, m *plan.Machine) []Holding
}

// Roles of the machines that hold a secret.
var (
	onControlPlanes = []string{node.ControlPlane}
	onWorkers       = []string{node.Worker}
	onMembers       = []string{node.ControlPlane, node.Etcd}
	onNodes         = []string{node.ControlPlane, node.Worker}
	onAll           = []string{node.ControlPlane, node.Worker, node.Etcd}
)

// Texts that several rows share.
const (
	untilRotated = "it is replaced in the bundle"
	untilExpired = "its certificate ends"
	named        = "a name"
)

func isMember(_ *plan.Plan, m *plan.Machine) bool { return m.EtcdMember }
func isNamed(_ *plan.Plan, m *plan.Machine) bool  { return !m.Pool }

// Kinds are all secrets of a cluster. A new secret is a new row.
var Kinds = []Kind{
	// Kept in the bundle.
	{
		Name: "leaf-seed", Is: "what all leaf keys and bootstrap tokens are derived from",
		User: "`kiln render`", Until: untilRotated,
		Worth: OfCluster,
	},
	{
		Name: "etcd-ca", Is: "key of etcd's CA",
		User: "`kiln render`", Until: untilRotated,
		Worth: OfCluster,
	},
	{
		Name: "front-proxy-ca", Is: "key of the CA of the API aggregation layer",
		User: "`kiln render`", Until: untilRotated,
		Worth: OfCluster,
	},
	{
		Name: "ca", Is: "key of the cluster's CA",
		Path:  plan.CAKey,
		Roles: onControlPlanes, When: "`certificates.signing: online`",
		applies: func(p *plan.Plan, _ *plan.Machine) bool { return p.OnlineSigning },
		User:    "kube-controller-manager signs the kubelets' next certificates",
		Until:   untilRotated,
		Worth:   OfCluster,
	},
	{
		Name: "service-account", Is: "key of service account tokens",
		Path:  plan.ServiceKey,
		Roles: onControlPlanes,
		User:  "kube-apiserver and kube-controller-manager sign tokens", Until: untilRotated,
		Worth: OfCluster,
	},
	{
		Name: "encryption", Is: "key of Secrets in etcd",
		Path:  plan.Encryption,
		Roles: onControlPlanes,
		User:  "kube-apiserver writes and reads Secrets", Until: untilRotated,
		Worth: OfCluster,
	},

	// Servers and clients of the control plane.
	{
		Name: "apiserver/{machine}", Is: "serving key of the API server",
		Path:  plan.PKIDir + "/apiserver.key",
		Roles: onControlPlanes,
		User:  "kube-apiserver", Until: untilExpired,
		Worth: OfCluster,
	},
	{
		Name: "apiserver-kubelet-client/{machine}", Is: "client key for kubelets",
		Path:  plan.PKIDir + "/apiserver-kubelet-client.key",
		Roles: onControlPlanes,
		User:  "kube-apiserver, for logs, exec and metrics", Until: untilExpired,
		Worth: OfCluster,
	},
	{
		Name: "apiserver-etcd-client/{machine}", Is: "client key for etcd",
		Path:  plan.PKIDir + "/apiserver-etcd-client.key",
		Roles: onControlPlanes, When: "an etcd of kiln's",
		applies: func(p *plan.Plan, _ *plan.Machine) bool {
			return p.Config.Spec.ControlPlane.Etcd.External == nil
		},
		User: "kube-apiserver", Until: untilExpired,
		Worth: OfCluster,
	},
	{
		Name: "external-etcd-client", Is: "client key for an etcd of yours",
		Path:  plan.PKIDir + "/apiserver-etcd-client.key",
		Roles: onControlPlanes, When: "`controlPlane.etcd.external`",
		User: "kube-apiserver", Until: "you replace it",
		Worth:    OfCluster,
		holdings: externalEtcd,
	},
	{
		Name: "front-proxy-client/{machine}", Is: "client key of the API aggregation layer",
		Path:  plan.PKIDir + "/front-proxy-client.key",
		Roles: onControlPlanes,
		User:  "kube-apiserver, towards extension API servers", Until: untilExpired,
		Worth: OfCluster,
	},
	{
		Name: "controller-manager/{machine}", Is: "client key for the API server",
		Path:  plan.PKIDir + "/controller-manager.key",
		Roles: onControlPlanes,
		User:  "kube-controller-manager", Until: untilExpired,
		Worth: OfCluster,
	},
	{
		Name: "scheduler/{machine}", Is: "client key for the API server",
		Path:  plan.PKIDir + "/scheduler.key",
		Roles: onControlPlanes,
		User:  "kube-scheduler", Until: untilExpired,
		Worth: OfMachine,
	},
	{
		Name: "kube-vip/{machine}", Is: "client key for the API server, good for one Lease",
		Path:  plan.PKIDir + "/kube-vip.key",
		Roles: onControlPlanes, When: "`controlPlane.vip`",
		applies: func(p *plan.Plan, _ *plan.Machine) bool { return p.VIP.IsValid() },
		User:    "kube-vip", Until: untilExpired,
		Worth: OfMachine,
	},

	// Administrators.
	{
		Name: "install/{machine}", Is: "client key of an administrator (`system:masters`)",
		Path:  plan.PKIDir + "/install.key",
		Roles: onControlPlanes,
		User:  "the first boot, which applies the API objects and then removes it",
		Until: "the first boot is done; at the latest `installDeadline` of the bundle, or " +
			"the formation deadline if it has none",
		Worth:    OfCluster,
		holdings: installs,
	},
	{
		Name: "admin", Is: "the operator's kubeconfig, `admin.conf` in the output folder",
		User: "people", Until: untilExpired,
		Worth: OfCluster,
	},
	{
		Name: "serve", Is: "serving key of `kiln serve`, in its memory alone",
		User: "`kiln serve`", Until: "a day after its window",
		Worth: OfMachine,
	},

	// etcd's members.
	{
		Name:  "etcd-server/{machine}",
		Is:    "serving key of the member, and its client key for itself and the others",
		Path:  plan.EtcdPKIDir + "/server.key",
		Roles: onMembers, When: "a member of etcd", applies: isMember,
		User: "etcd; the first boot and backups", Until: untilExpired,
		Worth: OfCluster,
	},
	{
		Name: "etcd-peer/{machine}", Is: "key of the member towards the others",
		Path:  plan.EtcdPKIDir + "/peer.key",
		Roles: onMembers, When: "a member of etcd", applies: isMember,
		User: "etcd", Until: untilExpired,
		Worth: OfCluster,
	},

	// Kubelets.
	{
		Name: "kubelet-client/{machine}", Is: "client key of the kubelet for the API server",
		Path:  plan.KubeletPKI + "/kubelet-client-kiln.pem",
		Roles: onNodes, When: named, applies: isNamed,
		User: "kubelet, which soon replaces it where the CA's key is online", Until: untilExpired,
		Worth: OfMachine,
	},
	{
		Name: "kubelet-server/{machine}", Is: "serving key of the kubelet",
		Path:  plan.KubeletPKI + "/kubelet.key",
		Roles: onNodes, When: named, applies: isNamed,
		User: "kubelet", Until: untilExpired,
		Worth: OfMachine,
	},
	{
		Name: "announce/{machine}", Is: "key of the machine's announcements",
		Path:  templates.AnnouncePath,
		Roles: onAll, When: "`report`, but no pool's document",
		applies: func(_ *plan.Plan, m *plan.Machine) bool { return m.Announces() && !m.Pool },
		User:    "the first boot, which proves that its announcements are this machine's",
		Until:   untilRotated,
		Worth:   OfMachine,
	},
	{
		Name: "announce/pool/{pool}", Is: "key of the announcements of a pool's machines",
		Path:  templates.AnnouncePath,
		Roles: onWorkers, When: "a pool's document with `report`",
		applies: func(_ *plan.Plan, m *plan.Machine) bool { return m.Announces() && m.Pool },
		User:    "the first boot, which proves that its announcements are of this pool",
		Until:   untilRotated,
		Worth:   OfMachine,
	},
	{
		Name: "token/{pool}", Is: "bootstrap token of a pool",
		Path:  plan.BootstrapConf,
		Roles: onWorkers, When: "a pool's document",
		applies: func(_ *plan.Plan, m *plan.Machine) bool { return m.Pool },
		User:    "kubelet asks for its first certificate; the first boot then removes it",
		Until:   "the token ends: `tokenLifetime`",
		Worth:   OfJoin,
	},
	{
		Name: "token/{pool} of each pool", Is: "the same token as a Secret",
		Path:  plan.ObjectsDir,
		Roles: onControlPlanes, When: "pools",
		User: "the first boot gives it to the API server", Until: "the token ends",
		Worth:    OfJoin,
		holdings: tokenObjects,
	},

	// Added by users.
	{
		Name: "object {path in the API}", Is: "a Secret of an add-on",
		Path:  plan.ObjectsDir,
		Roles: onControlPlanes, When: "such an add-on",
		User: "the first boot gives it to the API server", Until: "you replace it",
		Worth:    OfMachine,
		holdings: secretObjects,
	},
	{
		Name: "registry-logins", Is: "passwords of `machines.registries`",
		Path:  plan.Logins,
		Roles: onAll, When: "such a registry in its layers",
		User: "kubelet, to have images pulled", Until: "you replace it",
		Worth:    OfMachine,
		holdings: logins,
	},
	{
		Name: "registry-client {path}", Is: "a client key of `machines.registries`",
		Roles: onAll, When: "such a registry in its layers",
		User: "containerd, to pull images", Until: "you replace it",
		Worth:    OfMachine,
		holdings: registryKeys,
	},
	{
		Name: "file {path}", Is: "a file or script with `secret: true`",
		Roles: onAll, When: "such a file in its layers",
		User: "whoever reads the file", Until: "you replace it",
		Worth:    OfMachine,
		holdings: secretFiles,
	},
}
