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

// ownKubeletFields are fields of KubeletConfiguration that kiln sets, and where the value comes
// from.
var ownKubeletFields = map[string]string{
	"address":                  "the kubelet listens on all addresses",
	"apiVersion":               "write the fields alone",
	"authentication":           "the cluster's CA and the API server decide",
	"authorization":            "the API server decides",
	"cgroupDriver":             "kubelet and containerd both use systemd's",
	"clusterDNS":               "it follows from network.serviceSubnets",
	"clusterDomain":            "write network.dnsDomain",
	"containerRuntimeEndpoint": "it is containerd's socket",
	"healthzBindAddress":       "the first boot asks the kubelet for its health on loopback",
	"healthzPort":              "the first boot asks the kubelet for its health on 10248",
	"kind":                     "write the fields alone",
	"port":                     "the API server reaches the kubelet on 10250",
	"readOnlyPort":             "it is closed",
	"registerWithTaints":       "write taints",
	"rotateCertificates":       "it follows from certificates.signing",
	"serverTLSBootstrap":       "write certificates.kubeletServing",
	"staticPodPath":            "machines with static pods read /etc/kubernetes/manifests, others nothing",
	"tlsCertFile":              "the machine's certificate is in its document",
	"tlsPrivateKeyFile":        "the machine's key is in its document",
}

// kubelet checks fields of KubeletConfiguration against the real type.
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
		v.report(at, "has fields that do not fit KubeletConfiguration (kubelet.config.k8s.io/v1beta1); correct the problems above first")
		return
	}
	// One wrong field hides the others, and not every error names its field, so they are tried one
	// by one.
	for key, value := range fields {
		if _, own := ownKubeletFields[key]; !own {
			v.kubeletField(key, value, at)
		}
	}
}

// maxDetailed is how many problems there may be before the fields of a wrong kubelet configuration
// are no longer tried one by one, which takes time.
const maxDetailed = 20 * maxProblems

// fitsKubelet says whether all fields fit.
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

// decodeKubelet decodes fields as the kubelet does, with exact keys.
func decodeKubelet(data []byte) (strict []error, err error) {
	var into kubelet.KubeletConfiguration
	return strictjson.UnmarshalStrict(data, &into)
}

var unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)

// kubeletField reports what is wrong with one field, as far within it as the decoder says.
func (v *checker) kubeletField(key string, value any, at *yamlpath.Location) {
	data, err := json.Marshal(map[string]any{key: value})
	if err != nil {
		return // what free decodes can always be marshalled
	}
	strict, err := decodeKubelet(data)
	for _, e := range strict {
		here := at
		path := key
		if m := unknownField.FindStringSubmatch(e.Error()); m != nil {
			path = m[1]
		}
		for part := range strings.SplitSeq(path, ".") {
			here = belowField(here, part)
		}
		hint := ""
		if path == key {
			hint = suggest.Hint(key, kubeletFieldNames)
		}
		v.report(here, "KubeletConfiguration (kubelet.config.k8s.io/v1beta1) has no such field%s", hint)
	}
	if err == nil {
		return
	}
	here := at.Key(key)
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		if _, path, ok := strings.Cut(wrongType.Field, "."); ok {
			for part := range strings.SplitSeq(path, ".") {
				here = belowField(here, part)
			}
		}
		v.report(here, "want %s, got %s", goTypeName(wrongType.Type), jsonTypeName(wrongType.Value))
		return
	}
	// Values with a notation of their own, such as durations, name neither field nor type.
	v.report(here, "does not fit the field of KubeletConfiguration; durations are strings such as 10s or 4h, quantities such as 500Mi")
}

// below returns the place of a field that a decoder names: a key, with list indices behind it if
// there are any.
func belowField(at *yamlpath.Location, part string) *yamlpath.Location {
	name, rest, _ := strings.Cut(part, "[")
	at = at.Key(name)
	for index := range strings.SplitSeq(rest, "[") {
		var i int
		if _, err := fmt.Sscanf(index, "%d]", &i); err == nil {
			at = at.Index(i)
		}
	}
	return at
}

// kubeletFieldNames are the keys of KubeletConfiguration, for suggestions.
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

// goTypeName names what a Go type is called in YAML.
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

// jsonTypeName names what the decoder found.
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
