package kinds

import (
	"k8s.io/apimachinery/pkg/util/validation"
)

// The rules of pods are those of k8s.io/kubernetes, pkg/apis/core/validation/validation.go, read at
// 1.36.3. A static pod that breaks one is refused by the kubelet; a Deployment is refused by the
// API server.

// portNumber is the rule of a port; 0 stands for none.
var portNumber = set(within(1, 65535))

var notNegative = atLeast(0)

// podRules are the rules of fields in pods and in templates of pods.
var podRules = map[string]rule{
	"core/v1.PodSpec restartPolicy": oneOf("Always", "OnFailure", "Never"),
	"core/v1.PodSpec dnsPolicy": oneOf("ClusterFirst", "ClusterFirstWithHostNet", "Default",
		"None"),
	"core/v1.PodSpec preemptionPolicy":              oneOf("Never", "PreemptLowerPriority"),
	"core/v1.PodSpec terminationGracePeriodSeconds": notNegative,
	"core/v1.PodSpec activeDeadlineSeconds":         set(atLeast(1)),
	"core/v1.PodOS name":                            oneOf("linux", "windows"),

	"core/v1.Container name":                     matching(validation.IsDNS1123Label),
	"core/v1.Container imagePullPolicy":          oneOf("Always", "IfNotPresent", "Never"),
	"core/v1.Container terminationMessagePolicy": oneOf("File", "FallbackToLogsOnError"),
	"core/v1.ContainerPort containerPort":        portNumber,
	"core/v1.ContainerPort hostPort":             portNumber,
	"core/v1.ContainerPort protocol":             oneOf("TCP", "UDP", "SCTP"),
	"core/v1.ContainerPort name":                 matching(validation.IsValidPortName),
	"core/v1.EnvVar name":                        matching(validation.IsRelaxedEnvVarName),

	"core/v1.Probe initialDelaySeconds":           notNegative,
	"core/v1.Probe timeoutSeconds":                notNegative,
	"core/v1.Probe periodSeconds":                 notNegative,
	"core/v1.Probe successThreshold":              notNegative,
	"core/v1.Probe failureThreshold":              notNegative,
	"core/v1.Probe terminationGracePeriodSeconds": atLeast(1),
	"core/v1.HTTPGetAction scheme":                oneOf("HTTP", "HTTPS"),

	"core/v1.Volume name":               matching(validation.IsDNS1123Label),
	"core/v1.HostPathVolumeSource path": {check: backSteps},
	"core/v1.HostPathVolumeSource type": oneOf("DirectoryOrCreate", "Directory", "FileOrCreate",
		"File", "Socket", "CharDevice", "BlockDevice"),
	"core/v1.VolumeMount mountPropagation":  oneOf("None", "HostToContainer", "Bidirectional"),
	"core/v1.VolumeMount recursiveReadOnly": oneOf("Disabled", "IfPossible", "Enabled"),

	"core/v1.SeccompProfile type":                    profileType,
	"core/v1.AppArmorProfile type":                   profileType,
	"core/v1.SecurityContext procMount":              oneOf("Default", "Unmasked"),
	"core/v1.SecurityContext runAsUser":              userID,
	"core/v1.SecurityContext runAsGroup":             userID,
	"core/v1.PodSecurityContext runAsUser":           userID,
	"core/v1.PodSecurityContext runAsGroup":          userID,
	"core/v1.PodSecurityContext fsGroup":             userID,
	"core/v1.PodSecurityContext fsGroupChangePolicy": oneOf("Always", "OnRootMismatch"),

	"core/v1.Toleration operator": oneOf("Equal", "Exists", "Lt", "Gt"),
	"core/v1.Toleration effect":   taintEffect,

	"core/v1.TopologySpreadConstraint whenUnsatisfiable": oneOf("DoNotSchedule", "ScheduleAnyway"),
	"core/v1.TopologySpreadConstraint maxSkew":           atLeast(1),

	"core/v1.ServiceSpec type": oneOf("ClusterIP", "NodePort", "LoadBalancer",
		"ExternalName"),
	"core/v1.ServiceSpec externalTrafficPolicy": oneOf("Cluster", "Local"),
	"core/v1.ServiceSpec internalTrafficPolicy": oneOf("Cluster", "Local"),
	"core/v1.ServiceSpec sessionAffinity":       oneOf("None", "ClientIP"),
	"core/v1.ServicePort port":                  portNumber,
	"core/v1.ServicePort protocol":              oneOf("TCP", "UDP", "SCTP"),

	"apps/v1.DeploymentSpec replicas":           notNegative,
	"apps/v1.StatefulSetSpec replicas":          notNegative,
	"apps/v1.DeploymentStrategy type":           oneOf("Recreate", "RollingUpdate"),
	"apps/v1.DaemonSetUpdateStrategy type":      oneOf("RollingUpdate", "OnDelete"),
	"apps/v1.StatefulSetUpdateStrategy type":    oneOf("RollingUpdate", "OnDelete"),
	"batch/v1.CronJobSpec concurrencyPolicy":    oneOf("Allow", "Forbid", "Replace"),
	"networking/v1.NetworkPolicyPort protocol":  oneOf("TCP", "UDP", "SCTP"),
	"rbac/v1.RoleRef kind":                      oneOf("ClusterRole", "Role"),
	"storage/v1.StorageClass volumeBindingMode": oneOf("Immediate", "WaitForFirstConsumer"),
	"storage/v1.StorageClass reclaimPolicy":     oneOf("Delete", "Retain"),
}

