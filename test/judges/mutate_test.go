package judges

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/keyutil"
)

// TestMutations breaks one thing of a machine at a time and checks that the judge responsible for
// it finds it. Each judge has something to find, so that a judge that no longer finds anything is
// noticed.
//
// /etc/kiln/files would show any change of a file. So the list is made anew after each change, and
// the judge has to understand the fault itself. Only changes of the list itself leave it alone.
func TestMutations(t *testing.T) {
	t.Parallel()
	assert.GreaterOrEqual(t, len(mutations), 280, "a table like this one shrinks unnoticed")
	forJudge := map[string]int{}
	for _, m := range mutations {
		by, _, _ := strings.Cut(m.by, ": ")
		forJudge[by]++
	}
	t.Log(len(mutations), forJudge)
	for _, j := range judges {
		assert.NotZero(t, forJudge[j.Name], "nothing is for %s to see", j.Name)
		if !j.Release && minor != alone {
			continue
		}
		before := j.Func(cluster(t, "ha", "ignition"))
		for _, m := range mutations {
			by, says, _ := strings.Cut(m.by, ": ")
			if by != j.Name {
				continue
			}
			t.Run(strings.ReplaceAll(m.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				machines := cluster(t, "ha", "ignition")
				m.change(t, machines)
				if !strings.HasPrefix(m.name, "manifest ") {
					for _, machine := range machines {
						list := machine.File(manifestPath)
						last := lastLine.Find(list.Content)
						list.Content = append([]byte(manifestOf(machine)), last[1:]...)
					}
				}
				findings := slices.DeleteFunc(j.Func(machines),
					func(finding string) bool { return slices.Contains(before, finding) })
				i := slices.IndexFunc(findings,
					func(finding string) bool { return strings.Contains(finding, says) })
				require.GreaterOrEqual(t, i, 0, "%s does not say %q but %q", j.Name, says, findings)
				t.Logf("%s: %s", j.Name, findings[i])
			})
		}
	}
}

// change is what goes wrong.
type change func(t *testing.T, cluster []*Machine)

// each returns the files of machines, both given as patterns; there is at least one.
func each(t *testing.T, cluster []*Machine, machines, file string) (out []*File) {
	t.Helper()
	for _, m := range machinesOf(t, cluster, machines) {
		for i := range m.Files {
			if ok, err := path.Match(file, m.Files[i].Path); err == nil && ok {
				out = append(out, &m.Files[i])
			}
		}
	}
	require.NotEmpty(t, out, "%s %s", machines, file)
	return out
}

func machinesOf(t *testing.T, cluster []*Machine, pattern string) (out []*Machine) {
	t.Helper()
	for _, m := range cluster {
		if ok, err := path.Match(pattern, m.Name); err == nil && ok {
			out = append(out, m)
		}
	}
	require.NotEmpty(t, out, pattern)
	return out
}

// edit replaces text where it first stands in a file.
func edit(machines, file, before, after string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			text := readable(f)
			require.Contains(t, text, before, f.Path)
			f.Content = []byte(strings.Replace(text, before, after, 1))
		}
	}
}

// without takes away a line with this text.
func without(machines, file, text string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			lines := strings.SplitAfter(readable(f), "\n")
			i := slices.IndexFunc(lines,
				func(line string) bool { return strings.Contains(line, text) })
			require.GreaterOrEqual(t, i, 0, "%s: %s", f.Path, text)
			f.Content = []byte(strings.Join(slices.Delete(lines, i, i+1), ""))
		}
	}
}

// with adds text at the end of a file.
func with(machines, file, text string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			f.Content = []byte(readable(f) + text)
		}
	}
}

// extraFlag adds a flag to a static pod.
func extraFlag(component, flag string) change {
	return edit("cp-*", staticPod(component), "    - "+component+"\n",
		"    - "+component+"\n    - --"+flag+"\n")
}

func chmod(machines, file string, mode uint32) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range eachOrDir(t, cluster, machines, file) {
			f.Mode = mode
		}
	}
}

func chown(machines, file, user string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range eachOrDir(t, cluster, machines, file) {
			f.User, f.Group = user, user
		}
	}
}

func eachOrDir(t *testing.T, cluster []*Machine, machines, name string) (out []*File) {
	t.Helper()
	for _, m := range machinesOf(t, cluster, machines) {
		if d := m.Dir(name); d != nil {
			out = append(out, d)
		}
	}
	if out == nil {
		out = each(t, cluster, machines, name)
	}
	return out
}

func remove(machines, file string) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, f := range each(t, cluster, machines, file) {
			for _, m := range machinesOf(t, cluster, machines) {
				m.Files = slices.DeleteFunc(m.Files, func(g File) bool { return g.Path == f.Path })
			}
		}
	}
}

