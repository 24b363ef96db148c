// Package secret knows which machine may hold which secret, and what a reviewer sees in its place. The
// table is the only list of the secrets of a cluster; it knows nothing of how a machine is assembled.
package secret

import (
	"fmt"
	"slices"
	"strings"

	"kiln/manifests"
	"kiln/pki"
	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// Kind is one row of the table of secrets: what it is, which machines hold it and where, who uses it there and until when. A
// machine holds a secret because a row says so, or not at all: Check holds every machine to the table, and docs/secrets.md shows it.
type Kind struct {
	// Name is how a file is marked that holds one, without the generation. What stands in braces depends on whose it is.
	Name string
	Is   string // what it is
	// Path is where it lies; a path that ends in a slash is a folder in which each has a file.
	Path  string
	Roles []string // of the machines that hold it; none if no machine does
	When  string   // which of them; all if it is empty
	User  string   // who uses it there
	Until string   // when it ends

	// when says whether a machine is one that When means; nil for all.
	when func(p *plan.Plan, m *plan.Machine) bool
	// each returns the secrets of a machine if they are not the one of Name and Path.
	each func(c *Cluster, m *plan.Machine) []Holding
}

// Cluster is what the table needs to know of a cluster.
type Cluster struct {
	Plan    *plan.Plan
	Public  *pki.Public
	Objects []manifests.Object // what the API server is to hold
	// Joining are the machines that join with a token, by the name of the token's Secret.
	Joining map[string]*plan.Machine
}

// Holding is one secret on one machine: the mark of its file, and the file's path, or the folder's with a slash.
type Holding struct{ Mark, Path string }

const (
	ofMachine = "{machine}" // in a name: the machine's own
	ofPool    = "{pool}"    // in a name: the pool's own
)

var (
	onControlPlanes = []string{node.ControlPlane}
	onMembers       = []string{node.ControlPlane, node.Etcd}
	onNodes         = []string{node.ControlPlane, node.Worker}
	onAll           = []string{node.ControlPlane, node.Worker, node.Etcd}
)

// What the column "until" says of most.
const (
	untilRotated = "it is replaced in the bundle"
	untilExpired = "its certificate ends"
)

const bootstrapUser = "kubelet asks for its first certificate; the first boot then removes it"

// Kinds are all secrets of a cluster. A new one is a new row.
var Kinds = []Kind{
	// The bundle's own.
	{Name: "leaf-seed", Is: "what all leaf keys and bootstrap tokens are derived from", User: "`kiln render`", Until: untilRotated},
	{Name: "etcd-ca", Is: "key of etcd's CA", User: "`kiln render`", Until: untilRotated},
	{Name: "front-proxy-ca", Is: "key of the CA of the API aggregation layer", User: "`kiln render`", Until: untilRotated},
	{Name: "ca", Is: "key of the cluster's CA", Path: plan.CAKey, Roles: onControlPlanes, When: "`certificates.signing: online`",
		User: "kube-controller-manager signs the kubelets' next certificates", Until: untilRotated,
		when: func(p *plan.Plan, _ *plan.Machine) bool { return p.OnlineSigning }},
	{Name: "service-account", Is: "key of service account tokens", Path: plan.ServiceKey, Roles: onControlPlanes,
		User: "kube-apiserver and kube-controller-manager sign tokens", Until: untilRotated},
	{Name: "encryption", Is: "key of Secrets in etcd", Path: plan.Encryption, Roles: onControlPlanes,
		User: "kube-apiserver writes and reads Secrets", Until: untilRotated},

	// Servers and clients of the control plane.
	{Name: "apiserver/{machine}", Is: "serving key of the API server", Path: plan.PKIDir + "/apiserver.key", Roles: onControlPlanes,
		User: "kube-apiserver", Until: untilExpired},
	{Name: "apiserver-kubelet-client/{machine}", Is: "client key for kubelets", Path: plan.PKIDir + "/apiserver-kubelet-client.key", Roles: onControlPlanes,
		User: "kube-apiserver, for logs, exec and metrics", Until: untilExpired},
	{Name: "apiserver-etcd-client/{machine}", Is: "client key for etcd", Path: plan.PKIDir + "/apiserver-etcd-client.key", Roles: onControlPlanes, When: "an etcd of kiln's",
		User: "kube-apiserver", Until: untilExpired,
		when: func(p *plan.Plan, _ *plan.Machine) bool { return p.Config.Spec.ControlPlane.Etcd.External == nil }},
	{Name: "external-etcd-client", Is: "client key for an etcd of yours", Path: plan.PKIDir + "/apiserver-etcd-client.key", Roles: onControlPlanes, When: "`controlPlane.etcd.external`",
		User: "kube-apiserver", Until: "you replace it", each: externalEtcd},
	{Name: "front-proxy-client/{machine}", Is: "client key of the API aggregation layer", Path: plan.PKIDir + "/front-proxy-client.key", Roles: onControlPlanes,
		User: "kube-apiserver, towards extension API servers", Until: untilExpired},
	{Name: "controller-manager/{machine}", Is: "client key for the API server", Path: plan.PKIDir + "/controller-manager.key", Roles: onControlPlanes,
		User: "kube-controller-manager", Until: untilExpired},
	{Name: "scheduler/{machine}", Is: "client key for the API server", Path: plan.PKIDir + "/scheduler.key", Roles: onControlPlanes,
		User: "kube-scheduler", Until: untilExpired},
	{Name: "kube-vip/{machine}", Is: "client key for the API server, good for one Lease", Path: plan.PKIDir + "/kube-vip.key", Roles: onControlPlanes, When: "`controlPlane.vip`",
		User: "kube-vip", Until: untilExpired,
		when: func(p *plan.Plan, _ *plan.Machine) bool { return p.VIP.IsValid() }},

	// Administrators.
	{Name: "install/{machine}", Is: "client key of an administrator (`system:masters`)", Path: plan.PKIDir + "/install.key", Roles: onControlPlanes,
		User: "the first boot, which applies the API objects and then removes it", Until: "the first boot is done; at the latest `installDeadline` of the bundle, or the formation deadline if it has none"},
	{Name: "admin", Is: "the operator's kubeconfig, `admin.conf` in the output folder", User: "people", Until: untilExpired},
	{Name: "serve", Is: "serving key of `kiln serve`, in its memory alone", User: "`kiln serve`", Until: "a day after its window"},

	// etcd's members.
	{Name: "etcd-server/{machine}", Is: "serving key of the member, and its client key for itself and the others", Path: plan.EtcdPKIDir + "/server.key", Roles: onMembers, When: "a member of etcd",
		User: "etcd; the first boot and backups", Until: untilExpired, when: isMember},
	{Name: "etcd-peer/{machine}", Is: "key of the member towards the others", Path: plan.EtcdPKIDir + "/peer.key", Roles: onMembers, When: "a member of etcd",
		User: "etcd", Until: untilExpired, when: isMember},

	// Kubelets.
	{Name: "kubelet-client/{machine}", Is: "client key of the kubelet for the API server", Path: plan.KubeletPKI + "/kubelet-client-kiln.pem", Roles: onNodes, When: "`identity: certificate`",
		User: "kubelet, which soon replaces it where the CA's key is online", Until: untilExpired, when: hasIdentity},
	{Name: "kubelet-server/{machine}", Is: "serving key of the kubelet", Path: plan.KubeletPKI + "/kubelet.key", Roles: onNodes, When: "`identity: certificate`",
		User: "kubelet", Until: untilExpired, when: hasIdentity},
	{Name: "token/{pool}", Is: "bootstrap token of a pool", Path: plan.BootstrapConf, Roles: []string{node.Worker}, When: "a pool's document",
		User: bootstrapUser, Until: "the token ends: `tokenLifetime`",
		when: func(_ *plan.Plan, m *plan.Machine) bool { return m.Token && m.Pool }},
	{Name: "token/node/{machine}", Is: "bootstrap token of a named machine", Path: plan.BootstrapConf, Roles: []string{node.Worker}, When: "`identity: token`",
		User: bootstrapUser, Until: "the token ends, with the install credential",
		when: func(_ *plan.Plan, m *plan.Machine) bool { return m.Token && !m.Pool }},
	{Name: "token/{pool}, token/node/{machine}", Is: "the same token as a Secret, one of each pool and machine that has one", Path: plan.ObjectsDir, Roles: onControlPlanes, When: "pools or `identity: token`",
		User: "the first boot gives it to the API server", Until: "the token ends", each: tokenObjects},

	// People's own.
	{Name: "object {path in the API}", Is: "a Secret of an add-on", Path: plan.ObjectsDir, Roles: onControlPlanes, When: "such an add-on",
		User: "the first boot gives it to the API server", Until: "you replace it", each: secretObjects},
	{Name: "file {path}", Is: "a file or script with `secret: true`", Roles: onAll, When: "such a file in its layers",
		User: "whoever reads the file", Until: "you replace it", each: secretFiles},
}

func isMember(_ *plan.Plan, m *plan.Machine) bool { return m.EtcdMember }

// hasIdentity says that the machine's kubelet is somebody from the beginning, and asks nobody for its certificates.
func hasIdentity(_ *plan.Plan, m *plan.Machine) bool { return !m.Token }

func externalEtcd(c *Cluster, _ *plan.Machine) []Holding {
	if c.Plan.Config.Spec.ControlPlane.Etcd.External == nil {
		return nil
	}
	return []Holding{{"external-etcd-client", plan.PKIDir + "/apiserver-etcd-client.key"}}
}

func tokenObjects(c *Cluster, _ *plan.Machine) (out []Holding) {
	for i := range c.Plan.Machines {
		if m := &c.Plan.Machines[i]; m.Token {
			out = append(out, Holding{c.Public.Mark(pki.TokenName(m)), plan.ObjectsDir})
		}
	}
	return out
}

func secretObjects(c *Cluster, _ *plan.Machine) (out []Holding) {
	for _, o := range c.Objects {
		if o.Secret && (c.Joining[o.Name] == nil || o.Namespace != "kube-system") {
			out = append(out, Holding{"object " + o.Path, plan.ObjectsDir})
		}
	}
	return out
}

func secretFiles(_ *Cluster, m *plan.Machine) (out []Holding) {
	for _, f := range m.Settings.Files {
		if f.Secret {
			out = append(out, Holding{"file " + f.Path, f.Path})
		}
	}
	for phase, scripts := range map[string][]config.Script{"pre-boot": m.Settings.PreBoot, "post-boot": m.Settings.PostBoot} {
		for _, s := range scripts {
			if at := plan.KilnDir + "/" + phase + "/" + s.Name; s.Secret {
				out = append(out, Holding{"file " + at, at})
			}
		}
	}
	slices.SortFunc(out, func(a, b Holding) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Holdings returns the secrets of this kind that m holds.
func (k *Kind) Holdings(c *Cluster, m *plan.Machine) []Holding {
	switch {
	case !slices.Contains(k.Roles, m.Role) || k.when != nil && !k.when(c.Plan, m):
		return nil
	case k.each != nil:
		return k.each(c, m)
	}
	return []Holding{{c.Public.Mark(k.NameOn(m.Name)), k.Path}}
}

// NameOn returns the name of the secret of this kind that the named machine or pool has.
func (k *Kind) NameOn(name string) string {
	return strings.NewReplacer(ofMachine, name, ofPool, name).Replace(k.Name)
}

// Base is how all names and marks of secrets of one kind begin.
func Base(mark string) string {
	if i := strings.IndexAny(mark, "/ "); i >= 0 {
		return mark[:i]
	}
	return mark
}

// Holders says which machines hold secrets of this kind.
func (k *Kind) Holders() string {
	if len(k.Roles) == 0 {
		return "no machine"
	}
	names := make([]string, len(k.Roles))
	for i, role := range k.Roles {
		names[i] = map[string]string{node.ControlPlane: "control planes", node.Worker: "workers", node.Etcd: "etcd machines"}[role]
	}
	text := strings.Join(names, ", ")
	if len(k.Roles) == len(onAll) {
		text = "all"
	}
	if k.When != "" {
		text += " with " + k.When
	}
	return text
}

// Place says, for a message, who holds secrets of this kind, and where.
func (k *Kind) Place() string {
	text := strings.ReplaceAll(k.Holders(), "`", "")
	if k.Path != "" {
		text += " in " + k.Path
	}
	return text
}

// Page is docs/secrets.md's table.
func Page() string {
	var b strings.Builder
	b.WriteString("| secret | is | on | lies in | who uses it | until |\n|---|---|---|---|---|---|\n")
	for i := range Kinds {
		k := &Kinds[i]
		at := k.Path
		if at != "" {
			at = "`" + at + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", k.Name, k.Is, k.Holders(), at, k.User, k.Until)
	}
	return b.String()
}
