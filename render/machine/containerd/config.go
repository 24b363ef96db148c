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

// Access is how containerd connects to the servers of a registry.
type Access struct {
	CAFile            string // has the CAs that it trusts beside those of the system; may be empty
	CertFile, KeyFile string // have the client certificate that it shows; may be empty
	Unverified        bool   // it trusts any server
}

// Hosts returns the mirrors of a registry. containerd appends /v2 to a URL that does not end in it,
// also to one like https://mirror.example.com/v2/k8s, which names a project of the mirror. Such a
// URL is taken as it is (docs/hosts.md of containerd, override_path, read at 2.3). With only, the
// last mirror stands in the place of the registry, which is asked last and then not at all.
func Hosts(mirrors []string, only bool, a Access) string {
	var lines strings.Builder
	if last := len(mirrors) - 1; only && last >= 0 {
		lines.WriteString("server = " + quote(mirrors[last]) + "\n" + pulls(mirrors[last]))
		mirrors = mirrors[:last]
	}
	lines.WriteString(a.lines()) // what is of no host stands first
	for _, mirror := range mirrors {
		lines.WriteString("[host." + quote(mirror) + "]\n" + pulls(mirror) + a.lines())
	}
	if len(mirrors) == 0 { // 1.7 drops a file without that table: getSortedHosts of 1.7.21
		lines.WriteString("[host]\n")
	}
	return lines.String()
}

// pulls returns the lines of a mirror that say what it is asked for, and where.
func pulls(mirror string) string {
	lines := `capabilities = ["pull", "resolve"]` + "\n"
	if _, project := API(mirror); project {
		lines += "override_path = true\n"
	}
	return lines
}

func (a Access) lines() (text string) {
	if a.CAFile != "" {
		text += "ca = " + quote(a.CAFile) + "\n"
	}
	if a.CertFile != "" {
		text += "client = [[" + quote(a.CertFile) + ", " + quote(a.KeyFile) + "]]\n"
	}
	if a.Unverified {
		text += "skip_verify = true\n"
	}
	return text
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
