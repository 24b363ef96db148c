package term

import (
	"path/filepath"
	"strings"

	"kiln.dev/kiln/render/folder"

	"github.com/spf13/cobra"
)

// DefaultConfig is the configuration of a command line that names none.
const DefaultConfig = "cluster.yaml"

// TakeConfig lets a verb take the configuration as its argument or with a flag. If neither names
// one, it is DefaultConfig. s is complete when the verb runs.
func TakeConfig(cmd *cobra.Command, s *folder.Input) {
	ConfigFlag(cmd, s)
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if len(list) > 1 {
			return UsageErrorf("%s takes one configuration, and %s is another one",
				cmd.CommandPath(), list[1])
		}
		return nil
	}
	cmd.PreRunE = func(cmd *cobra.Command, list []string) error {
		if len(list) == 1 && list[0] == "" {
			return UsageErrorf("the name of the configuration is empty; is a variable unset?")
		}
		if len(list) == 1 && s.Path != "" {
			return UsageErrorf("two configurations: %s (--config) and %s; name one",
				s.Path, list[0])
		}
		if len(list) == 1 {
			s.Path = list[0]
		}
		return FindConfig(cmd, s)
	}
}

// ConfigFlag adds the flag for the configuration, and -f, which other programs have for that.
func ConfigFlag(cmd *cobra.Command, s *folder.Input) {
	flags := cmd.Flags()
	flags.StringVarP(&s.Path, "config", "c", "", "read the cluster's configuration from `FILE`, "+
		"or from standard input if it is - (default: "+DefaultConfig+
		" in the working folder)")
	flags.StringVarP(&s.Path, "filename", "f", "", "the same as --config")
	flags.Lookup("filename").Hidden = true
}

// example returns a command line with a configuration: that of the user, where its arguments are
// other things.
func example(cmd *cobra.Command) string {
	if !strings.Contains(cmd.Use, "--config") {
		return cmd.CommandPath() + " prod.yaml"
	}
	name, others := "prod.yaml", []string{}
	for _, arg := range cmd.Flags().Args() {
		if ext := filepath.Ext(arg); ext == ".yaml" || ext == ".yml" {
			name = arg
		} else {
			others = append(others, arg)
		}
	}
	return strings.Join(append([]string{cmd.CommandPath(), "--config", name}, others...), " ")
}

// FindConfig completes an input whose path may be missing. It fails if there is no configuration,
// or more than one.
func FindConfig(cmd *cobra.Command, s *folder.Input) error {
	flags := cmd.Flags()
	if flags.Changed("config") && flags.Changed("filename") {
		return UsageErrorf("--config and -f: name the configuration once")
	}
	if s.Path == "" {
		if AbsentPath(DefaultConfig) {
			return UsageErrorf("--config is missing, and there is no %s in this folder; "+
				"name the configuration, for example: %s; "+
				"or write a first one: kiln init --out %[1]s", DefaultConfig, example(cmd))
		}
		s.Path = DefaultConfig
	}
	secrets := flags.Lookup("secrets")
	if s.Path == folder.Stdin && secrets != nil &&
		secrets.Value.String() == folder.Stdin {
		return UsageErrorf("--config - and --secrets -: standard input is one of them")
	}
	s.In = cmd.InOrStdin()
	return nil
}
