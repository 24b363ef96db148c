package main

import (
	"cmp"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
)

// version is set by the release build. A build from a checkout has the revision of the checkout.
var version = ""

func versionCommand() *cobra.Command {
	var form string
	var withLicenses bool
	cmd := &cobra.Command{
		Use:         "version",
		Annotations: term.Reads(),
		Short:       "Print the version of kiln",
		Long: "Print the version of kiln and, where the build knows it, the commit that it was\n" +
			"made from.",
		Example: "  kiln version\n  kiln version --licenses",
		Args:    term.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			text := ""
			if withLicenses {
				if text, err = licenseText(); err != nil {
					return err
				}
			}
			return printVersion(cmd.OutOrStdout(), form, text)
		},
	}
	cmd.Flags().BoolVar(&withLicenses, "licenses", false,
		"print the licenses and notices of Go and of all modules in the program")
	term.OutputFlag(cmd, &form, "version")
	return cmd
}

// printVersion prints the version in a form of --output. If text has the licenses, it is printed
// beside the version in JSON, and alone for people.
func printVersion(out io.Writer, form, text string) error {
	commit, modified := "", false
	if info, ok := debug.ReadBuildInfo(); ok {
		commit, modified = revision(info.Settings)
	}
	if form == "json" {
		return term.JSON(out, struct {
			Version  string `json:"version"`
			Commit   string `json:"commit,omitempty"`
			Modified bool   `json:"modified,omitempty"`
			Licenses string `json:"licenses,omitempty"`
		}{versionName(), commit, modified, text})
	}
	if text != "" {
		term.Printf(out, "%s", text)
		return nil
	}
	if modified {
		commit += ", with changes that are not committed"
	}
	term.Printf(out, "kiln %s\n", versionName())
	if commit != "" {
		term.Printf(out, "commit %s\n", commit)
	}
	return nil
}

// revision returns the commit that the program was built from, and whether its files had changed
// since. It returns "" for a build without version control (-buildvcs=false, or no git).
func revision(settings []debug.BuildSetting) (commit string, modified bool) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return commit, modified && commit != ""
}

// versionName returns the version of this program, or "(devel)" if the build does not know it.
func versionName() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	return cmp.Or(v, "(devel)")
}
