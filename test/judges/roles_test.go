package judges

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/controller/ttl"
)

// rolesCase is the golden cluster whose workers have roles. Releases without the policy that the
// roles need do not have the cluster.
const rolesCase = "worker-roles"

// TestWorkerRoles checks the policies of the golden cluster with the API server's own admission: a
// worker gets the roles that its kubelet asks for when it registers, and no Node gets a role that a
// kubelet must not have.
func TestWorkerRoles(t *testing.T) {
	t.Parallel()
	if minor < "v1.36" {
		t.Skipf("%s has no MutatingAdmissionPolicy in admissionregistration.k8s.io/v1", minor)
	}
	machines := cluster(t, rolesCase, "ignition")
	worker := machines[slices.IndexFunc(machines,
		func(m *Machine) bool { return m.Name == "worker-1" })]
	registers := labels{}
	given := flagValues(worker.Command("kubelet"))["--node-labels"]
	for pair := range strings.SplitSeq(given, ",") {
		key, value, _ := strings.Cut(pair, "=")
		registers[key] = value
	}
	roles := labels{"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/disk": "ssd"}
	complete := registers.and(roles)
	fewer := maps.Clone(complete)
	maps.DeleteFunc(fewer, func(key, _ string) bool { return strings.HasSuffix(key, "/disk") })

	kubelet := &user.DefaultInfo{
		Name: "system:node:worker-1", Groups: []string{user.NodesGroup, user.AllAuthenticated},
	}
	administrator := &user.DefaultInfo{
		Name: "kubernetes-admin", Groups: []string{"kubeadm:cluster-admins", user.AllAuthenticated},
	}
	const refused = "a kubelet must not add or change the labels role.kiln.dev/*"
	asked := newNodeAdmission(t, machines[0], "", "")
	for _, tt := range []struct {
		name          string
		by            user.Info
		subresource   string
		before, after labels // before is nil for a Node that is created
		want          labels // nil if the request is refused
		err           string
	}{
		{"kubelet registers", kubelet, "", nil, registers, registers, ""},
		{"controller writes", controller, "", registers, registers, complete, ""},
		{"controller writes again", controller, "", complete, complete, complete, ""},
		{"kubelet writes", kubelet, "", complete, complete, complete, ""},
		{"kubelet writes before", kubelet, "", registers, registers, registers, ""},
		{"kubelet writes status", kubelet, "status", complete, complete, complete, ""},
		{"a label is taken away", controller, "", complete, registers, complete, ""},
		{"a role is taken away", administrator, "", complete, fewer, fewer, ""},
		{"a role is given", administrator, "", labels{"a": "b"},
			labels{"a": "b", "role.kiln.dev/x": ""},
			labels{"a": "b", "role.kiln.dev/x": "", "node-role.kubernetes.io/x": ""}, ""},
		{"Node without roles", controller, "", labels{"a": "b"}, labels{"a": "b"}, labels{"a": "b"},
			""},
		{"Node without labels", controller, "", labels{}, labels{}, labels{}, ""},
		{"kubelet of a Node without labels", kubelet, "", labels{}, labels{}, labels{}, ""},
		{"kubelet registers a control plane", kubelet, "", nil, masquerade, masquerade, ""},
		{"that control plane", controller, "", masquerade, masquerade,
			masquerade.and(labels{"node-role.kubernetes.io/x": ""}), ""},
		{"kubelet takes a role at once", kubelet, "", nil, complete, nil,
			"is not allowed to set the following labels: node-role.kubernetes.io/disk, " +
				"node-role.kubernetes.io/worker"},
		{"kubelet takes a role", kubelet, "", registers, complete, nil,
			"is not allowed to modify labels: node-role.kubernetes.io/disk"},
		{"kubelet adds a role", kubelet, "", complete,
			complete.and(labels{"role.kiln.dev/ingress": ""}), nil, refused},
		{"kubelet adds its first", kubelet, "", labels{}, labels{"role.kiln.dev/ingress": ""}, nil,
			refused},
		{"kubelet adds a role by its status", kubelet, "status", complete,
			complete.and(labels{"role.kiln.dev/ingress": ""}), nil, refused},
		{"kubelet changes a role", kubelet, "", complete,
			complete.and(labels{"role.kiln.dev/disk": "nvme"}), nil, refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := asked.node(t, tt.by, tt.subresource, tt.before, tt.after)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}

	// The policy's first condition is not there for nothing.
	t.Run("policy that is for kubelets too", func(t *testing.T) {
		t.Parallel()
		open := newNodeAdmission(t, machines[0],
			"'!request.userInfo.username.startsWith(''system:node:'')'", `"true"`)
		_, err := open.node(t, kubelet, "", nil, registers)
		require.NoError(t, err, "only updates are its business")
		_, err = open.node(t, kubelet, "", registers, registers)
		require.ErrorContains(t, err, "is not allowed to modify labels: "+
			"node-role.kubernetes.io/disk, node-role.kubernetes.io/worker")
	})
}

// TestWorkerRolesBroken: the judge of objects finds what is wrong with a policy.
func TestWorkerRolesBroken(t *testing.T) {
	t.Parallel()
	if minor < "v1.36" {
		t.Skipf("%s has no MutatingAdmissionPolicy in admissionregistration.k8s.io/v1", minor)
	}
	for name, tt := range map[string]struct{ kind, old, new, want string }{
		"expression": {
			"mutatingadmissionpolicy", "escapeKey", "escape", "undeclared reference to 'escape'",
		},
		"patch": {
			"mutatingadmissionpolicy",
			"op: 'add'", "operation: 'add'", "expected type of field 'operation'",
		},
		"deletion": {
			"mutatingadmissionpolicy",
			"- UPDATE", "- DELETE", "spec.matchConstraints.resourceRules.operations",
		},
		"condition": {
			"validatingadmissionpolicy",
			"variables.after.all", "variables.later.all", "undefined field 'later'",
		},
		"binding": {
			"validatingadmissionpolicybinding", "- Deny", "- Refuse", "spec.validationActions",
		},
		"policy": {
			"mutatingadmissionpolicybinding",
			"policyName: worker-roles.kiln.dev", `policyName: ""`, "spec.policyName",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			machines := cluster(t, rolesCase, "ignition")
			i := slices.IndexFunc(machines[0].Files, func(f File) bool {
				return strings.HasSuffix(f.Path, "-"+tt.kind+"-worker-roles.kiln.dev.yaml")
			})
			require.GreaterOrEqual(t, i, 0)
			f := &machines[0].Files[i]
			text := readable(f)
			require.Contains(t, text, tt.old)
			f.Content = []byte(strings.Replace(text, tt.old, tt.new, 1))
			assert.Contains(t, strings.Join(objectsJudge(machines), "\n"), tt.want)
		})
	}
}

