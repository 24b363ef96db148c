package apiserver_test

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/cmd/kiln/apiserver"
	"kiln.dev/kiln/cmd/kiln/term"
)

// TestMain runs the tests as kiln runs: without the default HTTP client.
func TestMain(m *testing.M) {
	term.IsolateProcess()
	os.Exit(m.Run())
}

const secret = "0123456789secret"

// kubeconfig writes a kubeconfig for a server, with the settings of its cluster and its user.
func kubeconfig(t *testing.T, server, cluster, user string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "admin.conf")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, %s}}]
users: [{name: u, user: {%s}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`, server, cluster, user)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// trusted returns the setting of a cluster that trusts a server.
func trusted(t *testing.T, s *httptest.Server) string {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{
		Type: "CERTIFICATE", Bytes: s.Certificate().Raw,
	}), 0o600))
	return fmt.Sprintf("certificate-authority: %q", ca)
}

// TestRedirect: an answer that leads elsewhere is an error. The token would go with it.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var asked bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked = true
	}))
	t.Cleanup(other.Close)
	s := httptest.NewTLSServer(http.RedirectHandler(other.URL+"/x", http.StatusFound))
	t.Cleanup(s.Close)
	c, err := apiserver.New(kubeconfig(t, s.URL, trusted(t, s), "token: "+secret), io.Discard)
	require.NoError(t, err)
	_, err = c.Nodes(t.Context())
	require.ErrorContains(t, err, "GET /api/v1/nodes: HTTP 302")
	require.False(t, asked)
}

// TestSecrets: no password in a server's URL is shown, and no endless message.
func TestSecrets(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"message":"` + strings.Repeat("x", 9999) + `"}`))
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	u.User = url.UserPassword("u", secret)
	c, err := apiserver.New(kubeconfig(t, u.String(), trusted(t, s), "token: "+secret), io.Discard)
	require.NoError(t, err)
	require.NotContains(t, c.URL, secret)
	_, err = c.Nodes(t.Context())
	require.ErrorContains(t, err, "HTTP 500: xxx")
	require.NotContains(t, err.Error(), secret)
	require.Less(t, len(err.Error()), 1500)
}

// TestAddresses: an address that is none is not quoted: it may have a password. The API server's
// message is one line, whatever is in it.
func TestAddresses(t *testing.T) {
	t.Parallel()
	const server = `cluster "c": server is no URL; want one like https://api.example.com:6443`
	const proxy = `cluster "c": proxy-url is no URL; want one like http://proxy.example.com:3128`
	through := func(url string) string {
		return kubeconfig(t, "https://127.0.0.1:1", `proxy-url: "`+url+`"`, "")
	}
	for path, want := range map[string]string{
		kubeconfig(t, "http://u:"+secret+"@127.0.0.1:1\x01/", "", ""): server,
		kubeconfig(t, "https://u:"+secret+"@127.0.0.1:9x", "", ""):    server,
		kubeconfig(t, "ftp://u:"+secret+"@127.0.0.1", "", ""):         server,
		through("ht!tp://u:" + secret + "@127.0.0.1:2"):               proxy,
		through("u:" + secret + "@127.0.0.1:2"):                       proxy,
		through("ftp://u:" + secret + "@127.0.0.1:2"):                 proxy,
	} {
		_, err := apiserver.New(path, io.Discard)
		require.EqualError(t, err, "--kubeconfig "+path+": "+want)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"message":"x\n\nkiln: all is well\u202e"}`))
	}))
	t.Cleanup(s.Close)
	path := kubeconfig(t, s.URL, "", "token: "+secret)
	c, err := apiserver.New(path, io.Discard)
	require.NoError(t, err)
	_, err = c.Nodes(t.Context())
	require.EqualError(t, err, path+
		`: GET /api/v1/nodes: HTTP 500: x\u000a\u000akiln: all is well\u202e`)
	hostless := kubeconfig(t, "127.0.0.1:6443", "", "token: "+secret)
	_, err = apiserver.New(hostless, io.Discard)
	require.NoError(t, err, "kubectl takes it, too")
}

// TestNoKubeconfig: another file of the field is named as what it is not.
func TestNoKubeconfig(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(path, []byte("apiVersion: kiln.dev/v1alpha1\nkind: Cluster\n"),
		0o600))
	_, err := apiserver.New(path, io.Discard)
	require.EqualError(t, err, "--kubeconfig "+path+
		": not a kubeconfig; name one, such as nodes/admin.conf")
}

// TestPlain: a server without settings for TLS is asked, such as kubectl proxy, and one whose CA
// the system trusts.
func TestPlain(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"kind":"Node","metadata":{"name":"a"}}`))
	}))
	t.Cleanup(s.Close)
	c, err := apiserver.New(kubeconfig(t, s.URL, "", "token: "+secret), io.Discard)
	require.NoError(t, err)
	nodes, err := c.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 1)
}

// TestDefaultPath: no file is chosen in silence if KUBECONFIG names several.
func TestDefaultPath(t *testing.T) {
	t.Setenv("KUBECONFIG", "a")
	path, err := apiserver.DefaultPath()
	require.NoError(t, err)
	require.Equal(t, "a", path)
	t.Setenv("KUBECONFIG", "a"+string(filepath.ListSeparator)+"b")
	_, err = apiserver.DefaultPath()
	require.ErrorContains(t, err, "KUBECONFIG names several files")
}

