package check

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"kiln/render/node"
	"kiln/render/plan"
)

// program is one container of a static pod.
type program struct {
	corev1.Container
	pod   *corev1.Pod
	flags map[string][]string
}

// kubeconfig is what Check reads of a kubeconfig.
type kubeconfig struct {
	path     string
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     string `json:"certificate-authority"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Cert  string `json:"client-certificate"`
			Key   string `json:"client-key"`
			Token string `json:"token"`
		} `json:"user"`
	} `json:"users"`
}

// kubelet is the machine's kubelet: its configuration and command line.
type kubelet struct {
	*kubeletConfig
	flags map[string][]string
}

// kubeletConfig is a kubelet's configuration, and every text in it that looks like a path.
type kubeletConfig struct {
	kubeletv1.KubeletConfiguration
	paths []string
}

// read finds the programs of the machine, each with its flags and settings.
func (c *inspection) read() {
	c.kubeconfigs = map[string]*kubeconfig{}
	for i := range c.node.Files {
		f := &c.node.Files[i]
		switch {
		case path.Dir(f.Path) == plan.ManifestsDir:
			c.readPod(f)
		case path.Dir(f.Path) == plan.KubernetesDir && path.Ext(f.Path) == ".conf":
			if c.unknown(f) {
				continue
			}
			k, err := readKubeconfig(f.Content)
			if err != nil {
				c.fail("file %s: %w", f.Path, err)
				continue
			}
			k.path = f.Path
			c.kubeconfigs[f.Path] = k
		}
	}
	c.kubelet = &kubelet{kubeletConfig: &kubeletConfig{}}
	if f := c.files[plan.KubeletConfig]; f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its configuration", plan.KubeletConfig)
	} else if conf, err := c.facts.kubelet(f.Content); err != nil {
		c.fail("file %s: %w", f.Path, err)
	} else {
		c.kubelet.kubeletConfig = conf
	}
	if f := c.files[plan.KubeletDropIn]; f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its command line", plan.KubeletDropIn)
	} else {
		c.kubelet.flags = commandFlags(words(string(f.Content)))
	}
	for _, name := range c.components() {
		if !slices.ContainsFunc(c.programs, func(p *program) bool { return p.Name == name }) {
			role := map[string]string{node.ControlPlane: "a control plane", node.Worker: "a worker with a balancer", node.Etcd: "an etcd machine"}[c.machine.Role]
			c.fail("static pod %s: %s needs a container of this name; remove the patch that takes it away", name, role)
		}
	}
}

// components are the programs that the machine runs as static pods.
func (c *inspection) components() (names []string) {
	p := c.cluster.Plan
	for _, program := range []struct {
		name string
		runs bool
	}{
		{plan.APIServer, c.machine.ControlPlane()},
		{plan.ControllerManager, c.machine.ControlPlane()},
		{plan.Scheduler, c.machine.ControlPlane()},
		{plan.Etcd, c.machine.EtcdMember},
		{plan.KubeVIP, p.HasVIP(c.machine)},
		{plan.HAProxy, p.Balanced(c.machine)},
	} {
		if program.runs {
			names = append(names, program.name)
		}
	}
	return names
}

func (c *inspection) readPod(f *node.File) {
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(f.Content, pod); err != nil {
		c.fail("file %s: %w", f.Path, err)
		return
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		c.programs = append(c.programs, &program{container, pod, commandFlags(slices.Concat(container.Command, container.Args))})
	}
}

// readKubeconfig reads a kubeconfig as we write them: one cluster, one user. The error quotes nothing, for a kubeconfig
// may hold a secret.
func readKubeconfig(data []byte) (*kubeconfig, error) {
	k := &kubeconfig{}
	if err := yaml.Unmarshal(data, k); err != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		return nil, errors.New("not a kubeconfig with one cluster and one user")
	}
	return k, nil
}

// component returns the named program of the control plane; nil if it is not on this machine, or if a patch starts it in
// another way than by its name, so that its flags cannot be known.
func (c *inspection) component(name string) *program {
	for _, p := range c.programs {
		if p.known() && p.Name == name {
			return p
		}
	}
	return nil
}

// known says that p is a component of ours, whose flags mean what Check thinks.
func (p *program) known() bool {
	ours := slices.Contains([]string{plan.Etcd, plan.KubeVIP, plan.HAProxy}, p.Name) || securePorts[p.Name] != ""
	return ours && p.Name == p.pod.Name && len(p.Command) > 0 && path.Base(p.Command[0]) == p.Name
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
	return last(p.flags[name])
}

func last(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// named is a path on the machine, and where it is named. An empty path is none of the machine's.
type named struct{ by, path string }

// file returns the path on the machine that a flag names.
func (p *program) file(flag string) named {
	value := p.flag(flag)
	if value == "" {
		return named{}
	}
	return named{p.String() + ": --" + flag, p.at(value).path}
}

// file returns the path that a field of the kubelet's configuration holds.
func (k *kubelet) file(field, path string) named {
	return named{"file " + plan.KubeletConfig + ": " + field, path}
}

func (k *kubelet) clientCA() named {
	return k.file("authentication.x509.clientCAFile", k.Authentication.X509.ClientCAFile)
}

// location is where a path of a container leads: the mount that it lies in, where that begins on the machine, and the
// path there. Both are empty if the volume is not the machine's.
type location struct {
	mount      *corev1.VolumeMount
	root, path string
}

// at returns where a path of p leads.
func (p *program) at(inside string) (l location) {
	for i := range p.VolumeMounts {
		if m := &p.VolumeMounts[i]; within(inside, m.MountPath) && (l.mount == nil || len(m.MountPath) > len(l.mount.MountPath)) {
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

// within says whether p is dir or lies below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// commandFlags returns the values of each flag on a command line, in order, however it is spelt: --name=value,
// --name value, or --name for true.
func commandFlags(command []string) map[string][]string {
	flags := map[string][]string{}
	for i, word := range command {
		name, isFlag := strings.CutPrefix(word, "-")
		if !isFlag {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if next := i + 1; !found {
			value = "true"
			if next < len(command) && !strings.HasPrefix(command[next], "-") {
				value = command[next]
			}
		}
		flags[name] = append(flags[name], value)
	}
	return flags
}

// words returns the words of a unit's text as systemd splits them (systemd.service(5), "Command lines"): quotes hold a
// word together, a backslash takes the meaning from what follows.
func words(text string) (out []string) {
	var word strings.Builder
	var quote rune
	in, escaped := false, false
	for _, r := range strings.ReplaceAll(text, "\\\n", " ") + "\n" {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\':
			escaped, in = true, true
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case r == quote:
			quote = 0
		case quote == 0 && unicode.IsSpace(r):
			if in {
				out = append(out, word.String())
			}
			word.Reset()
			in = false
		default:
			in = true
			word.WriteRune(r)
		}
	}
	return out
}

// hostNames returns the names that the machine gets, from the system and from the hook: its Node has the last.
func (c *inspection) hostNames() []string {
	var names []string
	if f := c.files["/etc/hostname"]; f != nil {
		names = append(names, strings.TrimSpace(string(f.Content)))
	}
	return slices.Compact(append(names, c.hookData("node")))
}

// hookData returns a value of the hook's data.
func (c *inspection) hookData(key string) string {
	f := c.files[plan.KilnDir+"/machine"]
	if f == nil {
		return ""
	}
	for line := range strings.Lines(string(f.Content)) {
		if value, ok := strings.CutPrefix(line, key+"="); ok {
			return strings.Trim(value, "'\n")
		}
	}
	return ""
}

// hostOf returns the host of a URL, or of a host alone.
func hostOf(server string) (string, error) {
	if !strings.Contains(server, "://") {
		return server, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("%q is not the URL of a server", server)
	}
	return u.Hostname(), nil
}

// list returns the parts of a comma-separated value; none of an empty one.
func list(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}
