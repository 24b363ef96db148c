package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/render"
)

// catalogue holds everything that the server serves.
type catalogue struct {
	cluster, id string                  // the name and the UUID of the cluster
	items       map[string]*item        // by the path of the URL
	owners      map[identity]string     // the machine that has an identity
	folders     map[string]string       // a machine's folder, by the machine's name
	addresses   map[string][]netip.Addr // a machine's addresses, by its name; a pool has none
	documents   map[string]*item        // a machine's document, by its name
	bodies      map[string]*item        // a machine's body, by its name
	missing     []string                // the files that scripts name and that do not exist
	withheld    map[string]error        // the reasons why files for everybody are not given
	registry    *registry               // the images of an archive; nil if there is none
	programs    bool                    // there are some, for everybody

	mu        sync.Mutex
	announced map[string]*announced // by the machine, once somebody needs it
}

// static are the patterns of files for everybody: those that kiln netboot writes without secrets,
// and images.
var static = []string{
	"boot.ipxe", "ipxe/*.ipxe", "ipxe/pools/*.ipxe", "installer/*.ign", bootImages,
}

// bootImages is the pattern of the kernels and initrds of systems.
const bootImages = "images/*/*"

// Each machine and pool may have an initrd that holds its document. The name of its folder stands
// between initrdFolder and initrdEnd.
const (
	initrdFolder = "initrd/"
	initrdEnd    = ".cpio.gz"
)

var initrds = []string{initrdFolder + "*" + initrdEnd, initrdFolder + "pools/*" + initrdEnd}

// readFolders returns the catalogue of some folders, and of an archive if that is not empty. It
// fails if none of the folders is an output folder, if two of them are of two clusters, and if a
// file is not as the inventory lists it. The error holds everything that is wrong.
func readFolders(dirs []string, archive string) (*catalogue, error) {
	c := &catalogue{
		items: map[string]*item{}, owners: map[identity]string{}, folders: map[string]string{},
		addresses: map[string][]netip.Addr{}, documents: map[string]*item{},
		withheld: map[string]error{}, bodies: map[string]*item{},
		announced: map[string]*announced{},
	}
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, c.inventory(dir, dirs[0]))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if c.id == "" {
		return nil, fmt.Errorf("%s: no folder of documents: it has no %s; "+
			"kiln render --out writes one", strings.Join(dirs, ", "), render.InventoryFile)
	}
	for _, dir := range dirs {
		errs = append(errs, c.addFiles(dir), c.addMirror(dir))
	}
	if archive != "" {
		var err error
		c.registry, err = readRegistry(archive)
		errs = append(errs, err, c.addMirror(archive))
	}
	for _, dir := range dirs { // a script may name a file in another folder
		errs = append(errs, c.readScripts(dir))
	}
	return c, errors.Join(errs...)
}

// inventory adds the documents of a folder if it has an inventory. It fails if the inventory is of
// another cluster than that of the folder first.
func (c *catalogue) inventory(dir, first string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return cmp.Or(err, fmt.Errorf("%s: not a folder", dir))
	}
	inv, err := render.ReadInventory(dir)
	switch {
	case err != nil || inv == nil:
		return err
	case c.id != "" && c.id != inv.Cluster:
		return fmt.Errorf("%s: the documents of %s, and %s is of %s; serve one cluster at a time",
			dir, inv.Name, first, c.cluster)
	}
	c.cluster, c.id = inv.Name, inv.Cluster
	var errs []error
	for i := range inv.Documents {
		errs = append(errs, c.document(dir, &inv.Documents[i]))
	}
	return errors.Join(errs...)
}

// document adds a machine's document, with its body and the files that cloud-init reads beside it.
func (c *catalogue) document(dir string, e *render.Entry) error {
	inventory := filepath.Join(dir, render.InventoryFile)
	if !fs.ValidPath(e.Document) {
		return fmt.Errorf("%s: document %q: not a path below the folder", inventory, e.Document)
	}
	doc := &item{
		path: "/" + e.Document, node: e.Node, dir: dir, file: e.Document,
		sum: e.SHA256, once: true, pool: e.Pool,
	}
	c.folders[e.Node], c.documents[e.Node] = path.Dir(e.Document), doc
	for kind, value := range map[string]string{"mac": e.MAC, "uuid": e.UUID} {
		if value != "" {
			c.owners[identity{kind, normalize(kind, value)}] = e.Node
		}
	}
	errs := []error{c.add(doc), c.body(dir, e), c.addAnnounce(e)}
	for _, address := range slices.Concat(e.Addresses, e.InterfaceAddresses) {
		a, err := netip.ParseAddr(address)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: node %s: %q is not an IP address; render again",
				inventory, e.Node, address))
			continue
		}
		c.addresses[e.Node] = append(c.addresses[e.Node], a.Unmap())
	}
	if err := doc.know(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(dir, e.Document), err))
	}
	if path.Base(e.Document) == "user-data" {
		errs = append(errs, c.seed(dir, e, doc))
	}
	return errors.Join(errs...)
}

