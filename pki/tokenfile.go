package pki

import (
	"maps"
	"slices"
	"time"

	"kiln.dev/kiln/render/config"
)

// TokenRenewal is what the bundle keeps of a pool's bootstrap token that was renewed. The
// generation of the token is in Generations.
type TokenRenewal struct {
	// Renewed is when the token was renewed. Its lifetime counts from then.
	Renewed time.Time
	// Previous is the generation of the token before it, which machines may join with until
	// PreviousEnds. Without such a token it is 0.
	Previous     int
	PreviousEnds time.Time
}

// tokenFile is a renewal of a bootstrap token as it is stored.
type tokenFile struct {
	Renewed      string `json:"renewed"`
	Previous     int    `json:"previous,omitempty"`
	PreviousEnds string `json:"previousEnds,omitempty"`
}

// tokenFiles returns renewals as a bundle has them; nil if there are none.
func tokenFiles(tokens map[string]TokenRenewal) map[string]tokenFile {
	if len(tokens) == 0 {
		return nil
	}
	out := map[string]tokenFile{}
	for name, t := range tokens {
		f := tokenFile{Renewed: stamp(t.Renewed), Previous: t.Previous}
		if t.Previous > 0 {
			f.PreviousEnds = stamp(t.PreviousEnds)
		}
		out[name] = f
	}
	return out
}

// tokenRenewals reads the renewals of bootstrap tokens. It calls fail for each mistake.
func tokenRenewals(
	stored map[string]tokenFile, fail func(string, ...any),
) map[string]TokenRenewal {
	var out map[string]TokenRenewal
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		f := stored[name]
		date := func(key, text string) time.Time {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				fail("tokens: %s: %s: not a time such as 2026-01-31T12:00:00Z", name, key)
			}
			return t.UTC()
		}
		if !config.IsMachineName(name) {
			fail("tokens: %q is not the name of a pool", name)
			continue
		}
		t := TokenRenewal{Renewed: date("renewed", f.Renewed), Previous: f.Previous}
		switch {
		case f.Previous < 0:
			fail("tokens: %s: previous: generations count from 1", name)
		case f.Previous > 0:
			t.PreviousEnds = date("previousEnds", f.PreviousEnds)
		case f.PreviousEnds != "":
			fail("tokens: %s: previousEnds: there is no previous token; remove it", name)
		}
		if out == nil {
			out = map[string]TokenRenewal{}
		}
		out[name] = t
	}
	return out
}
