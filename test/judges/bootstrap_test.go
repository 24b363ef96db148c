package judges

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
	certutil "k8s.io/client-go/util/cert"
)

// joining is who asks with a pool's bootstrap token.
var joining = &user.DefaultInfo{Name: "system:bootstrap:abcdef", Groups: []string{
	"system:bootstrappers", "system:bootstrappers:kiln", user.AllAuthenticated,
}}

// TestBootstrapTokens: the API server's own admission, with the policy of the golden cluster, lets
// a bootstrap token ask for the certificate of a worker's kubelet and for nothing else.
func TestBootstrapTokens(t *testing.T) {
	t.Parallel()
	ask := newRequestAdmission(t, cluster(t, "pools", "ignition")[0])
	operator := &user.DefaultInfo{
		Name: "kubernetes-admin", Groups: []string{"kubeadm:cluster-admins", user.AllAuthenticated},
	}
	kubelet := certificatesv1.KubeAPIServerClientKubeletSignerName
	const (
		form    = "not in the form in which a kubelet asks"
		control = "a bootstrap token is not for a control plane"
		signers = "for the client certificate of a kubelet and for no other"
	)
	nodes := []string{"system:nodes"}
	whole := kubeletRequest(t, nodes, "system:node:blue-1")
	block, _ := pem.Decode(whole)
	other := kubeletRequest(t, nodes, "system:node:cp-1")
	// named is the request of the kubelet of a machine.
	named := func(name string) []byte { return kubeletRequest(t, nodes, "system:node:"+name) }
	for name, tt := range map[string]struct {
		by      user.Info
		request []byte
		signer  string
		err     string // empty if the request is admitted
	}{
		"a worker": {joining, whole, kubelet, ""},
		"a name with dots": {
			joining, named("ip-10-0-0-1.eu-west-1.compute.internal"),
			kubelet, "",
		},
		"one letter":                 {joining, named("a"), kubelet, ""},
		"the longest name":           {joining, named(strings.Repeat("a", 63)), kubelet, ""},
		"a name that begins like it": {joining, named("cp-10"), kubelet, ""},
		"a control plane":            {joining, other, kubelet, control},
		"the Service": {
			joining, named("kubernetes.default.svc"), kubelet,
			control,
		},
		"its whole name": {
			joining, named("kubernetes.default.svc.cluster.local"), kubelet, control,
		},
		"its short name":        {joining, named("kubernetes"), kubelet, control},
		"a name below it":       {joining, named("kubernetes.example.com"), kubelet, ""},
		"every machine":         {joining, named("localhost"), kubelet, control},
		"an address":            {joining, named("10.0.0.11"), kubelet, control},
		"it, for somebody else": {operator, other, kubelet, ""},
		"another signer": {
			joining, whole, certificatesv1.KubeAPIServerClientSignerName, signers,
		},
		"serving":       {joining, whole, certificatesv1.KubeletServingSignerName, signers},
		"no name":       {joining, named(""), kubelet, form},
		"upper case":    {joining, named("CP-1"), kubelet, form},
		"a longer name": {joining, named(strings.Repeat("a", 64)), kubelet, form},
		"no node": {
			joining, kubeletRequest(t, nodes, "kubernetes-admin"), kubelet, form,
		},
		"other groups": {
			joining,
			kubeletRequest(t, []string{"system:masters"}, "system:node:blue-1"), kubelet, form,
		},
		"two groups": {
			joining,
			kubeletRequest(t, []string{"system:masters", "system:nodes"}, "system:node:blue-1"),
			kubelet, form,
		},
		"two names": {
			joining, requestOf(t,
				part(orgOID, 19, "system:nodes"),
				part(nameOID, 19, "system:node:blue-1"),
				part(nameOID, 19, "system:node:cp-1"),
			),
			kubelet, form,
		},
		"the name first": {
			joining,
			requestOf(t, part(nameOID, 19, "system:node:cp-1"), part(orgOID, 19, "system:nodes")),
			kubelet, form,
		},
		"UTF-8": {
			joining,
			requestOf(t, part(orgOID, 19, "system:nodes"), part(nameOID, 12, "system:node:cp-1")),
			kubelet, form,
		},
		"two bytes a letter": {
			joining, requestOf(t,
				part(orgOID, 19, "system:nodes"),
				part(nameOID, 30, twoBytes("system:node:cp-1")),
			),
			kubelet, form,
		},
		"a name and more behind it": {
			joining,
			requestOf(t, part(orgOID, 19, "system:nodes"), withTrailing("system:node:cp-1", "x")),
			kubelet, form,
		},
		"a block before it": {joining, append(damaged(whole), other...), kubelet, form},
		"a block behind it": {joining, append(bytes.Clone(whole), other...), kubelet, form},
		"text before it":    {joining, append([]byte("x\n"), other...), kubelet, form},
		"a brace in the text": {
			joining, bytes.Replace(other, []byte("\n"), []byte("{\n"), 1), kubelet, form,
		},
		"a header": {joining, pem.EncodeToMemory(&pem.Block{
			Type: block.Type, Headers: map[string]string{"a": "b"}, Bytes: block.Bytes,
		}), kubelet, form},
		"carriage returns": {
			joining, bytes.ReplaceAll(whole, []byte("\n"), []byte("\r\n")), kubelet, form,
		},
		"nothing": {joining, []byte("x"), kubelet, form},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ask(tt.by, tt.signer, tt.request)
			if tt.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.err)
		})
	}

	// Whatever single byte is changed: what is admitted and can be read is a request for a worker.
	t.Run("every byte", func(t *testing.T) {
		t.Parallel()
		taken, _ := pem.Decode(kubeletRequest(t, nodes, "system:node:cp-12"))
		for i := range taken.Bytes[:80] {
			for _, change := range []byte{1, 2, 3, 0x20, 0x80, 0xff} {
				der := bytes.Clone(taken.Bytes)
				der[i] ^= change
				text := pem.EncodeToMemory(&pem.Block{Type: taken.Type, Bytes: der})
				read, err := x509.ParseCertificateRequest(der)
				if ask(joining, kubelet, text) != nil || err != nil {
					continue
				}
				name, ok := strings.CutPrefix(read.Subject.CommonName, "system:node:")
				require.True(t, ok && name != "cp-1", "byte %d: %q", i, read.Subject.CommonName)
				require.Equal(t, nodes, read.Subject.Organization)
			}
		}
	})
}

