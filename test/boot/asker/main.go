// Command asker asks a Service, as people do who do not know of machines that come and go.
//
//	asker [-every DURATION] -away FILE URL...
//
// URLs are the port of the Service on each machine. It asks one after the other, ten times a
// second, each time over a new connection, and asks none that is in the file of -away, a URL on
// each line: so does a load balancer whose operator takes a machine out before its step. It never
// asks twice. An answer is lost if it does not come within three seconds, or is none with status
// 200. Each lost one is a line on standard error, with its time. SIGTERM ends it; it then waits for
// the answers that are under way and prints a line of JSON: report says what is in it.
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
	"sync"
	"syscall"
	"time"
)

const patient = 3 * time.Second // how long an answer may take

func main() {
	away := flag.String("away", "", "`file` with the URLs that are not asked")
	every := flag.Duration("every", 100*time.Millisecond, "the time between two questions")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "asker: no URL is given")
		os.Exit(2)
	}
	a := newAsker(*away, flag.Args(), patient)
	a.run(ctx, *every)
	if err := json.NewEncoder(os.Stdout).Encode(a.report); err != nil {
		fmt.Fprintln(os.Stderr, "asker:", err)
		os.Exit(1)
	}
}

// report is what asker prints.
type report struct {
	Asked   int            `json:"asked"`
	Lost    int            `json:"lost"`
	Slowest float64        `json:"slowest"` // seconds
	By      map[string]int `json:"by"`      // how often each pod has answered
}

type asker struct {
	away   string
	urls   []string
	client *http.Client
	last   string // the URL that was asked last

	mu     sync.Mutex
	report report
}

func newAsker(away string, urls []string, patience time.Duration) *asker {
	return &asker{
		away: away, urls: urls, report: report{By: map[string]int{}},
		client: &http.Client{
			Timeout: patience,
			Transport: &http.Transport{
				DisableKeepAlives: true,
				DialContext:       (&net.Dialer{Timeout: patience}).DialContext,
			},
		},
	}
}

// run asks until ctx is over, and returns when the last answer is there or lost.
func (a *asker) run(ctx context.Context, every time.Duration) {
	var under sync.WaitGroup
	clock := time.NewTicker(every)
	defer clock.Stop()
	for ctx.Err() == nil {
		url, err := a.next()
		if err != nil {
			a.note(time.Now(), "", err)
		} else {
			under.Go(func() { a.ask(url) })
		}
		select {
		case <-clock.C:
		case <-ctx.Done():
		}
	}
	under.Wait()
}

// next returns the URL after the last one that is not away. It fails if all are.
func (a *asker) next() (string, error) {
	text, err := os.ReadFile(a.away)
	if err != nil {
		return "", err
	}
	away := strings.Fields(string(text))
	at := slices.Index(a.urls, a.last)
	for i := range a.urls {
		url := a.urls[(at+1+i)%len(a.urls)]
		if !slices.Contains(away, url) {
			a.last = url
			return url, nil
		}
	}
	return "", errors.New("all machines are away")
}

func (a *asker) ask(url string) {
	begun := time.Now()
	response, err := a.client.Get(url)
	if err != nil {
		a.note(begun, "", err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", url, response.Status)
	}
	a.note(begun, strings.TrimSpace(string(body)), err)
}

// note counts a question that was asked at a time, and its answer or error.
func (a *asker) note(begun time.Time, pod string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Asked++
	a.report.Slowest = max(a.report.Slowest,
		time.Since(begun).Round(time.Millisecond).Seconds())
	if err != nil {
		a.report.Lost++
		fmt.Fprintln(os.Stderr, "asker:", begun.UTC().Format(time.TimeOnly), err)
		return
	}
	a.report.By[pod]++
}
