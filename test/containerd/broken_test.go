package containerd

import (
	"path"
	"strings"
	"testing"
)

// some is a setup for tests that break it.
func some() *setup {
	return &setup{
		name: "some", endpoint: "/run/containerd/containerd.sock", image: "registry.test/pause:1",
		plugins: pluginFolder,
		files: map[string]string{
			configFile: strings.Join([]string{
				`version = 2`,
				`[plugins."io.containerd.grpc.v1.cri"]`,
				`sandbox_image = "registry.test/pause:1"`,
				`[plugins."io.containerd.grpc.v1.cri".cni]`,
				`bin_dir = "/opt/cni/bin"`,
				`conf_dir = "/etc/cni/net.d"`,
				`[plugins."io.containerd.grpc.v1.cri".registry]`,
				`config_path = "/etc/containerd/certs.d"`,
				`[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]`,
				`runtime_type = "io.containerd.runc.v2"`,
				`[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]`,
				`SystemdCgroup = true`, ``,
			}, "\n"),
			path.Join(hostsDir, "docker.io/hosts.toml"): "[host.\"https://mirror.example.com\"]\n" +
				"capabilities = [\"pull\", \"resolve\"]\n",
			path.Join(hostsDir, "_default/hosts.toml"): "[host.\"https://b.example.com\"]\n" +
				"[host.\"https://a.example.com\"]\n",
		},
	}
}

// TestBroken plants one mistake at a time in a setup that every containerd is content with. Each
// containerd has to find it.
func TestBroken(t *testing.T) {
	t.Parallel()
	docker, others := hostsDir+"/docker.io/hosts.toml", hostsDir+"/_default/hosts.toml"
	const options = `.options]`
	for _, row := range []struct {
		name, file, before, after string
		// finds is a part of the finding. findsOld is that of 1.7, if it says something else.
		finds, findsOld string
	}{
		{name: "nothing"},
		{
			"a key that there is not", configFile, "version = 2", "version = 2\nsandboxes = 1",
			"unknown key in TOML", "the key sandboxes comes out as null",
		},
		{
			"a key of the CRI that there is not", configFile, "conf_dir =", "config_dir =",
			"unknown key in TOML", "cni config_dir comes out as null",
		},
		{
			"an option of runc that there is not", configFile, "SystemdCgroup =",
			"systemd_cgroups =", "runc has no option systemd_cgroups", "",
		},
		{
			"cgroups without systemd", configFile, "SystemdCgroup = true",
			"SystemdCgroup = false", "options SystemdCgroup is false, want true", "",
		},
		{
			"a version of tomorrow", configFile, "version = 2", "version = 9",
			"containerd has ended", "",
		},
		{
			"a number for a name", configFile, `sandbox_image = "registry.test/pause:1"`,
			"sandbox_image = 3", "containerd has ended", "",
		},
		{
			"a word for a boolean", configFile, "SystemdCgroup = true", `SystemdCgroup = "yes"`,
			"options SystemdCgroup is yes, want true", "",
		},
		{
			"no TOML", configFile, options, ".options", "containerd has ended", "",
		},
		{
			"another sandbox image", configFile, "pause:1", "pause:2",
			`want registry.test/pause:1`, "",
		},
		{
			"another folder of networks", configFile, "/etc/cni/net.d", "/etc/cni/conf.d",
			"NetworkReady is false", "",
		},
		{
			"another folder of plugins", configFile, "/opt/cni/bin", "/usr/lib/cni",
			"/usr/lib/cni", "",
		},
		{
			"another folder of registries", configFile, "certs.d", "certs",
			"registry config_path is /etc/containerd/certs, want", "",
		},
		{
			"what is deprecated", configFile, "config_path = \"/etc/containerd/certs.d\"",
			"[plugins.\"io.containerd.grpc.v1.cri\".registry.configs.a.auth]\nusername = \"b\"",
			"is deprecated: ", "",
		},
		{
			"another socket", configFile, "version = 2",
			"version = 2\n[grpc]\naddress = \"/run/other.sock\"", "there is no socket at", "",
		},
		{
			"no TOML among the hosts", docker, "]", "", "hosts.toml of docker.io", "",
		},
		{
			"a key of a host that there is not", docker, "capabilities", "capability",
			"hosts.toml of docker.io: strict mode", "",
		},
		{
			"another place on a mirror", docker, "[\"pull\", \"resolve\"]",
			"[\"pull\", \"resolve\"]\noverride_path = true",
			"want [https://mirror.example.com/v2/ ", "",
		},
		{
			"a mirror that does not resolve", docker, "[\"pull\", \"resolve\"]", "[\"pull\"]",
			"want [https://mirror.example.com/v2/ ", "",
		},
		{
			"the registry first", others, "[host.\"https://b",
			"server = \"https://c.example.com\"\n[host.\"https://b", "hosts.toml of _default", "",
		},
	} {
		for _, p := range programs {
			t.Run(p.minor+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				s := some()
				if row.file != "" {
					old := s.files[row.file]
					s.files[row.file] = strings.Replace(old, row.before, row.after, 1)
					if s.files[row.file] == old {
						t.Fatalf("%s has no %s", row.file, row.before)
					}
				}
				found := strings.Join(findings(t, p, s), "\n")
				want := row.finds
				if p.minor == old && row.findsOld != "" {
					want = row.findsOld
				}
				if want == "" && found != "" || !strings.Contains(found, want) {
					t.Errorf("found %q, want %q", found, want)
				}
			})
		}
	}
}
