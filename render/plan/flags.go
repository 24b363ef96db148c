package plan

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"kiln/render/config"
)

// APIServerFlags is the command line of kube-apiserver on m (kubeadm.md §3.3), sorted by name, the user's flags last.
func (p *Plan) APIServerFlags(m *Machine) []config.Arg {
	plugins := []string{"NodeRestriction"}
	args := flags{
		"advertise-address":                  m.Addresses[0].String(),
		"allow-privileged":                   "true",
		"authorization-mode":                 "Node,RBAC",
		"client-ca-file":                     CACert,
		"encryption-provider-config":         Encryption,
		"etcd-servers":                       strings.Join(p.etcdServers(m), ","),
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
		"service-account-issuer":             "https://kubernetes.default.svc." + p.DNSDomain,
		"service-account-key-file":           ServicePub,
		"service-account-signing-key-file":   ServiceKey,
		"service-cluster-ip-range":           join(p.ServiceSubnets),
		"tls-cert-file":                      PKIDir + "/apiserver.crt",
		"tls-private-key-file":               PKIDir + "/apiserver.key",
	}
	if p.Tokens {
		args["enable-bootstrap-token-auth"] = "true"
	} else {
		// Every kubelet has a serving certificate of the cluster's CA, which kubeadm cannot promise (kubeadm#1223).
		// A machine that joined with a token made its own, and verification would cut off its logs.
		args["kubelet-certificate-authority"] = CACert
	}
	if p.Hardened() {
		plugins = append(plugins, "DenyServiceExternalIPs", "EventRateLimit")
		maps.Copy(args, flags{
			"audit-log-maxage":                        "30",
			"audit-log-maxbackup":                     strconv.Itoa(AuditFiles),
			"audit-log-maxsize":                       strconv.Itoa(AuditMiB),
			"audit-log-path":                          AuditLog,
			"audit-policy-file":                       AuditPolicy,
			"authentication-config":                   Authentication,
			"service-account-extend-token-expiration": "false",
		})
	}
	if p.AdmissionControl() {
		args["admission-control-config-file"] = Admission
	}
	if p.Config.Spec.Security.AlwaysPullImages {
		plugins = append(plugins, "AlwaysPullImages")
	}
	args["enable-admission-plugins"] = strings.Join(plugins, ",")
	maps.Copy(args, componentTLS)
	return args.with(p.Config.Spec.ControlPlane.APIServer.ExtraArgs)
}

// ControllerManagerFlags is the command line of kube-controller-manager (kubeadm.md §3.4). With cni routed every
// machine's pod CIDR is in its document, so that nothing is left to allocate.
func (p *Plan) ControllerManagerFlags() []config.Arg {
	args := flags{
		"authentication-kubeconfig":        ManagerConf,
		"authorization-kubeconfig":         ManagerConf,
		"kubeconfig":                       ManagerConf,
		"bind-address":                     "127.0.0.1",
		"client-ca-file":                   CACert,
		"root-ca-file":                     CACert,
		"cluster-name":                     p.Name,
		"controllers":                      "*",
		"leader-elect":                     "true",
		"profiling":                        "false",
		"requestheader-client-ca-file":     FrontProxyCA,
		"service-account-private-key-file": ServiceKey,
		"use-service-account-credentials":  "true",
		"service-cluster-ip-range":         join(p.ServiceSubnets),
		"cluster-cidr":                     join(p.PodSubnets),
		"allocate-node-cidrs":              strconv.FormatBool(!p.Routed()),
	}
	maps.Copy(args, componentTLS)
	if p.Hardened() {
		args["terminated-pod-gc-threshold"] = "12500" // the default, but CIS 1.3.1 wants it said
	}
	if p.OnlineSigning {
		args["cluster-signing-cert-file"] = CACert
		args["cluster-signing-key-file"] = CAKey
	} else {
		args["cluster-signing-cert-file"] = ""
		args["cluster-signing-key-file"] = ""
	}
	if p.Tokens {
		args["controllers"] = "*,token-cleaner-controller"
	}
	if !p.Routed() {
		for i, s := range p.PodSubnets {
			name := "node-cidr-mask-size"
			if p.DualStack() {
				name += map[bool]string{true: "-ipv4", false: "-ipv6"}[s.Addr().Is4()]
			}
			args[name] = strconv.Itoa(p.NodeMasks[i])
		}
	}
	if p.Release.FlexVolume {
		args["flex-volume-plugin-dir"] = FlexVolumeDir
	}
	return args.with(p.Config.Spec.ControlPlane.ControllerManager.ExtraArgs)
}

