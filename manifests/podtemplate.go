package manifests

import (
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// workload is an object with pods: its template, or the template of its Jobs.
type workload struct {
	Spec struct {
		Template    core.PodTemplateSpec `json:"template"`
		JobTemplate struct {
			Spec struct {
				Template core.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

// PodTemplate returns the template of the pods of an object, or nil if its kind has no pods. A Pod
// is its own template. It fails if the object cannot be read.
func PodTemplate(kind string, data []byte) (*core.PodTemplateSpec, error) {
	var w workload
	switch kind {
	case "Pod":
		var pod core.PodTemplateSpec
		return &pod, yaml.Unmarshal(data, &pod)
	case "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet":
		return &w.Spec.Template, yaml.Unmarshal(data, &w)
	case "CronJob":
		return &w.Spec.JobTemplate.Spec.Template, yaml.Unmarshal(data, &w)
	}
	return nil, nil
}
