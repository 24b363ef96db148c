package certs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/plan"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// entry returns a certificate of a machine that ends some days after the start.
func entry(machine, path string, days int, renewal Renewal) Entry {
	return Entry{
		Machine: machine, Path: path, Kind: Certificate, Subject: "CN=x", Issuer: "CN=ca",
		Begins: moment(start), Ends: moment(start.AddDate(0, 0, days)), Renewal: renewal,
	}
}

// many returns three certificates on each of that many workers, each worker with an end of its own.
func many(workers int) (list []Entry) {
	for i := range workers {
		for _, path := range []string{"/a.crt", "/b.crt", "/c.crt"} {
			list = append(list, entry(fmt.Sprintf("worker-%d", i+1), path, 300+i%30, Renew))
		}
	}
	Sort(list)
	return list
}

// TestTable: a hundred machines are three lines, and what ends first comes first.
func TestTable(t *testing.T) {
	t.Parallel()
	list := append(many(100), entry("", "admin.conf", 10, Render),
		Entry{Machine: "w", Path: "/broken", Kind: Certificate, Fault: "cut off", Renewal: Yours})
	Sort(list)
	lines := strings.Split(strings.TrimSpace(Table(start, list)), "\n")
	require.Len(t, lines, 1+5+1+3, Table(start, list))
	require.Regexp(t, `^2026-01-11 +certificate +admin.conf +operator +render$`, lines[1])
	require.Regexp(t, `^2026-10-28 … 2026-11-26 +certificate +/a.crt +`+
		`100 machines: worker-1 … worker-100 +renew$`, lines[2])
	require.Regexp(t, `^- +certificate \(cut off\) +/broken +w +yours$`, lines[5])
	require.Len(t, strings.Split(strings.TrimSpace(Whole(start, list)), "\n"), 1+302+1+3)
}

// TestNear: the second of an end counts, and what cannot be read does. What renews itself, what the
// first boot uses and, unless the list is one of tokens, what is meant to end do not.
func TestNear(t *testing.T) {
	t.Parallel()
	list := []Entry{
		entry("cp-1", "/install.crt", 1, FirstBoot), entry("cp-1", "/old", 1, Replaced),
		entry("cp-1", "/client.pem", 1, Itself), entry("blue", "/token", 7, PoolToken),
		entry("cp-1", "/a.crt", 60, Renew), entry("cp-2", "/a.crt", 60, Renew),
		entry("cp-3", "/b.crt", 80, Renew), entry("", "admin.conf", 85, Render),
		entry("", "admin.conf", 85, Render), entry("cp-1", "/ca.crt", 3650, NewCA),
		{Machine: "cp-1", Path: "/unknown", Kind: Token, Renewal: PoolToken},
	}
	list[3].Pool = true
	end := start.AddDate(0, 0, 60)
	replace := " (renew: " + Renew.Meaning() + ")"
	require.Empty(t, Near(start, end.Add(-time.Second), "", list))
	require.Empty(t, Near(start, end.Add(-time.Second), Certificate, list))
	require.Equal(t, []string{"cp-1, cp-2: /a.crt ends on 2026-03-02" + replace},
		Near(start, end, "", list))
	require.Equal(t, []string{"cp-1, cp-2: /a.crt ended on 2026-03-02" + replace},
		Near(end, end, "", list))
	require.Equal(t, []string{
		"cp-1 … cp-3: 2 files end on 2026-03-02 … 2026-03-22" + replace,
		"operator: admin.conf ends on 2026-03-27 (render: " + Render.Meaning() + ")",
	}, Near(start, end.AddDate(0, 0, 30), "", list))
	require.Equal(t, []string{
		"cp-1, cp-2: /a.crt ended on 2026-03-02" + replace,
		"cp-3: /b.crt ends on 2026-03-22" + replace,
	}, Near(end, end.AddDate(0, 0, 20), "", list))
	require.Equal(t, []string{
		"pool blue: /token ends on 2026-01-08 (pool-token: " + PoolToken.Meaning() + ")",
	}, Near(start, start.AddDate(0, 0, 30), Token, list[:4]))
	broken := Entry{Machine: "x", Path: "/p", Kind: Certificate, Fault: "cut off", Renewal: Yours}
	other := broken
	other.Path, other.Renewal = "/q", Itself
	require.Equal(t, []string{
		"x: /p cannot be read: cut off; nobody knows when it ends (yours: " + Yours.Meaning() + ")",
		"x: /q cannot be read: cut off; nobody knows when it ends (itself: " + Itself.Meaning() +
			")",
	}, Near(start, start, "", []Entry{broken, other}))
}

