package render_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/review"
)

// cluster returns a small cluster of one control plane and some workers; the lines are added to
// nodes.
func cluster(t testing.TB, nodes ...string) *render.Cluster {
	t.Helper()
	c, err := config.Parse("cluster.yaml", []byte(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: ha}
spec:
  kubernetesVersion: v1.36.3
  network: {cni: none}
  machines: {os: flatcar}
  nodes:
  - {name: cp-1, role: control-plane, addresses: [10.0.0.11]}
`+strings.Join(nodes, "\n")+"\n"), nil)
	require.NoError(t, err)
	_, b := inputs(t, "ha")
	r, err := render.NewPublic(c, &b.Public)
	require.NoError(t, err)
	return r
}

func parsed(t testing.TB, der []byte) *x509.Certificate {
	t.Helper()
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return cert
}

func twin(t testing.TB, r *render.Cluster) map[string]string {
	t.Helper()
	files, err := r.Twin(nil)
	require.NoError(t, err)
	out := map[string]string{}
	for name, text := range files {
		out[name] = string(text)
	}
	return out
}

const (
	workers = "  - {name: worker-1, role: worker, addresses: [10.0.0.21]}\n" +
		"  - {name: worker-2, role: worker, addresses: [10.0.0.22]}\n" +
		"  - {name: worker-3, role: worker, addresses: [10.0.0.23]}"
	conf         = "/var/lib/kubelet/config.yaml"
	sharedWorker = "shared/worker-flatcar"
)

// TestTwinSharesOnce: an entry that all machines have, or most of a group, is written once. A
// machine with another entry has its own, and the INDEX of a machine without the entry says so.
func TestTwinSharesOnce(t *testing.T) {
	t.Parallel()
	got := twin(t, cluster(t, workers))
	require.Contains(t, got, "shared/all/etc/kiln/report")
	require.Contains(t, got, sharedWorker+conf)
	require.Contains(t, got, "cp-1"+conf,
		"the only one of its kind shares what all have, and nothing else")
	require.NotContains(t, got, "shared/control-plane-flatcar/INDEX")
	for name := range got {
		require.False(t, strings.HasPrefix(name, "worker") && strings.HasSuffix(name, conf), name)
	}
	require.True(t,
		strings.HasPrefix(got["worker-1/INDEX"], "with shared/all\nwith "+sharedWorker+"\nfile "),
		got["worker-1/INDEX"])

	changed := strings.Replace(workers,
		"worker-2, role", "worker-2, kubelet: {maxPods: 50}, role", 1)
	different := twin(t, cluster(t, changed))
	require.Equal(t, got[sharedWorker+conf], different[sharedWorker+conf])
	require.Contains(t, different["worker-2"+conf], "maxPods: 50")
	require.Contains(t, different["worker-2/INDEX"], "file 0600 root:root "+conf+"\n")

	files, err := cluster(t, workers).Twin(func(n *node.Node) {
		if n.Name == "worker-3" {
			n.Files = slices.DeleteFunc(n.Files, func(f node.File) bool { return f.Path == conf })
		}
	})
	require.NoError(t, err)
	require.Contains(t, files, sharedWorker+conf)
	require.Contains(t, string(files["worker-3/INDEX"]), "\nwithout file "+conf+"\n")
}

// TestTwinStaysPut: one machine more, or without the first one, changes nothing but its own folder
// and its line.
func TestTwinStaysPut(t *testing.T) {
	t.Parallel()
	before := twin(t, cluster(t, workers))
	for name, nodes := range map[string]string{
		"worker-4": workers + "\n  - {name: worker-4, role: worker, addresses: [10.0.0.24]}",
		"worker-1": workers[strings.Index(workers, "\n")+1:],
	} {
		after := twin(t, cluster(t, nodes))
		for file := range before {
			if !strings.HasPrefix(file, name+"/") && file != "INDEX" {
				require.Equal(t, before[file], after[file], "%s: %s", name, file)
			}
		}
		for file := range after {
			if !strings.HasPrefix(file, name+"/") {
				require.Contains(t, before, file)
			}
		}
	}
}

// TestTwinShowsGenerations: the generation of a rotated secret changes in each file that holds it,
// and nothing else changes.
func TestTwinShowsGenerations(t *testing.T) {
	t.Parallel()
	c, b := inputs(t, "ha")
	r, err := render.NewPublic(c, &b.Public)
	require.NoError(t, err)
	before := twin(t, r)
	b.Generations = map[string]int{"apiserver/cp-2": 2}
	r, err = render.NewPublic(c, &b.Public)
	require.NoError(t, err)
	after := twin(t, r)
	for name := range before {
		if name != "cp-2/INDEX" {
			require.Equal(t, before[name], after[name], name)
		}
	}
	require.Contains(t, after["cp-2/INDEX"],
		"/etc/kubernetes/pki/apiserver.key <secret apiserver/cp-2 g2>\n")
	require.Contains(t, after["cp-2/INDEX"],
		"     certificate apiserver/cp-2 g2: subject CN=kube-apiserver;")
}

// TestTwinDescribesCertificates: the twin describes a certificate by its specification as the
// certificate describes itself. Of a CA it also shows the key, and of a leaf nothing that depends
// on its key.
func TestTwinDescribesCertificates(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		_, b := inputs(t, name)
		r := load(t, name)
		for i := range r.Plan.Machines {
			for _, spec := range append(b.Specs(r.Plan, &r.Plan.Machines[i]), b.AdminSpec(r.Plan)) {
				described, err := b.Template(spec)
				require.NoError(t, err)
				cert, err := b.Issue(spec)
				require.NoError(t, err)
				require.Equal(t, pki.Summary(parsed(t, cert.DER)), pki.Summary(described))
				require.NotContains(t, pki.Summary(described), "fingerprint")
			}
		}
		require.Contains(t, pki.Summary(b.CA.Certificate),
			"fingerprint SHA-256 "+pki.Fingerprint(b.CA.Certificate))
	}
}

// TestTwinEscapesSubjects: a certificate of somebody else writes no line and no escape into the
// twin, and the twin is read as it was written.
func TestTwinEscapesSubjects(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "a\nfile 0644 root:root /b\x1b[2J\u202e"},
	}
	der, err := x509.CreateCertificate(nil, cert, cert, key.Public(), key)
	require.NoError(t, err)
	list, err := cluster(t, workers).Twin(func(n *node.Node) {
		n.Files = append(n.Files, node.File{
			Path: "/a.crt", Mode: 0o644,
			Content: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		})
	})
	require.NoError(t, err)
	require.Contains(t, string(list["shared/all/INDEX"]),
		`subject CN=a\u000afile 0644 root:root /b\u001b[2J\u202e; issuer`)
	for name, text := range list {
		require.Equal(t, wording.Visible(string(text), "\n\t"), string(text), name)
	}
	state, err := review.Read(list)
	require.NoError(t, err)
	require.Equal(t, list, review.Write(state))
}

// TestTwinKeepsItsIndex: a file of a machine cannot take the place of the twin's INDEX.
func TestTwinKeepsItsIndex(t *testing.T) {
	t.Parallel()
	_, err := cluster(t, workers).Twin(func(n *node.Node) {
		n.Files = append(n.Files, node.File{Path: "/INDEX", Mode: 0o644})
	})
	require.ErrorContains(t, err, "file /INDEX")
}

// TestWriteTwin: the folder of the twin has exactly the rendered files afterwards, and other files
// beside the machines stay.
func TestWriteTwin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "review")
	_, err := cluster(t, workers).Write("", render.Options{Review: dir})
	require.NoError(t, err)
	put := func(name string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600))
	}
	put("README.md")
	put(".git/HEAD")
	put("worker-1/etc/added")
	put("shared/gone/INDEX")
	put("cp-1/INDEX.kiln-new")
	require.NoError(t, os.Chmod(filepath.Join(dir, "INDEX"), 0o600))

	fewer := cluster(t, workers[:strings.LastIndex(workers, "\n")])
	result, err := fewer.Write("", render.Options{Review: dir, Check: true})
	require.NoError(t, err)
	require.Equal(t, []string{"INDEX"}, result.Review.Written)
	require.Subset(t, result.Review.Removed, []string{
		"worker-1/etc/added", "shared/gone/INDEX", "cp-1/INDEX.kiln-new", "worker-3/INDEX",
	})

	_, err = fewer.Write("", render.Options{Review: dir})
	require.NoError(t, err)
	for _, gone := range []string{
		"worker-1/etc/added", "shared/gone", "worker-3", "cp-1/INDEX.kiln-new",
	} {
		require.NoFileExists(t, filepath.Join(dir, gone))
		require.NoDirExists(t, filepath.Join(dir, gone))
	}
	for _, kept := range []string{"README.md", ".git/HEAD"} {
		require.FileExists(t, filepath.Join(dir, kept))
	}
	result, err = fewer.Write("", render.Options{Review: dir})
	require.NoError(t, err)
	require.False(t, result.Review.Changed())
}

// TestWriteTwinRefuses: a folder that is no twin, or another cluster's twin, is left alone, and no
// documents are written either.
func TestWriteTwinRefuses(t *testing.T) {
	t.Parallel()
	r := load(t, "single")
	for name, row := range map[string]struct{ index, want string }{
		"full of other things": {"", "not empty and not a review twin"},
		"another INDEX":        {"# My index\n", "not the INDEX of a review twin"},
		"another cluster": {"kiln review twin of cluster other " +
			"00112233-4455-4677-8899-aabbccddeeff Kubernetes v1.36.3\n", render.ErrForeign.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			review, out := filepath.Join(base, "review"), filepath.Join(base, "nodes")
			require.NoError(t, os.MkdirAll(review, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(review, "notes"), []byte("mine"), 0o600))
			if row.index != "" {
				require.NoError(t,
					os.WriteFile(filepath.Join(review, "INDEX"), []byte(row.index), 0o600))
			}
			before := snapshot(t, base)
			_, err := r.Write(out, render.Options{Review: review})
			require.ErrorContains(t, err, row.want)
			require.Equal(t, before, snapshot(t, base))
		})
	}
}

// TestUnified: differences read as in a unified diff, and their length is limited.
func TestUnified(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 3000)
	for name, row := range map[string]struct{ old, new, want string }{
		"equal": {"a\nb\n", "a\nb\n", ""},
		"new":   {"", "a\nb\n", "@@ -1 +1 @@\n+a\n+b"},
		"gone":  {"a\n", "", "@@ -1 +1 @@\n-a"},
		"changed": {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
			"@@ -2 +2 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8"},
		"two hunks": {"a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
			"@@ -1 +1 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6 +6 @@\n 5\n 6\n 7\n-b\n+B"},
		"inserted": {"a\nc\n", "a\nb\nc\n", "@@ -1 +1 @@\n a\n+b\n c"},
		"binary":   {"\xff", "\xfe", "not text"},
		"control":  {"", "\x1b[2Jx\n", "@@ -1 +1 @@\n+\\u001b[2Jx"},
		"bounded": {"", strings.Repeat("a\n", 100),
			"@@ -1 +1 @@\n" + strings.Repeat("+a\n", 19) + "… and 81 more lines"},
		"huge": {"x\n" + long + "y\n",
			"X\n" + strings.ReplaceAll(long, "line", "word") + "Y\n",
			"@@ -1 +1 @@\n-(too many lines to compare)\n+(too many lines to compare)"},
	} {
		lines := render.Unified([]byte(row.old), []byte(row.new))
		require.Equal(t, row.want, strings.Join(lines, "\n"), name)
	}
}

// TestTwinIsReadAsItWasWritten: the state that is read from the twin of a case is the state that
// was written, and it gives the same files again.
func TestTwinIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := load(t, name).State(nil)
			require.NoError(t, err)
			files := review.Write(want)
			got, err := review.Read(files)
			require.NoError(t, err)
			for i, m := range want.Machines { // a twin holds no digest
				require.Equal(t, m.Twin, review.Digest(got.Machines[i]), m.Name)
				got.Machines[i].Twin = m.Twin
			}
			require.Equal(t, want, got)
			require.Equal(t, files, review.Write(got))
		})
	}
}

// identity returns what the last line of the machine's list of files says of it.
func identity(n *node.Node) string {
	text := strings.TrimSuffix(string(n.File(node.List).Content), "\n")
	return strings.TrimPrefix(text[strings.LastIndex(text, "\n")+1:], "end ")
}

// TestIdentity: the digest in a machine's document is that of its review twin, whether the twin is
// rendered, read from its folder, or rendered without secrets. A root that was rotated is there
// with its stage.
func TestIdentity(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		config, bundle := inputs(t, name)
		r, err := render.New(config, bundle)
		require.NoError(t, err, name)
		public, err := render.NewPublic(config, &bundle.Public)
		require.NoError(t, err, name)
		files, err := public.Twin(nil)
		require.NoError(t, err, name)
		read, err := review.Read(files)
		require.NoError(t, err, name)
		digests := map[string]bool{}
		for i, m := range read.Machines {
			n, err := r.Node(slices.IndexFunc(r.Plan.Machines, func(p plan.Machine) bool {
				return p.Name == m.Name && p.Pool == m.Pool
			}))
			require.NoError(t, err, name)
			digest, roots, _ := strings.Cut(identity(n), " ")
			require.Equal(t, review.Digest(read.Machines[i]), digest, "%s: %s", name, m.Name)
			for _, f := range bundle.Public.Facts() {
				if root, ok := strings.CutPrefix(f.Name, pki.RotationFact); ok {
					require.Contains(t, roots, root+": "+f.Value, name)
				}
			}
			require.False(t, digests[digest], "%s: two machines have one digest", name)
			digests[digest] = true
		}
	}
}

// TestEdited: a document is edited if a file is not the one in its list, or in no list.
func TestEdited(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t) {
		for _, n := range nodes(t, name) {
			n = clone(n)
			require.False(t, review.IsEdited(n), name)
			f := n.File("/etc/kiln/machine")
			f.Content = append(f.Content, ' ')
			require.True(t, review.IsEdited(n), name)
			f.Content = f.Content[:len(f.Content)-1]
			n.Files = append(n.Files, node.File{Path: "/etc/other"})
			require.True(t, review.IsEdited(n), name)
		}
	}
}
