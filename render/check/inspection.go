package check

import (
	"crypto/x509"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kiln/render/layout"
	"kiln/render/node"
	"kiln/render/plan"
)

// inspection is the check of one machine.
type inspection struct {
	cluster *Cluster
	facts   *facts
	machine *plan.Machine
	node    *node.Node
	errs    []error

	// What the machine has after its document was written, by path; checkPaths fills them. dirs
	// includes directories that only exist as the parent of something: those are 0755 and root's.
	files map[string]*node.File
	dirs  map[string]node.Dir
	links map[string]string // the target of each link

	// What readPrograms finds in the files.
	programs    []*program
	kubeconfigs map[string]*kubeconfig // by path
	kubelet     *kubelet               // never nil

	// listeners is filled by checkPorts.
	listeners []listener

	// Caches: the certificates in a file by its path, and the results of verifying them.
	parsed   map[string][]*x509.Certificate
	verified map[signature]error
}

// signature is the path of a certificate and a CA that may have signed it.
type signature struct {
	path string
	ca   *x509.Certificate
}

// fail adds an error of the machine.
func (c *inspection) fail(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	c.errs = append(c.errs, fmt.Errorf("%s %s: %w", c.machine.Kind(), c.machine.Name, err))
}

// checkPaths checks that each path is absolute, clean and used once, and that nothing lies below a
// file.
func (c *inspection) checkPaths() {
	used := make(map[string]bool, len(c.node.Files))
	var paths []string
	add := func(kind, p string) {
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p:
			c.fail("%s %q: not an absolute, clean path", kind, p)
		case used[p]:
			c.fail("%s %s: the path is used twice", kind, p)
		}
		used[p] = true
		paths = append(paths, p)
	}
	for i := range c.node.Files {
		f := &c.node.Files[i]
		add("file", f.Path)
		c.files[f.Path] = f
		if f.Mode > 0o777 {
			c.fail("file %s: mode %o has more than permission bits", f.Path, f.Mode)
		}
	}
	for _, d := range c.node.Dirs {
		add("directory", d.Path)
		c.dirs[d.Path] = d
	}
	for _, l := range c.node.Links {
		add("link", l.Path)
		c.links[l.Path] = l.Target
	}
	for _, p := range paths {
		for parent := path.Dir(p); parent != "/" && parent != "."; parent = path.Dir(parent) {
			if c.files[parent] != nil {
				c.fail("%s: lies below %s, which is a file", p, parent)
			}
			if _, known := c.dirs[parent]; !known {
				c.dirs[parent] = node.Dir{Path: parent, Mode: 0o755}
			}
		}
	}
}

// readPrograms reads the static pods, the kubeconfigs and the kubelet's settings. It adds an error
// for each that the machine needs and lacks.
func (c *inspection) readPrograms() {
	c.kubeconfigs = map[string]*kubeconfig{}
	for i := range c.node.Files {
		f := &c.node.Files[i]
		switch {
		case path.Dir(f.Path) == plan.ManifestsDir:
			c.readPod(f)
		case path.Dir(f.Path) == plan.KubernetesDir && path.Ext(f.Path) == ".conf":
			if c.lacksContent(f) {
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
	c.readKubelet()
	for _, name := range c.components() {
		hasName := func(p *program) bool { return p.Name == name }
		if !slices.ContainsFunc(c.programs, hasName) {
			role := map[string]string{
				node.ControlPlane: "a control plane",
				node.Worker:       "a worker with a balancer",
				node.Etcd:         "an etcd machine",
			}[c.machine.Role]
			c.fail("static pod %s: %s needs a container of this name; "+
				"remove the patch that takes it away", name, role)
		}
	}
}

// readPod adds the containers of a static pod to the programs.
func (c *inspection) readPod(f *node.File) {
	pod := &corev1.Pod{}
	if err := yaml.Unmarshal(f.Content, pod); err != nil {
		c.fail("file %s: %w", f.Path, err)
		return
	}
	for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		flags := commandFlags(slices.Concat(container.Command, container.Args))
		c.programs = append(c.programs, &program{container, pod, flags})
	}
}

// readKubelet reads the kubelet's configuration and its command line.
func (c *inspection) readKubelet() {
	c.kubelet = &kubelet{kubeletConfig: &kubeletConfig{}}
	if f := c.files[plan.KubeletConfig]; f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its configuration",
			plan.KubeletConfig)
	} else if conf, err := c.facts.kubeletConfig(f.Content); err != nil {
		c.fail("file %s: %w", f.Path, err)
	} else {
		c.kubelet.kubeletConfig = conf
	}
	if f := c.files[plan.KubeletDropIn]; f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its command line",
			plan.KubeletDropIn)
	} else {
		c.kubelet.flags = commandFlags(splitWords(string(f.Content)))
	}
}

// components returns the names of kiln's programs that this machine runs as static pods.
func (c *inspection) components() (names []string) {
	p := c.cluster.Plan
	for _, component := range []struct {
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
		if component.runs {
			names = append(names, component.name)
		}
	}
	return names
}

// component returns one of kiln's programs. It returns nil if the program is not on this machine,
// or if a patch starts it with a different command, so that the meaning of its flags is unknown.
func (c *inspection) component(name string) *program {
	for _, p := range c.programs {
		if p.isComponent() && p.Name == name {
			return p
		}
	}
	return nil
}

// requiredFile returns the file that a flag of p names, and adds an error if p has no such flag. p
// may be nil.
func (c *inspection) requiredFile(p *program, flag string) reference {
	if p != nil && p.flag(flag) == "" {
		c.fail("%s: --%s is not set; remove the patch that takes it away", p, flag)
	}
	return p.file(flag)
}

// file returns the machine's file at a path, after following links, or nil.
func (c *inspection) file(path string) *node.File { return c.files[c.resolve(path)] }

// resolve returns where a path leads after following the document's links.
func (c *inspection) resolve(p string) string {
	for range len(c.links) { // more steps would mean a loop
		target, isLink := c.links[p]
		if !isLink {
			break
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p), target)
		}
		p = target
	}
	return p
}

// hasPath reports whether the machine has a file, link or directory at a path. The parent of a file
// counts as a directory.
func (c *inspection) hasPath(p string) bool {
	_, isDir := c.dirs[p]
	_, isLink := c.links[p]
	return isDir || isLink || c.files[p] != nil
}

// lacksContent reports whether the content of f is unknown, because the cluster is rendered without
// its secrets.
func (c *inspection) lacksContent(f *node.File) bool {
	return c.cluster.Bundle == nil && f.Content == nil && (f.Secret != "" || len(f.Shown) > 0)
}

// hookData returns one value of the file that the hook reads, or "".
func (c *inspection) hookData(key string) string {
	f := c.files[plan.KilnDir+"/machine"]
	if f == nil {
		return ""
	}
	data, _ := layout.ReadSettings(f.Content)
	i := slices.IndexFunc(data, func(s layout.Setting) bool { return s.Name == key })
	if i < 0 {
		return ""
	}
	return data[i].Value
}

// hostNames returns the names that the machine is given: by /etc/hostname, if there is such a file,
// and by the hook. The hook's name is the last, and the name of the Node.
func (c *inspection) hostNames() []string {
	var names []string
	if f := c.files["/etc/hostname"]; f != nil {
		names = append(names, strings.TrimSpace(string(f.Content)))
	}
	return slices.Compact(append(names, c.hookData("node")))
}
