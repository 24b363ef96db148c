package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/preflight"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/plan"
)

// walks are the platforms with a page docs/walk-PLATFORM.md and with an example of Terraform that
// makes the network of the page. The other pages are in pages.
var walks = []string{"aws", "hetzner"}

// walkFolder returns a copy of a walk's folder.
func walkFolder(t *testing.T, platform string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(terraformExamples, platform))))
	return dir
}

// TestWalks types what the console blocks of a walk show, in their order. Its cluster.yaml is the
// one beside the Terraform, and the one of kiln init but for what the page says to change. Its
// documents fit on the platform.
func TestWalks(t *testing.T) {
	t.Parallel()
	for _, platform := range walks {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			page := read(t, "../../docs/walk-"+platform+".md")
			dir := walkFolder(t, platform)
			file := filepath.Join(dir, "cluster.yaml")
			config := read(t, file)
			require.True(t, strings.Contains(page, "```yaml\n"+config+"```"),
				"the page shows the cluster.yaml beside the Terraform")
			other := regexp.MustCompile("(?s)```text\n.*?```").FindAllString(page, -1)
			require.NotContains(t, strings.Join(other, ""), "kiln ", "a console block would be run")
			entries := session(page)
			require.GreaterOrEqual(t, len(entries), 3)
			require.Contains(t, entries[0].command, "kiln init ")
			require.NoError(t, os.Remove(file))
			requireAnswer(t, dir, entries[0])
			requireEdits(t, read(t, file), config, 3)
			require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
			for _, e := range entries[1:] {
				requireAnswer(t, dir, e)
			}
			requireFits(t, platform, filepath.Join(dir, "nodes"))
			if platform == "aws" {
				requirePorts(t, page, dir)
			}
		})
	}
}

// TestWalkLaptop types what the console blocks of docs/walk-qemu.md show. Its cluster.yaml is that
// of kiln init as it stands. The files that QEMU's command names are there, or made before. What
// QEMU gives the machine and what kubectl asks is what the document expects. Nothing boots here.
func TestWalkLaptop(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/walk-qemu.md")
	dir := t.TempDir()
	for _, e := range session(page) {
		requireAnswer(t, dir, e)
	}
	config := read(t, filepath.Join(dir, "cluster.yaml"))
	require.True(t, strings.Contains(page, "```yaml\n"+config+"```"), "the page shows cluster.yaml")
	require.Equal(t, strings.Replace(config, "amd64", "arm64", 1),
		read(t, filepath.Join(dir, "arm64.yaml")))

	commands := regexp.MustCompile(`(?m)^qemu-system-(\w+) (?:.*\\\n)+.*$`).
		FindAllStringSubmatch(page, -1)
	require.Len(t, commands, 2)
	for _, m := range commands {
		before, _, _ := strings.Cut(page, m[0])
		files := regexp.MustCompile(`-drive file=([^,\s]+)`).FindAllStringSubmatch(m[0], -1)
		require.Len(t, files, 2)
		require.Contains(t, before, " "+files[0][1]+" 20G\n")
		require.FileExists(t, filepath.Join(dir, files[1][1]))
		require.Contains(t, config, "addresses: ["+
			regexp.MustCompile(`dhcpstart=([0-9.]+)`).FindStringSubmatch(m[0])[1]+"]")
		server := regexp.MustCompile(`hostfwd=tcp:([0-9.:]+)-:6443`).FindStringSubmatch(m[0])[1]
		require.Equal(t, 2, strings.Count(page, "--server https://"+server))
	}
	require.Contains(t, read(t, filepath.Join(dir, "nodes", "admin.conf")), "name: laptop\n")
}

// requireEdits requires that the configuration of a walk is the one of kiln init, with the user's
// bucket, key and MACs without the marks, and with comments that became settings, in so many lines.
func requireEdits(t *testing.T, first, walk string, lines int) {
	t.Helper()
	plain := strings.NewReplacer("my-bucket", "prod-bodies-7f3a", "#", "", " ", "",
		"REPLACE:", "", "REPLACE", "")
	from, to := strings.Split(first, "\n"), strings.Split(walk, "\n")
	require.Len(t, to, len(from))
	edits := 0
	for i := range from {
		if from[i] == to[i] {
			continue
		}
		edits++
		if key := regexp.MustCompile(`^ +(# )?- ssh-ed25519 AAAA`); !key.MatchString(from[i]) {
			require.Equal(t, plain.Replace(from[i]), plain.Replace(to[i]))
		} else {
			require.Regexp(t, key, to[i])
		}
	}
	require.Equal(t, lines, edits, "the page says what to change")
}

