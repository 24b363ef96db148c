package manifests

import (
	"slices"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// Kubelet returns the kubelet configuration of m, with the fields that the user set in its layers.
func Kubelet(p *plan.Plan, m *plan.Machine) Source {
	own := kubeletPatch()
	own.set(m.BySystem(m.Settings.Profile.ResolvConf != ""),
		object{"resolvConf": m.System.ResolvConf})
	if m.Joins() {
		if p.OnlyTLS13() {
			own.set(plan.ByTLS, object{"tlsMinVersion": "VersionTLS13"})
		} else {
			own.set(plan.Kiln, object{"tlsCipherSuites": plan.KubeletCipherSuites(),
				"tlsMinVersion": plan.MinTLS})
		}
		own.set(plan.Origin{Field: "network.serviceSubnets"},
			object{"clusterDNS": list{p.DNSAddress.String()}})
		own.set(plan.Origin{Field: "network.dnsDomain"}, object{"clusterDomain": p.DNSDomain})
	}
	if p.Hardened() {
		own.set(p.ByProfile(), object{"podPidsLimit": podPidsLimit, "protectKernelDefaults": true,
			"seccompDefault": true})
	}
	if !setsAny(m.Settings.Kubelet, "shutdownGracePeriod", "shutdownGracePeriodCriticalPods",
		"shutdownGracePeriodByPodPriority") {
		own.set(plan.Kiln, object{"shutdownGracePeriod": "60s",
			"shutdownGracePeriodCriticalPods": "20s"})
	}
	if m.Joins() {
		own.set(plan.Kiln, object{"systemReserved": systemReserved})
	}
	// An API server ends when its etcd has no quorum yet. With the usual pauses between two starts,
	// of up to five minutes, it would be the last to notice that the other members have come. With
	// pauses of three seconds its starts take the processors from an etcd that still gets its data:
	// a wiped member of three was Ready after 38 seconds in place of 26, on two processors.
	if (m.ControlPlane() || m.EtcdMember) && m.KubeletMinor >= target.ContainerBackOff {
		own.set(plan.Kiln, object{"crashLoopBackOff": object{"maxContainerRestartPeriod": "20s"}})
	}
	if !setsAny(m.Settings.Kubelet, "serializeImagePulls", "maxParallelImagePulls") {
		own.set(plan.Kiln, object{"serializeImagePulls": false, "maxParallelImagePulls": 3})
	}
	if p.ReadsPods(m) {
		own.set(plan.Kiln, object{"staticPodPath": plan.ManifestsDir})
	}
	if m.Joins() && !m.Pool {
		own.set(plan.Kiln, object{"tlsCertFile": plan.KubeletPKI + "/kubelet.crt",
			"tlsPrivateKeyFile": plan.KubeletPKI + "/kubelet.key"})
	}
	if p.RequestsServing(m) {
		own.set(plan.Origin{Field: "certificates.kubeletServing"},
			object{"serverTLSBootstrap": true})
	}
	if !p.OnlineSigning {
		own.set(plan.Origin{Field: "certificates.signing"}, object{"rotateCertificates": false})
	}
	// The controller-manager of that minor has the same folder. Kubelets that are older than the
	// table have it too.
	if r, known := target.ReleaseOf(m.KubeletMinor); !known || r.FlexVolume {
		own.set(p.ByRelease(), object{"volumePluginDir": plan.FlexVolumeDir})
	}
	if m.System.ReadOnlyUsr {
		own.set(m.BySystem(m.Settings.Profile.ReadOnlyUsr),
			object{"volumePluginDir": plan.FlexVolumeDir})
	}
	if m.Joins() {
		registerTaints(own, m.Settings.Layers())
	}
	src := Source{Base: base("kubelet.yaml"), Patches: []*Patch{own}}
	if len(m.Settings.Kubelet) > 0 {
		user := kubeletPatch()
		for _, layer := range m.Settings.Layers() {
			if layer.Sets("kubelet") {
				user.replace(plan.Origin{Field: layer.KubeletAt()}, layer.Kubelet)
			}
		}
		src.Patches = append(src.Patches, user)
	}
	if !m.Joins() {
		alone := kubeletPatch()
		alone.set(plan.Origin{Field: m.Path + ".role", By: "a kubelet without an API server"},
			standalone)
		src.Patches = append(src.Patches, alone)
	}
	return src
}

// registerTaints sets the taints of each layer over those of the wider ones. A Node that registers
// with its taints has no moment in which a control plane takes pods of everybody (kubeadm#1621).
func registerTaints(own *Patch, layers []*config.Effective) {
	set := false
	for _, layer := range layers {
		if !layer.Sets("taints") {
			continue
		}
		var out any // null in a patch removes what a wider layer set
		if taints := *layer.Taints; len(taints) > 0 {
			var all list
			for _, t := range taints {
				all = append(all, taint(t))
			}
			out = all
		} else if !set {
			continue
		}
		set = true
		own.set(plan.Origin{Field: layer.At("taints")}, object{"registerWithTaints": out})
	}
}

// standalone holds the settings of a kubelet without an API server (kubernetes.io: "Running Kubelet
// in Standalone Mode"). There is no API server to ask who a client is and what it may do, and the
// only other authorization mode allows everything (cmd/kubelet/app/auth.go, read at 1.36). So the
// kubelet's server is off, whatever the settings of all machines say. The health endpoint on
// loopback is another server and stays on.
var standalone = object{
	"authentication": object{
		"webhook": object{"enabled": false},
		"x509":    object{"clientCAFile": nil},
	},
	"authorization":      object{"mode": "AlwaysAllow"},
	"enableServer":       false,
	"registerNode":       false,
	"rotateCertificates": false,
}

// setsAny reports whether the user has set one of these fields, which kiln then leaves alone.
func setsAny(fields map[string]any, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		_, ok := fields[name]
		return ok
	})
}

// systemReserved is what pods do not get of a machine: without it the scheduler gives the whole
// machine to pods, and the kubelet, containerd and sshd starve with them. kubeadm reserves nothing.
// The amounts are those of KubeKey (https://github.com/kubesphere/kubekey), which reserves them
// twice: for the system and for Kubernetes.
var systemReserved = object{"cpu": "200m", "memory": "250Mi"}

// podPidsLimit keeps one pod from taking all process IDs of its machine (CIS 4.2.13).
const podPidsLimit = 4096

func kubeletPatch() *Patch {
	return newPatch("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration", "", "kubelet")
}

func taint(t config.Taint) object {
	o := object{"key": t.Key, "effect": t.Effect}
	if t.Value != "" {
		o["value"] = t.Value
	}
	return o
}

// NodeLabels returns what a control plane applies to its own Node: no kubelet may set these labels.
func NodeLabels(name string) []byte {
	return marshal(object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": name, "labels": object{
			"node-role.kubernetes.io/control-plane":                   "",
			"node.kubernetes.io/exclude-from-external-load-balancers": "",
		}},
	})
}

// WithoutMetadata returns a configuration without the metadata that the patch engine needs.
func WithoutMetadata(doc []byte) ([]byte, error) {
	var o object
	if err := yaml.Unmarshal(doc, &o); err != nil {
		return nil, err
	}
	delete(o, "metadata")
	return marshal(o), nil
}
