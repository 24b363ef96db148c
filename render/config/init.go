package config

import (
	"bytes"
	_ "embed"
	"fmt"
	"net/netip"
	"strings"
	"text/template"

	"go.yaml.in/yaml/v3"

	"kiln/render/target"
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
	ControlPlanes int    // 1 to 7
	Workers       int    // 0 to 230
	Pool          string // the name of a pool beside them; empty for none
}

// initNode is a machine of the first cluster.yaml.
type initNode struct{ Name, Role, Address, Zone string }

// wholeLimit is the size of a document into which the whole control plane fits, with some room.
const wholeLimit = 40 << 10

// Init returns a first cluster.yaml for people to edit, with comments. Parse accepts the result if
// the names are RFC 1123 labels, the system and the platform exist and fit each other, and the
// control planes can have a quorum.
func Init(o InitOptions) []byte {
	values := struct {
		InitOptions
		Lean     bool
		NoRoutes bool // the platform drops packets between pods with network.cni routed
		Nodes    []initNode
	}{InitOptions: o}
	values.Name, values.Pool = quoteYAML(o.Name), quoteYAML(o.Pool)
	for _, p := range target.Platforms {
		if p.Name == o.Platform {
			values.Lean = 0 < p.Limit && p.Limit < wholeLimit
			values.NoRoutes = p.PodRoutes != nil && p.PodRoutes.Never
		}
	}
	values.Nodes = initNodes("cp", "control-plane", "10.0.0.11", o.ControlPlanes)
	workers := initNodes("worker", "worker", "10.0.0.21", o.Workers)
	if len(workers) > 0 {
		workers[0].Zone = "a"
	}
	values.Nodes = append(values.Nodes, workers...)
	var b bytes.Buffer
	if err := initTemplate.Execute(&b, values); err != nil {
		panic("config: init.yaml: " + err.Error()) // it is in the program
	}
	return b.Bytes()
}

// initNodes returns n machines of a role, whose addresses follow each other.
func initNodes(prefix, role, first string, n int) (nodes []initNode) {
	address := netip.MustParseAddr(first)
	for i := range n {
		nodes = append(nodes, initNode{
			Name: fmt.Sprintf("%s-%d", prefix, i+1), Role: role, Address: address.String(),
		})
		address = address.Next()
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
