package main

import (
	"errors"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/configuration"
	"kiln/cmd/kiln/lock"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/usage"
	"kiln/render"
	"kiln/render/config"
	"kiln/render/plural"
)

// lockFlags are the flags of kiln lock.
type lockFlags struct {
	source configuration.Source
	mirror string
	trust  bool
	form   string
	save   string
	check  bool
}

func lockCommand() *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "lock [FILE]",
		Short: "Write down the SHA-256 of what machines fetch, or check it",
		Long: `Fetch what the machines with binaries.source download or sysext will fetch, and
write URL, size and SHA-256 of each file into the lock beside the configuration:
cluster.lock.yaml for cluster.yaml. Each file must have the SHA-256 that its project
publishes beside it. Entries that are there already stay, and are not fetched again;
those that no machine needs any more go. Commit the lock with the configuration.

With --save all files are fetched and kept in a new folder, each below the path of its
URL. Any web server can hand them out as a mirror (binaries.mirror); kiln serve does.

This is the one verb that opens connections. It uses the proxy of the environment
(HTTPS_PROXY, NO_PROXY). docs/binaries.md says what is fetched from where.`,
		Example: `  kiln lock cluster.yaml
  kiln lock cluster.yaml --check
  kiln lock cluster.yaml --save ./mirror`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	takeConfig(cmd, &f.source)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; fetch every file of the lock "+
		"again, and exit with 3 if an entry is missing, or needless, or its file has changed")
	cmd.Flags().StringVar(&f.mirror, "mirror", "",
		"fetch from this `URL` in the place of scheme and host; the path stays, and the SHA-256 "+
			"still comes from the project")
	cmd.Flags().BoolVar(&f.trust, "trust-mirror", false,
		"take the SHA-256 from the mirror too: whoever can write to it decides what machines run")
	cmd.Flags().StringVar(&f.save, "save", "",
		"fetch every file of the lock, and keep it in this new `DIR`")
	usage.OutputFlag(cmd, &f.form, "entries of the lock or, with --check, the differences")
	return cmd
}

func (f *lockFlags) run(cmd *cobra.Command) error {
	if f.source.Path == configuration.Stdin {
		return usage.Errorf("kiln lock writes beside the configuration; name its file")
	}
	if problem := config.MirrorProblem(f.mirror); f.mirror != "" && problem != "" {
		return usage.Errorf("--mirror: %s", problem)
	}
	if f.trust && !strings.HasPrefix(f.mirror, "https://") {
		return usage.Errorf("--trust-mirror needs a --mirror that begins with https://")
	}
	if f.check && f.save != "" {
		return usage.Errorf("--check writes nothing, and --save does; give one of them")
	}
	c, locked, err := render.ConfigUnlocked(f.source.Path)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	wanted, path := c.Wanted(), config.LockPath(f.source.Path)
	l := lock.New(lock.Options{
		Mirror: f.mirror, TrustMirror: f.trust, Progress: cmd.ErrOrStderr(),
	})
	if f.check {
		differences, err := l.Check(ctx, wanted, locked)
		if err != nil {
			for _, line := range slices.Backward(differences) {
				err = errors.Join(errors.New(line), err)
			}
			return err
		}
		return f.report(cmd, path, len(wanted), differences)
	}
	artifacts, err := l.Save(ctx, f.save, wanted, locked)
	if err != nil {
		return err
	}
	if len(wanted) > 0 { // with an empty lock machines may fetch nothing, without one the table's
		if err := render.WriteLock(path, artifacts); err != nil {
			return err
		}
	}
	if f.form == "json" {
		return message.JSON(cmd.OutOrStdout(), artifacts)
	}
	lock.Print(cmd.OutOrStdout(), path, artifacts)
	return nil
}

// report prints how a lock differs from what is wanted and published; files is the number of wanted
// files.
func (f *lockFlags) report(cmd *cobra.Command, path string, files int, differences []string) error {
	out := cmd.OutOrStdout()
	switch {
	case f.form == "json":
		if err := message.JSON(out, message.NonNil(differences)); err != nil {
			return err
		}
	case len(differences) == 0:
		message.Printf(out, "%s: %s, as published\n", path, plural.Count(files, "file"))
	default:
		for _, line := range differences {
			message.Printf(out, "%s: %s\n", filepath.Base(path), line)
		}
	}
	if len(differences) > 0 {
		return errDifferent
	}
	return nil
}
