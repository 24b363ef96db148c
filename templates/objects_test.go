package templates_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/templates"
)

const (
	definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/oxen.example.com"
	ox         = "/apis/example.com/v1/oxen/big"
	namespace  = "/api/v1/namespaces/farm"
	inFarm     = "/api/v1/namespaces/farm/configmaps/a"
)

// brings gives the machine these objects, and the marker.
func (m *aMachine) brings(paths ...string) {
	m.t.Helper()
	var index strings.Builder
	for _, path := range append(paths, m.data["marker"]) {
		name := path[strings.LastIndex(path, "/")+1:] + ".yaml"
		index.WriteString(path + "\t" + name + "\n")
		m.at("/etc/kiln/objects/"+name, "object "+path)
	}
	m.at("/etc/kiln/objects/index", index.String())
}

// patched returns the paths of the objects that the hook tried to apply, in their order.
func (m *aMachine) patched() (paths []string) {
	m.t.Helper()
	for line := range strings.Lines(m.read(m.world + "/curl")) {
		if strings.Contains(line, "-X PATCH") {
			_, path, _ := strings.Cut(line[strings.LastIndex(line, " https://")+1:], ":6443")
			path, _, _ = strings.Cut(path, "?")
			paths = append(paths, path)
		}
	}
	return paths
}

// TestObjectsWaitForDefinitions: what follows a namespace or a definition of custom resources is
// tried once that is ready.
func TestObjectsWaitForDefinitions(t *testing.T) {
	const yes, no = `{"spec":{},"status":{"conditions":[{"type":"NamesAccepted","status":"True"},` +
		`{"type":"Established","status":"True","reason":"InitialNamesAccepted"}]}}`,
		`{"spec":{},"status":{"conditions":[{"type":"Established","status":"False"}]}}`
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.brings(namespace, definition, ox, inFarm)
		m.rule("PATCH", "*"+namespace+"[?]*", 1, 503, 0, "")
		m.rule("PATCH", "*"+definition+"*", 2, 200, 0, no)
		m.rule("PATCH", "*"+definition+"*", 1, 201, 0, yes)
		m.document()
		out := m.wantDone()
		want := []string{namespace, namespace, definition, definition, definition, ox, inFarm,
			m.data["marker"], "/api/v1/nodes/cp-1"}
		require.Equal(t, want, m.patched())
		says := "waiting for " + m.data["marker"] + ": " + namespace + ": HTTP 503; \n"
		require.Contains(t, out, says)
	})
}

// TestObjectsDoNotWaitForOthers: an object that is refused for good, or whose definition only an
// operator brings, is named in all four places and in the marker. The others come, and the marker
// is whole once the refused ones have come too.
func TestObjectsDoNotWaitForOthers(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, row := range []struct {
			code     int
			body     string
			evidence string
		}{
			{422, `{"message":"Ox \"big\" is invalid","reason":"Invalid"}`,
				"HTTP 422: Ox 'big' is invalid"},
			{404, `{"message":"the server could not find it","reason":"NotFound"}`,
				"HTTP 404: the server could not find it"},
		} {
			if !isTurn(t, shell, i) && (i > 0 || !isTurn(t, shell, 2)) { // each shell has one row
				continue
			}
			m := newMachine(t, shell, "control-plane")
			m.data["step_timeout"] = "9"
			m.brings(ox, namespace, inFarm)
			m.rule("PATCH", "*"+ox+"*", 9999, row.code, 0, row.body)
			m.document()
			m.wantDoneBut("FAULT object " + ox + ": " + row.evidence + "; correct it in ")
			require.True(t, m.remains("/etc/kubernetes/pki/install.key"),
				"the install credential is gone, with which objects are tried again")
			for _, path := range []string{namespace, inFarm} {
				name := strings.ReplaceAll(path[1:], "/", "_")
				require.Contains(t, m.read(m.world+"/applied"), name, path)
			}
			marker := m.world + "/api/" + strings.ReplaceAll(m.data["marker"][1:], "/", "_")
			want := `"data":{"failed":"` + ox + ": " + row.evidence + `\n"}}`
			require.Contains(t, m.read(marker)+"\n", want+"\n")

			// A marker that lists failed objects is no reason to leave them out, on any machine.
			m.rule("GET", "*/configmaps/kiln", 2, 200, 0,
				`{"data":{"failed":"x"},"metadata":{"managedFields":[{"f:data":{"f:failed":{}}}]}}`)
			m.know("meanwhile", `rm "$WORLD/rules/000"`)
			m.wantMended()
			require.Equal(t, "object "+m.data["marker"], m.read(marker))
			require.False(t, m.remains("/etc/kubernetes/pki/install.key"),
				"the install credential is still there")
		}
	})
}

