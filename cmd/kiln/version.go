package main

import (
	"cmp"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
)

// version is set by make release. Without it, Go names a build after the tag or the commit.
var version = ""

func versionCommand() *cobra.Command {
	var form string
	var withLicenses bool
	cmd := &cobra.Command{
		Use:         "version",
		Annotations: term.Reads(),
		Short:       "Print the version of kiln",
		Long: "Print the version of kiln and, where the build knows it, the commit that it was\n" +
			"made from, with its date.",
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

// origin is what the program knows of its own making, as kiln version -o json prints it.
type origin struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Date     string `json:"date,omitempty"`     // of the commit, in UTC
	Modified bool   `json:"modified,omitempty"` // files differed from those of the commit
	Go       string `json:"go"`
	Licenses string `json:"licenses,omitempty"`
}

// printVersion prints the version in a form of --output. If text has the licenses, it is printed
// beside the version in JSON, and alone for people.
func printVersion(out io.Writer, form, text string) error {
	o := origin{Version: versionName(), Go: runtime.Version(), Licenses: text}
	if info, ok := debug.ReadBuildInfo(); ok {
		o.addRevision(info.Settings)
	}
	if form == "json" {
		return term.JSON(out, o)
	}
	if text != "" {
		term.Printf(out, "%s", text)
		return nil
	}
	term.Printf(out, "kiln %s\n", o.Version)
	if o.Commit != "" {
		changed := ""
		if o.Modified {
			changed = ", with changes that are not committed"
		}
		term.Printf(out, "commit %s of %s%s\n", o.Commit, o.Date, changed)
	}
	return nil
}

// addRevision adds the commit that the program was built from. There is none in a build without
// version control (-buildvcs=false, no git, or a module from a proxy).
func (o *origin) addRevision(settings []debug.BuildSetting) {
	for _, s := range settings {
		switch s.Key {
		case "vcs.revision":
			o.Commit = s.Value
		case "vcs.time":
			o.Date = s.Value
		case "vcs.modified":
			o.Modified = s.Value == "true"
		}
	}
	o.Modified = o.Modified && o.Commit != ""
}

// versionName returns the version of this program, or "(devel)" if the build does not know it.
func versionName() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	return cmp.Or(v, "(devel)")
}
