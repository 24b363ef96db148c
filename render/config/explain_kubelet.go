package config

import (
	"encoding/json"
	"strings"

	"kiln/render/suggest"
)

// kubeletKey begins the paths of settings that are fields of KubeletConfiguration.
const kubeletKey = "kubelet."

// unknownKubeletField returns the error about a path below kubelet that KubeletConfiguration does
// not have, or nil. Elements of lists and keys of its free maps are not looked at.
func unknownKubeletField(path string) *suggest.Unknown {
	rest, ok := strings.CutPrefix(path, kubeletKey)
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "[")
	keys := strings.Split(rest, ".")
	var value any
	for i := len(keys) - 1; i >= 0; i-- {
		value = map[string]any{keys[i]: value}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return nil // strings can always be marshalled
	}
	// A value that does not fit is a key of a free map that has dots.
	strict, _ := decodeKubelet(data)
	for _, e := range strict {
		if m := unknownField.FindStringSubmatch(e.Error()); m != nil {
			u := &suggest.Unknown{}
			u.Message = kubeletKey + m[1] +
				": KubeletConfiguration (kubelet.config.k8s.io/v1beta1) has no such field"
			if !strings.Contains(m[1], ".") {
				u.Nearest = suggest.Nearest(m[1], kubeletFieldNames)
				u.Message += suggest.Hint(m[1], kubeletFieldNames)
			}
			return u
		}
	}
	return nil
}
