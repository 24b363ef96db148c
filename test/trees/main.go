// Command trees writes the content of every golden cluster's machines, for judges that know nothing
// of kiln: each case, as every known minor of Kubernetes, packed in both formats and unpacked
// again.
//
//	go run ./test/trees DIR
//
// writes DIR/vMAJOR.MINOR/CASE/FORMAT.json, each a list of machines (type Machine).
//
//	go run ./test/trees -documents FOLDER
//
// prints such a list of the machines whose documents kiln render has written into FOLDER.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/ignition"
)

// clusters holds the golden cases.
const clusters = "testdata/clusters"

// versions are the releases that the judges are built from. A case that asks for the first is also
// rendered as the others, unless its machines fetch a kubelet that kiln does not know for them.
var versions = []string{"v1.36.3", "v1.34.4", "v1.35.4", "v1.37.1"}

// needs holds the minor before which a case is not valid: the case uses features that older
// releases do not have. All minors have two digits, so they compare as strings.
var needs = map[string]string{"worker-roles": "v1.36"}

// Machine is one machine as its document leaves it.
type Machine struct {
	Case       string
	Format     string // ignition or cloud-init
	OS         string
	Role       string // control-plane, worker or etcd
	Kubernetes string // version of the control plane
	Kubelet    string // version of the kubelet
	Pool       bool
	node.Node
}

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && !strings.HasPrefix(os.Args[1], "-"):
		err = run(os.Args[1])
	case len(os.Args) == 3 && os.Args[1] == "-documents":
		err = unpackAll(os.Args[2], os.Stdout)
	default:
		fmt.Fprintln(os.Stderr, "usage: trees DIR\n       trees -documents FOLDER")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "trees:", err)
		os.Exit(1)
	}
}

// unpackAll prints the machines whose documents are in a folder, FOLDER/MACHINE/DOCUMENT.
func unpackAll(folder string, out io.Writer) error {
	var machines []Machine
	for _, d := range []struct {
		name, format string
		unpack       func([]byte) (node.Node, error)
	}{
		{"user-data", "cloud-init", cloudinit.Unpack},
		{"config.ign", "ignition", new(ignition.Unpacker).Unpack},
	} {
		paths, err := filepath.Glob(filepath.Join(folder, "*", d.name))
		if err != nil {
			return err
		}
		for _, path := range paths {
			doc, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n, err := d.unpack(doc)
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			n.Name = filepath.Base(filepath.Dir(path))
			m := Machine{Format: d.format, Node: n}
			if m.Role = roleOf(&n); m.Role == "" {
				return fmt.Errorf("%s: the document gives the machine no role", path)
			}
			machines = append(machines, m)
		}
	}
	if len(machines) == 0 {
		return fmt.Errorf("%s: there are no documents", folder)
	}
	return json.NewEncoder(out).Encode(machines)
}

// roleOf returns the role that the hook is told, or "".
func roleOf(n *node.Node) string {
	if f := n.File("/etc/kiln/machine"); f != nil {
		for line := range strings.Lines(string(f.Content)) {
			if role, ok := strings.CutPrefix(strings.TrimSpace(line), "role="); ok {
				return strings.Trim(role, "'")
			}
		}
	}
	return ""
}

func run(out string) error {
	entries, err := os.ReadDir(clusters)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "invalid-") {
			continue
		}
		dir := filepath.Join(clusters, e.Name())
		text, err := os.ReadFile(filepath.Join(dir, "cluster.yaml"))
		if err != nil {
			return err
		}
		for i, version := range versions {
			if i > 0 && !strings.Contains(string(text), "kubernetesVersion: "+versions[0]+"\n") {
				continue
			}
			if version < needs[e.Name()] || i > 0 && !fetchable(dir, string(text), version) {
				continue
			}
			if err := one(dir, string(text), version, out); err != nil {
				return fmt.Errorf("%s as %s: %w", e.Name(), version, err)
			}
		}
	}
	return nil
}

// fetchable reports whether the machines of a case can have a release: they have it in their image,
// or fetch what the table of programs has. A lock is for one release.
func fetchable(dir, text, version string) bool {
	if _, err := os.Stat(filepath.Join(dir, "cluster.lock.yaml")); err == nil {
		return false
	}
	_, ok := target.FindArtifact(target.PublishedArtifacts, "kubelet", version, "amd64")
	return ok || !strings.Contains(text, "source: download")
}

// one renders a case as one version and writes both formats.
func one(dir, text, version, out string) error {
	tmp, err := os.MkdirTemp("", "trees")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.CopyFS(tmp, os.DirFS(dir)); err != nil {
		return err
	}
	text = strings.Replace(text, "kubernetesVersion: "+versions[0]+"\n",
		"kubernetesVersion: "+version+"\n", 1)
	path := filepath.Join(tmp, "cluster.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	c, err := render.Config(&folder.Input{Path: path})
	if err != nil {
		return err
	}
	secrets, err := os.ReadFile(filepath.Join(tmp, "bundle", "secrets.yaml"))
	if err != nil {
		return err
	}
	b, err := pki.Load(secrets)
	if err != nil {
		return err
	}
	r, err := render.New(c, b)
	if err != nil {
		return err
	}
	minor := r.Plan.Version[:strings.LastIndex(r.Plan.Version, ".")]
	for format, pack := range map[string]func(*node.Node) (node.Node, error){
		"ignition": asIgnition, "cloud-init": asCloudInit,
	} {
		var machines []Machine
		for i := range r.Plan.Machines {
			m := &r.Plan.Machines[i]
			n, err := r.Node(i)
			if err != nil {
				return err
			}
			if format == "cloud-init" && len(n.Extra) > 0 {
				continue // disks and the like, which only Ignition can express
			}
			if format == "ignition" && len(n.CloudConfig) > 0 {
				continue // the same of cloud-init
			}
			unpacked, err := pack(n)
			if err != nil {
				return err
			}
			kubelet := m.Settings.KubeletVersion
			if kubelet == "" {
				kubelet = r.Plan.Version
			}
			unpacked.Name = m.Name
			machines = append(machines, Machine{
				filepath.Base(dir), format, m.System.Name, m.Role,
				r.Plan.Version, kubelet, m.Pool, unpacked,
			})
		}
		if len(machines) == 0 {
			continue
		}
		data, err := json.Marshal(machines)
		if err != nil {
			return err
		}
		path := filepath.Join(out, minor, filepath.Base(dir), format+".json")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func asIgnition(n *node.Node) (node.Node, error) {
	doc, err := new(ignition.Packer).Pack(n, 0)
	if err != nil {
		return node.Node{}, err
	}
	return new(ignition.Unpacker).Unpack(doc)
}

func asCloudInit(n *node.Node) (node.Node, error) {
	doc, err := new(cloudinit.Packer).Pack(n, 0, false)
	if err != nil {
		return node.Node{}, err
	}
	return cloudinit.Unpack(doc)
}
