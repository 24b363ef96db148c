package judges

import (
	"fmt"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"kiln.dev/kiln/test/judges/machine"
)

// hygieneJudge holds the pods that every cluster comes with to the rules that reviewers of pods
// apply. A pod may break a rule only if hygieneExceptions names it, and each pod in
// hygieneExceptions must break its rule.
func hygieneJudge(cluster []*Machine) (findings []string) {
	for _, m := range cluster {
		for _, w := range m.workloads() {
			for i := range w.spec.Containers {
				for _, rule := range hygieneRules {
					why, excepted := w.exception(rule.name)
					switch met := rule.met(w, &w.spec.Containers[i]); {
					case !met && !excepted:
						findings = append(findings, fmt.Sprintf(
							"%s: %s: %s: want %s",
							m.Name, w.file, rule.name, rule.want,
						))
					case met && excepted:
						findings = append(findings, fmt.Sprintf(
							"%s: %s: %s: the exception is not needed: %s",
							m.Name, w.file, rule.name, why,
						))
					}
				}
			}
		}
	}
	return findings
}

// workload is a static pod, or a DaemonSet or Deployment of the cluster's own namespaces.
type workload struct {
	file, kind, namespace, name string
	spec                        corev1.PodSpec
}

// workloads returns the machine's, static pods first.
func (m *Machine) workloads() (out []*workload) {
	for _, f := range append(m.Under(manifestsDir), m.Under(objectsDir)...) {
		object := machine.Read[struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
		}](f)
		if !slices.Contains([]string{"kube-system", "kube-flannel"}, object.Metadata.Namespace) {
			continue
		}
		w := &workload{file: f.Path, kind: object.Kind,
			namespace: object.Metadata.Namespace, name: object.Metadata.Name}
		switch object.Kind {
		case "Pod":
			w.spec = machine.Read[corev1.Pod](f).Spec
		case "DaemonSet":
			w.spec = machine.Read[appsv1.DaemonSet](f).Spec.Template.Spec
		case "Deployment":
			w.spec = machine.Read[appsv1.Deployment](f).Spec.Template.Spec
		}
		if len(w.spec.Containers) > 0 {
			out = append(out, w)
		}
	}
	return out
}

// hygieneRule is one rule for a container.
type hygieneRule struct {
	name, want string
	met        func(*workload, *corev1.Container) bool
}

