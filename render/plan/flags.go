package plan

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kiln/render/config"
)

// APIServerFlags is the command line of kube-apiserver on m (kubeadm.md §3.3).
func (p *Plan) APIServerFlags(m *Machine) Commands {
	spec := &p.Config.Spec
	c := commands(APIServer, flags{
		"allow-privileged":                   "true",
		"authorization-mode":                 "Node,RBAC",
		"client-ca-file":                     CACert,
		"enable-admission-plugins":           "NodeRestriction",
		"encryption-provider-config":         Encryption,
		"etcd-cafile":                        EtcdCA,
		"etcd-certfile":                      PKIDir + "/apiserver-etcd-client.crt",
		"etcd-keyfile":                       PKIDir + "/apiserver-etcd-client.key",
		"kubelet-client-certificate":         PKIDir + "/apiserver-kubelet-client.crt",
		"kubelet-client-key":                 PKIDir + "/apiserver-kubelet-client.key",
		"kubelet-preferred-address-types":    "InternalIP,ExternalIP,Hostname",
		"profiling":                          "false",
		"proxy-client-cert-file":             PKIDir + "/front-proxy-client.crt",
		"proxy-client-key-file":              PKIDir + "/front-proxy-client.key",
		"requestheader-allowed-names":        "front-proxy-client",
		"requestheader-client-ca-file":       FrontProxyCA,
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-username-headers":     "X-Remote-User",
		"secure-port":                        strconv.Itoa(APIServerPort),
		"service-account-key-file":           ServicePub,
		"service-account-signing-key-file":   ServiceKey,
		"tls-cert-file":                      PKIDir + "/apiserver.crt",
		"tls-private-key-file":               PKIDir + "/apiserver.key",
	})
	c.set(Kiln, componentTLS)
	c.set(m.ByAddresses(), flags{"advertise-address": m.Addresses[0].String()})
	c.set(p.byEtcd(m), flags{"etcd-servers": strings.Join(p.etcdServers(m), ",")})
	c.set(Origin{Field: "network.dnsDomain"}, flags{"service-account-issuer": "https://kubernetes.default.svc." + p.DNSDomain})
	c.set(Origin{Field: "network.serviceSubnets"}, flags{"service-cluster-ip-range": join(p.ServiceSubnets)})
	if p.Tokens {
		c.set(Kiln, flags{"enable-bootstrap-token-auth": "true"})
	}
	if p.VerifiesKubelets() {
		// Every kubelet has a serving certificate of the cluster's CA, which kubeadm cannot promise (kubeadm#1223).
		// A machine that joined with a token has made its own unless it has to ask for one, and verification would cut off its logs.
		c.set(Kiln, flags{"kubelet-certificate-authority": CACert})
	}
	plugins := "NodeRestriction"
	if p.Hardened() {
		plugins += ",DenyServiceExternalIPs,EventRateLimit"
		c.set(p.ByProfile(), flags{
			"audit-log-maxage":                        "30",
			"audit-log-maxbackup":                     strconv.Itoa(AuditFiles),
			"audit-log-maxsize":                       strconv.Itoa(AuditMiB),
			"audit-log-path":                          AuditLog,
			"audit-policy-file":                       AuditPolicy,
			"authentication-config":                   Authentication,
			"enable-admission-plugins":                plugins,
			"service-account-extend-token-expiration": "false",
		})
	}
	if p.AdmissionControl() {
		c.set(Origin{Field: "security.podSecurity.enforce"}, flags{"admission-control-config-file": Admission})
	}
	if spec.Security.AlwaysPullImages {
		c.set(Origin{Field: "security.alwaysPullImages"}, flags{"enable-admission-plugins": plugins + ",AlwaysPullImages"})
	}
	c.extra("controlPlane.apiServer.extraArgs", spec.ControlPlane.APIServer.ExtraArgs)
	return c
}

// byEtcd is who decides which members of etcd the API server on m uses.
func (p *Plan) byEtcd(m *Machine) Origin {
	switch {
	case p.Config.Spec.ControlPlane.Etcd.External != nil:
		return Origin{Field: "controlPlane.etcd.external.endpoints"}
	case m.EtcdMember:
		return Kiln
	}
	return Origin{Field: "nodes"}
}

