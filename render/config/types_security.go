package config

import (
	"path"
	"strings"
)

// Security says how far kiln hardens the cluster beyond what every cluster gets.
type Security struct {
	// Profile is the default for everything that the other fields leave open. cis: the cluster
	// passes every automated check of the CIS benchmark; docs/security.md says what pods and
	// clients notice of it. baseline: without the audit log, without Pod Security, without the
	// limits on a pod's processes and system calls, and without the block on the platform's
	// metadata service; the API server answers anonymous requests.
	Profile string `json:"profile,omitempty" enum:"cis,baseline" default:"cis"`
	// Encryption is how etcd stores Secrets. secretbox: encrypted with the key of the bundle.
	// identity: not encrypted; Secrets that were encrypted earlier stay readable.
	Encryption string `json:"encryption,omitempty" enum:"secretbox,identity" default:"secretbox"`
	// EncryptedResources are further resources that etcd stores as it stores Secrets. Each is
	// RESOURCE of the core group, or RESOURCE.GROUP. Objects that are there already are encrypted
	// when somebody writes them again.
	EncryptedResources []string `json:"encryptedResources,omitempty" example:"[configmaps]"`
	// KMS encrypts with keys that never leave a key management service.
	KMS *KMS `json:"kms,omitempty"`
	// PodSecurity limits the pods in namespaces that have no Pod Security labels of their own.
	PodSecurity PodSecurity `json:"podSecurity,omitempty"`
	// MetadataService says whether pods may reach the platform's metadata service. That service
	// hands out the machine's document, and often its cloud credentials. Pods on the host's network
	// always reach it. The default is deny with profile cis, and allow with profile baseline.
	MetadataService string `json:"metadataService,omitempty" enum:"deny,allow"`
	// TLSMinVersion is the oldest version of TLS that the servers of the cluster speak. These are
	// the API server, etcd, the controller-manager, the scheduler and kubelets. With VersionTLS13
	// they refuse every client that knows only TLS 1.2. No cipher suites are set then: those of
	// TLS 1.3 cannot be chosen.
	TLSMinVersion string `json:"tlsMinVersion,omitempty" table:"tls" default:"VersionTLS12"`
	// AlwaysPullImages turns on the admission plugin of that name. At every start of a pod the
	// registry decides whether the pod may have its image. While the registry is down no pod
	// starts.
	AlwaysPullImages bool `json:"alwaysPullImages,omitempty"`
}

// Hardened reports whether the profile is cis.
func (s *Security) Hardened() bool { return s.Profile == "cis" }

// KMS is a plugin of yours that asks a key management service, version v2 of its API. It runs on
// each control plane, as a static pod in files perhaps. An API server is not healthy without it.
type KMS struct {
	// Name is the name of the provider. What it encrypted begins with the name, so the name stays.
	Name string `json:"name" example:"vault" is:"label"`
	// Endpoint is the plugin's socket, in a folder of its own below /run, /var/run or /opt. The
	// API server's pod has the folder.
	Endpoint string `json:"endpoint" example:"unix:///run/kms/vault.sock"`
}

// Folder returns the folder of the socket.
func (k *KMS) Folder() string { return path.Dir(strings.TrimPrefix(k.Endpoint, "unix://")) }

// PodSecurity is the default of the API server for Pod Security Admission.
type PodSecurity struct {
	// Enforce is the level that pods have to meet. The default is baseline with profile cis, and
	// privileged (everything is allowed) with profile baseline.
	Enforce string `json:"enforce,omitempty" enum:"privileged,baseline,restricted"`
	// ExemptNamespaces are namespaces without a level. kube-system is always exempt.
	ExemptNamespaces []string `json:"exemptNamespaces,omitempty"`
}

// Certificates says how long certificates are valid and which keys they have.
type Certificates struct {
	// KeyAlgorithm is the algorithm of the keys of CAs and service accounts. kiln uses it when it
	// makes the bundle. All other keys are ECDSA-P256.
	KeyAlgorithm string `json:"keyAlgorithm,omitempty" table:"keyAlgorithms" default:"ECDSA-P256"`
	// Lifetime is how long leaf certificates are valid, from their last renewal. The first one is
	// the making of the bundle; see kiln secrets renew. Certificates that the cluster signs live as
	// long, such as those of kubelets that renew theirs.
	Lifetime Duration `json:"lifetime,omitempty" default:"8760h" is:"window"`
	// CALifetime is how long the CAs are valid. kiln uses it when it makes the bundle.
	CALifetime Duration `json:"caLifetime,omitempty" default:"87600h"`
	// Stagger spreads the ends of the machines' certificates, so that not all end at once. The
	// certificates of each machine end earlier by a time between 0 and stagger, which follows from
	// the machine's name. The default is 720h, or a twelfth of lifetime if that is shorter. With 0s
	// all end at the same time.
	Stagger *Duration `json:"stagger,omitempty" example:"720h"`
	// KubeletServing is the serving certificate of a pool's kubelets. The others have one of the
	// cluster's CA in their documents. self-signed: the kubelet makes a certificate itself, and API
	// servers do not verify any kubelet. request: the kubelet asks the cluster for a certificate
	// (serverTLSBootstrap), and API servers verify every kubelet. Somebody has to approve each
	// request; until then the machine has no logs, no exec and no metrics. docs/pools.md compares
	// the approvers.
	KubeletServing string `json:"kubeletServing,omitempty" table:"serving" default:"self-signed"`
	// Signing says where the key of the cluster's CA is. online: on the control planes, where the
	// controller-manager signs certificate requests. offline: on no machine; then client
	// certificates do not rotate, and pools cannot join.
	Signing string `json:"signing,omitempty" enum:"online,offline" default:"online"`
}

// Secrets says how the bundle is stored.
type Secrets struct {
	// Recipients are the age recipients that the bundle is encrypted to. They are X25519 keys
	// (age1…), hybrid ones (age1pq1…), those of hardware (age1tag1…, age1tagpq1…), and those of
	// plugins (age1NAME1…), to which the program age-plugin-NAME encrypts. Post-quantum and other
	// recipients do not mix. With recipients the first render makes NAME.secrets.yaml.age instead
	// of NAME.secrets.yaml. Later only kiln secrets encrypt changes to whom the bundle is
	// encrypted; docs/secrets.md says how.
	Recipients []string `json:"recipients,omitempty"`
}
