package target

import (
	"encoding/json"
	"slices"
	"strings"
)

// Reader is somebody who can read a document on a platform.
type Reader struct {
	// Kind is the name of a row of ReaderKinds.
	Kind string `json:"kind"`
	// Who are these readers, and how do they read it.
	Who string `json:"who"`
	// Setting closes the document to these readers, if there is such a setting.
	Setting string `json:"setting,omitempty"`
	// Source is where that was read, in November 2026.
	Source string `json:"source"`
}

// The kinds of readers.
const (
	RootReader    = "root"
	HostReader    = "host"
	ServerReader  = "server"
	MediumReader  = "medium"
	AccountReader = "account"
	ProcessReader = "processes"
	PodReader     = "pods"
	NetworkReader = "network"
)

// ReaderKind is a group of people or programs that can read a document or a body.
type ReaderKind struct {
	Name string
	Who  string
	// Counts reports whether maxExposure counts these readers. It does not count those who have
	// the machine's disk and memory anyway, and those whom it cannot know.
	Counts bool
}

// ReaderKinds are all kinds of readers, from few to many.
var ReaderKinds = []ReaderKind{
	{Name: RootReader, Who: "root on the machine"},
	{Name: HostReader, Who: "the administrators of the machine's host, its memory and its disks"},
	{
		Name: ServerReader,
		Who: "anyone who fetches the body before the machine does: `kiln serve` allows only the " +
			"machine's addresses; your own server decides itself",
	},
	{
		Name: MediumReader, Counts: true,
		Who: "anyone who has the medium, the image of the disk or the folder of `kiln netboot`",
	},
	{
		Name: AccountReader, Counts: true,
		Who: "anyone who may read the settings of the machine in the platform's API",
	},
	{
		Name: ProcessReader, Counts: true,
		Who: "every process on the machine, also in pods with `hostNetwork`",
	},
	{Name: PodReader, Counts: true, Who: "every pod on the machine"},
	{
		Name: NetworkReader, Counts: true,
		Who: "anyone who reaches its URL, or listens on the way to it",
	},
}

// Counts reports whether maxExposure counts readers of that kind.
func Counts(kind string) bool {
	i := slices.IndexFunc(ReaderKinds, func(k ReaderKind) bool { return k.Name == kind })
	return i >= 0 && ReaderKinds[i].Counts
}

// Sources of rows about readers.
const (
	ec2UserData   = "EC2 user guide: Work with instance user data"
	azureUserData = "Azure: User Data for Azure Virtual Machine"
	guestInfo     = "coreos/ignition#1300"
)

const metadataSetting = "security.metadataService"

// backdoor is how a program reads the document on vSphere.
const backdoor = ", over the hypervisor's backdoor, until the document is cleared"

// owners are the readers on every platform: they have the machine's disk or memory.
var owners = []Reader{
	{
		Kind: RootReader, Who: "root on the machine",
		Source: "it reads what cloud-init and Ignition read",
	},
	{
		Kind: HostReader, Who: "the administrators of the host",
		Source: "the host holds the machine's memory and disks",
	},
}

func readers(added ...Reader) []Reader { return slices.Concat(owners, added) }

func account(who, source string) Reader { return Reader{AccountReader, who, "", source} }

func medium(source string) Reader {
	return Reader{MediumReader, "anyone who has the medium, or an image of it", "", source}
}

// metadata returns the readers on a platform with a metadata service that asks for no credential,
// and those added. condition is what a request needs, "" if that is nothing.
func metadata(condition, source string, added ...Reader) []Reader {
	return append(readers(added...),
		Reader{
			ProcessReader, "every process on the machine" + condition +
				", over HTTP without credentials", "", source,
		},
		Reader{PodReader, "every pod, in the same way", metadataSetting, source})
}

// Exposure returns who can read a document on the platform, in words.
func (p *Platform) Exposure() string {
	var who []string
	for _, r := range p.Readers {
		text := r.Who
		if r.Setting != "" {
			text += " (" + r.Setting + ": deny closes it)"
		}
		who = append(who, text)
	}
	return strings.Join(who, "; ")
}

// MarshalJSON adds the text of Exposure to the fields.
func (p Platform) MarshalJSON() ([]byte, error) {
	type fields Platform
	return json.Marshal(struct {
		fields
		Exposure string `json:"exposure"`
	}{fields(p), p.Exposure()})
}
