// This file holds the rules of API objects that run no pods: Secrets, ConfigMaps, Services,
// bindings of roles, storage classes, network policies, and definitions of custom resources. No
// message quotes a value of a Secret.
//
// The rules are those of k8s.io/kubernetes 1.36.3, validation/validation.go in pkg/apis/core,
// pkg/apis/rbac, pkg/apis/storage and pkg/apis/networking, and of k8s.io/apiextensions-apiserver
// v0.36.3, pkg/apis/apiextensions/validation/validation.go.

package kinds

import (
	"maps"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

var objectDocuments = map[string][]Document{
	"Secret":                   {secret},
	"ConfigMap":                {configMap},
	"Service":                  {service},
	"ClusterRoleBinding":       {clusterRoleBinding},
	"CustomResourceDefinition": {objectDefinition},
}

var secretKeys = map[core.SecretType][]string{
	core.SecretTypeTLS:              {core.TLSCertKey, core.TLSPrivateKeyKey},
	core.SecretTypeDockercfg:        {core.DockerConfigKey},
	core.SecretTypeDockerConfigJson: {core.DockerConfigJsonKey},
	core.SecretTypeSSHAuth:          {core.SSHAuthPrivateKey},
}

func secret(f *Fault, data []byte) {
	s, ok := Decode[core.Secret](data)
	if !ok {
		return
	}
	checkKeys(f.Key("data"), s.Data)
	checkKeys(f.Key("stringData"), s.StringData)
	checkSize(f, size(s.Data)+size(s.StringData))
	for _, key := range secretKeys[s.Type] {
		_, inData := s.Data[key]
		_, inText := s.StringData[key]
		if !inData && !inText {
			f.Report("a Secret of type %s needs the key %s, in data or stringData", s.Type, key)
		}
	}
}

func configMap(f *Fault, data []byte) {
	c, ok := Decode[core.ConfigMap](data)
	if !ok {
		return
	}
	checkKeys(f.Key("data"), c.Data)
	checkKeys(f.Key("binaryData"), c.BinaryData)
	checkSize(f, size(c.Data)+size(c.BinaryData))
	for _, key := range slices.Sorted(maps.Keys(c.BinaryData)) {
		if _, both := c.Data[key]; both {
			f.Key("binaryData", key).Report("data has this key, too; remove one")
		}
	}
}

func size[V ~string | ~[]byte](values map[string]V) (sum int) {
	for _, v := range values {
		sum += len(v)
	}
	return sum
}

func checkSize(f *Fault, bytes int) {
	if bytes > core.MaxSecretSize {
		f.Report("its values have %d bytes, and the API server takes at most 1 MiB (%d); divide it",
			bytes, core.MaxSecretSize)
	}
}

func checkKeys[V any](f *Fault, values map[string]V) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if len(validation.IsConfigMapKey(key)) > 0 {
			f.Key(key).Report("is no key; write letters, digits, '-', '_' and dots, " +
				"253 characters at most")
		}
	}
}

func service(f *Fault, data []byte) {
	s, ok := Decode[core.Service](data)
	if !ok || len(s.Spec.Ports) < 2 {
		return
	}
	names := map[string]bool{}
	for i := range s.Spec.Ports {
		at := f.Key("spec", "ports").Index(i)
		switch name := s.Spec.Ports[i].Name; {
		case name == "":
			at.Report("the port needs a name, because there are several")
		case names[name]:
			at.Report("another port has the name %s", Show(name))
		}
		names[s.Spec.Ports[i].Name] = true
	}
}

func clusterRoleBinding(f *Fault, data []byte) {
	b, ok := Decode[rbac.ClusterRoleBinding](data)
	if !ok {
		return
	}
	for i := range b.Subjects {
		if s := &b.Subjects[i]; s.Kind == rbac.ServiceAccountKind && s.Namespace == "" {
			f.Key("subjects").Index(i).Report("namespace is missing; " +
				"a ServiceAccount has one")
		}
	}
}

type customDefinition struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group                 string `json:"group"`
		PreserveUnknownFields bool   `json:"preserveUnknownFields"`
		Names                 struct {
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Storage bool `json:"storage"`
			Schema  struct {
				OpenAPIV3Schema *struct {
					Type string `json:"type"`
				} `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

func objectDefinition(f *Fault, data []byte) {
	d, ok := Decode[customDefinition](data)
	if !ok {
		return
	}
	spec := &d.Spec
	if want := spec.Names.Plural + "." + spec.Group; d.Metadata.Name != want {
		f.Key("metadata", "name").Report("%s is not spec.names.plural and spec.group; write %s",
			Show(d.Metadata.Name), Show(want))
	}
	if !strings.Contains(spec.Group, ".") {
		f.Key("spec", "group").Report("%s has no dot; write a domain such as example.com",
			Show(spec.Group))
	}
	if spec.PreserveUnknownFields {
		f.Key("spec", "preserveUnknownFields").Report("must be false; set " +
			"x-kubernetes-preserve-unknown-fields in the schema instead")
	}
	stored := 0
	for i := range spec.Versions {
		v := &spec.Versions[i]
		if v.Storage {
			stored++
		}
		at := f.Key("spec", "versions").Index(i)
		switch schema := v.Schema.OpenAPIV3Schema; {
		case schema == nil:
			at.Report("schema.openAPIV3Schema is missing; write one, such as {type: object, " +
				"x-kubernetes-preserve-unknown-fields: true}")
		case schema.Type != "object":
			at.Key("schema", "openAPIV3Schema").Report("type is %s; the type of a whole object "+
				"is object", Show(schema.Type))
		}
	}
	if stored != 1 {
		f.Key("spec", "versions").Report("%d versions have storage: true; one must", stored)
	}
}
