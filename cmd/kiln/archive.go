package main

import (
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/archive"
	"kiln.dev/kiln/cmd/kiln/lock"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/images"
)

// archiveFlags are the flags of kiln archive.
type archiveFlags struct {
	archive.Options
	source     folder.Input
	servers    servers
	push, form string
	every      bool
}

func archiveCommand() *cobra.Command {
	var f archiveFlags
	cmd := &cobra.Command{
		Use:   "archive [FILE] --out DIR",
		Short: "Put all images and programs of a cluster into one folder, or a registry",
		Long: `Put every image and every program of the lock into one folder, for a site without
internet: an image layout of OCI, with the programs among its blobs. kiln serve hands
the programs out, and --push copies the images to a registry.

A run that was interrupted goes on where it was, and a newer lock fetches what is new:
blobs that are there stay if their bytes are right. Of an image for many platforms,
builds for the architectures of the cluster's machines are fetched. Its list of builds
stays whole, so that its digest holds. SHA256SUMS is written last, and has every file
of the archive. Logins are those of podman login and docker login, and the proxy is
that of the environment (HTTPS_PROXY, NO_PROXY). docs/binaries.md says more.`,
		Example: `  kiln archive cluster.yaml --out ./archive
  kiln archive cluster.yaml --out ./archive --from ./older.tar --prune
  kiln archive cluster.yaml --out ./archive --push registry.example.com/k8s`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.source)
	flags := cmd.Flags()
	flags.StringVar(&f.Dir, "out", "", "the `DIR` of the archive, new or begun before")
	flags.StringArrayVar(&f.From, "from", nil, "look first into the image layout at this `PATH`, "+
		"such as an older archive: a folder or a .tar (may be repeated)")
	flags.BoolVar(&f.every, "all-platforms", false, "fetch the builds for all platforms, for a "+
		"registry that takes no list of builds if some are missing")
	flags.BoolVar(&f.Prune, "prune", false, "remove blobs that the lock does not need")
	flags.StringVar(&f.push, "push", "", "then copy the images to this `REGISTRY[/PREFIX]`, and "+
		"print the lines of cluster.yaml with which machines pull from there")
	f.servers.add(cmd)
	term.OutputFlag(cmd, &f.form, "contents")
	return cmd
}

// prepare fills in the options. It fails unless the lock has all that machines need.
func (f *archiveFlags) prepare(cmd *cobra.Command) error {
	if f.Dir == "" {
		return term.UsageErrorf("kiln archive needs --out, the folder of the archive")
	}
	o, err := f.servers.options(cmd, &f.source)
	if err != nil {
		return err
	}
	server, _, _ := strings.Cut(f.push, "/")
	o.Push = lock.RegistryURL(server)
	f.Locker = lock.New(o)
	if _, err := f.Locker.Target(f.push + "/x"); f.push != "" && err != nil {
		return term.UsageErrorf("--push %s: want a registry and a path, without https://, such "+
			"as registry.example.com/k8s", f.push)
	}
	c, err := render.Config(&f.source)
	if err != nil {
		return err
	}
	if name, _ := c.LockName(); !c.PinsImages() {
		return config.Problems{c.Problemf("", "an archive needs %s with the images; "+
			"kiln lock%s --images writes it", name, c.Flag())}
	}
	r, err := cluster(c)
	if err != nil {
		return err
	}
	noteUnlisted(cmd.ErrOrStderr(), r)
	list, err := r.Images()
	if err != nil {
		return err
	}
	_, locked, err := render.ConfigUnlocked(f.source.Path)
	if err != nil {
		return err
	}
	f.Images = archive.Wanted(list, locked.Images)
	for _, image := range list {
		if !f.every {
			f.Arches = append(f.Arches, image.Arches...)
		}
	}
	for _, a := range c.AllArtifacts() { // the lock has all of them, or the configuration is wrong
		a, _ = c.FindArtifact(a.Name, a.Version, a.Arch)
		f.Programs = append(f.Programs, a)
	}
	f.Note = func(line string) { term.Notes(cmd.ErrOrStderr(), []string{line}) }
	return f.servers.check(list)
}

func (f *archiveFlags) run(cmd *cobra.Command) error {
	if err := f.prepare(cmd); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	made, err := archive.Make(ctx, f.Options)
	if err == nil && f.push != "" {
		made.Registries, err = archive.Push(ctx, &f.Options, f.push)
	}
	if err != nil {
		return err
	}
	if f.form == "json" {
		return term.JSON(cmd.OutOrStdout(), made)
	}
	term.Each(cmd.OutOrStdout(), "%s\n",
		slices.Concat(made.Lines(), images.RegistryLines(made.Registries)))
	return nil
}
