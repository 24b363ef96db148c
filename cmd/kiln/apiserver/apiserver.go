// Package apiserver asks the API server of a running cluster. Only Send writes.
package apiserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/text/wording"
)

// timeout is how long one question may take.
const timeout = 20 * time.Second

// maxMessage is how many bytes of the API server's message an error has.
const maxMessage = 1000

// maxBytes bounds an answer that is no list. The API server holds objects of at most 1.5 MiB.
const maxBytes = 4 << 20

// Client asks one API server.
type Client struct {
	URL string
	// Ends is when the certificate of the kubeconfig ends; zero if it has none.
	Ends time.Time

	http *http.Client
	base string
	file string // the kubeconfig
}

// DefaultPath returns the kubeconfig that kubectl would take: the file that KUBECONFIG names, or
// .kube/config in the home folder. It fails if KUBECONFIG names several, which kubectl merges.
func DefaultPath() (string, error) {
	switch list := filepath.SplitList(os.Getenv("KUBECONFIG")); len(list) {
	case 0:
		home, _ := os.UserHomeDir()
		return filepath.Join(home, ".kube", "config"), nil
	case 1:
		return list[0], nil
	}
	return "", errors.New("KUBECONFIG names several files, and kiln merges none: name one with " +
		"--kubeconfig")
}

// New returns a client for the current context of a kubeconfig, and tells messages what the file
// asks for that nobody may expect of it. It fails if the file cannot be read, or asks for a program
// that fetches the credential: kiln starts none.
func New(path string, messages io.Writer) (*Client, error) {
	// clientcmd names the file in its own words, and lists a merge of several.
	if err := requireRegular(path); err != nil {
		return nil, fmt.Errorf("--kubeconfig %w", err)
	}
	if err := checkText(path); err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	if err := checkNamed(path); err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, withoutPath(err, path))
	}
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, fmt.Errorf("--kubeconfig %s: it starts a program for its credential, and kiln "+
			"starts none; name one with a certificate or a token (kiln kubeconfig), or use "+
			"kubectl get nodes -o json with --nodes", path)
	}
	config.Timeout = timeout
	config.DisableCompression = true // a gzip of 128 KB may be 128 MB
	config.UserAgent = "kiln"
	if config.Proxy == nil {
		// Without settings of its own, it would get http.DefaultTransport, which kiln has closed.
		config.Proxy = http.ProxyFromEnvironment
	}
	config.Wrap(func(t http.RoundTripper) http.RoundTripper {
		if t, ok := t.(*http.Transport); ok {
			t.TLSHandshakeTimeout = timeout // and not ten seconds: messages say one time
		}
		return t
	})
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	term.Notes(messages, unexpected(path, base, config))
	// The token would go wherever an answer leads, also in the clear.
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	return &Client{
		URL: strings.TrimSuffix(base.Redacted(), "/"), Ends: certificateEnd(config), http: client,
		base: strings.TrimSuffix(base.String(), "/"), file: path,
	}, nil
}

// StatusError is an answer that is no 200.
type StatusError struct {
	Code    int
	Method  string
	Path    string
	Message string // what the API server says
	Body    []byte
}

// Error returns the answer in words, with what to do about it.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%s %s: HTTP %d", e.Method, e.Path, e.Code)
	if e.Message != "" {
		text += ": " + wording.Visible(e.Message, "")
	}
	switch e.Code {
	case http.StatusUnauthorized:
		text += "; the credential has ended, or is that of another cluster: kiln kubeconfig " +
			"makes one"
	case http.StatusForbidden:
		if text += "; its user needs to read Nodes and the namespace kube-system"; e.Method != get {
			text += ", and for kiln roll to write Leases in that namespace"
		}
	}
	return text
}

// Refused reports whether an error is that of a credential which the API server does not accept:
// asking again does not help.
func Refused(err error) bool {
	var status *StatusError
	return errors.As(err, &status) &&
		(status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden)
}

// Get returns the body of an answer to GET path. It fails with a *StatusError if the code is not
// 200, and otherwise with the error of the connection.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	body, err := c.open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	return c.read(ctx, path, body)
}

// Send sends an object with a method of HTTP, and returns that of the answer. It fails as Get does.
func (c *Client) Send(ctx context.Context, method, path string, object any) ([]byte, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	body, err := c.do(ctx, method, path, nil, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return c.read(ctx, path, body)
}

// read returns what a body has, and closes it.
func (c *Client) read(ctx context.Context, path string, body *body) ([]byte, error) {
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(io.LimitReader(body, maxBytes+1))
	switch {
	case err != nil:
		return nil, c.unanswered(ctx, err)
	case len(text) > maxBytes:
		return nil, fmt.Errorf("%s: %s: more than %d MiB", c.URL, path, maxBytes>>20)
	}
	return text, nil
}

const get = http.MethodGet

// open returns the body of an answer to GET path with a query, which no error repeats.
func (c *Client) open(ctx context.Context, path string, query url.Values) (*body, error) {
	return c.do(ctx, get, path, query, nil)
}

// do returns the body of an answer to a request, which has content unless that is nil.
func (c *Client) do(
	ctx context.Context, method, path string, query url.Values, content io.Reader,
) (*body, error) {
	target := c.base + path
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	if resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated {
		return &body{ReadCloser: resp.Body}, nil
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBytes))
	if err != nil {
		return nil, c.unanswered(ctx, err)
	}
	var status struct{ Message string }
	_ = json.Unmarshal(text, &status) // else the answer has no message
	if len(status.Message) > maxMessage {
		status.Message = strings.ToValidUTF8(status.Message[:maxMessage], "") + "…"
	}
	return nil, fmt.Errorf("%s: %w", c.file, &StatusError{
		Code: resp.StatusCode, Method: method, Path: path, Message: status.Message, Body: text,
	})
}

// Nodes returns what all Nodes say. With a running.Bound these are not all of them.
func (c *Client) Nodes(ctx context.Context) ([]running.Node, error) {
	var list running.List
	unread := c.list(ctx, "/api/v1/nodes", nil, list.Next)
	if unread != nil && !running.IsBound(unread) {
		return nil, unread
	}
	r, err := list.Running()
	if err != nil {
		return nil, cmp.Or(unread, fmt.Errorf("%s: %w", c.URL, err))
	}
	return r.Nodes, unread
}

// Running returns what runs: all Nodes, and what the marker says. If there is none, or the user may
// not read it, or it lists objects that were refused, nobody knows which objects were applied.
func (c *Client) Running(ctx context.Context) (*running.Running, error) {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	marker, err := c.Marker(ctx)
	var status *StatusError
	if err != nil && !(errors.As(err, &status) &&
		(status.Code == http.StatusForbidden || status.Code == http.StatusNotFound)) {
		return nil, err
	}
	return &running.Running{Nodes: nodes, Objects: marker.Applied()}, nil
}

// Marker returns what the marker says. It returns a StatusError if there is none, or if the user
// may not read it.
func (c *Client) Marker(ctx context.Context) (running.Marker, error) {
	body, err := c.Get(ctx, manifests.MarkerPath)
	if err != nil {
		return running.Marker{}, err
	}
	m, err := running.ParseMarker(body)
	if err != nil {
		return running.Marker{}, fmt.Errorf("%s cannot be read: %w", manifests.MarkerPath, err)
	}
	return m, nil
}
