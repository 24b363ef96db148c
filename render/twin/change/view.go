package change

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/plan"
)

// Removed returns the machines that only the older state has.
func (d *Diff) Removed() (out []*Machine) {
	for _, p := range d.machines {
		if p.What() == Removed {
			out = append(out, p.Old)
		}
	}
	return out
}

// nodeLabels are the labels with which the kubelet registers its Node.
var nodeLabels = regexp.MustCompile(`(?m) --node-labels=(\S+)`)

// Label returns the value of a label with which the machine's kubelet registers its Node; empty if
// it has none.
func (m *Machine) Label(key string) string {
	entry := m.Entries.Find(Key{"file", plan.KubeletDropIn})
	if entry == nil {
		return ""
	}
	found := nodeLabels.FindSubmatch(entry.Content)
	if found == nil {
		return ""
	}
	for label := range strings.SplitSeq(string(found[1]), ",") {
		if name, value, _ := strings.Cut(label, "="); name == key {
			return value
		}
	}
	return ""
}

// UnitState returns what the machine's document makes of a unit: "enabled" if it starts with the
// machine, "masked" if nothing can start it, or "off".
func (m *Machine) UnitState(name string) string {
	e := m.Entries.Find(Key{Kind: "unit", ID: name})
	switch {
	case e == nil:
		return "off"
	case strings.Contains(e.Traits["state"], "masked"):
		return "masked"
	}
	return "enabled"
}

// plainKey is a public key without options.
var plainKey = regexp.MustCompile(`^(ssh|ecdsa|sk)-[\w@.-]+ AAAA[\w+/]+=*( [[:print:]]*)?$`)

// IsPlainKey reports whether the line of an authorised key is TYPE BASE64 COMMENT.
func IsPlainKey(line string) bool { return plainKey.MatchString(line) }

// TraitList returns the values of an entry's traits: mode and owner, a link's target, a unit's
// state.
func (e *Entry) TraitList() string {
	var traits []string
	for _, name := range slices.Sorted(maps.Keys(e.Traits)) {
		traits = append(traits, e.Traits[name])
	}
	return strings.TrimSpace(strings.Join(traits, " "))
}

// Certificate is a certificate as a state describes it.
type Certificate struct {
	Name                string // of the secret, without its machine, and its generation
	Subject, Issuer     string
	For                 string // server, client, ca
	Key                 string // its kind
	Names               []string
	Fingerprint         string // of a CA
	NotBefore, NotAfter time.Time
}

// Certificates returns the certificates that an entry shows.
func (e *Entry) Certificates() (out []Certificate) {
	certs, _ := certificates(e.Shown)
	for _, c := range certs {
		// A twin writes dates only in this form; anything else is no date.
		from, _ := time.Parse(time.RFC3339, c.parts["from"])
		until, _ := time.Parse(time.RFC3339, c.parts["until"])
		out = append(out, Certificate{
			Name: c.generation, Subject: c.parts["subject"], Issuer: c.parts["issuer"],
			For: c.parts["for"], Key: c.parts["key"],
			Names: commas(c.parts["names"]), Fingerprint: c.parts["fingerprint"], NotBefore: from,
			NotAfter: until,
		})
	}
	return out
}
