// This file checks the command lines of a finished machine: the flags and feature gates with
// which its programs would exit, or of which they warn.
//
// Package config has checked what the configuration says of them. Patches may have changed it.

package machine

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/plan"
)

// Checker checks the machines of one cluster. Its methods may be called from several goroutines.
type Checker struct {
	plan    *plan.Plan
	explain Source

	warnings sync.Map // each a config.Problem
	kubelets sync.Map // the config.Place of each finding about kubelets
}

// Source returns the place that a value in a file of a machine comes from, and no place if it is in
// no file that a person wrote. The key is that of kiln explain.
type Source func(m *plan.Machine, f *node.File, key string) config.Place

// New returns a checker for the machines of a plan.
func New(p *plan.Plan, explain Source) *Checker { return &Checker{plan: p, explain: explain} }

// Machine is a finished machine as Check reads it.
type Machine struct {
	*plan.Machine
	Node     *node.Node
	Programs []*Program // of its static pods
	Kubelet  *Kubelet
}

// Check returns what programs exit with: problems of the configuration, and errors for the rest.
func (k *Checker) Check(m *Machine) (problems config.Problems, errs []error) {
	c := &inspection{Checker: k, machine: m}
	for _, p := range m.Programs {
		known, ok := flags.FindProgram(p.Name, k.plan.Release.Minor)
		if !p.IsComponent() || !ok {
			continue
		}
		f := m.Node.File(path.Join(plan.ManifestsDir, p.Name+".yaml"))
		c.container(known, f, p.String(), "spec", &p.Container)
	}
	if m.ControlPlane() && k.plan.Config.Spec.Network.Proxy != "none" {
		c.proxy()
	}
	c.kubelet()
	return c.problems, c.errs
}

// Warnings returns what the programs that were checked so far warn of, by files and lines.
func (k *Checker) Warnings() (warnings config.Problems) {
	k.warnings.Range(func(problem, _ any) bool {
		warnings = append(warnings, problem.(config.Problem))
		return true
	})
	slices.SortFunc(warnings, func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return warnings
}

type inspection struct {
	*Checker
	machine  *Machine
	problems config.Problems
	errs     []error
}

// report adds a finding to the warnings, or to the problems if a place of the configuration is its
// source, or else to the errors. A warning about what kiln itself sets is dropped.
func (c *inspection) report(found flags.Finding, where string, place config.Place) {
	message := fmt.Sprintf("%s: %s %s", where, config.Quote(found.Word), found.Message)
	problem := config.Problem{
		File: place.File, Line: place.Line, Column: place.Column, Path: place.Field,
		Message: message,
	}
	switch ours := place.File == ""; {
	case found.Warning && !ours:
		problem.ID = config.WarnDeprecated
		c.warnings.Store(problem, true)
	case found.Warning:
	case ours:
		c.errs = append(c.errs, fmt.Errorf("%s", message))
	default:
		c.problems = append(c.problems, problem)
	}
}

func (c *inspection) container(
	known flags.Program, f *node.File, where, pod string, container *corev1.Container,
) {
	words := slices.Concat(container.Command, container.Args)
	for _, found := range known.CheckCommand(words[1:]) {
		c.report(found, where, c.wordSource(f, pod, container, found.Arg+1))
	}
}

func (c *inspection) wordSource(
	f *node.File, pod string, container *corev1.Container, word int,
) config.Place {
	list, i := "command", word
	if i >= len(container.Command) {
		list, i = "args", i-len(container.Command)
	}
	words := slices.Concat(container.Command, container.Args)
	key := fmt.Sprintf("%s.containers[%s].%s", pod, container.Name, list)
	// A flag is found by its name: a patch may have moved it.
	name, _, isFlag := strings.Cut(words[word], "=")
	if isFlag && strings.HasPrefix(name, "--") {
		if place := c.source(f, key+"["+name+"]"); place.File != "" {
			return place
		}
	}
	return c.source(f, fmt.Sprintf("%s[%d]", key, i))
}

// FlagProblem returns what is wrong with a flag of a static pod as a problem. ok reports whether a
// line of a file that a person wrote is to blame.
func (k *Checker) FlagProblem(
	m *Machine, p *Program, flag, message string,
) (problem config.Problem, ok bool) {
	c := &inspection{Checker: k, machine: m}
	f := m.Node.File(path.Join(plan.ManifestsDir, p.Name+".yaml"))
	for i, word := range slices.Concat(p.Command, p.Args) {
		if name, _, _ := strings.Cut(word, "="); name == "--"+flag {
			place := c.wordSource(f, "spec", &p.Container, i)
			return config.Problem{
				File: place.File, Line: place.Line, Column: place.Column, Path: place.Field,
				Message: fmt.Sprintf("%s: --%s: %s", p, flag, message),
			}, place.File != ""
		}
	}
	return config.Problem{}, false
}

func (c *inspection) source(f *node.File, key string) config.Place {
	if f == nil {
		return config.Place{}
	}
	return c.explain(c.machine.Machine, f, key)
}

// proxy checks kube-proxy's flags and gates. An object that cannot be read is another's finding.
func (c *inspection) proxy() {
	known, ok := flags.FindProgram(flags.Proxy, c.plan.Release.Minor)
	for i := range c.machine.Node.Files {
		f := &c.machine.Node.Files[i]
		switch {
		case !ok || path.Dir(f.Path)+"/" != plan.ObjectsDir:
		case strings.HasSuffix(f.Path, "-daemonset-kube-proxy.yaml"):
			var set appsv1.DaemonSet
			if yaml.Unmarshal(f.Content, &set) == nil && set.Namespace == "kube-system" {
				c.proxyCommand(known, f, set.Spec.Template.Spec.Containers)
			}
		case strings.HasSuffix(f.Path, "-configmap-kube-proxy.yaml"):
			var object corev1.ConfigMap
			var settings struct {
				FeatureGates map[string]bool `json:"featureGates"`
			}
			if yaml.Unmarshal(f.Content, &object) != nil || object.Namespace != "kube-system" ||
				yaml.Unmarshal([]byte(object.Data["config.conf"]), &settings) != nil {
				continue
			}
			for _, found := range known.Check(nil, settings.FeatureGates) {
				c.report(found, "ConfigMap kube-proxy: config.conf", c.source(f, "data"))
			}
		}
	}
}

func (c *inspection) proxyCommand(
	known flags.Program, f *node.File, containers []corev1.Container,
) {
	for i := range containers {
		command := containers[i].Command
		if len(command) > 0 && path.Base(command[0]) == flags.Proxy {
			c.container(known, f, "DaemonSet kube-proxy", "spec.template.spec", &containers[i])
		}
	}
}
