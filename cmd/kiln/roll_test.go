package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/plan"
)

// fakeCluster answers as an API server does, and does what its kubectl and its machines are told.
type fakeCluster struct {
	mutex    sync.Mutex
	nodes    map[string]map[string]any
	lease    map[string]any
	version  int
	boots    int
	stubborn map[string]string // the Nodes that cannot be drained, and what kubectl says
	calls    []string          // of kubectl
	down     bool
}

// fake NODES KUBECONFIG starts one with the Nodes of a file, as runs writes it.
func fake(ts *testscript.TestScript, _ bool, args []string) {
	var list struct{ Items []map[string]any }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &list))
	c := &fakeCluster{nodes: map[string]map[string]any{}, stubborn: map[string]string{}}
	for _, n := range list.Items {
		c.nodes[n["metadata"].(map[string]any)["name"].(string)] = n
	}
	server := httptest.NewServer(c)
	ts.Defer(server.Close)
	ts.Setenv("FAKE", server.URL)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: t}}]
`, server.URL), 0o600))
}

func (c *fakeCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	body, _ := io.ReadAll(r.Body)
	const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
	switch {
	case strings.HasPrefix(r.URL.Path, "/fake/"):
		var args []string
		_ = json.Unmarshal(body, &args)
		text, err := c.told(strings.TrimPrefix(r.URL.Path, "/fake/"), args)
		if err != nil {
			http.Error(w, err.Error(), http.StatusTeapot)
			return
		}
		_, _ = io.WriteString(w, text)
	case c.down:
		http.Error(w, `{"message":"etcdserver: no leader"}`, http.StatusServiceUnavailable)
	case r.URL.Path == "/api/v1/nodes":
		items := []map[string]any{}
		for _, n := range c.nodes {
			items = append(items, n)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "NodeList", "items": items})
	case strings.HasPrefix(r.URL.Path, leases):
		c.leases(w, r.Method, body)
	case strings.HasPrefix(r.URL.Path, "/apis/apps/v1/"):
		_, _ = io.WriteString(w, `{"items":[]}`)
	default:
		http.Error(w, `{"message":"not found"}`, http.StatusNotFound)
	}
}

// leases answers a request for the Lease.
func (c *fakeCluster) leases(w http.ResponseWriter, method string, body []byte) {
	if method != http.MethodGet {
		var now map[string]any
		_ = json.Unmarshal(body, &now)
		about := now["metadata"].(map[string]any)
		if given, _ := about["resourceVersion"].(string); c.lease != nil &&
			given != strconv.Itoa(c.version) {
			http.Error(w, `{"message":"the object has been modified"}`, http.StatusConflict)
			return
		}
		c.version++
		about["resourceVersion"] = strconv.Itoa(c.version)
		c.lease = now
	}
	if c.lease == nil {
		http.Error(w, `{"message":"not found"}`, http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(c.lease)
}

// told does what kubectl, a machine or a script says, and returns what it prints.
func (c *fakeCluster) told(program string, args []string) (string, error) {
	words := strings.Join(args, " ")
	switch program {
	case "kubectl":
		c.calls = append(c.calls, words)
		return c.kubectl(args)
	case "calls":
		return strings.Join(c.calls, "\n") + "\n", nil
	case "boots": // DOCUMENT-DIGEST NODE KUBELET
		c.boots++
		if c.nodes[args[1]] == nil {
			c.nodes[args[1]] = map[string]any{"metadata": map[string]any{"name": args[1]}}
		}
		n := c.nodes[args[1]]
		of(n, "metadata", "annotations")[running.TwinAnnotation] = args[0]
		of(n, "metadata", "annotations")[running.HookAnnotation] = "done done"
		of(n, "status")["nodeInfo"] = map[string]string{"kubeletVersion": args[2],
			"bootID": strconv.Itoa(c.boots)}
		of(n, "status")["conditions"] = []map[string]string{{"type": "Ready", "status": "True"}}
	case "stubborn": // NODE MESSAGE
		c.stubborn[args[0]] = strings.Join(args[1:], " ")
	case "down":
		c.down = words == "yes"
	case "held": // HOLDER
		c.version++
		c.lease = map[string]any{
			"metadata": map[string]any{"resourceVersion": strconv.Itoa(c.version)},
			"spec":     map[string]any{"holderIdentity": words},
		}
	}
	return "", nil
}

// of returns a map in an object, which is made if it is missing.
func of(object map[string]any, path ...string) map[string]any {
	for _, key := range path {
		next, ok := object[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[key] = next
		}
		object = next
	}
	return object
}

func (c *fakeCluster) kubectl(args []string) (string, error) {
	words := strings.Join(args, " ")
	switch {
	case args[0] == "patch":
		var patch map[string]any
		if err := json.Unmarshal([]byte(args[len(args)-1]), &patch); err != nil {
			return "", err
		}
		n := c.nodes[args[2]]
		for key, value := range of(patch, "metadata", "annotations") {
			of(n, "metadata", "annotations")[key] = value
			if value == nil {
				delete(of(n, "metadata", "annotations"), key)
			}
		}
		of(n, "spec")["unschedulable"] = of(patch, "spec")["unschedulable"]
	case args[0] == "drain":
		if why := c.stubborn[args[1]]; why != "" {
			return "", fmt.Errorf("%s\nerror: unable to drain node %q", why, args[1])
		}
	case slices.Contains(args, "health"):
		return "https://10.0.0.11:2379 is healthy: successfully committed proposal\n", nil
	case slices.Contains(args, "list"):
		var b strings.Builder
		for name, n := range c.nodes {
			boot, _ := of(n, "status")["nodeInfo"].(map[string]string) // nil before its first one
			fmt.Fprintf(&b, "%x%s, started, %s, https://a:2380, https://a:2379, false\n", name,
				boot["bootID"], name)
		}
		return b.String(), nil
	case strings.HasPrefix(words, "delete node "):
		delete(c.nodes, args[len(args)-1])
	}
	return words + "\n", nil
}

// fakeKubectl is the program kubectl of the scripts, and fakeMachine the program machine: boots
// FOLDER NODE, stubborn NODE MESSAGE, down yes|no, held HOLDER, and calls, which prints what
// kubectl was called with.
func fakeKubectl() { tell("kubectl", os.Args[1:]) }

func fakeMachine() {
	args := os.Args[2:]
	if os.Args[1] == "boots" {
		dir, name := filepath.Split(args[0])
		c, err := render.DocumentsState(filepath.Clean(dir))
		if err != nil {
			panic(err)
		}
		for _, m := range c.Machines {
			if m.Name == name {
				args = []string{m.Twin, args[1], m.Properties.Value("kubelet")}
			}
		}
	}
	tell(os.Args[1], args)
}

// tell tells the fake cluster, prints what it answers, and exits with 1 if it refuses.
func tell(program string, args []string) {
	text, _ := json.Marshal(args)
	resp, err := http.Post(os.Getenv("FAKE")+"/fake/"+program, "application/json",
		bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		_, _ = io.Copy(os.Stderr, resp.Body)
		os.Exit(1)
	}
	_, _ = io.Copy(os.Stdout, resp.Body)
}

// runs FILE MACHINE... writes what kubectl get nodes -o json says of machines. A MACHINE is
// DIR/NAME, with DIR the folder of documents that has the one which it runs; DIR/pools/POOL:NAME
// for a machine of a pool; unknown/NAME for a document that nobody has, and silent/NAME for a Node
// that does not say what it runs. "=HOOK" after it is what the hook says, in place of done.
func runs(ts *testscript.TestScript, _ bool, args []string) {
	items := []map[string]any{}
	for _, arg := range args[1:] {
		machine, hook, given := strings.Cut(arg, "=")
		if !given {
			hook = "done done"
		}
		dir, name, _ := strings.Cut(machine, "/")
		document, node, ok := strings.Cut(name, ":")
		if !ok {
			node = name
		}
		annotations := map[string]string{running.HookAnnotation: hook}
		switch dir {
		case "silent":
			clear(annotations)
		case "unknown":
			annotations[running.TwinAnnotation] = strings.Repeat("0", 64)
		default:
			c, err := render.DocumentsState(ts.MkAbs(dir))
			ts.Check(err)
			for _, m := range c.Machines {
				if plan.Folder(m.Name, m.Pool) == document {
					annotations[running.TwinAnnotation] = m.Twin
				}
			}
		}
		items = append(items, map[string]any{
			"kind": "Node", "metadata": map[string]any{"name": node, "annotations": annotations},
			"status": map[string]any{"conditions": []map[string]string{
				{"type": "Ready", "status": "True"},
			}, "nodeInfo": map[string]string{"kubeletVersion": "v1.36.3"}},
		})
	}
	data, err := json.Marshal(map[string]any{"kind": "List", "items": items})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}
