package status_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/status"
	"kiln.dev/kiln/cmd/kiln/term"
)

// api answers as an API server: by path, a code and a body.
type api map[string]reply

type reply struct {
	code int
	body string
	// refusals is how many questions are answered with 403 first.
	refusals *atomic.Int32
	delay    time.Duration
}

// answer is one of them.
func answer(code int, body string) reply { return reply{code: code, body: body} }

const (
	nodesPath      = "/api/v1/nodes"
	podsPath       = "/api/v1/namespaces/kube-system/pods"
	daemonSetsPath = "/apis/apps/v1/daemonsets"
	markerPath     = "/api/v1/namespaces/kube-system/configmaps/kiln"
	digest         = "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4"
)

// aNode returns a Node as JSON.
func aNode(name, ready, hook, labels string) string {
	said, _ := json.Marshal(hook) // a string
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s},"annotations":{"kiln.dev/twin":%q,`+
		`"kiln.dev/hook":%s}},"status":{"conditions":[{"type":"Ready","status":%q}],`+
		`"nodeInfo":{"kubeletVersion":"v1.36.3"}}}`, name, labels, digest, said, ready)
}

// listed returns a list of objects as JSON.
func listed(list ...string) string { return `{"items":[` + strings.Join(list, ",") + `]}` }

// aNodeList returns a list of Nodes as JSON.
func aNodeList(list ...string) string {
	return `{"kind":"NodeList","items":[` + strings.Join(list, ",") + `]}`
}

// aPod returns a static pod as JSON.
func aPod(component, on, ready string) string {
	return fmt.Sprintf(`{"metadata":{"labels":{"component":%q}},"spec":{"nodeName":%q},"status":`+
		`{"phase":"Running","conditions":[{"type":"Ready","status":%q}],"containerStatuses":[`+
		`{"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}]}}`, component, on,
		ready)
}

const controlPlane = `"node-role.kubernetes.io/control-plane":""`

// staticPods returns the static pods of a control plane as JSON.
func staticPods(on string) (list []string) {
	for _, component := range []string{
		"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler",
	} {
		list = append(list, aPod(component, on, "True"))
	}
	return list
}

// aWorkload returns a workload that wants no pods as JSON.
func aWorkload(name string, applied bool) string {
	manager := "kubectl"
	if applied {
		manager = "kiln"
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"kube-system","managedFields":[{`+
		`"manager":%q,"operation":"Apply"}]},"spec":{"replicas":0}}`, name, manager)
}

// whole returns a cluster of two machines that is done.
func whole() api {
	return api{
		nodesPath: answer(200, `{"kind":"NodeList","items":[`+
			aNode("worker-1", "True", "done done", "")+","+
			aNode("cp-1", "True", "done done", controlPlane)+`]}`),
		podsPath:   answer(200, listed(staticPods("cp-1")...)),
		markerPath: answer(200, `{"data":{}}`),
		"/readyz":  answer(200, "[+]etcd ok\n"),
		"/version": answer(200, `{"gitVersion":"v1.36.3"}`),

		daemonSetsPath:               answer(200, listed(aWorkload("x", true))),
		"/apis/apps/v1/deployments":  answer(200, `{"kind":"DeploymentList","items":null}`),
		"/apis/apps/v1/statefulsets": answer(200, `{"kind":"StatefulSetList","items":[]}`),
	}
}

// run asks an API server of this world, and returns what status prints, and its error.
func run(t *testing.T, world api, args ...string) (string, error) {
	t.Helper()
	return runWithin(t, apiserver.Limit, world, args...)
}

func runWithin(t *testing.T, limit time.Duration, world api, args ...string) (string, error) {
	t.Helper()
	return runCommand(t, status.CommandWithin(limit), func() api { return world }, args...)
}

// runCommand runs the verb, and asks for the world at each question.
func runCommand(
	t *testing.T, cmd *cobra.Command, now func() api, args ...string,
) (string, error) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer abc" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			world := now()
			a, ok := world[r.URL.Path+"?"+r.URL.Query().Get("labelSelector")]
			if !ok {
				a, ok = world[r.URL.Path]
			}
			if !ok {
				a.code = http.StatusNotFound
			}
			if a.refusals != nil && a.refusals.Add(-1) >= 0 {
				a.code = http.StatusForbidden
			}
			time.Sleep(a.delay)
			w.WriteHeader(a.code)
			_, _ = w.Write([]byte(a.body))
		}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "admin.conf")
	ca := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: server.Certificate().Raw,
	}), 0o600))
	require.NoError(t, os.WriteFile(path, []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: u, user: {token: abc}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server.URL, ca)), 0o600))
	var out, messages bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&messages)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"--kubeconfig", path}, args...))
	err := cmd.Execute()
	return out.String() + messages.String(), err
}

// TestStatus: the report says what is not as it should be, and the exit code follows it.
func TestStatus(t *testing.T) {
	t.Parallel()
	nodes := func(list ...string) func(api) {
		return func(w api) {
			w[nodesPath] = answer(200, `{"kind":"NodeList","items":[`+strings.Join(list, ",")+`]}`)
		}
	}
	put := func(path string, code int, body string) func(api) {
		return func(w api) { w[path] = answer(code, body) }
	}
	both := func(a, b func(api)) func(api) { return func(w api) { a(w); b(w) } }
	worker := aNode("worker-1", "True", "done done", "")
	cp1 := aNode("cp-1", "True", "done done", controlPlane)
	cp2 := aNode("cp-2", "True", "done done", controlPlane)
	for name, row := range map[string]struct {
		change func(api)
		args   []string
		done   bool
		want   []string
		fails  string
	}{
		"done": {done: true, want: []string{"etcd: 1 of 1 members vote\n", "API objects: applied\n",
			"cp-1      control-plane  Ready  v1.36.3  -         done done\n"}},
		"a Node is not Ready": {change: nodes(worker, aNode("cp-1", "False", "done done",
			controlPlane)), want: []string{"cp-1      control-plane  not Ready  v1.36.3"}},
		"a hook waits": {change: nodes(aNode("worker-1", "True",
			"waiting network node-not-ready x", "")),
			want: []string{"waiting network node-not-ready x"}},
		"a hook has stopped": {change: nodes(worker, aNode("cp-1", "True", "stopped post-boot x",
			controlPlane)), args: []string{"--wait"}, want: []string{"stopped post-boot x"}},
		"a learner": {change: both(nodes(worker, cp1, cp2), put(podsPath, 200, `{"items":[`+
			aPod("etcd", "cp-1", "True")+","+aPod("etcd", "cp-2", "False")+`]}`)),
			want: []string{"etcd: 1 of 2 members vote\n",
				"cp-2: static pod etcd: CrashLoopBackOff\n"}},
		"a worker that votes for another": {change: both(nodes(worker, cp1, cp2), put(podsPath, 200,
			`{"items":[`+aPod("etcd", "cp-1", "True")+","+aPod("etcd", "worker-1", "True")+`]}`)),
			want: []string{"etcd: 2 of 3 members vote\n", "PROBLEM no label " +
				"node-role.kubernetes.io/control-plane on a control plane, or on a Node with its " +
				"pods: worker-1\n"}},
		"two pods of one member": {change: both(nodes(worker, cp1, cp2), put(podsPath, 200,
			`{"items":[`+aPod("etcd", "cp-1", "True")+","+aPod("etcd", "cp-1", "True")+`]}`)),
			want: []string{"etcd: 1 of 2 members vote\n"}},
		"a control plane without a label": {change: put(podsPath, 200, listed(append(
			staticPods("cp-1"), aPod("kube-apiserver", "worker-1", "False"))...)),
			want: []string{"worker-1: static pod kube-apiserver: CrashLoopBackOff\n",
				"PROBLEM no static pod on worker-1: kube-scheduler\n"}},
		"a worker with a static pod": {change: put(podsPath, 200, listed(append(
			staticPods("cp-1"), aPod("kube-proxy", "worker-1", "False"))...)), done: true},
		"no static pods": {change: put(podsPath, 200, listed()),
			want: []string{"PROBLEM no static pod on cp-1: kube-apiserver\n",
				"PROBLEM no static pod on cp-1: kube-controller-manager\n",
				"PROBLEM no static pod on cp-1: kube-scheduler\n"}},
		"no workloads": {change: put(daemonSetsPath, 200, listed(aWorkload("x", false))),
			want: []string{"workloads: 0 of 0 are ready\nNOT SEEN workloads: none was applied by " +
				"kiln; name a STATE", "\nnote: without a STATE kiln cannot know "}},
		"commas in a string": {change: put(podsPath, 200, listed(append(staticPods("cp-1"),
			`{"metadata":{"annotations":{"a":"`+strings.Repeat(",", 110_000)+`"}}}`)...)),
			done: true},
		"a pod of many parts": {change: put(podsPath, 200, listed(append([]string{
			`{"metadata":{"name":"big","namespace":"kube-system"},"x":[0` +
				strings.Repeat(",0", 110_000) + `]}`}, staticPods("cp-1")...)...)),
			want: []string{"NOT SEEN static pods: https://", "kube-system/big: too large to read\n",
				"etcd: 1 of 1 members vote\n"}},
		"a Node of many parts": {change: nodes(cp1, `{"metadata":{"name":"big"},"x":[0`+
			strings.Repeat(",0", 110_000)+`]}`), want: []string{"NOT SEEN Nodes: https://",
			": big: too large to read\n", "cp-1     control-plane  Ready"}},
		"a page without objects": {change: put(nodesPath, 200,
			`{"kind":"NodeList","metadata":{"continue":"x"},"items":[]}`),
			fails: "/api/v1/nodes: a page without objects that is not the last one"},
		"a member that is not there yet": {change: nodes(worker, cp1, cp2),
			want: []string{"etcd: 1 of 2 members vote\n"}},
		"a static pod": {change: put(podsPath, 200, `{"items":[`+
			aPod("kube-scheduler", "cp-1", "False")+`]}`),
			want: []string{"cp-1: static pod kube-scheduler: CrashLoopBackOff\n"}},
		"objects are refused": {change: put(markerPath, 200,
			`{"data":{"failed":"/api/v1/x: no\n/api/v1/y: no\n"}}`),
			want: []string{"API objects: refused\n", "PROBLEM object /api/v1/y: no\n"}},
		"many objects are refused": {change: put(markerPath, 200,
			`{"data":{"failed":"`+strings.Repeat(`x\n`, 99)+`"}}`),
			want: []string{"PROBLEM object and 79 more\n"}},
		"more pods than memory": {change: put(podsPath, 200,
			`{"items":[{}`+strings.Repeat(",{}", 6<<20)+`]}`),
			want: []string{"NOT SEEN static pods: https://", "more than 20000 objects\n"}},
		"more Nodes than memory": {change: put(nodesPath, 200,
			`{"kind":"NodeList","items":[{"kind":"X"}`+strings.Repeat(`,{"kind":"X"}`, 9<<20)+
				`]}`), want: []string{"NOT SEEN Nodes: https://", "more than 20000 objects\n"}},
		"objects are not applied": {change: put(markerPath, 404, `{}`),
			want: []string{"API objects: not applied\n"}},
		"objects of another state": {change: put(markerPath, 200, `{"data":{"objects":"0"}}`),
			args: []string{"../../../testdata/clusters/single/want"},
			want: []string{"API objects: of another state\n"}},
		"the API server is ill": {change: put("/readyz", 500, "[+]ping ok\n[-]etcd failed: x\n"),
			want: []string{"PROBLEM API server: etcd failed: x\n"}},
		"the API server fails": {change: put("/readyz", 500, "no"),
			want: []string{"PROBLEM API server: health of the API server: GET /readyz"}},
		"its health is refused": {change: put("/readyz", 403, "no"),
			want: []string{"NOT SEEN health of the API server: HTTP 403\n"}},
		"hostile": {change: nodes(aNode("worker-1", "True", "\x1b[2Jdone\n\ndone"+
			strings.Repeat("x", 9999), "")), want: []string{"…"}},
		"refused": {change: put(nodesPath, 403, `{"message":"nodes is forbidden"}`),
			fails: "HTTP 403: nodes is forbidden; its user needs to read Nodes"},
		"a new Node says nothing yet": {change: nodes(worker, strings.Replace(
			aNode("cp-1", "True", "", controlPlane), `"metadata":{`,
			`"metadata":{"creationTimestamp":"`+time.Now().UTC().Format(time.RFC3339)+`",`, 1))},
		"an old Node says nothing": {change: nodes(worker, aNode("cp-1", "True", "",
			controlPlane)),
			want: []string{"cp-1      control-plane  Ready  v1.36.3  -         -\n"}},
		"refused while it waits": {change: put(nodesPath, 403, `{"message":"no"}`),
			args: []string{"--wait", "--timeout", "1s"}, fails: "HTTP 403: no"},
		"refused until the cluster has its bindings": {change: func(w api) {
			young := w[nodesPath]
			young.refusals = &atomic.Int32{}
			young.refusals.Store(1)
			w[nodesPath] = young
		}, args: []string{"--wait"}, done: true, want: []string{"kiln: waiting: "}},
		"no JSON": {change: put(nodesPath, 200, `<html>`), fails: "not JSON"},
		"the time is over": {change: put(markerPath, 404, `{}`),
			args: []string{"--wait", "--timeout", "1s"}, want: []string{"the time is over: 1s\n"}},
		"for programs": {args: []string{"-o", "json"}, done: true,
			want: []string{`"done":true,"stopped":false,"problems":[],"etcd":{"members":1,` +
				`"voting":1},"objects":"applied"`}},
		"a machine that does not say what it runs": {
			change: put(nodesPath, 200, strings.ReplaceAll(whole()[nodesPath].body, digest, "")),
			args:   []string{"../../../testdata/clusters/single/want"},
			want:   []string{"cp-1      control-plane  Ready  v1.36.3  unsaid    done done\n"},
		},
		"a version with a line": {change: put("/version", 200, `{"gitVersion":"v1\nPROBLEM x"}`),
			done: true, want: []string{": v1\\u000aPROBLEM x\n"}},
		"a timeout without --wait": {args: []string{"--timeout", "1s"}, fails: "write --wait"},
		"no time": {args: []string{"--wait", "--timeout", "0s"},
			fails: "--timeout 0s: write a time from 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := whole()
			if row.change != nil {
				row.change(world)
			}
			out, err := run(t, world, row.args...)
			switch {
			case row.fails != "":
				require.ErrorContains(t, err, row.fails)
			case row.done:
				require.NoError(t, err, out)
			default:
				require.ErrorIs(t, err, term.ErrDifferent, out)
			}
			for _, text := range row.want {
				require.Contains(t, out, text)
			}
			require.NotContains(t, out, "\x1b")
			require.Less(t, len(out), 2000)
		})
	}
}
