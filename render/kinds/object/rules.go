package object

import "kiln/render/kinds/rule"

// Rules are the rules of fields in objects that run no pods.
var Rules = map[string]rule.Rule{
	"core/v1.ServiceSpec type": rule.OneOf("ClusterIP", "NodePort", "LoadBalancer",
		"ExternalName"),
	"core/v1.ServiceSpec externalTrafficPolicy": rule.OneOf("Cluster", "Local"),
	"core/v1.ServiceSpec internalTrafficPolicy": rule.OneOf("Cluster", "Local"),
	"core/v1.ServiceSpec sessionAffinity":       rule.OneOf("None", "ClientIP"),
	"core/v1.ServicePort port":                  rule.Port,
	"core/v1.ServicePort protocol":              rule.OneOf("TCP", "UDP", "SCTP"),

	"networking/v1.NetworkPolicyPort protocol":  rule.OneOf("TCP", "UDP", "SCTP"),
	"rbac/v1.RoleRef kind":                      rule.OneOf("ClusterRole", "Role"),
	"storage/v1.StorageClass volumeBindingMode": rule.OneOf("Immediate", "WaitForFirstConsumer"),
	"storage/v1.StorageClass reclaimPolicy":     rule.OneOf("Delete", "Retain"),
}

// Required are the fields in objects that run no pods, and that must not be empty.
var Required = map[string][]string{
	"core/v1.ServicePort":        {"port"},
	"rbac/v1.RoleRef":            {"kind", "name"},
	"rbac/v1.Subject":            {"kind", "name"},
	"rbac/v1.ClusterRoleBinding": {"roleRef"},
	"rbac/v1.RoleBinding":        {"roleRef"},
	"storage/v1.StorageClass":    {"provisioner"},
}