// body adds the body that a machine fetches beside its document. It has three paths: its path below
// the folder, the path of its URL, and the part of that path from the segment that names the
// machine or the hash. The last one is for a server behind a proxy that serves it below a path of
// its own.
func (c *catalogue) body(dir string, e *render.Entry) error {
	if e.Body == nil {
		return nil
	}
	u, err := url.Parse(e.Body.URL)
	if err != nil || !fs.ValidPath(e.Body.Document) {
		return fmt.Errorf("%s: body of %s: not a URL, or not a path below the folder",
			filepath.Join(dir, render.InventoryFile), e.Node)
	}
	it := &item{
		path: "/" + e.Body.Document, node: e.Node, dir: dir, file: e.Body.Document,
		sum: e.Body.SHA512, once: true, body: true, pool: e.Pool,
	}
	errs := []error{c.add(it)}
	c.bodies[e.Node] = it
	if err := it.know(); err != nil {
		errs = append(errs, fmt.Errorf("%s: %w", filepath.Join(dir, e.Body.Document), err))
	}
	parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	i := slices.IndexFunc(parts, func(s string) bool {
		return strings.Contains(s, e.Node) || strings.Contains(s, e.Body.SHA512)
	})
	for _, alias := range []string{u.Path, "/" + strings.Join(parts[max(i, 0):], "/")} {
		if c.items[alias] != it {
			errs = append(errs, c.addAt(alias, it))
		}
	}
	return errors.Join(errs...)
}

// seed adds the files that cloud-init's NoCloud reads beside the user-data (cloudinit/util.py,
// read_seeded, 22.4 to 26.2). NoCloud reads network-config and meta-data, then user-data and
// vendor-data, and asks for a missing file again for ten seconds, so all exist here, empty if need
// be. It reads meta-data again at later boots. It never asks for network-config after the
// user-data, and network-config may hold passwords, so that one closes with the document.
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

// addFiles adds the files of kiln netboot in a folder. It withholds a file that everybody would get
// and that is none of those that a network boot needs, such as a link or a kubeconfig.
func (c *catalogue) addFiles(dir string) error {
	var errs []error
	var older []string // initrds of an older render
	root := os.DirFS(dir)
	for _, pattern := range slices.Concat(static, initrds) {
		names, err := fs.Glob(root, pattern)
		errs = append(errs, err)
		for _, name := range names {
			if info, err := fs.Stat(root, name); err == nil && info.IsDir() {
				continue
			}
			it := &item{path: "/" + name, dir: dir, file: name}
			it.image, it.parts = pattern == bootImages, pattern == bootImages
			it.public = !slices.Contains(initrds, pattern)
			if !it.public {
				if !c.assign(it) {
					continue // the document of no machine is not for machines
				}
				if _, err := it.read(); errors.Is(err, errOlder) {
					older = append(older, filepath.Join(dir, name))
				}
			} else if err := it.test(); err != nil {
				c.withheld[filepath.Join(dir, name)] = err
				continue
			}
			errs = append(errs, c.add(it))
		}
	}
	return errors.Join(append(errs, olderError(older))...)
}

// assign makes an initrd the item of the machine or pool whose document it holds. It reports
// whether there is one.
func (c *catalogue) assign(it *item) bool {
	folder := strings.TrimPrefix(strings.TrimSuffix(it.file, initrdEnd), initrdFolder)
	it.node, it.once, it.pool = path.Base(folder), true, path.Dir(folder) == "pools"
	it.holds = c.documents[it.node]
	return c.folders[it.node] == folder
}

// machines returns the number of machines, if each pool has as many as it may.
func (c *catalogue) machines(poolLimit int) (n int) {
	for _, document := range c.documents {
		if document.pool {
			n += min(poolLimit, announce.MaxRows)
		} else {
			n++
		}
	}
	return n
}

func (c *catalogue) add(it *item) error { return c.addAt(it.path, it) }

// addAt fails if the path has another item.
func (c *catalogue) addAt(path string, it *item) error {
	if other := c.items[path]; other != nil {
		return fmt.Errorf("%s: is both %s and %s; one URL cannot be both", path,
			filepath.Join(other.dir, other.file), filepath.Join(it.dir, it.file))
	}
	c.items[path] = it
	return nil
}

// item returns the item that a request asks for, or nil. Besides the path of an item, it knows
// those of images in an archive, and /mac/MAC/NAME and /uuid/UUID/NAME for a file of the machine
// with this identity. They are for clients that do not know the machine's name: the seed of NoCloud
// may be /uuid/__dmi.system-uuid__/.
func (c *catalogue) item(r *http.Request) *item {
	if it := cmp.Or(c.items[r.URL.Path], c.registry.item(r)); it != nil {
		return it
	}
	parts := strings.Split(r.URL.Path, "/")
	if len(parts) != 4 || parts[1] != "mac" && parts[1] != "uuid" {
		return nil
	}
	node := c.owners[identity{parts[1], normalize(parts[1], parts[2])}]
	if node == "" {
		return nil
	}
	return c.items["/"+c.folders[node]+"/"+parts[3]]
}
