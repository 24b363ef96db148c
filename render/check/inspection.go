package check

import (
	"crypto/x509"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

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

	// What the machine has when its document has been written, by path. dirs are all: those that are only the parents
	// of something are made 0755 root.
	files map[string]*node.File
	dirs  map[string]node.Dir
	links map[string]string

	// What read has found in the files.
	programs    []*program
	kubeconfigs map[string]*kubeconfig // by path
	kubelet     *kubelet

	parsed    map[string][]*x509.Certificate // by path
	verified  map[signature]error
	listeners []listener
}

// signature is a certificate's file and the CA that may have signed it.
type signature struct {
	path string
	ca   *x509.Certificate
}

func (c *inspection) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s %s: %w", c.machine.Kind(), c.machine.Name, fmt.Errorf(format, args...)))
}

// checkPaths: every path once, absolute and clean; nothing lies below a file.
func (c *inspection) checkPaths() {
	there := make(map[string]bool, len(c.node.Files))
	var paths []string
	add := func(kind, p string) {
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p:
			c.fail("%s %q: not an absolute, clean path", kind, p)
		case there[p]:
			c.fail("%s %s: the path is used twice", kind, p)
		}
		there[p] = true
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

// readPrograms finds the programs of the machine, each with its flags and settings.
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
	c.kubelet = &kubelet{kubeletConfig: &kubeletConfig{}}
	if f := c.files[plan.KubeletConfig]; f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its configuration", plan.KubeletConfig)
	} else if conf, err := c.facts.kubeletConfig(f.Content); err != nil {
		c.fail("file %s: %w", f.Path, err)
	} else {
		c.kubelet.kubeletConfig = conf
	}
	if f := c.files[plan.KubeletDropIn]; f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its command line", plan.KubeletDropIn)
	} else {
		c.kubelet.flags = commandFlags(splitWords(string(f.Content)))
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

// component returns the named program of the control plane; nil if it is not on this machine, or if a patch starts it in
// another way than by its name, so that its flags cannot be known.
func (c *inspection) component(name string) *program {
	for _, p := range c.programs {
		if p.isComponent() && p.Name == name {
			return p
		}
	}
	return nil
}

// requiredFile is p.file of a flag that p cannot do without.
func (c *inspection) requiredFile(p *program, flag string) reference {
	if p != nil && p.flag(flag) == "" {
		c.fail("%s: --%s is not set; remove the patch that takes it away", p, flag)
	}
	return p.file(flag)
}

// file returns the file of the document at a path, through links; nil if there is none.
func (c *inspection) file(path string) *node.File { return c.files[c.resolve(path)] }

// resolve follows the links of the document.
func (c *inspection) resolve(p string) string {
	for range len(c.links) {
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

// hasPath says whether a path is there, as a file, link or directory, or as the parent of one.
func (c *inspection) hasPath(p string) bool {
	_, isDir := c.dirs[p]
	_, isLink := c.links[p]
	return isDir || isLink || c.files[p] != nil
}

// lacksContent says that a file's content is not known, for the cluster is rendered without the secrets.
func (c *inspection) lacksContent(f *node.File) bool {
	return c.cluster.Bundle == nil && f.Content == nil && (f.Secret != "" || len(f.Shown) > 0)
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

// hostNames returns the names that the machine gets, from the system and from the hook: its Node has the last.
func (c *inspection) hostNames() []string {
	var names []string
	if f := c.files["/etc/hostname"]; f != nil {
		names = append(names, strings.TrimSpace(string(f.Content)))
	}
	return slices.Compact(append(names, c.hookData("node")))
}
