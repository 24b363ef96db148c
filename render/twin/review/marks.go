package review

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/once"
	"kiln.dev/kiln/render/machine/assembly"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/render/text/credential"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/templates"
)

// Documents reads the machines of the documents that an inventory lists, and does once what they
// have in common. Its methods may be called from several goroutines.
type Documents struct {
	inv          *document.Inventory
	open         func(name string) ([]byte, error)
	parser       document.Parser
	rotations    map[string]*pki.Rotation
	clusterMarks map[string]bool
	holds        once.Values[bool] // whether a content holds a credential
}

// NewDocuments returns what reads the documents of an inventory. The function open returns the
// content of a file by its path in the inventory. It fails if the facts of the inventory cannot be
// read.
func NewDocuments(
	inv *document.Inventory, open func(name string) ([]byte, error),
) (*Documents, error) {
	d := &Documents{inv: inv, open: open, clusterMarks: map[string]bool{}}
	for _, e := range inv.Documents {
		for _, mark := range e.Secrets {
			d.clusterMarks[mark] = true
		}
	}
	var err error
	d.rotations, err = pki.ParseRotations(inv.Facts)
	return d, err
}

// Twin returns the twin of the cluster, to which AddTo adds the machines. A document does not name
// its secrets: the inventory names them, and the table of secrets has the path of each. Two facts
// are in no document: the generation of a CA whose key is on no machine, and the operator's
// kubeconfig. Twin fails for a name or a version that no machine can have.
func (d *Documents) Twin() (*Twin, error) {
	t := newTwin(&change.Cluster{
		Name: d.inv.Name, UUID: d.inv.Cluster, Version: d.inv.Kubernetes,
	}, d.inv.Facts)
	t.sealed = true
	for _, e := range d.inv.Documents {
		if !config.IsMachineName(e.Node) {
			return nil, fmt.Errorf("%q is no name of a machine: this is no inventory of kiln's",
				e.Node)
		}
		if e.Kubelet != "" && !version.MatchString(e.Kubelet) {
			return nil, fmt.Errorf("%s: %q is no version of a kubelet: this is no inventory of "+
				"kiln's", e.Node, e.Kubelet)
		}
		t.addMachine(describeMachine(&change.Machine{
			Pool: e.Pool, Name: e.Node, Role: e.Role,
			OS: e.OS, Platform: e.Platform, Format: e.Format,
		}, e.Kubelet, e.Addresses, e.ValidUntil))
	}
	return t, nil
}

// AddTo adds the i-th machine to the twin. It fails as Machine does, and as Add of the twin.
func (d *Documents) AddTo(t *Twin, i int) error {
	u, err := d.Machine(i)
	if err != nil {
		return err
	}
	if err := t.Add(i, u.node); err != nil {
		return fmt.Errorf("%s: %w", d.inv.Documents[i].Document, err)
	}
	if IsEdited(u.node) {
		t.cluster.Machines[i].Twin = "-" // of no machine
	}
	return nil
}

// Machine reads the i-th document with its body and the network-config beside it, and marks its
// secrets as the inventory names them. It fails if a file cannot be opened or read, and if a body
// is not its document's.
func (d *Documents) Machine(i int) (*Unpacked, error) {
	e := &d.inv.Documents[i]
	data, err := d.open(e.Document)
	if err != nil {
		return nil, err
	}
	n, err := d.parser.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Document, err)
	}
	u := &Unpacked{node: n}
	if e.Body != nil {
		body, err := d.open(e.Body.Document)
		if err == nil {
			err = u.Fetch(body)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Body.Document, err)
		}
	}
	for _, name := range e.Others {
		if path.Base(name) == document.NetworkConfigFile {
			if u.node.NetworkConfig, err = d.open(name); err != nil {
				return nil, err
			}
		}
	}
	m := &marker{Documents: d, machine: e.Node, marks: map[string]bool{}}
	for _, mark := range e.Secrets {
		m.marks[mark] = true
	}
	m.restore(u.node)
	return u, nil
}

// marker finds the marks of the files of an unpacked machine. A mark is the name of a secret with
// its generation, if it has one: "ca g1".
type marker struct {
	*Documents
	machine string
	marks   map[string]bool // of the machine's secrets
	objects map[string]string
}

// rootMark returns the mark of the i-th certificate or public key in a file of a root's: the one
// that signs is the first. It has no generation if the root never was rotated and its key is on no
// machine.
func (m *marker) rootMark(root string, i int) string {
	if r := m.rotations[root]; r != nil {
		if generations := r.Generations(); i < len(generations) {
			return fmt.Sprintf("%s g%d", root, generations[i])
		}
	}
	return cmp.Or(findMark(m.clusterMarks, root), root)
}

// restore sets Secret and Shown of each file as they were when the machine was rendered.
func (m *marker) restore(n *node.Node) {
	m.objects = map[string]string{} // paths in the API, by the names of files
	index := n.File(plan.ObjectsDir + "index")
	var entries []string
	if index != nil {
		for line := range strings.Lines(string(index.Content)) {
			apiPath, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			m.objects[name] = apiPath
			entries = append(entries, name+" is "+m.publicPath(name))
		}
	}
	for i := range n.Files {
		f := &n.Files[i]
		f.Secret = m.fileMark(f)
		f.Shown = m.shownLines(f)
	}
	if index != nil {
		index.Shown = entries
	}
}

