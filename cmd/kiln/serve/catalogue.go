package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"kiln/render"
)

// catalogue is everything that is served, by the path of its URL.
type catalogue struct {
	cluster, id string // name and UUID
	items       map[string]*item
	owners      map[identity]string     // the machine that an identity is of
	folders     map[string]string       // of a machine, by its name
	addresses   map[string][]netip.Addr // of a machine, by its name; none of a pool
	documents   map[string]*item        // of a machine, by its name
	missing     []string                // files that scripts name and that are not there
}

// static are the files beside documents that hold no secret, as kiln netboot writes them and as it names kernels and initrds.
var static = []string{"boot.ipxe", "ipxe/*.ipxe", "ipxe/pools/*.ipxe", "installer/*.ign", images}

// images are the kernels and initrds of systems.
const images = "images/*/*"

// initrds are the files, one a machine or pool, that hold its document. Between the two ends stands its folder.
const (
	initrdFolder = "initrd/"
	initrdEnd    = ".cpio.gz"
)

var initrds = []string{initrdFolder + "*" + initrdEnd, initrdFolder + "pools/*" + initrdEnd}

// readFolders lists what there is in some folders.
func readFolders(dirs []string) (*catalogue, error) {
	c := &catalogue{
		items: map[string]*item{}, owners: map[identity]string{},
		folders: map[string]string{}, addresses: map[string][]netip.Addr{}, documents: map[string]*item{},
	}
	var errs []error
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			errs = append(errs, cmp.Or(err, fmt.Errorf("%s: not a folder", dir)))
			continue
		}
		inv, err := render.ReadInventory(dir)
		switch {
		case err != nil:
			errs = append(errs, err)
		case inv == nil:
		case c.id != "" && c.id != inv.Cluster:
			errs = append(errs, fmt.Errorf("%s: the documents of %s, and %s is of %s; serve one cluster at a time", dir, inv.Name, dirs[0], c.cluster))
		default:
			c.cluster, c.id = inv.Name, inv.Cluster
			for i := range inv.Documents {
				errs = append(errs, c.document(dir, &inv.Documents[i]))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.id == "" {
		return nil, fmt.Errorf("%s: no folder of documents: it has no %s; kiln render --out writes one", strings.Join(dirs, ", "), render.InventoryFile)
	}
	for _, dir := range dirs {
		errs = append(errs, c.beside(dir))
	}
	for _, dir := range dirs { // a script may name what lies in another folder
		c.scripts(dir)
	}
	return c, errors.Join(errs...)
}

// document adds a machine's document and what cloud-init reads with it.
func (c *catalogue) document(dir string, e *render.Entry) error {
	if !fs.ValidPath(e.Document) {
		return fmt.Errorf("%s: document %q: not a path below the folder", filepath.Join(dir, render.InventoryFile), e.Document)
	}
	doc := &item{path: "/" + e.Document, node: e.Node, dir: dir, file: e.Document, sum: e.SHA256, once: true, pool: e.Pool}
	c.folders[e.Node], c.documents[e.Node] = path.Dir(e.Document), doc
	for _, id := range []identity{{"mac", normal("mac", e.MAC)}, {"uuid", normal("uuid", e.UUID)}} {
		if id.value != "" {
			c.owners[id] = e.Node
		}
	}
	errs := []error{c.add(doc), c.body(dir, e)}
	for _, text := range slices.Concat(e.Addresses, e.InterfaceAddresses) {
		a, err := netip.ParseAddr(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: node %s: %q is not an IP address; render again",
				filepath.Join(dir, render.InventoryFile), e.Node, text))
			continue
		}
		c.addresses[e.Node] = append(c.addresses[e.Node], a.Unmap())
	}
	if _, err := doc.read(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(dir, e.Document), err))
	}
	if path.Base(e.Document) == "user-data" {
		errs = append(errs, c.seed(dir, e, doc))
	}
	return errors.Join(errs...)
}