var hygieneRules = []hygieneRule{
	{"cpu-request", "a request, so that it is not starved",
		func(_ *workload, c *corev1.Container) bool {
			return !c.Resources.Requests.Cpu().IsZero()
		}},
	{"memory-request", "a request, so that it is not the first to be evicted",
		func(_ *workload, c *corev1.Container) bool {
			return !c.Resources.Requests.Memory().IsZero()
		}},
	{"memory-limit", "a limit, so that it harms nobody else",
		func(_ *workload, c *corev1.Container) bool {
			return !c.Resources.Limits.Memory().IsZero()
		}},
	{"no-cpu-limit", "none: it slows down without need",
		func(_ *workload, c *corev1.Container) bool {
			return c.Resources.Limits.Cpu().IsZero()
		}},
	{"liveness-probe", "one", func(_ *workload, c *corev1.Container) bool {
		return c.LivenessProbe != nil
	}},
	{"readiness-probe", "one", func(_ *workload, c *corev1.Container) bool {
		return c.ReadinessProbe != nil
	}},
	{"startup-probe", "one for what must start on slow machines too",
		func(w *workload, c *corev1.Container) bool {
			return w.kind != "Pod" || c.StartupProbe != nil
		}},
	{"probes-differ", "a liveness probe with more patience than the readiness probe",
		func(_ *workload, c *corev1.Container) bool {
			return c.LivenessProbe == nil || c.ReadinessProbe == nil ||
				patience(c.LivenessProbe) > patience(c.ReadinessProbe)
		}},
	{"seccomp", "the profile RuntimeDefault", func(w *workload, c *corev1.Container) bool {
		profile := w.podSecurity().SeccompProfile
		if security(c).SeccompProfile != nil {
			profile = security(c).SeccompProfile
		}
		return profile != nil && profile.Type == corev1.SeccompProfileTypeRuntimeDefault
	}},
	{"privileged", "none", func(_ *workload, c *corev1.Container) bool {
		return security(c).Privileged == nil || !*security(c).Privileged
	}},
	{"no-escalation", "allowPrivilegeEscalation: false",
		func(_ *workload, c *corev1.Container) bool {
			return security(c).AllowPrivilegeEscalation != nil &&
				!*security(c).AllowPrivilegeEscalation
		}},
	{"drop-capabilities", "to drop ALL", func(_ *workload, c *corev1.Container) bool {
		return dropsAll(c)
	}},
	{"add-capabilities", "none", func(_ *workload, c *corev1.Container) bool {
		return security(c).Capabilities == nil || len(security(c).Capabilities.Add) == 0
	}},
	{"read-only-root", "readOnlyRootFilesystem: true", func(_ *workload, c *corev1.Container) bool {
		return security(c).ReadOnlyRootFilesystem != nil && *security(c).ReadOnlyRootFilesystem
	}},
	{"non-root", "runAsNonRoot: true and a user that is not root",
		func(w *workload, c *corev1.Container) bool {
			nonRoot, user := w.podSecurity().RunAsNonRoot, w.podSecurity().RunAsUser
			return nonRoot != nil && *nonRoot && user != nil && *user != 0 &&
				security(c).RunAsUser == nil
		}},
	{"host-network", "none", func(w *workload, _ *corev1.Container) bool {
		return !w.spec.HostNetwork
	}},
	{"host-processes", "none of the host's", func(w *workload, _ *corev1.Container) bool {
		return !w.spec.HostPID && !w.spec.HostIPC
	}},
	{"host-paths", "none but those in hostPaths, each with a type",
		func(w *workload, _ *corev1.Container) bool {
			return !slices.ContainsFunc(w.spec.Volumes, func(v corev1.Volume) bool {
				return v.HostPath != nil && (v.HostPath.Type == nil || *v.HostPath.Type == "" ||
					!slices.Contains(hostPaths[w.name], v.HostPath.Path))
			})
		}},
	{"writable-paths", "nothing of the host's writable but what is in writablePaths",
		func(w *workload, c *corev1.Container) bool {
			return !slices.ContainsFunc(c.VolumeMounts, func(mount corev1.VolumeMount) bool {
				i := slices.IndexFunc(w.spec.Volumes, func(v corev1.Volume) bool {
					return v.Name == mount.Name && v.HostPath != nil
				})
				return i >= 0 && !mount.ReadOnly &&
					!slices.Contains(writablePaths, w.spec.Volumes[i].HostPath.Path)
			})
		}},
	{"priority", "one of the classes of the system", func(w *workload, _ *corev1.Container) bool {
		return strings.HasPrefix(w.spec.PriorityClassName, "system-")
	}},
	{"pull-policy", "IfNotPresent, so that it starts without the registry",
		func(_ *workload, c *corev1.Container) bool {
			return c.ImagePullPolicy == corev1.PullIfNotPresent
		}},
	{
		"pinned-image", "a tag other than latest, or a digest",
		func(_ *workload, c *corev1.Container) bool { return pinned(c.Image) },
	},
	{"spread", "replicas that avoid each other's machine",
		func(w *workload, _ *corev1.Container) bool {
			return w.kind != "Deployment" ||
				w.spec.Affinity != nil && w.spec.Affinity.PodAntiAffinity != nil ||
				len(w.spec.TopologySpreadConstraints) > 0
		}},
}

// hostPaths are the paths of the host that each pod may mount. Pods that verify other servers may
// also mount caCertificates.
var hostPaths = map[string][]string{
	"etcd": {"/var/lib/etcd", "/etc/etcd/pki"},
	"kube-apiserver": append([]string{
		"/etc/kubernetes/pki", "/etc/kubernetes/apiserver", "/var/log/kubernetes",
	}, caCertificates...),
	"kube-controller-manager": append([]string{
		"/etc/kubernetes/pki", "/etc/kubernetes/controller-manager.conf",
		"/var/lib/kubelet/volumeplugins",
	}, caCertificates...),
	"kube-scheduler": {
		"/etc/kubernetes/scheduler.conf", "/etc/kubernetes/pki/ca.crt",
		"/etc/kubernetes/pki/scheduler.crt", "/etc/kubernetes/pki/scheduler.key",
	},
	"kube-proxy": {"/run/xtables.lock", "/lib/modules"},
	"kube-vip": {
		"/etc/kubernetes/kube-vip.conf", "/etc/kubernetes/pki/ca.crt",
		"/etc/kubernetes/pki/kube-vip.crt", "/etc/kubernetes/pki/kube-vip.key",
	},
	"haproxy": {"/etc/kubernetes/haproxy.cfg", "/etc/kubernetes/pki/ca.crt"},
	"kube-flannel-ds": {
		"/run/flannel", "/etc/cni/net.d", "/run/xtables.lock",
		"/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni", // one of them, by the system
	},
}