// fileMark returns the mark of the secret in a file. It is empty if the file holds no secret, and
// change.Unknown if it holds one that the inventory does not name.
func (m *marker) fileMark(f *node.File) string {
	if dir, name := path.Split(f.Path); dir == plan.ObjectsDir {
		if mark := m.tokenMark(name); mark != "" {
			return mark
		}
		if mark := "object " + m.objects[name]; m.marks[mark] {
			return mark
		}
	}
	for _, k := range secret.Kinds {
		if k.Path != f.Path {
			continue
		}
		if mark := findMark(m.marks, k.NameOn(m.machine)); mark != "" {
			return mark
		}
	}
	switch mark := "file " + f.Path; {
	case m.marks[mark]:
		return mark
	case m.holds.Of(f.Content, func() bool { return credential.Holds(f.Content) }):
		return change.Unknown
	}
	return ""
}

// tokenMark returns the mark of a bootstrap token by the name of the file with its Secret. It is
// empty for every other object: none has such a path in the API.
func (m *marker) tokenMark(name string) string {
	const inAPI = "/namespaces/kube-system/secrets/bootstrap-token-"
	_, owner, ok := strings.Cut(strings.TrimSuffix(name, ".yaml"), "-secret-")
	if !ok || !strings.Contains(m.objects[name], inAPI) {
		return ""
	}
	if pool, ok := strings.CutPrefix(owner, plan.TokenFile); ok {
		return findMark(m.marks, pki.TokenName(pool))
	}
	if pool, ok := strings.CutPrefix(owner, plan.PreviousTokenFile); ok {
		// The previous token is that of the lower generation.
		if all := findMarks(m.marks, pki.TokenName(pool)); len(all) > 1 {
			return all[1]
		}
	}
	return ""
}

// publicPath returns the path of an object in the API. The path of a bootstrap token's Secret ends
// with the ID of the token, so a name stands in its place.
func (m *marker) publicPath(name string) string {
	apiPath := m.objects[name]
	if mark := m.tokenMark(name); mark != "" {
		return manifests.TokenPath(apiPath, mark)
	}
	return apiPath
}

// findMark returns the mark of a secret by its name without a generation, that of the last
// generation if there are several. It is empty if the secret is not among the marks.
func findMark(marks map[string]bool, name string) string {
	if all := findMarks(marks, name); len(all) > 0 {
		return all[0]
	}
	return ""
}

// findMarks returns the marks of a secret by its name without a generation, the last generation
// first.
func findMarks(marks map[string]bool, name string) (all []string) {
	if marks[name] {
		return []string{name}
	}
	generation := func(mark string) int {
		_, number, _ := strings.Cut(mark, " g")
		n, _ := strconv.Atoi(number) // inventories are written by kiln
		return n
	}
	for mark := range marks {
		if base, _, ok := strings.Cut(mark, " g"); ok && base == name {
			all = append(all, mark)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(generation(b)-generation(a), strings.Compare(a, b))
	})
	return all
}

// shownLines returns the lines that a reviewer sees in place of a file's content. It returns none
// if the content itself may be seen, and for a secret without a certificate.
func (m *marker) shownLines(f *node.File) (lines []string) {
	switch f.Path {
	case node.List:
		return []string{assembly.SumsShown}
	case plan.ServicePub:
		const root = string(pki.RootServiceAccount)
		own := 1
		if r := m.rotations[root]; r != nil {
			own = len(r.Generations())
		}
		for i := range bytes.Count(f.Content, []byte("-----BEGIN PUBLIC KEY-----")) {
			line := "<public key of " + m.rootMark(root, i) + ">"
			if i >= own {
				line = assembly.AcceptedShown(i - own)
			}
			lines = append(lines, line)
		}
		return lines
	}
	if f.Path == plan.Encryption {
		return manifests.EncryptionShown(f.Content)
	}
	if f.Path == templates.AnnouncePath {
		return templates.AnnounceShown(string(f.Content), f.Secret)
	}
	root := m.authority(f)
	mark := m.certificateMark(f)
	if mark == "" && root == "" && f.Secret == "" {
		return nil
	}
	const prefix = "certificate"
	for i, line := range certificateLines(f.Content) {
		switch {
		case root != "":
			mark = m.rootMark(root, i)
		case i > 0:
			mark = "" // a CA above the leaf, whose key is on no machine
		}
		named := strings.TrimSpace(prefix + " " + mark)
		lines = append(lines, named+strings.TrimPrefix(line, prefix))
	}
	return lines
}

var etcdClientCert, _ = plan.Cert("apiserver-etcd-client")

// authority returns the root whose certificates a file holds. It is empty if the file holds none,
// or the CA of an external etcd.
func (m *marker) authority(f *node.File) string {
	file := layout.FileAt(f.Path)
	if file == nil || m.marks["external-etcd-client"] && f.Path == plan.EtcdCA {
		return ""
	}
	return file.Authority
}

// certificateMark returns the mark of the key that belongs to a file's leaf certificate. It is
// empty if the certificate is not kiln's. The client certificate of an external etcd is not.
func (m *marker) certificateMark(f *node.File) string {
	if m.marks["external-etcd-client"] && f.Path == etcdClientCert {
		return ""
	}
	stem := strings.TrimSuffix(f.Path, ".crt")
	for _, k := range secret.Kinds {
		if k.Path == f.Path || stem != f.Path && k.Path == stem+".key" {
			if mark := findMark(m.marks, k.NameOn(m.machine)); mark != "" {
				return mark
			}
		}
	}
	return ""
}
