package running_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/fleet/running"
)

// now is when the objects of testdata were looked at. They are as Kubernetes 1.36 has them.
var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// load returns the workload of a file, nil if it is not kiln's, and its pods.
func load(t *testing.T, name string) (w *running.Workload, pods []running.Pod) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	require.NoError(t, err)
	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(text, &list))
	var head struct{ Kind string }
	require.NoError(t, json.Unmarshal(list.Items[0], &head))
	w, err = running.ParseWorkload(running.Kind{Name: head.Kind}, list.Items[0], nil)
	require.NoError(t, err)
	for _, item := range list.Items[1:] {
		p, err := running.ParsePod(item)
		require.NoError(t, err)
		pods = append(pods, p)
	}
	return w, pods
}

// text returns a verdict as lines.
func text(v running.Verdict) string {
	lines := []string{fmt.Sprintf("%s %s/%s %d of %d: %s", v.Kind, v.Namespace, v.Name, v.Ready,
		v.Wanted, v.State)}
	for _, r := range v.Reasons {
		lines = append(lines, fmt.Sprintf("%d %s %s: %s", r.Pods, r.Pod, r.Node, r.Text))
	}
	return strings.Join(lines, "\n")
}

// TestJudge: what is not ready is named with the reason of its pods.
func TestJudge(t *testing.T) {
	t.Parallel()
	const noPod = "0  : "
	for name, want := range map[string]string{
		"crash-loop": `DaemonSet kube-system/kube-proxy 0 of 2: not ready
2 kube-proxy-7xk2p cp-1: container kube-proxy: CrashLoopBackOff, ended with exit code 1: ` +
			`E1127 server.go:109] "Error running ProxyServer" ` +
			`err="open /proc/sys/net/netfilter/nf_conntrack_max: permission denied"`,
		"crash-loop-running": `DaemonSet kube-system/kube-proxy 0 of 1: not ready
1 kube-proxy-7xk2p cp-1: container kube-proxy: not ready; ` +
			`ended with exit code 137 (OOMKilled) before`,
		"image-pull": `DaemonSet kube-system/kube-proxy 1 of 2: not ready
1 kube-proxy-b2s6w worker-1: container kube-proxy: ImagePullBackOff: Back-off pulling image ` +
			`"registry.k8s.io/kube-proxy:v0.0.0": ErrImagePull: rpc error: code = NotFound ` +
			`desc = failed to pull and unpack image "registry.k8s.io/kube-proxy:v0.0.0": ` +
			`failed to resolve reference: not found`,
		"image-pull-first": `DaemonSet kube-system/kube-proxy 0 of 1: not ready
1 kube-proxy-b2s6w worker-1: container kube-proxy: ErrImagePull: failed to pull and unpack image ` +
			`"registry.k8s.io/kube-proxy:v0.0.0": not found`,
		"unschedulable": `Deployment kube-system/coredns 0 of 2: not ready
2 coredns-6f9c-4k2lm : Pending: Unschedulable: 0/2 nodes are available: 2 Insufficient cpu. ` +
			`no new claims to deallocate, preemption: 0/2 nodes are available: ` +
			`2 No preemption victims found for incoming pod.`,
		"no-network": `Deployment kube-system/coredns 0 of 2: waiting
2 coredns-6f9c-4k2lm : Pending: Unschedulable: 0/2 nodes are available: ` +
			`2 node(s) had untolerated taint {node.kubernetes.io/not-ready: }. ` +
			`no new claims to deallocate, preemption: 0/2 nodes are available: ` +
			`2 Preemption is not helpful for scheduling.`,
		"unavailable": `Deployment kube-system/coredns 1 of 2: not ready
1 coredns-6f9c-x9sz7 cp-1: container coredns: not ready`,
		"unready-for-a-minute": `Deployment kube-system/coredns 1 of 2: in progress
1 coredns-6f9c-x9sz7 cp-1: container coredns: not ready`,
		"rollout": `Deployment kube-system/coredns 2 of 2: in progress
1 coredns-6f9c-4k2lm worker-1: container coredns: ContainerCreating`,
		"deadline": `Deployment kube-system/coredns 1 of 2: not ready
1 coredns-6f9c-x9sz7 cp-1: container coredns: not ready
` + noPod + `ProgressDeadlineExceeded: ReplicaSet "coredns-6f9c" has timed out progressing.`,
		"quota": `Deployment kube-system/coredns 0 of 2: not ready
` + noPod + `FailedCreate: pods "coredns-6f9c-" is forbidden: violates PodSecurity ` +
			`"restricted:latest": allowPrivilegeEscalation != false`,
		"not-observed": "DaemonSet kube-system/kube-proxy 2 of 2: in progress\n" + noPod +
			"its controller is not done",
		"node-away": `DaemonSet kube-system/kube-proxy 1 of 2: waiting
1 kube-proxy-9hq4d worker-2: Node worker-2 is not Ready`,
		"being-deleted": `DaemonSet kube-system/kube-proxy 0 of 1: in progress
1 kube-proxy-9hq4d cp-1: it is being deleted`,
		"stateful": `StatefulSet kube-system/db 1 of 3: not ready
1 db-1 worker-1: init container migrate: CrashLoopBackOff, ended with exit code 2: no such table
` + noPod + "2 of 3 pods are there",
		"stateful-init": `StatefulSet kube-system/db 0 of 1: in progress
1 db-0 worker-1: init container migrate: runs`,
		"config-error": `StatefulSet kube-system/db 0 of 1: not ready
1 db-0 worker-1: container db: CreateContainerConfigError: secret "db" not found`,
		"evicted": `DaemonSet kube-system/kube-proxy 0 of 1: not ready
1 kube-proxy-9hq4d cp-1: Failed: Evicted: The node was low on resource: ephemeral-storage.`,
		"gate": `DaemonSet kube-system/kube-proxy 0 of 1: in progress
1 kube-proxy-9hq4d cp-1: not Ready: ReadinessGatesNotReady: ` +
			`corresponding condition of pod readiness gate "x" does not exist.`,
		"others-pods": "DaemonSet kube-system/kube-proxy 0 of 1: not ready\n" + noPod +
			"0 of 1 pods are there",
		"many-reasons": `DaemonSet kube-system/kube-proxy 0 of 6: not ready
2 kube-proxy-00000 n-0: Failed: R0
2 kube-proxy-00002 n-2: Failed: R1
1 kube-proxy-00009 n-9: Failed: R8
` + noPod + "and 1 more",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, pods := load(t, name)
			require.False(t, w.Settled)
			require.Equal(t, want, text(running.Judge(w, running.Cluster{
				Pods: pods, Now: now, NotReady: map[string]bool{"worker-2": true},
			})))
		})
	}
}

