// Command client writes and reads objects of a cluster for some time, while machines of the cluster
// come and go, and reports what a user would have noticed.
//
//	client -ca FILE -cert FILE -key FILE -for DURATION [-away FILE] SERVER...
//
// A round writes a number to one of a thousand ConfigMaps through one API server, and reads it back
// through another one; a second has five rounds. Numbers grow by one. A request that fails goes to
// the next server. At the end it reads all ConfigMaps. Every minute and at the end it prints a line
// of JSON: report says what is in it. SIGTERM ends it as the end of its time does.
//
// It reads its credential anew when the file of the CA has changed. The file of -away has the
// servers whose machines are switched off, a URL on each line: their failures count apart.
//
// Exits with 1 if something that was acknowledged is lost, if a read was wrong, or if no write was
// acknowledged.
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
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"kiln.dev/kiln/test/boot/operator"
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
	away := flag.String("away", "", "`file` with the servers that are switched off")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *span)
	defer cancel()
	l := newLedger()
	c := &cluster{ca: *ca, cert: *cert, key: *key, away: *away, urls: flag.Args(), ledger: l,
		atEnd: 2 * time.Minute}
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
	if !l.good() {
		fmt.Fprintf(os.Stderr, "client: %d writes acknowledged, %d lost, %d reads wrong\n",
			l.Written, l.Lost, l.Wrong)
		os.Exit(1)
	}
}

// cluster is the API servers, and how to speak to them.
type cluster struct {
	ca, cert, key, away string
	urls                []string
	ledger              *ledger
	atEnd               time.Duration // how long the API servers may take to answer at the end

	servers []server
	stamp   time.Time // when the file of the CA that they verify was changed
}

// server is one API server.
type server struct {
	url    string
	client *http.Client
}

// connect makes a client for each URL, if there is none yet or if the credential has changed.
func (c *cluster) connect() error {
	if len(c.urls) == 0 {
		return errors.New("no API server is given")
	}
	info, err := os.Stat(c.ca)
	if err != nil || info.ModTime().Equal(c.stamp) {
		return err
	}
	config, err := operator.TLS(c.ca, c.cert, c.key)
	if err != nil {
		return err
	}
	for _, s := range c.servers {
		s.client.CloseIdleConnections()
	}
	c.servers, c.stamp = nil, info.ModTime()
	for _, url := range c.urls {
		transport := &http.Transport{
			DialContext:     (&net.Dialer{Timeout: time.Second}).DialContext,
			TLSClientConfig: config.Clone(),
		}
		c.servers = append(c.servers,
			server{url, &http.Client{Transport: transport, Timeout: patient}})
	}
	return nil
}

// run writes and reads until ctx is over, and then reads everything once more.
func (c *cluster) run(ctx context.Context) error {
	l := c.ledger
	begun := time.Now()
	spoke, answered := begun, begun
	for n := 1; ctx.Err() == nil; n++ {
		next := time.Now().Add(pace)
		if err := c.connect(); err != nil {
			return err
		}
		l.attempt(n)
		at := n % len(c.servers)
		err := c.anyServer(at, func(s server) error { return s.write(n) })
		if err == nil {
			l.acknowledge(n)
			var value int
			err = c.anyServer(at+1, func(s server) (err error) {
				value, err = s.read(n % slots)
				return err
			})
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
	deadline := time.Now().Add(c.atEnd)
	for slot := range l.acked {
		for {
			var value int
			err := c.anyServer(slot, func(s server) (err error) {
				value, err = s.read(slot)
				return err
			})
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
func (c *cluster) anyServer(first int, ask func(server) error) (err error) {
	for i := range c.servers {
		s := c.servers[(first+i)%len(c.servers)]
		if err = ask(s); err == nil {
			return nil
		}
		off, readErr := c.isAway(s.url)
		if readErr != nil {
			return readErr
		}
		c.ledger.failure(off, err)
	}
	return err
}

// isAway reports whether the machine of a server is switched off.
func (c *cluster) isAway(url string) (bool, error) {
	if c.away == "" {
		return false, nil
	}
	text, err := os.ReadFile(c.away)
	return slices.Contains(strings.Fields(string(text)), url), err
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
