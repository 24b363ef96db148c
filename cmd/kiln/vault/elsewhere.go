package vault

import (
	"fmt"
	"strings"
	"time"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/request"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/plan"
)

// CheckSigned returns an error for each certificate of a configuration that a CA elsewhere has to
// sign at the time now.
func (f *File) CheckSigned(c *config.Cluster, now time.Time) error {
	signed := request.Cluster{
		Public: &f.Public, Bundle: f.Bundle, Plan: plan.New(c), Now: now,
	}
	if err := signed.Missing(); err != nil {
		return f.Blame(err)
	}
	return nil
}

// InstallEnds returns when the last install credential ends. If a CA elsewhere signs it, the note
// says what that means for what was signed.
func (f *File) InstallEnds() (last time.Time, note string) {
	if !f.Lacks(pki.CA) {
		return f.InstallEnd(), ""
	}
	for mark, c := range f.External.Certificates {
		if strings.HasPrefix(mark, pki.InstallBase+"/") && c.NotAfter.After(last) {
			last = c.NotAfter.UTC()
		}
	}
	if last.IsZero() {
		return f.InstallEnd(), "; its CA signs elsewhere: kiln certs csr writes the requests"
	}
	return last, fmt.Sprintf("; its CA signs elsewhere, and what was signed is valid until %s: "+
		"kiln certs csr has requests for what is to be signed again", last.Format(time.RFC3339))
}
