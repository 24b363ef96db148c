package change

import (
	"path"
	"regexp"
	"strings"
)

// effect is what a change of a machine's document asks for while the machine runs. A machine reads its document once; afterwards, only
// an empty disk makes it read the new one.
type effect int

const (
	// later: a running machine has no use for it. It counts when the machine is replaced, whenever that is.
	later effect = iota
	// live: it may be brought to the running machine, and waits for nothing.
	live
	// node: it is the Node's, which the API server keeps. A kubelet says it only when it makes its Node anew (kubelet_node_status.go,
	// tryRegisterWithAPIServer), so that even a replaced machine has what its Node had before.
	node
	// apply: the API server holds what the file says, since the cluster was formed; the file changes nothing any more.
	apply
	// replace: the running machine goes on as before until it is replaced.
	replace
)

// rule says what a change of some things means.
type rule struct {
	kind  string         // of the thing; empty for all
	path  string         // of a file, as for path.Match; ending in / for all below; empty for all
	field *regexp.Regexp // the field's name; nil for all
	line  *regexp.Regexp // the text that came or went; nil for all
	then  effect
	why   string
}

// rules are tried in this order; what no rule is about asks for a replacement.
var rules = []rule{
	{kind: "machine", field: regexp.MustCompile(`^until$`), then: later, why: "its certificates or token end at another time"},
	{kind: "machine", field: regexp.MustCompile(`^kubelet$`), then: replace, why: "another kubelet"},

	{path: "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf", field: regexp.MustCompile(` --node-labels$`), then: node, why: "a Node keeps its labels"},
	{path: "/var/lib/kubelet/config.yaml", field: regexp.MustCompile(`^registerWithTaints`), then: node, why: "a Node keeps its taints"},

	{path: "/etc/kiln/routes", then: live, why: "routes to other machines' pods"},
	{path: "/etc/kiln/objects/", then: apply, why: "API objects are applied when the cluster is formed"},

	{path: "/etc/kiln/boot", then: later, why: firstBoot},
	{path: "/etc/kiln/steps", then: later, why: firstBoot},
	{path: "/etc/kiln/machine", then: later, why: firstBoot},
	{path: "/etc/kiln/checks", then: later, why: firstBoot},
	{path: "/etc/kiln/files", then: later, why: firstBoot},
	{path: "/etc/kiln/report", then: later, why: firstBoot},
	{path: "/etc/kiln/node.yaml", then: later, why: firstBoot},
	{path: "/etc/kiln/pre-boot/", then: later, why: firstBoot},
	{path: "/etc/kiln/post-boot/", then: later, why: firstBoot},
	{path: "/etc/systemd/system/kiln.service", then: later, why: firstBoot},
	{path: "/etc/kubernetes/admin.conf", then: later, why: firstBoot},
	{path: "/etc/kubernetes/bootstrap-kubelet.conf", then: later, why: "only a machine that joins needs the token"},
	{path: "/etc/kubernetes/pki/install.crt", then: later, why: firstBoot},
	{path: "/etc/kubernetes/pki/install.key", then: later, why: firstBoot},

	{path: "/etc/kubernetes/manifests/etcd.yaml", field: regexp.MustCompile(` --initial-(cluster|cluster-state|cluster-token)$`), then: later, why: "etcd reads its first members with an empty disk only"},
	{path: "/etc/kubernetes/manifests/kube-apiserver.yaml", field: regexp.MustCompile(` --etcd-servers$`), then: later, why: "the members of etcd that it knows are enough to reach it"},
	{path: "/etc/kubernetes/haproxy.cfg", line: regexp.MustCompile(`^  server `), then: later, why: "the balancer goes on with the API servers that it knows"},

	{path: "/etc/kubernetes/proxy.conf", then: later, why: "nothing reads it: kube-proxy has its service account"},
	{path: "/etc/containerd/config.toml", line: regexp.MustCompile(`^sandbox_image = `), then: later, why: "sandboxes that run keep their image"},

	{field: regexp.MustCompile(`^certificate (from|until)$`), then: later, why: "the certificate that it has is valid until its own end"},
}

const firstBoot = "read by the first boot only"

// effectOf says what a field's change means, and why if it is not that a running machine keeps what it has.
func effectOf(c *Change, f *Field) (effect, string) {
	for _, r := range rules {
		if r.matches(c, f) {
			return r.then, r.why
		}
	}
	return replace, ""
}

func (r *rule) matches(c *Change, f *Field) bool {
	if r.kind != "" && r.kind != c.Kind || r.field != nil && (f == nil || !r.field.MatchString(f.Name)) {
		return false
	}
	if r.line != nil && (f == nil || !r.line.MatchString(f.either())) {
		return false
	}
	switch {
	case r.path == "":
		return true
	case c.Kind != "file":
		return false
	case strings.HasSuffix(r.path, "/"):
		return strings.HasPrefix(c.Name, r.path)
	}
	ok, err := path.Match(r.path, c.Name)
	return err == nil && ok
}

// either is the value that a field has now, or had.
func (f *Field) either() string {
	switch {
	case f.New != nil:
		return *f.New
	case f.Old != nil:
		return *f.Old
	}
	return ""
}
