package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/report"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
	"kiln.dev/kiln/test/twins"
)

// state reads the twin of a golden case.
func state(t *testing.T, dir string) *change.Cluster {
	t.Helper()
	c, err := review.ReadFrom(func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(dir, name))
	})
	require.NoError(t, err)
	return c
}

var (
	ids   = regexp.MustCompile(` id="([^"]*)"`)
	links = regexp.MustCompile(` href="([^"]*)"`)
)

// TestPage: the page of every golden case names each machine, and every link on it leads to exactly
// one place on it.
func TestPage(t *testing.T) {
	t.Parallel()
	const clusters = "../../../testdata/clusters"
	list, err := filepath.Glob(clusters + "/*/want")
	require.NoError(t, err)
	require.Greater(t, len(list), 12)
	for _, dir := range list {
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := state(t, twins.Expand(t, clusters, name))
			old := state(t, clusters+"/single/want")
			d := change.Compare(old, c)
			p, err := rollout.New(d, rollout.Options{MaxUnavailable: "10%"})
			require.NoError(t, err)
			in := report.Input{
				Cluster: c, Now: today, Diff: d, Steps: p, Ends: render.TwinCerts(c),
				Running: render.TwinCerts(old),
				Sizes: []report.Size{{Machine: c.Machines[0].Name, Platform: "aws", Bytes: 15000,
					Limit: 16384, Own: 5, Fields: []report.Field{{Path: "<x>", Bytes: 1}}}},
			}
			page, err := report.Page(in)
			require.NoError(t, err)
			there := map[string]bool{}
			for _, m := range ids.FindAllSubmatch(page, -1) {
				require.False(t, there[string(m[1])], "%s twice", m[1])
				there[string(m[1])] = true
			}
			for _, m := range links.FindAllSubmatch(page, -1) {
				require.True(t, m[1][0] == '#' && there[string(m[1][1:])], "%s leads nowhere", m[1])
			}
			for _, m := range c.Machines {
				name := "node-" + m.Name
				if m.Pool {
					name = "pool-" + m.Name
				}
				require.True(t, there[name], name)
				for _, property := range m.Properties {
					require.Contains(t, string(page), ", "+property.Name+" "+property.Value)
				}
			}
			for _, property := range c.Properties {
				shown := "<dt>" + property.Name + "</dt><dd>" + property.Value + "</dd>"
				require.Contains(t, string(page), shown)
			}
			require.Contains(t, string(page), "91 %")
			require.Contains(t, string(page), "&lt;x&gt; 1")
			again, err := report.Page(in)
			require.NoError(t, err)
			require.Equal(t, page, again)
		})
	}
}

// TestPageHides: characters of a file that show something else than it holds are escaped, wherever
// they stand, as kiln diff and kiln plan do it.
func TestPageHides(t *testing.T) {
	t.Parallel()
	c := state(t, "../../../testdata/clusters/single/want")
	const odd = "a\u202e\u2066\u200b\u061c\U000e0041\x1b\b\u009b\x9b\r\x00z"
	const want = `a\u202e\u2066\u200b\u061c\udb40\udc41\u001b\u0008\u009b\x9b\u000d\u0000z`
	c.Machines[0].Entries = append(c.Machines[0].Entries,
		&change.Entry{Key: change.Key{Kind: "file", ID: "/etc/content"}, Content: []byte(odd)},
		&change.Entry{Key: change.Key{Kind: "file", ID: "/etc/shown"}, Shown: []string{odd}},
		&change.Entry{Key: change.Key{Kind: "unit", ID: "x\u202e.service"}})
	page, err := report.Page(report.Input{Cluster: c, Now: today})
	require.NoError(t, err)
	require.Contains(t, string(page), "<pre>"+want+"</pre>")
	require.Contains(t, string(page), `x\u202e.service`)
	for _, r := range []rune(odd)[1:11] {
		require.NotContains(t, string(page), string(r))
	}
}

// TestPagePolicy: the policy allows the page's own script and no other.
func TestPagePolicy(t *testing.T) {
	t.Parallel()
	text, err := report.Page(report.Input{Cluster: &change.Cluster{}})
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "<script>")
	require.True(t, found)
	script, rest, found := strings.Cut(rest, "</script>")
	require.True(t, found)
	require.NotContains(t, rest, "<script")
	sum := sha256.Sum256([]byte(script))
	head, _, _ := strings.Cut(string(text), "<style>")
	require.Contains(t, html.UnescapeString(head),
		`default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-`+
			base64.StdEncoding.EncodeToString(sum[:])+`'"`)
}
