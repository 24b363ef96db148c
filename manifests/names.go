package manifests

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

const maxNameLength = validation.DNS1123SubdomainMaxLength

// dnsGroups are the built-in groups whose objects all have DNS names. Roles, their bindings,
// certificate requests and API services may have any name that is one segment of a path
// (system:node). Groups that are not built in decide for themselves.
var dnsGroups = []string{
	"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apps", "autoscaling", "batch",
	"coordination.k8s.io", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io", "node.k8s.io",
	"policy", "scheduling.k8s.io", "storage.k8s.io",
}

// kindName matches the names of kinds. kiln refuses one that begins with a small letter, which the
// API would take: the hook tells kinds from resources by that.
var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,62}$`)

// problem returns why the API would refuse a header, or "", by k8s.io/apimachinery v0.36.3,
// pkg/api/validate/content.
func (h *header) problem() string {
	name, namespace := h.Metadata.Name, h.Metadata.Namespace
	group, version, found := strings.Cut(h.APIVersion, "/")
	if !found {
		group, version = "", group
	}
	switch {
	case group != "" && len(validation.IsDNS1123Subdomain(group)) > 0 ||
		len(validation.IsDNS1035Label(version)) > 0:
		return fmt.Sprintf("apiVersion %q is not valid; write it like apps/v1", h.APIVersion)
	case !kindName.MatchString(h.Kind):
		return fmt.Sprintf("kind %q is not valid; write it like ConfigMap", h.Kind)
	case h.Kind == customResource &&
		(len(validation.IsDNS1035Label(h.Spec.Names.Plural)) > 0 ||
			len(validation.IsDNS1123Subdomain(h.Spec.Group)) > 0):
		return fmt.Sprintf("spec.names.plural %q or spec.group %q is not a DNS name; "+
			"the API would refuse it", h.Spec.Names.Plural, h.Spec.Group)
	case len(content.IsPathSegmentName(name)) > 0:
		return `the API takes no name that is "." or "..", or has a "/" or a "%"; choose another`
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "the name has a character that cannot be seen; remove it"
	case len(name) > maxNameLength:
		return fmt.Sprintf("the name has %d characters; at most %d", len(name), maxNameLength)
	case slices.Contains(dnsGroups, group) && len(validation.IsDNS1123Subdomain(name)) > 0:
		return "the name is not a DNS subdomain; write lower-case letters, digits, '-' and dots, " +
			"with a letter or digit at both ends"
	case group == "" && (h.Kind == "Namespace" || h.Kind == "Service") &&
		len(validation.IsDNS1123Label(name)) > 0:
		return "the name is not a DNS label; write at most 63 lower-case letters, " +
			"digits and '-', with a letter or digit at both ends"
	case namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0:
		return fmt.Sprintf("the namespace %q is not a DNS label; write at most 63 lower-case "+
			"letters, digits and '-', with a letter or digit at both ends", namespace)
	}
	return ""
}
