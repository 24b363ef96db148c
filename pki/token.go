package pki

import (
	"fmt"
	"time"

	"kiln/render/config"
	"kiln/render/plan"
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

// Joining describes a bootstrap token that machines may join with.
type Joining struct {
	Machine    *plan.Machine
	Generation int
	Ends       time.Time
	// Previous reports whether a newer token of the machine is in force, which is in its document.
	Previous bool
}

// Mark is how a reviewer knows the token.
func (j *Joining) Mark() string { return generationMark(TokenName(j.Machine), j.Generation) }

// Joining returns the bootstrap tokens of m, which joins with one: that in its document, and after
// it the one before, if machines may still join with that.
func (p *Public) Joining(m *plan.Machine) []Joining {
	all := []Joining{
		{Machine: m, Generation: p.Generation(TokenName(m)), Ends: p.TokenEnd(m)},
	}
	if t := p.Tokens[m.Name]; m.Pool && t.Previous > 0 {
		all = append(all, Joining{
			Machine: m, Generation: t.Previous, Ends: t.PreviousEnds, Previous: true,
		})
	}
	return all
}

// TokenStart returns the time from which the lifetime of a pool's bootstrap token counts: when it
// was renewed or, if it never was, when the bundle was issued.
func (p *Public) TokenStart(pool string) time.Time {
	if t, renewed := p.Tokens[pool]; renewed {
		return t.Renewed
	}
	return p.Issued
}

// TokenEnd returns when m's bootstrap token ends. A pool's token lasts for the pool's token
// lifetime, and a node's as long as the install credential.
func (p *Public) TokenEnd(m *plan.Machine) time.Time {
	if m.Pool {
		return p.TokenStart(m.Name).Add(time.Duration(m.TokenLifetime))
	}
	return p.InstallEnd()
}

// RenewTokens gives each of the pools a new bootstrap token, whose lifetime counts from now. The
// token that a pool had stays valid until its own end, unless revoke is true or it has ended. It
// fails, and changes nothing, if a CA has ended or if now is before the last renewal.
func (p *Public) RenewTokens(now time.Time, revoke bool, pools ...*plan.Machine) error {
	if end := p.AuthoritiesEnd(); !now.Before(end) {
		return fmt.Errorf("a CA of the cluster ended on %s, and no machine can join any more; "+
			"make a new cluster, and move what runs (docs/leaked.md)", stamp(end))
	}
	tokens, generations := map[string]TokenRenewal{}, map[string]int{}
	for name, t := range p.Tokens {
		tokens[name] = t
	}
	for name, g := range p.Generations {
		generations[name] = g
	}
	for _, m := range pools {
		if start := p.TokenStart(m.Name); now.Before(start) {
			return fmt.Errorf("this computer's clock says %s, and the token of pool %s dates from "+
				"%s, which is later: set the clock, or restore the bundle from a copy",
				stamp(now), m.Name, stamp(start))
		}
		next := TokenRenewal{Renewed: now}
		if end := p.TokenEnd(m); !revoke && now.Before(end) {
			next.Previous, next.PreviousEnds = p.Generation(TokenName(m)), end
		}
		tokens[m.Name] = next
		generations[TokenName(m)] = max(1, generations[TokenName(m)]) + 1
	}
	p.Tokens, p.Generations = tokens, generations
	return nil
}

// forgetPrevious forgets the tokens before the renewed ones. A new leaf seed gives other tokens, and
// nothing can derive those of the old seed any more.
func (p *Public) forgetPrevious() {
	tokens := map[string]TokenRenewal{}
	for name, t := range p.Tokens {
		tokens[name] = TokenRenewal{Renewed: t.Renewed}
	}
	p.Tokens = tokens
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
	for _, name := range sortedKeys(stored) {
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

// tokenErrors returns an error for each renewal of a bootstrap token that contradicts another
// value.
func (p *Public) tokenErrors() (errs []error) {
	for _, name := range sortedKeys(p.Tokens) {
		t, last := p.Tokens[name], p.AuthoritiesEnd()
		fail := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("tokens: "+name+": "+format, append(args, damaged)...))
		}
		switch {
		case t.Renewed.Before(p.Issued):
			fail("renewed: %s is before issued (%s); %s", stamp(t.Renewed), stamp(p.Issued))
		case !t.Renewed.Before(last):
			fail("renewed: %s is not before the end of the first CA (%s); %s",
				stamp(t.Renewed), stamp(last))
		case t.Previous > 0 && t.PreviousEnds.Before(t.Renewed):
			fail("previousEnds: %s is before renewed (%s); %s",
				stamp(t.PreviousEnds), stamp(t.Renewed))
		}
		current := p.Generation(poolToken + "/" + name)
		if t.Previous >= current {
			fail("previous: %d is not before the generation in force (%d); %s", t.Previous, current)
		}
	}
	return errs
}
