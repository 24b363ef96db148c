package config

// Patch is a kustomize patch: a strategic merge patch, or a list of JSON6902 operations with a
// target.
type Patch struct {
	// Patch is the patch itself.
	Patch string `json:"patch,omitempty" is:"text" or:"patchFrom"`
	// PatchFrom is the file beside cluster.yaml that contains the patch.
	PatchFrom string `json:"patchFrom,omitempty"`
	// Target selects the objects that the patch changes. A strategic merge patch without a target
	// changes the object that it names.
	Target *Target `json:"target,omitempty"`
}

// Target selects objects as kustomize does. Each field is a regular expression that has to match as
// a whole; an absent field matches everything.
type Target struct {
	// Group is the API group, such as apps.
	Group string `json:"group,omitempty"`
	// Version is the API version, such as v1.
	Version string `json:"version,omitempty"`
	// Kind is the kind of the object, such as Deployment.
	Kind string `json:"kind,omitempty"`
	// Name is the name of the object.
	Name string `json:"name,omitempty"`
	// Namespace is the namespace of the object.
	Namespace string `json:"namespace,omitempty"`
	// LabelSelector is a selector of labels, as kubectl takes it, such as app=web.
	LabelSelector string `json:"labelSelector,omitempty"`
}

// Addon is one manifest file or kustomize folder beside cluster.yaml.
type Addon struct {
	// Path is a file with one or more YAML documents, or a folder with a kustomization.
	Path string `json:"path" example:"addons/cilium.yaml" is:"localPath"`
	// Images are further images that the add-on pulls, for kiln images to list. It finds the images
	// of containers itself. It does not find those that a custom resource has under a name of its
	// own, or that a program of the add-on names.
	Images []string `json:"images,omitempty" example:"[quay.io/cilium/operator:v1.18.0]" is:"image"`
}
