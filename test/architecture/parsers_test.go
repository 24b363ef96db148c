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
	"sigs.k8s.io/yaml":                  {"Unmarshal", "YAMLToJSON"},
	"sigs.k8s.io/yaml/goyaml.v2":        {"Unmarshal", "NewDecoder"},
	"sigs.k8s.io/yaml/goyaml.v3":        {"Unmarshal", "NewDecoder"},
	"go.yaml.in/yaml/v2":                {"Unmarshal", "NewDecoder"},
	"go.yaml.in/yaml/v3":                {"Unmarshal", "NewDecoder"},
	"gopkg.in/yaml.v2":                  {"Unmarshal", "NewDecoder"},
	"gopkg.in/yaml.v3":                  {"Unmarshal", "NewDecoder"},
	"k8s.io/apimachinery/pkg/util/yaml": {"Unmarshal", "New", "To"},
	"github.com/pelletier/go-toml/v2":   {"Unmarshal", "NewDecoder"},
	"github.com/coreos/butane/config":   {"Translate"},
	"sigs.k8s.io/kustomize/api/krusty":  {"MakeKustomizer"},
	"sigs.k8s.io/kustomize/kyaml/yaml":  {"Parse", "Unmarshal", "NewDecoder"},
	"sigs.k8s.io/kustomize/kyaml/kio":   {""},
	"k8s.io/client-go/tools/clientcmd":  {"Load", "BuildConfig", "NewNonInteractive"},
}

// Why a function may read YAML without asking yamlbound itself.
const (
	door    = "it asks yamlbound before"
	opened  = "yamlbound opened the add-on, patch, Butane config or kubeconfig when it was read"
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
		"pki.Load", "pki.LoadPublic", "pki/given.encryption",
		"render/addons.hasValues", "render/certs.texts", "render/change/field.decode",
		"render/check.headOf", "render/config.butane", "render/secret.Redact",
	},
	opened: {
		"cmd/kiln/apiserver.checkNamed",
		"manifests.Read", "patches.Apply", "patches.count", "patches.failed", "patches.failure",
		"patches.inline",
		"patches.kustomize",
		"patches.noteObjects", "patches.notePatch", "patches.renames",
		"patches.replacementsIn", "patches.withHead", "pki/form.Problems",
		"render/check/audit.Findings", "render/ignition.Translate", "render/ignition.onlyDocument",
		"render/kinds.check",
		"render/kinds.define",
	},
	made: {
		"manifests.JSON", "manifests.Proxy", "manifests.WithImages",
		"manifests.WithProxy", "manifests.WithoutMetadata", "render/assembly.addShutdownDelay",
		"render/check.readProxy", "render/check/command.proxy",
		"render/check/machine.ReadKubeconfig", "render/check/machine.ReadKubeletConfig",
		"render/check/machine.ReadPod",
	},
	twin: {
		"render/certs.rotates", "render/report.clusterDNS", "render/rollout/kubectl.Application",
		"render/rollout/kubectl.Label", "render/rollout/kubectl.Rollout",
		"render/running.Objects",
	},
	bounded: {
		"render/cloudinit.Unpack", "render/cloudinit.hasAlias", "render/cloudinit.readPassed",
		"render/config.readDocument",
	},
	toml: {"render/containerd.Merge", "render/containerd.SandboxImage"},
	nodes: {
		"patches.Mentions", "patches.notYAML", "render/yamlfault.parses",
		"render/yamlbound.part", "render/yamlbound.second", "render/yamlpath.Documents",
	},
	private: {"render.contextOf", "render.tokenOwner"},
}

// doors are the functions that ask yamlbound for others of their package.
var doors = []string{"bounded", "boundedText", "checkText"}

// TestReaders: bytes of others reach no parser but behind yamlbound, which bounds what they cost.
// Each function that calls a parser of YAML stands in the table with a reason, and those that are
// doors ask yamlbound.
func TestReaders(t *testing.T) {
	t.Parallel()
	found := map[string]bool{} // whether it asks yamlbound
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
			t.Errorf("%s reads YAML: ask yamlbound before, and write it into the table", name)
		}
	}
	for _, name := range listed {
		if _, ok := found[name]; !ok {
			t.Errorf("%s stands in the table, and reads no YAML", name)
		}
	}
	for _, name := range readers[door] {
		if !found[name] {
			t.Errorf("%s does not ask yamlbound, as the table says", name)
		}
	}
}

// parserCalls returns the functions of a file that call one of the libraries, as folder.function,
// and whether they ask yamlbound.
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
				asks = asks || used.Name == "yamlbound" || slices.Contains(doors, used.Name)
			}
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			library, ok := selector.X.(*ast.Ident)
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
