// Package workload holds the rules of pods and of the objects that run pods: Deployments,
// DaemonSets, StatefulSets, Jobs.
package workload

import (
	"math"

	"k8s.io/apimachinery/pkg/util/validation"

	"kiln/render/kinds/rule"
)

// The rules of pods are those of k8s.io/kubernetes, pkg/apis/core/validation/validation.go, read at
// 1.36.3. A static pod that breaks one is refused by the kubelet; a Deployment is refused by the
// API server.

// Rules are the rules of fields in pods, and in objects that run pods.
var Rules = map[string]rule.Rule{
	"core/v1.PodSpec restartPolicy": rule.OneOf("Always", "OnFailure", "Never"),
	"core/v1.PodSpec dnsPolicy": rule.OneOf("ClusterFirst", "ClusterFirstWithHostNet", "Default",
		"None"),
	"core/v1.PodSpec preemptionPolicy":              rule.OneOf("Never", "PreemptLowerPriority"),
	"core/v1.PodSpec terminationGracePeriodSeconds": rule.NotNegative,
	"core/v1.PodSpec activeDeadlineSeconds":         rule.Within(1, math.MaxInt32),
	"core/v1.PodOS name":                            rule.OneOf("linux", "windows"),

	"core/v1.Container name":                     rule.Matching(validation.IsDNS1123Label),
	"core/v1.Container image":                    {Check: image},
	"core/v1.Container imagePullPolicy":          rule.OneOf("Always", "IfNotPresent", "Never"),
	"core/v1.Container terminationMessagePolicy": rule.OneOf("File", "FallbackToLogsOnError"),
	"core/v1.ContainerPort containerPort":        rule.Port,
	"core/v1.ContainerPort hostPort":             rule.Port,
	"core/v1.ContainerPort protocol":             rule.OneOf("TCP", "UDP", "SCTP"),
	"core/v1.ContainerPort name":                 rule.Matching(validation.IsValidPortName),
	"core/v1.EnvVar name":                        rule.Matching(validation.IsRelaxedEnvVarName),

	"core/v1.Probe initialDelaySeconds":           rule.NotNegative,
	"core/v1.Probe timeoutSeconds":                rule.NotNegative,
	"core/v1.Probe periodSeconds":                 rule.NotNegative,
	"core/v1.Probe successThreshold":              rule.NotNegative,
	"core/v1.Probe failureThreshold":              rule.NotNegative,
	"core/v1.Probe terminationGracePeriodSeconds": rule.AtLeast(1),
	"core/v1.HTTPGetAction scheme":                rule.OneOf("HTTP", "HTTPS"),

	"core/v1.Volume name":               rule.Matching(validation.IsDNS1123Label),
	"core/v1.HostPathVolumeSource path": {Check: backSteps},
	"core/v1.HostPathVolumeSource type": rule.OneOf("DirectoryOrCreate", "Directory",
		"FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
	"core/v1.VolumeMount mountPropagation":  rule.OneOf("None", "HostToContainer", "Bidirectional"),
	"core/v1.VolumeMount recursiveReadOnly": rule.OneOf("Disabled", "IfPossible", "Enabled"),

	"core/v1.SeccompProfile type":                    profileType,
	"core/v1.AppArmorProfile type":                   profileType,
	"core/v1.SecurityContext procMount":              rule.OneOf("Default", "Unmasked"),
	"core/v1.SecurityContext runAsUser":              userID,
	"core/v1.SecurityContext runAsGroup":             userID,
	"core/v1.PodSecurityContext runAsUser":           userID,
	"core/v1.PodSecurityContext runAsGroup":          userID,
	"core/v1.PodSecurityContext fsGroup":             userID,
	"core/v1.PodSecurityContext fsGroupChangePolicy": rule.OneOf("Always", "OnRootMismatch"),

	"core/v1.Toleration operator": rule.OneOf("Equal", "Exists", "Lt", "Gt"),
	"core/v1.Toleration effect":   rule.TaintEffect,

	"core/v1.TopologySpreadConstraint whenUnsatisfiable": rule.OneOf("DoNotSchedule",
		"ScheduleAnyway"),
	"core/v1.TopologySpreadConstraint maxSkew": rule.AtLeast(1),

	"apps/v1.DeploymentSpec replicas":        rule.NotNegative,
	"apps/v1.StatefulSetSpec replicas":       rule.NotNegative,
	"apps/v1.DeploymentStrategy type":        rule.OneOf("Recreate", "RollingUpdate"),
	"apps/v1.DaemonSetUpdateStrategy type":   rule.OneOf("RollingUpdate", "OnDelete"),
	"apps/v1.StatefulSetUpdateStrategy type": rule.OneOf("RollingUpdate", "OnDelete"),
	"batch/v1.CronJobSpec concurrencyPolicy": rule.OneOf("Allow", "Forbid", "Replace"),
}

// profileType is the rule of the origin of a profile of seccomp or AppArmor.
var profileType = rule.OneOf("RuntimeDefault", "Unconfined", "Localhost")

// userID is the rule of a user's or group's number.
var userID = rule.Within(0, 1<<31-1)

// Required are the fields in pods, and in objects that run pods, that must not be empty.
var Required = map[string][]string{
	"core/v1.Container":            {"name"},
	"core/v1.ContainerPort":        {"containerPort"},
	"core/v1.EnvVar":               {"name"},
	"core/v1.Volume":               {"name"},
	"core/v1.VolumeMount":          {"name", "mountPath"},
	"core/v1.HostPathVolumeSource": {"path"},
	"core/v1.TCPSocketAction":      {"port"},
	"core/v1.HTTPGetAction":        {"port"},
	"core/v1.SeccompProfile":       {"type"},
	"apps/v1.DeploymentSpec":       {"selector", "template"},
	"apps/v1.DaemonSetSpec":        {"selector", "template"},
	"apps/v1.StatefulSetSpec":      {"selector", "template"},
	"batch/v1.CronJobSpec":         {"schedule"},
}

// Documents are the rules of objects with pods.
var Documents = map[string][]rule.Document{
	"Pod":         {podOf},
	"Deployment":  {templateOf, selectsOwn, restartsAlways},
	"DaemonSet":   {templateOf, selectsOwn, restartsAlways},
	"ReplicaSet":  {templateOf, selectsOwn, restartsAlways},
	"StatefulSet": {templateOf, selectsOwn, restartsAlways},
	"Job":         {templateOf, restartsNotAlways},
	"CronJob":     {jobTemplateOf},
}

// StaticPod are the rules that the kubelet adds for static pods.
var StaticPod = []rule.Document{noReferences}
