package config

// Security says how far the cluster is hardened beyond what no cluster notices.
type Security struct {
	// Profile sets what the other fields leave open. cis: every automated check of the CIS
	// benchmark passes; see docs/security.md for what that means for pods and clients. baseline:
	// without the audit log, Pod Security, the API server's refusal of anonymous requests, the
	// limits on pods and the wall before the metadata service.
	Profile string `json:"profile,omitempty" enum:"cis,baseline" default:"cis"`
	// Encryption is how Secrets lie in etcd. secretbox: encrypted with the bundle's key. identity:
	// in the clear; what was written encrypted stays readable.
	Encryption string `json:"encryption,omitempty" enum:"secretbox,identity" default:"secretbox"`
	// PodSecurity is what pods may do in namespaces that have no Pod Security labels of their own.
	PodSecurity PodSecurity `json:"podSecurity,omitempty"`
	// MetadataService says whether pods may reach the platform's metadata service, which hands out
	// the machine's document and often its cloud credentials. Pods on the host's network always
	// can. The default is deny with profile cis, allow with baseline.
	MetadataService string `json:"metadataService,omitempty" enum:"deny,allow"`
	// AlwaysPullImages makes every start of a pod ask the image's registry whether the pod may have
	// it; no pod then starts without the registry.
	AlwaysPullImages bool `json:"alwaysPullImages,omitempty"`
}

// Hardened says that the profile is cis.
func (s *Security) Hardened() bool { return s.Profile == "cis" }

// PodSecurity is the API server's default for Pod Security Admission.
type PodSecurity struct {
	// Enforce is the level that pods have to meet. The default is baseline with profile cis,
	// privileged (everything is allowed) with profile baseline.
	Enforce string `json:"enforce,omitempty" enum:"privileged,baseline,restricted"`
	// ExemptNamespaces are namespaces without any level, beside kube-system.
	ExemptNamespaces []string `json:"exemptNamespaces,omitempty"`
}

// Certificates says how long certificates live and what keys they have.
type Certificates struct {
	// KeyAlgorithm is the algorithm of the CA keys and the service account key; leaf keys are
	// always ECDSA-P256. It matters when the bundle is made.
	KeyAlgorithm string `json:"keyAlgorithm,omitempty" enum:"ECDSA-P256,RSA-2048" default:"ECDSA-P256"`
	// Lifetime is how long leaf certificates are valid after the bundle's issue time.
	Lifetime Duration `json:"lifetime,omitempty" default:"8760h"`
	// CALifetime is how long the CAs are valid; it matters when the bundle is made.
	CALifetime Duration `json:"caLifetime,omitempty" default:"87600h"`
	// Stagger spreads the ends of the machines' certificates: each machine's end up to this much
	// earlier, by its name, so that not all end at once.
	Stagger Duration `json:"stagger,omitempty" default:"0s"`
	// KubeletServing is what API servers and metrics find at the port of a kubelet that joined with
	// a token (pools, identity token); named machines have a serving certificate of the cluster's
	// CA in their documents. self-signed: the kubelet makes its own, and API servers verify no
	// kubelet. request: it asks the cluster for one (serverTLSBootstrap), and API servers verify
	// all kubelets; somebody has to approve the requests, and until then there are no logs, exec
	// and metrics of that machine. docs/pools.md compares the approvers.
	KubeletServing string `json:"kubeletServing,omitempty" enum:"self-signed,request" default:"self-signed"`
	// Signing says where the cluster's CA key is. online: on the control planes, where the
	// controller-manager signs certificate requests. offline: on no machine; client certificates
	// are then not rotated and pools cannot join.
	Signing string `json:"signing,omitempty" enum:"online,offline" default:"online"`
}
