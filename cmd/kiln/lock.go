package main

import (
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"kiln/cmd/kiln/configuration"
	"kiln/cmd/kiln/lock"
	"kiln/cmd/kiln/message"
	"kiln/cmd/kiln/usage"
	"kiln/render"
	"kiln/render/config"
	"kiln/render/plural"
	"kiln/render/target"
)

// lockFlags are the flags of kiln lock.
type lockFlags struct {
	source configuration.Source
	mirror string
	form   string
	check  bool
}

func lockCommand() *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "lock [FILE]",
		Short: "Write down the SHA-256 of what machines fetch, or check it",
		Long: `Fetch what the machines with binaries.source download will fetch, and write URL, size
and SHA-256 of each file into the lock beside the configuration: cluster.lock.yaml for
cluster.yaml. Each file must have the SHA-256 that its project publishes beside it.
Entries that are there already stay, and are not fetched again; those that no machine
needs any more go. Commit the lock with the configuration.

This is the one verb that asks the network. It uses the proxy of the environment
(HTTPS_PROXY, NO_PROXY). docs/binaries.md says what is fetched from where.`,
		Example: `  kiln lock cluster.yaml
  kiln lock cluster.yaml --check`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	takeConfig(cmd, &f.source)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; fetch every file of the lock "+
		"again, and exit with 3 if the lock is not what this verb would write")
	cmd.Flags().StringVar(&f.mirror, "mirror", "",
		"ask this `URL` in the place of scheme and host; the path stays")
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
	c, locked, err := render.ConfigUnlocked(f.source.Path)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	wanted, path := c.Wanted(), config.LockPath(f.source.Path)
	l := &lock.Locker{Mirror: f.mirror, Progress: cmd.ErrOrStderr()}
	if f.check {
		return f.report(cmd, path, len(wanted), l.Check(ctx, wanted, locked))
	}
	artifacts, err := l.Make(ctx, wanted, locked)
	if err != nil {
		return err
	}
	if err := render.WriteLock(path, artifacts); err != nil {
		return err
	}
	if f.form == "json" {
		return message.JSON(cmd.OutOrStdout(), artifacts)
	}
	printLock(cmd, path, artifacts)
	return nil
}

// report prints how a lock differs from what is wanted and published; files is their number.
func (f *lockFlags) report(cmd *cobra.Command, path string, files int, differences []string) error {
	out := cmd.OutOrStdout()
	switch {
	case f.form == "json":
		if err := message.JSON(out, append([]string{}, differences...)); err != nil {
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

// printLock prints what the lock has.
func printLock(cmd *cobra.Command, path string, artifacts []target.Artifact) {
	for _, a := range artifacts {
		message.Printf(cmd.OutOrStdout(), "%s  %d bytes  %s\n", a, a.Size, a.SHA256)
	}
	message.Printf(cmd.OutOrStdout(), "%s: %s; commit it with the configuration\n", path,
		plural.Count(len(artifacts), "file"))
}
