package config_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

// fieldsOfSpec has a line for each kind of field below spec. %s is the place of a value.
const fieldsOfSpec = `kubernetesVersion: %s
imageRepository: %s
images: {etcd: %s}
endpoint: %s
network: {podSubnets: [%s]}
network: {serviceSubnets: [%s]}
network: {nodeMaskSizes: [%s]}
network: {dnsDomain: %s}
network: {cni: %s}
certificates: {lifetime: %s}
dns: {replicas: %s}
machines: {os: %s}
machines: {kubeletVersion: %s}
machines: {kubeletPath: %s}
machines: {sshAuthorizedKeys: [%s]}
machines: {kubelet: {maxPods: %s}}
machines: {kubelet: {evictionHard: %s}}
machines: {kubelet: {syncFrequency: %s}}
machines: {labels: {a: %s}}
machines: {taints: [{key: %s, effect: %s}]}
machines: {files: [{path: %s, mode: %s, owner: %s}]}
machines: {units: [{name: %s, content: %s}]}
machines: {sysctls: {a.b: %s}}
machines: {kernelModules: [%s]}
machines: {registries: [{host: %s, mirrors: [%s]}]}
machines: {butane: %s}
machines: {networkConfig: {version: %s}}
machines: {ignorePreflight: [%s]}
machines: {files: [{path: /a, contentFrom: %s}]}
controlPlane: {apiServer: {certSANs: [%s], extraArgs: [{name: %s, value: a}]}}
controlPlane: {etcd: {external: {endpoints: [%s], caFrom: %s, certFrom: %s, keyFrom: %s}}}
controlPlane: {etcd: {allowEvenMembers: %s}}
addons: [{path: %s}]
patches: [{patchFrom: %s}]
pools: [{name: %s, tokenLifetime: %s}]
token: %s
nodes: [{name: %s, role: %s, addresses: [%s], mac: %s, productUUID: %s}]
nodes: [{interfaces: [{name: %s, mac: %s, addresses: [%s], gateways: [%s]}]}]
nodes: [{interfaces: [{nameservers: [%s], searchDomains: [%s], routes: [{to: %s, via: %s}]}]}]
nodes: [{interfaces: [{bond: {members: [%s], mode: %s, primary: %s}, vlan: {id: 1, link: %s}}]}]
`

// TestNoSecretInMessages writes secrets into every kind of field and looks for them in the
// messages.
func TestNoSecretInMessages(t *testing.T) {
	t.Parallel()
	// random is in most of the secrets, and in no message.
	const random = "b3BlbnNzaC1rZXktdjEA"
	secrets := map[string]string{
		"private key": `"-----BEGIN OPENSSH PRIVATE KEY-----\n` + random +
			`AAAABG5vbmUAAAAEbm9uZQ\n-----END OPENSSH PRIVATE KEY-----\n"`,
		"bootstrap token": "abcdef.0123456789abcdef",
		"password in URL": "https://bob:" + random + "@example.com",
		"web token":       "eyJhbGciOiJSUzI1NiIs." + random + ".c2ln",
		"age key":         "AGE-SECRET-KEY-1QQPQQPQQP0123456789ABCDEF",
		"random":          random + "AAAABG5vbmUAAAAEbm9uZQ",
	}
	for name, secret := range secrets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			core := strings.Trim(secret, `"`)
			check := func(text string) {
				t.Helper()
				_, err := config.Parse("cluster.yaml", []byte(text), fstest.MapFS{})
				if err == nil {
					return
				}
				for line := range strings.SplitSeq(core, `\n`) {
					if line != "" {
						require.NotContains(t, err.Error(), line, "in %q", text)
					}
				}
				require.NotContains(t, err.Error(), random, "in %q", text)
			}
			for _, f := range []string{
				"metadata: {name: %s}", "apiVersion: %s", "kind: %s", "colour: %s",
			} {
				check(strings.ReplaceAll(f, "%s", secret) + "\n")
			}
			for f := range strings.Lines(fieldsOfSpec) {
				check(header + "  " + strings.ReplaceAll(f, "%s", secret))
			}
		})
	}
}
