package judges

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
)

// flannelAccount is the name of Flannel's account.
const flannelAccount = "system:serviceaccount:kube-flannel:flannel"

// flannelOn is who asks with the token of Flannel's pod on a Node; without a name, the token is of
// no pod.
func flannelOn(node string) user.Info {
	info := &user.DefaultInfo{Name: flannelAccount, Groups: []string{
		"system:serviceaccounts", "system:serviceaccounts:kube-flannel", user.AllAuthenticated,
	}}
	if node != "" {
		info.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {node}}
	}
	return info
}

// askNode is what the API server's own admission says of a request for the Node worker-1.
type askNode func(
	by user.Info, operation admission.Operation, subresource string, before, after *corev1.Node,
) error

func newFlannelAdmission(t *testing.T) askNode {
	t.Helper()
	ask := newNodePolicy(t, "flannel.kiln.dev")
	require.Eventually(t, func() bool {
		err := ask(flannelOn("worker-2"), admission.Update, "status", flannelNode(), flannelNode())
		return err != nil && strings.Contains(err.Error(), "flannel.kiln.dev")
	}, time.Minute, 10*time.Millisecond)
	return ask
}

// newNodePolicy returns the admission by one policy of the case flannel.
func newNodePolicy(t *testing.T, policy string) askNode {
	t.Helper()
	machines := cluster(t, "flannel", "ignition")
	plugin := newPolicyPlugin(t, policiesOf(t, machines[0], policy)...)
	return func(
		by user.Info, operation admission.Operation, subresource string,
		before, after *corev1.Node,
	) error {
		var object, old, options runtime.Object // nil, not a nil *Node
		if before != nil {
			old = before
		}
		if after != nil {
			object = after
		}
		switch operation {
		case admission.Create:
			options = &metav1.CreateOptions{}
		case admission.Delete:
			options = &metav1.DeleteOptions{}
		default:
			options = &metav1.UpdateOptions{}
		}
		attributes := admission.NewAttributesRecord(object, old,
			corev1.SchemeGroupVersion.WithKind("Node"), "", "worker-1",
			corev1.SchemeGroupVersion.WithResource("nodes"), subresource, operation, options,
			false, by)
		return plugin.Validate(context.Background(), attributes,
			admission.NewObjectInterfacesFromScheme(scheme.Scheme))
	}
}

// TestNodesPolicy: no kubelet gives its Node a part of the pod subnets, or another one.
func TestNodesPolicy(t *testing.T) {
	ask := newNodePolicy(t, "nodes.kiln.dev")
	with := func(cidrs ...string) *corev1.Node {
		n := flannelNode()
		n.Spec.PodCIDR, n.Spec.PodCIDRs = "", cidrs
		if len(cidrs) > 0 {
			n.Spec.PodCIDR = cidrs[0]
		}
		return n
	}
	kubelet := &user.DefaultInfo{Name: "system:node:worker-1"}
	manager := &user.DefaultInfo{Name: "system:serviceaccount:kube-system:node-controller"}
	require.Eventually(t, func() bool {
		return ask(kubelet, admission.Create, "", nil, with("10.0.0.11/32")) != nil
	}, time.Minute, 10*time.Millisecond)
	for name, row := range map[string]struct {
		by            user.Info
		operation     admission.Operation
		before, after *corev1.Node
		refused       bool
	}{
		"made":          {kubelet, admission.Create, nil, with(), false},
		"made with one": {kubelet, admission.Create, nil, with("0.0.0.0/0"), true},
		"taken":         {kubelet, admission.Update, with(), with("10.244.9.0/24"), true},
		"changed": {kubelet, admission.Update, with("10.244.1.0/24"),
			with("10.244.2.0/24"), true},
		"one more": {kubelet, admission.Update, with("10.244.1.0/24"),
			with("10.244.1.0/24", "::/0"), true},
		"dropped": {kubelet, admission.Update, with("10.244.1.0/24"), with(), true},
		"kept": {kubelet, admission.Update, with("10.244.1.0/24"),
			with("10.244.1.0/24"), false},
		"by the manager": {manager, admission.Update, with(), with("10.244.1.0/24"), false},
	} {
		err := ask(row.by, row.operation, "", row.before, row.after)
		require.Equal(t, row.refused, err != nil, "%s: %v", name, err)
	}
}

