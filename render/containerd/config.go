package containerd

import (
	"encoding/json"
	"strings"
)

// Settings are what kiln sets for the container runtime.
type Settings struct{ SandboxImage, CNIBinDir, CNIConfDir, RegistriesDir string }

// Config returns the container runtime's configuration: the sandbox image of the cluster, systemd's
// cgroups, the folders of the network plugins and of the registries. The format is version 2:
// containerd 1.7 reads no newer one, and 2.x migrates it on reading.
func Config(s Settings) string {
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	runc := cri + ".containerd.runtimes.runc"
	return strings.Join([]string{
		`version = 2`,
		`[` + cri + `]`,
		`sandbox_image = ` + quote(s.SandboxImage),
		`[` + cri + `.cni]`,
		`bin_dir = ` + quote(s.CNIBinDir),
		`conf_dir = ` + quote(s.CNIConfDir),
		`[` + cri + `.registry]`,
		`config_path = ` + quote(s.RegistriesDir),
		`[` + runc + `]`,
		`runtime_type = "io.containerd.runc.v2"`,
		`[` + runc + `.options]`,
		`SystemdCgroup = true`,
	}, "\n") + "\n"
}

// Hosts returns the mirrors of a registry.
func Hosts(mirrors []string) string {
	var lines strings.Builder
	for _, mirror := range mirrors {
		lines.WriteString("[host." + quote(mirror) + "]\n")
		lines.WriteString(`capabilities = ["pull", "resolve"]` + "\n")
	}
	return lines.String()
}

// quote returns s as a TOML basic string. TOML knows every escape of JSON, and wants the delete
// character escaped as well.
func quote(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic("containerd: a string cannot be encoded: " + err.Error())
	}
	return strings.ReplaceAll(string(out), "\x7f", `\u007f`)
}
