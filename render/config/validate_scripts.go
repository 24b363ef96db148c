package config

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"kiln.dev/kiln/render/text/yamltext"
)

// scripts checks the scripts of a layer for one phase of the first boot: those under the key.
func (v *checker) scripts(list []Script, layer *yamltext.Location, key string) {
	seen := map[string]int{}
	for i, s := range list {
		at := layer.Key(key).Index(i)
		if first, ok := seen[s.Name]; ok {
			v.report(at.Key("name"), "%s is already %s[%d]; rename one", quote(s.Name), key, first)
		} else {
			v.label(s.Name, at.Key("name"))
			seen[s.Name] = i
		}
		v.span(s.Timeout, at.Key("timeout"))
		if !v.oneSource(s.Content, s.ContentFrom, "content", "contentFrom", at) {
			continue
		}
		content, here := s.Content, at.Key("content")
		if s.ContentFrom != "" {
			content, here = string(v.c.Text(s.ContentFrom)), at.Key("contentFrom")
		}
		problem := scriptProblem(content)
		switch {
		case v.isHidden(here):
		case content == "":
			v.report(here, "is empty; write the commands for sh")
		case s.Secret && s.Content != "":
			v.report(here, "is a secret, and cluster.yaml holds none; "+
				"put it into a file and name that with contentFrom")
		case problem != "":
			v.report(here, "%s", problem)
		}
	}
}

// maxScript is the size of the largest script whose syntax is checked, in bytes. The check takes
// time, and a larger script brings data with it.
const maxScript = 256 << 10

// scriptProblem returns why the first boot could not run a script, "" if it could. It runs scripts
// with the sh of the system, whatever their first line says.
func scriptProblem(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	if strings.HasSuffix(first, "\r") {
		return "has the line ends of Windows, which sh takes for a part of the last word; " +
			"save it with those of Unix (LF)"
	}
	if program := interpreter(first); program != "" && !slices.Contains(shells, program) {
		return fmt.Sprintf("begins with %s, and the first boot runs scripts with sh; "+
			"put the program into files, and call it from a script", quote(first))
	}
	if len(text) > maxScript {
		return ""
	}
	return syntaxProblem(text, syntax.LangPOSIX, syntax.LangBash)
}

// shells are the programs of a first line whose language sh may read.
var shells = []string{"ash", "bash", "busybox", "dash", "ksh", "sh"}

func interpreter(line string) string {
	command, ok := strings.CutPrefix(line, "#!")
	words := strings.Fields(command)
	if !ok || len(words) == 0 {
		return ""
	}
	program := path.Base(words[0])
	for _, word := range words[1:] {
		if program == "env" && !strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
			return path.Base(word)
		}
	}
	return program
}

// syntaxProblem returns why a script has none of the languages, "" if it has one. It quotes nothing
// of the script, which may hold secrets.
func syntaxProblem(text string, languages ...syntax.LangVariant) string {
	line := uint(0)
	for _, language := range languages {
		parser := syntax.NewParser(syntax.Variant(language))
		_, err := parser.Parse(strings.NewReader(text), "")
		var wrong syntax.ParseError
		var foreign syntax.LangError // another language has it
		switch {
		case err == nil:
			return ""
		case errors.As(err, &wrong):
			line = max(line, wrong.Pos.Line())
		case errors.As(err, &foreign):
			line = max(line, foreign.Pos.Line())
		}
	}
	return fmt.Sprintf("is not a shell script from line %d on; "+
		"sh -n FILE says what is wrong there", line)
}

// dashScripts checks the scripts of a machine whose sh is dash: it exits with what is not in POSIX.
func (v *checker) dashScripts(m settings) {
	if system := m.system(); !system.Dash {
		return
	}
	for _, phase := range []struct {
		key  string
		list []Script
	}{{"preBoot", m.PreBoot}, {"postBoot", m.PostBoot}} {
		for _, s := range phase.list {
			if v.isBash(cmp.Or(s.Content, string(v.c.Text(s.ContentFrom)))) {
				v.reportLayer(m, narrower(m, phase.key, "os"), "%s is written for bash, and "+
					"the first boot runs it with the sh of %s, which is dash; "+
					"write it for sh, or call bash in it", quote(s.Name), m.OS)
			}
		}
	}
}

// isBash reports whether a script is one for bash alone. Many machines have the same scripts.
func (v *checker) isBash(text string) bool {
	is, known := v.bash[text]
	if !known {
		is = len(text) <= maxScript && scriptProblem(text) == "" &&
			syntaxProblem(text, syntax.LangPOSIX) != ""
		v.bash[text] = is
	}
	return is
}
