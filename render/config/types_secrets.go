package config

// Secrets says how the bundle is stored.
type Secrets struct {
	// Recipients are the age recipients that the bundle is encrypted to. They are X25519 keys
	// (age1…), hybrid ones (age1pq1…), those of hardware (age1tag1…, age1tagpq1…), and those of
	// plugins (age1NAME1…), to which the program age-plugin-NAME encrypts. Post-quantum and other
	// recipients do not mix. With recipients the first render makes NAME.secrets.yaml.age instead
	// of NAME.secrets.yaml. Later only kiln secrets encrypt changes to whom the bundle is
	// encrypted; docs/secrets.md says how.
	Recipients []string `json:"recipients,omitempty"`
}
