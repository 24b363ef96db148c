package judges

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
)

// manager is the field manager of kiln-routes.service.
const manager = "kiln-routes"

// entries is the data of the ConfigMap kiln-routes.
type entries map[string]string

// newRoutesAdmission returns what the API server's own admission says of a change of a ConfigMap in
// kube-system, with the policy of a golden cluster.
func newRoutesAdmission(
	t *testing.T, name string,
) func(by, configMap, manager string, before, after *corev1.ConfigMap) error {
	t.Helper()
	machines := cluster(t, name, "ignition")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	plugin := newPolicyPlugin(t,
		append(policiesOf(t, machines[0], "routes.kiln.dev"), namespace)...)
	ask := func(by, configMap, manager string, before, after *corev1.ConfigMap) error {
		attributes := admission.NewAttributesRecord(after, before,
			corev1.SchemeGroupVersion.WithKind("ConfigMap"), "kube-system", configMap,
			corev1.SchemeGroupVersion.WithResource("configmaps"), "", admission.Update,
			&metav1.UpdateOptions{FieldManager: manager}, false, &user.DefaultInfo{
				Name: by, Groups: []string{user.NodesGroup, user.AllAuthenticated},
			})
		interfaces := admission.NewObjectInterfacesFromScheme(scheme.Scheme)
		return plugin.Validate(context.Background(), attributes, interfaces)
	}
	require.Eventually(t, func() bool {
		err := ask("system:node:x", "kiln-routes", manager, routesMap(nil),
			routesMap(entries{"y": ""}))
		return err != nil && strings.Contains(err.Error(), "routes.kiln.dev")
	}, time.Minute, 10*time.Millisecond)
	return ask
}

func routesMap(data entries) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kiln-routes", Namespace: "kube-system"}, Data: data,
	}
}

// and returns the entries with others; an empty one is removed.
func (e entries) and(others entries) entries {
	out := maps.Clone(e)
	maps.Copy(out, others)
	maps.DeleteFunc(out, func(_, entry string) bool { return entry == "" })
	return out
}

