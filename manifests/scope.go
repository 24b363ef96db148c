package manifests

import (
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
resource.k8s.io: DeviceClass DeviceTaintRule ResourceSlice
scheduling.k8s.io: PriorityClass
storage.k8s.io: CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass
storagemigration.k8s.io: StorageVersionMigration
`

// wellKnown are kinds without a namespace that operators and charts define, by group: objects of
// these often come without their definitions. * are all kinds of a group.
const wellKnown = `
apiextensions.crossplane.io: CompositeResourceDefinition Composition EnvironmentConfig
argoproj.io: ClusterAnalysisTemplate ClusterWorkflowTemplate
cdi.kubevirt.io: CDI CDIConfig StorageProfile
cert-manager.io: ClusterIssuer
cilium.io: CiliumBGPAdvertisement CiliumBGPClusterConfig CiliumBGPNodeConfigOverride
cilium.io: CiliumBGPPeerConfig CiliumBGPPeeringPolicy CiliumCIDRGroup CiliumClusterwideEnvoyConfig
cilium.io: CiliumClusterwideNetworkPolicy CiliumEgressGatewayPolicy CiliumExternalWorkload
cilium.io: CiliumIdentity CiliumL2AnnouncementPolicy CiliumLoadBalancerIPPool CiliumNode
cilium.io: CiliumPodIPPool
constraints.gatekeeper.sh: *
crd.antrea.io: ClusterGroup ClusterNetworkPolicy Egress ExternalIPPool IPPool Tier Traceflow
crd.antrea.io: TrafficControl
crd.k8s.amazonaws.com: ENIConfig
crd.projectcalico.org: BGPConfiguration BGPFilter BGPPeer BlockAffinity CalicoNodeStatus
crd.projectcalico.org: ClusterInformation FelixConfiguration GlobalNetworkPolicy GlobalNetworkSet
crd.projectcalico.org: HostEndpoint IPAMBlock IPAMConfig IPAMHandle IPPool IPReservation
crd.projectcalico.org: KubeControllersConfiguration StagedGlobalNetworkPolicy Tier
elbv2.k8s.aws: IngressClassParams
expansion.gatekeeper.sh: ExpansionTemplate
external-secrets.io: ClusterExternalSecret ClusterPushSecret ClusterSecretStore
gateway.networking.k8s.io: GatewayClass
groupsnapshot.storage.k8s.io: VolumeGroupSnapshotClass VolumeGroupSnapshotContent
hostpathprovisioner.kubevirt.io: HostPathProvisioner
instancetype.kubevirt.io: VirtualMachineClusterInstancetype VirtualMachineClusterPreference
karpenter.k8s.aws: EC2NodeClass
karpenter.sh: NodeClaim NodeOverlay NodePool
keda.sh: ClusterTriggerAuthentication
kubeovn.io: IP OvnEip OvnFip ProviderNetwork SecurityGroup Subnet Vip Vlan Vpc
kueue.x-k8s.io: AdmissionCheck ClusterQueue Cohort MultiKueueCluster MultiKueueConfig
kueue.x-k8s.io: ProvisioningRequestConfig ResourceFlavor Topology WorkloadPriorityClass
kyverno.io: ClusterCleanupPolicy ClusterPolicy GlobalContextEntry
mellanox.com: HostDeviceNetwork IPoIBNetwork MacvlanNetwork NicClusterPolicy
metacontroller.k8s.io: CompositeController DecoratorController
mutations.gatekeeper.sh: Assign AssignImage AssignMetadata ModifySet
networkaddonsoperator.network.kubevirt.io: NetworkAddonsConfig
nfd.k8s-sigs.io: NodeFeatureRule
nmstate.io: NMState NodeNetworkConfigurationPolicy NodeNetworkState
nvidia.com: ClusterPolicy NVIDIADriver
operator.tekton.dev: *
operator.tigera.io: APIServer ApplicationLayer Authentication GatewayAPI Goldmane ImageSet
operator.tigera.io: Installation IntrusionDetection Istio LogCollector LogStorage
operator.tigera.io: ManagementCluster ManagementClusterConnection Manager Monitor
operator.tigera.io: PolicyRecommendation TigeraStatus Whisker
piraeus.io: LinstorCluster LinstorNodeConnection LinstorSatellite LinstorSatelliteConfiguration
pkg.crossplane.io: Configuration ConfigurationRevision DeploymentRuntimeConfig Function
pkg.crossplane.io: FunctionRevision ImageConfig Provider ProviderRevision
policies.kyverno.io: DeletingPolicy GeneratingPolicy ImageValidatingPolicy MutatingPolicy
policies.kyverno.io: PolicyException ValidatingPolicy
policy.cert-manager.io: CertificateRequestPolicy
policy.networking.k8s.io: AdminNetworkPolicy BaselineAdminNetworkPolicy ClusterNetworkPolicy
postgresql.cnpg.io: ClusterImageCatalog
projectcalico.org: BGPConfiguration BGPFilter BGPPeer ClusterInformation FelixConfiguration
projectcalico.org: GlobalNetworkPolicy GlobalNetworkSet HostEndpoint IPPool IPReservation
projectcalico.org: KubeControllersConfiguration StagedGlobalNetworkPolicy Tier
sailoperator.io: Istio IstioCNI IstioRevision ZTunnel
scheduling.volcano.sh: Queue
snapshot.storage.k8s.io: VolumeSnapshotClass VolumeSnapshotContent
spire.spiffe.io: ClusterFederatedTrustDomain ClusterSPIFFEID ClusterStaticEntry
templates.gatekeeper.sh: ConstraintTemplate
triggers.tekton.dev: ClusterInterceptor ClusterTriggerBinding
trust.cert-manager.io: Bundle
wgpolicyk8s.io: ClusterPolicyReport
`

// scopes returns both tables by group, and whether a group is of the API server.
var scopes = sync.OnceValues(func() (kinds map[string][]string, own map[string]bool) {
	kinds, own = map[string][]string{}, map[string]bool{}
	for line := range strings.Lines(builtIn + wellKnown) {
		group, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		group = strings.TrimSuffix(group, "core") // the core group has no name
		kinds[group] = append(kinds[group], strings.Fields(list)...)
		own[group] = strings.Contains(builtIn, "\n"+line)
	}
	return kinds, own
})

// scope returns whether objects of a kind without a definition have no namespace, and whether that
// is known. more are kinds without one, as Kind.group.
func scope(kind schema.GroupKind, more []string) (cluster, known bool) {
	kinds, own := scopes()
	list := kinds[kind.Group]
	if slices.Contains(list, "*") || slices.Contains(list, kind.Kind) ||
		slices.Contains(more, kind.String()) {
		return true, true
	}
	return false, own[kind.Group]
}