// TestTTLControllerWritesAgain checks that the controller-manager writes to a worker's Node after
// the worker's hook has written there.
func TestTTLControllerWritesAgain(t *testing.T) {
	t.Parallel()
	if minor < "v1.36" {
		t.Skipf("%s has no MutatingAdmissionPolicy in admissionregistration.k8s.io/v1", minor)
	}
	machines := cluster(t, rolesCase, "ignition")
	worker := machines[slices.IndexFunc(machines,
		func(m *Machine) bool { return m.Role == "worker" })]
	patch := regexp.MustCompile(`--data-binary '(.*)'`).FindSubmatch(
		worker.File("/etc/kiln/steps").Content)
	require.NotNil(t, patch)

	client, known := newClientset(t, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: worker.Name, Annotations: map[string]string{corev1.ObjectTTLAnnotationKey: "0"},
	}})
	keeper := ttl.NewTTLController(t.Context(), known.Core().V1().Nodes(), client)
	known.Start(t.Context().Done())
	known.WaitForCacheSync(t.Context().Done())
	go keeper.Run(t.Context(), 1)

	nodes := client.CoreV1().Nodes()
	// Write again and again, as the hook does: the fake server forgets events from before the
	// watch.
	for end := time.Now().Add(time.Minute); ; {
		node, err := nodes.Patch(t.Context(), worker.Name, types.MergePatchType, patch[1],
			metav1.PatchOptions{})
		require.NoError(t, err)
		require.Empty(t, node.Annotations)
		time.Sleep(100 * time.Millisecond)
		node, err = nodes.Get(t.Context(), worker.Name, metav1.GetOptions{})
		require.NoError(t, err)
		if node.Annotations[corev1.ObjectTTLAnnotationKey] == "0" {
			return
		}
		require.True(t, time.Now().Before(end), "nobody wrote the annotation again")
	}
}

// masquerade is how a worker would ask to be a control plane.
var masquerade = labels{
	"role.kiln.dev/control-plane": "", "role.kiln.dev/master": "", "role.kiln.dev/x": "",
}

// controller is the first to write to a Node that has registered.
var controller = &user.DefaultInfo{
	Name:   "system:serviceaccount:kube-system:ttl-controller",
	Groups: []string{"system:serviceaccounts", user.AllAuthenticated},
}

// labels are a Node's.
type labels map[string]string

func (l labels) and(others labels) labels {
	all := maps.Clone(l)
	maps.Copy(all, others)
	return all
}
