package lock

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote/errcode"

	"kiln.dev/kiln/render/facts/target"
)

// The most bytes of a program, and of a list of hashes.
const (
	maxProgram = 1 << 30
	maxList    = 1 << 20
)

// tries is the number of attempts for one file. pause is the time before the second attempt, and
// doubles. An attempt ends when the server sends less than rate bytes a second for the time stall,
// as on a machine.
const (
	tries = 4
	pause = time.Second
	stall = 30 * time.Second
	rate  = 1000
)

// answer bounds all requests for one image, and for one list of hashes: redirections, logins and
// attempts together. The servers of a file have as long, in all, until its bytes come. whole bounds
// all attempts at a file: at 100 kB a second, 180 MB come.
const (
	answer = time.Minute
	whole  = 30 * time.Minute
)

// client asks servers.
type client struct {
	http   *http.Client
	do     func(*http.Request) (*http.Response, error) // of http, or what logs in with it
	header http.Header                                 // of each request

	pause, stall, answer, whole time.Duration
}

// newClient returns a client for a command line that names these URLs.
func newClient(named []string) *client {
	g := newGuard(named)
	// Not the default transport, which package term replaces by one that refuses.
	transport := &http.Transport{
		Proxy:                 g.proxy,
		DialContext:           g.dial,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: stall,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // machines hash what the server sends
	}
	c := &client{
		http:   &http.Client{Transport: transport, CheckRedirect: follow},
		header: http.Header{"User-Agent": {"kiln"}},
		pause:  pause, stall: stall, answer: answer, whole: whole,
	}
	c.do = c.http.Do
	return c
}

// follow refuses to leave https, and servers that lead in a circle.
func follow(request *http.Request, via []*http.Request) error {
	scheme, before := request.URL.Scheme, via[len(via)-1].URL.Scheme
	if scheme != "https" && scheme != before {
		return fmt.Errorf("leads from %s to %s, which is refused", before, scheme)
	}
	if len(via) >= maxRedirects {
		return fmt.Errorf("leads on more than %d times", maxRedirects)
	}
	return nil
}

// maxRedirects has room for a project that moved twice, and for the servers of its files.
const maxRedirects = 5

// statusError is an answer other than the file.
type statusError struct {
	url, status string
	code        int
}

func (e *statusError) Error() string { return e.url + ": the server says " + e.status }

// gone reports whether the error says that the server is there and the file is not.
func gone(err error) bool {
	var status *statusError
	return errors.As(err, &status) &&
		(status.code == http.StatusNotFound || status.code == http.StatusGone)
}

// reader reads the body of an answer.
type reader func(header http.Header, body io.Reader) error

// lateError says that a deadline has passed. No attempt follows.
type lateError struct {
	what  string
	limit time.Duration
}

func (e lateError) Error() string {
	return fmt.Sprintf("%s within %s, redirections, logins and attempts counted; try again "+
		"later, or name a mirror", e.what, e.limit)
}

const noAnswer = "no whole answer came"

// within returns a context that ends after the time for all requests of one image or list.
func (c *client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.answer, lateError{noAnswer, c.answer})
}

// get calls read with the body of a file, of at most limit bytes. It tries again if the server
// fails or the file does not come whole.
func (c *client) get(ctx context.Context, url string, limit int64, read reader) error {
	var err error
	var silent time.Duration
	for n := range tries {
		if n > 0 {
			select {
			case <-ctx.Done():
				return err
			case <-time.After(c.pause << (n - 1)):
			}
		}
		again := false
		if again, err = c.try(ctx, url, limit, &silent, read); !again {
			break
		}
	}
	return err
}

// try makes one attempt. It adds to silent how long no answer came. again reports whether another
// attempt may help.
func (c *client) try(
	ctx context.Context, from string, limit int64, silent *time.Duration, read reader,
) (again bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return false, err
	}
	request.Header = c.header.Clone()
	start := time.Now()
	late := time.AfterFunc(c.answer-*silent, func() { cancel(lateError{noAnswer, c.answer}) })
	response, err := c.do(request)
	late.Stop()
	*silent += time.Since(start)
	switch {
	case err != nil && ctx.Err() != nil:
		asked := request.URL
		var last *url.Error
		if errors.As(err, &last) {
			if u, e := url.Parse(last.URL); e == nil {
				asked = u
			}
		}
		return whyStopped(ctx, from, asked)
	case err != nil:
		return passing(err), err
	}
	defer func() { _ = response.Body.Close() }()
	if code := response.StatusCode; code != http.StatusOK {
		return passingCode(code), &statusError{from, response.Status, code}
	}
	body := &counter{from: http.MaxBytesReader(nil, response.Body, limit)}
	defer c.watch(body, cancel)()
	err = read(response.Header, body)
	var long *http.MaxBytesError
	var write writeError
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &write):
		return false, write.error
	case errors.As(err, &long):
		return false, fmt.Errorf("%s: has more than %d bytes, the most that it may have", from,
			limit)
	case ctx.Err() != nil:
		return whyStopped(ctx, from, response.Request.URL)
	}
	return true, fmt.Errorf("%s: %w", from, err)
}

