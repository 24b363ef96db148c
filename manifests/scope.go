package manifests

import (
	"strings"
	"sync"
)

// builtIn are the groups of the API server's own kinds, and which of their kinds have no namespace.
const builtIn = `
core: ComponentStatus Namespace Node PersistentVolume
admissionregistration.k8s.io: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
admissionregistration.k8s.io: MutatingWebhookConfiguration ValidatingAdmissionPolicy
admissionregistration.k8s.io: ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
apiextensions.k8s.io: CustomResourceDefinition
apiregistration.k8s.io: APIService
apps:
authentication.k8s.io:
authorization.k8s.io:
autoscaling:
batch:
certificates.k8s.io: CertificateSigningRequest ClusterTrustBundle
coordination.k8s.io:
discovery.k8s.io:
events.k8s.io:
flowcontrol.apiserver.k8s.io: FlowSchema PriorityLevelConfiguration
internal.apiserver.k8s.io: StorageVersion
networking.k8s.io: IPAddress IngressClass ServiceCIDR
node.k8s.io: RuntimeClass
policy:
rbac.authorization.k8s.io: ClusterRole ClusterRoleBinding
resource.k8s.io: DeviceClass DeviceTaintRule ResourcePoolStatusRequest ResourceSlice
scheduling.k8s.io: PriorityClass
storage.k8s.io: CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass
storagemigration.k8s.io: StorageVersionMigration
`

// clusterKinds returns the table by group.
var clusterKinds = sync.OnceValue(func() map[string][]string {
	kinds := map[string][]string{}
	for line := range strings.Lines(builtIn) {
		if group, list, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			group = strings.TrimSuffix(group, "core") // the core group has no name
			kinds[group] = append(kinds[group], strings.Fields(list)...)
		}
	}
	return kinds
})
