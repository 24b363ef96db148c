package manifests

import (
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// Image is an image that an object names, and the container or volume that has it.
type Image struct{ User, Reference string }

// Images returns the images of an object's containers and volumes, in the order of the object's
// keys. It looks for lists of them at any depth, because custom resources have templates of pods as
// well. It fails if the object is not YAML.
func Images(object []byte) ([]Image, error) {
	var root any
	if err := yaml.Unmarshal(object, &root); err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	return appendImages(nil, root), nil
}

// appendImages adds the images in a value of an object to a list.
func appendImages(list []Image, value any) []Image {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			list = appendImages(list, element)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			switch key {
			case "containers", "initContainers", "ephemeralContainers":
				list = appendUsers(list, value[key], "image")
			case "volumes":
				list = appendUsers(list, value[key], "reference")
			}
			list = appendImages(list, value[key])
		}
	}
	return list
}

// appendUsers adds the images of a list of containers or volumes. The image of a container is a
// string; that of a volume is a map, with the string under reference.
func appendUsers(list []Image, users any, key string) []Image {
	elements, _ := users.([]any)
	for _, element := range elements {
		user, _ := element.(map[string]any)
		holder := user
		if key == "reference" {
			holder, _ = user["image"].(map[string]any)
		}
		name, _ := user["name"].(string)
		if reference, _ := holder[key].(string); reference != "" {
			list = append(list, Image{name, reference})
		}
	}
	return list
}
