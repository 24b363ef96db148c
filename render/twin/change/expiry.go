// This file says which documents of a cluster have ended or end soon, and what to do about it.
// The time comes in as an argument.

package change

import (
	"fmt"
	"strings"
	"time"

	"kiln.dev/kiln/render/config"
)

// DocumentEnd is one document with the time at which it stops being usable.
type DocumentEnd struct {
	Machine string
	// Pool reports whether it is a pool's, whose bootstrap token ends, rather than certificates.
	Pool  bool
	Until time.Time
	// Start and Lifetime give Until, before it is staggered. They are zero if they are not known:
	// a review twin does not have them.
	Start    time.Time
	Lifetime time.Duration
	// CAEnd is when the first of the CAs ends; zero if that is not known.
	CAEnd time.Time
	// External reports whether a CA has to sign the certificates whose key is not in the bundle.
	External bool
	// Config is the flag that names the configuration in commands, as config.Cluster.Flag has it.
	Config string
	// Renewed reports whether newer documents are there already, which end later.
	Renewed bool
}

// month is the time before an end from which it counts as near. A shorter lifetime counts as ending
// in its last quarter: nothing can be done about the other three.
const month = 30 * 24 * time.Hour

// kind is what documents have in common that need the same remedy.
type kind struct {
	pool, ended, renewed bool
	first                bool // no machine has booted yet
	external             bool
}

// documentKinds are in the order in which they are reported.
var documentKinds = []kind{
	{ended: true, renewed: true}, {ended: true}, {ended: true, external: true},
	{ended: true, pool: true, renewed: true}, {ended: true, pool: true},
	{renewed: true}, {}, {external: true}, {pool: true},
}

// kind returns the kind of a document at the time now, and false if its end is far.
func (d *DocumentEnd) kind(now time.Time) (kind, bool) {
	near := month
	switch {
	case d.Lifetime > 0:
		near = min(near, d.Lifetime/4)
	case d.Pool:
		near = 0
	}
	k := kind{
		pool: d.Pool, ended: !now.Before(d.Until),
		renewed: d.Renewed, external: d.External && !d.Renewed,
	}
	return k, !now.Before(d.Until.Add(-near))
}

// Ended returns a sentence for each kind of documents that no machine can use any more, and what to
// do. A pool whose token has ended is not among them: it is meant to end, and machines that have
// joined go on without it.
func Ended(now time.Time, list []DocumentEnd) []string {
	return sentences(now, list, func(k kind) bool { return k.ended && !k.pool })
}

// Near returns a sentence for each kind of documents that end soon, or whose token has ended.
func Near(now time.Time, list []DocumentEnd) []string {
	return sentences(now, list, func(k kind) bool { return !k.ended || k.pool })
}

// Tokens returns a sentence about each pool whose token ends within a month, for the first render:
// nothing can be done later for machines that join after the end, without the API server.
func Tokens(now time.Time, list []DocumentEnd) (out []string) {
	for i := range list {
		if d := &list[i]; d.Pool && d.Until.Before(now.Add(month)) {
			k := kind{pool: true, first: true}
			out = append(out, sentence(now, k, list[i:i+1]))
		}
	}
	return out
}

// skew is how much later than now a bundle may be made: by this run itself, or by another computer.
const skew = time.Minute

// Early returns a sentence about machines whose certificates begin a minute or more after the time
// now. Either the clock that gave now is behind, or somebody changed a date of the bundle.
func Early(now time.Time, list []DocumentEnd) []string {
	var machines []string
	var first time.Time
	for i := range list {
		if d := &list[i]; d.Start.After(now.Add(skew)) && !d.Pool {
			if machines = append(machines, d.Machine); first.IsZero() || d.Start.Before(first) {
				first = d.Start
			}
		}
	}
	if len(machines) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: certificates date from %s, and it is %s now: set the clock "+
		"of this computer, or correct the date in the bundle", DocumentNames(machines),
		first.Format(time.RFC3339), now.UTC().Format(time.RFC3339))}
}

func sentences(now time.Time, list []DocumentEnd, wanted func(kind) bool) (out []string) {
	for _, k := range documentKinds {
		if !wanted(k) {
			continue
		}
		var same []DocumentEnd
		for i := range list {
			if of, near := list[i].kind(now); near && of == k {
				same = append(same, list[i])
			}
		}
		if len(same) > 0 {
			out = append(out, sentence(now, k, same))
		}
	}
	return out
}

