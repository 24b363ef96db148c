package media

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/pack/compress"
)

// archivePath returns the path of the initrd with a machine's configuration.
func archivePath(m *Machine) string { return "initrd/" + m.Dir + ".cpio.gz" }

// installerPath returns the path of the configuration that installs a machine.
func installerPath(m *Machine) string { return "installer/" + m.Dir + ".ign" }

// disk returns the disk that the machine's live image installs to; empty if it runs from RAM.
func (n *Netboot) disk(m *Machine, s *target.NetBoot) string {
	if s.Installer == "" {
		return ""
	}
	if disk, ok := n.Disks[m.Name]; ok {
		return disk
	}
	return n.Disks[""]
}

// configPath returns the path of the configuration that the machine boots with: its document, or
// the configuration that installs the document.
func (n *Netboot) configPath(m *Machine, s *target.NetBoot) string {
	if n.disk(m, s) != "" {
		return installerPath(m)
	}
	return m.Dir + "/" + m.Files[0].Path
}

// ignition adds the machine's configuration in the forms that are not the document itself. It
// returns the configuration at configPath.
func (w *writer) ignition(m *Machine, s *target.NetBoot) (config []byte, err error) {
	config = m.document()
	inside := config
	if disk := w.disk(m, s); disk != "" {
		install := CoreOS
		if s.Installer == target.FlatcarInstaller {
			install = Flatcar
		}
		settings := Settings{
			Disk: disk, Address: w.below(m.Dir + "/" + m.Files[0].Path), SHA256: sum(inside),
		}
		if s.DiskImage != "" {
			settings.Image = w.image(m, w.Images[m.OS].Disk, s.DiskImage)
		}
		if config, err = install(&settings); err != nil {
			return nil, err
		}
		w.add(installerPath(m), config)
		// A machine with the archive is not to fetch its document, so that is in the archive.
		settings.Document = inside
		if inside, err = install(&settings); err != nil {
			return nil, err
		}
	}
	archive, err := cpio([]archiveFile{{Path: s.Config, Mode: 0o600, Data: inside}})
	if err != nil {
		return nil, err
	}
	w.add(archivePath(m), compress.Gzip(archive))
	return config, nil
}

// sum returns the SHA-256 of data in hex.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// matchbox adds a machine's group and profile as Matchbox's storagepb has them, and with the
// address of a Matchbox also the configuration that it serves. A pool has no group, because the
// MACs of its machines are not known.
func (w *writer) matchbox(m *Machine, b *Boot, config []byte) error {
	type netBoot struct {
		Kernel string   `json:"kernel"`
		Initrd []string `json:"initrd"`
		Args   []string `json:"args"`
	}
	type profile struct {
		ID       string  `json:"id"`
		Name     string  `json:"name"`
		Ignition string  `json:"ignition_id,omitempty"`
		Boot     netBoot `json:"boot"`
	}
	type group struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Profile  string            `json:"profile"`
		Selector map[string]string `json:"selector"`
	}
	id := strings.ReplaceAll(m.Dir, "/", ".") // Matchbox does not look into folders
	name := fmt.Sprintf("%s %s of %s", m.Kind(), m.Name, w.Cluster)
	p := profile{ID: id, Name: name, Boot: netBoot{Kernel: b.Kernel}}
	for i, initrd := range b.Initrds {
		p.Boot.Initrd = append(p.Boot.Initrd, "--name "+initrdName(i)+" "+initrd)
	}
	for _, arg := range b.Args {
		if w.Matchbox != "" && strings.HasPrefix(arg, configArg) {
			p.Ignition = id + ".ign"
			arg = configArg + w.Matchbox + "/ignition?uuid=${uuid}&mac=${mac:hexhyp}"
			w.add("matchbox/ignition/"+p.Ignition, config)
		}
		p.Boot.Args = append(p.Boot.Args, arg)
	}
	if err := w.addJSON("matchbox/profiles/"+id+".json", p); err != nil || m.Pool {
		return err
	}
	selector := map[string]string{"mac": m.MAC}
	return w.addJSON("matchbox/groups/"+id+".json", group{id, name, id, selector})
}

// addJSON adds a file with v as indented JSON.
func (w *writer) addJSON(name string, v any) error {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it, and & stands in addresses
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	w.add(name, []byte(b.String()))
	return nil
}
