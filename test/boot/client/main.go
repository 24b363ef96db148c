// Command client writes and reads objects of a cluster for some time, while machines of the cluster
// come and go, and reports what a user would have noticed.
//
//	client -ca FILE -cert FILE -key FILE -for DURATION SERVER...
//
// A round writes a number to one of a thousand ConfigMaps through one API server, and reads it back
// through another one. Numbers grow by one. A request that fails goes to the next server. At the
// end it reads all ConfigMaps. Every minute and at the end it prints a line of JSON: report says
// what is in it.
// Exits with 1 if something that was acknowledged is lost, or if a read was wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"kiln/test/boot/operator"
)

const (
	slots   = 1000
	pace    = 200 * time.Millisecond // of rounds
	patient = 3 * time.Second        // how long a request may take
	objects = "/api/v1/namespaces/default/configmaps"
)

func main() {
	ca := flag.String("ca", "", "`file` with the cluster's CA")
	cert := flag.String("cert", "", "`file` with the client's certificate")
	key := flag.String("key", "", "`file` with its key")
	span := flag.Duration("for", time.Minute, "how long to write")
	flag.Parse()
	servers, err := connect(*ca, *cert, *key, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
	l := newLedger()
	if err := run(servers, l, *span); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
	if l.Lost > 0 || l.Wrong > 0 {
		os.Exit(1)
	}
}

// server is one API server.
type server struct {
	url    string
	client *http.Client
}

// connect makes a client for each URL.
func connect(ca, cert, key string, urls []string) ([]server, error) {
	if len(urls) == 0 {
		return nil, errors.New("no API server is given")
	}
	config, err := operator.TLS(ca, cert, key)
	if err != nil {
		return nil, err
	}
	var servers []server
	for _, url := range urls {
		transport := &http.Transport{
			DialContext:     (&net.Dialer{Timeout: time.Second}).DialContext,
			TLSClientConfig: config.Clone(),
		}
		servers = append(servers, server{url, &http.Client{Transport: transport, Timeout: patient}})
	}
	return servers, nil
}

// run writes and reads until the span is over, and then reads everything once more.
func run(servers []server, l *ledger, span time.Duration) error {
	begun := time.Now()
	spoke, answered := begun, begun
	for n := 1; time.Since(begun) < span; n++ {
		next := time.Now().Add(pace)
		l.attempt(n)
		at := n % len(servers)
		err := anyServer(servers, at, func(s server) error { return s.write(n) }, l)
		if err == nil {
			l.acknowledge(n)
			var value int
			err = anyServer(servers, at+1, func(s server) (err error) {
				value, err = s.read(n % slots)
				return err
			}, l)
			if err == nil {
				l.judge(n%slots, value)
			}
		}
		if err == nil {
			l.silence(time.Since(answered), n)
			answered = time.Now()
		}
		if time.Since(spoke) > time.Minute {
			spoke = time.Now()
			l.print()
		}
		time.Sleep(time.Until(next))
	}
	l.silence(time.Since(answered), 0)
	deadline := time.Now().Add(2 * time.Minute)
	for slot := range l.acked {
		for {
			var value int
			err := anyServer(servers, slot, func(s server) (err error) {
				value, err = s.read(slot)
				return err
			}, l)
			if err == nil {
				l.settle(slot, value)
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("the cluster does not answer at the end: %w", err)
			}
			time.Sleep(pace)
		}
	}
	l.print()
	return nil
}

// anyServer asks the servers, beginning with one of them, until one has answered.
func anyServer(servers []server, first int, ask func(server) error, l *ledger) (err error) {
	for i := range servers {
		if err = ask(servers[(first+i)%len(servers)]); err == nil {
			return nil
		}
		l.Failed++
	}
	return err
}

// write makes the number's ConfigMap, or changes it.
func (s server) write(n int) error {
	name := fmt.Sprint("number-", n%slots)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},`+
		`"data":{"number":"%d"}}`, name, n)
	_, err := s.do(http.MethodPatch, "/"+name+"?fieldManager=client&force=true", body)
	return err
}

// read returns the number in a ConfigMap, 0 if there is no such ConfigMap.
func (s server) read(slot int) (value int, err error) {
	answer, err := s.do(http.MethodGet, fmt.Sprint("/number-", slot), "")
	if errors.Is(err, errAbsent) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var object struct {
		Data struct {
			Number int `json:"number,string"`
		} `json:"data"`
	}
	err = json.Unmarshal(answer, &object)
	return object.Data.Number, err
}

var errAbsent = errors.New("HTTP 404")

func (s server) do(method, path, body string) (answer []byte, err error) {
	request, err := http.NewRequestWithContext(context.Background(), method, s.url+objects+path,
		strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	switch {
	case err != nil:
		return nil, err
	case method == http.MethodGet && response.StatusCode == http.StatusNotFound:
		return nil, errAbsent
	case response.StatusCode >= 300:
		return nil, fmt.Errorf("%s %s: %s", method, s.url, response.Status)
	}
	return answer, nil
}
