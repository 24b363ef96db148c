package target_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// optional lists the columns that may be empty in a row, by table. A new column is mandatory until
// it is added here.
var optional = map[string][]string{
	"System": {
		"Login", "ContainerdEnv", "Hides", "ReadOnlyUsr", "Writable", "Netplan", "SELinux",
		"Dash", "CloudSetup", "Firewalld", "NetBoot", "Medium", "Packages", "Versions",
		"WireGuard",
	},
	"Packages": {},
	"Account":  {"Image"},
	"NetBoot":  {"RootFS", "Args", "Config", "Seed", "Installer", "DiskImage"},
	"Medium":   {},
	"Trust":    {},
	"Platform": {
		"Limit", "Unknown", "TextOnly", "NoCloud", "Trap", "Metadata", "Internal", "NetworkConfig",
		"NameSource", "Medium", "NoSUSEImage", "Handover", "IgnitionID", "PodRoutes",
		"NoARP",
	},
	"PodRoutes":  {"Never"},
	"NameSource": {"Header", "Token", "Short"},
	"Release":    {"FlexVolume"},
	"Component":  {"Image", "Tag"},
}

// TestRows: no row leaves a mandatory column empty, and no name stands in a table twice.
func TestRows(t *testing.T) {
	t.Parallel()
	for _, table := range []any{
		target.Systems, target.Platforms, target.Releases, target.Components,
	} {
		rows := reflect.ValueOf(table)
		seen := map[string]bool{}
		for i := range rows.Len() {
			name := fmt.Sprint(rows.Index(i).Field(0))
			require.False(t, seen[name], name)
			seen[name] = true
			requireComplete(t, name, rows.Index(i))
		}
	}
}

// requireComplete requires a value in every mandatory column of a row, and of the structs in it.
func requireComplete(t *testing.T, name string, row reflect.Value) {
	t.Helper()
	may, known := optional[row.Type().Name()]
	require.True(t, known, row.Type().Name())
	for i := range row.NumField() {
		column, value := row.Type().Field(i).Name, row.Field(i)
		if !slices.Contains(may, column) {
			require.False(t, value.IsZero(), "%s: %s is empty", name, column)
		}
		if value.Kind() == reflect.Pointer && !value.IsNil() {
			value = value.Elem()
		}
		if value.Kind() == reflect.Struct {
			requireComplete(t, name+"."+column, value)
		}
	}
}

// TestSystems: what the columns of an operating system say fits together.
func TestSystems(t *testing.T) {
	t.Parallel()
	for _, s := range target.Systems {
		ignition := s.Format == target.Ignition
		require.True(t, ignition || s.Format == target.CloudInit, s.Name)
		require.Contains(t, []string{target.Networkd, target.NetworkManager}, s.Network, s.Name)
		require.Contains(t, []string{"", target.Enforcing, target.Permissive}, s.SELinux, s.Name)
		require.False(t, ignition && s.Netplan, "%s: Netplan is about cloud-init", s.Name)
		if boot := s.NetBoot; boot != nil {
			require.Equal(t, ignition, boot.Config != "", s.Name)
			require.Equal(t, ignition, boot.Seed == "", s.Name)
		}
	}
	s, known := target.SystemNamed("plan9")
	require.False(t, known)
	require.True(t, s.CanWrite("/usr/x"), "an unknown system has no limits")
}

// TestVersions: the versions of a system are in order and differ, docs/systems.md says what their
// rows say, and machines.osVersion names those on which a cluster can run.
func TestVersions(t *testing.T) {
	t.Parallel()
	page := read(t, "../../../docs/systems.md")
	field := fieldText(t, "machines.osVersion")
	for _, s := range target.Systems {
		require.Equal(t, s.Format == target.CloudInit, len(s.Versions) > 0, s.Name)
		for i, v := range s.Versions {
			name := s.Name + " " + v.Name
			if i > 0 {
				require.True(t, s.Versions[i-1].Kernel.Before(v.Kernel), name)
			}
			for version, want := range map[string]bool{
				v.Name: true, v.Name + ".9": true, v.Name + "9": false, v.Name + ".": true,
			} {
				got, ok := s.Version(version)
				require.Equal(t, want, ok && got == v, "%s: %s", name, version)
			}
			containerd, state := v.Containerd.String(), "accepted"
			if v.Containerd == (target.Number{}) {
				containerd = "–"
			}
			if v.Cgroup < 2 {
				state = "refused"
			} else if v.Kernel.Before(target.NFTablesKernel) {
				state = "with `proxy: iptables`"
			}
			row := lineWith(page, name, fmt.Sprintf(" | %s | %d | %s | %s",
				v.Kernel, v.Cgroup, containerd, state))
			require.NotEmpty(t, row, "docs/systems.md: %s", name)
			require.Equal(t, state == "accepted", slices.Contains(strings.FieldsFunc(field,
				func(r rune) bool { return strings.ContainsRune(" ,", r) }), v.Name), name)
		}
	}
	require.True(t, target.Number{5, 4}.Before(target.Number{5, 13}))
	require.False(t, target.Number{6, 1}.Before(target.Number{5, 13}))
	require.False(t, target.Number{5, 13}.Before(target.Number{5, 13}))
}

