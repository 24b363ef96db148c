package config

import (
	"strings"

	"kiln.dev/kiln/render/kube/kinds"
	"kiln.dev/kiln/render/text/wording"
)

// kubeletKey begins the paths of settings that are fields of KubeletConfiguration.
const kubeletKey = "kubelet."

// unknownKubeletField returns the error about a path below kubelet that the KubeletConfiguration of
// a machine does not have, or nil. Elements of lists and keys of its free maps are not looked at.
func (c *Cluster) unknownKubeletField(e *Effective, path string) *wording.Unknown {
	rest, ok := strings.CutPrefix(path, kubeletKey)
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "[")
	unknown := kinds.New(c.KubeletMinor(e)).
		Unknown(kubeletAPI, kubeletKind, strings.Split(rest, "."))
	if unknown != nil {
		unknown.Message = path + ": " + unknown.Message
	}
	return unknown
}
