package status_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/state"
	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/twin/review"
)

// recorded returns a workload of the package running, and its pods, as JSON.
func recorded(t *testing.T, name string) (workload string, pods []string) {
	t.Helper()
	text, err := os.ReadFile("../../../render/fleet/running/testdata/" + name + ".json")
	require.NoError(t, err)
	var list struct{ Items []json.RawMessage }
	require.NoError(t, json.Unmarshal(text, &list))
	for _, item := range list.Items[1:] {
		pods = append(pods, string(item))
	}
	return string(list.Items[0]), pods
}

// TestWorkloads: a cluster is not done before what kiln applied is ready, and what nobody could see
// is said.
func TestWorkloads(t *testing.T) {
	t.Parallel()
	const proxyPods, deployments = podsPath + "?k8s-app=kube-proxy", "/apis/apps/v1/deployments"
	crashing, pods := recorded(t, "crash-loop")
	none, _ := recorded(t, "wants-none")
	others, _ := recorded(t, "not-kilns")
	coredns, dns := recorded(t, "unavailable")
	hostile, hostiles := recorded(t, "hostile")
	forbidden := answer(403, `{"message":"no"}`)
	for name, row := range map[string]struct {
		world api
		args  []string
		done  bool
		want  []string
		not   []string
	}{
		"not kiln's, and one that wants no pods": {
			world: api{daemonSetsPath: answer(200, listed(none, others))}, done: true,
			want: []string{"workloads: 1 of 1 are ready\n"}, not: []string{"WORKLOAD"},
		},
		"a crash loop": {
			world: api{daemonSetsPath: answer(200, listed(crashing, none)),
				proxyPods: answer(200, listed(pods...))},
			want: []string{"workloads: 1 of 2 are ready\n",
				"\nWORKLOAD                          READY   STATE      WHY\n" +
					"DaemonSet kube-system/kube-proxy  0 of 2  not ready  container kube-proxy: " +
					"CrashLoopBackOff, ended with exit code 1: E1127 ",
				"(2 pods, kube-proxy-7xk2p on cp-1)\n"},
		},
		"for programs": {
			world: api{daemonSetsPath: answer(200, listed(crashing)),
				proxyPods: answer(200, listed(pods...))},
			args: []string{"-o", "json"},
			want: []string{`"workloads":{"total":1,"ready":0,"left":[{"kind":"DaemonSet",` +
				`"namespace":"kube-system","name":"kube-proxy","state":"not ready","wanted":2,` +
				`"ready":0,"reasons":[{"text":"container kube-proxy: CrashLoopBackOff, `,
				`"pods":2,"pod":"kube-proxy-7xk2p","node":"cp-1"}]}]}`},
		},
		"two kinds": {
			world: api{daemonSetsPath: answer(200, listed(crashing)),
				deployments:                   answer(200, listed(coredns)),
				proxyPods:                     answer(200, listed(pods...)),
				podsPath + "?k8s-app=coredns": answer(200, listed(dns...))},
			want: []string{"workloads: 0 of 2 are ready\n",
				"Deployment kube-system/coredns    1 of 2  not ready  container coredns: not "},
		},
		"DaemonSets are not shown": {
			world: api{daemonSetsPath: forbidden},
			want: []string{"workloads: 0 of 0 are ready\nNOT SEEN DaemonSets: the user of the " +
				"kubeconfig may not list daemonsets.apps in all namespaces\n"},
		},
		"pods are not shown": {
			world: api{daemonSetsPath: answer(200, listed(crashing)), proxyPods: forbidden},
			want: []string{"NOT SEEN pods of DaemonSet kube-system/kube-proxy: the user of the " +
				"kubeconfig may not list pods in kube-system\n",
				"0 of 2  not ready  its pods could not be seen\n"},
		},
		"too many pods": {
			world: api{daemonSetsPath: answer(200, listed(crashing)),
				proxyPods: answer(200, listed(slices.Repeat(pods[:1], 5001)...))},
			want: []string{"NOT SEEN pods of DaemonSet kube-system/kube-proxy: kiln reads " +
				"5000 pods\n", "(5000 pods, kube-proxy-7xk2p on cp-1)\n"},
		},
		"too many workloads": {
			world: api{
				daemonSetsPath: answer(200, listed(slices.Repeat([]string{crashing}, 60)...)),
				proxyPods:      answer(200, listed())},
			want: []string{"workloads: 0 of 60 are ready\n",
				"NOT SEEN 10 workloads more that are not ready\n"},
		},
		"hostile": {
			world: api{daemonSetsPath: answer(200, listed(hostile)),
				proxyPods: answer(200, listed(hostiles...))},
			want: []string{`container a\u001b]0;pwned\u0007: CrashLoopBackOff`},
		},
		"no JSON": {
			world: api{daemonSetsPath: answer(200, "<html>")},
			want:  []string{"NOT SEEN DaemonSets: https://", "/daemonsets: not JSON\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := whole()
			maps.Copy(world, row.world)
			out, err := run(t, world, row.args...)
			if row.done {
				require.NoError(t, err, out)
			} else {
				require.ErrorIs(t, err, term.ErrDifferent, out)
			}
			for _, text := range row.want {
				require.Contains(t, out, text)
			}
			for _, text := range append(row.not, "\x1b", "\u202e") {
				require.NotContains(t, out, text)
			}
		})
	}
}

