package judges

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	etcdgates "go.etcd.io/etcd/pkg/v3/featuregate"
	etcdfeatures "go.etcd.io/etcd/server/v3/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// The tables of what the programs of each minor know, from kiln's root. Their first lines say what
// the columns are.
const (
	flagsTable  = "render/kube/flags/flags.tsv"
	gatesTable  = "render/kube/flags/gates.tsv"
	wordsTable  = "render/kube/flags/words.tsv"
	limitsTable = "render/kube/flags/limits.tsv"
)

// known is what the programs of one minor know: the columns after the minors, by the columns
// before them.
type known map[string]string

// knownFlags returns the type and deprecation of every flag of every program, by program and flag.
func knownFlags(etcdmain *etcdSource) (known, error) {
	out := known{}
	for name, newProgram := range programs {
		optionsLock.Lock()
		program, err := newProgram()
		optionsLock.Unlock()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if name == "etcd" {
			etcdmain.addTo(program.flags)
		}
		program.flags.VisitAll(func(f *pflag.Flag) {
			out[row(name, f.Name)] = row(f.Value.Type(), f.Deprecated)
		})
	}
	return out, nil
}

// knownGates returns the stage, default, lock and needs of every feature gate. The programs of
// Kubernetes share their gates; those of etcd are its own.
func knownGates() known {
	out := known{}
	var gates any = utilfeature.DefaultMutableFeatureGate
	var needs map[featuregate.Feature][]featuregate.Feature
	if gates, ok := gates.(dependent); ok {
		needs = gates.Dependencies()
	}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		lock := ""
		if spec.LockToDefault {
			lock = "locked"
		}
		var others []string
		for _, other := range needs[name] {
			others = append(others, string(other))
		}
		slices.Sort(others)
		out[row("kubernetes", string(name))] = row(stage(string(spec.PreRelease)),
			strconv.FormatBool(spec.Default), lock, strings.Join(others, ","))
	}
	etcd := etcdfeatures.NewDefaultServerFeatureGate("judge", nil)
	for name, spec := range etcd.(etcdgates.MutableFeatureGate).GetAll() {
		lock := ""
		if spec.LockToDefault {
			lock = "locked"
		}
		out[row("etcd", string(name))] = row(stage(string(spec.PreRelease)),
			strconv.FormatBool(spec.Default), lock, "")
	}
	return out
}

// dependent are feature gates that know which of them need others. Those of 1.34 do not.
type dependent interface {
	Dependencies() map[featuregate.Feature][]featuregate.Feature
}

// stage returns the stage of a gate in small letters.
func stage(s string) string { return cmp.Or(strings.ToLower(s), "ga") }

// row joins columns, each on one line.
func row(columns ...string) string {
	for i, c := range columns {
		columns[i] = strings.Join(strings.Fields(c), " ")
	}
	return strings.Join(columns, "\t")
}

// history is what the programs of all minors know: the columns after the minors, by the columns
// before them and by minor.
type history map[string]map[int]string

// readHistory reads a table, whose keys have the given number of columns. Lines that begin with #
// are its head.
func readHistory(table string, keys int) (head string, out history, err error) {
	out = history{}
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "#") {
			head += line
			continue
		}
		columns := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", keys+2)
		if len(columns) != keys+2 {
			return "", nil, fmt.Errorf("%q has too few columns", line)
		}
		first, last, _ := strings.Cut(columns[keys], "-")
		from, errFrom := strconv.Atoi(first)
		to, errTo := strconv.Atoi(cmp.Or(last, first))
		if err := cmp.Or(errFrom, errTo); err != nil {
			return "", nil, fmt.Errorf("%q has no minors: %w", line, err)
		}
		key := strings.Join(columns[:keys], "\t")
		if out[key] == nil {
			out[key] = map[int]string{}
		}
		for minor := from; minor <= to; minor++ {
			out[key][minor] = columns[keys+1]
		}
	}
	return head, out, nil
}

// of returns what one minor knows.
func (h history) of(minor int) known {
	out := known{}
	for key, minors := range h {
		if value, ok := minors[minor]; ok {
			out[key] = value
		}
	}
	return out
}

