package document

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"kiln/render/config"
	"kiln/render/plan"
	"kiln/render/target"
)

// InventoryFile is the name of the inventory in the output folder.
const InventoryFile = "inventory.json"

// Inventory is inventory.json: what the output folder holds. It is written last, so that a run cut off between
// renames shows: its hashes then do not match.
type Inventory struct {
	APIVersion string      `json:"apiVersion"`
	Kind       string      `json:"kind"`
	Name       string      `json:"name"`
	Cluster    string      `json:"cluster"` // the bundle's UUID
	Kubernetes string      `json:"kubernetesVersion"`
	Facts      []plan.Fact `json:"facts"`
	Documents  []Entry     `json:"documents"`
}

// What an inventory says of itself.
const (
	InventoryVersion = "kiln.dev/v1alpha1"
	InventoryKind    = "Inventory"
)

// Entry is a document's line in inventory.json.
type Entry struct {
	Node     string `json:"node"`
	Role     string `json:"role"`
	Pool     bool   `json:"pool,omitempty"`
	OS       string `json:"os"`
	Platform string `json:"platform"`
	Format   string `json:"format"`
	// Document is the path of the document below the output folder.
	Document string `json:"document"`
	SHA256   string `json:"sha256"`
	Bytes    int    `json:"bytes"`
	// Limit is the platform's limit in bytes; absent if there is none or none is known.
	Limit int `json:"limit,omitempty"`
	// Kubelet is the version of the kubelet that the machine's image has to have.
	Kubelet   string   `json:"kubeletVersion"`
	Addresses []string `json:"addresses,omitempty"`
	// InterfaceAddresses are what the machine's interfaces have beyond Addresses, where the
	// configuration configures them.
	InterfaceAddresses []string `json:"interfaceAddresses,omitempty"`
	// MAC and UUID are by what the machine can be known when it asks for its document, where the configuration says so: the address of
	// one of its interfaces, in lower case with colons, and the system UUID of its firmware.
	MAC  string `json:"mac,omitempty"`
	UUID string `json:"uuid,omitempty"`
	// Secrets are the names and generations of the secrets in the document.
	Secrets []string `json:"secrets"`
	// ValidUntil is when the first of the machine's certificates ends, or the bootstrap token that it joins with.
	ValidUntil time.Time `json:"validUntil"`
	// Others are the files delivered beside the document.
	Others []string `json:"others,omitempty"`
	// Delivery is pointer, split or lean if the machine fetches a body; absent if everything stands in the document.
	Delivery string `json:"delivery,omitempty"`
	Body     *Body  `json:"body,omitempty"`
}

// Body is what a machine fetches beside its document.
type Body struct {
	// Document is the path of the body below the output folder.
	Document string `json:"document"`
	SHA512   string `json:"sha512"`
	Bytes    int    `json:"bytes"`
	// URL is where the machine fetches it.
	URL string `json:"url"`
}

// Paths are all files of the document below the output folder.
func (e *Entry) paths() []string {
	paths := append([]string{e.Document}, e.Others...)
	if e.Body != nil {
		paths = append(paths, e.Body.Document)
	}
	return paths
}

// ParseInventory reads an inventory; name is its path, for messages.
func ParseInventory(name string, data []byte) (*Inventory, error) {
	var inv Inventory
	if err := json.Unmarshal(data, &inv); err != nil {
		return nil, fmt.Errorf("%s: not an inventory of kiln: %w", name, err)
	}
	return &inv, nil
}

// DocumentNames are what Write calls the files of a machine.
var DocumentNames = []string{
	"config.ign", "user-data", "meta-data", NetworkConfigFile, BodyNames[target.Ignition], BodyNames[target.CloudInit],
}

// Paths are the files that the inventory names, and of those only what Write makes.
func (inv *Inventory) Paths() []string {
	names := []string{plan.AdminFile, InventoryFile}
	for i := range inv.Documents {
		for _, name := range inv.Documents[i].paths() {
			dir, file := path.Split(name)
			machine := strings.TrimPrefix(strings.TrimSuffix(dir, "/"), "pools/")
			if config.IsMachineName(machine) && slices.Contains(DocumentNames, file) {
				names = append(names, name)
			}
		}
	}
	return names
}