// caCertificates are where systems keep the world's CA certificates, and no keys.
var caCertificates = []string{
	"/etc/ca-certificates", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
	"/etc/pki/trust", "/etc/ssl/certs",
	"/usr/local/share/ca-certificates", "/usr/share/ca-certificates", "/var/lib/ca-certificates",
}

// writablePaths are what they may write to.
var writablePaths = []string{
	"/var/lib/etcd", "/var/log/kubernetes", "/run/xtables.lock", "/var/lib/kubelet/volumeplugins",
	"/run/flannel", "/etc/cni/net.d", "/opt/cni/bin", "/usr/lib/cni", "/usr/libexec/cni",
}

// patience is for how many seconds a probe may fail.
func patience(p *corev1.Probe) int32 { return max(p.FailureThreshold, 3) * max(p.PeriodSeconds, 1) }

func (w *workload) podSecurity() corev1.PodSecurityContext {
	if w.spec.SecurityContext == nil {
		return corev1.PodSecurityContext{}
	}
	return *w.spec.SecurityContext
}

func security(c *corev1.Container) corev1.SecurityContext {
	if c.SecurityContext == nil {
		return corev1.SecurityContext{}
	}
	return *c.SecurityContext
}

func dropsAll(c *corev1.Container) bool {
	return security(c).Capabilities != nil && slices.Contains(security(c).Capabilities.Drop, "ALL")
}

// pinned reports whether an image's reference has a digest, or a tag that does not move.
func pinned(image string) bool {
	if strings.Contains(image, "@sha256:") {
		return true
	}
	_, tag, ok := strings.Cut(path.Base(image), ":")
	return ok && tag != "" && tag != "latest"
}

// hygieneExceptions are the rules that workloads break, and why that is right.
var hygieneExceptions = []struct {
	rules     string // separated by spaces
	workloads string
	why       string
}{
	{
		"host-network",
		"etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kube-vip haproxy " +
			"kube-flannel-ds",
		"they are the network's foundation",
	},
	{
		"memory-limit", "etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy " +
			"kube-flannel-ds",
		"what they need grows with the cluster; the node's last resort is not to kill them",
	},
	{
		"memory-request", "kube-apiserver kube-controller-manager kube-scheduler",
		"kubeadm gives none; their priority keeps them from eviction",
	},
	{"readiness-probe", "kube-controller-manager", "it has no /readyz"},
	{
		"non-root", "kube-apiserver kube-controller-manager kube-scheduler",
		"their keys are root's, 0600, as CIS 1.1.19 has it",
	},
	{
		"non-root", "coredns",
		"its image names a user that is not root; which one is the image's matter",
	},
	{"add-capabilities", "coredns", "it serves port 53"},
	{
		"add-capabilities non-root", "kube-flannel-ds",
		"it sets devices, routes and rules, and files of root's for containerd",
	},
	{
		"add-capabilities non-root", "kube-vip",
		"it sets an address of the machine and says so by ARP, with capabilities that only " +
			"root's processes are given",
	},
	{
		"liveness-probe readiness-probe", "kube-proxy",
		"kubeadm gives none; nothing is sent to it by its readiness",
	},
	{
		"privileged seccomp no-escalation drop-capabilities read-only-root non-root",
		"kube-proxy", "it sets up the host's network",
	},
}

// exception returns why the workload may break a rule.
func (w *workload) exception(rule string) (why string, ok bool) {
	for _, e := range hygieneExceptions {
		if slices.Contains(strings.Fields(e.rules), rule) &&
			slices.Contains(strings.Fields(e.workloads), w.name) {
			return e.why, true
		}
	}
	return "", false
}
