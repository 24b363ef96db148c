//go:build tools

package judges

// kubeadmBinary builds it: this keeps what it needs in go.mod.
import _ "k8s.io/kubernetes/cmd/kubeadm"
