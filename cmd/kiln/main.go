// Command kiln renders Kubernetes machines offline: from one cluster.yaml and one bundle of secrets
// it makes one finished boot document per machine. This package has the list of its verbs
// (main.go), what each of them touches (reach.go), and the verbs that need few files.
package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/compare"
	"kiln.dev/kiln/cmd/kiln/roll"
	"kiln.dev/kiln/cmd/kiln/status"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/cmd/kiln/upkeep"
	"kiln.dev/kiln/render/folder"
)

func main() {
	messages := os.Stderr // IsolateProcess takes os.Stderr away
	term.IsolateProcess()
	colour := os.Getenv("NO_COLOR") == "" // no-color.org
	endWell(os.Args[1:], messages)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, messages, colour))
}

// ownSignals are the verbs that end in their own way when they are interrupted.
var ownSignals = []string{"serve", "lock", "archive", "roll"}

// endWell lets an interruption say what it left, and leave no temporary files.
func endWell(args []string, messages io.Writer) {
	if len(args) > 0 && slices.Contains(ownSignals, args[0]) || signal.Ignored(os.Interrupt) {
		return
	}
	start, ended := folder.Now(), make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ended
		folder.Abandon()
		left := "nothing was written"
		if start.Changed() {
			left = "some files were written, and each of them is whole; the same command writes " +
				"the others"
		}
		// A question for a password has hidden what is typed. It lets the terminal show it again.
		time.Sleep(100 * time.Millisecond)
		term.Printf(messages, "kiln: interrupted: %s\n", left)
		os.Exit(exitInterrupted)
	}()
}

// exitInterrupted is what shells say of a program that SIGINT has ended.
const exitInterrupted = 130

// run runs the verb that args name and returns the exit code. Reports have colours if colour is set
// and out is a terminal.
func run(args []string, in io.Reader, out, messages io.Writer, colour bool) int {
	results, notes := term.NewScreen(out, colour), term.NewScreen(messages, colour)
	defer func() { _ = notes.Close() }()
	here, _ := os.Getwd() // without it, no message names it
	for _, s := range []*term.Screen{results, notes} {
		s.Names(append(args, here))
	}
	start := folder.Now()
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetIn(in)
	cmd.SetOut(results)
	cmd.SetErr(notes)
	verb, err := term.CheckVerb(cmd, args)
	if err == nil {
		verb, err = cmd.ExecuteC()
	}
	err = term.ExplainFiles(err, term.NamedPaths(verb))
	asJSON := reportsFailure(verb, args, err) && results.Failure() == nil
	if !asJSON {
		err = finish(err, results)
	}
	code := exitCode(verb, err, start.Changed(), notes)
	code = unsynced(start.Unsynced(), code, notes)
	if asJSON {
		_ = term.JSON(results, term.NewFailure(code, err)) // the exit code says it in any case
		_ = results.Close()
	}
	return code
}

// The help lists the verbs in the order of the work, and not in that of the alphabet.
func init() { cobra.EnableCommandSorting = false }

// others is the title of the last verbs in the help.
const others = "Look up:"

// root returns the command with all its verbs.
func root() *cobra.Command {
	cmd := &cobra.Command{
		Use: "kiln",
		Short: "Render Kubernetes machines offline: " +
			"one file in, one finished boot document per machine out",
		Long: "kiln renders Kubernetes machines offline:\n" +
			"one file in, one finished boot document per machine out.\n\n" + exitCodes,
		Example: `  kiln init --name prod --out cluster.yaml
  kiln validate cluster.yaml
  kiln render cluster.yaml --out ./nodes`,
		Version:       versionName(), // the flags --version and -v
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs, // term.CheckVerb has refused them
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return cmp.Or(term.CheckEmpty(cmd), term.CheckChoices(cmd))
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return term.UsageError{Err: term.SuggestFlag(cmd, err)}
	})
	cmd.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpWidth),
		"Use \"{{.CommandPath}} [command] --help\" for more information about a command.",
		"{{.CommandPath}} VERB --help explains one verb.",
		"[command]", "VERB",
		"Available Commands:", "Verbs:",
	).Replace(cmd.UsageTemplate()))
	cmd.SetVersionTemplate("kiln {{.Version}}\n")
	cmd.Flags().BoolP("version", "v", false, "print the version of kiln")
	cmd.SetHelpCommand(helpCommand())
	for _, part := range []struct {
		title string
		verbs []*cobra.Command
	}{
		{"Write a configuration:", []*cobra.Command{
			initCommand(), validateCommand(), explainCommand(), schemaCommand(), lockCommand(),
		}},
		{"Render it:", []*cobra.Command{
			renderCommand(), secretsCommand(), upkeep.TokenCommand(),
		}},
		{"Review a change:", []*cobra.Command{
			compare.DiffCommand(), compare.PlanCommand(), reportCommand(), upkeep.CertsCommand(),
		}},
		{"Boot the machines:", []*cobra.Command{
			unpackCommand(), isoCommand(), netbootCommand(), archiveCommand(), serveCommand(),
		}},
		{"Use the cluster:", []*cobra.Command{
			status.Command(), verifyCommand(), applyCommand(), roll.Command(),
			upkeep.KubeconfigCommand(),
		}},
		{others, []*cobra.Command{imagesCommand(), platformsCommand(), versionCommand()}},
	} {
		cmd.AddGroup(&cobra.Group{ID: part.title, Title: part.title})
		for _, verb := range part.verbs {
			verb.GroupID = part.title
		}
		cmd.AddCommand(part.verbs...)
	}
	addReach(cmd)
	addCompletions(cmd)
	term.RefuseControl(cmd)
	cmd.SetHelpCommandGroupID(others)
	cmd.SetCompletionCommandGroupID(others)
	return cmd
}

// helpWidth is the number of columns of the help.
const helpWidth = 100
