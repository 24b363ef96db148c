package kinds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
)

var objectRules = map[string]Rule{
	"meta/v1.ObjectMeta labels":      {Check: firstBadLabel},
	"meta/v1.ObjectMeta annotations": {Check: annotations},

	"core/v1.ServiceSpec type": OneOf("ClusterIP", "NodePort", "LoadBalancer",
		"ExternalName"),
	"core/v1.ServiceSpec externalTrafficPolicy": OneOf("Cluster", "Local"),
	"core/v1.ServiceSpec internalTrafficPolicy": OneOf("Cluster", "Local"),
	"core/v1.ServiceSpec sessionAffinity":       OneOf("None", "ClientIP"),
	"core/v1.ServicePort port":                  Port,
	"core/v1.ServicePort protocol":              OneOf("TCP", "UDP", "SCTP"),

	"networking/v1.NetworkPolicyPort protocol":  OneOf("TCP", "UDP", "SCTP"),
	"rbac/v1.RoleRef kind":                      OneOf("ClusterRole", "Role"),
	"storage/v1.StorageClass volumeBindingMode": OneOf("Immediate", "WaitForFirstConsumer"),
	"storage/v1.StorageClass reclaimPolicy":     OneOf("Delete", "Retain"),
}

var objectRequired = map[string][]string{
	"core/v1.ServicePort":        {"port"},
	"rbac/v1.RoleRef":            {"kind", "name"},
	"rbac/v1.Subject":            {"kind", "name"},
	"rbac/v1.ClusterRoleBinding": {"roleRef"},
	"rbac/v1.RoleBinding":        {"roleRef"},
	"storage/v1.StorageClass":    {"provisioner"},
}

// firstBadLabel reports the first label, in the order of their keys, that no object can have
// (k8s.io/apimachinery, pkg/apis/meta/v1/validation/validation.go, ValidateLabels).
func firstBadLabel(v any) string {
	m, _ := v.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value, _ := m[key].(string)
		if len(validation.IsQualifiedName(key)) > 0 {
			return Show(key) + " is no key of a label; write letters, digits, '-', '_' and " +
				"dots, 63 characters at most, after a domain and a slash if you like"
		}
		if len(validation.IsValidLabelValue(value)) > 0 {
			return Show(key) + ": " + Show(value) + " is no value of a label; write " +
				"letters, digits, '-', '_' and dots, 63 characters at most"
		}
	}
	return ""
}

// annotations reports the first key that no annotation can have, or that they are too large
// together (k8s.io/apimachinery, pkg/api/validation/objectmeta.go, ValidateAnnotations).
func annotations(v any) string {
	m, _ := v.(map[string]any)
	sum := 0
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value, _ := m[key].(string)
		if sum += len(key) + len(value); sum > apivalidation.TotalAnnotationSizeLimitB {
			return fmt.Sprintf("have more than 256 KiB (%d) together, and the API server takes no "+
				"more; shorten them", apivalidation.TotalAnnotationSizeLimitB)
		}
		if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
			return Show(key) + " is no key of an annotation; write letters, digits, '-', " +
				"'_' and dots, 63 characters at most, after a domain and a slash if you like"
		}
	}
	return ""
}
