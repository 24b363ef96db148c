package pki

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// leafBackdate is how long before they are issued or renewed leaf certificates begin to be valid:
// clocks differ at first boot.
const leafBackdate = time.Hour

// Start returns the time from which the lifetime of a machine's leaf certificates counts: when they
// were renewed or, if they never were, when the bundle was issued. The empty name stands for leaves
// of the whole cluster.
func (p *Public) Start(machine string) time.Time {
	switch at, alone := p.Renewals[machine]; {
	case alone:
		return at
	case p.Renewed.IsZero():
		return p.Issued
	}
	return p.Renewed
}

// Renew lets the lifetime of leaf certificates count from now: those of the named machines, or
// without names all. CAs, keys, deadlines and the install credential stay as they are. It fails,
// and changes nothing, if certificates from now would end before those that they replace, or if a
// CA has ended.
func (p *Public) Renew(now time.Time, machines ...string) error {
	if err := p.mayRenew(now, machines); err != nil {
		return err
	}
	if len(machines) == 0 {
		p.Renewed, p.Renewals = now, nil
		return nil
	}
	renewals := map[string]time.Time{}
	for name, at := range p.Renewals {
		renewals[name] = at
	}
	for _, name := range machines {
		renewals[name] = now
	}
	p.Renewals = renewals
	return nil
}

func (p *Public) mayRenew(now time.Time, machines []string) error {
	if end := p.AuthoritiesEnd(); !now.Before(end) {
		return fmt.Errorf("a CA of the cluster ended on %s, and no certificate outlives its CA: "+
			"nothing can be renewed; make a new cluster, and move what runs (docs/leaked.md)",
			stamp(end))
	}
	last, what := p.Start(""), "the certificates of the cluster"
	if len(machines) == 0 {
		for _, name := range slices.Sorted(maps.Keys(p.Renewals)) {
			if p.Renewals[name].After(last) {
				last, what = p.Renewals[name], "the certificates of "+name
			}
		}
	}
	for _, name := range machines {
		if at := p.Start(name); at.After(last) {
			last, what = at, "the certificates of "+name
		}
	}
	return checkClock(now, last, what+" date")
}

// CheckClock returns an error if now is before the bundle was made: what would be counted from now
// could not be right.
func (p *Public) CheckClock(now time.Time) error {
	return checkClock(now, p.Issued, "the bundle dates")
}

// checkClock returns an error if now is before something began: what says it, with its verb.
func checkClock(now, since time.Time, what string) error {
	if !now.Before(since) {
		return nil
	}
	return fmt.Errorf("this computer's clock says %s, and %s from %s, which is later: set the "+
		"clock, or restore the bundle from a copy", stamp(now), what, stamp(since))
}

// AuthoritiesEnd returns when the first of the CAs that sign ends.
func (p *Public) AuthoritiesEnd() time.Time {
	end := p.Authority(CA).Certificate.NotAfter
	for _, s := range []Signer{EtcdCA, FrontProxyCA} {
		if other := p.Authority(s).Certificate.NotAfter; other.Before(end) {
			end = other
		}
	}
	return end
}

// Capped reports whether a renewal of the machine's leaf certificates would outlive the first CA,
// so that they end with it.
func (p *Public) Capped(lifetime time.Duration, machine string) bool {
	start := p.Start(machine)
	return !start.Equal(p.Issued) && start.Add(lifetime).After(p.AuthoritiesEnd())
}

// lifetime returns the dates of a machine's leaf certificates. They begin an hour before they were
// issued or renewed: a certificate is never older than its lifetime says. They end after the
// configured lifetime, less the machine's part of the stagger. Renewed ones end with the first CA
// at the latest; their stagger is then a twelfth of what is left, as the default is of a lifetime.
func (p *Public) lifetime(cluster *plan.Plan, machine string) (from, until time.Time) {
	c := &cluster.Config.Spec.Certificates
	start, stagger := p.Start(machine), time.Duration(*c.Stagger)
	until = start.Add(time.Duration(c.Lifetime))
	if p.Capped(time.Duration(c.Lifetime), machine) {
		until = p.AuthoritiesEnd()
		stagger = min(stagger, until.Sub(start)/12)
	}
	if stagger > 0 && machine != "" {
		sum := sha256.Sum256([]byte(machine))
		share := new(big.Int).Mul(new(big.Int).SetBytes(sum[:8]), big.NewInt(int64(stagger)))
		until = until.Add(-time.Duration(share.Rsh(share, 64).Int64())).Truncate(time.Second)
	}
	return start.Add(-leafBackdate), until
}

// stamps returns times as a bundle has them; nil if there are none.
func stamps(times map[string]time.Time) map[string]string {
	if len(times) == 0 {
		return nil
	}
	out := map[string]string{}
	for name, t := range times {
		out[name] = stamp(t)
	}
	return out
}

// renewals reads the times at which machines were renewed alone. It calls fail for each mistake.
func renewals(stored map[string]string, fail func(string, ...any)) map[string]time.Time {
	var out map[string]time.Time
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		t, err := time.Parse(time.RFC3339, stored[name])
		switch {
		case !config.IsMachineName(name):
			fail("renewals: %q is not the name of a machine", name)
			continue
		case err != nil:
			fail("renewals: %s: not a time such as 2026-01-31T12:00:00Z", name)
			continue
		case out == nil:
			out = map[string]time.Time{}
		}
		out[name] = t.UTC()
	}
	return out
}

// renewalErrors returns an error for each date of a renewal that contradicts another date.
func (p *Public) renewalErrors() (errs []error) {
	last := p.AuthoritiesEnd()
	check := func(name string, at, since time.Time, what string) {
		switch {
		case at.Before(since):
			errs = append(errs, fmt.Errorf("%s: %s is before %s (%s); %s", name, stamp(at), what,
				stamp(since), damaged))
		case !at.Before(last):
			errs = append(errs, fmt.Errorf("%s: %s is not before the end of the first CA (%s), "+
				"and no certificate outlives its CA; %s", name, stamp(at), stamp(last), damaged))
		}
	}
	since, what := p.Issued, "issued"
	if !p.Renewed.IsZero() {
		check("renewed", p.Renewed, since, what)
		since, what = p.Renewed, "renewed"
	}
	for _, name := range slices.Sorted(maps.Keys(p.Renewals)) {
		check("renewals: "+name, p.Renewals[name], since, what)
	}
	return errs
}

// tokenErrors returns an error for each renewal of a bootstrap token that contradicts another
// value.
func (p *Public) tokenErrors() (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(p.Tokens)) {
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