// TestRoutesPolicy: a machine writes its own entry alone, of the right form, and takes nothing that
// another machine has. Control planes remove entries.
func TestRoutesPolicy(t *testing.T) {
	t.Parallel()
	ask := newRoutesAdmission(t, "rsa-ca")
	const (
		kubelet = "system:node:worker-1"
		alone   = "a machine writes its own entry alone"
		removes = "only control planes remove the entries of other machines"
		form    = "an entry is, for each pod subnet"
		taken   = "this part of a pod subnet, or this address, is in the entry of worker-2"
		good    = "10.244.21.0/24 10.0.0.21"
	)
	others := entries{"cp-1": "10.244.11.0/24 10.0.0.11", "worker-2": "10.244.22.0/24 10.0.0.22"}
	for name, tt := range map[string]struct {
		by     string // a Node's name; the kubelet of worker-1 if it is empty
		change entries
		err    string // empty if it is admitted
	}{
		"its own":            {"", entries{"worker-1": good}, ""},
		"another's":          {"", entries{"worker-2": "10.244.22.0/24 10.0.0.21"}, alone},
		"one more":           {"", entries{"worker-3": "10.244.23.0/24 10.0.0.23"}, alone},
		"removes another":    {"", entries{"worker-2": ""}, removes},
		"takes its place":    {"", entries{"worker-2": "", "worker-1": good}, removes},
		"another's pods":     {"", entries{"worker-1": "10.244.22.0/24 10.0.0.21"}, taken},
		"another's address":  {"", entries{"worker-1": "10.244.21.0/24 10.0.0.22"}, taken},
		"outside":            {"", entries{"worker-1": "10.245.21.0/24 10.0.0.21"}, form},
		"everything":         {"", entries{"worker-1": "0.0.0.0/0 10.0.0.21"}, form},
		"larger":             {"", entries{"worker-1": "10.244.20.0/23 10.0.0.21"}, form},
		"smaller":            {"", entries{"worker-1": "10.244.21.0/25 10.0.0.21"}, form},
		"not its beginning":  {"", entries{"worker-1": "10.244.21.7/24 10.0.0.21"}, form},
		"IPv6":               {"", entries{"worker-1": "fd00::/64 fd00::21"}, form},
		"address of a pod":   {"", entries{"worker-1": "10.244.21.0/24 10.244.9.9"}, form},
		"loopback":           {"", entries{"worker-1": "10.244.21.0/24 127.0.0.1"}, form},
		"multicast":          {"", entries{"worker-1": "10.244.21.0/24 224.0.0.1"}, form},
		"other notation":     {"", entries{"worker-1": "10.244.21.0/24 ::ffff:10.0.0.21"}, form},
		"two":                {"", entries{"worker-1": good + " 10.244.23.0/24 10.0.0.23"}, form},
		"half":               {"", entries{"worker-1": "10.244.21.0/24"}, form},
		"empty":              {"", entries{"worker-1": " "}, form},
		"two blanks":         {"", entries{"worker-1": "10.244.21.0/24  10.0.0.21"}, form},
		"a command":          {"", entries{"worker-1": "10.244.21.0/24 10.0.0.21;reboot"}, form},
		"control plane":      {"cp-1", entries{"worker-2": ""}, ""},
		"control plane adds": {"cp-1", entries{"worker-3": "10.244.23.0/24 10.0.0.23"}, alone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			by := kubelet
			if tt.by != "" {
				by = "system:node:" + tt.by
			}
			err := ask(by, "kiln-routes", manager, routesMap(others),
				routesMap(others.and(tt.change)))
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
			require.NoError(t, ask("kubernetes-admin", "kiln-routes", manager, routesMap(others),
				routesMap(others.and(tt.change))), "a person may do all of it")
		})
	}
	has := others.and(entries{"worker-1": good})
	require.NoError(t, ask(kubelet, "kiln-routes", manager, routesMap(nil),
		routesMap(entries{"worker-1": good})), "the very first")
	require.NoError(t, ask(kubelet, "kiln-routes", manager, routesMap(has),
		routesMap(has.and(entries{"worker-1": "10.244.31.0/24 10.0.1.31"}))), "another address")
	require.NoError(t, ask(kubelet, "kiln-routes", manager, routesMap(has), routesMap(others)),
		"it gives its entry up")
	for _, other := range []string{"", "another"} {
		require.ErrorContains(t, ask(kubelet, "kiln-routes", other, routesMap(others),
			routesMap(has)), alone)
	}

	for name, edit := range map[string]func(*corev1.ConfigMap){
		"binary":     func(m *corev1.ConfigMap) { m.BinaryData = map[string][]byte{"x": {1}} },
		"immutable":  func(m *corev1.ConfigMap) { m.Immutable = new(bool) },
		"label":      func(m *corev1.ConfigMap) { m.Labels = map[string]string{"a": "b"} },
		"annotation": func(m *corev1.ConfigMap) { m.Annotations = map[string]string{"a": "b"} },
		"finalizer":  func(m *corev1.ConfigMap) { m.Finalizers = []string{"a/b"} },
		"owner": func(m *corev1.ConfigMap) {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "worker-1"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := routesMap(others.and(entries{"worker-1": good}))
			edit(after)
			err := ask(kubelet, "kiln-routes", manager, routesMap(others), after)
			require.ErrorContains(t, err, alone)
			require.NoError(t, ask(kubelet, "another", manager, routesMap(others), after),
				"other ConfigMaps are none of its business")
		})
	}
}

