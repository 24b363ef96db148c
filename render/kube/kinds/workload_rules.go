// This file holds the rules of pods and of the objects that run pods: Deployments,
// DaemonSets, StatefulSets, Jobs.

package kinds

import (
	"math"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The rules of pods are those of k8s.io/kubernetes, pkg/apis/core/validation/validation.go, read at
// 1.36.3. A static pod that breaks one is refused by the kubelet; a Deployment is refused by the
// API server.

var workloadRules = map[string]Rule{
	"core/v1.PodSpec restartPolicy": OneOf("Always", "OnFailure", "Never"),
	"core/v1.PodSpec dnsPolicy": OneOf("ClusterFirst", "ClusterFirstWithHostNet", "Default",
		"None"),
	"core/v1.PodSpec preemptionPolicy":              OneOf("Never", "PreemptLowerPriority"),
	"core/v1.PodSpec terminationGracePeriodSeconds": NotNegative,
	"core/v1.PodSpec activeDeadlineSeconds":         Within(1, math.MaxInt32),
	"core/v1.PodOS name":                            OneOf("linux", "windows"),

	"core/v1.Container name":                     Matching(validation.IsDNS1123Label),
	"core/v1.Container image":                    {Check: image},
	"core/v1.Container imagePullPolicy":          OneOf("Always", "IfNotPresent", "Never"),
	"core/v1.Container terminationMessagePolicy": OneOf("File", "FallbackToLogsOnError"),
	"core/v1.ContainerPort containerPort":        Port,
	"core/v1.ContainerPort hostPort":             Port,
	"core/v1.ContainerPort protocol":             OneOf("TCP", "UDP", "SCTP"),
	"core/v1.ContainerPort name":                 Matching(validation.IsValidPortName),
	"core/v1.EnvVar name":                        Matching(validation.IsRelaxedEnvVarName),

	"core/v1.Probe initialDelaySeconds":           NotNegative,
	"core/v1.Probe timeoutSeconds":                NotNegative,
	"core/v1.Probe periodSeconds":                 NotNegative,
	"core/v1.Probe successThreshold":              NotNegative,
	"core/v1.Probe failureThreshold":              NotNegative,
	"core/v1.Probe terminationGracePeriodSeconds": AtLeast(1),
	"core/v1.HTTPGetAction scheme":                OneOf("HTTP", "HTTPS"),

	"core/v1.Volume name":               Matching(validation.IsDNS1123Label),
	"core/v1.HostPathVolumeSource path": {Check: backSteps},
	"core/v1.HostPathVolumeSource type": OneOf("DirectoryOrCreate", "Directory",
		"FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"),
	"core/v1.VolumeMount mountPropagation":  OneOf("None", "HostToContainer", "Bidirectional"),
	"core/v1.VolumeMount recursiveReadOnly": OneOf("Disabled", "IfPossible", "Enabled"),

	"core/v1.SeccompProfile type":                    profileType,
	"core/v1.AppArmorProfile type":                   profileType,
	"core/v1.SecurityContext procMount":              OneOf("Default", "Unmasked"),
	"core/v1.SecurityContext runAsUser":              userID,
	"core/v1.SecurityContext runAsGroup":             userID,
	"core/v1.PodSecurityContext runAsUser":           userID,
	"core/v1.PodSecurityContext runAsGroup":          userID,
	"core/v1.PodSecurityContext fsGroup":             userID,
	"core/v1.PodSecurityContext fsGroupChangePolicy": OneOf("Always", "OnRootMismatch"),

	"core/v1.Toleration operator": OneOf("Equal", "Exists", "Lt", "Gt"),
	"core/v1.Toleration effect":   TaintEffect,

	"core/v1.TopologySpreadConstraint whenUnsatisfiable": OneOf("DoNotSchedule",
		"ScheduleAnyway"),
	"core/v1.TopologySpreadConstraint maxSkew": AtLeast(1),

	"apps/v1.DeploymentSpec replicas":        NotNegative,
	"apps/v1.StatefulSetSpec replicas":       NotNegative,
	"apps/v1.DeploymentStrategy type":        OneOf("Recreate", "RollingUpdate"),
	"apps/v1.DaemonSetUpdateStrategy type":   OneOf("RollingUpdate", "OnDelete"),
	"apps/v1.StatefulSetUpdateStrategy type": OneOf("RollingUpdate", "OnDelete"),
	"batch/v1.CronJobSpec concurrencyPolicy": OneOf("Allow", "Forbid", "Replace"),
}

var profileType = OneOf("RuntimeDefault", "Unconfined", "Localhost")

var userID = Within(0, 1<<31-1)

var workloadRequired = map[string][]string{
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

var workloadDocuments = map[string][]Document{
	"Pod":         {podOf},
	"Deployment":  {templateOf, selectsOwn, restartsAlways},
	"DaemonSet":   {templateOf, selectsOwn, restartsAlways},
	"ReplicaSet":  {templateOf, selectsOwn, restartsAlways},
	"StatefulSet": {templateOf, selectsOwn, restartsAlways},
	"Job":         {templateOf, restartsNotAlways},
	"CronJob":     {jobTemplateOf},
}

// StaticPod are the rules that the kubelet adds for static pods.
var StaticPod = []Document{startsAlone}

// repository matches the path of an image, without its registry, its tag and its digest:
// github.com/distribution/reference v0.6.0, regexp.go.
var repository = regexp.MustCompile(
	`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)

// image returns what is wrong with the name of an image. The API server takes nearly any; the
// kubelet then reports InvalidImageName and starts nothing.
func image(v any) string {
	ref, _ := v.(string)
	name, _, _ := strings.Cut(ref, "@")
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		name = name[:at]
	}
	first, rest, found := strings.Cut(name, "/")
	if found && (strings.ContainsAny(first, ".:") || first == "localhost" ||
		first != strings.ToLower(first)) {
		name = rest // the first part is a registry
	}
	switch {
	case found && first == "hub.docker.com":
		return Show(ref) + " is of a web site and no registry; write docker.io in its place"
	case strings.ContainsAny(ref, " \t\n"):
		return Show(ref) + " has a blank; no image has one in its name"
	case name != strings.ToLower(name):
		return Show(ref) + " has capital letters; the name of an image has none"
	case !repository.MatchString(name):
		return Show(ref) + " is no name of an image; write it like registry.k8s.io/web:v1.2.3"
	}
	return ""
}