// ControllerManagerFlags is the command line of kube-controller-manager (kubeadm.md §3.4). With cni routed every
// machine's pod CIDR is in its document, so that nothing is left to allocate.
func (p *Plan) ControllerManagerFlags() Commands {
	spec := &p.Config.Spec
	c := commands(ControllerManager, flags{
		"authentication-kubeconfig":        ManagerConf,
		"authorization-kubeconfig":         ManagerConf,
		"kubeconfig":                       ManagerConf,
		"bind-address":                     "127.0.0.1",
		"client-ca-file":                   CACert,
		"root-ca-file":                     CACert,
		"controllers":                      "*",
		"leader-elect":                     "true",
		"profiling":                        "false",
		"requestheader-client-ca-file":     FrontProxyCA,
		"service-account-private-key-file": ServiceKey,
		"use-service-account-credentials":  "true",
	})
	c.set(Kiln, componentTLS)
	c.set(Origin{Field: "metadata.name"}, flags{"cluster-name": p.Name})
	c.set(Origin{Field: "network.serviceSubnets"}, flags{"service-cluster-ip-range": join(p.ServiceSubnets)})
	c.set(Origin{Field: "network.podSubnets"}, flags{"cluster-cidr": join(p.PodSubnets)})
	c.set(Origin{Field: "network.cni"}, flags{"allocate-node-cidrs": strconv.FormatBool(!p.Routed())})
	if p.Hardened() {
		c.set(p.ByProfile(), flags{"terminated-pod-gc-threshold": "12500"}) // the default, but CIS 1.3.1 wants it said
	}
	signing := flags{"cluster-signing-cert-file": "", "cluster-signing-key-file": ""}
	if p.OnlineSigning {
		signing = flags{"cluster-signing-cert-file": CACert, "cluster-signing-key-file": CAKey}
	}
	c.set(Origin{Field: "certificates.signing"}, signing)
	if p.Tokens {
		c.set(Kiln, flags{"controllers": "*,token-cleaner-controller"})
	}
	if !p.Routed() {
		for i, s := range p.PodSubnets {
			name := "node-cidr-mask-size"
			if p.DualStack() {
				name += map[bool]string{true: "-ipv4", false: "-ipv6"}[s.Addr().Is4()]
			}
			c.set(Origin{Field: "network.nodeMaskSizes"}, flags{name: strconv.Itoa(p.NodeMasks[i])})
		}
	}
	if p.Release.FlexVolume {
		c.set(p.ByRelease(), flags{"flex-volume-plugin-dir": FlexVolumeDir})
	}
	c.extra("controlPlane.controllerManager.extraArgs", spec.ControlPlane.ControllerManager.ExtraArgs)
	return c
}

// FlexVolumeDir replaces the default folder under /usr, which immutable systems cannot create.
const FlexVolumeDir = KubeletDir + "/volumeplugins"

// SchedulerFlags is the command line of kube-scheduler (kubeadm.md §3.5).
func (p *Plan) SchedulerFlags() Commands {
	c := commands(Scheduler, flags{
		"authentication-kubeconfig": SchedulerConf,
		"authorization-kubeconfig":  SchedulerConf,
		"kubeconfig":                SchedulerConf,
		"bind-address":              "127.0.0.1",
		"leader-elect":              "true",
		"profiling":                 "false",
	})
	c.set(Kiln, componentTLS)
	c.extra("controlPlane.scheduler.extraArgs", p.Config.Spec.ControlPlane.Scheduler.ExtraArgs)
	return c
}