// TestPlatforms: the table is in the order of names, and what its columns say fits together.
func TestPlatforms(t *testing.T) {
	t.Parallel()
	require.IsIncreasing(t, target.PlatformNames(nil))
	for _, p := range target.Platforms {
		require.False(t, p.Unknown && p.Limit > 0, p.Name)
		require.False(t, p.NoCloud && (p.Limit > 0 || p.Unknown), "%s: a file has no limit", p.Name)
		require.False(t, p.NoCloud && !p.NetworkConfig, "%s: network-config is not read", p.Name)
		require.False(t, p.Medium != nil && p.Handover != "", "%s: two ways", p.Name)
		if p.NameSource != nil {
			require.NotEmpty(t, p.Metadata, p.Name)
			require.Contains(t, p.NameSource.URL, p.Metadata[0].String(), p.Name)
		}
	}
}

// TestReleases: the minors are without a gap, oldest first, and the judges of the rendered machines
// are built for each of them, with the release of etcd that its image has.
func TestReleases(t *testing.T) {
	t.Parallel()
	trees := lineWith(read(t, "../../../test/trees/main.go"), "var versions = ")
	others := lineWith(read(t, "../../../Makefile"), "JUDGES := ")
	judges := others + lineWith(read(t, "../../../test/judges/go.mod"), "k8s.io/kubernetes v")
	for _, minor := range strings.Fields(others)[2:] {
		require.FileExists(t, "../../../test/judges/"+minor+".mod")
	}
	for i, r := range target.Releases {
		require.Equal(t, target.OldestMinor()+i, r.Minor)
		require.Contains(t, trees, fmt.Sprintf("v1.%d.", r.Minor))
		require.Contains(t, judges, fmt.Sprintf("v1.%d", r.Minor))
		module := fmt.Sprintf("../../../test/judges/v1.%d.mod", r.Minor)
		if !strings.Contains(others, fmt.Sprintf("v1.%d", r.Minor)) {
			module = "../../../test/judges/go.mod"
		}
		etcd, _, _ := strings.Cut(r.Etcd, "-")
		require.Contains(t, read(t, module), "\tgo.etcd.io/etcd/server/v3 v"+etcd+"\n")
	}
	last := target.Releases[len(target.Releases)-1]
	require.Equal(t, last.Minor, target.NewestMinor())
	_, known := target.ReleaseOf(target.NewestMinor() + 1)
	require.False(t, known)
}

// TestReferences: where each image comes from.
func TestReferences(t *testing.T) {
	t.Parallel()
	r := target.Release{Minor: 36, Etcd: "3.6.11-0", CoreDNS: "v1.14.2", Pause: "3.10.2"}
	const mirror = "registry.test/k8s"
	const usual = target.KubernetesRegistry
	for _, row := range []struct{ component, repository, version, want string }{
		{target.APIServer, usual, "v1.36.3", "registry.k8s.io/kube-apiserver:v1.36.3"},
		{target.APIServer, mirror, "v1.36.3+x", "registry.test/k8s/kube-apiserver:v1.36.3_x"},
		{target.Etcd, mirror, "v1.36.3", "registry.test/k8s/etcd:3.6.11-0"},
		{target.CoreDNS, mirror, "v1.36.3", "registry.test/k8s/coredns:v1.14.2"},
		{target.CoreDNS, usual, "v1.36.3", "registry.k8s.io/coredns/coredns:v1.14.2"},
	} {
		i := slices.Index(target.ComponentNames(), row.component)
		got := target.Components[i].Reference(row.repository, row.version, r)
		require.Equal(t, row.want, got)
	}
	for _, c := range target.Components {
		foreign := c.Image != ""
		require.Equal(t, foreign, c.Reference(mirror, "v1.36.3", r) == c.Image, c.Name)
	}
}

// fieldText returns what kiln explain says of a field of cluster.yaml, on one line.
func fieldText(t *testing.T, path string) string {
	t.Helper()
	field, ok := config.Field(path)
	require.True(t, ok, path)
	return field.Text
}