// TestSettled: a workload that wants no pods, or is as it should be, is no fault.
func TestSettled(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wants-none", "all-ready", "on-delete", "stateful-partition"} {
		w, _ := load(t, name)
		require.True(t, w.Settled, name)
	}
	w, _ := load(t, "not-kilns")
	require.Nil(t, w, "others applied it")
}

// TestUnseen: without its pods nobody says that they are absent.
func TestUnseen(t *testing.T) {
	t.Parallel()
	w, _ := load(t, "crash-loop")
	for when, state := range map[time.Time]running.State{
		now: running.NotReady, now.Add(-118 * time.Minute): running.InProgress,
	} {
		require.Equal(t, "DaemonSet kube-system/kube-proxy 0 of 2: "+string(state)+
			"\n0  : its pods could not be seen",
			text(running.Judge(w, running.Cluster{Unseen: true, Now: when})))
	}
}

// TestMissing: nobody notes when a pod went, so its time begins when the workload changed last. A
// rolling update has just deleted one of an old workload; another one can never be made.
func TestMissing(t *testing.T) {
	t.Parallel()
	const pod = `{"metadata":{"name":"p-1","ownerReferences":[{"uid":"u","controller":true}]},` +
		`"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	p, err := running.ParsePod([]byte(pod))
	require.NoError(t, err)
	for name, row := range map[string]struct {
		changed time.Duration // so long ago
		pods    []running.Pod
		want    running.State
	}{
		"one of two has just gone":      {10 * time.Second, []running.Pod{p}, running.InProgress},
		"the only one has just gone":    {10 * time.Second, nil, running.InProgress},
		"one of two has long been gone": {11 * time.Minute, []running.Pod{p}, running.NotReady},
		"all have long been gone":       {11 * time.Minute, nil, running.NotReady},
	} {
		w, err := parse(fmt.Appendf(nil, `{"metadata":{"name":"x","uid":"u",`+
			`"creationTimestamp":"2025-11-27T12:00:00Z","managedFields":[`+
			`{"manager":"kiln","operation":"Apply","time":"2025-11-27T12:00:00Z"},`+
			`{"manager":"kube-controller-manager","operation":"Update","time":%q}]},`+
			`"status":{"desiredNumberScheduled":2}}`,
			now.Add(-row.changed).Format(time.RFC3339)), nil)
		require.NoError(t, err, name)
		v := running.Judge(w, running.Cluster{Pods: row.pods, Now: now})
		require.Equal(t, row.want, v.State, name)
		require.Equal(t, fmt.Sprintf("%d of 2 pods are there", len(row.pods)), v.Reasons[0].Text)
	}
}

// TestSelector: a selector becomes a query, and a very long one is refused.
func TestSelector(t *testing.T) {
	t.Parallel()
	w, _ := load(t, "stateful")
	require.Equal(t, "k8s-app=db,tier in (a,b)", w.Selector)
	_, err := parse([]byte(`{"metadata":{"managedFields":[{"manager":"kiln",`+
		`"operation":"Apply"}]},"spec":{"selector":{"matchLabels":{"a":"b"`+many(500)+`}}}}`), nil)
	require.ErrorContains(t, err, "its names or its selector are too long")
}

// TestParts: a text of many parts is refused, whatever they are.
func TestParts(t *testing.T) {
	t.Parallel()
	const want = "an object of more than 20000 parts"
	parts := `[{}` + strings.Repeat(",{}", 20_001) + `]`
	_, err := running.ParsePod([]byte(`{"status":{"containerStatuses":` + parts + `}}`))
	require.EqualError(t, err, want)
	_, err = parse([]byte(`{"metadata":{"managedFields":[{"manager":"kiln",`+
		`"operation":"Apply"}]},"status":{"conditions":`+parts+`}}`), nil)
	require.EqualError(t, err, want)
	w, err := parse([]byte(`{"status":{"conditions":`+parts+`}}`), nil)
	require.NoError(t, err, "of others")
	require.Nil(t, w)
	w, err = parse([]byte(`{"metadata":{"namespace":"a","name":"b"}}`),
		map[running.Name]bool{{Resource: "daemonsets", Namespace: "a", Name: "b"}: true})
	require.NoError(t, err)
	require.NotNil(t, w, "wanted")
	_, err = running.ParsePod([]byte(`{"metadata":{"name":"` + strings.Repeat(",", 20_001) + `"}}`))
	require.NoError(t, err, "commas in a string")
}

// many returns so many labels more.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"l-%d":"value"`, i)
	}
	return b.String()
}

// TestHostile: no text of the cluster commands a terminal or fills a page.
func TestHostile(t *testing.T) {
	t.Parallel()
	w, pods := load(t, "hostile")
	got := text(running.Judge(w, running.Cluster{Pods: pods, Now: now}))
	require.Contains(t, got, `container a\u001b]0;pwned\u0007: CrashLoopBackOff, `+
		`ended with exit code -1: \u001b[2Jall is well\u202eyyy`)
	require.NotContains(t, got, "\x1b")
	require.NotContains(t, got, "\u202e")
	require.Less(t, len(got), 1500)
}

// TestFieldManager: what marks the objects of kiln is what the hook says when it applies them.
func TestFieldManager(t *testing.T) {
	t.Parallel()
	steps, err := os.ReadFile("../../../templates/boot/steps")
	require.NoError(t, err)
	require.Contains(t, string(steps), "?fieldManager="+manifests.FieldManager+"&force=true")
}

// parse reads a workload of the first kind.
func parse(text []byte, wanted map[running.Name]bool) (*running.Workload, error) {
	return running.ParseWorkload(running.Kinds[0], text, wanted)
}
