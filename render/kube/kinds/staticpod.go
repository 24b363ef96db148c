package kinds

import (
	"path"
	"regexp"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
)

// startsAlone reports what keeps a static pod from starting on its machine. The kubelet starts it
// without an API server, so it may not refer to objects: HasAPIObjectReference in pkg/api/pod/
// util.go of Kubernetes 1.36.3, behind the gate PreventStaticPodAPIReferences, on since 1.34.
func startsAlone(f *Fault, data []byte) {
	pod, ok := Decode[core.Pod](data)
	if !ok {
		return
	}
	spec := f.Key("spec")
	if pod.Spec.ServiceAccountName != "" {
		spec.Key("serviceAccountName").Report("a static pod has no service account; remove it")
	}
	if pod.Spec.RuntimeClassName != nil && *pod.Spec.RuntimeClassName != "" {
		spec.Key("runtimeClassName").Report("a RuntimeClass is an object, which the kubelet " +
			"cannot read before it has an API server; remove it")
	}
	for name := range pod.Spec.NodeSelector {
		spec.Key("nodeSelector", name).Report("a static pod is for this machine alone, and " +
			"the kubelet rejects it where the label is missing; remove it")
	}
	if len(pod.Spec.ResourceClaims) > 0 {
		spec.Key("resourceClaims").Report("a static pod has no resource claims; remove them")
	}
	if slices.ContainsFunc(pod.Spec.ImagePullSecrets, hasName) {
		spec.Key("imagePullSecrets").Report("a static pod has no Secrets; " +
			"give containerd the credentials of the registry")
	}
	for i := range pod.Spec.Volumes {
		for _, object := range references(&pod.Spec.Volumes[i].VolumeSource) {
			spec.Key("volumes").Index(i).Report("a static pod cannot use %s; "+
				"give it a file of the machine with hostPath", object)
		}
	}
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for i := range all {
		c := &all[i]
		at := spec.Key("containers").Index(i - len(pod.Spec.InitContainers))
		if i < len(pod.Spec.InitContainers) {
			at = spec.Key("initContainers").Index(i)
		}
		startable(at, c)
		fromAPI := slices.ContainsFunc(c.Env, func(e core.EnvVar) bool {
			return e.ValueFrom != nil &&
				(e.ValueFrom.ConfigMapKeyRef != nil || e.ValueFrom.SecretKeyRef != nil)
		})
		if fromAPI || len(c.EnvFrom) > 0 {
			spec.Report("container %s: a static pod takes no environment from ConfigMaps and "+
				"Secrets", Show(c.Name))
		}
	}
}

// leastMemory is what a program needs at least to start, in bytes, and moreMemory what these do.
const leastMemory = 8 << 20

var moreMemory = map[string]int64{"kube-apiserver": 128 << 20, "kube-controller-manager": 32 << 20}

// startable reports what keeps the program of a container from starting: a limit of memory with the
// wrong unit, and variables that Go and etcd exit with (runtime/debug: SetMemoryLimit; go.etcd.io/
// etcd/pkg/v3 v3.6.8, flags/flag.go: verifyEnv).
func startable(f *Fault, c *core.Container) {
	if limit, ok := c.Resources.Limits[core.ResourceMemory]; ok &&
		limit.Value() < max(leastMemory, moreMemory[c.Name]) {
		f.Key("resources", "limits", "memory").Report("%s is too little for a program to start; "+
			"write a size such as 512Mi", limit.String())
	}
	for i, v := range c.Env {
		at := f.Key("env").Index(i).Key("value")
		if v.Name == "GOMEMLIMIT" && v.ValueFrom == nil && !memoryLimit.MatchString(v.Value) {
			at.Report("Go exits with %s; write bytes, or a size such as 512MiB", Show(v.Value))
		}
		flag := "--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(v.Name, "ETCD_"),
			"_", "-"))
		isSet := func(word string) bool { return word == flag || strings.HasPrefix(word, flag+"=") }
		words := slices.Concat(c.Command, c.Args)
		if strings.HasPrefix(v.Name, "ETCD_") && len(words) > 0 &&
			path.Base(words[0]) == "etcd" && slices.ContainsFunc(words, isSet) {
			at.Report("etcd exits with a variable beside its flag %s; remove one of them", flag)
		}
	}
}

var memoryLimit = regexp.MustCompile(`^(off|\d+(B|[KMGT]iB)?)$`)

// hasName reports whether a reference names an object.
func hasName(ref core.LocalObjectReference) bool { return ref.Name != "" }

// source is a part of a volume that takes its content from an object of the API.
type source struct {
	used   bool
	object string
}

// references returns the objects of the API that a volume takes its content from.
func references(v *core.VolumeSource) (objects []string) {
	sources := []source{
		{v.ConfigMap != nil, "a ConfigMap"},
		{v.Secret != nil || v.AzureFile != nil || hasSecretRef(v), "a Secret"},
		{v.CSI != nil, "a CSI driver"},
		{v.Glusterfs != nil, "Endpoints"},
		{v.PersistentVolumeClaim != nil || v.Ephemeral != nil, "a PersistentVolumeClaim"},
	}
	if v.Projected != nil {
		for i := range v.Projected.Sources {
			p := &v.Projected.Sources[i]
			sources = append(sources,
				source{p.ConfigMap != nil, "a ConfigMap"},
				source{p.Secret != nil, "a Secret"},
				source{p.ServiceAccountToken != nil, "a service account"},
				source{p.ClusterTrustBundle != nil, "a ClusterTrustBundle"},
				source{p.PodCertificate != nil, "a certificate of the pod"},
			)
		}
	}
	for _, s := range sources {
		if s.used {
			objects = append(objects, s.object)
		}
	}
	return objects
}

// hasSecretRef reports whether a volume reads its credentials in a Secret.
func hasSecretRef(v *core.VolumeSource) bool {
	var ref *core.LocalObjectReference
	switch {
	case v.CephFS != nil:
		ref = v.CephFS.SecretRef
	case v.Cinder != nil:
		ref = v.Cinder.SecretRef
	case v.FlexVolume != nil:
		ref = v.FlexVolume.SecretRef
	case v.RBD != nil:
		ref = v.RBD.SecretRef
	case v.ScaleIO != nil:
		ref = v.ScaleIO.SecretRef
	case v.ISCSI != nil:
		ref = v.ISCSI.SecretRef
	case v.StorageOS != nil:
		ref = v.StorageOS.SecretRef
	}
	return ref != nil && hasName(*ref)
}
