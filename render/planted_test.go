package render_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/fleet/report"
	"kiln.dev/kiln/render/fleet/rollout"
	"kiln.dev/kiln/render/pack/cloudinit"
	"kiln.dev/kiln/render/pack/compress"
	"kiln.dev/kiln/render/pack/ignition"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
	"kiln.dev/kiln/render/twin/review"
)

// encodings are the encodings in which a secret is planted.
var encodings = []struct {
	name string
	of   func(string) string
}{
	{"raw", func(s string) string { return s }},
	{"base64", inBase64},
	{"base64 for URLs", func(s string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(s))
	}},
	{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"gzip", func(s string) string { return string(compress.Gzip([]byte(s))) }},
	{"gzip in base64", func(s string) string { return inBase64(string(compress.Gzip([]byte(s)))) }},
	{"base64 in hex", func(s string) string { return hex.EncodeToString([]byte(inBase64(s))) }},
}

func inBase64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// texts are the ways that go through YAML as they are.
var texts = []string{
	"a file's content", "a unit", "a drop-in", "a script's text", "a patch", "a patch from a file",
	"an add-on", "a Butane file", "a Butane append", "a Butane header", "cloudConfig",
	"networkConfig", "registries", "a kubelet flag",
}

// systems are the ways that only one of the two cases has.
var systems = []string{
	"cloudConfig", "networkConfig", "a Butane file", "a Butane data URL", "a Butane append",
	"a Butane header", "registries", "a kubelet flag",
}

// built are the ways that show only after rendering.
var built = []string{
	"a patch from a file", "an add-on", "an add-on's Secret", "a configMapGenerator",
	"a secretGenerator", "a marked file", "a marked script",
}

// mayStand are the ways in which a secret of one machine may be in the documents of others, since
// people mark it as a secret.
var mayStand = []string{
	"a marked file", "a marked script", "an add-on's Secret", "a secretGenerator",
}

// TestPlanted plants secrets of a cluster in every way in which people bring bytes to machines, in
// every encoding. If the render is refused, the message holds nothing of the secret. If not, no
// output that people see holds anything of it, and no file that others may read.
func TestPlanted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		lacks  []string // ways that the case's systems do not have
		tokens []string
	}{
		{"extras", []string{
			"cloudConfig", "networkConfig", "a file of one worker", "registries", "a kubelet flag",
		}, nil},
		{"pools", []string{
			"a Butane file", "a Butane data URL", "a Butane append", "a Butane header",
		}, []string{"small"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r := load(t, row.name)
			planted := plantable(t, r, row.tokens)
			names := slices.Sorted(maps.Keys(planted))
			old, err := r.State(nil)
			require.NoError(t, err)
			accepted := 0
			for w, way := range slices.Sorted(maps.Keys(ways)) {
				if slices.Contains(row.lacks, way) {
					continue
				}
				for i, encoding := range encodings {
					if len(row.lacks) > 4 != ((i+w)%2 == 0) && !slices.Contains(systems, way) {
						continue // the other case has it
					}
					if slices.Contains(built, way) && i%3 != w%3 {
						continue // it takes a whole render
					}
					name := names[(2*i+3*w)%len(names)]
					content := encoding.of(planted[name])
					what := fmt.Sprintf("%s as %s in %s", way, encoding.name, name)
					if !utf8.ValidString(content) && slices.Contains(texts, way) {
						continue // YAML has no such text
					}
					bed := newBed(t, row.name)
					ways[way](&bed, content)
					r, err := bed.cluster(r.Bundle)
					var seen map[string][]byte
					if err == nil {
						seen, err = visible(r, old)
					}
					if err != nil {
						seen = map[string][]byte{"the message": []byte(err.Error())}
					} else {
						accepted++
						require.Contains(t, mayStand, way, what+" was accepted")
						require.Contains(t, name, "leaf key", what+" was accepted")
					}
					for place, text := range seen {
						for _, piece := range pieces(content) {
							require.NotContains(t, string(text), piece, "%s: %s", what, place)
						}
					}
				}
			}
			require.NotZero(t, accepted, "nothing was looked at")
		})
	}
}

