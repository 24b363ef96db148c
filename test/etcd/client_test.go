package etcd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// call asks a member through the JSON gateway, in its own network.
func (m *member) call(method string, request, response any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"https://"+m.address+":2378/v3/"+method, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	client, err := m.httpClient()
	if err != nil {
		return err
	}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", m.name, answer.Status, data)
	}
	return json.Unmarshal(data, response)
}

// httpClient dials from within the machine's namespace.
func (m *member) httpClient() (*http.Client, error) {
	cert, err := tls.LoadX509KeyPair(m.root+"/etc/etcd/pki/server.crt",
		m.root+"/etc/etcd/pki/server.key")
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(m.read("/etc/etcd/pki/ca.crt")))
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{Certificates: []tls.Certificate{cert}, RootCAs: pool},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			type dialled struct {
				conn net.Conn
				err  error
			}
			done := make(chan dialled, 1)
			go func() {
				// A thread that was in another network is not given back.
				runtime.LockOSThread()
				ns, err := os.Open("/run/netns/" + m.ns)
				if err != nil {
					done <- dialled{nil, err}
					return
				}
				defer ns.Close()
				if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
					done <- dialled{nil, err}
					return
				}
				conn, err := net.DialTimeout(network, address, 3*time.Second)
				done <- dialled{conn, err}
			}()
			d := <-done
			return d.conn, d.err
		},
	}}, nil
}

func (m *member) put(key, value string) error {
	b := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return m.call("kv/put", map[string]string{"key": b(key), "value": b(value)}, &struct{}{})
}

// keys are the keys that this member itself holds, without asking the others.
func (m *member) keys() ([]string, error) {
	var answer struct{ Kvs []struct{ Key []byte } }
	err := m.call("kv/range", map[string]any{
		"key": "AA==", "range_end": "AA==",
		"serializable": true, "keys_only": true, "limit": "1000",
	}, &answer)
	var keys []string
	for _, kv := range answer.Kvs {
		keys = append(keys, string(kv.Key))
	}
	return keys, err
}

// clusterID returns the identity of the cluster that a member reports, with a quorum or without.
func (m *member) clusterID() string {
	client, err := m.httpClient()
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"https://"+m.address+":2380/members", nil)
	if err != nil {
		return ""
	}
	answer, err := client.Do(r)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	return answer.Header.Get("X-Etcd-Cluster-Id")
}

// voters are the names of the members that vote, sorted, and how many there are besides.
func (m *member) voters() (names []string, others int, err error) {
	var answer struct {
		Members []struct {
			Name      string
			IsLearner bool
		}
	}
	err = m.call("cluster/member/list", map[string]bool{"linearizable": true}, &answer)
	for _, x := range answer.Members {
		if x.IsLearner || x.Name == "" {
			others++
		} else {
			names = append(names, x.Name)
		}
	}
	slices.Sort(names)
	return names, others, err
}