// TestRoutesPolicyOfTwoFamilies: the entry has a part of each pod subnet, in their order.
func TestRoutesPolicyOfTwoFamilies(t *testing.T) {
	t.Parallel()
	ask := newRoutesAdmission(t, "dual-stack")
	for entry, ok := range map[string]bool{
		"fd00:10:244:15::/64 fd00::21 10.244.21.0/24 10.0.0.21":   true,
		"10.244.21.0/24 10.0.0.21 fd00:10:244:15::/64 fd00::21":   false,
		"fd00:10:244:15::/64 10.0.0.21 10.244.21.0/24 10.0.0.21":  false,
		"fd00:10:244:15::/64 fd00::21":                            false,
		"fd00:10:244:0015::/64 fd00::21 10.244.21.0/24 10.0.0.21": false,
		"fd00:10:244:15::/64 fd00::0:21 10.244.21.0/24 10.0.0.21": false,
		"fd00:10:244:15::/64 fe80::21 10.244.21.0/24 10.0.0.21":   false,
	} {
		err := ask("system:node:worker-1", "kiln-routes", manager, routesMap(nil),
			routesMap(entries{"worker-1": entry}))
		require.Equal(t, ok, err == nil, "%s: %v", entry, err)
	}
}

// TestRoutesPolicyOfKeys: where packets of pods are encrypted an entry ends with a public key that
// no other entry has.
func TestRoutesPolicyOfKeys(t *testing.T) {
	t.Parallel()
	ask := newRoutesAdmission(t, "encryption")
	const (
		parts = "10.244.21.0/24 10.0.0.21 fd00:10:244:21::/64 fd00::21"
		key   = "ZKYEwpO8BZTQe6/KDhm327hVc3bnDsXXausx/G4W2FI="
		other = "/kQdjPg4cWd4L4GB/JoVbUL/V2yf/sRmQikfTwEdIRA="
	)
	others := entries{"cp-1": "10.244.11.0/24 10.0.0.11 fd00:10:244:11::/64 fd00::11 " + other}
	for entry, want := range map[string]string{
		parts + " " + key:                 "",
		parts:                             "an entry is",
		parts + " ":                       "an entry is",
		parts + " " + key + " " + other:   "an entry is",
		parts + " " + key[1:]:             "an entry is",
		parts + " " + key[:42] + "J=":     "an entry is",
		parts + " " + key[:42] + "==":     "an entry is",
		key + " " + parts:                 "an entry is",
		"10.244.21.0/24 10.0.0.21 " + key: "an entry is",
		key:                               "an entry is",
		parts + "\n" + key:                "an entry is",
		parts + " " + other:               "in the entry of cp-1",
		parts[:15] + "10.0.0.11" + parts[24:] + " " + key: "in the entry of cp-1",
	} {
		err := ask("system:node:worker-1", "kiln-routes", manager, routesMap(others),
			routesMap(others.and(entries{"worker-1": entry})))
		if want == "" {
			require.NoError(t, err, entry)
		} else {
			require.ErrorContains(t, err, want, entry)
		}
	}
	has := others.and(entries{"worker-1": parts + " " + key})
	again := others.and(entries{"worker-1": parts + " " + key[:3] + "A" + key[4:]})
	require.NoError(t, ask("system:node:worker-1", "kiln-routes", manager, routesMap(has),
		routesMap(again)), "a machine that was replaced has another key")
	require.ErrorContains(t, ask("system:node:worker-1", "kiln-routes", manager, routesMap(has),
		routesMap(entries{"cp-1": parts + " " + key, "worker-1": parts + " " + key})),
		"its own entry alone")
}

