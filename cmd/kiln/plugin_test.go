package main

import (
	"os"

	"filippo.io/age"
	"filippo.io/age/plugin"
)

// demoPlugin is a plugin of age: its recipients and identities are those of a fixed X25519 key. It
// leaves a mark where a script looks, and speaks with the user if DEMO_ASKS is set.
func demoPlugin() {
	if work := os.Getenv("WORK"); work != "" {
		_ = os.WriteFile(work+"/ran", nil, 0o600)
	}
	p, err := plugin.New("demo")
	if err != nil {
		panic(err)
	}
	key, err := age.ParseX25519Identity(
		"AGE-SECRET-KEY-1" + "KRZ0CTSPVS0SD3U9N6U24JKNKJAF9AXYY7WVKDAY9XX40Q8KXWWQFKMR4S")
	if err != nil {
		panic(err)
	}
	p.HandleRecipient(func([]byte) (age.Recipient, error) { return key.Recipient(), nil })
	p.HandleIdentity(func([]byte) (age.Identity, error) {
		return asking{key, p}, nil
	})
	os.Exit(p.Main())
}

// asking is an identity that asks for a PIN before it is used.
type asking struct {
	*age.X25519Identity
	plugin *plugin.Plugin
}

func (a asking) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if os.Getenv("DEMO_ASKS") != "" {
		if err := a.plugin.DisplayMessage("touch \x1b[31mthe key"); err != nil {
			return nil, err
		}
		if pin, err := a.plugin.RequestValue("PIN", true); err != nil || pin != "1234" {
			return nil, age.ErrIncorrectIdentity
		}
	}
	return a.X25519Identity.Unwrap(stanzas)
}
