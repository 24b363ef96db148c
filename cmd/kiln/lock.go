package main

import (
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"kiln.dev/kiln/cmd/kiln/lock"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/machine/images"
)

// lockFlags are the flags of kiln lock.
type lockFlags struct {
	source  folder.Input
	servers servers
	trust   bool
	form    string
	save    string
	check   bool
	images  bool
}

// servers are the flags that name servers to ask in the place of others.
type servers struct {
	mirror     string
	registries []string
	instead    map[string]string // registries, by host
}

func (s *servers) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.mirror, "mirror", "",
		"fetch from this `URL` in the place of scheme and host; the path stays, and the SHA-256 "+
			"still comes from the project")
	cmd.Flags().StringArrayVar(&s.registries, "registry", nil, "ask this `HOST=URL` about the "+
		"images of a registry, and trust what it says: docker.io=https://mirror.example.com "+
		"(may be repeated)")
}

// options returns the options of a Locker. It fails if a flag is wrong, and for a configuration
// without a lock beside it.
func (s *servers) options(cmd *cobra.Command, source *folder.Input) (o lock.Options, err error) {
	if source.Path == folder.Stdin {
		return o, term.UsageErrorf("%s needs the lock beside the configuration; name its file",
			cmd.CommandPath())
	}
	if problem := config.MirrorProblem(s.mirror); s.mirror != "" && problem != "" {
		return o, term.UsageErrorf("--mirror: %s", problem)
	}
	if s.instead, err = lock.ParseRegistries(s.registries); err != nil {
		return o, term.UsageErrorf("--registry: %s", err)
	}
	return lock.Options{
		Mirror: s.mirror, Registries: s.instead, Progress: cmd.ErrOrStderr(),
	}, nil
}

// check returns an error if no image of a list comes from a registry that --registry names.
func (s *servers) check(list []images.Image) error {
	if err := lock.CheckRegistries(s.instead, list); err != nil {
		return term.UsageErrorf("--registry: %s", err)
	}
	return nil
}

func lockCommand() *cobra.Command {
	var f lockFlags
	cmd := &cobra.Command{
		Use:   "lock [FILE]",
		Short: "Write down the SHA-256 of what machines fetch and run, or check it",
		Long: `Fetch what the machines with binaries.source download or sysext will fetch, and
write URL, size and SHA-256 of each file into the lock beside the configuration:
cluster.lock.yaml for cluster.yaml. Each file must have the SHA-256 that its project
publishes beside it. Entries that are there already stay, and are not fetched again;
those that no machine needs any more go. Commit the lock with the configuration.

With --images the lock also gets the digest of every image that kiln images lists, as
its registry has it now. From then on machines run these images and no others, and kiln
lock keeps the list complete without the flag. It uses what podman login and docker
login have stored.

With --save all files are fetched and kept in a new folder, each below the path of its
URL. Any web server can hand them out as a mirror (binaries.mirror); kiln serve does.

It uses the proxy of the environment (HTTPS_PROXY, NO_PROXY). docs/binaries.md says what
is fetched from where.`,
		Example: `  kiln lock cluster.yaml
  kiln lock cluster.yaml --images
  kiln lock cluster.yaml --check
  kiln lock cluster.yaml --save ./mirror`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	term.TakeConfig(cmd, &f.source)
	cmd.Flags().BoolVar(&f.check, "check", false, "write nothing; ask for everything in the lock "+
		"again, and exit with 3 if an entry is missing or needless, or what it names has changed")
	f.servers.add(cmd)
	cmd.Flags().BoolVar(&f.trust, "trust-mirror", false,
		"take the SHA-256 from a mirror with https:// too: whoever can write to it decides what "+
			"machines run")
	cmd.Flags().StringVar(&f.save, "save", "",
		"fetch every file of the lock, and keep it in this new `DIR`")
	cmd.Flags().BoolVar(&f.images, "images", false, "also lock the images that machines run")
	term.OutputFlag(cmd, &f.form, "entries of the lock or, with --check, the differences")
	return cmd
}

func (f *lockFlags) run(cmd *cobra.Command) error {
	o, err := f.servers.options(cmd, &f.source)
	if err != nil {
		return err
	}
	if f.trust && !strings.HasPrefix(o.Mirror, "https://") {
		return term.UsageErrorf("--trust-mirror needs a --mirror that begins with https://")
	}
	if f.check && f.save != "" {
		return term.UsageErrorf("--check writes nothing, and --save does; give one of them")
	}
	o.TrustMirror = f.trust
	c, locked, err := render.ConfigUnlocked(f.source.Path)
	if err != nil {
		return err
	}
	if locked == nil {
		locked = &config.Locked{}
	}
	needs := lock.Needs{Artifacts: c.AllArtifacts(), Pin: f.images || locked.Images != nil}
	if needs.Pin {
		if needs.Images, err = trialImages(c); err != nil {
			return err
		}
		err = f.servers.check(needs.Images)
	} else if len(o.Registries) > 0 {
		err = term.UsageErrorf("--registry: the lock has no images; add --images")
	}
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	path := config.LockPath(f.source.Path)
	l := lock.New(o)
	if f.check {
		differences, err := l.CheckAll(ctx, needs, locked)
		if err != nil {
			return err
		}
		err = lock.PrintCheck(cmd.OutOrStdout(), f.form, path, locked, differences)
		if err == nil && len(differences) > 0 {
			err = term.ErrDifferent
		}
		return err
	}
	made, notes, err := l.MakeAll(ctx, f.save, needs, locked)
	if err != nil {
		return err
	}
	term.Notes(cmd.ErrOrStderr(), notes)
	if needs.Any() { // with an empty lock machines may fetch nothing, without one the table's
		if err := render.WriteLock(path, made); err != nil {
			return err
		}
	}
	if f.form == "json" {
		return term.JSON(cmd.OutOrStdout(), lock.Entries(made))
	}
	lock.Print(cmd.OutOrStdout(), path, made)
	return nil
}