// TestObjectsHoldUpTwoMinutes: an object that the API server refuses for a while, such as a Pod
// before its service account is there, is waited for. One that still does not come is tried again
// once the machine is done. A worker that joins needs none of them.
func TestObjectsHoldUpTwoMinutes(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "1800"
		m.brings(ox)
		m.rule("PATCH", "*"+ox+"*", 9999, 403, 0,
			`{"message":"no service account default","reason":"Forbidden"}`)
		m.document()
		m.wantDoneBut("FAULT object " + ox + ": HTTP 403: no service account default; ")
		require.InDelta(t, 125, m.status().Steps["objects"], 5)
	})
}

// TestObjectsFromAnother: a machine that cannot apply an object is done once the marker says that
// all objects are there: another control plane has applied them, or a person has.
func TestObjectsFromAnother(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.brings(ox)
		m.rule("PATCH", "*"+ox+"*", 9999, 422, 0, "{}")
		m.document()
		m.know("meanwhile", `mkdir "$WORLD/no"; mv "$WORLD/rules/000" "$WORLD/no"
		printf 'GET\n*/configmaps/kiln\n9\n200\n0\n{"data":{"name":"x"}}\n' >"$WORLD/rules/000"`)
		require.Contains(t, m.wantMended(), "objects: later: "+ox+": HTTP 422; \n")
	})
}

// TestObjectsWaitForAnAddress: a Service whose first answer was lost holds its address for a while.
// The API server refuses it until then, and it is no mistake of anybody's.
func TestObjectsWaitForAnAddress(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.brings(ox)
		m.rule("PATCH", "*"+ox+"*", 2, 422, 0, `{"message":"Service \"kube-dns\" is invalid: `+
			`spec.clusterIPs: Invalid value: []string{\"10.96.0.10\"}: failed to allocate IP `+
			`10.96.0.10: provided IP is already allocated","reason":"Invalid"}`)
		m.document()
		m.wantDone()
	})
}

// TestObjectsAskForKinds: where no definition is at hand, the API server says what an object's
// resource is called, and whether it has a namespace, once a program has brought the definition.
func TestObjectsAskForKinds(t *testing.T) {
	const group, resources = "/apis/example.com/v1", `{"kind":"APIResourceList","resources":[` +
		`{"name":"yokes","singularName":"yoke","namespaced":true,"kind":"Yoke","verbs":["get"]},` +
		`{"name":"oxen/status","singularName":"","namespaced":false,"kind":"OxStatus"},` +
		`{"name":"oxen","singularName":"ox","namespaced":false,"kind":"Ox","verbs":["get"]},` +
		`{"name":"oxen/scale","singularName":"","namespaced":false,"kind":"Ox","verbs":["get"]}]}`
	underEachShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.hold(templates.IfAsks)
		m.brings(group+"/Ox/Big", group+"/namespaces/farm/Ox/small", group+"/Yoke/a",
			group+"/namespaces/farm/Yoke/b", "/apis/example.com/v1/namespaces/farm/fields/C")
		m.rule("GET", "*"+group, 2, 404, 0, "404 page not found")
		m.rule("GET", "*"+group, 2, 200, 0, `{"resources":[{"name":"oxen","kind":"Oxbow"}]}`)
		m.rule("GET", "*"+group, 9999, 200, 0, resources)
		m.document()
		out := m.wantDone()
		var got []string
		for _, path := range m.patched() {
			if strings.HasPrefix(path, group) && !slices.Contains(got, path) {
				got = append(got, path)
			}
		}
		slices.Sort(got)
		want := []string{group + "/namespaces/default/yokes/a", group + "/namespaces/farm/fields/C",
			group + "/namespaces/farm/yokes/b", group + "/oxen/Big", group + "/oxen/small"}
		require.Equal(t, want, got)
		require.Contains(t, out, group+"/Ox/Big: HTTP 404; ")
	})
}