// body adds what the machine fetches beside its document, at its path below the folder, at that of its URL and, for a server that is reached through
// another one at a path of its own, at what begins with the part of the URL that names the machine or the body.
func (c *catalogue) body(dir string, e *render.Entry) error {
	if e.Body == nil {
		return nil
	}
	u, err := url.Parse(e.Body.URL)
	if err != nil || !fs.ValidPath(e.Body.Document) {
		return fmt.Errorf("%s: body of %s: not a URL, or not a path below the folder", filepath.Join(dir, render.InventoryFile), e.Node)
	}
	it := &item{path: "/" + e.Body.Document, node: e.Node, dir: dir, file: e.Body.Document, sum: e.Body.SHA512, once: true, body: true, pool: e.Pool}
	errs := []error{c.add(it)}
	if _, err := it.read(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(dir, e.Body.Document), err))
	}
	at := u.Path
	parts := strings.Split(strings.TrimPrefix(at, "/"), "/")
	i := slices.IndexFunc(parts, func(s string) bool { return strings.Contains(s, e.Node) || strings.Contains(s, e.Body.SHA512) })
	for _, alias := range []string{at, "/" + strings.Join(parts[max(i, 0):], "/")} {
		if c.items[alias] != it {
			errs = append(errs, c.addAt(alias, it))
		}
	}
	return errors.Join(errs...)
}

// seed adds what cloud-init's NoCloud reads beside the user-data (cloudinit/util.py, read_seeded, 22.4 to 26.2): network-config, meta-data, then
// user-data and vendor-data. One that is missing costs it ten seconds of asking again, so all are there, empty if need be. meta-data is read again
// at later boots; network-config may hold passwords, and nobody asks for it after the user-data.
func (c *catalogue) seed(dir string, e *render.Entry, doc *item) error {
	var errs []error
	folder := path.Dir(e.Document)
	for _, name := range []string{"meta-data", "network-config", "vendor-data"} {
		it := &item{path: path.Join("/", folder, name), node: e.Node, dir: dir, pool: e.Pool}
		if at := path.Join(folder, name); slices.Contains(e.Others, at) {
			it.file = at
		}
		if name == "network-config" && !e.Pool {
			it.closes = doc
		}
		errs = append(errs, c.add(it))
	}
	return errors.Join(errs...)
}

// beside adds the files of kiln netboot that lie in a folder.
func (c *catalogue) beside(dir string) error {
	var errs []error
	var older []string
	root := os.DirFS(dir)
	for _, pattern := range slices.Concat(static, initrds) {
		names, err := fs.Glob(root, pattern)
		errs = append(errs, err)
		for _, name := range names {
			it := &item{path: "/" + name, dir: dir, file: name, image: pattern == images}
			if slices.Contains(initrds, pattern) {
				// It holds the document of a machine. One of no machine is not for machines.
				folder := strings.TrimPrefix(strings.TrimSuffix(name, initrdEnd), initrdFolder)
				it.node, it.once, it.pool = path.Base(folder), true, path.Dir(folder) == "pools"
				if c.folders[it.node] != folder {
					continue
				}
				it.holds = c.documents[it.node]
				if _, err := it.read(); errors.Is(err, errOlder) {
					older = append(older, filepath.Join(dir, name))
				}
			}
			errs = append(errs, c.add(it))
		}
	}
	return errors.Join(append(errs, olderError(older))...)
}

func (c *catalogue) add(it *item) error { return c.addAt(it.path, it) }

func (c *catalogue) addAt(path string, it *item) error {
	if other := c.items[path]; other != nil {
		return fmt.Errorf("%s: is both %s and %s; one URL cannot be both", path, filepath.Join(other.dir, other.file), filepath.Join(it.dir, it.file))
	}
	c.items[path] = it
	return nil
}

// item returns what a URL's path names: an item's own path, or /mac/MAC/NAME and /uuid/UUID/NAME for a file of the machine that has it, for who
// knows no name of its own: NoCloud's seed may be /uuid/__dmi.system-uuid__/.
func (c *catalogue) item(p string) *item {
	if it := c.items[p]; it != nil {
		return it
	}
	parts := strings.Split(p, "/")
	if len(parts) != 4 || parts[1] != "mac" && parts[1] != "uuid" {
		return nil
	}
	node := c.owners[identity{parts[1], normal(parts[1], parts[2])}]
	if node == "" {
		return nil
	}
	return c.items["/"+c.folders[node]+"/"+parts[3]]
}
