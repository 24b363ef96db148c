package plan

import (
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/target"
)

// The flags are those of kubeadm 1.36.3 unless a comment gives a reason
// (cmd/kubeadm/app/phases/controlplane/manifests.go: getAPIServerCommand,
// getControllerManagerCommand, getSchedulerCommand); docs/kubeadm.md lists the differences.

// APIServerFlags returns the command line of kube-apiserver on m.
func (p *Plan) APIServerFlags(m *Machine) Commands {
	spec := &p.Config.Spec
	c := commands(target.APIServer, flags{
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
		"secure-port":                        strconv.Itoa(target.APIServerPort),
		"service-account-key-file":           ServicePub,
		"service-account-signing-key-file":   ServiceKey,
		"tls-cert-file":                      PKIDir + "/apiserver.crt",
		"tls-private-key-file":               PKIDir + "/apiserver.key",
	})
	c.setTLS(p)
	c.set(m.ByAddresses(), flags{"advertise-address": m.Addresses[0].String()})
	c.set(p.byEtcd(m), flags{"etcd-servers": strings.Join(p.etcdServers(m), ",")})
	c.set(Origin{Field: "network.dnsDomain"}, flags{
		"service-account-issuer": p.Issuer(),
	})
	c.set(Origin{Field: "network.serviceSubnets"}, flags{
		"service-cluster-ip-range": join(p.ServiceSubnets),
	})
	if p.Pools {
		c.set(Kiln, flags{"enable-bootstrap-token-auth": "true"})
	}
	if p.VerifiesKubelets() {
		// Every kubelet has a serving certificate of the cluster's CA, which kubeadm cannot promise
		// (kubeadm#1223). A machine of a pool makes its own unless it has to ask for one, and
		// verification would cut off its logs.
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
		c.set(Origin{Field: "security.podSecurity.enforce"}, flags{
			"admission-control-config-file": Admission,
		})
	}
	if spec.Security.AlwaysPullImages {
		c.set(Origin{Field: "security.alwaysPullImages"}, flags{
			"enable-admission-plugins": plugins + ",AlwaysPullImages",
		})
	}
	c.extra("controlPlane.apiServer.extraArgs", spec.ControlPlane.APIServer.ExtraArgs)
	return c
}

// byEtcd is the origin of the members of etcd that the API server on m uses.
func (p *Plan) byEtcd(m *Machine) Origin {
	switch {
	case p.Config.Spec.ControlPlane.Etcd.External != nil:
		return Origin{Field: "controlPlane.etcd.external.endpoints"}
	case m.EtcdMember:
		return Kiln
	}
	return Origin{Field: "nodes"}
}

// Issuer returns the issuer of the API server's own tokens, if no flag names another.
func (p *Plan) Issuer() string { return "https://kubernetes.default.svc." + p.DNSDomain }

// ControllerManagerFlags returns the command line of kube-controller-manager.
func (p *Plan) ControllerManagerFlags() Commands {
	spec := &p.Config.Spec
	c := commands(target.ControllerManager, flags{
		"authentication-kubeconfig":        ManagerConf,
		"authorization-kubeconfig":         ManagerConf,
		"kubeconfig":                       ManagerConf,
		"bind-address":                     "127.0.0.1",
		"client-ca-file":                   CACert,
		"root-ca-file":                     CACert,
		"controllers":                      "*",
		"leader-elect":                     "true",
		"profiling":                        "false",
		"allocate-node-cidrs":              "true",
		"requestheader-client-ca-file":     FrontProxyCA,
		"service-account-private-key-file": ServiceKey,
		"use-service-account-credentials":  "true",
	})
	c.setTLS(p)
	// Each controller makes its account and asks for a token before it starts, some 120 requests in
	// all. With the default (30, then 20 a second) the last of them start 5 seconds later, and no
	// Node has a range of addresses for pods until then.
	c.set(Kiln, flags{"kube-api-burst": "200"})
	p.setMetrics(&c)
	c.set(Origin{Field: "metadata.name"}, flags{"cluster-name": p.Name})
	c.set(Origin{Field: "network.serviceSubnets"}, flags{
		"service-cluster-ip-range": join(p.ServiceSubnets),
	})
	c.set(Origin{Field: "network.podSubnets"}, flags{"cluster-cidr": join(p.PodSubnets)})
	if p.Hardened() {
		// The value is the default, but CIS 1.3.1 asks for the flag.
		c.set(p.ByProfile(), flags{"terminated-pod-gc-threshold": "12500"})
	}
	signing := flags{"cluster-signing-cert-file": "", "cluster-signing-key-file": ""}
	if p.OnlineSigning {
		signing = flags{"cluster-signing-cert-file": CASigning, "cluster-signing-key-file": CAKey}
	}
	c.set(Origin{Field: "certificates.signing"}, signing)
	lifetime := spec.Certificates.Lifetime
	if p.OnlineSigning && time.Duration(lifetime) != signingDuration {
		c.set(Origin{Field: "certificates.lifetime"}, flags{
			"cluster-signing-duration": lifetime.String(),
		})
	}
	if p.Pools {
		c.set(Kiln, flags{"controllers": "*,token-cleaner-controller"})
	}
	for i, s := range p.PodSubnets {
		name := "node-cidr-mask-size"
		if p.DualStack() {
			name += map[bool]string{true: "-ipv4", false: "-ipv6"}[s.Addr().Is4()]
		}
		c.set(Origin{Field: "network.nodeMaskSizes"}, flags{name: strconv.Itoa(p.NodeMasks[i])})
	}
	if p.Release.FlexVolume {
		c.set(p.ByRelease(), flags{"flex-volume-plugin-dir": FlexVolumeDir})
	}
	extra := spec.ControlPlane.ControllerManager.ExtraArgs
	c.extra("controlPlane.controllerManager.extraArgs", extra)
	return c
}

// signingDuration is the life of certificates that the controller-manager signs by default.
const signingDuration = 8760 * time.Hour

// FlexVolumeDir replaces the default folder below /usr, which immutable systems cannot create.
const FlexVolumeDir = KubeletDir + "/volumeplugins"

// setMetrics has a program listen on all addresses, if somebody may read its metrics.
func (p *Plan) setMetrics(c *Commands) {
	if len(p.Config.Spec.ControlPlane.MetricsReaders) == 0 {
		return
	}
	all := "0.0.0.0"
	if p.Machines[0].Addresses[0].Is6() {
		all = "::"
	}
	c.set(Origin{Field: "controlPlane.metricsReaders"}, flags{"bind-address": all})
}

// SchedulerFlags returns the command line of kube-scheduler.
func (p *Plan) SchedulerFlags() Commands {
	c := commands(target.Scheduler, flags{
		"authentication-kubeconfig": SchedulerConf,
		"authorization-kubeconfig":  SchedulerConf,
		"kubeconfig":                SchedulerConf,
		"bind-address":              "127.0.0.1",
		"leader-elect":              "true",
		"profiling":                 "false",
	})
	c.setTLS(p)
	p.setMetrics(&c)
	c.extra("controlPlane.scheduler.extraArgs", p.Config.Spec.ControlPlane.Scheduler.ExtraArgs)
	return c
}