// TestLimit: a server that answers slowly, and has always one more page, does not hold kiln.
func TestLimit(t *testing.T) {
	t.Parallel()
	world := whole()
	world[nodesPath] = reply{code: 200, delay: 200 * time.Millisecond,
		body: strings.Replace(world[nodesPath].body, `"items"`,
			`"metadata":{"continue":"x"},"items"`, 1)}
	_, err := runWithin(t, 3*time.Second, world)
	require.ErrorContains(t, err, "deadline exceeded")
}

// TestState: what a state has, and the cluster has not, is said.
func TestState(t *testing.T) {
	t.Parallel()
	const path = "../../../testdata/clusters/single/want"
	reader := state.Reader{Messages: io.Discard}
	wanted, err := reader.Read(path)
	require.NoError(t, err)
	var list []string
	for _, m := range wanted.Machines {
		labels := ""
		if m.Role == node.ControlPlane {
			labels = controlPlane
		}
		list = append(list, strings.Replace(aNode(m.Name, "True", "done done", labels), digest,
			review.DigestOf(m), 1))
	}
	marker := fmt.Sprintf(`{"data":{"objects":%q}}`, running.Objects(wanted))
	const deployments = "/apis/apps/v1/deployments"
	flannel := strings.Replace(aWorkload("kube-flannel-ds", true), "kube-system", "kube-flannel", 1)
	for name, row := range map[string]struct {
		world api
		done  bool
		want  string
	}{
		"done": {done: true, want: "workloads: 3 of 3 are ready\n"},
		"no label": {world: api{
			nodesPath: answer(200, strings.Replace(aNodeList(list...), controlPlane, "", 1)),
			podsPath: answer(200, listed(append(staticPods("cp-1")[:3],
				aPod("kube-scheduler", "cp-1", "False"))...))},
			want: "cp-1: static pod kube-scheduler: CrashLoopBackOff\n"},
		"no static pods": {world: api{podsPath: answer(200, listed())},
			want: "PROBLEM no static pod on cp-1: etcd\n"},
		"a missing workload": {world: api{deployments: answer(200, listed())},
			want: "Deployment kube-system/coredns  0 of 0  not ready  not there\n"},
		"a workload of another manager": {done: true,
			world: api{deployments: answer(200, listed(aWorkload("coredns", false)))}},
		"a marker that does not say of what": {world: api{markerPath: answer(200, `{"data":{}}`)},
			want: "API objects: of another state\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := whole()
			world[nodesPath] = answer(200, aNodeList(list...))
			world[markerPath] = answer(200, marker)
			world[daemonSetsPath] = answer(200,
				listed(aWorkload("kube-proxy", true), flannel))
			world[deployments] = answer(200, listed(aWorkload("coredns", true)))
			maps.Copy(world, row.world)
			out, err := run(t, world, path)
			require.Contains(t, out, row.want)
			require.NotContains(t, out, "note: ")
			if row.done {
				require.NoError(t, err, out)
			} else {
				require.ErrorIs(t, err, term.ErrDifferent, out)
			}
		})
	}
}
