package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	kubelet "k8s.io/kubelet/config/v1beta1"
	strictjson "sigs.k8s.io/json"

	"kiln/render/suggest"
	"kiln/render/yamlpath"
)

// ownKubeletFields maps the fields of KubeletConfiguration that kiln sets to the reason: where the
// value comes from, or what to write instead.
var ownKubeletFields = map[string]string{
	"address":                  "the kubelet listens on all addresses",
	"apiVersion":               "write only the fields",
	"authentication":           "the cluster's CA and the API server decide",
	"authorization":            "the API server decides",
	"cgroupDriver":             "kubelet and containerd both use systemd's",
	"clusterDNS":               "it follows from network.serviceSubnets",
	"clusterDomain":            "write network.dnsDomain",
	"containerRuntimeEndpoint": "it is containerd's socket",
	"healthzBindAddress":       "the first boot asks the kubelet for its health on loopback",
	"healthzPort":              "the first boot asks the kubelet for its health on 10248",
	"kind":                     "write only the fields",
	"port":                     "the API server reaches the kubelet on 10250",
	"readOnlyPort":             "it is closed",
	"registerWithTaints":       "write taints",
	"rotateCertificates":       "it follows from certificates.signing",
	"serverTLSBootstrap":       "write certificates.kubeletServing",
	"staticPodPath":            "it is /etc/kubernetes/manifests on machines with static pods",
	"tlsCertFile":              "the machine's certificate is in its document",
	"tlsPrivateKeyFile":        "the machine's key is in its document",
}

// kubelet checks fields of KubeletConfiguration against the type of Kubernetes.
func (v *checker) kubelet(fields map[string]any, at *yamlpath.Location) {
	ok := true
	for key := range fields {
		if why, own := ownKubeletFields[key]; own {
			v.report(at.Key(key), "is set by kiln; remove it (%s)", why)
			ok = false
		}
	}
	if len(fields) == 0 || ok && v.fitsKubelet(fields) {
		return
	}
	if len(v.found) > maxDetailed {
		v.report(at, "has fields that do not fit KubeletConfiguration "+
			"(kubelet.config.k8s.io/v1beta1); correct the problems above first")
		return
	}
	// One wrong field hides the others, and not every error names its field: try them one by one.
	for key, value := range fields {
		if _, own := ownKubeletFields[key]; !own {
			v.kubeletField(key, value, at)
		}
	}
}

// maxDetailed is the number of problems after which the fields of a wrong kubelet configuration are
// no longer tried one by one. That takes time.
const maxDetailed = 20 * maxProblems

// fitsKubelet reports whether all fields fit KubeletConfiguration.
func (v *checker) fitsKubelet(fields map[string]any) bool {
	data, err := json.Marshal(fields)
	if err != nil {
		return false
	}
	fits, known := v.kubelets[string(data)]
	if !known {
		strict, err := decodeKubelet(data)
		fits = err == nil && len(strict) == 0
		v.kubelets[string(data)] = fits
	}
	return fits
}

// decodeKubelet decodes fields as the kubelet does. strict has the keys that the type does not
// have; err comes if a value does not fit.
func decodeKubelet(data []byte) (strict []error, err error) {
	var into kubelet.KubeletConfiguration
	return strictjson.UnmarshalStrict(data, &into)
}

// unknownField matches an error about a key, which it names as a path.
var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// kubeletField reports the problems of one field, at the place within it that the decoder names.
func (v *checker) kubeletField(key string, value any, at *yamlpath.Location) {
	data, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return // a value of cluster.yaml can always be marshalled
	}
	strict, err := decodeKubelet(data)
	for _, e := range strict {
		here := at
		path := key
		if m := unknownField.FindStringSubmatch(e.Error()); m != nil {
			path = m[1]
		}
		here = fieldAt(here, path)
		hint := ""
		if path == key {
			hint = suggest.Hint(key, kubeletFieldNames)
		}
		v.report(here, "KubeletConfiguration (kubelet.config.k8s.io/v1beta1) has no such field%s",
			hint)
	}
	if err == nil {
		return
	}
	here := at.Key(key)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		if _, path, ok := strings.Cut(wrongType.Field, "."); ok {
			here = fieldAt(here, path)
		}
		v.report(here, "want %s, got %s", goTypeName(wrongType.Type), jsonTypeName(wrongType.Value))
		return
	}
	// The error about a value with a notation of its own, such as a duration, names neither field
	// nor type.
	v.report(here, "does not fit the field of KubeletConfiguration; "+
		"durations are strings such as 10s or 4h, quantities such as 500Mi")
}

// fieldAt returns the location of a path that the decoder names, such as a.b[2].c.
func fieldAt(at *yamlpath.Location, path string) *yamlpath.Location {
	for part := range strings.SplitSeq(path, ".") {
		key, indices, _ := strings.Cut(part, "[")
		at = at.Key(key)
		for index := range strings.SplitSeq(indices, "[") {
			var i int
			if _, err := fmt.Sscanf(index, "%d]", &i); err == nil {
				at = at.Index(i)
			}
		}
	}
	return at
}

// kubeletFieldNames are the keys of KubeletConfiguration, sorted.
var kubeletFieldNames = func() []string {
	var names []string
	t := reflect.TypeFor[kubelet.KubeletConfiguration]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}()

// goTypeName returns the kind of the values of a Go type, with its article.
func goTypeName(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number (" + t.Kind().String() + ")"
	case reflect.Float64, reflect.Float32:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a map"
	}
	return "a string"
}

// jsonTypeName returns the kind of a value, with its article, as an error of the decoder names it.
func jsonTypeName(value string) string {
	kind, rest, _ := strings.Cut(value, " ")
	switch kind {
	case "object":
		return "a map"
	case "array":
		return "a list"
	case "bool":
		return "a boolean"
	case "string":
		return "a string"
	case "number":
		return strings.TrimSpace("a number " + rest)
	}
	return kind
}
