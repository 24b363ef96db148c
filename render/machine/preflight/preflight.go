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
	// ID is the code of the fault, and the name that ignorePreflight takes. For one thing of a list
	// it takes "ID-THING" too, such as port-6443.
	ID string
	// Reads is what the check looks at on the machine, Wants what it must find there.
	Reads, Wants string
	Severity     string
	// Remedy is what to do about a failure. "…" stands for the subject of the call.
	Remedy string
	// Kubeadm lists the names of kubeadm's checks that this one replaces; ignorePreflight takes
	// them too. "…" stands for a thing of the list.
	Kubeadm []string
	// Source is where the rule comes from.
	Source string

	// list is the hook's function that is given all things of a list. It is empty for checks that
	// ask about one thing.
	list string
	// each reports whether a check without a list has several calls, with names as in a list.
	each bool
	// calls returns the calls of the hook's functions on one machine, or with a list its words;
	// none if the check does not concern the machine.
	calls func(*Facts) []call
}

// call is a call of one of the hook's functions with its arguments, or a word of a list. subject is
// what people call it.
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
	Mounts      []string // the folders where cloud-init mounts disks
	Plugins     []string // the paths of the CNI plugins that the network of pods needs
}

// Check is one check of one machine.
type Check struct{ ID, Severity, Call, Remedy string }

// String returns the check's line in /etc/kiln/checks.
func (c Check) String() string {
	return strings.Join([]string{c.ID, c.Severity, c.Call, c.Remedy}, "|") + "\n"
}

// Checks returns the checks of one machine in the order of the catalogue. What the machine's
// ignorePreflight names only warns: a thing of a list gets a check of its own then.
func Checks(f *Facts) (out []Check) {
	for i := range Catalogue {
		e := &Catalogue[i]
		words := map[string][]string{} // of a list, by severity
		for _, c := range e.calls(f) {
			severity := e.Severity
			if slices.ContainsFunc(f.Machine.Settings.IgnorePreflight, e.is(c)) {
				severity = Warn
			}
			if e.list == "" {
				out = append(out, Check{e.ID, severity, c.text, fill(e.Remedy, c.subject)})
				continue
			}
			words[severity] = append(words[severity], c.text)
		}
		for _, severity := range []string{Stop, Wait, Warn} {
			if len(words[severity]) > 0 {
				text := e.list + " " + strings.Join(words[severity], " ")
				out = append(out, Check{e.ID, severity, text, e.Remedy})
			}
		}
	}
	return out
}

// Names returns the names that ignorePreflight takes on the machine.
func Names(f *Facts) (names []string) {
	for i := range Catalogue {
		for _, c := range Catalogue[i].calls(f) {
			names = append(names, Catalogue[i].own(c)...)
			names = append(names, Catalogue[i].kubeadm(c)...)
		}
	}
	return names
}

// Has reports whether name is the name of one of the machine's checks.
func Has(f *Facts, name string) bool {
	return slices.ContainsFunc(Catalogue, func(e Entry) bool {
		return slices.ContainsFunc(e.calls(f), func(c call) bool { return e.is(c)(name) })
	})
}

// Known reports whether name is the name of a check that some machine has. It leaves out the things
// of lists, because they depend on the machine.
func Known(name string) bool {
	return slices.ContainsFunc(Catalogue, func(e Entry) bool {
		return e.ID == name || e.list == "" && !e.each && e.is(call{})(name)
	})
}

// own returns kiln's names of a call.
func (e *Entry) own(c call) []string {
	if e.list == "" && !e.each {
		return []string{e.ID}
	}
	return []string{e.ID, e.ID + "-" + c.subject}
}

// kubeadm returns kubeadm's names of a call. kubeadm writes a path in a name with dashes:
// FileContent--proc-sys-net-ipv4-ip_forward.
func (e *Entry) kubeadm(c call) (names []string) {
	for _, name := range e.Kubeadm {
		names = append(names, fill(name, strings.ReplaceAll(c.subject, ".", "-")))
	}
	return names
}

// is returns a function that reports whether a name is one of the call's. Case does not matter in
// kubeadm's names.
func (e *Entry) is(c call) func(name string) bool {
	return func(name string) bool {
		same := func(kubeadm string) bool { return strings.EqualFold(kubeadm, name) }
		return slices.Contains(e.own(c), name) || slices.ContainsFunc(e.kubeadm(c), same)
	}
}

// fill puts the subject of a call into the text of an entry.
func fill(text, subject string) string { return strings.ReplaceAll(text, "…", subject) }