// TestFields: cluster.yaml takes the names of the tables, and its documentation names the rows that
// differ from the others.
func TestFields(t *testing.T) {
	t.Parallel()
	for path, names := range map[string][]string{
		"machines.os":       target.SystemNames(nil),
		"machines.platform": target.PlatformNames(nil),
	} {
		field, ok := config.Field(path)
		require.True(t, ok, path)
		require.Equal(t, names, field.Enum, path)
	}
	ignition := func(s *target.System) bool { return s.Format == target.Ignition }
	require.Contains(t, fieldText(t, "machines.os"),
		"Ignition for "+listed(target.SystemNames(ignition))+",")
	netplan := target.SystemNames(func(s *target.System) bool { return s.Netplan })
	require.Contains(t, fieldText(t, "nodes.interfaces.routes.metric"), listed(netplan)+" alone")
	named := target.PlatformNames(func(p *target.Platform) bool { return p.NameSource != nil })
	require.Contains(t, fieldText(t, "pools.nodeName"), "("+strings.Join(named, ", ")+")")
	require.Contains(t, fieldText(t, "kubernetesVersion"),
		fmt.Sprintf("Minors 1.%d to 1.%d ", target.OldestMinor(), target.NewestMinor()))
	require.Contains(t, fieldText(t, "machines.labels"),
		fmt.Sprintf("from kubernetesVersion v1.%d on", target.MutatingPolicies))
	for _, name := range target.ComponentNames() {
		require.Contains(t, fieldText(t, "images"), name)
	}
	field, _ := config.Field("imageRepository")
	require.Equal(t, target.KubernetesRegistry, field.Default)
	field, _ = config.Field("workers.localBalancer.port")
	require.Equal(t, fmt.Sprint(target.APIServerPort), field.Default)
	systems := strings.Replace(listed(target.SystemNames(nil)), " and ", " or ", 1)
	require.Contains(t, string(config.Init(config.InitOptions{})), "# "+systems+"\n", "init.yaml")
}

