package assembly

import (
	"kiln.dev/kiln/render/facts/target"
)

// addInterfaces adds the configuration of the machine's network interfaces: one document for
// cloud-init, or else files for the program that configures them.
func (t *tree) addInterfaces() (err error) {
	all := t.m.Interfaces
	if len(all) == 0 {
		return nil
	}
	if t.m.System.Format == target.CloudInit {
		t.n.NetworkConfig, err = CloudInit(all, t.m.System.Netplan)
		return err
	}
	for i := range all {
		files, err := InterfaceFiles(t.m.System.Network, &all[i])
		if err != nil {
			return err
		}
		for _, f := range files {
			f.From = []string{element(t.m.Path+".interfaces", i)}
			t.n.Files = append(t.n.Files, f)
		}
	}
	return nil
}
