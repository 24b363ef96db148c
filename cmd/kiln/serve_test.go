package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

// logged LOG REGEXP waits for a line of a log.
func logged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: logged log regexp")
	}
	if lineOf(ts, args[0], regexp.MustCompile(args[1])) == "" {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		ts.Fatalf("no line of %s matches %s: %v\n%s", args[0], args[1], err, data)
	}
}

// lineOf waits some seconds for a line of a log, and returns it, or nothing.
func lineOf(ts *testscript.TestScript, log string, want *regexp.Regexp) string {
	end := time.Now().Add(20 * time.Second)
	for ; time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		data, _ := os.ReadFile(ts.MkAbs(log))
		for line := range strings.Lines(string(data)) {
			if want.MatchString(line) {
				return line
			}
		}
	}
	return ""
}

// serving LOG NAME waits for the start of the server that writes LOG, and puts its address into the
// environment variable NAME.
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: serving log name")
	}
	var start struct{ Address string }
	line := lineOf(ts, args[0], regexp.MustCompile(`"event":"start"`))
	if json.Unmarshal([]byte(line), &start) != nil {
		ts.Fatalf("%s: the server has not started", args[0])
	}
	ts.Setenv(args[1], start.Address)
}

// fetch STATUS URL FILE [CA] writes the body of an answer to FILE, and requires its status. CA is
// the file with the certificate that signed the server's.
func fetch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: fetch status url file [ca]")
	}
	client := &http.Client{Timeout: time.Minute}
	if len(args) > 3 {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(ts.ReadFile(args[3])))
		client.Transport = &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: roots, ServerName: "boot.example.com", MinVersion: tls.VersionTLS12,
		}}
	}
	answer, err := client.Get(args[1])
	ts.Check(err)
	body, err := io.ReadAll(answer.Body)
	ts.Check(err)
	ts.Check(answer.Body.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), body, 0o600))
	if got := strconv.Itoa(answer.StatusCode); got != args[0] {
		ts.Fatalf("%s: status %s, want %s", args[1], got, args[0])
	}
}

// TestDeliveryDoc: docs/delivery.md names every flag of kiln serve, and every field of a delivery.
func TestDeliveryDoc(t *testing.T) {
	t.Parallel()
	page := read(t, "../../docs/delivery.md")
	help := output(t, "serve", "--help")
	flags := regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`)
	for _, flag := range flags.FindAllStringSubmatch(help, -1) {
		if flag[1] != "--help" {
			require.Contains(t, page, flag[1])
		}
	}
	for f := range reflect.TypeFor[config.Delivery]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.Regexp(t, "`?"+name+"[:`]", page)
		comma := func(r rune) bool { return r == ',' }
		for _, value := range strings.FieldsFunc(f.Tag.Get("enum"), comma) {
			require.Contains(t, page, "`"+value+"`")
		}
	}
}
