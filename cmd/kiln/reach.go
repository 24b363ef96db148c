package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// reach is what a verb touches beside the files that it reads and the standard streams. A test
// holds it to the calls in the program (test/architecture/reach_test.go).
type reach struct {
	network string // the servers that it asks, or clients that it answers; "" means none
	files   string // the files that it writes or replaces; "" means none
}

const askingAPI = "--kubeconfig asks the API server that it names"

const overSSH = "--ssh runs the program ssh, which logs in to the machine"

// reaches holds the reach of each verb that does something, by its path below kiln.
var reaches = map[string]reach{
	"init":     {files: "--out"},
	"validate": {},
	"explain":  {},
	"schema":   {},
	"lock": {
		"asks the projects, mirrors and registries of what machines fetch and run",
		"the lock beside the configuration, and --save",
	},
	"render": {files: "--out, --review, and the bundle if there is none"},

	"secrets renew":   {files: "the bundle"},
	"secrets rotate":  {files: "the bundle"},
	"secrets encrypt": {files: "the bundle"},
	"secrets extend":  {files: "the bundle"},
	"secrets public":  {files: "--out"},
	"secrets import":  {files: "the bundle, if there is none"},

	"token list":     {},
	"token renew":    {files: "the bundle"},
	"token manifest": {files: "--out"},

	"diff":      {},
	"plan":      {network: askingAPI},
	"report":    {askingAPI, "--out"},
	"certs":     {},
	"certs csr": {files: "--out"},
	"certs add": {files: "the bundle"},

	"archive": {
		"asks mirrors and registries for what machines fetch and run; --push writes to a registry",
		"--out",
	},
	"unpack":  {files: "--out"},
	"iso":     {files: "--out, or the images beside the machines' folders"},
	"netboot": {files: "--out"},
	"serve": {
		"answers whoever may fetch a document from --listen",
		"what was fetched and announced, in DIR",
	},

	"status": {network: "asks the API server that the kubeconfig names"},
	"verify": {network: overSSH},
	"apply":  {overSSH + "; --run runs a command", "--out"},
	"roll": {
		"asks the API server that the kubeconfig names; runs kubectl, ssh and your commands",
		"a snapshot of etcd, in the working directory; what it applies, in a folder for that",
	},
	"kubeconfig": {files: "--out"},

	"images":    {},
	"platforms": {},
	"version":   {},
}

// addReach ends the help of each verb with what it touches.
func addReach(verb *cobra.Command) {
	for _, below := range verb.Commands() {
		addReach(below)
	}
	r, does := reaches[strings.TrimPrefix(verb.CommandPath(), "kiln ")]
	if !does {
		return
	}
	network, files := cmp.Or(r.network, "none"), cmp.Or(r.files, "nothing")
	if verb.Long == "" {
		verb.Long = verb.Short + "."
	}
	verb.Long = fmt.Sprintf("%s\n\nNetwork: %s.\nWrites: %s.", verb.Long, network, files)
}
