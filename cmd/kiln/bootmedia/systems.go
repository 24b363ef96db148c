package bootmedia

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"kiln/render"
	"kiln/render/media"
)

// systems puts what the flags say about systems and machines into the settings. Its error holds
// everything that is wrong with the flags.
func (n *Netboot) systems(entries []render.Entry) error {
	s := &n.settings
	s.Images, s.Append, s.Disks = map[string]media.Images{}, map[string][]string{}, map[string]string{}
	var present []string // systems that machines have
	for _, name := range media.Systems() {
		if slices.ContainsFunc(entries, func(e render.Entry) bool { return e.OS == name }) {
			present = append(present, name)
		}
	}
	var errs []error
	each := func(flag string, values []string, one bool, put func(i *media.Images, os, value string)) {
		seen := map[string]bool{}
		for _, given := range values {
			system, value, err := split(given, present)
			for _, word := range strings.Fields(value) {
				err = errors.Join(err, media.Argument(word))
			}
			switch {
			case err == nil && one && len(strings.Fields(value)) != 1:
				err = errors.New("want one address")
			case err == nil && flag != "initrd" && flag != "append" && seen[system]:
				err = fmt.Errorf("%s has one already", system)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("--%s %s: %w", flag, given, err))
				continue
			}
			seen[system] = true
			i := s.Images[system]
			put(&i, system, value)
			s.Images[system] = i
		}
	}
	each("kernel", n.Kernel, true, func(i *media.Images, _, value string) { i.Kernel = value })
	each("initrd", n.Initrds, true, func(i *media.Images, _, value string) { i.Initrds = append(i.Initrds, value) })
	each("rootfs", n.RootFS, true, func(i *media.Images, _, value string) { i.RootFS = value })
	each("append", n.Append, false, func(_ *media.Images, system, value string) {
		s.Append[system] = append(s.Append[system], strings.Fields(value)...)
	})
	for _, given := range n.InstallDev {
		node, disk, ok := strings.Cut(given, "=")
		if !ok || strings.HasPrefix(node, "/") {
			node, disk = "", given
		}
		if _, twice := s.Disks[node]; twice || !device.MatchString(disk) {
			errs = append(errs, fmt.Errorf("--install-dev %s: want one [NODE=]/dev/… for each machine", given))
		}
		s.Disks[node] = disk
	}
	return errors.Join(errs...)
}

// device is what the name of a disk looks like.
var device = regexp.MustCompile(`^/dev/[A-Za-z0-9][A-Za-z0-9/_.:+-]*$`)

// split takes apart [OS=]VALUE. Without OS= it is for the one system that the machines have.
func split(given string, present []string) (system, value string, err error) {
	system, value, ok := strings.Cut(given, "=")
	switch {
	case ok && slices.Contains(present, system):
		return system, value, nil
	case ok && slices.Contains(media.Systems(), system):
		return "", "", fmt.Errorf("no machine has %s; they have %s", system, strings.Join(present, ", "))
	case len(present) == 1:
		return present[0], given, nil
	}
	return "", "", fmt.Errorf("for which system? write it like %s=%s", strings.Join(present, "=… or "), given)
}