// FlexVolumeDir replaces the default folder under /usr, which immutable systems cannot create.
const FlexVolumeDir = KubeletDir + "/volumeplugins"

// SchedulerFlags is the command line of kube-scheduler (kubeadm.md §3.5).
func (p *Plan) SchedulerFlags() []config.Arg {
	args := flags{
		"authentication-kubeconfig": SchedulerConf,
		"authorization-kubeconfig":  SchedulerConf,
		"kubeconfig":                SchedulerConf,
		"bind-address":              "127.0.0.1",
		"leader-elect":              "true",
		"profiling":                 "false",
	}
	maps.Copy(args, componentTLS)
	return args.with(p.Config.Spec.ControlPlane.Scheduler.ExtraArgs)
}

// EtcdFlags is the command line of the etcd member on m (kubeadm.md §3.6). All members are known, so every one gets the
// whole initial cluster; token ties them to this cluster, so that two clusters with equal addresses never mix.
//
// Beyond kubeadm's: 8 GiB, the most that etcd advises (etcd.io: system limits), because at the default 2 GiB a cluster turns
// read-only; time enough for a heartbeat on disks and networks that are shared, as a leader that is lost every minute hurts more than
// one that is missed for two seconds (etcd.io: tuning); members compare their data at every compaction.
func (p *Plan) EtcdFlags(m *Machine, token string) []config.Arg {
	own := m.Addresses[0]
	var members []string
	for _, i := range p.EtcdMembers {
		peer := &p.Machines[i]
		members = append(members, peer.Name+"="+peer.EtcdPeerURL())
	}
	return flags{
		"name":                           m.Name,
		"data-dir":                       EtcdData,
		"listen-client-urls":             url(loopback(own).String(), EtcdClientPort) + "," + m.EtcdClientURL(),
		"advertise-client-urls":          m.EtcdClientURL(),
		"listen-peer-urls":               m.EtcdPeerURL(),
		"initial-advertise-peer-urls":    m.EtcdPeerURL(),
		"listen-metrics-urls":            "http://" + net.JoinHostPort(loopback4.String(), strconv.Itoa(EtcdMetricsPort)), // whatever the family: the hook asks there
		"initial-cluster":                strings.Join(members, ","),
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
	}.with(p.Config.Spec.ControlPlane.Etcd.ExtraArgs)
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

// flags are our values by name.
type flags map[string]string

// with returns the flags sorted by name, then the user's in their order. A name that the user gives replaces ours; one
// that the user repeats stays repeated.
func (f flags) with(extra []config.Arg) []config.Arg {
	args := make([]config.Arg, 0, len(f)+len(extra))
	for name, value := range f {
		if !slices.ContainsFunc(extra, func(a config.Arg) bool { return a.Name == name }) {
			args = append(args, config.Arg{Name: name, Value: value})
		}
	}
	slices.SortFunc(args, func(a, b config.Arg) int { return cmp.Compare(a.Name, b.Name) })
	return append(args, extra...)
}

// Command returns the whole command of a program with its flags, each as --name=value.
func Command(program string, args []config.Arg) []string {
	out := []string{program}
	for _, a := range args {
		out = append(out, fmt.Sprintf("--%s=%s", a.Name, a.Value))
	}
	return out
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