// TestPipes: a pipe is refused, as the kubeconfig and as a file that it names: nobody may ever
// write to it.
func TestPipes(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	const server = "https://127.0.0.1:1"
	for _, path := range []string{
		pipe,
		kubeconfig(t, server, "", fmt.Sprintf("tokenFile: %q", pipe)),
		kubeconfig(t, server, fmt.Sprintf("certificate-authority: %q", pipe), ""),
		kubeconfig(t, server, "", fmt.Sprintf("client-key: %q", pipe)),
	} {
		_, err := apiserver.New(path, io.Discard)
		require.ErrorContains(t, err, pipe+": want a regular file of at most 4 MiB")
	}
}

// TestUnexpected: what a kubeconfig asks for that weakens the connection, sends a file away, or
// takes another name is said, and no content of a file is.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "to\u202eken")
	require.NoError(t, os.WriteFile(token, []byte(secret), 0o600))
	const server = "https://10.0.0.1:6443"
	for name, row := range map[string]struct{ server, cluster, user, want string }{
		"nothing": {server, "", "token: " + secret, ""},
		"no verification": {server, "insecure-skip-tls-verify: true", "token: " + secret,
			"insecure-skip-tls-verify: anybody on the way may answer for " + server +
				", and read the credential\n"},
		"no TLS": {"http://u:" + secret + "@10.0.0.1", "", "token: " + secret,
			"without TLS: anybody on the way may answer for http://u:xxxxx@10.0.0.1"},
		"no TLS on this computer": {"http://127.0.0.1:8001", "", "", ""},
		"a file": {server, "", fmt.Sprintf("tokenFile: %q", token),
			"tokenFile: the content of " + strings.ReplaceAll(token, "\u202e", `\u202e`) +
				" is sent to " + server + "\n"},
		"another name": {server, "", "token: " + secret + ", as: \"root\\n\"",
			`as: the API server is asked in the name of "root\n"` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var messages bytes.Buffer
			_, err := apiserver.New(kubeconfig(t, row.server, row.cluster, row.user), &messages)
			require.NoError(t, err)
			require.NotContains(t, messages.String(), secret)
			if row.want == "" {
				require.Empty(t, messages.String())
				return
			}
			require.Contains(t, messages.String(), row.want)
			require.Equal(t, 1, strings.Count(messages.String(), "\n"))
		})
	}
}

// TestTokenFile: a relative path does not lead out of the folder of the kubeconfig, not even by a
// link.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		file string
		out  bool
	}{
		"beside it":            {file: "token"},
		"a link beside it":     {file: "link"},
		"above it":             {file: "../other/token", out: true},
		"above it, and absent": {file: "../absent", out: true},
		"through a link":       {file: "away", out: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := kubeconfig(t, "https://10.0.0.1:6443", "", "tokenFile: "+row.file)
			dir := filepath.Dir(path)
			other := filepath.Join(filepath.Dir(dir), "other")
			require.NoError(t, os.MkdirAll(other, 0o700))
			for _, folder := range []string{dir, other} {
				require.NoError(t, os.WriteFile(filepath.Join(folder, "token"), []byte(secret),
					0o600))
			}
			require.NoError(t, os.Symlink("token", filepath.Join(dir, "link")))
			require.NoError(t, os.Symlink("../other/token", filepath.Join(dir, "away")))
			_, err := apiserver.New(path, io.Discard)
			if !row.out {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, fmt.Sprintf("user \"u\": tokenFile %q is not in the "+
				"folder of the kubeconfig", row.file))
			require.NotContains(t, err.Error(), secret)
		})
	}
}

// TestPages: a list is read page by page, and no server makes it endless.
func TestPages(t *testing.T) {
	t.Parallel()
	var endless atomic.Bool
	var asked atomic.Int32
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		if r.URL.Query().Get("limit") != "500" || r.Header.Get("Accept-Encoding") != "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		next := "more"
		if r.URL.Query().Get("continue") == "more" && !endless.Load() {
			next = ""
		}
		_, _ = fmt.Fprintf(w, `{"kind":"NodeList","metadata":{"continue":%q},"items":[`+
			`{"metadata":{"name":"n-%d"}}]}`, next, n)
	}))
	t.Cleanup(s.Close)
	c, err := apiserver.New(kubeconfig(t, s.URL, trusted(t, s), "token: "+secret), io.Discard)
	require.NoError(t, err)
	nodes, err := c.Nodes(t.Context())
	require.NoError(t, err)
	require.Len(t, nodes, 2)
	endless.Store(true)
	_, err = c.Nodes(t.Context())
	require.ErrorContains(t, err, "GET /api/v1/nodes: more than 160 pages")
}

// TestKubeconfigBounds: no kubeconfig costs far more memory than its text.
func TestKubeconfigBounds(t *testing.T) {
	t.Parallel()
	certificate := strings.Repeat("QUJD", 1<<18)
	for name, row := range map[string]struct{ user, want string }{
		"a long certificate": {"token: abc, x: " + certificate, ""},
		"many values": {"x: [" + strings.Repeat("{},", 60_000) + "]",
			"line 4, column 149994: more than 50000 values"},
		"aliases": {"x: &x [" + strings.Repeat("1,", 1000) + "], y: [" +
			strings.Repeat("*x,", 100) + "]",
			"line 4, column 2187: aliases stand for 50050 values"},
		"aliases behind a line break of YAML": {"x:\u0085  &x [" + strings.Repeat("1,", 1000) +
			"], y: [" + strings.Repeat("\u0085  *x,", 100) + "]",
			"line 55, column 3: aliases stand for 50050 values"},
		"letters in a string": {`token: "a &b *c"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := kubeconfig(t, "https://10.0.0.1:6443", "", row.user)
			_, err := apiserver.New(path, io.Discard)
			if row.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "--kubeconfig "+path+": "+row.want)
		})
	}
}
