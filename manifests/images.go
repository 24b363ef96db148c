package manifests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/facts/target"
)

// Image is an image that an object names, and the container or volume that has it.
type Image struct {
	User, Reference string
	// Always reports whether the registry is asked at each start of a pod: by imagePullPolicy,
	// whose default is Always for the tag latest (SetDefaults_Container,
	// pkg/apis/core/v1/defaults.go of Kubernetes 1.36).
	Always bool
}

// Images returns the images of an object's containers and volumes, in the order of the object's
// keys. It looks for lists of them at any depth, because custom resources have templates of pods as
// well. It fails if the object is not YAML.
func Images(object []byte) ([]Image, error) {
	var list []Image
	_, err := WithImages(object, func(image Image) string {
		list = append(list, image)
		return image.Reference
	})
	return list, err
}

// WithImages returns an object with other references of images: replace is called with each image
// that Images finds. The bytes stay if no reference changes. It fails where Images does.
func WithImages(object []byte, replace func(Image) string) ([]byte, error) {
	text, err := yaml.YAMLToJSON(object)
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	var root any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	changed := false
	walkImages(root, func(image Image) string {
		reference := replace(image)
		changed = changed || reference != image.Reference
		return reference
	})
	if !changed {
		return object, nil
	}
	return marshal(root), nil
}

// Images returns the images of the object's containers and volumes, as the function Images does.
func (o Object) Images() (list []Image) {
	var root any
	_ = o.Decode(&root) // Read has parsed it
	walkImages(root, func(image Image) string {
		list = append(list, image)
		return image.Reference
	})
	return list
}

// walkImages replaces the images in a value of an object.
func walkImages(value any, replace func(Image) string) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			walkImages(element, replace)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			switch key {
			case "containers", "initContainers", "ephemeralContainers":
				walkUsers(value[key], "image", replace)
			case "volumes":
				walkUsers(value[key], "reference", replace)
			}
			walkImages(value[key], replace)
		}
	}
}

// walkUsers replaces the images of a list of containers or volumes. The image of a container is a
// string; that of a volume is a map, with the string under reference.
func walkUsers(users any, key string, replace func(Image) string) {
	elements, _ := users.([]any)
	for _, element := range elements {
		user, _ := element.(map[string]any)
		holder := user
		if key == "reference" {
			holder, _ = user["image"].(map[string]any)
		}
		name, _ := user["name"].(string)
		if reference, _ := holder[key].(string); reference != "" {
			policy := user["imagePullPolicy"]
			if key == "reference" {
				policy = holder["pullPolicy"]
			}
			always := policy == "Always" || policy == nil && isLatest(reference)
			holder[key] = replace(Image{name, reference, always})
		}
	}
}

func isLatest(reference string) bool {
	name, digest := target.SplitDigest(reference)
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	return tag == "latest" || !tagged && digest == ""
}

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