// sentence says what ends on which machines, when, and what to do.
func sentence(now time.Time, k kind, list []DocumentEnd) string {
	var machines, pools []string
	first, last := list[0].Until, list[0].Until
	for _, d := range list {
		if d.Pool {
			pools = append(pools, d.Machine)
		} else {
			machines = append(machines, d.Machine)
		}
		if d.Until.Before(first) {
			first = d.Until
		}
		if d.Until.After(last) {
			last = d.Until
		}
	}
	when := " " + Span(first, last)
	verb := "end"
	if k.ended {
		verb = "ended"
	}
	thing := "certificates "
	if k.pool {
		thing = "the bootstrap token "
		if !k.ended {
			verb = "ends"
		}
	}
	return Names(machines, pools) + ": " + thing + verb + when + ": " +
		remedy(now, k, &list[0], pools)
}

// DocumentNames returns the names of machines in words.
func DocumentNames(machines []string) string { return Names(machines, nil) }

// Span returns the days from first to last in words.
func Span(first, last time.Time) string {
	a, b := first.Format(time.DateOnly), last.Format(time.DateOnly)
	if a == b {
		return "on " + a
	}
	return "from " + a + " to " + b
}

// remedy returns what to do about documents of one kind, of which d is the first. pools are those
// among their machines.
func remedy(now time.Time, k kind, d *DocumentEnd, pools []string) string {
	switch {
	case k.first:
		return "machines join the pool until then; for machines that join later: " +
			"kiln token renew " + d.Machine + d.Config + ", or, before the first boot, raise " +
			"tokenLifetime of the pool" + longer(now, d) + ", and render again (docs/pools.md)"
	case k.pool && k.renewed:
		return "give new machines the pool's new document, and apply the Secret of its token: " +
			"kiln token manifest POOL" + d.Config + " (docs/pools.md)"
	case k.pool && k.ended:
		return "its machines go on without it; before another one joins: kiln token renew " +
			strings.Join(pools, " ") + d.Config + ", do what it says, and render again " +
			"(docs/pools.md)"
	case k.pool:
		return "no machine can join after that; run kiln token renew " + strings.Join(pools, " ") +
			d.Config + ", do what it says, and render again (docs/pools.md)"
	case k.renewed && k.ended:
		return "follow kiln plan now, with the new documents"
	case k.renewed:
		return "follow kiln plan before that day, with the new documents"
	}
	switch end := d.CAEnd.Format(time.DateOnly); {
	case !d.CAEnd.IsZero() && !now.Before(d.CAEnd):
		return "the CAs ended on " + end + ", and a CA can be rotated only before its end; " +
			"make a new cluster, and move what runs (docs/leaked.md)"
	case k.external:
		return "run kiln certs csr --within 60d" + d.Config + ", have the requests signed, run " +
			"kiln certs add DIR" + d.Config + ", render again, and follow kiln plan " +
			"(docs/external-ca.md)"
	// Its certificates end because their CA does, so that a renewal would not move their end.
	case !d.CAEnd.IsZero() && d.Lifetime > 0 && !d.Start.Add(d.Lifetime).Before(d.CAEnd):
		return "the CAs end on " + end + "; rotate them before that day: " +
			"kiln secrets rotate ROOT" + d.Config + " (docs/rotation.md)"
	}
	return "run kiln secrets renew" + d.Config + ", render again, and follow kiln plan " +
		"(docs/changes.md)"
}

// longer returns the lifetime with which the document is valid for at least as long again, from now
// on. No certificate may outlive its CA.
func longer(now time.Time, d *DocumentEnd) string {
	if d.Lifetime == 0 {
		return ""
	}
	lifetime := d.Lifetime * (max(1, now.Sub(d.Start)/d.Lifetime+1) + 1)
	if !d.CAEnd.IsZero() {
		lifetime = min(lifetime, d.CAEnd.Sub(d.Start).Truncate(time.Hour))
	}
	return fmt.Sprintf(" from %s to %s", config.Duration(d.Lifetime), config.Duration(lifetime))
}

// Running returns the documents that machines run with in the state old of a cluster, and those of
// machines that only the state new has.
func Running(old, new *Cluster) (out []DocumentEnd) {
	before := map[string]*Machine{}
	for _, m := range old.Machines {
		before[key(m)] = m
	}
	for _, m := range new.Machines {
		d := document(m)
		if was := before[key(m)]; was != nil {
			end := d.Until
			d = document(was)
			d.Renewed = end.After(d.Until)
		}
		if !d.Until.IsZero() {
			out = append(out, d)
		}
	}
	return out
}

// key identifies a machine or a pool.
func key(m *Machine) string { return fmt.Sprint(m.Pool, m.Name) }

// document returns what a state knows of a machine's document.
func document(m *Machine) DocumentEnd {
	// A twin of another program may lack the date; it then counts as unknown.
	until, _ := time.Parse(time.RFC3339, m.Properties.Value("until"))
	return DocumentEnd{Machine: m.Name, Pool: m.Pool, Until: until}
}