// TestEnded: the list says what has ended.
func TestEnded(t *testing.T) {
	t.Parallel()
	list := []Entry{
		entry("a", "/x", 1, Renew), entry("b", "/x", 2, Renew), entry("c", "/x", 3, Renew),
	}
	for days, want := range map[int]string{
		0: "2026-01-02 … 2026-01-04 ", 1: "2026-01-02 (ended) … 2026-01-04 ",
		3: "2026-01-02 … 2026-01-04 (ended) ",
	} {
		require.Contains(t, Table(start.AddDate(0, 0, days), list), "\n"+want)
	}
	whole := Whole(start.AddDate(0, 0, 2), list)
	require.Regexp(t, `(?m)^2026-01-03 \(ended\) +2026-01-01 `, whole)
	require.Regexp(t, `(?m)^2026-01-04 +2026-01-01 `, whole)
}

// TestHostileNames: nothing of a certificate or of a path commands a terminal or breaks a line.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	list := Join([]*Scan{Find(Machine{Name: "a\x1b[2J\nb", Files: []File{{
		Path: "/x\x1b]0;owned\a\ty",
		Shown: []string{"certificate x g1: subject CN=\u202eevil\x1b; issuer CN=a\tb; for ca; " +
			"until 2027-01-01T00:00:00Z"},
	}}})})
	require.Len(t, list, 1)
	for _, text := range []string{
		Whole(start, list), Table(start, list),
		strings.Join(Near(start, start.AddDate(5, 0, 0), "", list), "\n"),
	} {
		require.NotRegexp(t, "[\x1b\a\t\u202e]", text)
	}
	require.Len(t, strings.Split(strings.TrimSpace(Whole(start, list)), "\n"), 4)
}

// TestBroken: a block that is cut off or no certificate is listed with its fault. The first line of
// a block alone is no certificate.
func TestBroken(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("QUJD", 20)
	for text, faults := range map[string]int{
		"-----BEGIN CERTIFICATE-----\n" + body + "\n-----END CERTIFICATE-----\n": 1,
		"-----BEGIN CERTIFICATE-----\n" + body:                                   1,
		"grep -q -e '-----BEGIN CERTIFICATE-----' \"$file\" || exit 1":           0,
		"-----BEGIN CERTIFICATE----------END CERTIFICATE-----":                   0,
	} {
		list := Join([]*Scan{Find(Machine{Name: "m", Files: []File{
			{Path: "/f", Content: []byte(text)}}})})
		require.Len(t, list, faults, text)
		if faults > 0 {
			require.NotEmpty(t, list[0].Fault)
			require.True(t, list[0].Due(start, ""))
		}
	}
}

// TestHostileContents: what is deep, large or repeated ends in time.
func TestHostileContents(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%[1]c [%s]\n", c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9))
	}
	for name, text := range map[string]string{
		"aliases": "kind: Config\nusers: []\nclusters: []\n" + bomb,
		"depth":   "kind: Config\nusers: " + strings.Repeat("[", 50_000) + "\nclusters: []\n",
		"begins":  strings.Repeat("-----BEGIN CERTIFICATE-----\n", 50_000),
		"long":    "-----BEGIN CERTIFICATE-----\n" + strings.Repeat("A", 4<<20),
	} {
		began := time.Now()
		Find(Machine{Name: "m", Files: []File{{Path: "/f", Content: []byte(text)}}})
		require.Less(t, time.Since(began), time.Minute, name)
	}
}

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
