package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// libraries are the packages whose functions read YAML, TOML or kustomizations, and the beginnings
// of those functions' names. JSON is not among them: encoding/json has no aliases, and decodes into
// a struct what the struct has.
var libraries = map[string][]string{
	"sigs.k8s.io/yaml":                            {"Unmarshal", "YAMLToJSON"},
	"sigs.k8s.io/yaml/goyaml.v2":                  {"Unmarshal", "NewDecoder"},
	"sigs.k8s.io/yaml/goyaml.v3":                  {"Unmarshal", "NewDecoder"},
	"go.yaml.in/yaml/v2":                          {"Unmarshal", "NewDecoder"},
	"go.yaml.in/yaml/v3":                          {"Unmarshal", "NewDecoder"},
	"gopkg.in/yaml.v2":                            {"Unmarshal", "NewDecoder"},
	"gopkg.in/yaml.v3":                            {"Unmarshal", "NewDecoder"},
	"k8s.io/apimachinery/pkg/util/yaml":           {"Unmarshal", "New", "To"},
	"github.com/pelletier/go-toml/v2":             {"Unmarshal", "NewDecoder"},
	"github.com/coreos/ignition/v2/butane/config": {"Translate"},
	"sigs.k8s.io/kustomize/api/krusty":            {"MakeKustomizer"},
	"sigs.k8s.io/kustomize/kyaml/yaml":            {"Parse", "Unmarshal", "NewDecoder"},
	"sigs.k8s.io/kustomize/kyaml/kio":             {""},
	"k8s.io/client-go/tools/clientcmd":            {"Load", "BuildConfig", "NewNonInteractive"},
}

// Why a function may read YAML without asking yamltext itself.
const (
	door    = "it asks yamltext before"
	opened  = "yamltext opened the add-on, patch, Butane config or kubeconfig when it was read"
	made    = "kiln made it in this run"
	twin    = "package review opens each file of a twin that is YAML"
	bounded = "it has bounds of its own: bytes, values and depth, and refuses aliases"
	toml    = "TOML has no aliases, and the text is at most a value of cluster.yaml"
	nodes   = "it makes nodes alone: aliases stay as they are, and bytes are bounded"
	private = "it is a file that the operator names for kiln to replace, and at most 64 MiB"
)

// readers lists the functions that call one of the libraries, by the reason why they may.
var readers = map[string][]string{
	door: {
		"cmd/kiln/apiserver.New", "patches.New", "patches.checkPatch", "patches.folder",
		"pki.Load", "pki.LoadPublic", "cmd/kiln/vault/foreign.encryption",
		"render/machine/addons.hasValues", "render/twin/certs.texts", "render/twin/change.decode",
		"render/check.headOf", "render/check.readSettings",
		"render/config.butane", "render/config.dropIn", "render/config.netplanFile",
		"render/secret.Redact",
	},
	opened: {
		"cmd/kiln/apiserver.checkNamed",
		"manifests.Read", "manifests.unpack",
		"patches.Apply", "patches.count", "patches.failed", "patches.failure",
		"patches.inline",
		"patches.kustomize",
		"patches.noteObjects", "patches.notePatch", "patches.renames",
		"patches.replacementsIn", "patches.withHead", "pki.problems",
		"render/check/machine.Findings", "render/pack/ignition.Translate",
		"render/pack/ignition.onlyDocument",
		"render/kube/kinds.check",
		"render/kube/kinds.define",
	},
	made: {
		"manifests.EncryptionShown",
		"manifests.JSON", "manifests.Proxy", "manifests.Stream", "manifests.WithImages",
		"manifests.WithProxy", "manifests.WithoutMetadata",
		"render/machine/assembly.shutdownPeriod",
		"render/check.readProxy", "render/check/machine.proxy",
		"render/check/machine.ReadKubeconfig", "render/check/machine.ReadKubeletConfig",
		"render/check/machine.ReadPod", "render/check/machine.WithFlags",
	},
	twin: {
		"render/twin/certs.rotates", "render/fleet/report.clusterDNS",
		"render/fleet/rollout.Application",
		"render/fleet/rollout.nodeLabels", "render/fleet/rollout.Rollout",
		"render/fleet/running.Objects",
	},
	bounded: {
		"render/pack/cloudinit.Unpack", "render/pack/cloudinit.hasAlias",
		"render/pack/cloudinit.readPassed",
		"render/config.readDocument",
	},
	toml: {
		"render/machine/containerd.Merge", "render/machine/containerd.SandboxImage",
		"render/machine/containerd.Refused", "render/machine/containerd.RefusedHosts",
	},
	nodes: {
		"patches.Mentions", "patches.notYAML", "render/text/yamltext.parses",
		"render/text/yamltext.part", "render/text/yamltext.second",
		"render/text/yamltext.Documents",
	},
	private: {"render.contextOf", "render.tokenOwner"},
}

