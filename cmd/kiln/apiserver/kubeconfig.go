package apiserver

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

// maxFile is how many bytes a kubeconfig may have. They are mostly certificates.
const maxFile = 4 << 20

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

// checkText returns an error if a kubeconfig would need much more memory than its text.
func checkText(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if e := yamltext.Kubeconfig.Find(text); e != nil {
		return fmt.Errorf("line %d, column %d: %s", e.Line, e.Column, e.Message)
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
	if err != nil {
		return nil
	}
	tokens := map[string]string{} // by the user's name, as the file has them
	for name, a := range config.AuthInfos {
		tokens[name] = a.TokenFile
	}
	if clientcmd.ResolveLocalPaths(config) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(config.Clusters)) {
		c := config.Clusters[name]
		server := c.Server
		if !strings.Contains(server, "://") {
			server = "https://" + server
		}
		if c.Server != "" && !isURL(server, "https", "http") {
			return fmt.Errorf("cluster %q: server is no URL; want one like "+
				"https://api.example.com:6443", name)
		}
		if c.ProxyURL != "" && !isURL(c.ProxyURL, "http", "https", "socks5") {
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
	if err := checkTokens(path, tokens); err != nil {
		return err
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

// checkTokens refuses a tokenFile, given by the user's name, whose relative path leaves the folder
// of the kubeconfig. Its content is sent to the server, and both may be from somebody else.
func checkTokens(path string, tokens map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		file := tokens[name]
		if file == "" || filepath.IsAbs(file) {
			continue
		}
		folder, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return err
		}
		inside := filepath.IsLocal(file)
		if real, err := filepath.EvalSymlinks(filepath.Join(folder, file)); err == nil {
			relative, err := filepath.Rel(folder, real)
			inside = inside && err == nil && filepath.IsLocal(relative)
		}
		if !inside {
			return fmt.Errorf("user %q: tokenFile %q is not in the folder of the kubeconfig; its "+
				"content would be sent to the server: write its whole path if you want that",
				name, file)
		}
	}
	return nil
}

// unexpected lists the settings of a kubeconfig that weaken the connection or send something away.
func unexpected(path string, base *url.URL, config *rest.Config) (notes []string) {
	server := strings.TrimSuffix(base.Redacted(), "/")
	note := func(format string, args ...any) {
		text := fmt.Sprintf("--kubeconfig %s: %s", path, fmt.Sprintf(format, args...))
		notes = append(notes, wording.Visible(text, ""))
	}
	if config.Insecure {
		note("insecure-skip-tls-verify: anybody on the way may answer for %s, and read the "+
			"credential", server)
	}
	if address, err := netip.ParseAddr(base.Hostname()); base.Scheme == "http" &&
		base.Hostname() != "localhost" && !(err == nil && address.IsLoopback()) {
		note("without TLS: anybody on the way may answer for %s, and read the credential", server)
	}
	if config.BearerTokenFile != "" {
		note("tokenFile: the content of %s is sent to %s", config.BearerTokenFile, server)
	}
	if as := config.Impersonate; as.UserName != "" {
		note("as: the API server is asked in the name of %q", as.UserName)
	}
	return notes
}

// isURL reports whether a text is a URL with one of the schemes, a host, and nothing that a parser
// refuses.
func isURL(text string, schemes ...string) bool {
	u, err := url.Parse(text)
	return err == nil && slices.Contains(schemes, u.Scheme) && u.Hostname() != ""
}
