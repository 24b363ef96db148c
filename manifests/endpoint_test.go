package manifests_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"kiln/manifests"
	"kiln/render/config"
	"kiln/render/plan"
)

// balancer returns the configuration of the balancers of a cluster of two control planes.
func balancer(t *testing.T, spec, first, second string) string {
	t.Helper()
	text := "apiVersion: kiln.dev/v1alpha1\nkind: Cluster\nmetadata: {name: test}\nspec:\n  kubernetesVersion: v1.36.3\n  machines: {os: debian}\n  endpoint: api.test\n" +
		"  controlPlane: {etcd: {allowEvenMembers: true}}\n" + spec +
		"  nodes:\n  - {name: cp-1, role: control-plane, addresses: [" + first + "]}\n  - {name: cp-2.test, role: control-plane, addresses: [" + second + "]}\n"
	c, err := config.Parse("cluster.yaml", []byte(text), nil)
	require.NoError(t, err)
	p, err := plan.New(c)
	require.NoError(t, err)
	return string(manifests.Balancer(p))
}

const (
	ipv4 = "  workers: {localBalancer: {}}\n"
	ipv6 = "  workers: {localBalancer: {port: 7443}}\n  network: {podSubnets: ['fd00:10:244::/48'], serviceSubnets: ['fd00:10:96::/112']}\n"
)

// TestBalancer reads the configuration as haproxy does, section by section.
func TestBalancer(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		conf                string
		bind, health        string
		firstServer, second string
	}{
		"IPv4": {balancer(t, ipv4, "10.0.0.11", "10.0.0.12"), "127.0.0.1:6443", "127.0.0.1:6444", "cp-1 10.0.0.11:6443", "cp-2.test 10.0.0.12:6443"},
		"IPv6": {balancer(t, ipv6, "'2001:db8::11'", "'2001:db8::12'"), "[::1]:7443", "[::1]:6444", "cp-1 [2001:db8::11]:6443", "cp-2.test [2001:db8::12]:6443"},
	} {
		sections := map[string][]string{}
		var section string
		for line := range strings.Lines(row.conf) {
			line = strings.TrimRight(line, "\n")
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "#") || line == "":
			case strings.HasPrefix(line, "  "):
				sections[section] = append(sections[section], strings.TrimSpace(line))
			default:
				section = line
			}
		}
		require.Len(t, sections, 5, name)
		require.Equal(t, []string{"bind " + row.bind, "default_backend control-planes"}, sections["frontend api"], name)
		require.Contains(t, sections["frontend health"], "bind "+row.health, name)
		servers := sections["backend control-planes"]
		require.Equal(t, []string{"server " + row.firstServer, "server " + row.second}, servers[len(servers)-2:], name)
		require.Contains(t, row.conf, "verify required ca-file "+plan.CACert+" ", name)
		require.NotContains(t, row.conf, "{{", name)
	}
}

// TestBalancerSum: another control plane is another configuration, and so another pod.
func TestBalancerSum(t *testing.T) {
	t.Parallel()
	one, other := balancer(t, ipv4, "10.0.0.11", "10.0.0.12"), balancer(t, ipv4, "10.0.0.11", "10.0.0.13")
	require.Equal(t, manifests.BalancerSum([]byte(one)), manifests.BalancerSum([]byte(balancer(t, ipv4, "10.0.0.11", "10.0.0.12"))))
	require.NotEqual(t, manifests.BalancerSum([]byte(one)), manifests.BalancerSum([]byte(other)))
}

// TestBalancerIsHAProxys lets haproxy read the configuration, where there is one: any version from 2.4 on.
func TestBalancerIsHAProxys(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy" // in no PATH but root's
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("haproxy is not installed (apt-get install haproxy): its own reading of the configuration is not tested")
	}
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	require.NoError(t, os.WriteFile(ca, someCA(t), 0o600))
	for name, conf := range map[string]string{
		"IPv4": balancer(t, ipv4, "10.0.0.11", "10.0.0.12"), "IPv6": balancer(t, ipv6, "'2001:db8::11'", "'2001:db8::12'"),
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(conf, plan.CACert, ca)), 0o600))
		out, err := exec.Command(program, "-c", "-V", "-f", file).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		require.NotContains(t, string(out), "WARNING", name)
	}
}

// someCA returns a certificate that haproxy can load.
func someCA(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
