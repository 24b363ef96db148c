package manifests

import core "k8s.io/api/core/v1"

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

// PodTemplate returns the template of the object's pods, or nil if its kind has no pods. A Pod is
// its own template. It fails if the object cannot be read.
func (o Object) PodTemplate() (*core.PodTemplateSpec, error) {
	var w workload
	switch o.Kind {
	case "Pod":
		var pod core.PodTemplateSpec
		return &pod, o.Decode(&pod)
	case "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet":
		return &w.Spec.Template, o.Decode(&w)
	case "CronJob":
		return &w.Spec.JobTemplate.Spec.Template, o.Decode(&w)
	}
	return nil, nil
}
