// Package preflight is the catalogue of what a machine's first boot checks before it starts the kubelet: it turns what is
// known of a machine into the lines of its /etc/kiln/checks. The shell functions that those lines call are in
// templates/boot/checks; docs/preflight.md is the catalogue as a page.
package preflight

import (
	"slices"
	"strings"
	"time"

	"kiln/render/plan"
)

// What the failure of a check means.
const (
	Stop = "stop" // it ends the first boot
	Wait = "wait" // it is tried again until the step's time is over, and then ends the first boot
	Warn = "warn" // it is reported
)

// Entry is one row of the catalogue.
type Entry struct {
	// ID is the fault's code, and what ignorePreflight names. An ID with "…" stands for several checks, each with the name of
	// what it looks at in that place; so it is in Remedy.
	ID string
	// Reads is what is looked at on the machine, Wants what must be found there.
	Reads, Wants string
	Severity     string
	// Remedy is what to do about a failure.
	Remedy string
	// Kubeadm are the names of kubeadm's checks that this one replaces; ignorePreflight takes them too.
	Kubeadm []string
	// Source is where the rule comes from.
	Source string

	// calls returns the calls of the hook's functions on one machine, none if the check is not for it.
	calls func(*Facts) []call
}

// call is a kind of check with its arguments; of is what stands for "…".
type call struct{ of, text string }

// Facts are what the checks of one machine are made from.
type Facts struct {
	Plan    *plan.Plan
	Machine *plan.Machine
	// From and Until are when all of the machine's certificates are valid.
	From, Until time.Time
	TokenEnd    time.Time         // when the machine's bootstrap token ends, if it has one
	Modules     []string          // kernel modules that it loads
	Sysctls     map[string]string // kernel settings that it makes
	ResolvConf  string            // the resolver configuration that the kubelet gives to pods
	SwapAllowed bool
	Images      []string // references of the images that it needs before it is part of the cluster
	Peers       []Peer   // other members of etcd
	Plugins     []string // paths of the CNI plugins that kiln's own network needs
}

// Peer is another member of etcd.
type Peer struct{ Name, URL string }

// Check is one check of one machine.
type Check struct {
	ID, Severity, Call, Remedy string

	kubeadm []string // what else ignorePreflight may call it
}

// String returns the check's line in /etc/kiln/checks.
func (c Check) String() string {
	return strings.Join([]string{c.ID, c.Severity, c.Call, c.Remedy}, "|") + "\n"
}

// Kind returns the kind of the check, such as port-free.
func (c Check) Kind() string {
	kind, _, _ := strings.Cut(c.Call, " ")
	return kind
}

// Names returns what ignorePreflight may call the check: its ID, then kubeadm's names.
func (c Check) Names() []string { return append([]string{c.ID}, c.kubeadm...) }

// Is says whether name is one of the check's names. In kubeadm's, upper and lower case do not matter.
func (c Check) Is(name string) bool {
	return c.ID == name || slices.ContainsFunc(c.kubeadm, func(k string) bool { return strings.EqualFold(k, name) })
}

// Checks returns the checks of one machine in the catalogue's order. Those that its ignorePreflight names only warn.
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

// Known says whether name is that of a check which some machine has, though not this one. It does not look at those of which
// a machine has several.
func Known(name string) bool {
	return slices.ContainsFunc(Catalogue, func(e Entry) bool {
		return !strings.Contains(e.ID, "…") && e.check(call{}).Is(name)
	})
}

func (e *Entry) check(c call) Check {
	check := Check{ID: fill(e.ID, c.of), Severity: e.Severity, Call: c.text, Remedy: fill(e.Remedy, c.of)}
	for _, name := range e.Kubeadm {
		// kubeadm makes a path part of a name by its dashes: FileContent--proc-sys-net-ipv4-ip_forward.
		check.kubeadm = append(check.kubeadm, fill(name, strings.ReplaceAll(c.of, ".", "-")))
	}
	return check
}

func fill(text, of string) string { return strings.ReplaceAll(text, "…", of) }
