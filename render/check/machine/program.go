package machine

import (
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/facts/target"
)

// Reference is a path on the machine, and the place that names it, for messages. The path is empty
// if nothing is named, or if the named path is not one of the machine's.
type Reference struct{ Source, Path string }

// Program is one container of a static pod.
type Program struct {
	corev1.Container
	Pod   *corev1.Pod
	Flags map[string][]string // the values of each flag, in order
}

// ReadPod returns the containers of a static pod in YAML, the init containers first.
func ReadPod(manifest []byte) (programs []*Program, err error) {
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(manifest, pod); err != nil {
		return nil, err
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		flags := commandFlags(slices.Concat(container.Command, container.Args))
		programs = append(programs, &Program{container, pod, flags})
	}
	return programs, nil
}

// String names p in messages.
func (p *Program) String() string {
	if p.Name == p.Pod.Name {
		return "static pod " + p.Pod.Name
	}
	return "static pod " + p.Pod.Name + ": container " + p.Name
}

// IsComponent reports whether p is one of kiln's by its own command, so that its flags are known.
func (p *Program) IsComponent() bool {
	isOurs := securePorts[p.Name] != "" ||
		slices.Contains([]string{target.Etcd, target.KubeVIP, target.HAProxy}, p.Name)
	return isOurs && p.Name == p.Pod.Name &&
		len(p.Command) > 0 && path.Base(p.Command[0]) == p.Name
}

// SecurePort returns the default port of a component that has --secure-port, else "".
func SecurePort(component string) string { return securePorts[component] }

var securePorts = map[string]string{
	target.APIServer:         strconv.Itoa(target.APIServerPort),
	target.ControllerManager: strconv.Itoa(target.ManagerPort),
	target.Scheduler:         strconv.Itoa(target.SchedulerPort),
}

// Flag returns the last value of a flag, "" if p is nil or has no such flag.
func (p *Program) Flag(name string) string {
	if p == nil {
		return ""
	}
	return lastValue(p.Flags[name])
}

// File returns the path on the machine that a flag names, none for a nil p.
func (p *Program) File(flag string) Reference {
	value := p.Flag(flag)
	if value == "" {
		return Reference{}
	}
	return Reference{p.String() + ": --" + flag, p.Locate(value).Path}
}

// Variable returns the value of an environment variable, or "" if p does not have it.
func (p *Program) Variable(name string) string {
	i := slices.IndexFunc(p.Env, func(v corev1.EnvVar) bool { return v.Name == name })
	if i < 0 {
		return ""
	}
	return p.Env[i].Value
}

// Location is the place to which a path in a container leads.
type Location struct {
	Mount *corev1.VolumeMount // the innermost mount that the path lies in; nil if there is none
	// Root is where the mount begins on the machine, and Path is the path there. Both are empty if
	// the volume is not a path of the machine.
	Root, Path string
}

// Locate returns where a path in the container of p leads.
func (p *Program) Locate(inside string) (l Location) {
	for i := range p.VolumeMounts {
		m := &p.VolumeMounts[i]
		if !LiesIn(inside, m.MountPath) {
			continue
		}
		if l.Mount == nil || len(m.MountPath) > len(l.Mount.MountPath) {
			l.Mount = m
		}
	}
	if l.Mount == nil {
		return l
	}
	for _, v := range p.Pod.Spec.Volumes {
		if v.Name == l.Mount.Name && v.HostPath != nil {
			l.Root = path.Join(v.HostPath.Path, l.Mount.SubPath)
			l.Path = path.Join(l.Root, strings.TrimPrefix(inside, path.Clean(l.Mount.MountPath)))
		}
	}
	return l
}

// fileFlags are the ends of flags that name files.
var fileFlags = []string{
	"config", "file", "-manifest", "-cert-key", "kubelet-certificate-authority",
}

// ReadsFile reports whether a flag of p names a file that p reads and its usual image does not
// have. The images of Kubernetes and etcd have CA certificates and time zones, and no other files
// that a flag could name (https://github.com/GoogleContainerTools/distroless/tree/main/base).
func (p *Program) ReadsFile(flag, file string) bool {
	reads := slices.ContainsFunc(fileFlags, func(end string) bool {
		return strings.HasSuffix(flag, end)
	}) && flag != "runtime-config"
	return reads && p.IsComponent() && !LiesIn(file, "/etc/ssl") && !LiesIn(file, "/usr")
}

// User is the identity of a program in the kernel's permission checks.
type User struct {
	ID           int64
	Groups       []int64
	Unrestricted bool // modes are not checked for this user
}

// User returns the identity that p runs with. The container's settings win over the pod's. Without
// any, kiln's own components run as root, and the user of other programs is unknown, because their
// images may set it. Root is subject to the modes if it lost the capability to override them.
func (p *Program) User() User {
	pod, container := p.Pod.Spec.SecurityContext, p.SecurityContext
	if pod == nil {
		pod = &corev1.PodSecurityContext{}
	}
	if container == nil {
		container = &corev1.SecurityContext{}
	}
	u := User{
		ID:     firstSet(container.RunAsUser, pod.RunAsUser),
		Groups: []int64{firstSet(container.RunAsGroup, pod.RunAsGroup), firstSet(pod.FSGroup)},
	}
	u.Groups = append(u.Groups, pod.SupplementalGroups...)

	var drop, add []corev1.Capability
	if container.Capabilities != nil {
		drop, add = container.Capabilities.Drop, container.Capabilities.Add
	}
	unknown := !p.IsComponent() && container.RunAsUser == nil && pod.RunAsUser == nil
	privileged := container.Privileged != nil && *container.Privileged
	overrides := u.ID == 0 && (overridesModes(add) || !overridesModes(drop))
	u.Unrestricted = unknown || privileged || overrides
	return u
}

func overridesModes(capabilities []corev1.Capability) bool {
	return slices.Contains(capabilities, "ALL") || slices.Contains(capabilities, "DAC_OVERRIDE")
}

// firstSet returns the first number that is set, or 0, which is root.
func firstSet(numbers ...*int64) int64 {
	for _, n := range numbers {
		if n != nil {
			return *n
		}
	}
	return 0
}
