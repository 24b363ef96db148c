// Package apiserver asks the API server of a running cluster. It only reads.
package apiserver

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kiln/manifests"
	"kiln/render/running"
	"kiln/render/terminal"
)

// timeout is how long one question may take.
const timeout = 20 * time.Second

// maxMessage is how many bytes of the API server's message an error has.
const maxMessage = 1000

// maxBytes bounds an answer: five thousand Nodes take some 60 MB.
const maxBytes = 256 << 20

// maxFile bounds a kubeconfig.
const maxFile = 4 << 20

// Client asks one API server.
type Client struct {
	URL string
	// Ends is when the certificate of the kubeconfig ends; zero if it has none.
	Ends time.Time

	http *http.Client
	base string
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

// New returns a client for the current context of a kubeconfig. It fails if the file cannot be
// read, or asks for a program that fetches the credential: kiln starts none.
func New(path string) (*Client, error) {
	// clientcmd names the file in its own words, and lists a merge of several.
	if err := requireRegular(path); err != nil {
		return nil, fmt.Errorf("--kubeconfig %w", err)
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
	config.UserAgent = "kiln"
	if config.Proxy == nil {
		// Without settings of its own, it would get http.DefaultTransport, which kiln has closed.
		config.Proxy = http.ProxyFromEnvironment
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig %s: %w", path, err)
	}
	// The token would go wherever an answer leads, also in the clear.
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	return &Client{
		URL: strings.TrimSuffix(base.Redacted(), "/"), Ends: certificateEnd(config), http: client,
		base: strings.TrimSuffix(base.String(), "/"),
	}, nil
}

// requireRegular returns an error if the file is not a regular one of a size that a kubeconfig and
// what it names may have. clientcmd would wait for a pipe for ever.
func requireRegular(path string) error {
	switch info, err := os.Stat(path); {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return fmt.Errorf("%s: want a regular file of at most %d MiB", path, maxFile>>20)
	}
	return nil
}

// checkNamed checks the files and addresses that a kubeconfig names: clientcmd's errors would quote
// an address, with the password that may be in it. What else is wrong with the kubeconfig is said
// later.
func checkNamed(path string) error {
	config, err := clientcmd.LoadFromFile(path)
	if runtime.IsNotRegisteredError(err) {
		return errors.New("not a kubeconfig; name one, such as nodes/admin.conf")
	}
	if err != nil || clientcmd.ResolveLocalPaths(config) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(config.Clusters)) {
		c := config.Clusters[name]
		_, err := url.Parse(c.Server)
		if _, withScheme := url.Parse("https://" + c.Server); err != nil && withScheme != nil {
			return fmt.Errorf("cluster %q: server is no URL; want one like "+
				"https://api.example.com:6443", name)
		}
		if _, err := url.Parse(c.ProxyURL); err != nil {
			return fmt.Errorf("cluster %q: proxy-url is no URL; want one like "+
				"http://proxy.example.com:3128", name)
		}
	}
	var named []*string
	for _, c := range config.Clusters {
		named = append(named, clientcmd.GetClusterFileReferences(c)...)
	}
	for _, a := range config.AuthInfos {
		named = append(named, clientcmd.GetAuthInfoFileReferences(a)...)
	}
	for _, file := range named {
		if *file == "" {
			continue
		}
		if err := requireRegular(*file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// withoutPath returns an error without the path at its beginning, which the message has already.
func withoutPath(err error, path string) error {
	text := err.Error()
	if _, after, found := strings.Cut(text, path+`": `); found {
		return errors.New(after)
	}
	return err
}

// certificateEnd returns when the client's certificate ends.
func certificateEnd(config *rest.Config) time.Time {
	data := config.CertData
	if len(data) == 0 && config.CertFile != "" {
		data, _ = os.ReadFile(config.CertFile)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return time.Time{}
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}
	}
	return cert.NotAfter
}

// StatusError is an answer that is no 200.
type StatusError struct {
	Code    int
	Path    string
	Message string // what the API server says
}

// Error returns the answer in words, with what to do about it.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("GET %s: HTTP %d", e.Path, e.Code)
	if e.Message != "" {
		text += ": " + terminal.Visible(e.Message, "")
	}
	switch e.Code {
	case http.StatusUnauthorized:
		text += "; the credential has ended, or is that of another cluster: kiln kubeconfig " +
			"makes one"
	case http.StatusForbidden:
		text += "; its user needs to read Nodes and the namespace kube-system"
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
	return c.get(ctx, path, maxBytes)
}

// get is Get for an answer of at most so many bytes.
func (c *Client) get(ctx context.Context, path string, most int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.URL, cause(err))
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: GET %s: %w", c.URL, path, cause(err))
	case len(body) > most:
		return nil, fmt.Errorf("%s: GET %s: more than %d MiB", c.URL, path, most>>20)
	case resp.StatusCode != http.StatusOK:
		var status struct{ Message string }
		_ = json.Unmarshal(body, &status) // else the answer has no message
		if len(status.Message) > maxMessage {
			status.Message = strings.ToValidUTF8(status.Message[:maxMessage], "") + "…"
		}
		return body, &StatusError{Code: resp.StatusCode, Path: path, Message: status.Message}
	}
	return body, nil
}

// cause returns the error below those that repeat the method and the URL.
func cause(err error) error {
	var wrapped interface{ Unwrap() error }
	for errors.As(err, &wrapped) && strings.HasPrefix(err.Error(), "Get ") {
		err = wrapped.Unwrap()
	}
	return err
}

// Nodes returns what all Nodes say.
func (c *Client) Nodes(ctx context.Context) ([]running.Node, error) {
	body, err := c.Get(ctx, "/api/v1/nodes")
	if err != nil {
		return nil, err
	}
	r, err := running.Parse(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.URL, err)
	}
	return r.Nodes, nil
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
