package render

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/certs"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// Certs lists what has an end in the rendered cluster: on its machines, and in the operator's
// kubeconfig. Without the bundle it knows only what a review twin shows. progress is called after
// each machine; it may be nil.
func (r *Cluster) Certs(progress func(done int)) ([]certs.Entry, error) {
	scans := make([]*certs.Scan, r.Machines())
	var mu sync.Mutex
	done := 0
	err := concurrently(len(scans), func(i int) (err error) {
		scans[i], err = r.certs(i)
		mu.Lock()
		defer mu.Unlock()
		done++
		if progress != nil {
			progress(done)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	admin, err := r.operator()
	if err != nil {
		return nil, err
	}
	return certs.Elsewhere(certs.Join(append(scans, certs.Find(admin))),
		r.Public.ExternalCAs()), nil
}

// certs lists what has an end on the i-th machine.
func (r *Cluster) certs(i int) (*certs.Scan, error) {
	n, err := r.checked(i)
	if err != nil {
		return nil, err
	}
	m := &r.Plan.Machines[i]
	var ca []byte
	if d := &m.Settings.Delivery; d.Fetches() {
		ca = r.Public.TrustedCA(d.CA, r.Plan.Config.Text(d.CAFrom))
	}
	out := machineOf(n, ca, m.Name, m.Pool)
	if m.Pool {
		out.Until = r.Public.TokenEnd(m)
	}
	return certs.Find(out), nil
}

// operator returns the operator's kubeconfig, as the bundle or its public half has it.
func (r *Cluster) operator() (certs.Machine, error) {
	if r.Bundle != nil {
		admin, err := r.Admin()
		return certs.Machine{Files: []certs.File{{Path: plan.AdminFile, Content: admin}}}, err
	}
	t, err := review.NewTwin(r.Cluster)
	if err != nil {
		return certs.Machine{}, err
	}
	return certs.Machine{Files: entryFiles(t.State().Entries)}, nil
}

const (
	// bodyCA stands for the CA with which a document verifies the server of the machine's body.
	bodyCA = "ca-of-body"
	// unnamed is the name of a pool whose document does not say it.
	unnamed = "unnamed"
)

// machineOf returns all that is known of a machine. ca is the CA for its body.
func machineOf(n *node.Node, ca []byte, name string, pool bool) certs.Machine {
	m := certs.Machine{Name: name, Pool: pool, Links: map[string]string{}}
	for i := range n.Files {
		f := &n.Files[i]
		m.Files = append(m.Files, certs.File{
			Path: f.Path, Content: f.Content, Shown: f.Shown, Secret: f.Secret,
		})
	}
	for _, l := range n.Links {
		m.Links[l.Path] = l.Target
	}
	m.Files = append(m.Files,
		certs.File{Path: bodyCA, Content: ca},
		certs.File{Path: "network-config", Content: n.NetworkConfig},
		certs.File{Path: "ignition", Content: n.Extra},
		certs.File{Path: "cloud-config", Content: n.CloudConfig},
	)
	return m
}

// entryFiles returns the files of a review twin.
func entryFiles(list change.Entries) (files []certs.File) {
	for _, e := range list {
		switch e.Kind {
		case "file":
			files = append(files, certs.File{
				Path: e.ID, Content: e.Content, Shown: e.Shown, Secret: e.Secret,
			})
		case "network-config", "ignition", "cloud-config":
			files = append(files, certs.File{Path: e.Kind, Content: e.Content})
		}
	}
	return files
}

// TwinCerts lists what has an end as a review twin, or another state without secrets, shows it.
func TwinCerts(c *change.Cluster) []certs.Entry {
	scans := []*certs.Scan{certs.Find(certs.Machine{Files: entryFiles(c.Entries)})}
	for _, m := range c.Machines {
		out := certs.Machine{
			Name: m.Name, Pool: m.Pool, Files: entryFiles(m.Entries), Links: map[string]string{},
		}
		for _, e := range m.Entries {
			if e.Kind == "link" {
				out.Links[e.ID] = e.Traits["target"]
			}
		}
		if m.Pool {
			// A twin of another program may lack the date.
			out.Until, _ = time.Parse(time.RFC3339, m.Properties.Value("until"))
		}
		scans = append(scans, certs.Find(out))
	}
	return certs.Elsewhere(certs.Join(scans), c.Properties.Value(pki.ExternalFact))
}

// DocumentsCerts lists what has an end in the documents of the output folder dir, and in the
// operator's kubeconfig if it is there. It also returns the name of the cluster.
func DocumentsCerts(dir string) (cluster string, list []certs.Entry, err error) {
	inv, err := ReadInventory(dir)
	if err != nil {
		return "", nil, err
	}
	if inv == nil {
		return "", nil, fmt.Errorf("%s: no folder of documents: it has no %s", dir, InventoryFile)
	}
	root, err := folder.OpenRoot(dir)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = root.Close() }()
	open := func(name string) ([]byte, error) { return readInside(root, dir, name) }
	documents, err := review.NewDocuments(inv, open)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", dir, err)
	}
	scans := make([]*certs.Scan, len(inv.Documents))
	err = concurrently(len(scans), func(i int) error {
		u, err := documents.Machine(i)
		if err != nil {
			return err
		}
		e, n := &inv.Documents[i], u.Node()
		m := machineOf(n, u.BodyCA(), e.Node, e.Pool)
		if n.File(plan.BootstrapConf) != nil {
			m.Until = e.ValidUntil
		}
		scans[i] = certs.Find(m)
		return nil
	})
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", dir, err)
	}
	switch admin, err := open(AdminFile); {
	case err == nil:
		m := certs.Machine{Files: []certs.File{{Path: plan.AdminFile, Content: admin}}}
		scans = append(scans, certs.Find(m))
	case !errors.Is(err, fs.ErrNotExist):
		return "", nil, err
	}
	external := ""
	for _, f := range inv.Facts {
		if f.Name == pki.ExternalFact {
			external = f.Value
		}
	}
	return inv.Name, certs.Elsewhere(certs.Join(scans), external), nil
}

// DocumentCerts lists what has an end in one document, which Unpack finds. If its body is not here
// the list is not complete, and missing says what is not.
func DocumentCerts(
	path, body string, in io.Reader,
) (list []certs.Entry, missing *review.UnpackedBody, err error) {
	u, err := Unpack(path, body, in)
	if err != nil {
		return nil, nil, err
	}
	n := u.Node()
	m := machineOf(n, u.BodyCA(), n.Name, false)
	if m.Name == "" { // a pool's document has no name
		m.Name, m.Pool = unnamed, true
	}
	return certs.Join([]*certs.Scan{certs.Find(m)}), u.Missing(), nil
}