// set replaces what one minor knows.
func (h history) set(minor int, k known) {
	for _, minors := range h {
		delete(minors, minor)
	}
	for key, value := range k {
		if h[key] == nil {
			h[key] = map[int]string{}
		}
		h[key][minor] = value
	}
}

// String returns the lines of the table: sorted, and one for neighbouring minors with the same
// values.
func (h history) String() string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(h)) {
		minors := slices.Sorted(maps.Keys(h[key]))
		for i := 0; i < len(minors); {
			last := i
			for last+1 < len(minors) && minors[last+1] == minors[last]+1 &&
				h[key][minors[last+1]] == h[key][minors[i]] {
				last++
			}
			fmt.Fprintf(&b, "%s\t%d-%d\t%s\n", key, minors[i], minors[last], h[key][minors[i]])
			i = last + 1
		}
	}
	return b.String()
}

// etcdSource is what etcd's main package adds to the flags of etcd. No function that is exported
// has them, so they are read from the source of the release.
type etcdSource struct {
	flags      map[string]string // the types, by flag
	ignored    []string          // flags of old releases, which are accepted and do nothing
	deprecated map[string]string // the messages, by flag
}

// readEtcdSource reads etcdmain/config.go of the etcd that the module file names.
func readEtcdSource(modfile string) (*etcdSource, error) {
	cmd := exec.Command("go", "list", "-modfile="+modfile, "-f", "{{.Dir}}",
		"go.etcd.io/etcd/server/v3/etcdmain")
	dir, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	path := filepath.Join(strings.TrimSpace(string(dir)), "config.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	out := &etcdSource{flags: map[string]string{}, deprecated: map[string]string{}}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			out.readCall(n)
		case *ast.ValueSpec:
			out.readVariable(n)
		}
		return true
	})
	if len(out.flags) < 4 || len(out.ignored) < 10 || len(out.deprecated) == 0 {
		return nil, fmt.Errorf("%s: found the flags %v and %v, and %d messages", path, out.flags,
			out.ignored, len(out.deprecated))
	}
	return out, nil
}

// readCall reads a call that defines a flag, such as fs.StringVar(&at, "name", …). Its variable
// comes before the name.
func (s *etcdSource) readCall(call *ast.CallExpr) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasSuffix(method.Sel.Name, "Var") || len(call.Args) < 3 {
		return
	}
	if name, ok := literal(call.Args[1]); ok {
		kind := strings.ToLower(strings.TrimSuffix(method.Sel.Name, "Var"))
		s.flags[name] = cmp.Or(kind, "string")
	}
}

// readVariable reads the variables ignored, a list of flags, and deprecatedFlags, their messages.
func (s *etcdSource) readVariable(v *ast.ValueSpec) {
	if len(v.Values) != 1 {
		return
	}
	list, ok := v.Values[0].(*ast.CompositeLit)
	if !ok {
		return
	}
	for _, element := range list.Elts {
		switch pair, isPair := element.(*ast.KeyValueExpr); {
		case v.Names[0].Name == "ignored":
			name, _ := literal(element)
			s.ignored = append(s.ignored, name)
		case v.Names[0].Name == "deprecatedFlags" && isPair:
			name, _ := literal(pair.Key)
			s.deprecated[name], _ = literal(pair.Value)
		}
	}
}

// literal returns the value of a string literal.
func literal(e ast.Expr) (value string, ok bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(lit.Value)
	return value, err == nil
}

// addTo adds the flags to those of etcd's library.
func (s *etcdSource) addTo(flags *pflag.FlagSet) {
	for name, kind := range s.flags {
		if flags.Lookup(name) == nil {
			flags.Var(&typed{kind}, name, "")
		}
	}
	for _, name := range s.ignored {
		flags.Var(&typed{"string"}, name, "")
		flags.Lookup(name).Deprecated = "etcd ignores it"
	}
	for name, message := range s.deprecated {
		if f := flags.Lookup(name); f != nil {
			f.Deprecated = message
		}
	}
}

// typed is a flag's value of which only the type is known.
type typed struct{ kind string }

func (*typed) String() string   { return "" }
func (*typed) Set(string) error { return nil }
func (t *typed) Type() string   { return t.kind }