// requireFits requires that each document of an inventory is within its platform's limit, and that
// its body lies where the walk's bucket is.
func requireFits(t *testing.T, platform, nodes string) {
	t.Helper()
	limit := map[string]int{"aws": 16384, "hetzner": 32768}[platform]
	data := []byte(read(t, filepath.Join(nodes, "inventory.json")))
	inventory, err := document.ParseInventory("inventory.json", data)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(inventory.Documents), 5)
	for _, d := range inventory.Documents {
		require.Equal(t, platform, d.Platform)
		require.Equal(t, limit, d.Limit)
		info, err := os.Stat(filepath.Join(nodes, d.Document))
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(limit), d.Node)
		require.Equal(t, "lean", d.Delivery)
		require.Contains(t, d.Body.URL, "https://prod-bodies-7f3a.")
	}
}

// rule is a row of the table of ports in the example for aws.
var rule = regexp.MustCompile(
	`\{ from = "([a-z-]+)", to = "([a-z-]+)", protocol = "([a-z]+)", ports = "([0-9-]+)" \}`)

// requirePorts requires that the security groups open the ports that kiln's programs listen on for
// other machines, that of VXLAN, and no others. A machine's own check of firewalld names them
// too, and so do the pages.
func requirePorts(t *testing.T, page, dir string) {
	t.Helper()
	etcd := fmt.Sprintf("%d-%d", target.EtcdHTTPPort, target.EtcdPeerPort)
	want := []string{
		fmt.Sprintf("control-plane control-plane tcp %d", target.APIServerPort),
		fmt.Sprintf("worker control-plane tcp %d", target.APIServerPort),
		fmt.Sprintf("control-plane control-plane tcp %d", target.KubeletPort),
		fmt.Sprintf("control-plane worker tcp %d", target.KubeletPort),
		"control-plane control-plane tcp " + etcd, "etcd etcd tcp " + etcd,
		fmt.Sprintf("control-plane etcd tcp %d", target.EtcdClientPort),
	}
	for _, way := range []string{
		"control-plane control-plane", "control-plane worker", "worker control-plane",
		"worker worker",
	} {
		want = append(want, fmt.Sprintf("%s udp %d", way, target.VXLANPort))
	}
	var rules []string
	open := map[string][]string{} // the ports of TCP into a role
	for _, m := range rule.FindAllStringSubmatch(example(t, "aws"), -1) {
		rules = append(rules, strings.Join(m[1:], " "))
		if to, ports := m[2], m[4]; m[3] == "tcp" && !slices.Contains(open[to], ports) {
			open[to] = append(open[to], ports)
		}
		row := "\n| " + strings.ReplaceAll(m[4], "-", " to ") + " | " + strings.ToUpper(m[3]) + " |"
		require.True(t, strings.Contains(page, row), "the page has no row for %s", m[0])
	}
	require.ElementsMatch(t, want, rules)
	for node, role := range map[string]string{"cp-1": "control-plane", "worker-1": "worker"} {
		require.ElementsMatch(t, openPorts(t, dir, node), append(open[role], nodePorts), role)
	}
	table := read(t, "../../docs/first-cluster.md")
	for _, port := range []int{
		target.APIServerPort, target.KubeletPort, target.EtcdHTTPPort, target.EtcdClientPort,
		target.EtcdPeerPort,
	} {
		require.Regexp(t, fmt.Sprintf(`(?m)^\|.*\b%d\b.*\|$`, port), table)
	}
}

// nodePorts are the ports of Services, which people open where they want them.
var nodePorts = fmt.Sprintf("%d-%d", target.FirstNodePort, target.LastNodePort)