// kubeletRequest is what a kubelet sends: client-go makes it.
func kubeletRequest(t *testing.T, groups []string, name string) []byte {
	t.Helper()
	text, err := certutil.MakeCSR(newKey(t),
		&pkix.Name{Organization: groups, CommonName: name}, nil, nil)
	require.NoError(t, err)
	return text
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

// damaged is a request whose block cannot be read, so that readers pass on to the next one.
func damaged(text []byte) []byte {
	return bytes.Replace(text, []byte("-----END CERTIFICATE REQUEST"),
		[]byte("=-----END CERTIFICATE REQUEST"), 1)
}

var (
	orgOID  = asn1.ObjectIdentifier{2, 5, 4, 10}
	nameOID = asn1.ObjectIdentifier{2, 5, 4, 3}
)

// part is one part of a subject, with a string of that type.
func part(oid asn1.ObjectIdentifier, tag int, value string) []byte {
	return compound(asn1.TagSet, compound(asn1.TagSequence, encoded(oid),
		encoded(asn1.RawValue{Tag: tag, Bytes: []byte(value)})))
}

// withTrailing is a common name with something behind it that Go's reader passes over.
func withTrailing(value, more string) []byte {
	return compound(asn1.TagSet, compound(asn1.TagSequence, encoded(nameOID),
		encoded(asn1.RawValue{Tag: 19, Bytes: []byte(value)}), []byte(more)))
}

// twoBytes is a BMPString.
func twoBytes(text string) string {
	var out []byte
	for _, c := range []byte(text) {
		out = append(out, 0, c)
	}
	return string(out)
}

func compound(tag int, parts ...[]byte) []byte {
	return encoded(asn1.RawValue{Tag: tag, IsCompound: true, Bytes: bytes.Join(parts, nil)})
}

func encoded(v any) []byte {
	der, err := asn1.Marshal(v)
	if err != nil {
		panic(err)
	}
	return der
}

// requestOf is a signed request with that subject, which Go's own reader takes.
func requestOf(t *testing.T, subject ...[]byte) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader,
		&x509.CertificateRequest{RawSubject: compound(asn1.TagSequence, subject...)}, newKey(t))
	require.NoError(t, err)
	_, err = x509.ParseCertificateRequest(der)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// newRequestAdmission returns what the API server's admission says of a certificate request, with
// the policy among the objects of a control plane.
func newRequestAdmission(
	t *testing.T, m *Machine,
) func(by user.Info, signer string, request []byte) error {
	t.Helper()
	return requestAdmission(t, policiesOf(t, m, "bootstrap.kiln.dev")...)
}

func requestAdmission(
	t *testing.T, policies ...runtime.Object,
) func(by user.Info, signer string, request []byte) error {
	t.Helper()
	plugin := newPolicyPlugin(t, policies...)
	ask := func(by user.Info, signer string, request []byte) error {
		object := &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "csr"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request: request, SignerName: signer,
			},
		}
		attributes := admission.NewAttributesRecord(
			object,
			nil,
			certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"),
			"",
			"csr",
			certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"),
			"",
			admission.Create,
			&metav1.CreateOptions{},
			false,
			by,
		)
		interfaces := admission.NewObjectInterfacesFromScheme(scheme.Scheme)
		return plugin.Validate(context.Background(), attributes, interfaces)
	}
	// It takes a moment until the plugin knows its policies. Until then it refuses everything, and
	// when it knows of none it refuses nothing.
	require.Eventually(t, func() bool {
		err := ask(joining, "example.com/none", nil)
		return err != nil && strings.Contains(err.Error(), "bootstrap.kiln.dev")
	}, time.Minute, 10*time.Millisecond)
	return ask
}
