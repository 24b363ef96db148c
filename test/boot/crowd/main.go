// Command crowd asks an API server for routes as so many machines do (templates/boot/learn-routes),
// and reports what that takes.
//
//	crowd -ca FILE -cert FILE -key FILE -machines NUMBER -minutes NUMBER SERVER
//
// A machine reads the entries of all, and then waits half a minute for a change of them, over and
// over, each time with a new connection. All begin within half a minute. After a whole minute they
// are counted: it prints a line of JSON for each minute (minute). Exits with 1 if it cannot begin,
// and says each kind of failure once, on stderr.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kiln/test/boot/operator"
)

const (
	pause   = 30 * time.Second // linger in learn-routes
	perRead = 50               // entries that a machine reads in a second, at most
	path    = "/api/v1/namespaces/kube-system/configmaps"
	only    = "fieldSelector=metadata.name=kiln-routes"
	table   = "application/json;as=Table;v=v1;g=meta.k8s.io"
)

// minute is what all machines together did in a minute.
type minute struct {
	Reads    int64 `json:"reads"`    // of all entries
	Watches  int64 `json:"watches"`  // that began
	Failures int64 `json:"failures"` // of both
	Received int64 `json:"received"` // bytes, with those of TLS
	Sent     int64 `json:"sent"`
}

var reads, watches, failures, received, sent atomic.Int64

func main() {
	ca := flag.String("ca", "", "`file` with the cluster's CA")
	cert := flag.String("cert", "", "`file` with the client's certificate")
	key := flag.String("key", "", "`file` with its key")
	machines := flag.Int("machines", 1000, "how many machines")
	minutes := flag.Int("minutes", 1, "how many minutes are counted")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "crowd: name one server, such as https://10.10.0.11:6443")
		os.Exit(1)
	}
	client, err := connect(*ca, *cert, *key)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
	for range *machines {
		go func() {
			time.Sleep(rand.N(pause))
			ask(client, flag.Arg(0))
		}()
	}
	time.Sleep(2 * pause)
	for range *minutes {
		before := now()
		time.Sleep(time.Minute)
		after := now()
		_ = json.NewEncoder(os.Stdout).Encode(minute{
			after.Reads - before.Reads, after.Watches - before.Watches,
			after.Failures - before.Failures, after.Received - before.Received,
			after.Sent - before.Sent,
		})
	}
}

func now() minute {
	return minute{reads.Load(), watches.Load(), failures.Load(), received.Load(), sent.Load()}
}

// connect returns a client that makes a new connection for each request, as curl does.
func connect(ca, cert, key string) (*http.Client, error) {
	config, err := operator.TLS(ca, cert, key)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DisableKeepAlives: true, ForceAttemptHTTP2: true, DisableCompression: true,
		TLSClientConfig: config,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			var d net.Dialer
			conn, err := d.DialContext(ctx, network, address)
			return counted{conn}, err
		},
	}
	return &http.Client{Transport: transport}, nil
}

// counted is a connection whose bytes are counted.
type counted struct{ net.Conn }

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	received.Add(int64(n))
	return n, err
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	sent.Add(int64(n))
	return n, err
}

var said sync.Map // failures

func fail(err error) {
	failures.Add(1)
	if _, known := said.LoadOrStore(err.Error(), true); !known {
		fmt.Fprintln(os.Stderr, "crowd:", err)
	}
}

// ask is a machine, for ever.
func ask(client *http.Client, server string) {
	version, entries, quiet := "", 0, false
	for {
		if !quiet {
			reads.Add(1)
			var err error
			if version, entries, err = read(client, server); err != nil {
				fail(err)
				time.Sleep(pause)
				continue
			}
		}
		begun := time.Now()
		watches.Add(1)
		event, err := watch(client, server, version)
		if err != nil {
			fail(err)
		}
		quiet = !event && err == nil
		least := time.Second * time.Duration(1+entries/perRead)
		if !event {
			least = pause
		}
		time.Sleep(time.Until(begun.Add(least)))
	}
}

// read reads the entries, and returns the version of the list.
func read(client *http.Client, server string) (version string, entries int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), pause)
	defer cancel()
	response, err := get(ctx, client, server+path+"?"+only, "")
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []struct{ Data map[string]string }
	}
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		return "", 0, err
	}
	if len(list.Items) == 1 {
		entries = len(list.Items[0].Data)
	}
	return list.Metadata.ResourceVersion, entries, nil
}

// watch waits until something happens, or the API server ends the watch.
func watch(client *http.Client, server, version string) (event bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), pause)
	defer cancel()
	response, err := get(ctx, client, server+path+"?watch=1&includeObject=None&"+only+
		"&resourceVersion="+version+"&timeoutSeconds=24", table)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	n, err := io.ReadFull(response.Body, make([]byte, 1))
	if n == 0 && err == io.EOF {
		return false, nil
	}
	return n == 1, err
}

func get(ctx context.Context, client *http.Client, url, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		response.Body.Close()
		return nil, fmt.Errorf("%s: %s", response.Status, strings.TrimSpace(string(body)))
	}
	return response, nil
}
