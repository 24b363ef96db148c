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

// Hosts returns the mirrors of a registry. containerd appends /v2 to a URL that does not end in it,
// also to one like https://mirror.example.com/v2/k8s, which names a project of the mirror. Such a
// URL is taken as it is (docs/hosts.md of containerd, override_path, read at 2.3).
func Hosts(mirrors []string) string {
	var lines strings.Builder
	for _, mirror := range mirrors {
		lines.WriteString("[host." + quote(mirror) + "]\n")
		lines.WriteString(`capabilities = ["pull", "resolve"]` + "\n")
		if _, project := API(mirror); project {
			lines.WriteString("override_path = true\n")
		}
	}
	return lines.String()
}

// API returns the URL of a registry's API, with /v2/ at its end, for the URL of a mirror. It
// reports whether that URL goes on after /v2/, with the name of a project.
func API(mirror string) (url string, project bool) {
	mirror = strings.TrimRight(mirror, "/")
	// The host may be called v2.
	start := strings.Index(mirror, "://") + len("://")
	if slash := strings.Index(mirror[start:], "/"); slash >= 0 {
		start += slash
		before, _, found := strings.Cut(mirror[start:], "/v2/")
		if found && !strings.HasSuffix(mirror, "/v2") {
			return mirror[:start] + before + "/v2/", true
		}
	}
	return strings.TrimSuffix(mirror, "/v2") + "/v2/", false
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
