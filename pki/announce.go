package pki

import (
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render/plan"
)

// AnnounceName returns the name of the key with which m announces the state of its first boot. The
// machines of a pool share one.
func AnnounceName(m *plan.Machine) string {
	purpose, name := announcer(m)
	return purpose + "/" + name
}

// AnnounceKey returns that key as the machine has it: 64 digits from 0 to 3, each two bits of 128,
// the high ones first. They are a block of SHA-256 with the inner pad of HMAC in it, 0x36 in each
// byte: a shell makes the other pad digit by digit, and four digits compress well.
func (b *Bundle) AnnounceKey(m *plan.Machine) private.Secret {
	purpose, name := announcer(m)
	var digits []byte
	for _, c := range b.derive(purpose, name, b.Generation(AnnounceName(m)), 16) {
		digits = append(digits, '0'+c>>6, '0'+c>>4&3, '0'+c>>2&3, '0'+c&3)
	}
	return digits
}

func announcer(m *plan.Machine) (purpose, name string) {
	if m.Pool {
		return poolAnnounce, m.Name
	}
	return nodeAnnounce, m.Name
}
