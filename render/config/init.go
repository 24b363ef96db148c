package config

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

//go:embed init.yaml
var initText string

var initTemplate = template.Must(
	template.New("init.yaml").Option("missingkey=error").Parse(initText))

// InitOptions says what the first cluster.yaml is to describe.
type InitOptions struct {
	Name          string
	OS            string // of all machines
	Platform      string // of all machines
	Arch          string // of all machines: amd64 or arm64
	ControlPlanes int    // 1 to 7
	Workers       int    // 0 to 230
	Pool          string // the name of a pool beside them; empty for none
	Endpoint      string // empty for an example
	// Addresses are those of the control planes and then of the workers; empty for examples.
	Addresses []string
	SSHKey    string // the line of a public key; empty for none
}

// place is where the machines of a platform stand that a page docs/walk-….md describes.
type place struct {
	Endpoint string            // of the cluster; {name} is its name
	Subnets  []string          // the prefixes of three bytes between which machines take turns
	Bodies   string            // what stands for the server in the URL of bodies
	Resolver map[string]string // the kubelet's resolvConf, by the system of the platform's image
	Walk     string            // the page
	System   string            // the operating system of the page

	VIP    bool   // kube-vip carries the endpoint's address, if there are several control planes
	Mirror string // where machines of the page fetch their programs
	MACs   string // the MAC of each machine of the page, without the last two bytes
}

var places = map[string]place{
	"": { // of any other platform
		Subnets: []string{"10.0.0."}, Bodies: "http://boot.example.com",
	},
	"aws": {
		Endpoint: "api.{name}.internal:6443", Walk: "docs/walk-aws.md", System: "ubuntu",
		Subnets: []string{"10.0.1.", "10.0.2.", "10.0.3."}, // one a zone
		Bodies:  "https://my-bucket.s3.eu-central-1.amazonaws.com",
	},
	"hetzner": {
		Endpoint: "10.0.0.10:6443", Walk: "docs/walk-hetzner.md", System: "debian",
		Subnets: []string{"10.0.0."}, Bodies: "https://my-bucket.fsn1.your-objectstorage.com",
		// Its image of Debian has no systemd-resolved (kubernetes/kops#16494).
		Resolver: map[string]string{"debian": "/etc/resolv.conf"},
	},
	"metal": {
		Endpoint: "10.0.0.10:6443", VIP: true, Walk: "docs/walk-pxe.md", System: "flatcar",
		Subnets: []string{"10.0.0."}, Mirror: "http://10.0.0.5:8080", MACs: "52:54:00:00",
	},
	"qemu": {
		Walk: "docs/walk-qemu.md", System: "debian",
		Subnets: []string{"10.0.0."},
	},
}

// Placeholder is the ID of a problem with a value that Init wrote and nobody replaced.
const Placeholder = "placeholder"

// Mark stands in a comment behind each value that people have to replace.
const Mark = "REPLACE"

// examples match the values with a mark of places and init.yaml.
var examples = regexp.MustCompile(`^(http://)?(api|boot)\.example\.com\b|^https://my-bucket\.|` +
	`^api\.[a-z0-9-]+\.internal:6443$|` +
	`^10\.0\.[0-9]+\.[0-9]+(:6443)?$|^52:54:00:00:`)

// placeholders reports each value that Init wrote and that still has its mark. marked reports
// whether the key of n, or a list around it, has one.
func (r *reporter) placeholders(n *yaml.Node, at *yamltext.Location, marked bool) {
	marked = marked || strings.Contains(n.LineComment, Mark)
	if marked && n.Kind == yaml.ScalarNode && examples.MatchString(n.Value) {
		r.found = append(r.found, Problem{
			ID: Placeholder, File: r.file, Line: n.Line, Column: n.Column, Path: at.String(),
			Message: quote(n.Value) + " is what kiln init writes; write your own, or remove " +
				"the mark " + Mark + " behind it if it is right",
		})
	}
	for i, inner := range n.Content {
		switch {
		case n.Kind == yaml.SequenceNode:
			r.placeholders(inner, at.Index(i), marked)
		case n.Kind == yaml.MappingNode && i%2 == 1:
			key := n.Content[i-1]
			below := at.Key(key.Value)
			if key.Value == "spec" && at.Parent() == nil {
				_, below = locations()
			}
			r.placeholders(inner, below, strings.Contains(key.LineComment, Mark))
		}
	}
}