// openPorts returns the ports of TCP that a machine's check of firewalld would want open, if its
// system had firewalld. It wants that of VXLAN, too.
func openPorts(t *testing.T, dir, node string) []string {
	t.Helper()
	text := read(t, filepath.Join(dir, "cluster.yaml"))
	c, err := config.Parse("cluster.yaml", []byte(text), os.DirFS(dir))
	require.NoError(t, err)
	p := plan.New(c)
	i := slices.IndexFunc(p.Machines, func(m plan.Machine) bool { return m.Name == node })
	p.Machines[i].System.Firewalld = true
	checks := fmt.Sprint(preflight.Checks(&preflight.Facts{
		Plan: p, Machine: &p.Machines[i], ResolvConf: "/etc/resolv.conf",
	}))
	m := regexp.MustCompile(`(?m)^ ?firewalld\|.*\|open ports (.+?) and`).
		FindStringSubmatch(checks)
	require.NotNil(t, m)
	ports := strings.Fields(m[1])
	udp := fmt.Sprintf("%d/udp", target.VXLANPort)
	require.Contains(t, ports, udp)
	return slices.DeleteFunc(ports, func(port string) bool { return port == udp })
}

// pages are all walks, by their platform: the operating system of each, and the page's name.
var pages = map[string]struct{ system, name string }{
	"aws": {"ubuntu", "walk-aws"}, "hetzner": {"debian", "walk-hetzner"},
	"metal": {"flatcar", "walk-pxe"}, "qemu": {"debian", "walk-qemu"},
}

// TestWalkNames: kiln init names the page of a platform with a walk for the system of the walk, and
// no other page. The page is there, and so are the files that it says to copy.
func TestWalkNames(t *testing.T) {
	t.Parallel()
	for _, platform := range target.PlatformNames(nil) {
		walk := pages[platform]
		page := pageOf(t, platform, walk.system)
		require.Empty(t, pageOf(t, platform, "microos"), platform)
		if walk.name == "" {
			require.Empty(t, page, platform)
			continue
		}
		require.Equal(t, "docs/"+walk.name+".md", page)
		text := read(t, "../../"+page)
		require.Equal(t, slices.Contains(walks, platform),
			strings.Contains(text, "docs/examples/terraform/"+platform), page)
	}
	found, err := fs.Glob(os.DirFS("../../docs"), "walk-*.md")
	require.NoError(t, err)
	require.Len(t, found, len(pages))
}

// pageOf returns the walk that kiln init names for a platform and a system; "" is its default.
func pageOf(t *testing.T, platform, system string) string {
	t.Helper()
	words := []string{"init", "--platform", platform}
	if system != "" {
		words = append(words, "--os", system)
	}
	return regexp.MustCompile(`docs/walk-[a-z]+\.md`).FindString(output(t, words...))
}

// TestTerraformWalks evaluates what the examples of the walks compute from an inventory, without
// their providers: where the bucket and the endpoint are, and the subnet of each machine.
func TestTerraformWalks(t *testing.T) {
	t.Parallel()
	for _, platform := range walks {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			dir := walkFolder(t, platform)
			nodes := filepath.Join(dir, "nodes")
			output(t, "render", "--config", filepath.Join(dir, "cluster.yaml"), "--out", nodes)
			var b strings.Builder
			b.WriteString(withoutProvider(t, platform))
			b.WriteString("output \"bodies\" {\n  value = { " +
				"for name, body in local.bodies : name => regex(local.bucket, body.url).key" +
				" }\n}\n")
			names := []string{"endpoint", "place"}
			if platform == "aws" {
				names = append(names, "subnets", "subnet_of")
			}
			for _, name := range names {
				fmt.Fprintf(&b, "output %q {\n  value = local.%[1]s\n}\n", name)
			}
			requireOutputs(t, platform, terraformOutputs(t, b.String(), nodes))
		})
	}
}

// withoutProvider returns the variables and local values of an example that need no provider.
func withoutProvider(t *testing.T, platform string) string {
	t.Helper()
	text := strings.ReplaceAll(example(t, platform),
		"data.aws_availability_zones.region.names", `["a", "b", "c", "d"]`)
	var b strings.Builder
	for _, block := range regexp.MustCompile(`(?ms)^(locals|variable).*?^\}\n`).
		FindAllString(text, -1) {
		if !strings.Contains(block, "operator") {
			b.WriteString(block)
		}
	}
	return b.String()
}

