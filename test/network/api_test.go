package network_test

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// api is the little of an API server that machines ask for their routes: one ConfigMap, and Nodes.
// The judges hold the policy of the real one; this one only refuses what another machine has.
type api struct {
	mu      sync.Mutex
	server  *http.Server
	entries map[string]string
	nodes   map[string]bool
	version int           // of the ConfigMap
	present int           // the newest version of anything
	oldest  int           // the first version from which a watch can begin
	changed chan struct{} // closed at the next change
	reads   int           // how often the whole ConfigMap was read
	watches int           // how often somebody began to wait for changes
	writers map[string]int
}

func newAPI(nodes ...string) *api {
	a := &api{
		entries: map[string]string{}, nodes: map[string]bool{}, version: 1, present: 1,
		changed: make(chan struct{}), writers: map[string]int{},
	}
	for _, name := range nodes {
		a.nodes[name] = true
	}
	return a
}

// serve answers until stop is called.
func (a *api) serve(listener net.Listener, certificate tls.Certificate) {
	server := &http.Server{
		Handler: a,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{certificate}, ClientAuth: tls.RequestClientCert,
			MinVersion: tls.VersionTLS12,
		},
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
	}
	a.server = server
	go func() { _ = server.ServeTLS(listener, "", "") }()
}

func (a *api) stop() { _ = a.server.Close() }

// change changes the state as a person with kubectl would.
func (a *api) change(edit func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	edit()
	a.present++
	a.version = a.present
	close(a.changed)
	a.changed = make(chan struct{})
}

// forget makes it an API server that has just started: it remembers nothing of what was before.
func (a *api) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.present += 1000
	a.oldest = a.present
}

// asked returns how often the whole ConfigMap was read, and how often somebody began to wait.
func (a *api) asked() (reads, watches int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reads, a.watches
}

// state returns the entries.
func (a *api) state() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.entries)
}

const (
	configMaps = "/api/v1/namespaces/kube-system/configmaps"
	nodesPath  = "/api/v1/nodes"
	only       = "metadata.name=kiln-routes"
)

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, node := strings.CutPrefix(r.URL.Path, nodesPath+"/")
	switch {
	case r.URL.Path == configMaps && r.URL.Query().Get("watch") != "":
		a.watch(w, r)
	case r.URL.Path == configMaps+"/kiln-routes" && r.Method == http.MethodPatch:
		a.patch(w, r)
	case r.URL.Path == configMaps && r.URL.Query().Get("fieldSelector") == only:
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reads++
		answer(w, http.StatusOK, a.objects())
	case r.URL.Path == nodesPath:
		a.list(w)
	case node:
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.nodes[name] {
			answer(w, http.StatusNotFound, status("nodes \""+name+"\" not found", 404))
			return
		}
		answer(w, http.StatusOK, object{"kind": "Table"})
	default:
		answer(w, http.StatusForbidden, status(r.URL.String()+" is forbidden", 403))
	}
}

type object map[string]any

// objects returns a list with the ConfigMap. An API server writes the metadata of an object before
// its data.
func (a *api) objects() any {
	type managed struct {
		Fields map[string]map[string]object `json:"fieldsV1"`
	}
	fields := object{}
	for name := range a.entries {
		fields["f:"+name] = object{}
	}
	type metadata struct {
		Name          string    `json:"name"`
		Namespace     string    `json:"namespace"`
		Version       string    `json:"resourceVersion"`
		ManagedFields []managed `json:"managedFields"`
	}
	type item struct {
		Metadata metadata          `json:"metadata"`
		Data     map[string]string `json:"data,omitempty"`
	}
	return struct {
		Kind     string            `json:"kind"`
		Metadata map[string]string `json:"metadata"`
		Items    []item            `json:"items"`
	}{
		"ConfigMapList",
		map[string]string{"resourceVersion": strconv.Itoa(a.present)},
		[]item{{
			metadata{
				"kiln-routes", "kube-system", strconv.Itoa(a.version),
				[]managed{{map[string]map[string]object{"f:data": {"f:": fields}}}},
			},
			a.entries,
		}},
	}
}

func (a *api) watch(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	since, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	changed, now, oldest := a.changed, a.version, a.oldest
	a.watches++
	a.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if since < oldest {
		_, _ = fmt.Fprintf(w, `{"type":"ERROR","object":{"code":410,"message":`+
			`"too old resource version: %d (%d)"}}`, since, oldest)
		return
	}
	if since >= now {
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-time.After(time.Duration(seconds) * time.Second):
			return
		}
	}
	_, _ = fmt.Fprintln(w, `{"type":"MODIFIED","object":{"kind":"Table"}}`)
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func (a *api) patch(w http.ResponseWriter, r *http.Request) {
	var p struct{ Data map[string]*string }
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		answer(w, http.StatusBadRequest, status(err.Error(), 400))
		return
	}
	by := "nobody"
	if len(r.TLS.PeerCertificates) > 0 {
		by = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	refused := ""
	a.change(func() {
		a.writers[by]++
		for name, entry := range p.Data {
			if entry == nil {
				delete(a.entries, name)
				continue
			}
			for other, has := range a.entries {
				for word := range strings.FieldsSeq(*entry) {
					if other != name && slices.Contains(strings.Fields(has), word) {
						refused = "it is in the entry of " + other
					}
				}
			}
			if refused == "" {
				a.entries[name] = *entry
			}
		}
	})
	if refused != "" {
		answer(w, http.StatusForbidden, status(refused, 403))
		return
	}
	answer(w, http.StatusOK, object{"kind": "ConfigMap"})
}

// list returns the Nodes as a table.
func (a *api) list(w http.ResponseWriter) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var rows []object
	for _, name := range slices.Sorted(maps.Keys(a.nodes)) {
		cells := []any{name, "Ready", "<none>", "5d", "v1.36.3", "10.0.0.1", "<none>"}
		rows = append(rows, object{"cells": cells, "object": nil})
	}
	answer(w, http.StatusOK, object{"kind": "Table", "rows": rows})
}

func status(message string, code int) object {
	return object{
		"kind": "Status", "status": "Failure", "message": message, "reason": "x", "code": code,
	}
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}
