package render

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln/pki"
	"kiln/render/node"
	"kiln/render/plan"
)

// Check states what must hold of every machine that leaves the renderer, whatever the configuration. The program runs
// it at each render; it returns everything that does not hold.
func (r *Cluster) Check(m *plan.Machine, n *node.Node) error {
	c := &checker{cluster: r, machine: m, node: n, there: map[string]bool{}}
	c.tree()
	c.secrets()
	c.certificates()
	c.references()
	return errors.Join(c.errs...)
}

type checker struct {
	cluster *Cluster
	machine *plan.Machine
	node    *node.Node
	there   map[string]bool // every path that the machine has after its first boot's files are written
	errs    []error
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// tree: every path once, absolute and clean; nothing lies below a file; units of ours have their text.
func (c *checker) tree() {
	add := func(kind, p string) {
		switch {
		case !path.IsAbs(p) || path.Clean(p) != p:
			c.fail("%s %q: not an absolute, clean path", kind, p)
		case c.there[p]:
			c.fail("%s %s: the path is used twice", kind, p)
		}
		c.there[p] = true
	}
	files := map[string]bool{}
	for _, f := range c.node.Files {
		add("file", f.Path)
		files[f.Path] = true
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
	for p := range c.there {
		for parent := path.Dir(p); parent != "/"; parent = path.Dir(parent) {
			if files[parent] {
				c.fail("%s: lies below %s, which is a file", p, parent)
			}
		}
	}
}

// secrets: only their owner may read them, a private key is always marked as one, and a worker has none but its own.
func (c *checker) secrets() {
	keys := 0
	for _, f := range c.node.Files {
		key := strings.Contains(string(f.Content), " PRIVATE KEY-----")
		if key {
			keys++
		}
		if key && f.Secret == "" {
			c.fail("file %s: holds a private key and is not marked as a secret", f.Path)
		}
		if f.Secret != "" && f.Mode&0o077 != 0 && !strings.HasPrefix(f.Secret, "file ") {
			c.fail("file %s: a secret that others may read (mode %04o)", f.Path, f.Mode)
		}
		if c.machine.ControlPlane() {
			continue
		}
		if own := strings.HasPrefix(f.Secret, "kubelet-") || f.Secret == "" || strings.HasPrefix(f.Secret, "token/") || strings.HasPrefix(f.Secret, "file "); !own {
			c.fail("file %s: a worker must not have the secret %s", f.Path, f.Secret)
		}
	}
}

// certificates: each one on the machine that we issued verifies against the CA that its clients use, for its purpose
// and names, at the bundle's issue time.
func (c *checker) certificates() {
	b := c.cluster.Bundle
	for _, spec := range b.Specs(c.cluster.Plan, c.machine) {
		f := c.node.File(spec.CertPath)
		if f == nil {
			c.fail("certificate %s: %s is missing", spec.Name, spec.CertPath)
			continue
		}
		block, _ := pem.Decode(f.Content)
		if block == nil {
			c.fail("certificate %s: %s is not PEM", spec.Name, spec.CertPath)
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			c.fail("certificate %s: %w", spec.Name, err)
			continue
		}
		roots := x509.NewCertPool()
		roots.AddCert(b.Authority(spec.Signer).Certificate)
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: spec.Usages, CurrentTime: b.Issued}); err != nil {
			c.fail("certificate %s: %w", spec.Name, err)
		}
		for _, name := range slices.Concat(spec.Names.DNS, addressTexts(spec)) {
			if err := cert.VerifyHostname(name); err != nil && !strings.HasPrefix(name, "*.") {
				c.fail("certificate %s: %w", spec.Name, err)
			}
		}
	}
}

// references: every path on the machine that a static pod, a kubeconfig or the kubelet's configuration names is there.
func (c *checker) references() {
	for _, f := range c.node.Files {
		var doc map[string]any
		switch {
		case path.Dir(f.Path) == plan.ManifestsDir, strings.HasSuffix(f.Path, ".conf") && path.Dir(f.Path) == plan.KubernetesDir, f.Path == plan.KubeletConfig:
			if err := yaml.Unmarshal(f.Content, &doc); err != nil {
				c.fail("file %s: %w", f.Path, err)
				continue
			}
		default:
			continue
		}
		walk(doc, func(text string) {
			_, value, found := strings.Cut(text, "=")
			if !found {
				value = text
			}
			if ours(value) && !c.has(value) {
				c.fail("file %s: names %s, which the machine does not have", f.Path, value)
			}
		})
	}
}

// has says whether a path is there, as a file, link or directory, or as the parent of one.
func (c *checker) has(p string) bool {
	if c.there[p] {
		return true
	}
	for q := range c.there {
		if strings.HasPrefix(q, p+"/") {
			return true
		}
	}
	return false
}

// ours says whether a path is one that only the document can bring.
func ours(p string) bool {
	for _, dir := range []string{plan.KubernetesDir, "/etc/etcd", plan.KubeletPKI} {
		if strings.HasPrefix(p, dir+"/") && !strings.ContainsAny(p, " \n") {
			return true
		}
	}
	return false
}

func walk(v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			walk(e, visit)
		}
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case string:
		visit(v)
	}
}

func addressTexts(spec pki.Spec) (out []string) {
	for _, a := range spec.Names.IPs {
		out = append(out, a.String())
	}
	return out
}
