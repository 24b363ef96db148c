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

// String names p in messages.
func (p *program) String() string {
	if p.Name == p.pod.Name {
		return "static pod " + p.pod.Name
	}
	return "static pod " + p.pod.Name + ": container " + p.Name
}

// isComponent reports whether p is one of kiln's components and is started by its own command. Only
// then is the meaning of its flags known.
func (p *program) isComponent() bool {
	isOurs := securePorts[p.Name] != "" ||
		slices.Contains([]string{plan.Etcd, plan.KubeVIP, plan.HAProxy}, p.Name)
	return isOurs && p.Name == p.pod.Name &&
		len(p.Command) > 0 && path.Base(p.Command[0]) == p.Name
}

// securePorts holds the default HTTPS port of each component that has the flag --secure-port.
var securePorts = map[string]string{
	plan.APIServer:         strconv.Itoa(plan.APIServerPort),
	plan.ControllerManager: strconv.Itoa(plan.ManagerPort),
	plan.Scheduler:         strconv.Itoa(plan.SchedulerPort),
}

// flag returns the value of a flag, the last one if the flag is repeated. It returns "" if p is nil
// or has no such flag.
func (p *program) flag(name string) string {
	if p == nil {
		return ""
	}
	return lastValue(p.flags[name])
}

// file returns the path on the machine that a flag names. It is empty if p is nil or has no such
// flag.
func (p *program) file(flag string) reference {
	value := p.flag(flag)
	if value == "" {
		return reference{}
	}
	return reference{p.String() + ": --" + flag, p.locate(value).path}
}

// env returns the value of an environment variable, or "" if p does not have it.
func (p *program) env(name string) string {
	i := slices.IndexFunc(p.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	if i < 0 {
		return ""
	}
	return p.Env[i].Value
}

// location is the place to which a path in a container leads.
type location struct {
	mount *corev1.VolumeMount // the innermost mount that the path lies in; nil if there is none
	// root is where the mount begins on the machine, and path is the path there. Both are empty if
	// the volume is not a path of the machine.
	root, path string
}

// locate returns where a path in the container of p leads.
func (p *program) locate(inside string) (l location) {
	for i := range p.VolumeMounts {
		m := &p.VolumeMounts[i]
		if !liesIn(inside, m.MountPath) {
			continue
		}
		if l.mount == nil || len(m.MountPath) > len(l.mount.MountPath) {
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