// bounds are what package yamltext has to bound a text by its use.
var bounds = []string{
	"Object", "Addon", "Resource", "Patch", "Butane", "Compared", "Bundle", "Kubeconfig", "Split",
	"Use",
}

// doors are the functions that ask yamltext for others of their package.
var doors = []string{"bounded", "boundedText", "checkText"}

// TestReaders: bytes of others reach no parser but behind yamltext, which bounds what they cost.
// Each function that calls a parser of YAML stands in the table with a reason, and those that are
// doors ask yamltext.
func TestReaders(t *testing.T) {
	t.Parallel()
	found := map[string]bool{} // whether it asks yamltext
	for _, wing := range []string{"cmd", "manifests", "patches", "pki", "render", "templates"} {
		files, err := filepath.Glob(filepath.Join("../..", wing, "*.go"))
		require.NoError(t, err)
		for depth := "*"; strings.Count(depth, "*") < 5; depth += "/*" {
			more, err := filepath.Glob(filepath.Join("../..", wing, depth, "*.go"))
			require.NoError(t, err)
			files = append(files, more...)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				maps.Copy(found, parserCalls(t, file))
			}
		}
	}
	var listed []string
	for _, names := range readers {
		listed = append(listed, names...)
	}
	slices.Sort(listed)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(listed, name) {
			t.Errorf("%s reads YAML: ask yamltext before, and write it into the table", name)
		}
	}
	for _, name := range listed {
		if _, ok := found[name]; !ok {
			t.Errorf("%s stands in the table, and reads no YAML", name)
		}
	}
	for _, name := range readers[door] {
		if !found[name] {
			t.Errorf("%s does not ask yamltext, as the table says", name)
		}
	}
}

// parserCalls returns the functions of a file that call one of the libraries, as folder.function,
// and whether they ask yamltext.
func parserCalls(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	require.NoError(t, err)
	imported := map[string]string{} // paths by the names in the file
	kustomizations := false         // a Kustomization reads itself
	for _, i := range file.Imports {
		whole := strings.Trim(i.Path.Value, `"`)
		if libraries[whole] == nil {
			kustomizations = kustomizations || whole == "sigs.k8s.io/kustomize/api/types"
			continue
		}
		name := filepath.Base(whole)
		if strings.HasPrefix(name, "v") || strings.HasPrefix(name, "goyaml.") {
			name = filepath.Base(filepath.Dir(whole))
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "go-"), ".v3")
		if i.Name != nil {
			name = i.Name.Name
		}
		require.NotEqual(t, ".", name, path)
		imported[name] = whole
	}
	folder, err := filepath.Rel("../..", filepath.Dir(path))
	require.NoError(t, err)
	calls := map[string]bool{}
	for _, d := range file.Decls {
		var names []string
		asks := false
		name := "variables"
		if f, ok := d.(*ast.FuncDecl); ok {
			name = f.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if used, ok := n.(*ast.Ident); ok {
				asks = asks || slices.Contains(doors, used.Name)
			}
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			library, ok := selector.X.(*ast.Ident)
			asks = asks || ok && library.Name == "yamltext" &&
				slices.Contains(bounds, selector.Sel.Name)
			if ok && kustomizations && selector.Sel.Name == "Unmarshal" {
				names = append(names, fmt.Sprintf("%s.%s", folder, name))
			}
			if !ok || imported[library.Name] == "" {
				return true
			}
			for _, begin := range libraries[imported[library.Name]] {
				if strings.HasPrefix(selector.Sel.Name, begin) {
					names = append(names, fmt.Sprintf("%s.%s", folder, name))
				}
			}
			return true
		})
		for _, name := range names {
			calls[name] = calls[name] || asks
		}
	}
	return calls
}