// EtcdFlags is the command line of the etcd member on m (kubeadm.md §3.6). All members are known, so every one gets the
// whole initial cluster; token ties them to this cluster, so that two clusters with equal addresses never mix.
//
// Beyond kubeadm's: 8 GiB, the most that etcd advises (etcd.io: system limits), because at the default 2 GiB a cluster turns
// read-only; time enough for a heartbeat on disks and networks that are shared, as a leader that is lost every minute hurts more than
// one that is missed for two seconds (etcd.io: tuning); members compare their data at every compaction.
func (p *Plan) EtcdFlags(m *Machine, token string) Commands {
	own := m.Addresses[0]
	var members []string
	for _, i := range p.EtcdMembers {
		peer := &p.Machines[i]
		members = append(members, peer.Name+"="+peer.EtcdPeerURL())
	}
	c := commands(Etcd, flags{
		"data-dir":                       EtcdData,
		"listen-metrics-urls":            "http://" + net.JoinHostPort(loopback4.String(), strconv.Itoa(EtcdMetricsPort)), // whatever the family: the hook asks there
		"initial-cluster-state":          "new",
		"initial-cluster-token":          "kiln/" + token, // behind "token=" scanners such as gitleaks take a UUID alone for a secret
		"cert-file":                      EtcdPKIDir + "/server.crt",
		"key-file":                       EtcdPKIDir + "/server.key",
		"trusted-ca-file":                EtcdOwnCA,
		"client-cert-auth":               "true",
		"peer-cert-file":                 EtcdPKIDir + "/peer.crt",
		"peer-key-file":                  EtcdPKIDir + "/peer.key",
		"peer-trusted-ca-file":           EtcdOwnCA,
		"peer-client-cert-auth":          "true",
		"snapshot-count":                 "10000",
		"feature-gates":                  "CompactHashCheck=true,InitialCorruptCheck=true",
		"quota-backend-bytes":            "8589934592",
		"heartbeat-interval":             "250",
		"election-timeout":               "2500",
		"watch-progress-notify-interval": "5s",
		"tls-min-version":                "TLS1.2",
		"cipher-suites":                  strings.Join(CipherSuites, ","),
	})
	c.set(Origin{Field: m.Path + ".name"}, flags{"name": m.Name})
	c.set(m.ByAddresses(), flags{
		"listen-client-urls":          url(loopback(own).String(), EtcdClientPort) + "," + m.EtcdClientURL(),
		"advertise-client-urls":       m.EtcdClientURL(),
		"listen-peer-urls":            m.EtcdPeerURL(),
		"initial-advertise-peer-urls": m.EtcdPeerURL(),
	})
	c.set(Origin{Field: "nodes"}, flags{"initial-cluster": strings.Join(members, ",")})
	c.extra("controlPlane.etcd.extraArgs", p.Config.Spec.ControlPlane.Etcd.ExtraArgs)
	return c
}

// EtcdClientURL is where m's etcd member answers other machines.
func (m *Machine) EtcdClientURL() string { return url(m.Addresses[0].String(), EtcdClientPort) }

// EtcdPeerURL is where m's etcd member answers the other members.
func (m *Machine) EtcdPeerURL() string { return url(m.Addresses[0].String(), EtcdPeerPort) }

// etcdServers are the members that the API server on m uses: its own alone, as kubeadm does, or all of those that are elsewhere.
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
	return []string{url(loopback(m.Addresses[0]).String(), EtcdClientPort)}
}

// KubeletFlags are the kubelet's flags on m: only those that have no field in its configuration. Its name is the
// machine's host name, which its unit sets (CIS 4.2.7). Without a kubeconfig it runs standalone, as on an etcd machine.
func (p *Plan) KubeletFlags(m *Machine) []config.Arg {
	args := flags{"config": KubeletConfig}
	if m.Joins() {
		args["kubeconfig"] = KubeletConf
	}
	if !m.Pool {
		var ips []string
		for _, a := range m.Addresses {
			ips = append(ips, a.String())
		}
		args["node-ip"] = strings.Join(ips, ",")
	}
	if m.Token {
		args["bootstrap-kubeconfig"] = BootstrapConf
	}
	if labels := m.registeredLabels(); len(labels) > 0 {
		args["node-labels"] = strings.Join(labels, ",")
	}
	return args.with(m.Settings.KubeletExtraArgs)
}

// registeredLabels are the labels, key=value and sorted, that m's kubelet gives to its Node: those of the configuration, but a worker's
// roles in a spelling that a kubelet may use. A control plane's it gets from the hook.
func (m *Machine) registeredLabels() (pairs []string) {
	if !m.Joins() {
		return nil
	}
	for key, value := range m.Settings.Labels {
		if role, ok := strings.CutPrefix(key, config.RoleLabel); ok {
			if m.ControlPlane() {
				continue
			}
			key = config.OwnRoleLabel + role
		}
		pairs = append(pairs, key+"="+value)
	}
	slices.Sort(pairs)
	return pairs
}

func loopback(a netip.Addr) netip.Addr {
	if a.Is4() {
		return loopback4
	}
	return loopback6
}

func join(ps []netip.Prefix) string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}