// profileType is the rule of the origin of a profile of seccomp or AppArmor.
var profileType = oneOf("RuntimeDefault", "Unconfined", "Localhost")

// taintEffect is the rule of what a taint does, and of what a toleration allows.
var taintEffect = oneOf("NoSchedule", "PreferNoSchedule", "NoExecute")

// userID is the rule of a user's or group's number.
var userID = within(0, 1<<31-1)

// podRequired are the fields in pods, and in objects that run them, that must not be empty.
var podRequired = map[string][]string{
	"core/v1.Container":            {"name"},
	"core/v1.ContainerPort":        {"containerPort"},
	"core/v1.EnvVar":               {"name"},
	"core/v1.Volume":               {"name"},
	"core/v1.VolumeMount":          {"name", "mountPath"},
	"core/v1.HostPathVolumeSource": {"path"},
	"core/v1.TCPSocketAction":      {"port"},
	"core/v1.HTTPGetAction":        {"port"},
	"core/v1.SeccompProfile":       {"type"},
	"core/v1.ServicePort":          {"port"},
	"apps/v1.DeploymentSpec":       {"selector", "template"},
	"apps/v1.DaemonSetSpec":        {"selector", "template"},
	"apps/v1.StatefulSetSpec":      {"selector", "template"},
	"batch/v1.CronJobSpec":         {"schedule"},
	"rbac/v1.RoleRef":              {"kind", "name"},
	"rbac/v1.Subject":              {"kind", "name"},
	"rbac/v1.ClusterRoleBinding":   {"roleRef"},
	"rbac/v1.RoleBinding":          {"roleRef"},
	"storage/v1.StorageClass":      {"provisioner"},
}

// podDocuments are the rules of objects with pods.
var podDocuments = map[string][]document{
	"Pod":         {podOf},
	"Deployment":  {templateOf, selectsOwn, restartsAlways},
	"DaemonSet":   {templateOf, selectsOwn, restartsAlways},
	"ReplicaSet":  {templateOf, selectsOwn, restartsAlways},
	"StatefulSet": {templateOf, selectsOwn, restartsAlways},
	"Job":         {templateOf, restartsNotAlways},
	"CronJob":     {jobTemplateOf},
}

// staticPodRules are the rules that the kubelet adds for static pods.
var staticPodRules = []document{noReferences}
