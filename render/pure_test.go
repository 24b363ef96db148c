package render_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is the part of go list's output for a package that the tests read.
type listed struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
	Dir        string
}

func packages(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles,Dir", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	require.NoError(t, err)
	found := map[string]listed{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p listed
		require.NoError(t, dec.Decode(&p))
		found[p.ImportPath] = p
	}
	return found
}

// TestImports holds the packages to the arrows of the design: the table lists all packages of
// kiln's that a package may import.
func TestImports(t *testing.T) {
	t.Parallel()
	may := map[string][]string{
		"kiln/cmd/kiln": {
			"kiln/cmd/kiln/adopt",
			"kiln/cmd/kiln/bootmedia",
			"kiln/cmd/kiln/bundle",
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/failure",
			"kiln/cmd/kiln/git",
			"kiln/cmd/kiln/isolate",
			"kiln/cmd/kiln/lock",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/page",
			"kiln/cmd/kiln/paths",
			"kiln/cmd/kiln/rotate",
			"kiln/cmd/kiln/screen",
			"kiln/cmd/kiln/serve",
			"kiln/cmd/kiln/state",
			"kiln/cmd/kiln/summary",
			"kiln/cmd/kiln/trial",
			"kiln/cmd/kiln/twin",
			"kiln/cmd/kiln/unpacked",
			"kiln/cmd/kiln/upkeep",
			"kiln/cmd/kiln/usage",
			"kiln/pki",
			"kiln/render",
			"kiln/render/change",
			"kiln/render/config",
			"kiln/render/expiry",
			"kiln/render/media",
			"kiln/render/plan",
			"kiln/render/plural",
			"kiln/render/report",
			"kiln/render/suggest",
			"kiln/render/target",
		},
		"kiln/cmd/kiln/adopt": {
			"kiln/cmd/kiln/bundle",
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/git",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/usage",
			"kiln/pki",
			"kiln/pki/external",
			"kiln/pki/given",
			"kiln/render/config",
			"kiln/render/folder",
			"kiln/render/plural",
		},
		"kiln/cmd/kiln/atrest": {
			"kiln/cmd/kiln/isolate",
			"kiln/pki/private",
			"kiln/render/folder",
			"kiln/render/terminal",
		},
		"kiln/cmd/kiln/bootmedia": {
			"kiln/cmd/kiln/git",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/paths",
			"kiln/cmd/kiln/screen",
			"kiln/render",
			"kiln/render/folder",
			"kiln/render/media",
			"kiln/render/media/iso9660",
			"kiln/render/plural",
			"kiln/render/target",
		},
		"kiln/cmd/kiln/bundle": {
			"kiln/cmd/kiln/atrest",
			"kiln/cmd/kiln/paths",
			"kiln/cmd/kiln/twin",
			"kiln/pki",
			"kiln/pki/private",
			"kiln/render",
			"kiln/render/config",
			"kiln/render/folder",
			"kiln/render/joined",
			"kiln/render/plural",
		},
		"kiln/cmd/kiln/configuration": {
			"kiln/render",
			"kiln/render/config",
			"kiln/render/folder",
		},
		"kiln/cmd/kiln/failure": {
			"kiln/cmd/kiln/configuration",
			"kiln/render/config",
			"kiln/render/folder",
			"kiln/render/suggest",
			"kiln/render/terminal",
		},
		"kiln/cmd/kiln/git": {
			"kiln/cmd/kiln/isolate",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/paths",
			"kiln/render/folder",
		},
		"kiln/cmd/kiln/isolate": nil,
		"kiln/cmd/kiln/lock": {
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/mirror",
			"kiln/render/config",
			"kiln/render/containerd",
			"kiln/render/folder",
			"kiln/render/images",
			"kiln/render/plural",
			"kiln/render/target",
		},
		"kiln/cmd/kiln/message": nil,
		"kiln/cmd/kiln/mirror": {
			"kiln/render/config",
			"kiln/render/target",
		},
		"kiln/cmd/kiln/page": {
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/screen",
			"kiln/cmd/kiln/state",
			"kiln/cmd/kiln/summary",
			"kiln/render",
			"kiln/render/change",
			"kiln/render/report",
		},
		"kiln/cmd/kiln/paths": nil,
		"kiln/cmd/kiln/rotate": {
			"kiln/cmd/kiln/bundle",
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/usage",
			"kiln/pki",
			"kiln/render",
			"kiln/render/change",
			"kiln/render/plan",
			"kiln/render/rotation",
			"kiln/render/suggest",
		},
		"kiln/cmd/kiln/screen": {
			"kiln/cmd/kiln/message",
			"kiln/render/terminal",
		},
		"kiln/cmd/kiln/serve": {
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/mirror",
			"kiln/pki",
			"kiln/render",
			"kiln/render/compress",
			"kiln/render/folder",
			"kiln/render/media",
			"kiln/render/plan",
			"kiln/render/plural",
			"kiln/render/target",
			"kiln/render/terminal",
		},
		"kiln/cmd/kiln/state": {
			"kiln/cmd/kiln/bundle",
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/git",
			"kiln/cmd/kiln/paths",
			"kiln/cmd/kiln/screen",
			"kiln/render",
			"kiln/render/certs",
			"kiln/render/change",
		},
		"kiln/cmd/kiln/summary": {
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/screen",
			"kiln/render",
			"kiln/render/config",
			"kiln/render/expiry",
			"kiln/render/folder",
			"kiln/render/plural",
			"kiln/render/target",
		},
		"kiln/cmd/kiln/trial": {
			"kiln/cmd/kiln/bundle",
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/screen",
			"kiln/cmd/kiln/summary",
			"kiln/pki/private",
			"kiln/pki/request",
			"kiln/render",
			"kiln/render/config",
			"kiln/render/images",
		},
		"kiln/cmd/kiln/twin": {
			"kiln/cmd/kiln/paths",
			"kiln/render",
			"kiln/render/media",
			"kiln/render/terminal",
		},
		"kiln/cmd/kiln/unpacked": {
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/screen",
			"kiln/cmd/kiln/twin",
			"kiln/render",
			"kiln/render/plural",
		},
		"kiln/cmd/kiln/upkeep": {
			"kiln/cmd/kiln/atrest",
			"kiln/cmd/kiln/bundle",
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/git",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/paths",
			"kiln/cmd/kiln/state",
			"kiln/cmd/kiln/twin",
			"kiln/cmd/kiln/usage",
			"kiln/pki",
			"kiln/render",
			"kiln/render/certs",
			"kiln/render/config",
			"kiln/render/expiry",
			"kiln/render/plan",
			"kiln/render/plural",
			"kiln/render/suggest",
		},
		"kiln/cmd/kiln/usage": {
			"kiln/cmd/kiln/atrest",
			"kiln/cmd/kiln/bundle",
			"kiln/cmd/kiln/configuration",
			"kiln/cmd/kiln/failure",
			"kiln/cmd/kiln/message",
			"kiln/cmd/kiln/paths",
			"kiln/render/suggest",
		},
		"kiln/manifests": {
			"kiln/render/config",
			"kiln/render/plan",
			"kiln/render/target",
			"kiln/render/yamlfault",
		},
		"kiln/patches": {
			"kiln/render/quantity",
			"kiln/render/yamlfault",
			"kiln/render/yamlpath",
		},
		"kiln/pki": {
			"kiln/pki/authority",
			"kiln/pki/external",
			"kiln/pki/form",
			"kiln/pki/origin",
			"kiln/pki/private",
			"kiln/pki/root",
			"kiln/render/config",
			"kiln/render/plan",
			"kiln/render/suggest",
			"kiln/render/terminal",
		},
		"kiln/pki/authority": nil,
		"kiln/pki/external": {
			"kiln/pki/authority",
			"kiln/pki/root",
			"kiln/render/terminal",
		},
		"kiln/pki/form": {
			"kiln/render/suggest",
			"kiln/render/yamlfault",
		},
		"kiln/pki/given": {
			"kiln/pki",
			"kiln/pki/origin",
			"kiln/pki/private",
			"kiln/render/terminal",
		},
		"kiln/pki/origin":  nil,
		"kiln/pki/private": nil,
		"kiln/pki/request": {
			"kiln/pki",
			"kiln/pki/external",
			"kiln/render/plan",
			"kiln/render/plural",
		},
		"kiln/pki/root": {
			"kiln/pki/authority",
			"kiln/pki/private",
		},
		"kiln/render": {
			"kiln/pki",
			"kiln/pki/request",
			"kiln/render/addons/networks",
			"kiln/render/assembly",
			"kiln/render/certs",
			"kiln/render/change",
			"kiln/render/check",
			"kiln/render/compress",
			"kiln/render/config",
			"kiln/render/document",
			"kiln/render/expiry",
			"kiln/render/explain",
			"kiln/render/exposure",
			"kiln/render/folder",
			"kiln/render/images",
			"kiln/render/joined",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/plural",
			"kiln/render/review",
			"kiln/render/rotation",
			"kiln/render/target",
			"kiln/render/textdiff",
		},
		"kiln/render/addons/networks": {
			"kiln/manifests",
			"kiln/render/plan",
		},
		"kiln/render/addons": {
			"kiln/manifests",
			"kiln/patches",
			"kiln/render/config",
			"kiln/render/credential",
			"kiln/render/joined",
			"kiln/render/kinds",
			"kiln/render/yamlfault",
			"kiln/render/yamlpath",
		},
		"kiln/render/assembly": {
			"kiln/manifests",
			"kiln/patches",
			"kiln/pki",
			"kiln/render/addons",
			"kiln/render/addons/networks",
			"kiln/render/cloudinit",
			"kiln/render/cni",
			"kiln/render/config",
			"kiln/render/containerd",
			"kiln/render/credential",
			"kiln/render/ignition",
			"kiln/render/interfaces",
			"kiln/render/joined",
			"kiln/render/node",
			"kiln/render/patchset",
			"kiln/render/plan",
			"kiln/render/podsecurity",
			"kiln/render/preflight",
			"kiln/render/suggest",
			"kiln/render/system",
			"kiln/render/target",
			"kiln/render/yamlfault",
			"kiln/templates",
		},
		"kiln/render/change": {
			"kiln/pki",
			"kiln/render/change/field",
			"kiln/render/layout",
			"kiln/render/plan",
			"kiln/render/plural",
			"kiln/render/rotation",
			"kiln/render/terminal",
		},
		"kiln/render/change/field": {
			"kiln/render/layout",
			"kiln/render/textdiff",
		},
		// It must not import what it judges.
		"kiln/render/check": {
			"kiln/manifests",
			"kiln/pki",
			"kiln/pki/private",
			"kiln/render/check/command",
			"kiln/render/check/confidential",
			"kiln/render/check/machine",
			"kiln/render/config",
			"kiln/render/containerd", // the part that reads
			"kiln/render/kinds",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/secret",
			"kiln/render/target",
			"kiln/templates",
		},
		"kiln/render/check/command": {
			"kiln/render/check/machine",
			"kiln/render/config",
			"kiln/render/flags",
			"kiln/render/node",
			"kiln/render/plan",
		},
		"kiln/render/check/confidential": {
			"kiln/pki",
			"kiln/render/check/search",
			"kiln/render/config",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/secret",
		},
		"kiln/render/check/machine": {
			"kiln/render/layout",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/target",
		},
		"kiln/render/check/search": {
			"kiln/pki",
			"kiln/pki/private",
			"kiln/render/credential",
			"kiln/render/plan",
		},
		"kiln/render/cloudinit": {
			"kiln/render/compress",
			"kiln/render/node",
		},
		"kiln/render/cni":      nil,
		"kiln/render/compress": nil,
		"kiln/render/config": {
			"kiln/render/credential",
			"kiln/render/flags",
			"kiln/render/kinds",
			"kiln/render/plural",
			"kiln/render/quantity",
			"kiln/render/suggest",
			"kiln/render/target",
			"kiln/render/yamlfault",
			"kiln/render/yamlpath",
		},
		"kiln/render/containerd": nil,
		"kiln/render/credential": nil,
		"kiln/render/exposure": {
			"kiln/render/assembly",
			"kiln/render/config",
			"kiln/render/plan",
			"kiln/render/plural",
			"kiln/render/secret",
			"kiln/render/target",
		},
		"kiln/render/document": {
			"kiln/render/assembly",
			"kiln/render/cloudinit",
			"kiln/render/compress",
			"kiln/render/config",
			"kiln/render/exposure",
			"kiln/render/ignition",
			"kiln/render/layout",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/secret",
			"kiln/render/target",
			"kiln/render/terminal",
		},
		"kiln/render/certs": {
			"kiln/render/change",
			"kiln/render/credential",
			"kiln/render/layout",
			"kiln/render/plan",
			"kiln/render/plural",
			"kiln/render/terminal",
		},
		"kiln/render/expiry": {
			"kiln/render/change",
			"kiln/render/config",
		},
		"kiln/render/explain": {
			"kiln/manifests",
			"kiln/render/addons",
			"kiln/render/assembly",
			"kiln/render/config",
			"kiln/render/credential",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/suggest",
			"kiln/render/yamlpath",
		},
		"kiln/render/flags": {
			"kiln/render/suggest",
		},
		"kiln/render/folder": {
			"kiln/render/terminal",
		},
		"kiln/render/ignition": {
			"kiln/render/compress",
			"kiln/render/node",
		},
		"kiln/render/images": {
			"kiln/manifests",
			"kiln/render/assembly",
			"kiln/render/config",
			"kiln/render/plan",
			"kiln/render/target",
		},
		"kiln/render/interfaces": {
			"kiln/render/config",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/target",
		},
		"kiln/render/joined": nil,
		"kiln/render/kinds": {
			"kiln/render/credential",
			"kiln/render/kinds/object",
			"kiln/render/kinds/rule",
			"kiln/render/kinds/workload",
			"kiln/render/quantity",
			"kiln/render/suggest",
			"kiln/render/yamlfault",
			"kiln/render/yamlpath",
		},
		"kiln/render/kinds/object": {
			"kiln/render/kinds/rule",
		},
		"kiln/render/kinds/rule": {
			"kiln/render/credential",
			"kiln/render/suggest",
			"kiln/render/yamlpath",
		},
		"kiln/render/kinds/workload": {
			"kiln/render/kinds/rule",
			"kiln/render/suggest",
		},
		"kiln/render/layout": {
			"kiln/manifests",
			"kiln/render/config",
			"kiln/render/plan",
			"kiln/render/target",
			"kiln/templates",
		},
		"kiln/render/media": {
			"kiln/render/compress",
			"kiln/render/media/installer",
			"kiln/render/media/iso9660",
			"kiln/render/media/newc",
			"kiln/render/target",
		},
		"kiln/render/media/installer": nil,
		"kiln/render/media/iso9660":   nil,
		"kiln/render/media/newc":      nil,
		"kiln/render/node":            nil,
		"kiln/render/patchset": {
			"kiln/manifests",
			"kiln/patches",
			"kiln/render/config",
			"kiln/render/node",
			"kiln/render/plan",
		},
		"kiln/render/plan": {
			"kiln/render/config",
			"kiln/render/node",
			"kiln/render/target",
		},
		"kiln/render/plural": nil,
		"kiln/render/podsecurity": {
			"kiln/manifests",
			"kiln/render/config",
		},
		"kiln/render/preflight": {
			"kiln/render/config",
			"kiln/render/containerd",
			"kiln/render/plan",
			"kiln/render/target",
		},
		"kiln/render/quantity": nil,
		"kiln/render/report": {
			"kiln/render/change",
			"kiln/render/plural",
		},
		"kiln/render/review": {
			"kiln/pki",
			"kiln/render/assembly",
			"kiln/render/change",
			"kiln/render/credential",
			"kiln/render/document",
			"kiln/render/layout",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/rotation",
			"kiln/render/secret",
			"kiln/render/suggest",
			"kiln/render/terminal",
			"kiln/render/textdiff",
		},
		"kiln/render/rotation": {
			"kiln/pki",
			"kiln/render/config",
			"kiln/render/node",
			"kiln/render/plan",
		},
		"kiln/render/secret": {
			"kiln/manifests",
			"kiln/pki",
			"kiln/render/config",
			"kiln/render/credential",
			"kiln/render/layout",
			"kiln/render/node",
			"kiln/render/plan",
		},
		"kiln/render/suggest": nil,
		"kiln/render/system": {
			"kiln/pki",
			"kiln/render/config",
			"kiln/render/node",
			"kiln/render/plan",
			"kiln/render/target",
		},
		"kiln/render/target":   nil,
		"kiln/render/terminal": nil,
		"kiln/render/textdiff": {
			"kiln/render/terminal",
		},
		"kiln/render/yamlfault": nil,
		"kiln/render/yamlpath": {
			"kiln/render/suggest",
		},
		"kiln/templates":         nil,
		"kiln/test/architecture": nil,
		"kiln/test/missing": {
			"kiln/test/need",
		},
		"kiln/test/need":    nil,
		"kiln/test/network": nil,
		"kiln/test/script":  nil,
		"kiln/test/trees": {
			"kiln/pki",
			"kiln/render",
			"kiln/render/cloudinit",
			"kiln/render/ignition",
			"kiln/render/node",
			"kiln/render/target",
		},
		"kiln/test/verdicts": {
			"kiln/render/flags",
		},
	}
	verbs := []string{"kiln/cmd/kiln", "kiln/cmd/kiln/adopt", "kiln/cmd/kiln/rotate",
		"kiln/cmd/kiln/upkeep", "kiln/cmd/kiln/usage"}
	foreign := map[string][]string{
		"filippo.io/age":                {"kiln/cmd/kiln/atrest", "kiln/render/config"},
		"github.com/coreos/":            {"kiln/render/ignition"},
		"github.com/pelletier/go-toml":  {"kiln/render/containerd"},
		"github.com/rogpeppe/go-intern": nil,
		"github.com/spf13/cobra":        verbs,
		"github.com/spf13/pflag":        verbs,
		"github.com/stretchr/testify":   nil,
		"mvdan.cc/sh":                   {"kiln/render/config"},
		"oras.land/oras-go":             {"kiln/cmd/kiln/lock"},
		"sigs.k8s.io/kustomize":         {"kiln/patches"},
	}
	for path, p := range packages(t) {
		allowed, known := may[path]
		require.True(t, known, "%s is not in the table of packages", path)
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "kiln/") {
				require.Contains(t, allowed, imported, "%s must not import %s", path, imported)
			}
			for library, owners := range foreign {
				if strings.HasPrefix(imported, library) {
					require.Contains(t, owners, path, "%s must not import %s", path, imported)
				}
			}
		}
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}
