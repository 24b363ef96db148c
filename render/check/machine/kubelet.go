package machine

import (
	"slices"
	"strings"

	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/plan"
)

// Kubelet is the machine's kubelet: its configuration and its command line.
type Kubelet struct {
	*KubeletConfig
	flags map[string][]string
}

// KubeletConfig is a kubelet's configuration.
type KubeletConfig struct {
	kubeletv1.KubeletConfiguration
	Paths []string // every string in it that looks like a path, sorted
}

// ReadKubeletConfig reads a kubelet's configuration. It fails if source is not one in YAML.
func ReadKubeletConfig(source []byte) (*KubeletConfig, error) {
	conf := &KubeletConfig{}
	if err := yaml.Unmarshal(source, &conf.KubeletConfiguration); err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := yaml.Unmarshal(source, &fields); err != nil {
		return nil, err
	}
	visitStrings(fields, func(value string) {
		if strings.HasPrefix(value, "/") {
			conf.Paths = append(conf.Paths, value)
		}
	})
	slices.Sort(conf.Paths)
	return conf, nil
}

// ReadFlags reads the flags of the kubelet from the drop-in of its unit.
func (k *Kubelet) ReadFlags(dropIn []byte) { k.flags = commandFlags(SplitWords(string(dropIn))) }

// Flag returns the last value of a flag, "" without one.
func (k *Kubelet) Flag(name string) string { return lastValue(k.flags[name]) }

// File returns a path that a field of the kubelet's configuration holds, as a reference.
func (k *Kubelet) File(field, path string) Reference {
	return Reference{"file " + plan.KubeletConfig + ": " + field, path}
}

// ClientCA returns the file of the CA by which the kubelet recognises its clients.
func (k *Kubelet) ClientCA() Reference {
	return k.File("authentication.x509.clientCAFile", k.Authentication.X509.ClientCAFile)
}

// visitStrings calls visit with each string in a decoded value but keys, in no fixed order.
func visitStrings(v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			visitStrings(e, visit)
		}
	case []any:
		for _, e := range v {
			visitStrings(e, visit)
		}
	case string:
		visit(v)
	}
}
