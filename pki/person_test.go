package pki_test

import (
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
)

// TestIssuePerson: a person's certificate is a client's, of the cluster's CA, with a key of its
// own each time.
func TestIssuePerson(t *testing.T) {
	t.Parallel()
	b, now := renewable(t)
	alice := pki.Person{Name: "alice", Groups: []string{"ops", "dev", "ops"}}
	until := now.Add(8 * time.Hour)
	first, err := b.IssuePerson(alice, now, until)
	require.NoError(t, err)
	second, err := b.IssuePerson(alice, now, until)
	require.NoError(t, err)
	require.NotEqual(t, first.Key.Private(), second.Key.Private())

	cert, err := x509.ParseCertificate(first.DER)
	require.NoError(t, err)
	other, err := x509.ParseCertificate(second.DER)
	require.NoError(t, err)
	require.NotEqual(t, cert.SerialNumber, other.SerialNumber)
	require.Equal(t, "alice", cert.Subject.CommonName)
	require.Equal(t, []string{"dev", "ops"}, cert.Subject.Organization)
	require.Equal(t, now.Add(-time.Hour), cert.NotBefore)
	require.Equal(t, until, cert.NotAfter)
	roots := x509.NewCertPool()
	roots.AddCert(b.CA.Certificate)
	_, err = cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	require.NoError(t, err)
	_, err = cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	require.Error(t, err)

	_, err = b.IssuePerson(alice, now, b.CA.Certificate.NotAfter.Add(time.Second))
	require.ErrorContains(t, err, "after its CA")
}

// TestPersonNames: nobody gets the name of a program, in any spelling that the API server reads.
func TestPersonNames(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"alice", "a", "Alice.B@example.com", "o:dev", "team-1+x"} {
		require.Empty(t, (&pki.Person{Name: good, Groups: []string{good}}).Problems(false), good)
	}
	for _, bad := range []string{"", " alice", "alice ", "a\nb", "a/b", "-a", "a,b", "é",
		"system:kube-scheduler", "kiln:install", "kubeadm:x", "kube-apiserver-kubelet-client",
		"kube-vip", "kubernetes-admin",
		"a123456789012345678901234567890123456789012345678901234567890123456789"} {
		for _, glass := range []bool{false, true} {
			require.Len(t, (&pki.Person{Name: bad}).Problems(glass), 1, "%q", bad)
		}
	}
	require.Len(t, (&pki.Person{Name: "a", Groups: []string{"system:masters", "system:nodes"}}).
		Problems(false), 2)
	require.Empty(t, (&pki.Person{Name: "a", Groups: []string{"system:masters", "system:nodes",
		pki.AdminGroup}}).Problems(true))
}
