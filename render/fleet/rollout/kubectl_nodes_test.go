package rollout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// withFile returns oneMachine with this role and one file.
func withFile(role, path, content string) *change.Cluster {
	c := oneMachine("v1.36.3")
	c.Machines[0].Role = role
	key := change.Key{Kind: "file", ID: path}
	c.Machines[0].Entries = change.Entries{{Key: key, Content: []byte(content)}}
	return c
}

// TestNodeCommands: a label or taint that Kubernetes does not allow is in no command, because
// people paste commands into a shell.
func TestNodeCommands(t *testing.T) {
	t.Parallel()
	labels := func(list string) string {
		return "[Service]\nExecStart=/usr/bin/kubelet --v=2 --node-labels=a=b," + list + "\n"
	}
	taints := func(list string) string {
		return "registerWithTaints: [{key: a, effect: NoSchedule}" + list + "]\n"
	}
	const and = "\n" // between two commands
	for name, row := range map[string]struct{ path, old, new, want string }{
		"a label": {plan.KubeletDropIn, labels("c"), labels("c,tier=web"),
			"kubectl label --overwrite node a tier=web"},
		"a label that goes": {plan.KubeletDropIn, labels("c,tier=web"), labels("c"),
			"kubectl label node a tier-"},
		"several labels": {plan.KubeletDropIn, labels("c,tier=web,x=1,role.kiln.dev/db="),
			labels("c,tier=db,role.kiln.dev/ingress=,y=1"),
			"kubectl label --overwrite node a role.kiln.dev/ingress= " +
				"node-role.kubernetes.io/ingress=" + and +
				"kubectl label --overwrite node a tier=db" + and +
				"kubectl label --overwrite node a y=1" + and +
				"kubectl label node a role.kiln.dev/db- node-role.kubernetes.io/db-" + and +
				"kubectl label node a x-"},
		"a command in a label": {plan.KubeletDropIn, labels("c"), labels("c,tier=web;$(id>/x)"),
			`on a, by hand: Kubernetes allows no label "tier=web;$(id>/x)"`},
		"a command in a label that goes": {plan.KubeletDropIn, labels("c,$(id)=x"), labels("c"),
			`on a, by hand: Kubernetes allows no label "$(id)=x"`},
		"a flag for a label": {plan.KubeletDropIn, labels("c"), labels("c,--server=https://x"),
			`on a, by hand: Kubernetes allows no label "--server=https://x"`},
		"a taint": {
			plan.KubeletConfig, taints(""), taints(", {key: b, value: c, effect: NoExecute}"),
			"kubectl taint --overwrite node a b=c:NoExecute",
		},
		"a taint that goes": {
			plan.KubeletConfig, taints(", {key: b, effect: NoExecute}"), taints(""),
			"kubectl taint --overwrite node a b:NoExecute-",
		},
		"a part of a taint": {
			plan.KubeletConfig, taints(", {key: b, effect: NoExecute}"),
			taints(", {key: b, effect: $(id)}"),
			`on a, with kubectl taint: "registerWithTaints[b].effect": "NoExecute" → "$(id)"`,
		},
		"a command in a taint's key": {
			plan.KubeletConfig, taints(""), taints(", {key: 'a;id #', effect: NoSchedule}"),
			`on a, by hand: Kubernetes allows no taint ` +
				`"{\"effect\":\"NoSchedule\",\"key\":\"a;id #\"}"`,
		},
		"a command in a taint's effect": {
			plan.KubeletConfig, taints(""), taints(", {key: b, effect: $(id)}"),
			`on a, by hand: Kubernetes allows no taint "{\"effect\":\"$(id)\",\"key\":\"b\"}"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := change.Compare(
				withFile(worker, row.path, row.old), withFile(worker, row.path, row.new))
			p, err := New(d, Options{MaxUnavailable: "1"})
			require.NoError(t, err)
			require.Len(t, p.List, 1)
			require.Equal(t, append([]string{"kiln apply nodes/a --since OLD --ssh a"},
				strings.Split(row.want, and)...), Texts(p.List[0].How))
		})
	}
}

// TestLabelsOfNewNodes: the same holds for labels that a control plane gets once it is a Node.
func TestLabelsOfNewNodes(t *testing.T) {
	t.Parallel()
	now := withFile(controlPlane, plan.KilnDir+"/node.yaml",
		"metadata: {labels: {tier: web, $(id): x, zone: '`id`'}}\n")
	now.Machines[0].Name = "b"
	old := oneMachine("v1.36.3")
	now.Machines = append(old.Machines, now.Machines...)
	p := planned(t, old, now, nil)
	require.Len(t, p.List, 1)
	how := strings.Join(Texts(p.List[0].Then), "\n")
	require.Contains(t, how, "kubectl label --overwrite node b tier=web  #")
	require.Contains(t, how, `on b, by hand: Kubernetes allows no label "$(id)=x"`)
	require.Contains(t, how, "on b, by hand: Kubernetes allows no label \"zone=`id`\"")

	// Its step may have ended before it set them: they are left until its Node has them.
	b := now.Machines[1]
	node := running.Node{Name: "b", Twin: review.DigestOf(b), Ready: true, Hook: "done done",
		Kubelet: b.Properties.Value("kubelet")}
	first := now.Machines[0]
	seen := &running.Running{Digest: review.DigestOf, Nodes: []running.Node{
		{Name: first.Name, Twin: review.DigestOf(first), Ready: true, Hook: "done done",
			Kubelet: first.Properties.Value("kubelet")}, node}}
	p = planned(t, old, now, seen)
	require.Contains(t, fmt.Sprint(p.List), "kubectl label --overwrite node b tier=web")
	seen.Nodes[1].Labels = map[string]string{"tier": "web"}
	p = planned(t, old, now, seen)
	require.NotContains(t, fmt.Sprint(p.List), "tier=web")
}
