package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Configuration files of the API server, and where it writes its audit log. The folder is mounted
// as a whole, so that the API server sees a file that was replaced.
const (
	APIServerDir   = KubernetesDir + "/apiserver"
	Admission      = APIServerDir + "/admission.yaml"
	Authentication = APIServerDir + "/authentication.yaml"
	AuditPolicy    = APIServerDir + "/audit.yaml"
	Encryption     = APIServerDir + "/encryption.yaml"
	AuditDir       = "/var/log/kubernetes"
	AuditLog       = AuditDir + "/audit.log"
)

// The limits of the audit log: the file that is being written and AuditFiles older ones, each of
// AuditMiB (CIS 1.2.18, 1.2.19).
const (
	AuditFiles = 10
	AuditMiB   = 100
)

// CipherSuites are the suites of TLS 1.2 with forward secrecy and authenticated encryption, which
// Go prefers too (CIS 1.2.29). Those of TLS 1.3 cannot be chosen, and need not be.
var CipherSuites = []string{
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
	"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
}

// KubeletCipherSuites returns them with two under their older names, which alone CIS 4.2.12 knows.
func KubeletCipherSuites() []string {
	names := slices.Clone(CipherSuites)
	for i := range names {
		names[i] = strings.Replace(names[i], "CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305", 1)
	}
	return names
}

// MinTLS is the oldest version of TLS that servers speak, without security.tlsMinVersion.
const MinTLS = "VersionTLS12"

// OnlyTLS13 reports whether the servers of the cluster speak no older version than TLS 1.3. Its
// suites cannot be chosen: etcd does not start with suites then, and the kubelet warns of them.
func (p *Plan) OnlyTLS13() bool { return p.Config.Spec.Security.TLSMinVersion == "VersionTLS13" }

// ByTLS is the origin of what security.tlsMinVersion sets.
var ByTLS = Origin{Field: "security.tlsMinVersion"}

func (c *Commands) setTLS(p *Plan) {
	if p.OnlyTLS13() {
		c.set(ByTLS, flags{"tls-min-version": "VersionTLS13"})
		return
	}
	c.set(Kiln, flags{
		"tls-min-version":   MinTLS,
		"tls-cipher-suites": strings.Join(CipherSuites, ","),
	})
}

// Forbidden is a way on the network that pods must not take.
type Forbidden struct {
	Pods  netip.Prefix
	To    netip.Addr
	Ports string // of TCP, as ip rule takes them: 80, or 54-65534
}

// Rule returns the arguments of ip(8) that add a rule against it. Rules come before the routing
// tables and belong to no firewall. systemd-networkd removes rules of others when it starts, unless
// it has the settings of interfaces.Unmanaged already or they are the kernel's (networkd.conf(5)).
func (f Forbidden) Rule() string {
	family := map[bool]string{true: "-4", false: "-6"}[f.To.Is4()]
	return fmt.Sprintf("%s rule add from %s to %s ipproto tcp dport %s priority 100 "+
		"protocol kernel prohibit", family, f.Pods, f.To, f.Ports)
}

// allButDNS are the closed ports of a metadata service. Some answer DNS too, over TCP as well.
const allButDNS = "54-65534"

// Forbidden returns the ways from pods to the metadata service of m's platform, which would hand
// them m's document and the platform's credentials, and to the platform's other services for the
// machine alone. There is none if the platform has no such service, or if the configuration lets
// pods use it.
func (p *Plan) Forbidden(m *Machine) (out []Forbidden) {
	if !m.Joins() || p.Config.Spec.Security.MetadataService != "deny" {
		return nil
	}
	for _, pods := range p.PodSubnets {
		for _, service := range m.Platform.Metadata {
			if service.Is4() == pods.Addr().Is4() {
				out = append(out, Forbidden{pods, service, allButDNS})
			}
		}
		for _, service := range m.Platform.Internal {
			if service.Addr().Is4() == pods.Addr().Is4() {
				port := strconv.Itoa(int(service.Port()))
				out = append(out, Forbidden{pods, service.Addr(), port})
			}
		}
	}
	return out
}