// TestRoutesPolicyOfPools: a machine that nobody knew enters the parts that it has chosen, in the
// text that templates' nth_part writes, and another one chooses others.
func TestRoutesPolicyOfPools(t *testing.T) {
	t.Parallel()
	ask := newRoutesAdmission(t, "pools-routed")
	const first = "10.244.149.0/24 10.8.3.21 fd00:10:244:8015::/64 fd00:3::15"
	require.NoError(t, ask("system:node:blue-7", "kiln-routes", manager, routesMap(nil),
		routesMap(entries{"blue-7": first})))
	for entry, want := range map[string]string{
		"10.244.149.0/24 10.8.4.21 fd00:10:244:8016::/64 fd00:4::15":   "in the entry of blue-7",
		"10.244.150.0/24 10.8.4.21 fd00:10:244:8015::/64 fd00:4::15":   "in the entry of blue-7",
		"10.244.150.0/24 10.8.3.21 fd00:10:244:8016::/64 fd00:4::15":   "in the entry of blue-7",
		"10.244.150.0/24 10.8.4.21 fd00:10:244:8016:0::/64 fd00:4::15": "an entry is",
		"10.244.150.0/24 10.8.4.21 fd00:10:244:8016::/64 fd00:4::15":   "",
	} {
		others := entries{"blue-7": first}
		err := ask("system:node:blue-8", "kiln-routes", manager, routesMap(others),
			routesMap(others.and(entries{"blue-8": entry})))
		if want == "" {
			require.NoError(t, err, entry)
		} else {
			require.ErrorContains(t, err, want, entry)
		}
	}
}

// TestRoutesPolicyOfMany: ten thousand machines are within the limits of what a policy may cost.
func TestRoutesPolicyOfMany(t *testing.T) {
	t.Parallel()
	ask := newRoutesAdmission(t, "rsa-ca")
	others := entries{}
	for i := range 10_000 {
		others[fmt.Sprintf("worker-%d", i+2)] = fmt.Sprintf("10.%d.%d.0/24 10.9.%d.%d",
			i>>8, i&255, i>>8, i&255)
	}
	before := routesMap(others)
	after := routesMap(others.and(entries{"worker-1": "10.244.21.0/24 10.0.0.21"}))
	for _, m := range []*corev1.ConfigMap{before, after} {
		owned := `{"f:data":{".":{}`
		for name := range m.Data {
			owned += `,"f:` + name + `":{}`
		}
		m.ManagedFields = []metav1.ManagedFieldsEntry{
			owner("", "Update", `{"f:metadata":{}}`), owner(manager, "Update", owned+`}}`),
		}
	}
	require.NoError(t, ask("system:node:worker-1", "kiln-routes", manager, before, after))
}

// owner returns an entry of managedFields.
func owner(manager, operation, fields string) metav1.ManagedFieldsEntry {
	owned := &metav1.FieldsV1{}
	_ = owned.UnmarshalJSON([]byte(fields)) // it keeps the text
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation),
		APIVersion: "v1", FieldsType: "FieldsV1", Time: &metav1.Time{Time: time.Unix(9, 0)},
		FieldsV1: owned,
	}
}

// fieldManager is what the API server adds to each write: who owns which fields.
func fieldManager(t *testing.T) *managedfields.FieldManager {
	t.Helper()
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	out, err := managedfields.NewDefaultFieldManager(managedfields.NewDeducedTypeConverter(),
		scheme.Scheme, scheme.Scheme, scheme.Scheme, kind, kind.GroupVersion(), "", nil)
	require.NoError(t, err)
	return out
}

// TestRoutesPolicyOfOwners: what the API server itself notes in managedFields is admitted through
// the life of a cluster.
func TestRoutesPolicyOfOwners(t *testing.T) {
	t.Parallel()
	ask, fields := newRoutesAdmission(t, "rsa-ca"), fieldManager(t)
	write := func(before *corev1.ConfigMap, manager string, data entries) *corev1.ConfigMap {
		after := routesMap(data)
		after.ManagedFields = before.ManagedFields
		out, err := fields.Update(before, after, manager)
		require.NoError(t, err)
		return out.(*corev1.ConfigMap)
	}
	const one, two = "10.244.21.0/24 10.0.0.21", "10.244.22.0/24 10.0.0.22"
	has := write(routesMap(nil), "kiln", nil)
	for _, step := range []struct {
		by   string // empty for a person
		data entries
	}{
		{"worker-1", entries{"worker-1": one}},
		{"worker-2", entries{"worker-1": one, "worker-2": two}},
		{"", entries{"worker-1": one, "worker-2": two, "worker-3": "10.244.23.0/24 10.0.0.23"}},
		{"", entries{"worker-1": "10.244.31.0/24 10.0.0.31", "worker-2": two}},
		{"worker-1", entries{"worker-1": one, "worker-2": two}},
		{"cp-1", entries{"worker-2": two}},
		{"worker-2", nil},
		{"worker-1", entries{"worker-1": one}},
	} {
		by := manager
		if step.by == "" {
			by = "kubectl-edit"
		}
		after := write(has, by, step.data)
		if step.by != "" {
			require.NoError(t, ask("system:node:"+step.by, "kiln-routes", manager, has, after),
				"%s %v", step.by, after.ManagedFields)
		}
		has = after
	}
	require.NotEmpty(t, has.ManagedFields)
}