// whyStopped returns why an attempt was stopped while a server was asked. A server that is too slow
// gets another attempt; there is none after the deadline, or for who interrupts kiln.
func whyStopped(ctx context.Context, from string, asked *url.URL) (again bool, err error) {
	cause := context.Cause(ctx)
	var late lateError
	again = !errors.Is(cause, context.Canceled) && !errors.As(cause, &late)
	if u, e := url.Parse(from); e == nil && u.Host != asked.Host {
		cause = fmt.Errorf("leads to %s: %w", asked.Host, cause)
	}
	return again, fmt.Errorf("%s: %w", from, cause)
}

// passingCode reports whether an answer with a code may be another one a second later.
func passingCode(code int) bool {
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests ||
		code == http.StatusRequestTimeout
}

// passing reports whether a request that failed may succeed a second later: something took too
// long, a connection broke, or the server of tokens failed. All else would be the same again, such
// as a certificate, a redirection that is not followed, or a login that cannot be read.
func passing(err error) bool {
	var slow net.Error
	var name *net.DNSError
	var token *errcode.ErrorResponse
	return errors.As(err, &slow) && slow.Timeout() || errors.As(err, &name) && name.IsTemporary ||
		errors.As(err, &token) && passingCode(token.StatusCode) ||
		slices.ContainsFunc(broken, func(e error) bool { return errors.Is(err, e) }) ||
		strings.Contains(err.Error(), "http2: ") || strings.Contains(err.Error(), "stream error: ")
}

// broken are the errors of a connection that ended early. Those of HTTP/2 have no type.
var broken = []error{
	io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
}

// counter counts the bytes of a body.
type counter struct {
	from io.Reader
	read atomic.Int64
}

func (c *counter) Read(p []byte) (n int, err error) {
	n, err = c.from.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// watch cancels a request whose body comes too slowly, until stop is called.
func (c *client) watch(body *counter, cancel context.CancelCauseFunc) (stop func()) {
	ticker, ended := time.NewTicker(c.stall), make(chan struct{})
	go func() {
		least := int64(rate * c.stall / time.Second)
		for before := int64(0); ; {
			select {
			case <-ended:
				return
			case <-ticker.C:
			}
			now := body.read.Load()
			if now-before < least {
				cancel(fmt.Errorf("the server sent %d bytes in %s, and at least %d are wanted",
					now-before, c.stall, least))
				return
			}
			before = now
		}
	}()
	return func() {
		ticker.Stop()
		close(ended)
	}
}

// hash returns the SHA-256 of a file, in hex, and its size in bytes. create opens what else gets
// the bytes, once for each attempt.
func (c *client) hash(
	ctx context.Context, url string, create func() (io.WriteCloser, error),
) (sum string, size int64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.whole,
		lateError{"the file did not come", c.whole})
	defer cancel()
	err = c.get(ctx, url, maxProgram, func(_ http.Header, body io.Reader) error {
		h := sha256.New()
		to, err := create()
		if err != nil {
			return writeError{err}
		}
		n, err := io.Copy(io.MultiWriter(h, diskWriter{to}), body)
		sum, size = hex.EncodeToString(h.Sum(nil)), n
		if e := to.Close(); err == nil && e != nil {
			err = writeError{e}
		}
		return err
	})
	return sum, size, err
}

// writeError is an error of the disk on which a file is saved, and not of the server.
type writeError struct{ error }

func (e writeError) Unwrap() error { return e.error }

// diskWriter marks the errors of a writer as writeError.
type diskWriter struct{ to io.Writer }

func (d diskWriter) Write(p []byte) (n int, err error) {
	if n, err = d.to.Write(p); err != nil {
		err = writeError{err}
	}
	return n, err
}

// notSaved is where the bytes of a file go that is hashed and not saved.
type notSaved struct{ io.Writer }

func (notSaved) Close() error { return nil }

// noFile opens notSaved.
func noFile() (io.WriteCloser, error) { return notSaved{io.Discard}, nil }

// published returns the SHA-256 that a list says of a file. A line of the list is a sum alone, or a
// sum and the name of a file.
func (c *client) published(ctx context.Context, list, file string) (sum string, err error) {
	ctx, cancel := c.within(ctx)
	defer cancel()
	name := path.Base(file)
	err = c.get(ctx, list, maxList, func(_ http.Header, body io.Reader) error {
		text, err := io.ReadAll(body)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			words := strings.Fields(line)
			if len(words) == 0 || !target.IsSHA256(words[0]) {
				continue
			}
			if len(words) == 1 || path.Base(strings.TrimPrefix(words[1], "*")) == name {
				sum = words[0]
				return nil
			}
		}
		return nil
	})
	if err == nil && sum == "" {
		err = fmt.Errorf("%s: has no SHA-256 of %s", list, name)
	}
	return sum, err
}
