package check

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/yamltext"
)

// inspection is the check of one machine. Its methods requireX add an error unless X holds; one
// about a file passes if the document does not have the file.
type inspection struct {
	cluster *Cluster
	facts   *facts
	machine *plan.Machine
	node    *node.Node
	errs    []error

	// tree is what the machine has after its document was written.
	tree *machine.Tree

	// What readPrograms finds in the files.
	programs    []*machine.Program
	kubeconfigs map[string]*machine.Kubeconfig // by path
	kubelet     *machine.Kubelet               // never nil

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

func (c *inspection) fail(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	c.errs = append(c.errs, fmt.Errorf("%s %s: %w", c.machine.Kind(), c.machine.Name, err))
}

func (c *inspection) failAll(errs []error) {
	for _, err := range errs {
		c.fail("%w", err)
	}
}

// failFile adds a problem at the field that brings a file, or an error of the machine.
func (c *inspection) failFile(f *node.File, message string) {
	if f.Why == node.FromConfig {
		c.errs = append(c.errs, config.Problems{
			c.cluster.Plan.Config.Problemf(f.From[0], "%s: %s", f.Path, message)})
		return
	}
	c.fail("file %s: %s", f.Path, message)
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
		if f.Mode > 0o777 {
			c.fail("file %s: mode %o has more than permission bits", f.Path, f.Mode)
		}
	}
	for _, d := range c.node.Dirs {
		add("directory", d.Path)
	}
	for _, l := range c.node.Links {
		add("link", l.Path)
	}
	for _, p := range paths {
		for parent := range machine.Parents(p) {
			if c.tree.Exact(parent) != nil {
				c.fail("%s: lies below %s, which is a file", p, parent)
			}
		}
	}
}

// readPrograms reads static pods, kubeconfigs and the kubelet's settings, and misses needed ones.
func (c *inspection) readPrograms() {
	c.kubeconfigs = map[string]*machine.Kubeconfig{}
	for i := range c.node.Files {
		f := &c.node.Files[i]
		switch {
		case path.Dir(f.Path) == plan.ManifestsDir:
			programs, err := readOnce(&c.facts.pods, f.Content, machine.ReadPod)
			if err != nil && f.Why == node.FromConfig {
				continue // checkKinds says why
			}
			if err != nil {
				c.fail("file %s: %w", f.Path, err)
				continue
			}
			c.programs = append(c.programs, programs...)
			c.checkStaticPod(f, programs)
		case isKubeconfig(f):
			if c.lacksContent(f) {
				continue
			}
			// The name of the Node is not read, and stands where any name is the same to YAML.
			content := bytes.ReplaceAll(f.Content, []byte("system:node:"+c.machine.NodeName()),
				[]byte("system:node:NAME"))
			k, err := readOnce(&c.facts.kubeconfigs, content, machine.ReadKubeconfig)
			if err != nil {
				c.fail("file %s: %w", f.Path, err)
				continue
			}
			c.kubeconfigs[f.Path] = k
		}
	}
	for _, p := range c.programs {
		if len(p.Command) > 0 && strings.HasPrefix(p.Command[0], "-") {
			c.fail("%s: its command begins with the flag %s, and not with a program; correct the "+
				"index of the patch", p, p.Command[0])
		}
	}
	c.readKubelet()
	for _, name := range c.components() {
		hasName := func(p *machine.Program) bool { return p.Name == name }
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

// checkStaticPod checks that the kubelet runs a static pod of the user's: it reads one document of
// a file, a Pod, and one pod of a name.
func (c *inspection) checkStaticPod(f *node.File, programs []*machine.Program) {
	switch {
	case f.Why != node.FromConfig:
		return
	case isOther(f):
		c.failFile(f, "is no Pod, and the kubelet starts nothing else from this folder; write the "+
			"Pod itself, or bring the object with addons")
		return
	case len(programs) == 0:
		return
	}
	pod := programs[0].Pod
	other := slices.IndexFunc(c.programs, func(p *machine.Program) bool {
		return p.Pod != pod && p.Pod.Name == pod.Name && p.Pod.Namespace == pod.Namespace
	})
	switch {
	case len(yamltext.Split(f.Content)) > 1:
		c.failFile(f, "has several documents, and the kubelet reads the first alone; write a file "+
			"for each")
	case other >= 0:
		c.failFile(f, "another static pod has this name and namespace, and the kubelet runs one "+
			"of them; choose another name")
	}
}

// isKubeconfig reports whether a file is a kubeconfig of kiln's. readPrograms reads it as one.
func isKubeconfig(f *node.File) bool {
	return f.Why != node.FromConfig && path.Dir(f.Path) == plan.KubernetesDir &&
		path.Ext(f.Path) == ".conf"
}

func (c *inspection) checkCommands() {
	problems, errs := c.facts.commands.Check(&machine.Machine{
		Machine: c.machine, Node: c.node, Programs: c.programs, Kubelet: c.kubelet,
	})
	if len(problems) > 0 {
		c.errs = append(c.errs, problems)
	}
	for _, err := range errs {
		c.fail("%w", err)
	}
}

func (c *inspection) readKubelet() {
	for i := range c.node.Files {
		f := &c.node.Files[i]
		if path.Dir(f.Path) == config.KubeletDropIns && strings.HasSuffix(f.From[0], "butane") {
			c.failFile(f, "kiln takes fields of the kubelet from files alone; write it there")
		}
	}
	c.kubelet = &machine.Kubelet{KubeletConfig: &machine.KubeletConfig{}}
	if f := c.tree.Exact(plan.KubeletConfig); f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its configuration",
			plan.KubeletConfig)
	} else if conf, err := readOnce(&c.facts.kubelets, f.Content,
		machine.ReadKubeletConfig); err != nil {
		c.fail("file %s: %w", f.Path, err)
	} else {
		c.kubelet.KubeletConfig = conf
	}
	if f := c.tree.Exact(plan.KubeletDropIn); f == nil {
		c.fail("file %s: missing; the kubelet cannot start without its command line",
			plan.KubeletDropIn)
	} else {
		c.kubelet.ReadFlags(f.Content)
	}
}

func (c *inspection) components() (names []string) {
	p := c.cluster.Plan
	for _, component := range []struct {
		name string
		runs bool
	}{
		{target.APIServer, c.machine.ControlPlane()},
		{target.ControllerManager, c.machine.ControlPlane()},
		{target.Scheduler, c.machine.ControlPlane()},
		{target.Etcd, c.machine.EtcdMember},
		{target.KubeVIP, p.HasVIP(c.machine)},
		{target.HAProxy, p.Balanced(c.machine)},
	} {
		if component.runs {
			names = append(names, component.name)
		}
	}
	return names
}

// component returns one of kiln's programs, nil if it is not here or has a command of the user's.
func (c *inspection) component(name string) *machine.Program {
	for _, p := range c.programs {
		if p.IsComponent() && p.Name == name {
			return p
		}
	}
	return nil
}

// requiredFile returns the file that a flag of p names, and wants p to have the flag. p may be nil.
func (c *inspection) requiredFile(p *machine.Program, flag string) machine.Reference {
	if p != nil && p.Flag(flag) == "" {
		c.fail("%s: --%s is not set; remove the patch that takes it away", p, flag)
	}
	return p.File(flag)
}

// lacksContent reports whether the content of f is unknown, for want of secrets.
func (c *inspection) lacksContent(f *node.File) bool {
	return c.cluster.Bundle == nil && f.Content == nil && (f.Secret != "" || len(f.Shown) > 0)
}
