package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/stretchr/testify/require"
)

// TestCLIDoc holds docs/cli.md to the verbs and flags of the program.
func TestCLIDoc(t *testing.T) {
	t.Parallel()
	const path = "../../docs/cli.md"
	page := cliPage(root())
	for line := range strings.Lines(page) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), helpWidth+1, line)
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	require.Equal(t, page, read(t, path), "make golden rewrites it")
}

// cliPage returns the page about the command line.
func cliPage(kiln *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`# The command line

For anyone at a terminal: the verbs of kiln, with their flags and exit codes. ` +
		"`kiln help VERB`" + `
prints the same about one verb. The page is made from the program by ` + "`make golden`" + `.

`)
	for _, cmd := range kiln.Commands() {
		fmt.Fprintf(&b, "- [`%s`](#%s):\n  %s\n", cmd.CommandPath(), anchor(cmd), cmd.Short)
	}
	b.WriteString(`
` + "`kiln completion SHELL`" + ` prints a script that completes verbs and flags in ` +
		`bash, zsh, fish or
powershell. ` + "`make man`" + ` writes the man pages into ` + "`bin/man`" + `.

## Exit codes

| code | meaning |
|---|---|
`)
	code := regexp.MustCompile(`(?m)^  (\d)  (.*)$`)
	oneLine := strings.ReplaceAll(exitCodes, "\n     ", " ")
	for _, m := range code.FindAllStringSubmatch(oneLine, -1) {
		fmt.Fprintf(&b, "| %s | %s |\n", m[1], m[2])
	}
	b.WriteString(programs)
	for _, cmd := range kiln.Commands() {
		cliSection(&b, "##", cmd)
	}
	return b.String()
}

// programs documents term.Failure, which TestFailures requires.
const programs = `
## Reports for programs

` + "`-o json`" + ` prints the report of a verb as JSON on standard output. If the verb fails, it
prints why, in the same form for every verb, and ends with the same exit code as without:

` + "```json" + `
{
  "exitCode": 1,
  "problems": [
    {
      "file": "cluster.yaml",
      "line": 10,
      "column": 51,
      "path": "nodes[0].addresses[0]",
      "message": "\"10.0.0.300\" is not an IP address; write it like 10.0.0.30",
      "remedy": "write it like 10.0.0.30"
    }
  ]
}
` + "```" + `

| field | holds |
|---|---|
| ` + "`exitCode`" + ` | the exit code |
| ` + "`file`" + ` | the file with the problem, if it is known |
| ` + "`line`, `column`, `path`" + ` | the place in a configuration: counted from 1, and the field |
| ` + "`message`" + ` | what people read |
| ` + "`remedy`" + ` | the part of the message that says what to do, if it has one |

` + "`kiln validate`" + ` says ` + "`valid`" + ` too, with no problems if it is. A difference
(exit code 3) and a refused change are no failures: the report of the verb says them.
`

// anchor returns the link target of a verb's heading.
func anchor(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// cliSection writes the section about a verb, and those about the verbs below it.
func cliSection(b *strings.Builder, heading string, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n%s %s\n\n", heading, cmd.CommandPath())
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(markdown(long))
	if !cmd.HasSubCommands() || reports(cmd) {
		cliUsage(b, cmd)
	}
	for _, sub := range cmd.Commands() {
		cliSection(b, heading+"#", sub)
	}
}

// cliUsage writes how a verb is typed, an example, and its flags.
func cliUsage(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSuffix(cmd.UseLine(), " [flags]"))
	fmt.Fprintf(b, "\nFor example:\n\n```sh\n%s\n```\n", unindent(cmd.Example))
	if flags := cmd.NonInheritedFlags().FlagUsagesWrapped(helpWidth); flags != "" {
		fmt.Fprintf(b, "\nFlags:\n\n```text\n%s```\n", flags)
	}
}

// markdown turns indented lines of a help text into a block of code.
func markdown(help string) string {
	var b strings.Builder
	code := false
	for _, line := range strings.Split(strings.TrimSpace(help), "\n") {
		if indented := strings.HasPrefix(line, "  "); indented != code {
			code = indented
			b.WriteString("\n")
		}
		if code {
			b.WriteString("  ")
		}
		b.WriteString(line + "\n")
	}
	return regexp.MustCompile(`\n{3,}`).ReplaceAllString(b.String(), "\n\n")
}

// unindent removes two blanks from the beginning of each line.
func unindent(example string) string {
	return regexp.MustCompile(`(?m)^  `).ReplaceAllString(example, "")
}

var man = flag.String("man", "", "write the man pages into this folder (make man)")

// TestMan: there is a man page for each verb, with its flags. The pages are made from the program,
// like docs/cli.md, and the library that makes them is not in it.
func TestMan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if *man != "" {
		dir = *man
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	kiln := root()
	kiln.DisableAutoGenTag = true // the date of the run
	require.NoError(t, doc.GenManTree(kiln, &doc.GenManHeader{
		Section: "1", Source: "kiln " + versionName(), Manual: "kiln",
	}, dir))
	forEachVerb(kiln, func(verb *cobra.Command) {
		if !verb.IsAvailableCommand() {
			return // the help, of which the library makes no page
		}
		name := strings.ReplaceAll(verb.CommandPath(), " ", "-") + ".1"
		page := read(t, filepath.Join(dir, name))
		require.Contains(t, page, verb.Short, name)
		if verb.Flags().Lookup("output") != nil {
			require.Contains(t, page, "--output", name)
		}
	})
	require.Contains(t, read(t, filepath.Join(dir, "kiln.1")), "Exit codes")
}
