package pki

import (
	"fmt"
	"time"

	"kiln.dev/kiln/render/plan"
)

// Joining describes a bootstrap token that machines may join with.
type Joining struct {
	Pool       string
	Generation int
	Ends       time.Time
	// Previous reports whether a newer token of the pool is in force, which is in its document.
	Previous bool
}

// Mark is how a reviewer knows the token.
func (j *Joining) Mark() string { return generationMark(TokenName(j.Pool), j.Generation) }

// Joining returns the bootstrap tokens of the pool m: that in its document, and after it the one
// before, if machines may still join with that.
func (p *Public) Joining(m *plan.Machine) []Joining {
	all := []Joining{
		{Pool: m.Name, Generation: p.Generation(TokenName(m.Name)), Ends: p.TokenEnd(m)},
	}
	if t := p.Tokens[m.Name]; t.Previous > 0 {
		all = append(all, Joining{
			Pool: m.Name, Generation: t.Previous, Ends: t.PreviousEnds, Previous: true,
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

// TokenEnd returns when the bootstrap token of the pool m ends.
func (p *Public) TokenEnd(m *plan.Machine) time.Time {
	return p.TokenStart(m.Name).Add(time.Duration(m.TokenLifetime))
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
		err := checkClock(now, p.TokenStart(m.Name), "the token of pool "+m.Name+" dates")
		if err != nil {
			return err
		}
		next := TokenRenewal{Renewed: now}
		if end := p.TokenEnd(m); !revoke && now.Before(end) {
			next.Previous, next.PreviousEnds = p.Generation(TokenName(m.Name)), end
		}
		tokens[m.Name] = next
		name := TokenName(m.Name)
		generations[name] = max(1, generations[name]) + 1
	}
	p.Tokens, p.Generations = tokens, generations
	return nil
}

// forgetPrevious forgets the tokens before the renewed ones. A new leaf seed gives other tokens,
// and nothing can derive those of the old seed any more.
func (p *Public) forgetPrevious() {
	tokens := map[string]TokenRenewal{}
	for name, t := range p.Tokens {
		tokens[name] = TokenRenewal{Renewed: t.Renewed}
	}
	p.Tokens = tokens
}

// PoolToken returns the pool's bootstrap token that is in force, the one in its document.
func (b *Bundle) PoolToken(pool string) Token {
	if b == nil {
		return b.Joined(Joining{Pool: pool})
	}
	return b.Joined(Joining{Pool: pool, Generation: b.Generation(TokenName(pool))})
}

// Joined returns the bootstrap token that j describes. Without a bundle, b is nil, and the token
// has no secret half, and a name of its own in place of the public half. The name of a pool has no
// dot.
func (b *Bundle) Joined(j Joining) Token {
	switch {
	case b == nil && j.Previous:
		return Token{ID: "previous." + j.Pool}
	case b == nil:
		return Token{ID: j.Pool}
	}
	return b.token(j.Pool, j.Generation)
}
