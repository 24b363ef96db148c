package plan

import (
	"net"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
)

// EtcdFlags returns the command line of the etcd member on m (kubeadm 1.36.3:
// cmd/kubeadm/app/phases/etcd/local.go, getEtcdCommand). All members are known, so every member
// gets the whole initial cluster; token ties them to this cluster, so that two clusters with equal
// addresses never mix.
//
// Five things differ from kubeadm. The quota is 8 GiB, the most that etcd advises (etcd.io: system
// limits), because at the default of 2 GiB a cluster turns read-only. The heartbeat allows for
// disks and networks that are shared, since a leader that is lost every minute hurts more than one
// that is missed for two seconds (etcd.io: tuning); a member alone, which only waits for its own
// election, keeps etcd's times. Members compare their data at every compaction.
// HTTP has a port of its own (EtcdHTTPURL). The flag snapshot-count is left out: 10000 is the
// default of etcd 3.6 and 3.7, and some of their releases warn of the flag.
func (p *Plan) EtcdFlags(m *Machine, token string) Commands {
	own := m.Addresses[0]
	var members []string
	for _, i := range p.EtcdMembers {
		peer := &p.Machines[i]
		members = append(members, peer.Name+"="+peer.EtcdPeerURL())
	}
	// The hook asks for metrics at this address, whatever the cluster's families.
	metrics := net.JoinHostPort(loopback4.String(), strconv.Itoa(target.EtcdMetricsPort))
	local := url(loopback(own).String(), target.EtcdClientPort)
	// "kiln/" stands before the token because scanners such as gitleaks take a UUID alone behind
	// "token=" for a secret.
	c := commands(target.Etcd, flags{
		"data-dir":                       EtcdData,
		"listen-metrics-urls":            "http://" + metrics,
		"initial-cluster-state":          "new",
		"initial-cluster-token":          "kiln/" + token,
		"cert-file":                      EtcdPKIDir + "/server.crt",
		"key-file":                       EtcdPKIDir + "/server.key",
		"trusted-ca-file":                EtcdOwnCA,
		"client-cert-auth":               "true",
		"peer-cert-file":                 EtcdPKIDir + "/peer.crt",
		"peer-key-file":                  EtcdPKIDir + "/peer.key",
		"peer-trusted-ca-file":           EtcdOwnCA,
		"peer-client-cert-auth":          "true",
		"feature-gates":                  "CompactHashCheck=true,InitialCorruptCheck=true",
		"quota-backend-bytes":            "8589934592",
		"watch-progress-notify-interval": "5s",
	})
	if len(members) > 1 {
		c.set(Origin{Field: "nodes"}, flags{
			"heartbeat-interval": "250", "election-timeout": "2500",
		})
	}
	if p.OnlyTLS13() {
		c.set(ByTLS, flags{"tls-min-version": "TLS1.3"})
	} else {
		c.set(Kiln, flags{
			"tls-min-version": "TLS1.2", "cipher-suites": strings.Join(CipherSuites, ","),
		})
	}
	c.set(Origin{Field: m.Path + ".name"}, flags{"name": m.Name})
	c.set(m.ByAddresses(), flags{
		"listen-client-urls":          local + "," + m.EtcdClientURL(),
		"advertise-client-urls":       m.EtcdClientURL(),
		"listen-client-http-urls":     m.EtcdHTTPURL(),
		"listen-peer-urls":            m.EtcdPeerURL(),
		"initial-advertise-peer-urls": m.EtcdPeerURL(),
	})
	c.set(Origin{Field: "nodes"}, flags{"initial-cluster": strings.Join(members, ",")})
	c.extra("controlPlane.etcd.extraArgs", p.Config.Spec.ControlPlane.Etcd.ExtraArgs)
	return c
}

// EtcdClientURL returns where m's etcd member answers other machines.
func (m *Machine) EtcdClientURL() string {
	return url(m.Addresses[0].String(), target.EtcdClientPort)
}

// EtcdHTTPURL returns where m's etcd member answers HTTP with JSON: the hooks of the other members
// and the backup ask there. gRPC has the other port for itself, because etcd lets the watches of an
// API server starve where both share one with TLS (etcd-io/etcd#15402).
func (m *Machine) EtcdHTTPURL() string {
	return url(m.Addresses[0].String(), target.EtcdHTTPPort)
}

// EtcdPeerURL returns where m's etcd member answers the other members.
func (m *Machine) EtcdPeerURL() string {
	return url(m.Addresses[0].String(), target.EtcdPeerPort)
}

// etcdServers returns the members that the API server on m uses: its own alone, as kubeadm does, or
// all members if they are on other machines.
func (p *Plan) etcdServers(m *Machine) []string {
	if ext := p.Config.Spec.ControlPlane.Etcd.External; ext != nil {
		return ext.Endpoints
	}
	if !m.EtcdMember {
		var servers []string
		for _, i := range p.EtcdMembers {
			servers = append(servers, p.Machines[i].EtcdClientURL())
		}
		return servers
	}
	return []string{url(loopback(m.Addresses[0]).String(), target.EtcdClientPort)}
}