type initNode struct {
	Name, Role, Address, MAC, Zone string

	Mark bool // people have to replace the address
}

// wholeLimit is the size of a document into which the whole control plane fits, with some room.
const wholeLimit = 40 << 10

// Init returns a first cluster.yaml for people to edit, with comments. Parse accepts the result if
// the names are RFC 1123 labels, the system and the platform exist and fit each other, and the
// control planes can have a quorum.
func Init(o InitOptions) []byte {
	at, ok := places[o.Platform]
	if !ok {
		at = places[""]
	}
	if at.System != o.OS {
		at.Walk, at.Mirror, at.MACs = "", "", ""
	}
	if at.VIP && o.ControlPlanes == 1 {
		at.Endpoint, at.VIP = "", false
	}
	if host, _, _ := splitEndpoint(o.Endpoint); host != "" && !readAddress(host).IsValid() {
		at.VIP = false // the name of a load balancer
	}
	values := struct {
		InitOptions
		place
		ResolvConf string
		Lean       bool
		Alone      bool // there are no workers
		Nodes      []initNode
		Endpoint   string
		// MarkEndpoint reports whether people have to replace the endpoint.
		MarkEndpoint bool
	}{InitOptions: o, place: at, ResolvConf: at.Resolver[o.OS]}
	values.Name, values.Pool = quoteYAML(o.Name), quoteYAML(o.Pool)
	values.Endpoint = cmp.Or(o.Endpoint, strings.ReplaceAll(at.Endpoint, "{name}", o.Name))
	values.MarkEndpoint = o.Endpoint == "" && at.Walk == ""
	for _, p := range target.Platforms {
		if p.Name == o.Platform {
			values.Lean = 0 < p.Limit && p.Limit < wholeLimit
		}
	}
	values.Nodes = initNodes(at, "cp", "control-plane", 11, o.ControlPlanes)
	workers := initNodes(at, "worker", "worker", 21, o.Workers)
	for i := range workers {
		if i < len(at.Subnets) && (len(at.Subnets) > 1 || at.Walk != "") {
			workers[i].Zone = string(rune('a' + i))
		}
	}
	values.Nodes = append(values.Nodes, workers...)
	for i := range values.Nodes {
		values.Nodes[i].Mark = at.Walk == "" && len(o.Addresses) == 0
		if i < len(o.Addresses) {
			values.Nodes[i].Address = o.Addresses[i]
		}
	}
	values.Alone = o.Workers == 0 && o.Pool == ""
	var b bytes.Buffer
	if err := initTemplate.Execute(&b, values); err != nil {
		panic("config: init.yaml: " + err.Error()) // it is in the program
	}
	return b.Bytes()
}

// initNodes returns n machines of a role. Their addresses end in numbers that follow each other.
func initNodes(at place, prefix, role string, first, n int) (nodes []initNode) {
	for i := range n {
		node := initNode{
			Name: fmt.Sprintf("%s-%d", prefix, i+1), Role: role,
			Address: fmt.Sprintf("%s%d", at.Subnets[i%len(at.Subnets)], first+i),
		}
		if at.MACs != "" { // it ends like the address
			node.MAC = fmt.Sprintf("%s:%02d:%02d", at.MACs, (first+i)/100, (first+i)%100)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// quoteYAML returns a string as YAML has it on one line: in quotes if it would be something else
// without them, such as 1234 and on. The empty string stays empty.
func quoteYAML(s string) string {
	if s == "" {
		return ""
	}
	quoted, err := yaml.Marshal(s)
	if err != nil {
		return s // the library cannot fail on a string
	}
	return strings.TrimSuffix(string(quoted), "\n")
}
