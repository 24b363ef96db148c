package config

// File is a file for the machine. Either content or contentFrom gives its content.
type File struct {
	// Path is where the file lies on the machine. It is absolute and clean.
	Path string `json:"path" example:"/etc/motd"`
	// Mode is the permissions of the file, four octal digits in quotes. A secret has 0600 if it is
	// absent.
	Mode string `json:"mode,omitempty" default:"0644" is:"mode"`
	// Owner is the user and group of the file, as user:group. Each is a number, or a name that
	// exists on the machine.
	Owner string `json:"owner,omitempty" default:"root:root" is:"owner"`
	// Content is the content of the file.
	Content string `json:"content,omitempty" or:"contentFrom"`
	// ContentFrom is the file beside cluster.yaml that contains the content.
	ContentFrom string `json:"contentFrom,omitempty"`
	// Secret keeps the content out of the review twin and out of the output of kiln unpack. The
	// mode must not let everybody read the file.
	Secret bool `json:"secret,omitempty"`
	// Restart is the units that kiln apply starts again after a change of the file.
	Restart []string `json:"restart,omitempty" example:"[rsyslog.service]"`
}

// Unit is a systemd unit: a new one, or a change of one that the system has.
type Unit struct {
	// Name is the name of the unit, with its suffix.
	Name string `json:"name" example:"backup.service"`
	// Enabled starts the unit at every boot.
	Enabled bool `json:"enabled,omitempty"`
	// Masked keeps the unit from ever starting.
	Masked bool `json:"masked,omitempty"`
	// Content is the content of the unit. Without content the unit is the system's own.
	Content string `json:"content,omitempty"`
	// ContentFrom is the file beside cluster.yaml that contains the unit.
	ContentFrom string `json:"contentFrom,omitempty"`
	// DropIns are files with further settings of the unit.
	DropIns []DropIn `json:"dropIns,omitempty"`
	// Restart is the units that kiln apply starts again after a change of its files.
	Restart []string `json:"restart,omitempty" example:"[backup.timer]"`
}

// DropIn is a file in the .d folder of a unit.
type DropIn struct {
	// Name is the file name of the drop-in. It ends in .conf.
	Name string `json:"name" example:"10-proxy.conf"`
	// Content is the content of the drop-in.
	Content string `json:"content" example:"\"[Service]\\nRestart=always\\n\""`
}

// Script is a shell script that the first boot runs with sh, as root and in a unit of its own.
// Either content or contentFrom gives the script. The report of the first boot contains its output.
// If it fails, the first boot stops.
type Script struct {
	// Name is the name of the script, an RFC 1123 label.
	Name string `json:"name" example:"raid" is:"label"`
	// Content is the script itself.
	Content string `json:"content,omitempty" is:"script" or:"contentFrom"`
	// ContentFrom is the file beside cluster.yaml that contains the script.
	ContentFrom string `json:"contentFrom,omitempty"`
	// Timeout is how long the script may run. boot.stepTimeout does not limit it.
	Timeout Duration `json:"timeout,omitempty" default:"5m"`
	// Secret keeps the script out of the review twin and out of the output of kiln unpack.
	Secret bool `json:"secret,omitempty"`
}

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
