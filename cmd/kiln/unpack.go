package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"kiln/render"
)

func unpackCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "unpack DOCUMENT",
		Short: "Show what a boot document puts on its machine",
		Example: `  kiln unpack nodes/cp-1/config.ign
  kiln unpack nodes/worker-1/user-data --out ./worker-1`,
		Args: args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, list []string) error {
			n, err := render.Unpack(list[0])
			if err != nil {
				return err
			}
			if out == "" {
				say(cmd.OutOrStdout(), "%s", render.Index(n))
				return nil
			}
			if err := os.Mkdir(out, 0o700); err != nil {
				return fmt.Errorf("%w; name a new folder", err)
			}
			for _, f := range n.Files {
				path := filepath.Join(out, filepath.FromSlash(f.Path))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.Content, 0o600)); err != nil {
					return err
				}
			}
			if err := os.WriteFile(filepath.Join(out, "INDEX"), render.Index(n), 0o600); err != nil {
				return err
			}
			say(cmd.OutOrStdout(), "%d files in %s, secrets included; INDEX tells modes, owners and units\n", len(n.Files), out)
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "a new folder for the files, with their secrets")
	return cmd
}
