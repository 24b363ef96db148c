package config

import (
	"strings"

	"filippo.io/age"
)

func (v *checker) recipients() {
	at := v.spec.Key("secrets").Key("recipients")
	seen, hybrid := map[string]int{}, map[bool]int{}
	for i, text := range v.c.Spec.Secrets.Recipients {
		if problem := recipientProblem(text); problem != "" {
			v.report(at.Index(i), "%s", problem)
			continue
		}
		if first, repeated := seen[text]; repeated {
			v.report(at.Index(i), "is already recipients[%d]; remove one", first)
			continue
		}
		seen[text] = i
		safe := strings.HasPrefix(text, "age1pq1") || strings.HasPrefix(text, "age1tagpq1")
		if !safe && !strings.HasPrefix(text, "age1tag1") && strings.Count(text, "1") > 1 {
			continue // the plugin knows
		}
		if first, other := hybrid[!safe]; other {
			v.report(at.Index(i), "does not mix with recipients[%d]: the one is safe against "+
				"quantum computers and the other is not, and then the bundle is not; "+
				"take recipients of one kind", first)
			return
		}
		if _, there := hybrid[safe]; !there {
			hybrid[safe] = i
		}
	}
}

// letters are those that the end of a recipient is written with (BIP 173, Bech32).
const letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"

const pluginLetters = "abcdefghijklmnopqrstuvwxyz0123456789+-._"

// recipientProblem returns why a text is no age recipient, "" if it is one. It never repeats the
// text: that may be a key, pasted by mistake.
func recipientProblem(text string) string {
	const want = "write the public key that age-keygen prints, age1…"
	prefix, _, _ := strings.Cut(text, " ")
	switch upper := strings.ToUpper(text); {
	case strings.HasPrefix(upper, "AGE-SECRET-KEY-"), strings.HasPrefix(upper, "AGE-PLUGIN-"):
		return "is an identity, which decrypts; make a new one, because this one is known now, " +
			"and " + want
	case strings.HasPrefix(prefix, "ssh-"), strings.HasPrefix(prefix, "ecdsa-sha2-"):
		return "is an SSH key, and kiln encrypts to keys of age alone: make one with age-keygen, " +
			"and " + want
	case !strings.HasPrefix(text, "age1"):
		return "is not an age recipient; " + want
	}
	at := strings.LastIndexByte(text, '1')
	human, data := text[:at], text[at+1:]
	if strings.Trim(data, letters) != "" || len(data) < 6 || !bech32(human, data) {
		return "is cut off or misspelt: its checksum is wrong; copy it again"
	}
	name := strings.TrimPrefix(human, "age")
	switch {
	case name == "":
		if _, err := age.ParseX25519Recipient(text); err != nil {
			return "is not an age recipient; " + want
		}
	case name == "1pq":
		if _, err := age.ParseHybridRecipient(text); err != nil {
			return "is not a hybrid age recipient; " + want
		}
	case name == "1" || strings.Trim(name[1:], pluginLetters) != "":
		return "names no plugin of age that can be; " + want
	}
	return ""
}

// bech32 reports whether the checksum of a human-readable part, 1, and data is right (BIP 173).
func bech32(human, data string) bool {
	values := make([]byte, 0, 2*len(human)+1+len(data))
	for _, c := range []byte(human) {
		values = append(values, c>>5)
	}
	values = append(values, 0)
	for _, c := range []byte(human) {
		values = append(values, c&31)
	}
	for _, c := range []byte(data) {
		values = append(values, byte(strings.IndexByte(letters, c)))
	}
	sum := uint32(1)
	for _, v := range values {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range []uint32{
			0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3,
		} {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	return sum == 1
}
