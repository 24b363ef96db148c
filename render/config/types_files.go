package config

// File is a file for the machine; its text stands in content or in the file that contentFrom names.
type File struct {
	// Path is where the file lies on the machine: absolute and clean.
	Path string `json:"path" example:"/etc/motd"`
	// Mode is the file's permissions as quoted octal digits.
	Mode string `json:"mode,omitempty" default:"0644"`
	// Owner is the file's user and group, as user:group; each by name, which must exist on the
	// machine, or by number.
	Owner string `json:"owner,omitempty" default:"root:root"`
	// Content is the file's text.
	Content string `json:"content,omitempty"`
	// ContentFrom is the file beside cluster.yaml whose bytes become the content.
	ContentFrom string `json:"contentFrom,omitempty"`
	// Secret keeps the content out of the review twin and of what kiln unpack shows. The mode must
	// keep it from everybody but owner and group.
	Secret bool `json:"secret,omitempty"`
}

// Unit is a systemd unit: a new one, or a change of one that the system brings.
type Unit struct {
	// Name is the unit's name with its suffix.
	Name string `json:"name" example:"backup.service"`
	// Enabled starts the unit at every boot.
	Enabled bool `json:"enabled,omitempty"`
	// Masked keeps the unit from ever starting.
	Masked bool `json:"masked,omitempty"`
	// Content is the unit's text; without it the unit is the system's own.
	Content string `json:"content,omitempty"`
	// ContentFrom is the file beside cluster.yaml that holds the unit's text.
	ContentFrom string `json:"contentFrom,omitempty"`
	// DropIns are further settings of the unit.
	DropIns []DropIn `json:"dropIns,omitempty"`
}

// DropIn is a file in a unit's .d folder.
type DropIn struct {
	// Name is the drop-in's file name and ends in .conf.
	Name string `json:"name" example:"10-proxy.conf"`
	// Content is the drop-in's text.
	Content string `json:"content" example:"\"[Service]\\nRestart=always\\n\""`
}

// Script is a text that the first boot gives to sh, as root and in a unit of its own; its text
// stands in content or in the file that contentFrom names. What it prints is in the first boot's
// report, and its failure stops the machine.
type Script struct {
	// Name is the script's name, an RFC 1123 label.
	Name string `json:"name" example:"raid"`
	// Content is the script's text.
	Content string `json:"content,omitempty"`
	// ContentFrom is the file beside cluster.yaml whose bytes become the script.
	ContentFrom string `json:"contentFrom,omitempty"`
	// Timeout is how long the script may run; boot.stepTimeout does not count for it.
	Timeout Duration `json:"timeout,omitempty" default:"5m"`
	// Secret keeps the content out of the review twin and of what kiln unpack shows.
	Secret bool `json:"secret,omitempty"`
}
