package check

import (
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kiln/render/plan"
)

// program is one container of a static pod.
type program struct {
	corev1.Container
	pod   *corev1.Pod
	flags map[string][]string
}

// isComponent says that p is a component of ours, whose flags mean what Check thinks.
func (p *program) isComponent() bool {
	ours := slices.Contains([]string{plan.Etcd, plan.KubeVIP, plan.HAProxy}, p.Name) || securePorts[p.Name] != ""
	return ours && p.Name == p.pod.Name && len(p.Command) > 0 && path.Base(p.Command[0]) == p.Name
}

// securePorts are the ports on which our components speak HTTPS, by default.
var securePorts = map[string]string{
	plan.APIServer:         strconv.Itoa(plan.APIServerPort),
	plan.ControllerManager: strconv.Itoa(plan.ManagerPort),
	plan.Scheduler:         strconv.Itoa(plan.SchedulerPort),
}

// String names p in messages.
func (p *program) String() string {
	if p.Name == p.pod.Name {
		return "static pod " + p.pod.Name
	}
	return "static pod " + p.pod.Name + ": container " + p.Name
}

// flag returns the value of a flag, the last if it is repeated; "" if p is nil or does not have it.
func (p *program) flag(name string) string {
	if p == nil {
		return ""
	}
	return lastValue(p.flags[name])
}

func lastValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// env returns the value of an environment variable of p, "" if it has none.
func (p *program) env(name string) string {
	i := slices.IndexFunc(p.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	if i < 0 {
		return ""
	}
	return p.Env[i].Value
}

// file returns the path on the machine that a flag names.
func (p *program) file(flag string) reference {
	value := p.flag(flag)
	if value == "" {
		return reference{}
	}
	return reference{p.String() + ": --" + flag, p.locate(value).path}
}

// location is where a path of a container leads: the mount that it lies in, where that begins on the machine, and the
// path there. Both are empty if the volume is not the machine's.
type location struct {
	mount      *corev1.VolumeMount
	root, path string
}

// locate returns where a path of p leads.
func (p *program) locate(inside string) (l location) {
	for i := range p.VolumeMounts {
		if m := &p.VolumeMounts[i]; liesIn(inside, m.MountPath) && (l.mount == nil || len(m.MountPath) > len(l.mount.MountPath)) {
			l.mount = m
		}
	}
	if l.mount == nil {
		return l
	}
	for _, v := range p.pod.Spec.Volumes {
		if v.Name == l.mount.Name && v.HostPath != nil {
			l.root = path.Join(v.HostPath.Path, l.mount.SubPath)
			l.path = path.Join(l.root, strings.TrimPrefix(inside, path.Clean(l.mount.MountPath)))
		}
	}
	return l
}
