package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// TestExternalCA types what the console blocks of docs/external-ca.md show, with OpenSSL as the CA.
// OpenSSL then verifies what a machine and a person get.
func TestExternalCA(t *testing.T) {
	t.Parallel()
	need.Program(t, "openssl")
	page := read(t, "../../docs/external-ca.md")
	dir := t.TempDir()
	writeFiles(t, dir, page)
	for _, e := range session(page) {
		requireAnswer(t, dir, e)
	}
	requireAnswer(t, dir, entry{
		"kiln unpack nodes/cp-1 /etc/kubernetes/pki/apiserver.crt >apiserver.crt && " +
			"openssl verify -x509_strict -CAfile ca.crt -purpose sslserver " +
			"-verify_hostname api.prod.example.com apiserver.crt",
		"apiserver.crt: OK",
	})
	_, person, _ := strings.Cut(page, "```sh\n")
	person, _, _ = strings.Cut(person, "kubectl ") // OpenSSL's part
	requireAnswer(t, dir, entry{
		"{ " + person + "} >alice.log 2>&1; openssl verify -x509_strict -CAfile ca.crt " +
			"-purpose sslclient alice.crt",
		"alice.crt: OK",
	})
	bundle, err := os.ReadFile(filepath.Join(dir, "prod.secrets.yaml"))
	require.NoError(t, err)
	key, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	require.NoError(t, err)
	require.NotContains(t, string(bundle), string(key[100:140]))
}
