package manifests

import (
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// ProxyConfiguration is the kind of kube-proxy's configuration, which is in a ConfigMap.
const ProxyConfiguration = "KubeProxyConfiguration"

const (
	proxyName = "kube-proxy"
	proxyKey  = "config.conf"
)

// Proxy returns the configuration in kube-proxy's ConfigMap as an object called kube-proxy, so that
// patches reach its fields. It returns nil if the stream has none that can be read.
func Proxy(objects []Object) []byte {
	i := proxyIn(objects)
	if i < 0 {
		return nil
	}
	var settings core.ConfigMap
	var conf object
	if objects[i].Decode(&settings) != nil ||
		yaml.Unmarshal([]byte(settings.Data[proxyKey]), &conf) != nil || conf == nil {
		return nil
	}
	conf["metadata"] = object{"name": proxyName}
	return marshal(conf)
}

// WithProxy returns the stream of objects with another configuration in kube-proxy's ConfigMap. It
// fails if the configuration is not a map.
func WithProxy(objects []Object, configuration []byte) ([]byte, error) {
	conf, err := WithoutMetadata(configuration)
	if err != nil {
		return nil, err
	}
	var out []byte
	for i, o := range objects {
		doc := o.YAML
		if i == proxyIn(objects) {
			var settings object
			if err := yaml.Unmarshal(doc, &settings); err != nil {
				return nil, err
			}
			data, _ := settings["data"].(object)
			data[proxyKey] = string(conf)
			doc = marshal(settings)
		}
		out = Join(out, doc)
	}
	return out, nil
}

func proxyIn(objects []Object) int {
	for i, o := range objects {
		if o.Kind == "ConfigMap" && o.Namespace == system && o.Name == proxyName {
			return i
		}
	}
	return -1
}
