package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// InventoryFile is the name of the inventory in the output folder.
const InventoryFile = "inventory.json"

// NetbootFile is the name of the index of what kiln netboot writes.
const NetbootFile = "netboot.json"

// Inventory is inventory.json, the list of what the output folder holds. It is written last. If a
// run is cut off between two renames, the hashes in the old inventory do not match the new files.
type Inventory struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Name       string      `json:"name"`
	Cluster    string      `json:"cluster"` // the bundle's UUID
	Kubernetes string      `json:"kubernetesVersion"`
	Facts      []plan.Fact `json:"facts"`
	// Roots are the SHA-256 of the public keys of CAs and of service account tokens, by name and
	// generation ("ca g1"). Inventories of earlier releases have none.
	Roots     map[string]string `json:"roots,omitempty"`
	Documents []Entry           `json:"documents"`
}

// APIVersion and Kind of an inventory.
const (
	InventoryVersion = "kiln.dev/v1alpha1"
	InventoryKind    = "Inventory"
)

// Entry describes one document in inventory.json.
type Entry struct {
	Node     string `json:"node"` // the name of the node or pool
	Role     string `json:"role"`
	Pool     bool   `json:"pool,omitempty"`
	OS       string `json:"os"`
	Platform string `json:"platform"`
	Format   string `json:"format"`
	// Document is the path of the document below the output folder.
	Document string `json:"document"`
	SHA256   string `json:"sha256"`
	Bytes    int    `json:"bytes"`
	// Limit is the platform's limit in bytes. It is absent if there is none, or if it is not known.
	Limit int `json:"limit,omitempty"`
	// Advice says what makes the document smaller. It is empty unless the document is compressed
	// and nearly as large as Limit.
	Advice string `json:"-"`
	// Kubelet is the version of the kubelet that the machine's image must have.
	Kubelet   string   `json:"kubeletVersion"`
	Addresses []string `json:"addresses,omitempty"`
	// InterfaceAddresses are the addresses that the configuration gives to the machine's
	// interfaces, without those in Addresses.
	InterfaceAddresses []string `json:"interfaceAddresses,omitempty"`
	// MAC and UUID identify a machine that asks for its document, if the configuration has them.
	// MAC is the hardware address of one of its interfaces, in lower case with colons. UUID is the
	// system UUID of its firmware.
	MAC  string `json:"mac,omitempty"`
	UUID string `json:"uuid,omitempty"`
	// Secrets are the names of the secrets in the document, with their generations.
	Secrets []string `json:"secrets"`
	// Exposure says what the secrets in the document and in the body are worth, and who can read
	// each of the two: kinds of readers, which docs/exposure.md lists.
	Exposure Exposure `json:"exposure"`
	// ValidUntil is when the first of the machine's certificates or its bootstrap token expires.
	ValidUntil time.Time `json:"validUntil"`
	// Others are the paths of the files that are delivered beside the document.
	Others []string `json:"others,omitempty"`
	// Announce is the URL to which the machine announces the state of its first boot. It is
	// absent if it announces nothing.
	Announce string `json:"announce,omitempty"`
	// Delivery is pointer, split or lean if the machine fetches a body. It is absent if everything
	// stands in the document.
	Delivery string `json:"delivery,omitempty"`
	Body     *Body  `json:"body,omitempty"`
}

// Body describes the file that a machine fetches in addition to its document.
type Body struct {
	// Document is the path of the body below the output folder.
	Document string `json:"document"`
	SHA512   string `json:"sha512"`
	Bytes    int    `json:"bytes"`
	// URL is where the machine fetches it.
	URL string `json:"url"`
}

// ParseInventory reads an inventory. name is its path, for messages. It fails if data is not JSON,
// if a field has the wrong type, and if it is another document or lists none.
func ParseInventory(name string, data []byte) (*Inventory, error) {
	var inv Inventory
	err := json.Unmarshal(data, &inv)
	switch {
	case err != nil:
		err = errors.New("the file is damaged")
	case inv.Kind != InventoryKind:
		err = errors.New("its kind is not " + InventoryKind)
	case len(inv.Documents) == 0:
		err = errors.New("it lists no document")
	default:
		err = inv.checkOnce()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: not an inventory of kiln: %w; move the folder away and render "+
			"again: the same input gives the same documents", name, err)
	}
	return &inv, nil
}

// checkOnce returns an error if a document is listed twice: each entry is read and compared, so
// few bytes could take hours.
func (inv *Inventory) checkOnce() error {
	seen := map[string]bool{}
	for i := range inv.Documents {
		name := inv.Documents[i].Document
		if seen[name] {
			return fmt.Errorf("it lists %q twice", name)
		}
		seen[name] = true
	}
	return nil
}

// DocumentNames are the names that the files of a machine can have.
var DocumentNames = []string{
	"config.ign", "user-data", "meta-data", NetworkConfigFile,
	BodyNames[target.Ignition], BodyNames[target.CloudInit],
}

// Paths returns the files of the output folder: the inventory, the operator's kubeconfig and the
// files that the inventory names. It skips paths that kiln never writes: the inventory may have
// been edited, and files of an earlier run are deleted.
func (inv *Inventory) Paths() []string {
	paths := []string{plan.AdminFile, InventoryFile}
	for i := range inv.Documents {
		for _, p := range inv.Documents[i].paths() {
			if IsPath(p) {
				paths = append(paths, p)
			}
		}
	}
	return paths
}

// IsPath reports whether kiln writes files of machines with this path below the output folder.
func IsPath(name string) bool {
	dir, file := path.Split(name)
	machine := strings.TrimPrefix(strings.TrimSuffix(dir, "/"), "pools/")
	return config.IsMachineName(machine) && slices.Contains(DocumentNames, file)
}

// paths returns all files of a document, below the output folder.
func (e *Entry) paths() []string {
	paths := append([]string{e.Document}, e.Others...)
	if e.Body != nil {
		paths = append(paths, e.Body.Document)
	}
	return paths
}
