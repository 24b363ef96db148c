package summary

import (
	"fmt"
	"slices"
	"time"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// Dates returns a warning for each date of the documents that has passed or will pass soon.
// The bundle is in the file path.
func Dates(now time.Time, r *render.Cluster, path string) (warnings []string) {
	if deadline := r.Public.FormationDeadline; now.After(deadline) && !r.Public.HasRun() {
		warnings = append(warnings, fmt.Sprintf("the formation deadline was %s: "+
			"these documents can replace machines of a running cluster, and can no longer form "+
			"a new cluster; if the cluster has never run, move the deadline with "+
			"%s, and render again", deadline.Format(time.RFC3339), extend(path)))
	}
	return append(warnings, Ends(now, r.Ends())...)
}

// Ends returns a warning about the documents that have ended or end soon, and about those that
// begin later.
func Ends(now time.Time, list []change.DocumentEnd) []string {
	return slices.Concat(change.Ended(now, list), change.Near(now, list), change.Early(now, list))
}

// Sizes returns a warning for each document that will soon be too large.
func Sizes(result *render.Result) []string {
	return each(result, "sizes", func(e *render.Entry) string {
		if e.Advice == "" {
			return ""
		}
		return fmt.Sprintf("its document is compressed, and has %d of the %d bytes that %s "+
			"accepts; to make room: %s", e.Bytes, e.Limit, e.Platform, e.Advice)
	})
}

// each returns the warnings about the documents. After term.MaxListed of them it returns one
// line with the number of the others, and what inventory.json has about them.
func each(
	result *render.Result, has string, about func(*render.Entry) string,
) (warnings []string) {
	for i := range result.Inventory.Documents {
		e := &result.Inventory.Documents[i]
		if warning := about(e); warning != "" {
			warnings = append(warnings, e.Node+": "+warning)
		}
	}
	if more := len(warnings) - term.MaxListed; more > 0 {
		warnings = append(warnings[:term.MaxListed],
			fmt.Sprintf("the same holds for %d more machines; inventory.json has the %s",
				more, has))
	}
	return warnings
}

// Unmarked returns a warning about files of the user's that the review twin in dir shows, and that
// look as if they held a secret.
func Unmarked(dir string, c *render.Cluster) []string {
	paths := c.Unmarked()
	if dir == "" || len(paths) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s has the whole content of %s, which gives a value to a name "+
		"like PASSWORD: if that is a secret, give the file secret: true", dir,
		term.Names(paths))}
}

// Generations returns a warning for each generation and renewal in the bundle that belongs to
// nothing, because the machine is gone or the name is misspelt.
func Generations(c *render.Cluster) (warnings []string) {
	for _, name := range c.IdleGenerations() {
		warnings = append(warnings, fmt.Sprintf("the bundle's generations: %s is %d, and nothing "+
			"in this configuration has that secret. Correct the name if it is misspelt; keep the "+
			"entry of a machine that is gone, or it comes back with its old keys",
			name, c.Public.Generation(name)))
	}
	for _, name := range c.IdleRenewals() {
		warnings = append(warnings, fmt.Sprintf("the bundle's renewals: this configuration has no "+
			"machine %s. Correct the name if it is misspelt; the entry of a machine that is gone "+
			"goes with the next kiln secrets renew of all", name))
	}
	return warnings
}

// Doubts returns the warnings about values of the configuration: at most term.MaxListed, and one
// more line with the number of the others.
func Doubts(found config.Problems) (warnings []string) {
	for i, p := range found {
		if i == term.MaxListed {
			return append(warnings, fmt.Sprintf("and %s more",
				wording.Count(len(found)-i, "warning")))
		}
		warnings = append(warnings, fmt.Sprintf("warning: %s (%s)", p.Error(), p.ID))
	}
	return warnings
}

// Access returns warnings about other users who could read or replace the documents in a folder.
func Access(dir string, result *render.Result) (warnings []string) {
	if mode := result.Closed; mode != 0 {
		warnings = append(warnings,
			fmt.Sprintf("%s: other users had access (mode %04o); the mode is 0700 now", dir, mode))
	}
	if open := folder.WritableByAll(dir); open != "" {
		warnings = append(warnings, fmt.Sprintf("%s: everybody may write to %s, and so replace "+
			"the documents; run: chmod o-w %[2]s", dir, wording.ShellWord(open)))
	}
	return warnings
}

// Deadline returns a note about the time until which the machines of a new cluster may form it. The
// note names the day, or the exact time if that is less than two days away. The bundle is in the
// file path.
func Deadline(now time.Time, r *render.Cluster, path string) string {
	deadline, certificates := FormationEnd(r)
	until := deadline.UTC().Format(time.DateOnly)
	if deadline.Sub(now) < 2*24*time.Hour {
		until = deadline.UTC().Format(time.RFC3339)
	}
	if certificates {
		return fmt.Sprintf("boot the machines before %s: their first certificates end then; "+
			"if that is too early, raise certificates.lifetime, and render again", until)
	}
	return fmt.Sprintf("boot the machines before %s: until then they may form the cluster; "+
		"later: %s, and render again", until, extend(path))
}

// extend returns the command that moves the deadline of the bundle in the file path.
func extend(path string) string {
	return "kiln secrets extend --secrets " + wording.ShellWord(path)
}

// FormationEnd returns the time until which the machines can form etcd: the formation deadline or,
// if that comes first, the end of the first certificate of a named machine. It also reports whether
// that certificate comes first.
func FormationEnd(r *render.Cluster) (end time.Time, certificates bool) {
	end = r.Public.FormationDeadline
	for _, d := range r.Ends() {
		if !d.Pool && d.Until.Before(end) {
			end, certificates = d.Until, true
		}
	}
	return end, certificates
}
