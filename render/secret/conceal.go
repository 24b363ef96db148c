package secret

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln/manifests"
	"kiln/render/config"
	"kiln/render/credential"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/templates"
)

// Redacted stands in the place of a secret.
const Redacted = "<secret>"

// openFiles are kiln's own files that others may not read, though they hold no secret: what is not for everybody on a machine is still for whoever
// reviews it. All of them are made from cluster.yaml, which holds none. The list of hashes, plan.KilnDir/files, is not one of them: it has those of
// secrets.
var openFiles = []string{
	templates.BootPath, templates.ReportPath, templates.StepsPath, templates.RoutesPath, templates.BackupPath,
	plan.KilnDir + "/machine", plan.KilnDir + "/checks", plan.KilnDir + "/node.yaml", plan.ObjectsDir + "index",
	plan.KubeletConf, plan.ManagerConf, plan.SchedulerConf, plan.AdminConf, plan.VIPConf, plan.ProxyConf,
	plan.Admission, plan.Authentication, plan.AuditPolicy,
	manifests.ManifestPath(plan.APIServer), manifests.ManifestPath(plan.ControllerManager), manifests.ManifestPath(plan.Scheduler),
	manifests.ManifestPath(plan.Etcd), manifests.ManifestPath(plan.KubeVIP), manifests.ManifestPath(plan.HAProxy),
	plan.KubeletConfig, plan.UnitDir + "/kubelet.service", plan.KubeletDropIn, plan.CNIConfig,
}

// IsConcealed says whether a file of a document, which does not tell, is taken for a secret: one that the table of secrets names by its path, an API
// object that is a Secret, what holds a credential wherever it lies, and everything that others may not read, unless it
// is one of kiln's own open files or nothing but certificates. So a secret of people's own is concealed if its mode protects it.
func IsConcealed(f *node.File) bool {
	switch {
	case credential.Holds(f.Content):
		return true
	case slices.ContainsFunc(Kinds, func(k Kind) bool { return k.Path == f.Path }):
		return !isPublic(f.Content)
	case slices.Contains(openFiles, f.Path), strings.HasPrefix(f.Path, config.KeyfilePrefix):
		return false
	case path.Dir(f.Path)+"/" == plan.ObjectsDir:
		if len(f.Content) > maxObject {
			return true
		}
		objects, err := manifests.Read(f.Content)
		return err != nil || slices.ContainsFunc(objects, func(o manifests.Object) bool { return o.Secret })
	}
	return f.Mode&0o004 == 0 && !isPublic(f.Content)
}

// maxObject is how large an object is read: no API server takes a larger one.
const maxObject = 1 << 20

// isPublic says that a file holds certificates and public keys and nothing else.
func isPublic(content []byte) bool {
	var again []byte
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" && block.Type != "PUBLIC KEY" || len(block.Headers) > 0 {
			return false
		}
		again = append(again, pem.EncodeToMemory(block)...)
	}
	return len(again) > 0 && bytes.Equal(again, content)
}

// secretField matches the fields of cloud-init's network configuration and meta-data, and of Ignition's config, below which secrets stand.
var secretField = regexp.MustCompile(`(?i)password|passwd.|pass(phrase)?$|psk|secret|token|private|shared|keyfile|^key$|^httpheaders$|^clevis$`)

// Redact returns settings in YAML or JSON with what may be a secret redacted; the same text if there is none.
func Redact(text []byte) []byte {
	var settings any
	if yaml.Unmarshal(text, &settings) != nil {
		return []byte(Redacted)
	}
	found := false
	settings = redact(settings, false, &found)
	if !found {
		return text
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(settings) != nil {
		return []byte(Redacted)
	}
	if json.Valid(text) {
		return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	}
	readable, err := yaml.JSONToYAML(out.Bytes())
	if err != nil {
		return []byte(Redacted)
	}
	return readable
}

// redact returns settings without the values below fields with secrets, without the contents of data URLs, and without the user in other URLs.
func redact(settings any, secret bool, found *bool) any {
	switch v := settings.(type) {
	case map[string]any:
		for key := range v {
			v[key] = redact(v[key], secret || secretField.MatchString(key), found)
		}
		return v
	case []any:
		for i := range v {
			v[i] = redact(v[i], secret, found)
		}
		return v
	case string:
		if !secret && !strings.HasPrefix(v, "data:") && !userInURL.MatchString(v) && !credential.Holds([]byte(v)) {
			return v
		}
	case nil:
		return nil
	default:
		if !secret {
			return v
		}
	}
	*found = true
	return Redacted
}

var userInURL = regexp.MustCompile(`//[^/@\s]+@`)
