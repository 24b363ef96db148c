// Package judges holds rendered machines against the authorities: Kubernetes' own decoders,
// validators and flag sets, kubeadm, and the CIS benchmark. It reads machines as their documents
// leave them and knows nothing of how kiln made them. It is a module of its own, so that kiln does
// not depend on Kubernetes' source; -modfile chooses another minor.
package judges

import "kiln.dev/kiln/test/judges/machine"

// Machine is one machine as its document leaves it; test/trees writes it.
type Machine struct{ machine.Machine }

// Parts of a machine.
type (
	File = machine.File
	Link = machine.Link
	Unit = machine.Unit
	User = machine.User
)

const (
	manifestsDir        = machine.ManifestsDir
	objectsDir          = machine.ObjectsDir
	kubeletConfig       = machine.KubeletConfig
	kubeletDropIn       = machine.KubeletDropIn
	bootstrapKubeconfig = machine.BootstrapKubeconfig
)