// flannelNode returns a Node as it is before Flannel has changed it.
func flannelNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "worker-1", Labels: map[string]string{"zone": "a"},
			Annotations: map[string]string{"volumes": "here"},
		},
		Spec: corev1.NodeSpec{PodCIDR: "10.244.1.0/24", PodCIDRs: []string{"10.244.1.0/24"}},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady"},
				{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
			},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.21"}},
		},
	}
}

// TestFlannelPolicy: Flannel's token changes its own Node alone, and there what Flannel writes.
func TestFlannelPolicy(t *testing.T) {
	t.Parallel()
	ask := newFlannelAdmission(t)
	const (
		own         = "Flannel changes only the Node that its token was made for"
		annotations = "Flannel changes only its own annotations of a Node"
		condition   = "Flannel changes only the condition NetworkUnavailable of a Node"
	)
	for name, row := range map[string]struct {
		edit func(*corev1.Node)
		err  string // empty if it is admitted
	}{
		"nothing": {func(*corev1.Node) {}, ""},
		"its lease": {func(n *corev1.Node) {
			n.Annotations["flannel.alpha.coreos.com/public-ip"] = "10.0.0.21"
			n.Annotations["flannel.alpha.coreos.com/backend-type"] = "vxlan"
			n.Annotations["flannel.alpha.coreos.com/kube-subnet-manager"] = "true"
			n.Annotations["flannel.alpha.coreos.com/backend-data"] = `{"VNI":1}`
		}, ""},
		"the network is there": {func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse,
				Reason: "FlannelIsUp", LastHeartbeatTime: metav1.Unix(9, 0),
				LastTransitionTime: metav1.Unix(9, 0),
			})
		}, ""},
		"first of the conditions": {func(n *corev1.Node) {
			n.Status.Conditions = append([]corev1.NodeCondition{{
				Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse,
			}}, n.Status.Conditions...)
		}, ""},
		"another's annotation": {func(n *corev1.Node) {
			n.Annotations["volumes"] = "elsewhere"
		}, annotations},
		"a new annotation": {func(n *corev1.Node) {
			n.Annotations["flannel.alpha.coreos.com"] = "x"
		}, annotations},
		"an annotation less": {func(n *corev1.Node) {
			delete(n.Annotations, "volumes")
		}, annotations},
		"no annotations": {func(n *corev1.Node) { n.Annotations = nil }, annotations},
		"a label":        {func(n *corev1.Node) { n.Labels["role"] = "x" }, annotations},
		"another label":  {func(n *corev1.Node) { n.Labels["zone"] = "b" }, annotations},
		"no labels":      {func(n *corev1.Node) { n.Labels = nil }, annotations},
		"a finalizer":    {func(n *corev1.Node) { n.Finalizers = []string{"a/b"} }, annotations},
		"an owner": {func(n *corev1.Node) {
			n.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "x"}}
		}, annotations},
		"unschedulable": {func(n *corev1.Node) { n.Spec.Unschedulable = true }, annotations},
		"a taint": {func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute}}
		}, annotations},
		"another part of the network": {func(n *corev1.Node) {
			n.Spec.PodCIDR = "10.244.0.0/16"
		}, annotations},
		"Ready": {func(n *corev1.Node) {
			n.Status.Conditions[0].Status = corev1.ConditionTrue
		}, condition},
		"a condition less": {func(n *corev1.Node) {
			n.Status.Conditions = n.Status.Conditions[:1]
		}, condition},
		"a condition more": {func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions,
				corev1.NodeCondition{Type: "Other", Status: corev1.ConditionTrue})
		}, condition},
		"no conditions": {func(n *corev1.Node) { n.Status.Conditions = nil }, condition},
		"an address": {func(n *corev1.Node) {
			n.Status.Addresses[0].Address = "10.0.0.11"
		}, condition},
		"no addresses": {func(n *corev1.Node) { n.Status.Addresses = nil }, condition},
		"capacity": {func(n *corev1.Node) {
			n.Status.Capacity = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("9")}
		}, condition},
		"the kubelet's port": {func(n *corev1.Node) {
			n.Status.DaemonEndpoints.KubeletEndpoint.Port = 8443
		}, condition},
		"an image": {func(n *corev1.Node) {
			n.Status.Images = []corev1.ContainerImage{{Names: []string{"x"}}}
		}, condition},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after := flannelNode()
			row.edit(after)
			err := ask(flannelOn("worker-1"), admission.Update, "status", flannelNode(), after)
			if row.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, row.err)
			}
			for _, node := range []string{"worker-2", "", "worker"} {
				require.ErrorContains(t, ask(flannelOn(node), admission.Update, "status",
					flannelNode(), after), own, "a token of %q", node)
			}
			for _, other := range []string{"kubernetes-admin", "system:node:worker-1",
				flannelAccount + "x"} {
				require.NoError(t, ask(&user.DefaultInfo{Name: other}, admission.Update, "status",
					flannelNode(), after), "%s is none of its business", other)
			}
		})
	}
	require.ErrorContains(t, ask(flannelOn("worker-1"), admission.Create, "", nil, flannelNode()),
		own, "no new Node")
	require.ErrorContains(t, ask(flannelOn("worker-1"), admission.Delete, "", flannelNode(), nil),
		own, "it deletes none")
	require.NoError(t, ask(&user.DefaultInfo{Name: "kubernetes-admin"}, admission.Delete, "",
		flannelNode(), nil))

	// A Node without annotations, and one with a thousand and all of Flannel's.
	bare, many := flannelNode(), flannelNode()
	bare.Annotations, bare.Labels = nil, nil
	bare.Status = corev1.NodeStatus{}
	lease := bare.DeepCopy()
	lease.Annotations = map[string]string{"flannel.alpha.coreos.com/public-ip": "10.0.0.21"}
	lease.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable}}
	require.NoError(t, ask(flannelOn("worker-1"), admission.Update, "status", bare, lease))
	for i := range 1000 {
		many.Annotations[strings.Repeat("a", i%200)+"/"+time.Unix(int64(i), 0).String()] = "x"
	}
	after := many.DeepCopy()
	after.Annotations["flannel.alpha.coreos.com/public-ip"] = "10.0.0.21"
	require.NoError(t, ask(flannelOn("worker-1"), admission.Update, "status", many, after))
}

// TestFlannelRights: Flannel's account reads Nodes and patches their status, and may do nothing
// else.
func TestFlannelRights(t *testing.T) {
	t.Parallel()
	var rules []rbacv1.PolicyRule
	for _, f := range cluster(t, "flannel", "ignition")[0].Under(objectsDir) {
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(readable(f)), nil,
			nil)
		if err != nil {
			continue // of a kind that gives no rights
		}
		switch o := object.(type) {
		case *rbacv1.ClusterRole:
			if o.Name == "flannel" {
				rules = o.Rules
			}
		case *rbacv1.ClusterRoleBinding:
			for _, s := range o.Subjects {
				if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == "kube-flannel" {
					require.Equal(t, "flannel", o.RoleRef.Name)
				}
			}
		case *rbacv1.RoleBinding:
			for _, s := range o.Subjects {
				require.NotEqual(t, "kube-flannel", s.Namespace, o.Name)
			}
		}
	}
	require.Equal(t, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"},
			Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"nodes/status"}, Verbs: []string{"patch"}},
	}, rules)
}
