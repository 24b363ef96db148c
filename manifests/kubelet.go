package manifests

import (
	"sigs.k8s.io/yaml"

	"kiln/render/config"
	"kiln/render/plan"
)

// Kubelet returns the kubelet configuration of m, with the fields that the user set in its layers.
func Kubelet(p *plan.Plan, m *plan.Machine) Source {
	own := object{"resolvConf": m.System.ResolvConf}
	if m.Joins() {
		own["clusterDNS"] = list{p.DNSAddress.String()}
		own["clusterDomain"] = p.DNSDomain
		own["tlsCipherSuites"] = plan.KubeletCipherSuites()
		own["tlsMinVersion"] = plan.MinTLS
	}
	if p.Hardened() {
		own["podPidsLimit"] = podPidsLimit
		own["protectKernelDefaults"] = true
		own["seccompDefault"] = true
	}
	if !setsShutdown(m.Settings.Kubelet) {
		own["shutdownGracePeriod"] = "60s"
		own["shutdownGracePeriodCriticalPods"] = "20s"
	}
	if (m.ControlPlane() || m.EtcdMember) && m.KubeletMinor >= shorterBackOff {
		own["crashLoopBackOff"] = object{"maxContainerRestartPeriod": "20s"}
	}
	if p.StaticPods(m) {
		own["staticPodPath"] = plan.ManifestsDir
	}
	if m.Joins() && !m.Token {
		own["tlsCertFile"] = plan.KubeletPKI + "/kubelet.crt"
		own["tlsPrivateKeyFile"] = plan.KubeletPKI + "/kubelet.key"
	}
	if !p.OnlineSigning {
		own["rotateCertificates"] = false
	}
	if m.System.ReadOnlyUsr || p.Release.FlexVolume { // where the controller-manager looks, too
		own["volumePluginDir"] = plan.FlexVolumeDir
	}
	// Taints at registration close the window in which a control plane takes anybody's pods (kubeadm#1621).
	if taints := m.Settings.Taints; m.Joins() && taints != nil && len(*taints) > 0 {
		var out list
		for _, t := range *taints {
			out = append(out, taint(t))
		}
		own["registerWithTaints"] = out
	}
	src := Source{Base: base("kubelet.yaml"), Patches: []string{kubeletPatch(own)}}
	if len(m.Settings.Kubelet) > 0 {
		src.Patches = append(src.Patches, kubeletPatch(m.Settings.Kubelet))
	}
	if !m.Joins() {
		src.Patches = append(src.Patches, kubeletPatch(standalone))
	}
	return src
}

// standalone is what a kubelet without an API server needs (kubernetes.io: "Running Kubelet in Standalone Mode"). Nobody can be
// asked who a client is or what it may do, and the only mode left beside Webhook allows all (cmd/kubelet/app/auth.go, read at
// 1.36): so the server is off, whatever the settings of all machines say. Its health on loopback is another one.
var standalone = object{
	"authentication":     object{"webhook": object{"enabled": false}, "x509": object{"clientCAFile": nil}},
	"authorization":      object{"mode": "AlwaysAllow"},
	"enableServer":       false,
	"registerNode":       false,
	"rotateCertificates": false,
}

// setsShutdown says that the user has an order of his own for pods on a machine that is shut down: the fields exclude each other.
func setsShutdown(fields map[string]any) bool {
	for _, name := range []string{"shutdownGracePeriod", "shutdownGracePeriodCriticalPods", "shutdownGracePeriodByPodPriority"} {
		if _, ok := fields[name]; ok {
			return true
		}
	}
	return false
}

// shorterBackOff is the first minor whose kubelet lets the longest pause between two starts of a container be set (KEP-4603, beta). An API
// server ends when its etcd has no quorum yet; with the usual pauses, of up to five minutes, it would be the last to notice that the others
// have come.
const shorterBackOff = 35

// podPidsLimit keeps one pod from taking all process ids of its machine (CIS 4.2.13).
const podPidsLimit = 4096

func kubeletPatch(fields object) string {
	return patch("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration", "", "kubelet", fields)
}

func taint(t config.Taint) object {
	o := object{"key": t.Key, "effect": t.Effect}
	if t.Value != "" {
		o["value"] = t.Value
	}
	return o
}

// NodeLabels returns what a control plane applies to its own Node: the labels that no kubelet may set itself.
func NodeLabels(name string) []byte {
	return marshal(object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{"name": name, "labels": object{
			"node-role.kubernetes.io/control-plane":                   "",
			"node.kubernetes.io/exclude-from-external-load-balancers": "",
		}},
	})
}

// WithoutMetadata returns a configuration object without the metadata that the patch engine needs and the kubelet's type
// does not have.
func WithoutMetadata(doc []byte) ([]byte, error) {
	var o object
	if err := yaml.Unmarshal(doc, &o); err != nil {
		return nil, err
	}
	delete(o, "metadata")
	return marshal(o), nil
}
