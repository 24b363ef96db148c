package containerd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/pelletier/go-toml/v2"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// old is the minor that reads version 2 of the format itself. Later ones migrate it.
const old = "1.7"

// excused are the warnings that are no finding, each with its reason.
var excused = map[string]string{
	"Configuration migrated from version 2": "1.7 reads no newer version",
	"fsverity":                              "the root is in memory",
}

// findings are what is wrong with a setup under a containerd: what it complains about, and what it
// does differently from what the machine expects.
func findings(t *testing.T, p *program, s *setup) (out []string) {
	t.Helper()
	d, err := start(t, p, s)
	if err != nil {
		return []string{err.Error()}
	}
	out = append(out, d.complaints(t)...)
	out = append(out, d.ready(t, p)...)
	out = append(out, d.sandbox(t, s)...)
	for _, host := range s.hosts() {
		out = append(out, d.pulls(t, host, s.files[path.Join(hostsDir, host, "hosts.toml")])...)
	}
	text, err := dump(t, p, s)
	if err != nil {
		return append(out, err.Error())
	}
	var read, given table
	if err := errors.Join(toml.Unmarshal(text, &read),
		toml.Unmarshal([]byte(s.files[configFile]), &given)); err != nil {
		return append(out, err.Error())
	}
	out = append(out, facts(p, s, read)...)
	out = append(out, unknownOptions(given)...)
	if p.minor == old {
		// It drops unknown keys without a word, so each key has to come out again.
		out = append(out, lost(given, read, "")...)
	}
	return out
}

// complaints are the warnings of the log, and what containerd calls deprecated.
func (d *daemon) complaints(t *testing.T) (out []string) {
	t.Helper()
	for _, line := range loud(d.log.String()) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(excused)), func(part string) bool {
			return strings.Contains(line, part)
		}) {
			out = append(out, "the log says: "+line)
		}
	}
	for _, line := range d.deprecations(t) {
		// It is the computer that has no cgroups of version 2 here, not the machine.
		if !strings.Contains(line, "deprecation/cgroup-v1:") {
			out = append(out, "is deprecated: "+line)
		}
	}
	return out
}

// ready asks what the kubelet asks: whether runtime and network are ready, and who makes cgroups.
// The network is ready if containerd finds the file in the folder where the machine has it.
func (d *daemon) ready(t *testing.T, p *program) (out []string) {
	t.Helper()
	client := cri.NewRuntimeServiceClient(d.conn)
	answer, err := client.Status(soon(t), &cri.StatusRequest{})
	check(t, err)
	for _, c := range answer.GetStatus().GetConditions() {
		// complaints has looked at what is deprecated.
		if !c.GetStatus() && c.GetType() != "ContainerdHasNoDeprecationWarnings" {
			out = append(out, fmt.Sprintf("%s is false: %s", c.GetType(), c.GetMessage()))
		}
	}
	if p.minor == old {
		return out // the kubelet gets no answer from it, and takes its own setting
	}
	runtime, err := client.RuntimeConfig(soon(t), &cri.RuntimeConfigRequest{})
	check(t, err)
	if driver := runtime.GetLinux().GetCgroupDriver(); driver != cri.CgroupDriver_SYSTEMD {
		out = append(out, fmt.Sprintf("cgroups are made by %s, want SYSTEMD", driver))
	}
	return out
}

// sandbox starts a pod. Without a network that fails, and says which image was wanted.
func (d *daemon) sandbox(t *testing.T, s *setup) []string {
	t.Helper()
	host := &cri.NamespaceOption{Network: cri.NamespaceMode_NODE}
	_, err := cri.NewRuntimeServiceClient(d.conn).RunPodSandbox(soon(t), &cri.RunPodSandboxRequest{
		Config: &cri.PodSandboxConfig{
			Metadata: &cri.PodSandboxMetadata{Name: "a", Namespace: "b", Uid: "c"},
			Linux: &cri.LinuxPodSandboxConfig{SecurityContext: &cri.LinuxSandboxSecurityContext{
				NamespaceOptions: host,
			}},
		},
	})
	if want := fmt.Sprintf("failed to pull image %q", s.image); err == nil ||
		!strings.Contains(err.Error(), want) {
		return []string{fmt.Sprintf("a pod says %q, want %s", fmt.Sprint(err), want)}
	}
	return nil
}

// roots are the URLs of mirrors in the golden clusters, and below which URL each has its images.
var roots = map[string]string{
	"https://mirror.example.com":              "https://mirror.example.com/v2/",
	"https://mirror.example.com/v2/docker.io": "https://mirror.example.com/v2/docker.io/",
	"https://a.example.com":                   "https://a.example.com/v2/",
	"https://b.example.com":                   "https://b.example.com/v2/",
}

var (
	hostLine = regexp.MustCompile(`(?m)^\[host\."(.*)"\]$`)
	asked    = regexp.MustCompile(`Head \\"(https?://[^"]*/)team/app/manifests/1`)
)

