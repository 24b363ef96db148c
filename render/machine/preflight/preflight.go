// Package preflight is the catalogue of what a machine's first boot checks before it starts the
// kubelet. It turns the facts of a machine into the lines of the machine's /etc/kiln/checks. The
// shell functions that those lines call are in templates/boot/checks; docs/preflight.md shows the
// catalogue as a page.
package preflight

import (
	"slices"
	"strings"
	"time"

	"kiln.dev/kiln/render/plan"
)

// Severities: what the failure of a check means.
const (
	Stop = "stop" // it ends the first boot
	Wait = "wait" // it is tried again, and is reported when the step's time is over
	Warn = "warn" // it is reported
)

// Entry is one row of the catalogue.
type Entry struct {
	// ID is the code of the fault, and the name that ignorePreflight takes. An ID with "…" stands
	// for several checks; each has the name of its subject in that place, in Remedy and Kubeadm
	// too.
	ID string
	// Reads is what the check looks at on the machine, Wants what it must find there.
	Reads, Wants string
	Severity     string
	// Remedy is what to do about a failure.
	Remedy string
	// Kubeadm lists the names of kubeadm's checks that this one replaces; ignorePreflight takes
	// them too.
	Kubeadm []string
	// Source is where the rule comes from.
	Source string

	// calls returns the calls of the hook's functions on one machine; none if the check does not
	// concern the machine.
	calls func(*Facts) []call
}

// call is a call of one of the hook's functions with its arguments. subject stands in the place of
// "…" in the entry.
type call struct{ subject, text string }

// Facts are what the checks of one machine are made from.
type Facts struct {
	Plan    *plan.Plan
	Machine *plan.Machine
	// From and Until are when all of the machine's certificates are valid.
	From, Until time.Time
	TokenEnd    time.Time         // when the bootstrap token of a pool ends
	Modules     []string          // the kernel modules that it loads
	Sysctls     map[string]string // the kernel settings that it makes
	ResolvConf  string            // the resolver configuration that the kubelet gives to pods
	SwapAllowed bool
	Images      []string // the images that it needs before it is part of the cluster
	Peers       []Peer   // the other members of etcd
	Plugins     []string // the paths of the CNI plugins that the network of pods needs
}

// Peer is another member of etcd.
type Peer struct{ Name, URL string }

// Check is one check of one machine.
type Check struct {
	ID, Severity, Call, Remedy string

	subject string
	kubeadm []string // kubeadm's names of it, with "…" for the subject
}

// String returns the check's line in /etc/kiln/checks.
func (c Check) String() string {
	return strings.Join([]string{c.ID, c.Severity, c.Call, c.Remedy}, "|") + "\n"
}

// Kind returns the hook's function that the check calls, such as port-free.
func (c Check) Kind() string {
	kind, _, _ := strings.Cut(c.Call, " ")
	return kind
}

// Names returns the names that ignorePreflight takes for the check: its ID, then kubeadm's names.
func (c Check) Names() []string {
	names := []string{c.ID}
	for _, name := range c.kubeadm {
		// kubeadm writes a path in a name with dashes: FileContent--proc-sys-net-ipv4-ip_forward.
		names = append(names, fill(name, strings.ReplaceAll(c.subject, ".", "-")))
	}
	return names
}

// Is reports whether name is one of the check's names. Case does not matter in kubeadm's names.
func (c Check) Is(name string) bool {
	same := func(kubeadm string) bool { return strings.EqualFold(kubeadm, name) }
	return c.ID == name || slices.ContainsFunc(c.Names()[1:], same)
}

// Checks returns the checks of one machine in the order of the catalogue. Checks that the machine's
// ignorePreflight names only warn.
func Checks(f *Facts) []Check {
	var out []Check
	for i := range Catalogue {
		for _, c := range Catalogue[i].calls(f) {
			check := Catalogue[i].check(c)
			if slices.ContainsFunc(f.Machine.Settings.IgnorePreflight, check.Is) {
				check.Severity = Warn
			}
			out = append(out, check)
		}
	}
	return out
}

// Known reports whether name is the name of a check that some machine has. It leaves out the
// entries that stand for several checks, because the names of those depend on the machine.
func Known(name string) bool {
	return slices.ContainsFunc(Catalogue, func(e Entry) bool {
		return !strings.Contains(e.ID, "…") && e.check(call{}).Is(name)
	})
}

// check returns the check that makes one of the entry's calls.
func (e *Entry) check(c call) Check {
	return Check{
		ID: fill(e.ID, c.subject), Severity: e.Severity,
		Call: c.text, Remedy: fill(e.Remedy, c.subject), subject: c.subject, kubeadm: e.Kubeadm,
	}
}

// fill puts the subject of a call into the text of an entry.
func fill(text, subject string) string { return strings.ReplaceAll(text, "…", subject) }
