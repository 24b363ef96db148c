// Package kinds knows the kinds of Kubernetes: the objects of its API and the configuration files
// of its programs. It finds what a program of Kubernetes would refuse in one of them: a field that
// the kind does not have, a value of another type, and what the program's own validation refuses.
//
// The fields of all kinds are a table, fields.txt, made from the types of Kubernetes itself; the
// types would make the program larger by 5 MB. The rules of values are tables too: rules_*.go,
// workload_rules.go and object_rules.go. In every minor, test/judges holds the fields, and the
// rules of kubelet, kube-proxy, kube-scheduler and Corefile, to the code of Kubernetes.
package kinds

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/net"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// Finding is one thing that a program of Kubernetes would refuse.
type Finding struct {
	Path    string // of the value, as yamltext.Document.Path reads it; "" is the whole document
	Inner   string // of the value in the document whose text is at Path; "" if there is none
	Message string // what was found there, and what is wanted
}

// String returns the finding as a message shows it.
func (f Finding) String() string {
	var parts []string
	for _, part := range []string{f.Path, f.Inner, f.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Checker checks documents for one minor of Kubernetes, in several goroutines.
type Checker struct {
	// AnyPlugin allows a Corefile plugins that CoreDNS' own image does not have.
	AnyPlugin bool
	// ServiceSubnets are those of the cluster; without one, no address of a Service is checked.
	ServiceSubnets []netip.Prefix
	// Nodes are the names of all nodes; empty if they are not known.
	Nodes []string
	// Issuers are those of the API server's own tokens, which no other issuer may be.
	Issuers []string
	// DNSDomain is the domain of Services, and DNSAddress that of CoreDNS' own Service. What is
	// zero is not checked.
	DNSDomain  string
	DNSAddress netip.Addr
	// NodePorts are those that Services may have; with the zero value all are.
	NodePorts net.PortRange
	// Serves reports whether the API server serves an alpha or beta version; nil: not known.
	Serves func(apiVersion string) bool

	minor   int
	schemas map[groupKind]schemas // of custom resources
	claimed map[string]string     // the first Service with an address or a port of nodes
}

// New returns the checker for a minor of Kubernetes, such as 36; for one that the table does not
// know it is the nearest. definitions are the CustomResourceDefinitions, in YAML, that custom
// resources are checked by.
func New(minor int, definitions ...[]byte) *Checker {
	known := fields().minors
	minor = min(max(minor, known[0]), known[len(known)-1])
	c := &Checker{minor: minor, schemas: map[groupKind]schemas{}, claimed: map[string]string{}}
	for _, text := range definitions {
		c.define(text)
	}
	return c
}

type kind struct{ version, name string }

// Check returns what is wrong with a document. Of a kind that is not known it checks the metadata.
// No message quotes a value of a Secret.
func (c *Checker) Check(text []byte) []Finding {
	return c.check(text, nil)
}

// Fields returns what is wrong with the names and types of fields of a kind. It checks no values.
func (c *Checker) Fields(version, name string, values map[string]any) []Finding {
	w := &walk{table: fields(), minor: c.minor, types: true}
	w.structure(values, w.table.typeOf(kind{version, name}, c.minor), &yamltext.Location{})
	return w.findings(nil)
}

// Unknown returns the error about the first of some keys, each below the one before it, that is no
// field of the kind. It returns nil if all are fields, and looks at no key below a list or a free
// map.
func (c *Checker) Unknown(apiVersion, name string, keys []string) *wording.Unknown {
	w := &walk{table: fields(), minor: c.minor}
	typ := w.table.typeOf(kind{apiVersion, name}, c.minor)
	for _, key := range keys {
		if !hasFields(typ) {
			return nil
		}
		next := w.table.field(typ, key, c.minor)
		if next == "" {
			return &wording.Unknown{
				Message: w.unknownField(typ, key),
				Nearest: wording.Nearest(key, w.table.names(typ, c.minor)),
			}
		}
		typ = next
	}
	return nil
}

// StaticPod does what Check does, and adds the rules of the kubelet for static pods.
func (c *Checker) StaticPod(text []byte) []Finding {
	return c.check(text, StaticPod)
}

func (c *Checker) check(text []byte, more []Document) []Finding {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return []Finding{{Message: "is not valid YAML: " + firstLine(err)}}
	}
	var value any
	if err := strictjson.UnmarshalCaseSensitivePreserveInts(data, &value); err != nil {
		return []Finding{{Message: "is not valid YAML: " + firstLine(err)}}
	}
	o, ok := value.(map[string]any)
	if !ok {
		return []Finding{{Message: "want a map, got " + nameOf(value)}}
	}
	version, _ := o["apiVersion"].(string)
	name, _ := o["kind"].(string)
	is := kind{version, name}
	w := &walk{table: fields(), minor: c.minor}
	root := &yamltext.Location{}
	if c.checkCustom(w, is, o, root) {
		w.serverFields(o, root)
		return w.findings(text)
	}
	t := w.table.typeOf(is, c.minor)
	if t == "" {
		w.unknownKind(is, root)
		w.value(o["metadata"], "meta/v1.ObjectMeta", root.Key("metadata"))
		w.serverFields(o, root)
		return w.findings(text)
	}
	c.unserved(w, is, root)
	w.plain = map[string]string{"Secret": "stringData", "ConfigMap": "data"}[name]
	w.value(o, t, root)
	w.serverFields(o, root)
	switch name {
	case "AdmissionConfiguration":
		c.admission(w, o, root)
	case "AuthenticationConfiguration":
		c.issuers(w, o, root)
	case "KubeSchedulerConfiguration":
		c.pluginArgs(w, o, root)
	case Definition:
		w.definedPatterns(o, root)
	case "ConfigMap":
		c.configMap(w, o, root)
	case "Service":
		c.clusterIP(w, o, root)
		c.claims(w, data)
	case "Pod":
		c.nodeName(w, o, root)
	}
	if len(w.found) > 0 && holdsEndless(o) {
		return w.findings(text) // the rules of documents would read the quantity once more
	}
	faults := c.fault(w, root)
	for _, rule := range append(slices.Clip(documents[name]), more...) {
		rule(faults, data)
	}
	return w.findings(text)
}

// fault returns the fault of the value at a location, whose messages the walk collects.
func (c *Checker) fault(w *walk, at *yamltext.Location) *Fault {
	return &Fault{c.minor, at, func(at *yamltext.Location, message string) {
		w.add(at, "%s", message)
	}}
}

// firstLine returns the first line of a YAML error about the text, without values.
func firstLine(err error) string {
	text := strings.TrimPrefix(yamltext.Message(err), "error converting YAML to JSON: ")
	text = strings.TrimPrefix(text, "yaml: unmarshal errors:\n")
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimPrefix(text, "yaml: ")
}

// Configures reports whether a program of Kubernetes reads such documents as configuration.
func Configures(apiVersion, name string) bool {
	group, _, _ := strings.Cut(apiVersion, "/") // of any version: a program reads some alone
	for known := range fields().kinds {
		if strings.HasPrefix(known.version, group+"/") && known.name == name {
			return isConfiguration(apiVersion)
		}
	}
	return false
}

// isConfiguration reports whether kinds of that apiVersion are files of programs and not objects.
func isConfiguration(apiVersion string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	return strings.HasSuffix(group, ".config.k8s.io") || group == "audit.k8s.io" ||
		group == "apiserver.k8s.io" || strings.HasSuffix(group, ".admission.k8s.io")
}

// unknownKind reports a kind that its group does not have. Those of other groups are custom.
func (w *walk) unknownKind(is kind, at *yamltext.Location) {
	if is.version == "" || is.name == "" {
		w.add(at, "apiVersion or kind is missing; write both")
		return
	}
	group := groupOf(is.version)
	var versions, names []string
	elsewhere, moved := false, ""
	for known, rows := range w.table.kinds {
		if !slices.ContainsFunc(rows, func(r row) bool { return r.holds(w.minor) }) {
			elsewhere = elsewhere || known == is
			continue
		}
		if groupOf(known.version) != group {
			if known.name == is.name && !isConfiguration(known.version) &&
				!isUnstable(known.version) && (moved == "" || known.version < moved) {
				moved = known.version
			}
			continue
		}
		if known.name == is.name {
			versions = append(versions, known.version)
		}
		if known.version == is.version {
			names = append(names, known.name)
		}
		elsewhere = true
	}
	if !elsewhere && strings.Contains(group, ".") {
		return // a custom resource
	}
	slices.Sort(versions)
	slices.Sort(names)
	if stable := slices.DeleteFunc(slices.Clone(versions), isUnstable); len(stable) > 0 {
		versions = stable
	}
	if is.name == "PodSecurityPolicy" {
		w.add(at.Key("kind"), "Kubernetes has no PodSecurityPolicy since 1.25; remove it, and "+
			"label namespaces with pod-security.kubernetes.io/enforce")
		return
	}
	if len(versions) > 0 {
		w.add(at.Key("apiVersion"), "Kubernetes 1.%d has no %s in %s; write %s", w.minor, is.name,
			is.version, strings.Join(versions, " or "))
		return
	}
	if moved != "" {
		w.add(at.Key("apiVersion"), "Kubernetes 1.%d has no %s in %s; write %s", w.minor, is.name,
			is.version, moved)
		return
	}
	w.add(at.Key("kind"), "Kubernetes 1.%d has no kind %s in %s%s", w.minor, is.name, is.version,
		wording.Hint(is.name, names))
}

// neverStored are the kinds of objects that an API server answers and does not store, beside those
// of the groups authentication and authorization: a request to apply one gets 404 or 405
// (k8s.io/kubernetes v1.36.3, pkg/registry: the storage has create alone, or get).
var neverStored = []kind{
	{"autoscaling/v1", "Scale"}, {"policy/v1", "Eviction"}, {"v1", "Binding"},
	{"v1", "ComponentStatus"}, {"v1", "PodStatusResult"}, {"v1", "RangeAllocation"},
}

// unserved reports a kind that the API server does not store, and a version that it does not serve:
// it serves alpha and beta versions only if runtime-config has them (k8s.io/kubernetes v1.34.4 to
// v1.37.1, pkg/controlplane/instance.go: betaAPIGroupVersionsDisabledByDefault).
func (c *Checker) unserved(w *walk, is kind, at *yamltext.Location) {
	group := groupOf(is.version)
	if slices.Contains(neverStored, is) || group == "authentication.k8s.io" ||
		group == "authorization.k8s.io" {
		w.add(at.Key("kind"), "the API server stores no %s, and the first boot would try to apply "+
			"it for ever; remove it", is.name)
	}
	if c.Serves == nil || !isUnstable(is.version) || isConfiguration(is.version) ||
		c.Serves(is.version) {
		return
	}
	instead := ""
	for known, rows := range w.table.kinds {
		if known.name == is.name && groupOf(known.version) == group &&
			!isUnstable(known.version) && typeIn(rows, w.minor) != "" {
			instead = known.version + " here, or "
		}
	}
	w.add(at.Key("apiVersion"), "the API server does not serve %s by itself; write %sthe flag "+
		"runtime-config with %[1]s=true into controlPlane.apiServer.extraArgs", is.version, instead)
}

// isUnstable reports whether an apiVersion is an alpha or beta one, which few API servers serve.
func isUnstable(apiVersion string) bool {
	return strings.Contains(apiVersion, "alpha") || strings.Contains(apiVersion, "beta")
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// findings returns what was found, with the names of elements in the paths.
func (w *walk) findings(text []byte) []Finding {
	if len(w.found) == 0 {
		return nil
	}
	var out []Finding
	docs := yamltext.Documents(text)
	for _, m := range w.found {
		f := Finding{Path: m.at.String(), Inner: m.inner, Message: m.message}
		if len(docs) > 0 {
			f.Path = docs[0].PathAt(m.at).String()
		}
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Inner, b.Inner))
	})
	return out
}
