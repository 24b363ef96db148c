package flags

import (
	"slices"
	"strings"
)

// CheckCommand checks the words of a container's command behind the program: each flag as Check
// does, and all together, as the program does when it starts. Arg of a finding is the index of a
// word: that of the flag, even if its value is the next word. A value with a variable, $(NAME), is
// known only when the container starts, and is not checked.
func (p Program) CheckCommand(words []string) []Finding {
	var args []Arg
	var at []int // the word of each flag
	var found []Finding
	report := func(i int, message string) {
		found = append(found, Finding{Arg: i, Word: words[i], Message: message})
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		name, isLong := strings.CutPrefix(word, "--")
		one, hasDash := strings.CutPrefix(word, "-")
		isShort := hasDash && !isLong && p.short(one)
		if isShort {
			name = one
		}
		switch {
		case !hasDash || name == "":
			report(i, "is not a flag, and "+p.name+" takes nothing else; "+
				"write --name=value, or remove it")
			continue
		case !isLong && !isShort:
			report(i, "begins with one dash; write two")
			continue
		}
		a, first, hasValue := Arg{}, i, false
		a.Name, a.Value, hasValue = strings.Cut(name, "=")
		switch f, _ := p.flags.at(p.normal(a.Name), p.minor); {
		case hasValue:
		case slices.Contains([]string{"bool", "version"}, f.Type):
			a.Value = "true"
		case i+1 == len(words):
			report(i, "has no value; write "+word+"=VALUE")
			continue
		case f.Name != "" || !strings.HasPrefix(words[i+1], "-"):
			i++
			a.Value = words[i]
		}
		args, at = append(args, a), append(at, first)
	}
	c := &checker{Program: p}
	c.pairs(args)
	for _, f := range c.check(args, nil) {
		if f.InValue && strings.Contains(args[f.Arg].Value, "$(") {
			continue
		}
		f.Arg = at[f.Arg]
		found = append(found, f)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return a.Arg - b.Arg })
	return found
}

// short reports whether a word with one dash, given without it, sets a flag: etcd takes any number
// of dashes, and the programs of Kubernetes have -v.
func (p Program) short(word string) bool {
	return p.name == Etcd || word == "v" || strings.HasPrefix(word, "v=")
}