// TestRoutesPolicyOfStuffing: a machine puts nothing of its own into managedFields, which all
// machines read.
func TestRoutesPolicyOfStuffing(t *testing.T) {
	t.Parallel()
	ask, fields := newRoutesAdmission(t, "rsa-ca"), fieldManager(t)
	others := entries{"worker-2": "10.244.22.0/24 10.0.0.22"}
	before := routesMap(others)
	before.ManagedFields = []metav1.ManagedFieldsEntry{
		owner("kiln", "Apply", `{"f:metadata":{"f:labels":{}}}`),
		owner(manager, "Update", `{"f:data":{".":{},"f:worker-2":{}}}`),
	}
	own := owner(manager, "Update", `{"f:data":{".":{},"f:worker-1":{},"f:worker-2":{}}}`)
	// kiln's owner, and that of all machines with the fields that it says it has.
	says := func(fields string) []metav1.ManagedFieldsEntry {
		of := owner(manager, "Update", fields)
		return []metav1.ManagedFieldsEntry{before.ManagedFields[0], of}
	}
	for name, row := range map[string]struct {
		owners []metav1.ManagedFieldsEntry
		ok     bool
	}{
		"nothing more":    {[]metav1.ManagedFieldsEntry{before.ManagedFields[0], own}, true},
		"its own alone":   {[]metav1.ManagedFieldsEntry{own}, true},
		"another owner":   {[]metav1.ManagedFieldsEntry{owner("x", "Update", `{}`), own}, false},
		"another's way":   {[]metav1.ManagedFieldsEntry{owner(manager, "Apply", `{}`), own}, false},
		"the same again":  {append(slices.Clone(before.ManagedFields), own), false},
		"a made-up entry": {says(`{"f:data":{"f:x":{}}}`), false},
		"below an entry":  {says(`{"f:data":{"f:worker-1":{"f:x":{}}}}`), false},
		"below all":       {says(`{"f:data":{".":{"f:x":{}}}}`), false},
		"elsewhere":       {says(`{"f:metadata":{}}`), false},
		"no name":         {says(`{"f:data":{"x":{}}}`), false},
		"in another owner": {[]metav1.ManagedFieldsEntry{
			owner("kiln", "Apply", `{"f:metadata":{"f:labels":{"f:x":{}}}}`), own,
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := routesMap(others.and(entries{"worker-1": "10.244.21.0/24 10.0.0.21"}))
			after.ManagedFields = row.owners
			err := ask("system:node:worker-1", "kiln-routes", manager, before, after)
			if row.ok {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "managedFields")
		})
	}
	// The API server keeps made-up fields that a client sends.
	after := routesMap(others.and(entries{"worker-1": "10.244.21.0/24 10.0.0.21"}))
	after.ManagedFields = says(`{"f:data":{"f:x":{}}}`)
	sent, err := fields.Update(before, after, manager)
	require.NoError(t, err)
	kept := sent.(*corev1.ConfigMap)
	require.Contains(t, fmt.Sprint(kept.ManagedFields), `"f:x"`)
	require.ErrorContains(t, ask("system:node:worker-1", "kiln-routes", manager, before, kept),
		"managedFields")
}
