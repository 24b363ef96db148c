package assembly

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"kiln/render/plan"
	"kiln/render/target"
	"kiln/templates"
)

// addContainerd adds the container runtime's configuration: the sandbox image of this cluster,
// systemd's cgroups, the registries' mirrors and the proxy. The format is version 2: containerd 1.7
// reads no newer one, and 2.x migrates it on reading.
func (t *tree) addContainerd() {
	const cri = `plugins."io.containerd.grpc.v1.cri"`
	runc := cri + ".containerd.runtimes.runc"
	t.addFile(plan.ContainerdConfig, 0o644, strings.Join([]string{
		`version = 2`,
		`[` + cri + `]`,
		`sandbox_image = ` + tomlString(t.Plan.Images[target.Pause]),
		`[` + cri + `.cni]`,
		`bin_dir = ` + tomlString(plan.CNIBinDir),
		`conf_dir = ` + tomlString(plan.CNIConfDir),
		`[` + cri + `.registry]`,
		`config_path = ` + tomlString(plan.RegistriesDir),
		`[` + runc + `]`,
		`runtime_type = "io.containerd.runc.v2"`,
		`[` + runc + `.options]`,
		`SystemdCgroup = true`,
	}, "\n")+"\n", "the container runtime's configuration",
		"images."+target.Pause, "imageRepository")
	for _, r := range t.m.Settings.Registries {
		var lines strings.Builder
		for _, mirror := range r.Mirrors {
			fmt.Fprintf(&lines, "[host.%s]\n", tomlString(mirror))
			lines.WriteString(`capabilities = ["pull", "resolve"]` + "\n")
		}
		t.addFile(path.Join(plan.RegistriesDir, r.Host, "hosts.toml"), 0o644, lines.String(),
			"mirrors of "+r.Host, t.m.Settings.Path("registries"))
	}
	if t.m.System.ContainerdEnv {
		const dropIn = "containerd.service.d/10-kiln.conf"
		t.addFile(plan.UnitDir+"/"+dropIn, 0o644, templates.Unit(dropIn),
			"points containerd at its configuration")
	}
	if variables := t.Plan.ProxyVariables(&t.m.Settings.Proxy); len(variables) > 0 {
		dropIn := "[Service]\n"
		for _, v := range variables {
			dropIn += "Environment=" + v.Name + "=" + v.Value + "\n"
		}
		t.addFile(plan.UnitDir+"/containerd.service.d/20-proxy.conf", 0o644, dropIn,
			"the proxy through which containerd pulls images", t.m.Settings.Path("proxy"))
	}
}

// tomlString returns s as a TOML basic string. TOML knows every escape of JSON, and wants the
// delete character escaped as well.
func tomlString(s string) string {
	out, err := json.Marshal(s)
	if err != nil {
		panic("assembly: a string cannot be encoded: " + err.Error())
	}
	return strings.ReplaceAll(string(out), "\x7f", `\u007f`)
}
