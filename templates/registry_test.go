package templates_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

// TestRegistryAccess: the check of images asks a registry with the CA, the client certificate and
// the login of the machine. The server is a real one, which wants all three. For one of its images
// it exchanges the login for a token.
func TestRegistryAccess(t *testing.T) {
	curl := need.Program(t, "curl")
	underAShell(t, func(t *testing.T, shell []string) {
		ca, caCert, _ := credential(t, nil, "ca")
		server, _, _ := credential(t, &ca, "server")
		_, cert, key := credential(t, &ca, "client")
		_, foreign, _ := credential(t, nil, "another ca")
		pool := x509.NewCertPool()
		pool.AddCert(ca.Leaf)
		var s *httptest.Server
		s = httptest.NewUnstartedServer(http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				user, password, _ := r.BasicAuth()
				known := user == `robot$a` && password == `p"\ w`
				tokens := strings.HasPrefix(r.URL.Path, "/v2/tokens/")
				switch {
				case r.URL.Path == "/token" && known && r.URL.Query().Get("service") == "a b" &&
					r.URL.Query().Get("scope") == "repository:tokens/a:pull":
				case known && !tokens && r.URL.Path != "/token":
					w.Header().Set("Content-Type", oci)
				case tokens:
					w.Header().Set("WWW-Authenticate", `Bearer realm="`+s.URL+
						`/token",service="a b",scope="repository:tokens/a:pull"`)
					w.WriteHeader(http.StatusUnauthorized)
				default:
					w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
					w.WriteHeader(http.StatusUnauthorized)
				}
			}))
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.TLS = &tls.Config{
			Certificates: []tls.Certificate{server}, ClientCAs: pool,
			ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12,
		}
		s.StartTLS()
		defer s.Close()
		host := strings.TrimPrefix(s.URL, "https://")
		const (
			certs  = "/etc/containerd/certs.d/"
			logins = "/etc/kiln/registries.json"
		)
		login := func(user string) string {
			// The dots of a name are no pattern.
			return "{\"auth\":{\n\"127x0.0.1" + strings.TrimPrefix(host, "127.0.0.1") +
				"\":{\"username\":\"x\",\"password\":\"y\"},\n" +
				`"` + host + `":` + user + "\n}}\n"
		}
		right := login(`{"username":"robot$a","password":"p\"\\ w"}`)
		good := files{
			certs + host + "/hosts.toml": "ca = \"" + certs + host + "/ca.crt\"\n",
			certs + host + "/ca.crt":     caCert,
			certs + host + "/client.crt": cert, certs + host + "/client.key": key, logins: right,
			"/run/kiln/": "",
		}
		for _, row := range []struct {
			name, image string
			change      files // "" removes a file
			want        string
		}{
			{"a login", "plain/a", nil, "holds"},
			{"a token", "tokens/a", nil, "holds"},
			{"a wrong password", "plain/a", files{logins: login(
				`{"username":"robot$a","password":"wrong"}`)}, "HTTP 401"},
			{"a wrong password for a token", "tokens/a", files{logins: login(
				`{"username":"robot$a","password":"wrong"}`)}, "/token HTTP 401"},
			{"a login that pods have", "plain/a", files{logins: "{}\n"}, "holds"},
			{"another CA", "plain/a", files{certs + host + "/ca.crt": foreign}, "curl: (60)"},
			{"another CA beside the system's", "plain/a", files{certs + host + "/ca.crt": foreign,
				"/etc/ssl/certs/ca-certificates.crt": caCert}, "holds"},
			{"no CA", "plain/a", files{certs + host + "/hosts.toml": ""}, "curl: (60)"},
			{"no verification", "plain/a",
				files{certs + host + "/hosts.toml": "skip_verify = true\n"}, "holds"},
			{"no client certificate", "plain/a", files{certs + host + "/client.key": ""},
				"curl: ("},
		} {
			all := files{}
			for path, text := range good {
				all[path] = text
			}
			for path, text := range row.change {
				if all[path] = text; text == "" {
					delete(all, path)
				}
			}
			m := machineFolder(t, all, programs{"ctr": "exit 1", "systemctl": ""})
			must(t, os.Symlink(curl, m+"/bin/curl"))
			script := "set -euf\numask 077\nroot=$1 run=$1/run/kiln found=''\nnl='\n'\n" +
				"cd \"$root\"\n" +
				templates.Steps([]string{templates.IfRegistries, templates.IfLogins}, nil,
					[]string{"images"}) +
				"images \"$2/v2/\" \"$3:1\" && echo holds || echo \"$found\"\n"
			cmd := exec.Command(shell[0], append(shell[1:], "-c", script, "sh", m+"/root", s.URL,
				host+"/"+row.image)...)
			cmd.Env = []string{"PATH=" + m + "/bin:" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != row.want &&
				(row.want == "holds" || !strings.Contains(got, row.want)) {
				t.Errorf("%s: %q (%v), want %q", row.name, got, err, row.want)
			}
		}
	})
}
