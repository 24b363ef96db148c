package credential_test

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/credential"
)

// armoured returns DER as PEM.
func armoured(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// keys returns a private key in every form, and its public parts.
type keys struct{ sec1, pkcs8, pkcs1, public, certificate string }

func newKeys(t *testing.T) keys {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	sec1, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(t, err)
	old, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<31, 0),
		DNSNames: []string{"example.com"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return keys{string(sec1), string(pkcs8), string(x509.MarshalPKCS1PrivateKey(old)),
		armoured("PUBLIC KEY", public), armoured("CERTIFICATE", certificate)}
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

func in64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// kubeconfig returns a kubeconfig with one user, who has these fields.
func kubeconfig(user string) string {
	return `apiVersion: v1
kind: Config
clusters:
- name: prod
  cluster: {server: "https://api.example.com:6443"}
users:
- name: me
  user:
` + user + `contexts:
- name: me@prod
  context: {cluster: prod, user: me}
current-context: me@prod
`
}

// TestForms has for each row of the table contents that are found, and contents that only resemble
// them.
func TestForms(t *testing.T) {
	t.Parallel()
	k := newKeys(t)
	const token, random, word = "abcdef.0123456789abcdef",
		"q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQq83vEjRWeJA=", "9f86d081884c7d659a2feaa0c55ad015"
	sec1 := armoured("EC PRIVATE KEY", []byte(k.sec1))
	bundle := "apiVersion: kiln.dev/v1alpha1\nca:\n  key: |\n" + indent(sec1) +
		"\nkind: Secrets\nleafSeed: " + random + "\nname: prod\n"
	part := func(text string) string {
		return "eyJ" + strings.TrimPrefix(base64.RawURLEncoding.EncodeToString([]byte(text)), "eyJ")
	}
	jwt := part(`{"alg":"RS256","kid":"a"}`) + "." + part(`{"sub":"system:serviceaccount:a:b"}`) +
		"."
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: {b: c}}\n"
	for _, row := range []struct {
		what string   // "" if nothing is to be found
		all  []string // contents
	}{
		{"the bundle of cluster prod", []string{bundle, `{"kind":"Secrets","leafSeed":"` + random +
			`","name":"prod"}`}},
		{"", []string{"apiVersion: kiln.dev/v1alpha1\nkind: Public\nname: prod\nca: |\n" +
			indent(k.certificate), "The bundle holds the leafSeed: 32 bytes."}},

		{"the key of Secrets in etcd", []string{
			"encryptionKey: " + random + "\n", `{"encryptionKey": "` + random + `"}`,
			"kind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n" +
				"  - aescbc:\n      keys:\n      - name: key1\n        secret: " + random + "\n",
			`{"providers":[{"secretbox":{"keys":[{"name":"a","secret":"` + random + `"}]}}]}`,
			"  - aesgcm: {keys: [{name: a, secret: q83vEjRWeJCrze8SNFZ4kA==}]}\n"}},
		{"", []string{"encryptionKey: in the bundle\n", "spec:\n  secret: " + random + "\n",
			"providers:\n- identity: {}\n- kms: {name: a, endpoint: unix:///run/kms.sock}\n",
			"aescbc and secretbox need a secret: 32 bytes in base64"}},

		{"a kubeconfig with client-key-data", []string{
			kubeconfig("    client-key-data: " + in64(sec1) + "\n"),
			`{"users":[{"user":{"client-key-data":"` + in64(sec1) + `"}}]}`,
			kubeconfig("    client-key-data: >-\n      " + in64(sec1) + "\n"),
		}},
		{"a kubeconfig with a token", []string{
			kubeconfig("    token: hunter2\n"), "data:\n  config: |\n" +
				indent(kubeconfig("    # mine\n    token: \"hunter 2\"\n")),
			`{"clusters":[],"users":[{"name":"me","user":{"token":"hunter2"}}]}`,
			kubeconfig("    auth-provider:\n      config:\n        refresh-token: hunter2\n"),
			"clusters: []\nusers: [{name: me, user: {client-certificate: /a, token: hunter2}}]\n",
		}},
		{"a kubeconfig with a password", []string{kubeconfig("    username: me\n    password: " +
			"hunter2\n")}},
		{"", []string{
			kubeconfig("    client-certificate: /etc/a.pem\n    client-key: /etc/a.pem\n"),
			kubeconfig("    tokenFile: /var/run/token\n"), kubeconfig("    token: \"\"\n"),
			kubeconfig("    exec:\n      apiVersion: client.authentication.k8s.io/v1\n      " +
				"command: aws\n      args: [eks, get-token]\n"),
			kubeconfig("    client-key-data: DATA+OMITTED\n    token: " +
				"REDACTED\n    client-certificate-data: " + in64(k.certificate) + "\n"),
			kubeconfig("    token: ${TOKEN}\n"),
			kubeconfig("    {}\n") + "preferences:\n  token: not-of-a-user\n",
			"users:\n- user:\n    password: of something else\n",
		}},

		{"a Secret with values", []string{
			secret + "data:\n  password: aHVudGVyMg==\n", secret +
				"stringData: {password: hunter2}\n", "kind: ConfigMap\ndata: {a: b}\n---\n" +
				secret + "data:\n  a: \"\"\n  b: aHVudGVyMg==\n",
			`{"apiVersion":"v1","kind":"Secret","data":{"a":"aHVudGVyMg=="}}`,
			"kind: List\nitems:\n- kind: Secret\n  stringData:\n    # mine\n    password: " +
				"|\n      hunter2\n",
		}},
		{"", []string{
			secret, secret + "data: {}\n", secret + "data:\n  a: \"\"\n---\nkind: " +
				"ConfigMap\ndata:\n  a: b\n", strings.Replace(secret, "Secret", "SealedSecret", 1) +
				"data: {a: b}\n",
			secret + "stringData:\n  a: ENC[AES256_GCM,data:x]\nsops: {}\n",
			"kind: Role\nrules:\n- resources: [secrets]\n",
			secret + "type: kubernetes.io/service-account-token\n",
			secret + "stringData: {password: $PASSWORD}\n",
		}},

		{"a private key", []string{
			sec1, armoured("PRIVATE KEY", []byte(k.pkcs8)),
			armoured("RSA PRIVATE KEY", []byte(k.pkcs1)),
			armoured("ENCRYPTED PRIVATE KEY", []byte("x")),
			armoured("OPENSSH PRIVATE KEY", []byte("openssh-key-v1")),
			armoured("PGP PRIVATE KEY BLOCK", []byte("x")),
			"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n", k.certificate + sec1,
			"key: |\n" + indent(sec1), `{"private_key":"` +
				strings.ReplaceAll(sec1, "\n", `\n`) + `"}`,
			`{"text":"` + strings.ReplaceAll(sec1, "\n", `\\n`) + `"}`,
			"\"-----BEGIN PRIVATE KEY-----\" +\n\"MIGH\"", "-----BEGIN PRIVATE KEY-----",
		}},
		{"", []string{
			"-----BEGIN PRIVATE KEY-----\n<private-key>\n-----END PRIVATE KEY-----\n",
			`{"description":"\"-----BEGIN RSA PRIVATE KEY-----\\n\u003ckey\u003e\\n"}`,
			"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
		}},
		{"", []string{
			k.certificate, k.public, strings.Repeat(k.certificate, 50),
			armoured("CERTIFICATE REQUEST", []byte("x")),
			armoured("DH PARAMETERS", []byte("x")),
			armoured("PGP PUBLIC KEY BLOCK", []byte("x")),
			"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0Nn1wVbBMmsJ8l7LMf5N1cBMBb0TGsPc3ZJ5sBfVwN " +
				"you@example.com", "openssl pkey checks that a PRIVATE KEY is one\n",
		}},
		{"a private key of PuTTY",
			[]string{"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n"}},
		{"", []string{"# PuTTY-User-Key-File: see the manual"}},
		{"a private key as JWK", []string{`{"kty":"EC","crv":"P-256","x":"a","y":"b",` +
			`"d":"870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}`,
			`{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS"}`}},
		{"", []string{`{"kty":"EC","crv":"P-256",` +
			`"x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",` +
			`"y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}`}},
		{"an identity of age",
			[]string{"# public key: age1x\nAGE-SECRET-KEY-1QQPQQPQQP0123456789ABCDEF\n",
				"AGE-PLUGIN-YUBIKEY-1QQPQQPQQP0123456789"}},
		{"", []string{"age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
			"it begins with AGE-SECRET-KEY-1", "-----BEGIN AGE ENCRYPTED FILE-----"}},
		{"a key of WireGuard", []string{"[Interface]\nPrivateKey = " + random + "\n",
			"[WireGuardPeer]\nPresharedKey=" + random + "\n"}},
		{"", []string{"[WireGuardPeer]\nPublicKey=" + random + "\n", "PrivateKeyFile=/etc/wg.key\n",
			"PrivateKey = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"}},
		{"a key of LUKS", []string{"luks:\n- name: data\n  key_file:\n    inline: hunter2\n",
			`{"keyFile":{"source":"data:,hunter2"}}`, "key_file: {inline: hunter2}"}},
		{"", []string{"key_file: {source: https://example.com/key}",
			`{"keyFile":{"source":"https://example.com/key"}}`, "key_file: {local: key}",
			"key_file: /etc/key"}},
		{"a private key in DER", []string{k.sec1, k.pkcs8, k.pkcs1}},
		{"", []string{"0" + strings.Repeat("a", 200), string([]byte{0x30, 0x82, 1, 0}) + random}},

		{"a bootstrap token", []string{
			"token: " + token, "kubeadm join 10.0.0.1:6443 --token " + token +
				" --discovery-token-ca-cert-hash sha256:" + word, "BOOTSTRAP_TOKEN=" + token + "\n",
			token + "\n",
			"token-id: abcdef\ntoken-secret: 0123456789abcdef\n", `{"token":"` + token + `"}`,
		}},
		{"", []string{
			"docker.internalregistry", "the token system.containerruntime",
			token + " is an example", "see bundle.0123456789abcdef.js",
			"token-secret: the.name.of.it", "--token-ttl 24h0m0s",
			"token: abcdef.0123456789abcdefg",
		}},
		{"a JSON web token", []string{jwt + "c2lnbmF0dXJlLW9mLWl0",
			"x=" + jwt + "c2lnbmF0dXJlLW9mLWl0\n"}},
		{"", []string{jwt, "eyJhbGciOiJub25lIn0.e30.", "eyJust.another.word.that.is.long"}},
		{"a token in an HTTP header", []string{"Authorization: Bearer q83vEjRWeJCrze8SNFZ4kKvN7xI0",
			`{"name":"Authorization","value":"Bearer q83vEjRWeJCrze8SNFZ4kKvN7xI0"}`}},
		{"", []string{"Authorization: Bearer $TOKEN", "bearer authenticationconfiguration",
			"Bearer token"}},
		{"a password in an HTTP header", []string{"Authorization: Basic " + in64("me:hunter2")}},
		{"", []string{"Basic " + in64("no password"), "basic authentication",
			"Basic " + in64("me:changeme")}},
		{"a token of GitHub", []string{"ghp_" + strings.Repeat("a1", 18),
			"github_pat_" + strings.Repeat("a1", 20)}},
		{"a token of GitLab", []string{"url: x\ntoken: glpat-" + strings.Repeat("a1", 10)}},
		{"a token of Slack", []string{"xoxb-123456789012-123456789012-abcdef"}},
		{"a token of Vault", []string{"hvs.CAESIJ" + strings.Repeat("a1", 20)}},
		{"", []string{"ghp_token", "glpat-is-how-they-begin", "xoxb-", "hvs.internal.example.com",
			"ghp_" + strings.Repeat("ab", 18), "github_pat_is_how_they_all_begin_now"}},
		{"an access key of AWS", []string{"[default]\naws_access_key_id = " +
			"AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = " +
			"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\n",
			"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY",
			"aWSSecretAccessKey: \"wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY\""}},
		{"", []string{"aws_access_key_id = AKIAIOSFODNN7EXAMPLE\n",
			"aws_secret_access_key = $AWS_SECRET\n", "aws_secret_access_key=" +
				strings.Repeat("a", 40)}},
		{"a registry's password", []string{`{"auths":{"registry.example.com":{"auth":"` +
			in64("me:hunter2") + `"}}}`, `[plugins."x".registry.configs."a".auth]` +
			"\n  auth = \"" + in64("me:hunter2") + `"`, `_auth = "` + in64("me:hunter2") + `"`}},
		{"a registry's token",
			[]string{`{"auths":{"a":{"identitytoken":"0123456789abcdef-0123"}}}`}},
		{"", []string{`{"auths":{"registry.example.com":{}},"credsStore":"pass"}`, `{"auth":""}`,
			`auth = "password"`, `{"auths":{"a":{"auth":"` + in64("me:changeme") + `"}}}`}},
		{"a password in a URL", []string{"HTTPS_PROXY=http://me:hunter2@proxy.example.com:3128",
			"redis://:hunter2@cache:6379/0", "http://u:p@h:1", "a://b:c@d",
			"first https://example.com/ and https://example.org\n, then ftp://me:hunter2@host",
			"git://me@a.example/ then \"http://me:hunter2@b.example\""}},
		{"", []string{
			"https://example.com:8443/a@b", "ssh://git@example.com:22/a",
			"docker://alpine:3.18@sha256:" + word + word,
			"http://user:password@proxy.example.com", "http://$USER:$PASS@proxy.example.com",
			"http://[fd00::1]:80/", "https://me@example.com", "https://a.example/x?y=z:u:p@h:1",
			"see http://a.example then http://b.example/u:p@h",
		}},

		// Random values that are no secrets.
		{"", []string{
			word + word, strings.Repeat(random+"\n", 100), "sha512:" + strings.Repeat(word, 4),
			string(make([]byte, 1<<16)), "registry.example.com/a@sha256:" + word + word,
			strings.Repeat("A", 1<<20), "\x1f\x8b\x08 no gzip", "",
		}},
	} {
		for _, content := range row.all {
			found, ok := credential.Find([]byte(content))
			require.Equal(t, row.what != "", ok, "%.300q: %s", content, found)
			require.Equal(t, row.what, found.What, "%.300q", content)
		}
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

func inUTF16(text string, order binary.AppendByteOrder, marked bool) string {
	var out []byte
	if marked {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func wrapped(text, end string, width int) string {
	var out strings.Builder
	for len(text) > width {
		out.WriteString(text[:width] + end)
		text = text[width:]
	}
	return out.String() + text
}

// TestPacking: a packed credential is found.
func TestPacking(t *testing.T) {
	t.Parallel()
	plain := "# a kubeconfig\n" + kubeconfig("    token: hunter2\n")
	const what = "a kubeconfig with a token"
	std, gz := in64(plain), zipped(t, plain)
	escaped := strings.ReplaceAll(url.PathEscape(plain), "+", "%20")
	for _, row := range []struct{ name, content, want string }{
		{"plain", plain, what},
		{"base64", "x: " + std + "\n", what + " (in base64)"},
		{"base64 without padding", base64.RawStdEncoding.EncodeToString([]byte(plain)),
			what + " (in base64)"},
		{"base64 for URLs", base64.RawURLEncoding.EncodeToString([]byte("\xff\xfe?>"+plain)) + "." +
			base64.URLEncoding.EncodeToString([]byte(plain)), what + " (in base64)"},
		{"base64 in lines", "x: |\n  " + wrapped(std, "\n  ", 76), what + " (in base64)"},
		{"base64 in lines of Windows", wrapped(std, "\r\n", 64), what + " (in base64)"},
		{"base64 in short lines", wrapped(std, "\n", 13), what + " (in base64)"},
		{"base64 in a string of JSON", `{"x":"` + wrapped(std, `\n`, 64) + `"}`,
			what + " (in base64)"},
		{"base64 in a shell script", "echo " + wrapped(std, "\\\n", 60) + " | base64 -d",
			what + " (in base64)"},
		{"base64 below a word", "data\n" + wrapped(std, "\n", 76), what + " (in base64)"},
		{"base64 below a word that is no part of it", "words\n" + wrapped(std, "\n", 76),
			what + " (in base64)"},
		{"gzip", gz, what + " (in gzip)"},
		{"gzip that is cut off", gz[:len(gz)-9], what + " (in gzip)"},
		{"gzip in base64", in64(gz), what + " (in base64 of gzip)"},
		{"base64 in gzip", zipped(t, std), what + " (in gzip of base64)"},
		{"a data URL", "source: data:text/plain;base64," + std, what + " (in base64)"},
		{"a data URL with escapes", `"data:,` + escaped + `"`, what + " (in a data URL)"},
		{"a data URL of base64 with escapes", `"data:;base64,` +
			url.QueryEscape(wrapped(std, "\n", 76)) + `"`, what + " (in a data URL of base64)"},
		{"hex", "x=" + hex.EncodeToString([]byte(plain)), what + " (in hex)"},
		{"hex in lines", wrapped(strings.ToUpper(hex.EncodeToString([]byte(plain))), "\n", 60),
			what + " (in hex)"},
		{"base64 before a word", "a: " + strings.TrimRight(in64(plain+"\xff\xfb\xff\xfb\xff"),
			"=") + "\na-word-with-dashes: b", what + " (in base64)"},
		{"base64 at the end of a URL", "https://a.example/x/" + in64(gz),
			what + " (in base64 of gzip)"},
		{"hex behind a word", "https://example.com/" + hex.EncodeToString([]byte(plain)),
			what + " (in hex)"},
		{"hex before a word", "a: " + hex.EncodeToString([]byte(plain)) + "\nkind: b",
			what + " (in hex)"},
		{"UTF-16 of Windows", inUTF16(plain, binary.LittleEndian, true),
			what + " (in UTF-16)"},
		{"UTF-16 without a mark", inUTF16(plain, binary.LittleEndian, false),
			what + " (in UTF-16)"},
		{"UTF-16 of the other order", inUTF16(plain, binary.BigEndian, true),
			what + " (in UTF-16)"},
		{"UTF-16 in base64", in64(inUTF16(plain, binary.BigEndian, false)),
			what + " (in base64 of UTF-16)"},
		{"base64 in UTF-16", inUTF16(std, binary.LittleEndian, false),
			what + " (in UTF-16 of base64)"},
		{"six layers", in64(in64(in64(zipped(t, in64(gz))))),
			what + " (in base64 of base64 of base64 of gzip of base64 of gzip)"},
		{"seven layers", in64(in64(in64(in64(zipped(t, in64(gz)))))), ""},
		{"more than is unpacked", zipped(t, strings.Repeat("\x00", 17<<20)+plain),
			"packed data that is too large to search for secrets"},
		{"much more than its length", in64(zipped(t, zipped(t, strings.Repeat("A", 1<<20)))),
			"packed data that is too large to search for secrets"},
		{"a credential beside what is not unpacked", plain + "\n" +
			in64(zipped(t, strings.Repeat("\x00", 1<<20))), what},
		{"many lines between", std[:24] + strings.Repeat("\\n", 1<<12) + std[24:],
			what + " (in base64)"},
	} {
		found, ok := credential.Find([]byte(row.content))
		require.Equal(t, row.want != "", ok, row.name)
		require.Equal(t, row.want, found.String(), row.name)
	}
	// The shortest secret that is unpacked has 16 bytes.
	for _, text := range []string{in64("0123456789abcdef"),
		"x" + base64.RawStdEncoding.EncodeToString([]byte("ab0123456789abcdef")),
		hex.EncodeToString([]byte("0123456789abcdef"))} {
		seen := false
		for layer := range credential.Layers([]byte(strings.TrimPrefix(text, "x"))) {
			seen = seen || bytes.Contains(layer.Content, []byte("0123456789abcdef"))
		}
		require.True(t, seen, text)
	}
}

// TestBounds: a hostile content costs little time and memory.
func TestBounds(t *testing.T) {
	t.Parallel()
	bomb := zipped(t, strings.Repeat("A", 64<<20))
	for name, content := range map[string]string{
		"a bomb": bomb, "bombs": strings.Repeat(in64(bomb)+"\n\n.", 8),
		"one word": strings.Repeat("a", 1<<20), "many lines": strings.Repeat("abcde\n", 1<<17),
		"braces":                     "clusters users user: " + strings.Repeat("{", 1<<18),
		"users":                      "clusters users\n" + strings.Repeat("user:\n  a: b\n", 1<<14),
		"data URLs":                  strings.Repeat("data:%41", 1<<15),
		"nested users":               "clusters users\n" + strings.Repeat(`{user: {`, 1<<15),
		"dashes":                     strings.Repeat("-", 1<<20),
		"escapes":                    strings.Repeat(`\n`, 1<<20),
		"escapes with spaces":        strings.Repeat(`a\n `, 1<<18),
		"ends of lines of two kinds": strings.Repeat("\\r\\\n", 1<<18),
	} {
		total := 0
		for layer := range credential.Layers([]byte(content)) {
			layer.Credential()
			total += len(layer.Content)
		}
		require.Less(t, total, len(content)+17<<20, name)
	}
}

// TestProportion: what a content unpacks to is bounded by its length, so that many contents cost no
// more than one that is as long as all of them.
func TestProportion(t *testing.T) {
	t.Parallel()
	bomb := in64(zipped(t, zipped(t, strings.Repeat("A", 16<<20))))
	total := 0
	for layer := range credential.Layers([]byte(bomb)) {
		total += len(layer.Content)
	}
	require.Less(t, len(bomb), 1000)
	require.LessOrEqual(t, total, 33*len(bomb)+4<<10)
}

// FuzzFind: Find never panics, and its result holds nothing of the content.
func FuzzFind(f *testing.F) {
	f.Add([]byte(kubeconfig("    token: hunter2\n")))
	f.Add([]byte(fmt.Sprintf("data:,%%41 user: {,\n user:\n\\n%s\\\n",
		in64("-----BEGIN PRIVATE KEY-----"))))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		found, ok := credential.Find(content)
		require.Equal(t, ok, found.What != "")
		require.Less(t, len(found.String()), 200)
	})
}

// TestShortContents: Find reads contents with any first byte and any small length.
func TestShortContents(t *testing.T) {
	t.Parallel()
	for first := range 256 {
		for length := range 20 {
			content := make([]byte, length)
			for i := range content {
				content[i] = byte(first)
			}
			credential.Find(content)
		}
	}
}