// TestTerraformRefuses: the examples of the walks say in plain words what they cannot take.
func TestTerraformRefuses(t *testing.T) {
	t.Parallel()
	const (
		bucket   = "The documents must have their bodies in one bucket."
		endpoint = "The endpoint in cluster.yaml must be "
		api      = "https://api.prod.internal:6443"
	)
	for _, row := range []struct{ platform, old, wrong, want string }{
		{"aws", "//prod-bodies-7f3a.", "//prod.bodies.7f3a.", bucket},
		{"aws", "//prod-bodies-7f3a.s3.", "//boot.example.com/", bucket},
		{"aws", `"lean"`, `"pointer"`, bucket},
		{"aws", api, "https://api:6443", endpoint + "a name with"},
		{"aws", api, "https://10.0.1.9:6443", endpoint + "a name with"},
		{"aws", api, "https://[fd00::9]:6443", endpoint + "a name with"},
		{"hetzner", "//prod-bodies-7f3a.", "//prod.bodies.7f3a.", bucket},
		{"hetzner", "https://10.0.0.10:6443", "https://api.example.com:6443", endpoint + "an IPv4"},
	} {
		t.Run(row.platform+" "+row.wrong, func(t *testing.T) {
			t.Parallel()
			dir := walkFolder(t, row.platform)
			program := terraformIn(t, dir)
			nodes := filepath.Join(dir, "nodes")
			output(t, "render", "--config", filepath.Join(dir, "cluster.yaml"), "--out", nodes)
			index := filepath.Join(nodes, "inventory.json")
			content := read(t, index)
			require.Contains(t, content, row.old)
			content = strings.ReplaceAll(content, row.old, row.wrong)
			require.NoError(t, os.WriteFile(index, []byte(content), 0o600))
			for _, file := range []string{"network", "machines", "endpoint", "outputs"} {
				_ = os.Remove(filepath.Join(dir, file+".tf"))
			}
			text := withoutProvider(t, row.platform)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600))
			out, err := program("plan", "-no-color", "-var", "nodes="+nodes, "-var", "admin=[]")
			require.Error(t, err)
			out = regexp.MustCompile(`\s+│?\s*`).ReplaceAllString(out, " ")
			require.Contains(t, out, row.want)
			require.Equal(t, 1, strings.Count(out, "Error: "), out)
		})
	}
}

// terraformOutputs applies a configuration without any provider, and returns its outputs.
func terraformOutputs(t *testing.T, text, nodes string) map[string]struct{ Value any } {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600))
	terraform := terraformIn(t, dir)
	for _, words := range [][]string{
		{"init", "-backend=false", "-no-color"},
		{"apply", "-auto-approve", "-no-color", "-var", "nodes=" + nodes, "-var", "admin=[]"},
	} {
		out, err := terraform(words...)
		require.NoError(t, err, out)
	}
	out, err := terraform("output", "-json")
	require.NoError(t, err, out)
	outputs := map[string]struct{ Value any }{}
	require.NoError(t, json.Unmarshal([]byte(out), &outputs))
	return outputs
}

// requireOutputs holds the computed values to the configuration of the walk.
func requireOutputs(t *testing.T, platform string, outputs map[string]struct{ Value any }) {
	t.Helper()
	of := func(name string) map[string]any { return outputs[name].Value.(map[string]any) }
	require.Equal(t, "prod-bodies-7f3a", of("place")["name"])
	require.Equal(t, "6443", of("endpoint")["port"])
	require.GreaterOrEqual(t, len(of("bodies")), 5)
	for name, key := range of("bodies") {
		require.Regexp(t, "^"+name+"/[0-9a-f]{128}$", key)
	}
	if platform == "hetzner" {
		require.Equal(t, "fsn1", of("place")["region"])
		require.Equal(t, "10.0.0.10", of("endpoint")["host"])
		return
	}
	require.Equal(t, "eu-central-1", of("place")["region"])
	require.Equal(t, "api.prod.internal", of("endpoint")["host"])
	zones := map[any]bool{}
	require.Len(t, of("subnet_of"), 6)
	for name, subnet := range of("subnet_of") {
		zone := of("subnets")[subnet.(string)]
		require.NotNil(t, zone, name)
		zones[zone] = true
	}
	require.Len(t, zones, 3)
}