// plantable returns the secrets of a cluster as people have them: the bundle and its parts, the
// operator's kubeconfig, keys and tokens of machines.
func plantable(t *testing.T, r *render.Cluster, tokens []string) map[string]string {
	t.Helper()
	b := r.Bundle
	bundle, err := b.Marshal()
	require.NoError(t, err)
	admin, err := r.Admin()
	require.NoError(t, err)
	out := map[string]string{
		"the bundle":                  string(bundle),
		"admin.conf":                  string(admin),
		"the CA's key":                string(b.CAKey.PEM()),
		"the key of service accounts": string(b.ServiceAccountKey.BarePEM()),
		"a scalar":                    string(b.EtcdCAKey.Private()),
		"the seed":                    string(b.LeafSeed),
		"the encryption key":          string(b.EncryptionKey),
		"a leaf key":                  string(b.LeafKey("kubelet-client/worker-1").PEM()),
		"another leaf key":            string(b.LeafKey("apiserver/cp-1").BarePEM()),
	}
	for _, name := range tokens {
		out["a token"] = b.PoolToken(name).Bearer()
		out["a token's secret"] = b.PoolToken(name).Secret
	}
	return out
}

// visible returns what people see of a cluster: the twin, the report, diff and plan against an
// older state, the output of unpack and explain, and files on machines that others may read. Its
// error is that of the check.
func visible(r *render.Cluster, old *change.Cluster) (map[string][]byte, error) {
	state, err := r.State(nil)
	if err != nil {
		return nil, err
	}
	out, err := r.Twin(nil)
	if err != nil {
		return nil, err
	}
	diff := change.Compare(old, state)
	plan, err := rollout.New(diff, rollout.Options{MaxUnavailable: "1"})
	if err != nil {
		return nil, err
	}
	out["the report"], err = report.Page(report.Input{Cluster: state, Diff: diff, Steps: plan})
	if err != nil {
		return nil, err
	}
	if out["diff and plan"], err = json.Marshal([]any{diff, plan}); err != nil {
		return nil, err
	}
	for i := range r.Plan.Machines {
		n, err := r.Node(i)
		if err != nil {
			return nil, err
		}
		var doc []byte
		if len(n.Extra) > 0 {
			doc, err = new(ignition.Packer).Pack(n, 0)
		} else {
			doc, err = new(cloudinit.Packer).Pack(n, 0, false)
		}
		if err != nil {
			return nil, err
		}
		u, err := review.ParseDocument(doc)
		if err != nil {
			return nil, err
		}
		var paths []string
		for _, f := range n.Files {
			paths = append(paths, f.Path)
			if f.Mode&0o004 != 0 {
				out[n.Name+f.Path] = f.Content
			}
			if !strings.Contains(f.Path, "planted") {
				continue
			}
			for _, asked := range []string{f.Path + ":data.planted", f.Path + ":data.content"} {
				e, err := r.Explain(n.Name, asked)
				var unknown *wording.Unknown
				switch {
				case err == nil:
					out["explain "+asked] = []byte(e.String())
				case errors.As(err, &unknown):
					out["explain "+asked] = []byte(unknown.Error())
				default:
					return nil, err
				}
			}
		}
		contents, _, err := u.Contents(paths)
		if err != nil {
			return nil, err
		}
		machine, err := json.Marshal(u.Machine())
		if err != nil {
			return nil, err
		}
		out["unpack "+n.Name] = bytes.Join([][]byte{u.List(), u.Tree(), contents, machine}, nil)
	}
	return out, nil
}

// pieces returns parts of a secret that are in nothing else: parts of the middle, without armour.
func pieces(content string) (out []string) {
	const size = 16
	for i := len(content) / 3; i+size <= len(content) && len(out) < 8; i += 7 {
		if piece := content[i : i+size]; !strings.ContainsAny(piece, "\n -:") {
			out = append(out, piece)
		}
	}
	return out
}