// listed joins names as a sentence does.
func listed(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// withoutGolden lists the platforms of no golden cluster. What is rendered for them differs from
// the others by Limit and TextOnly alone; TestPlatforms in package render tries each such pair.
var withoutGolden = []string{
	"akamai", "digitalocean", "exoscale", "hyperv", "oracle", "proxmox", "scaleway", "vultr",
}

// TestGoldens: some golden cluster has each operating system with each source of programs that it
// can have, each minor, and each platform but those listed.
func TestGoldens(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/clusters/*/cluster.yaml")
	require.NoError(t, err)
	systems, platforms, minors := map[string]bool{}, map[string]bool{}, map[int]bool{}
	for _, file := range files {
		dir := filepath.Dir(file)
		if strings.HasPrefix(filepath.Base(dir), "invalid-") {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		c, err := config.Parse(file, data, os.DirFS(dir))
		require.NoError(t, err)
		p := plan.New(c)
		minors[p.Release.Minor] = true
		for _, m := range p.Machines {
			platforms[m.Platform.Name] = true
			source := cmp.Or(m.Settings.Binaries.Source, target.Sources[0])
			systems[m.System.Name+" from "+source] = true
		}
	}
	for source, names := range map[string][]string{
		target.Sources[0]:     target.SystemNames(nil),
		target.SourceDownload: target.SystemNames(nil),
		target.SourceSysext:   target.ExtendedSystems(),
		target.SourcePackages: target.PackagedSystems(),
	} {
		for _, name := range names {
			require.True(t, systems[name+" from "+source],
				"no golden cluster has a machine with %s and source: %s", name, source)
		}
	}
	for _, r := range target.Releases {
		require.True(t, minors[r.Minor], "no golden cluster has Kubernetes 1.%d", r.Minor)
	}
	without := target.PlatformNames(func(p *target.Platform) bool { return !platforms[p.Name] })
	require.Equal(t, withoutGolden, without)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// TestPoolsDoc: docs/pools.md says what is asked on each platform.
func TestPoolsDoc(t *testing.T) {
	t.Parallel()
	page := read(t, "../../../docs/pools.md")
	for _, p := range target.Platforms {
		source := p.NameSource
		if source == nil {
			continue
		}
		row := ""
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, "| `"+p.Name+"` | ") {
				row = line
			}
		}
		for _, text := range []string{source.URL, source.Header, source.Token, source.Is} {
			require.Contains(t, row, text, p.Name)
		}
	}
}

// TestSystemsDoc: the tables of docs/systems.md, docs/netboot.md and docs/iso.md say what the rows
// say.
func TestSystemsDoc(t *testing.T) {
	t.Parallel()
	page := read(t, "../../../docs/systems.md")
	table := columns(page)
	for _, s := range target.Systems {
		column := table[s.Name]
		require.NotNil(t, column, s.Name)
		require.Equal(t, map[target.Format]string{
			target.Ignition: "Ignition", target.CloudInit: "cloud-init",
		}[s.Format], column["document"], s.Name)
		require.Equal(t, map[string]string{
			target.Networkd: "networkd", target.NetworkManager: "NetworkManager",
		}[s.Network], column["network manager"], s.Name)
		require.Equal(t, map[string]string{
			"/etc/resolv.conf":                 "`/etc/resolv.conf`",
			"/run/systemd/resolve/resolv.conf": "resolved's",
		}[s.ResolvConf], column["resolver configuration for pods"], s.Name)
		selinux := s.SELinux
		if selinux == "" {
			selinux = "none"
		}
		require.Contains(t, column["SELinux"], selinux, s.Name)
		etcd := fmt.Sprintf("%d:%d", s.Etcd.UID, s.Etcd.GID)
		if s.Etcd.Image {
			etcd = "the image's, " + etcd
		}
		require.Equal(t, etcd, column["user and group of etcd"], s.Name)
		writable := lineWith(page, "| "+s.Name+" | ", "`/")
		require.Equal(t, s.ReadOnlyUsr, writable != "", s.Name)
		for _, folder := range s.Writable {
			require.Contains(t, writable, "`"+folder+"`")
		}
		if s.NetBoot != nil {
			row := lineWith(read(t, "../../../docs/netboot.md"), "`"+s.Name+"`")
			b := s.NetBoot
			for _, text := range append(b.Args, b.Kernel, b.Initrd, b.RootFS, b.Seed) {
				require.Contains(t, row, text, s.Name)
			}
		}
	}
	page = read(t, "../../../docs/iso.md")
	for _, p := range target.Platforms {
		if p.Medium != nil {
			row := lineWith(page, "| Ignition on ", "`"+p.Name+"`")
			require.Contains(t, row, "| `"+p.Medium.Label+"` |")
		}
		if p.NoSUSEImage {
			require.Contains(t, lineWith(page, "| `microos` on "), "`"+p.Name+"`")
		}
	}
}

// TestLists: the pages that list all systems with cloud-init, or the known minors, list those of
// the tables.
func TestLists(t *testing.T) {
	t.Parallel()
	withCloudInit := target.SystemNames(func(s *target.System) bool {
		return s.Format == target.CloudInit
	})
	systems := strings.Join(withCloudInit, ", ")
	minors := fmt.Sprintf("1.%d to 1.%d", target.OldestMinor(), target.NewestMinor())
	for page, text := range map[string]string{
		"systems.md":         systems,
		"first-cluster.md":   systems,
		"disks-and-users.md": systems,
		"interfaces.md":      systems,
		"configuration.md":   minors,
		"kubeadm.md":         minors,
	} {
		found := strings.Contains(read(t, "../../../docs/"+page), text)
		require.True(t, found, "docs/%s does not list %s", page, text)
	}
}

// lineWith returns the first line of a page with all the texts.
func lineWith(page string, texts ...string) string {
	for line := range strings.Lines(page) {
		lacks := func(text string) bool { return !strings.Contains(line, text) }
		if !slices.ContainsFunc(texts, lacks) {
			return line
		}
	}
	return ""
}

// columns returns the first table of a page: each cell by the names in the head of its column and
// the head of its row.
func columns(page string) map[string]map[string]string {
	out := map[string]map[string]string{}
	var heads [][]string
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			if heads != nil {
				return out
			}
		case heads == nil:
			for _, cell := range cells {
				heads = append(heads, strings.Split(strings.TrimSpace(cell), ", "))
			}
		case !strings.HasPrefix(line, "|---"):
			for i, cell := range cells[1:] {
				for _, name := range heads[i+1] {
					if out[name] == nil {
						out[name] = map[string]string{}
					}
					out[name][strings.TrimSpace(cells[0])] = strings.TrimSpace(cell)
				}
			}
		}
	}
	return out
}

// TestAliases: an alias leads to a value that its field has, and is none itself.
func TestAliases(t *testing.T) {
	t.Parallel()
	values := map[string][]string{
		"arch":     {"amd64", "arm64"},
		"cni":      {"flannel", "none"},
		"os":       target.SystemNames(nil),
		"platform": target.PlatformNames(nil),
		"proxy":    {"nftables", "iptables", "none"},
		"role":     {"control-plane", "worker", "etcd"},
	}
	for field, words := range target.Aliases {
		for word, alias := range words {
			require.Equal(t, strings.ToLower(word), word)
			require.NotContains(t, values[field], word)
			if alias.Name == "" {
				require.NotEmpty(t, alias.Advice, word)
				continue
			}
			require.Contains(t, values[field], alias.Name, "%s: %s", field, word)
		}
	}
}

// TestReaders: the readers of each platform are of known kinds, from few to many, each with its
// source. A platform has a metadata service if, and only if, its pods can read documents there
// unless security.metadataService closes it.
func TestReaders(t *testing.T) {
	t.Parallel()
	kinds := map[string]int{}
	for i, k := range target.ReaderKinds {
		kinds[k.Name] = i
		require.Regexp(t, "^[ -~]{3,}$", k.Who)
		require.Equal(t, k.Counts, target.Counts(k.Name))
	}
	require.Len(t, kinds, len(target.ReaderKinds))
	require.False(t, target.Counts("nobody"))
	for _, p := range target.Platforms {
		require.Equal(t, target.RootReader, p.Readers[0].Kind, p.Name)
		require.Equal(t, target.HostReader, p.Readers[1].Kind, p.Name)
		last, closable := -1, false
		for _, r := range p.Readers {
			at, known := kinds[r.Kind]
			require.True(t, known, "%s: %s", p.Name, r.Kind)
			require.Greater(t, at, last, "%s: %s", p.Name, r.Kind)
			last = at
			for _, text := range []string{r.Who, r.Source} {
				require.Regexp(t, "^[ -~]{3,}$", text, "%s: %s", p.Name, r.Kind)
			}
			require.Equal(t, r.Setting != "", r.Kind == target.PodReader && p.Name != "vsphere")
			closable = closable || r.Setting != ""
		}
		require.Equal(t, len(p.Metadata) > 0, closable, p.Name)
	}
}

// TestPlatformJSON: the readers are in JSON as data, and in words under the name that they had
// before.
func TestPlatformJSON(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(target.Platforms, func(p target.Platform) bool {
		return p.Name == "hetzner"
	})
	text, err := json.Marshal(target.Platforms[i])
	require.NoError(t, err)
	var got struct {
		Name     string
		Limit    int
		Exposure string
		Readers  []target.Reader
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, "hetzner", got.Name)
	require.Equal(t, 32768, got.Limit)
	require.Equal(t, target.Platforms[i].Readers, got.Readers)
	require.Equal(t, "root on the machine; the administrators of the host; every process on the "+
		"machine, over HTTP without credentials; every pod, in the same way "+
		"(security.metadataService: deny closes it)", got.Exposure)
}

// TestStoredImage: containerd's names, by the cases of github.com/distribution/reference.
func TestStoredImage(t *testing.T) {
	t.Parallel()
	for reference, want := range map[string]string{
		"busybox":                              "docker.io/library/busybox:latest",
		"busybox:1.37":                         "docker.io/library/busybox:1.37",
		"team/app":                             "docker.io/team/app:latest",
		"docker.io/busybox":                    "docker.io/library/busybox:latest",
		"index.docker.io/team/app:1":           "docker.io/team/app:1",
		"localhost/app":                        "localhost/app:latest",
		"Registry/app":                         "Registry/app:latest",
		"registry.example.com:5000/app":        "registry.example.com:5000/app:latest",
		"registry.example.com:5000/team/app":   "registry.example.com:5000/team/app:latest",
		"registry.k8s.io/coredns/coredns:v1":   "registry.k8s.io/coredns/coredns:v1",
		"registry.k8s.io/pause:3.10@sha256:1":  "registry.k8s.io/pause@sha256:1",
		"registry.k8s.io/pause@sha256:1":       "registry.k8s.io/pause@sha256:1",
		"busybox@sha256:1":                     "docker.io/library/busybox@sha256:1",
		"registry.example.com:5000/a@sha256:1": "registry.example.com:5000/a@sha256:1",
	} {
		require.Equal(t, want, target.StoredImage(reference), reference)
	}
}

// TestWithoutTag: the port of a registry is no tag.
func TestWithoutTag(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a":                    "a",
		"a:1":                  "a",
		"registry.test:5000/a": "registry.test:5000/a",
		"r.test:5000/b/a:1":    "r.test:5000/b/a",
	} {
		require.Equal(t, want, target.WithoutTag(name))
	}
}
