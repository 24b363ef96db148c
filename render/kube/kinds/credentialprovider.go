package kinds

import (
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	kubelet "k8s.io/kubelet/config/v1"
)

// The rules of the programs from which a kubelet has the credentials of registries are its own
// (k8s.io/kubernetes v1.36.3, pkg/credentialprovider/plugin/config.go,
// validateCredentialProviderConfig). It exits if one is broken. The versions have the same fields.

// providerVersions are the versions of CredentialProviderConfig, and of what its programs answer.
var providerVersions = []string{"v1", "v1beta1", "v1alpha1"}

var providerRules, providerRequired = func() (map[string]Rule, map[string][]string) {
	rules, required := map[string]Rule{}, map[string][]string{}
	var answers []string
	for _, version := range providerVersions {
		answers = append(answers, "credentialprovider.kubelet.k8s.io/"+version)
	}
	for _, version := range providerVersions {
		typ := "config/" + version + ".CredentialProvider"
		rules[typ+" apiVersion"] = OneOf(answers...)
		rules[typ+" defaultCacheDuration"] = duration
		rules[typ+" name"] = Rule{Check: func(v any) string {
			if s, _ := v.(string); s == "." || s == ".." || strings.ContainsAny(s, "/ ") {
				return Show(s) + " is not the name of a program in the flag " +
					"image-credential-provider-bin-dir"
			}
			return ""
		}}
		required[typ] = []string{"name", "matchImages", "defaultCacheDuration", "apiVersion"}
		required[typ+"Config"] = []string{"providers"}
	}
	typ := "config/v1.ServiceAccountTokenAttributes"
	rules[typ+" cacheType"] = OneOf("ServiceAccount", "Token")
	required[typ] = []string{"serviceAccountTokenAudience", "cacheType"}
	return rules, required
}()

var providerDocuments = map[string][]Document{"CredentialProviderConfig": {providers}}

func providers(f *Fault, data []byte) {
	c, ok := Decode[kubelet.CredentialProviderConfig](data)
	if !ok {
		return
	}
	for i, p := range c.Providers {
		at := f.Key("providers").Index(i)
		if slices.IndexFunc(c.Providers, func(o kubelet.CredentialProvider) bool {
			return o.Name == p.Name
		}) < i {
			at.Key("name").Report("%s stands there twice", Show(p.Name))
		}
		for j, image := range p.MatchImages {
			if _, err := url.Parse("https://" + image); err != nil {
				at.Key("matchImages").Index(j).Report("%s is not a pattern of images; write it "+
					"like *.example.com/team", Show(image))
			}
		}
		if p.TokenAttributes != nil {
			tokens(at.Key("tokenAttributes"), &p)
		}
	}
}

func tokens(f *Fault, p *kubelet.CredentialProvider) {
	t := p.TokenAttributes
	keys := slices.Concat(t.RequiredServiceAccountAnnotationKeys,
		t.OptionalServiceAccountAnnotationKeys)
	if t.RequireServiceAccount == nil { // false is a value too
		f.Report("requireServiceAccount is missing")
	}
	if p.APIVersion != "credentialprovider.kubelet.k8s.io/v1" {
		f.Report("needs apiVersion: credentialprovider.kubelet.k8s.io/v1")
	}
	if t.RequireServiceAccount != nil && !*t.RequireServiceAccount &&
		len(t.RequiredServiceAccountAnnotationKeys) > 0 {
		f.Key("requiredServiceAccountAnnotationKeys").Report("needs requireServiceAccount: true")
	}
	for i, key := range keys {
		if slices.Index(keys, key) < i {
			f.Report("the annotation %s stands there twice", Show(key))
		}
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			f.Report("%s is not the key of an annotation", Show(key))
		}
	}
}
