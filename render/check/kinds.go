package check

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/check/machine"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/kube/kinds"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/yamltext"
)

// checkKinds checks the static pods, the API objects and the configuration files of the programs of
// Kubernetes, as they are after all patches: their fields and values are those of their kinds, and
// an audit policy hides no request for Secrets. The errors are config.Problems, where a line of the
// user's files is to blame.
func (c *inspection) checkKinds() {
	var problems config.Problems
	for i := range c.node.Files {
		f := &c.node.Files[i]
		static := path.Dir(f.Path) == plan.ManifestsDir
		if c.lacksContent(f) || !static && !c.facts.isDocument(f) || static && isOther(f) {
			continue
		}
		d := &document{f, c.facts.checker(c.readerOf(f.Path)), static}
		found := d.all()
		if f.Why == node.FromConfig && f.Secret != "" && len(found) > 0 { // they quote values
			problems = append(problems, c.cluster.Plan.Config.Problemf(f.From[0], "%s: is not "+
				"what its reader takes; kiln shows nothing of a secret: validate it once with "+
				"example values, without secret and in another folder", f.Path))
			continue
		}
		for _, finding := range found {
			if p, ok := c.problem(d, finding); ok {
				problems = append(problems, p)
			} else {
				c.fail("file %s: %s", f.Path, finding)
			}
		}
	}
	problems = append(problems, c.kubeletFlags()...)
	if len(problems) > 0 {
		c.errs = append(c.errs, problems)
	}
}

// kubeletFlags holds the kubelet's flags against the fields that they replace.
func (c *inspection) kubeletFlags() (problems config.Problems) {
	settings, f := c.machine.Settings, c.node.File(plan.KubeletConfig)
	if f == nil || len(settings.KubeletExtraArgs) == 0 {
		return nil
	}
	merged := *f
	merged.Content = machine.WithFlags(f.Content, settings.KubeletExtraArgs)
	if merged.Content == nil {
		return nil
	}
	checker := c.facts.checker(c.readerOf(f.Path))
	before := (&document{f, checker, false}).all()
	for _, found := range (&document{&merged, checker, false}).all() {
		if !slices.Contains(before, found) {
			problems = append(problems, c.cluster.Plan.Config.Problemf(
				settings.Path("kubeletExtraArgs"), "with these flags: %s", found))
		}
	}
	return problems
}

// isOther reports whether a file is a document of another kind than a Pod; checkStaticPod says it.
func isOther(f *node.File) bool {
	kind := headOf(f.Content).Kind
	return kind != "" && kind != "Pod"
}

// isDocument reports whether a file is an API object, or settings of a kind of Kubernetes.
func (f *facts) isDocument(file *node.File) bool {
	if path.Dir(file.Path)+"/" == plan.ObjectsDir {
		return path.Ext(file.Path) == ".yaml"
	}
	if isKubeconfig(file) || path.Dir(file.Path) == config.KubeletDropIns ||
		!bytes.Contains(file.Content, []byte("apiVersion")) {
		return false
	}
	return f.configuring.Of(file.Content, func() bool {
		is := headOf(file.Content)
		return kinds.Configures(is.APIVersion, is.Kind) ||
			is.APIVersion == "v1" && is.Kind == "Config" // a kubeconfig of the user's
	})
}

type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
}

// String returns the kind and the name.
func (h head) String() string { return strings.TrimSpace(h.Kind + " " + h.Metadata.Name) }

// headOf returns the head of a document, an empty one if it has none.
func headOf(text []byte) (is head) {
	if yamltext.Object.Check(text) == nil {
		_ = yaml.Unmarshal(text, &is) // a document that cannot be read has no head
	}
	return is
}

// readerOf returns the minor of the program that reads a file.
func (c *inspection) readerOf(file string) int {
	if file == plan.KubeletConfig || path.Dir(file) == plan.ManifestsDir {
		return c.machine.KubeletMinor
	}
	return c.cluster.Plan.Release.Minor
}

type document struct {
	*node.File
	checker *checker
	static  bool // it is a static pod
}