// put gives a machine a file as another has it, under a path that need not be there yet.
func put(machine, to, other, from string) change {
	return func(t *testing.T, cluster []*Machine) {
		source := *each(t, cluster, other, from)[0]
		for _, m := range machinesOf(t, cluster, machine) {
			if f := m.File(to); f != nil {
				f.Content = source.Content
				continue
			}
			source.Path = to
			m.Files = append(m.Files, source)
		}
	}
}

func swap(machine, a, b string) change {
	return func(t *testing.T, cluster []*Machine) {
		f, g := each(t, cluster, machine, a)[0], each(t, cluster, machine, b)[0]
		f.Content, g.Content = g.Content, f.Content
	}
}

// all makes several changes that are one.
func all(changes ...change) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, c := range changes {
			c(t, cluster)
		}
	}
}

// onMachine changes what is no file.
func onMachine(machines string, f func(*Machine)) change {
	return func(t *testing.T, cluster []*Machine) {
		for _, m := range machinesOf(t, cluster, machines) {
			f(m)
		}
	}
}

// reissue has the cluster's CA sign a certificate again for the same key, after a change of it.
func reissue(machine, file string, f func(*x509.Certificate)) change {
	return sign(machine, file, f, func(t *testing.T, cluster []*Machine) crypto.Signer {
		key, err := keyutil.ParsePrivateKeyPEM(each(t, cluster, "cp-1", pki+"ca.key")[0].Content)
		require.NoError(t, err)
		return key.(crypto.Signer)
	})
}

// counterfeit has another CA of the same name sign a certificate.
func counterfeit(machine, file string) change {
	same := func(*x509.Certificate) {}
	return sign(machine, file, same, func(t *testing.T, _ []*Machine) crypto.Signer {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	})
}

// sign has the cluster's CA, with a key that by returns, sign a certificate again after a change.
func sign(
	machine, file string,
	f func(*x509.Certificate),
	by func(*testing.T, []*Machine) crypto.Signer,
) change {
	return func(t *testing.T, cluster []*Machine) {
		ca := certificateIn(t, each(t, cluster, "cp-1", pki+"ca.crt")[0])
		key := by(t, cluster)
		for _, in := range each(t, cluster, machine, file) {
			old := certificateIn(t, in)
			template := &x509.Certificate{
				SerialNumber: big.NewInt(1), Subject: old.Subject, NotBefore: old.NotBefore,
				NotAfter: old.NotAfter,
				KeyUsage: old.KeyUsage, ExtKeyUsage: old.ExtKeyUsage, DNSNames: old.DNSNames,
				IPAddresses: old.IPAddresses,
			}
			f(template)
			parent := *ca
			parent.PublicKey = key.Public()
			der, err := x509.CreateCertificate(rand.Reader, template, &parent, old.PublicKey, key)
			require.NoError(t, err)
			_, rest := pem.Decode(in.Content)
			in.Content = append(
				pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), rest...,
			)
		}
	}
}

func certificateIn(t *testing.T, f *File) *x509.Certificate {
	t.Helper()
	cert, err := firstCertificate(f.Content)
	require.NoError(t, err, f.Path)
	return cert
}

// Places on machines.
const (
	pki       = "/etc/kubernetes/pki/"
	settings  = "/etc/kubernetes/apiserver/"
	units     = "/etc/systemd/system/"
	cniConfig = "/etc/cni/net.d/*"
)

// Files that many mutations change.
var (
	apiPod       = staticPod("kube-apiserver")
	managerPod   = staticPod("kube-controller-manager")
	schedulerPod = staticPod("kube-scheduler")
	etcdPod      = staticPod("etcd")
	dns          = object("deployment-coredns")
)

func staticPod(component string) string { return manifestsDir + "/" + component + ".yaml" }
func object(name string) string         { return objectsDir + "/*-" + name + ".yaml" }

// mutation is one fault and the judge that has to find it; others may find it too. After a colon
// may follow a part of the judge's finding.
type mutation struct {
	name, by string
	change   change
}

func noNames(c *x509.Certificate, names ...string) {
	c.DNSNames = slices.DeleteFunc(c.DNSNames,
		func(name string) bool { return slices.Contains(names, name) })
	c.IPAddresses = slices.DeleteFunc(c.IPAddresses,
		func(ip net.IP) bool { return slices.Contains(names, ip.String()) })
}

func lacking(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { noNames(c, names...) }
}

func subject(name string, groups ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.Subject = pkix.Name{CommonName: name, Organization: groups}
	}
}

func lasting(from, until time.Duration) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		start := c.NotBefore
		c.NotBefore, c.NotAfter = start.Add(from), start.Add(until)
	}
}

func usedFor(usages ...x509.ExtKeyUsage) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.ExtKeyUsage = usages }
}

const (
	hour = time.Hour
	year = 365 * 24 * time.Hour
)

func isUnit(name string) func(Unit) bool { return func(u Unit) bool { return u.Name == name } }

func isLink(name string) func(Link) bool {
	return func(l Link) bool { return path.Base(l.Path) == name }
}
