// Package flags checks command lines and feature gates: it knows every flag and every gate of the
// programs of Kubernetes, and of the etcd that runs beside them, in each minor, and the values that
// they take when they start.
//
// The tables are made from the programs' own flag sets and registries, by test/judges. They are
// read at the first question.
package flags

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Names of programs in the table.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Etcd              = "etcd"
	Kubelet           = "kubelet"
	Proxy             = "kube-proxy"
	Scheduler         = "kube-scheduler"
)

// Flag is a flag of a program in one minor.
type Flag struct {
	Name       string
	Type       string // as the program's help has it: bool, int32, duration, stringSlice, …
	Deprecated string // what the program says when the flag is given; "" if it is not deprecated
}

// Gate is a feature gate in one minor.
type Gate struct {
	Name    string
	Stage   string // alpha, beta, ga or deprecated
	Default bool
	Locked  bool     // whether a program with another value than the default exits
	Needs   []string // the gates that must be on if this one is
}

// Program is a program of one minor of Kubernetes.
type Program struct {
	name        string
	minor       int
	flags       history[Flag]
	gates       history[Gate]
	knownWords  history[Words]
	knownLimits history[bounds]
}

// FindProgram returns the program of a minor such as 36, and whether the tables have it.
func FindProgram(name string, minor int) (p Program, ok bool) {
	t := tables()
	if minor < t.oldest || minor > t.newest || t.flags[name] == nil {
		return Program{}, false
	}
	whose := "kubernetes"
	if name == Etcd {
		whose = Etcd
	}
	return Program{
		name, minor, t.flags[name], t.gates[whose], t.words[name], t.limits[name],
	}, true
}

// String returns the name and the minor: kube-apiserver 1.36. Releases of etcd have other numbers,
// so that of etcd says whose minor it is.
func (p Program) String() string {
	if p.name == Etcd {
		return "etcd of Kubernetes " + version(p.minor)
	}
	return p.name + " " + version(p.minor)
}

// Flags returns all flags of the program, sorted by name.
func (p Program) Flags() []Flag { return p.flags.in(p.minor) }

// Gates returns all feature gates that the program knows, sorted by name.
func (p Program) Gates() []Gate { return p.gates.in(p.minor) }

func version(minor int) string { return "1." + strconv.Itoa(minor) }

// period is an entry of a table, and the minors in which it holds.
type period[E any] struct {
	first, last int
	entry       E
}

// history holds the entries of each name, the oldest first.
type history[E any] map[string][]period[E]

func (h history[E]) at(name string, minor int) (entry E, ok bool) {
	for _, p := range h[name] {
		if p.first <= minor && minor <= p.last {
			return p.entry, true
		}
	}
	return entry, false
}

func (h history[E]) in(minor int) (entries []E) {
	for _, name := range h.names(minor) {
		e, _ := h.at(name, minor)
		entries = append(entries, e)
	}
	return entries
}

func (h history[E]) names(minor int) (names []string) {
	for name := range h {
		if _, ok := h.at(name, minor); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

var (
	//go:embed flags.tsv
	flagsTable string
	//go:embed gates.tsv
	gatesTable string
	//go:embed words.tsv
	wordsTable string
	//go:embed limits.tsv
	limitsTable string
)

type table struct {
	flags          map[string]history[Flag]  // by program
	gates          map[string]history[Gate]  // by owner: kubernetes or etcd
	words          map[string]history[Words] // by program
	limits         map[string]history[bounds]
	oldest, newest int
}

var tables = sync.OnceValue(func() *table {
	t := &table{
		flags: map[string]history[Flag]{}, gates: map[string]history[Gate]{},
		words: map[string]history[Words]{}, limits: map[string]history[bounds]{},
	}
	t.read(flagsTable, 5, func(c []string, first, last int) {
		add(t.flags, c[0], c[1], period[Flag]{first, last, Flag{c[1], c[3], c[4]}})
	})
	t.read(gatesTable, 7, func(c []string, first, last int) {
		needs := strings.FieldsFunc(c[6], func(r rune) bool { return r == ',' })
		gate := Gate{c[1], c[3], c[4] == "true", c[5] == "locked", needs}
		add(t.gates, c[0], c[1], period[Gate]{first, last, gate})
	})
	t.read(wordsTable, 5, func(c []string, first, last int) {
		words := Words{c[3], strings.Split(c[4], ",")}
		add(t.words, c[0], c[1], period[Words]{first, last, words})
	})
	t.read(limitsTable, 6, func(c []string, first, last int) {
		add(t.limits, c[0], c[1], period[bounds]{first, last, bounds{c[3], c[4], c[5], ""}})
	})
	return t
})

func add[E any](all map[string]history[E], owner, name string, p period[E]) {
	if all[owner] == nil {
		all[owner] = history[E]{}
	}
	all[owner][name] = append(all[owner][name], p)
}

// read calls use with the columns and the minors of each line, which a test has read before.
func (t *table) read(text string, columns int, use func(columns []string, first, last int)) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		c := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var first, last int
		if len(c) != columns {
			panic(fmt.Sprintf("flags: a line with %d columns: %q", len(c), line))
		}
		if _, err := fmt.Sscanf(c[2], "%d-%d", &first, &last); err != nil {
			panic(fmt.Sprintf("flags: a line without minors: %q", line))
		}
		if t.oldest == 0 {
			t.oldest, t.newest = first, last
		}
		t.oldest, t.newest = min(t.oldest, first), max(t.newest, last)
		use(c, first, last)
	}
}