// pulls pulls an image of a registry that has mirrors. Without a network that fails, and the log
// says where containerd has asked: at each mirror, in the order of the file, then at the registry.
func (d *daemon) pulls(t *testing.T, host, text string) (out []string) {
	t.Helper()
	type access struct {
		Capabilities []string   `toml:"capabilities"`
		OverridePath bool       `toml:"override_path"`
		CA           string     `toml:"ca"`
		Client       [][]string `toml:"client"`
	}
	var file struct {
		access
		Host map[string]access `toml:"host"`
	}
	// containerd itself drops unknown keys of this file.
	decoder := toml.NewDecoder(strings.NewReader(text)).DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		out = append(out, fmt.Sprintf("hosts.toml of %s: %v", host, err))
	}
	var want, got []string
	for _, match := range hostLine.FindAllStringSubmatch(text, -1) {
		root, ok := roots[match[1]]
		if !ok {
			out = append(out, "say in roots where the images of "+match[1]+" are")
		}
		want = append(want, root)
	}
	registry := strings.Replace(host, "_default", "other.example.com", 1)
	server := strings.Replace(registry, "docker.io", "registry-1.docker.io", 1)
	want = append(want, "https://"+server+"/v2/")
	before := len(d.log.String())
	_, err := cri.NewImageServiceClient(d.conn).PullImage(soon(t), &cri.PullImageRequest{
		Image: &cri.ImageSpec{Image: registry + "/team/app:1"},
	})
	if err == nil {
		return append(out, "an image was pulled without a network")
	}
	log := d.log.String()[before:]
	for end := time.Now().Add(patience); !strings.Contains(log, "/team/app:1\\\" failed"); {
		if time.Now().After(end) {
			return append(out, "the log does not say that a pull failed: "+log)
		}
		time.Sleep(time.Millisecond)
		log = d.log.String()[before:]
	}
	for _, match := range asked.FindAllStringSubmatch(log, -1) {
		if !slices.Contains(got, match[1]) {
			got = append(got, match[1])
		}
	}
	if !slices.Equal(got, want) {
		out = append(out, fmt.Sprintf("a pull from %s asks %v, want %v: %v", host, got, want, err))
	}
	return out
}

type table = map[string]any

// at returns what a table has at a path, nil if there is nothing.
func at(from table, path ...string) any {
	var value any = from
	for _, key := range path {
		inner, ok := value.(table)
		if !ok {
			return nil
		}
		value = inner[key]
	}
	return value
}

// places are where a minor keeps what kiln sets, in the version of its format.
func places(p *program) (runtime, images, sandbox, address []string, binDirs string) {
	const v3 = "io.containerd.cri.v1."
	runtime, images = []string{"plugins", v3 + "runtime"}, []string{"plugins", v3 + "images"}
	sandbox, address = append(images, "pinned_images", "sandbox"), []string{"grpc", "address"}
	binDirs = "bin_dirs"
	switch p.minor {
	case old:
		runtime = []string{"plugins", "io.containerd.grpc.v1.cri"}
		return runtime, runtime, append(runtime, "sandbox_image"), address, "bin_dir"
	case "2.0":
		binDirs = "bin_dir"
	case "2.1", "2.2":
	default:
		address = []string{"plugins", "io.containerd.server.v1.grpc", "address"}
	}
	return runtime, images, sandbox, address, binDirs
}

// facts are what containerd has to have understood.
func facts(p *program, s *setup, read table) (out []string) {
	runtime, images, sandbox, address, binDirs := places(p)
	var folders any = s.plugins
	if binDirs == "bin_dirs" {
		folders = []any{folders}
	}
	below := func(path []string, more ...string) []string { return slices.Concat(path, more) }
	runc := below(runtime, "containerd", "runtimes", "runc")
	for _, fact := range []struct {
		path []string
		want any
	}{
		{address, s.endpoint},
		{sandbox, s.image},
		{below(images, "registry", "config_path"), hostsDir},
		{below(runtime, "cni", binDirs), folders},
		{below(runtime, "cni", "conf_dir"), "/etc/cni/net.d"},
		{below(runtime, "containerd", "default_runtime_name"), "runc"},
		{below(runc, "runtime_type"), "io.containerd.runc.v2"},
		{below(runc, "options", "SystemdCgroup"), true},
	} {
		if got := at(read, fact.path...); !reflect.DeepEqual(got, fact.want) {
			out = append(out, fmt.Sprintf("%s is %v, want %v",
				strings.Join(fact.path, " "), got, fact.want))
		}
	}
	return out
}

// unknownOptions are the options of runc that its shim does not know. containerd does not look at
// them before it starts a container.
func unknownOptions(given table) (out []string) {
	fields := (&options.Options{}).ProtoReflect().Descriptor().Fields()
	all, _ := at(given, "plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes").(table)
	for name := range all {
		if at(all, name, "runtime_type") != "io.containerd.runc.v2" {
			continue
		}
		set, _ := at(all, name, "options").(table)
		for key := range set {
			known := false
			for i := range fields.Len() {
				known = known || strings.EqualFold(key,
					strings.ReplaceAll(string(fields.Get(i).Name()), "_", ""))
			}
			if !known {
				out = append(out, fmt.Sprintf("runc has no option %s", key))
			}
		}
	}
	return out
}

// lost are the keys of a file that do not come out of containerd again, with their values.
func lost(given, read table, where string) (out []string) {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		inner, ok := given[key].(table)
		if ok {
			from, _ := read[key].(table)
			out = append(out, lost(inner, from, where+" "+key)...)
			continue
		}
		want, _ := json.Marshal(given[key])
		if got, _ := json.Marshal(read[key]); string(got) != string(want) {
			out = append(out, fmt.Sprintf("the key%s %s comes out as %s, want %s",
				where, key, got, want))
		}
	}
	return out
}