// checker is a checker for a minor, and what it found in documents and static pods.
type checker struct {
	*kinds.Checker
	documents, pods once.Values[[]kinds.Finding]
}

func (d *document) findings(text []byte) []kinds.Finding {
	if d.static {
		return d.checker.StaticPod(text)
	}
	return append(d.checker.Check(text), machine.Findings(text)...)
}

// all returns what is wrong with the document, and looks at each content once.
func (d *document) all() []kinds.Finding {
	known := &d.checker.documents
	if d.static {
		known = &d.checker.pods
	}
	return known.Of(d.Content, func() []kinds.Finding { return d.findings(d.Content) })
}

// checker returns the checker for a minor, which knows the cluster's custom resources.
func (f *facts) checker(minor int) *checker {
	if known, ok := f.checkers.Load(minor); ok {
		return known.(*checker)
	}
	var definitions [][]byte
	subnets := f.cluster.Plan.ServiceSubnets
	for _, o := range f.cluster.Objects {
		if o.Kind == "ServiceCIDR" {
			subnets = nil // it adds another
		}
		if o.Kind == kinds.Definition {
			definitions = append(definitions, o.YAML)
		}
	}
	made := kinds.New(minor, definitions...)
	made.AnyPlugin = f.cluster.Plan.Config.Spec.Images[target.CoreDNS] != ""
	made.ServiceSubnets = subnets
	made.DNSDomain, made.DNSAddress = f.cluster.Plan.DNSDomain, f.cluster.Plan.DNSAddress
	issuers, _ := f.apiServerFlag("service-account-issuer")
	made.Issuers = strings.Split(cmp.Or(issuers, f.cluster.Plan.Issuer()), ",")
	made.Nodes = f.cluster.Plan.NodeNames()
	for _, o := range f.cluster.Objects {
		if o.Kind == "Service" && strings.HasPrefix(o.Path, "/api/v1/") {
			made.AddService(o.JSON())
		}
	}
	if text, ok := f.apiServerFlag("service-node-port-range"); ok {
		text = cmp.Or(text, fmt.Sprintf("%d-%d", target.FirstNodePort, target.LastNodePort))
		_ = made.NodePorts.Set(text) // config has checked it; the zero value is any port
	}
	if text, ok := f.apiServerFlag("runtime-config"); ok {
		made.Serves = func(apiVersion string) bool { return flags.Serves(text, apiVersion) }
	}
	known, _ := f.checkers.LoadOrStore(minor, &checker{Checker: made})
	return known.(*checker)
}

// apiServerFlag returns the values of a flag of the API server with commas between them, "" without
// the flag. ok is false if a patch may set it.
func (f *facts) apiServerFlag(name string) (value string, ok bool) {
	c := f.cluster.Plan.Config
	var values []string
	for _, a := range c.Spec.ControlPlane.APIServer.ExtraArgs {
		if a.Name == name {
			values = append(values, a.Value)
		}
	}
	return strings.Join(values, ","), c.Mentions(name) == len(values)
}

// problem returns a finding as a problem at the line of the user's file that is to blame. ok
// reports whether there is such a line.
func (c *inspection) problem(d *document, finding kinds.Finding) (p config.Problem, ok bool) {
	found := func(text []byte) bool { return slices.Contains(d.findings(text), finding) }
	cause := c.cluster.Cause(c.machine, d.File, finding.Path, finding.Inner, found)
	if cause.File == "" && d.Why == node.FromConfig {
		return c.cluster.Plan.Config.Problemf(d.From[0], "%s: %s", d.Path, finding), true
	}
	if cause.File == "" || cause.Field == "" {
		return p, false
	}
	p = config.Problem{
		File: cause.File, Line: cause.Line, Column: cause.Column, Path: cause.Field,
	}
	switch subject := headOf(d.Content).String(); {
	case d.Path == plan.KubeletConfig && strings.HasSuffix(cause.Field, "kubelet"):
		p.Path += "." + finding.Path // the fields stand in the configuration itself
		p.Message = finding.Message
	case subject == "":
		p.Message = finding.String()
	default:
		p.Message = subject + ": " + finding.String()
	}
	return p, true
}
