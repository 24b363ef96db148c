package certs

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/plan"
)

// TestElsewhere: what a CA without a key has signed is renewed by a request, and so no rotation
// replaces it or the CAs above it. Everything else stays.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	list := func() []Entry {
		return []Entry{
			{Machine: "cp-1", Path: plan.CACert, CA: true, Subject: "CN=company",
				Issuer: "CN=middle", Renewal: NewCA},
			{Machine: "cp-1", Path: "/apiserver.crt", CA: true, Subject: "CN=root",
				Issuer: "CN=root", Renewal: NewCA},
			{Machine: "cp-1", Path: "/apiserver.crt", CA: true, Subject: "CN=middle",
				Issuer: "CN=root", Renewal: NewCA},
			{Machine: "cp-1", Path: plan.FrontProxyCA, CA: true, Subject: "CN=proxy",
				Issuer: "CN=proxy", Renewal: NewCA},
			{Machine: "cp-1", Path: "/apiserver.crt", Issuer: "CN=company", Renewal: Renew},
			{Machine: "cp-1", Path: "/install.crt", Issuer: "CN=company", Renewal: FirstBoot},
			{Machine: "cp-1", Path: "/front-proxy.crt", Issuer: "CN=proxy", Renewal: Renew},
			{Path: plan.AdminFile, Issuer: "CN=company", Renewal: Render},
			{Machine: "cp-1", Path: "/yours.crt", Issuer: "CN=company", Renewal: Yours},
			{Machine: "cp-1", Path: plan.CACert, CA: true, Subject: "CN=company", Renewal: Yours},
			{Machine: "cp-1", Path: plan.AdminFile, CA: true, Subject: "CN=a", Renewal: NewCA},
		}
	}
	require.Equal(t, list(), Elsewhere(list(), ""))
	var got []Renewal
	for _, e := range Elsewhere(list(), "etcd-ca,ca") {
		got = append(got, e.Renewal)
	}
	require.Equal(t, []Renewal{ExternalCA, ExternalCA, ExternalCA, NewCA, Request, FirstBoot,
		Renew, Request, Yours, Yours, NewCA}, got)
}

// TestUnread: a content that unpacks to too much is in the list, as one that cannot be read.
func TestUnread(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := w.Write(make([]byte, 1<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	list := find(bomb.Bytes())
	require.Len(t, list, 1)
	require.Equal(t, Entry{Kind: Certificate,
		Fault: "packed data that is too large to search for certificates"}, list[0].entry())
}
