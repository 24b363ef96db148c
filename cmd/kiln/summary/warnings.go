package summary

import (
	"fmt"
	"time"

	"kiln/cmd/kiln/message"
	"kiln/pki"
	"kiln/render"
	"kiln/render/folder"
)

// soon is how long before an end the operator is told of it.
const soon = 30 * 24 * time.Hour

// Dates returns a warning for each date that has passed or soon will. It is the only place that
// compares dates with the clock: what is rendered never depends on it.
func Dates(b *pki.Public, result *render.Result) (warnings []string) {
	now := time.Now()
	if now.After(b.FormationDeadline) {
		warnings = append(warnings, fmt.Sprintf("the formation deadline was %s: these documents replace machines of a living cluster, and can no longer form a new one; "+
			"a cluster that has never run needs a new deadline: kiln secrets extend, and render again", b.FormationDeadline.Format(time.RFC3339)))
	}
	return append(warnings, each(result, "dates", func(e *render.Entry) string {
		if now.Add(soon).Before(e.ValidUntil) {
			return ""
		}
		verb := "end"
		if now.After(e.ValidUntil) {
			verb = "ended"
		}
		return fmt.Sprintf("its certificates or token %s on %s", verb, e.ValidUntil.Format(time.DateOnly))
	})...)
}

// nearLimit is the share of a platform's limit, in percent, from which a document's size is warned of:
// leaf certificates and what people add differ by some bytes.
const nearLimit = 95

// Sizes returns a warning for each document that will soon be too large.
func Sizes(result *render.Result) []string {
	return each(result, "sizes", func(e *render.Entry) string {
		if e.Limit == 0 || 100*e.Bytes < nearLimit*e.Limit {
			return ""
		}
		return fmt.Sprintf("its document has %d of the %d bytes that %s takes", e.Bytes, e.Limit, e.Platform)
	})
}

// each returns the warning about each document, at most message.MaxListed, and how many more there
// are: inventory.json has the rest.
func each(result *render.Result, rest string, about func(*render.Entry) string) (warnings []string) {
	for i := range result.Inventory.Documents {
		e := &result.Inventory.Documents[i]
		if text := about(e); text != "" {
			warnings = append(warnings, e.Node+": "+text)
		}
	}
	if more := len(warnings) - message.MaxListed; more > 0 {
		warnings = append(warnings[:message.MaxListed],
			fmt.Sprintf("and so it is for %d more machines; inventory.json has the %s", more, rest))
	}
	return warnings
}

// Generations returns a warning for each generation in the bundle that belongs to no secret: the
// machine is gone, or the name is misspelt.
func Generations(c *render.Cluster) (warnings []string) {
	for _, name := range c.IdleGenerations() {
		warnings = append(warnings, fmt.Sprintf("the bundle's generations: %s is %d, and nothing in this configuration has that secret. Correct the name if it is misspelt; "+
			"keep the entry of a machine that is gone, or it comes back with its old keys", name, c.Public.Generation(name)))
	}
	return warnings
}

// Access returns warnings about other users who could read or exchange the documents in a folder.
func Access(dir string, result *render.Result) (warnings []string) {
	if mode := result.Closed; mode != 0 {
		warnings = append(warnings, fmt.Sprintf("%s: others could get in (mode %04o); it is 0700 now", dir, mode))
	}
	if open := folder.WritableByAll(dir); open != "" {
		warnings = append(warnings, fmt.Sprintf("%s: everybody may change what is in %s, and so exchange the documents; chmod o-w it", dir, open))
	}
	return warnings
}

// Deadline says until when the machines of a new cluster have to boot: the day before, or the time if
// that is near.
func Deadline(deadline time.Time) string {
	until := deadline.UTC().Format(time.DateOnly)
	if time.Until(deadline) < 2*24*time.Hour {
		until = deadline.Format(time.RFC3339)
	}
	return fmt.Sprintf("boot the machines before %s: until then they may form the cluster; "+
		"later: kiln secrets extend, and render again", until)
}
