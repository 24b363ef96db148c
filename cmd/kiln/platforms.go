package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/wording"
)

func platformsCommand() *cobra.Command {
	var form string
	cmd := &cobra.Command{
		Use:         "platforms [PLATFORM]",
		Annotations: term.Reads(),
		Short:       "List the platforms: how large a document may be there, and who can read it",
		Example:     "  kiln platforms\n  kiln platforms aws",
		Args:        term.TakeArgs(0, 1, "one platform", "kiln platforms aws"),
		RunE: func(cmd *cobra.Command, list []string) error {
			platforms, err := findPlatforms(list)
			if err != nil {
				return err
			}
			if form == "json" {
				return term.JSON(cmd.OutOrStdout(), platforms)
			}
			printPlatforms(cmd.OutOrStdout(), platforms)
			return nil
		},
	}
	term.OutputFlag(cmd, &form, "list")
	return cmd
}

// findPlatforms returns the platforms with these names, or all if there are none.
func findPlatforms(names []string) ([]target.Platform, error) {
	if len(names) == 0 {
		return target.Platforms, nil
	}
	var all []string
	for _, p := range target.Platforms {
		if p.Name == names[0] {
			return []target.Platform{p}, nil
		}
		all = append(all, p.Name)
	}
	return nil, term.UsageErrorf("%s: kiln knows no platform with this name; kiln platforms lists "+
		"all%s", names[0], wording.Hint(names[0], all))
}

// printPlatforms prints the table of platforms, and below it the kinds of readers.
func printPlatforms(out io.Writer, platforms []target.Platform) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	term.Printf(table, "PLATFORM\tBYTES\tCOUNTED\tFORM OF LARGE CLOUD-INIT DOCUMENTS\t"+
		"READERS\n")
	for _, p := range platforms {
		term.Printf(table, "%s\t%s\t%s\t%s\t%s\n", p.Name, limit(&p), p.Counted,
			largeForm(&p), strings.Join(readerKinds(&p), ", "))
	}
	term.Printf(table, "\nREADER\tCOUNTS FOR maxExposure\tIS\n")
	yesNo := map[bool]string{true: "yes", false: "no"}
	for _, k := range target.ReaderKinds {
		term.Printf(table, "%s\t%s\t%s\n", k.Name, yesNo[k.Counts],
			strings.ReplaceAll(k.Who, "`", ""))
	}
	_ = table.Flush() // the screen keeps the error
	term.Printf(out, "\nWhere security.metadataService is deny, as it is by default with the "+
		"profile cis,\npods are no readers of a metadata service: docs/exposure.md\n")
}

// readerKinds returns the kinds of those who can read a document on a platform.
func readerKinds(p *target.Platform) (kinds []string) {
	for _, r := range p.Readers {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// limit returns the size that a document may have on a platform, in words.
func limit(p *target.Platform) string {
	switch {
	case p.Limit > 0:
		return fmt.Sprint(p.Limit)
	case p.Unknown:
		return "unknown"
	}
	return "no limit"
}

// largeForm returns the form of a cloud-init document that is larger than the platform's limit as
// plain text.
func largeForm(p *target.Platform) string {
	switch {
	case p.Limit == 0:
		return "plain"
	case p.TextOnly:
		return "gzip in a MIME message"
	}
	return "gzip"
}
