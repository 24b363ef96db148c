package judges

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// policiesOf returns the ValidatingAdmissionPolicy with that name and its binding, from the objects
// of a control plane.
func policiesOf(t *testing.T, m *Machine, name string) (policies []runtime.Object) {
	t.Helper()
	for _, f := range m.Under(objectsDir) {
		if strings.Contains(f.Path, name) {
			object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(
				f.Content, nil, nil)
			require.NoError(t, err, f.Path)
			legacyscheme.Scheme.Default(object)
			policies = append(policies, object)
		}
	}
	require.Len(t, policies, 2)
	return policies
}

// newPolicyPlugin returns the API server's plugin that asks ValidatingAdmissionPolicies, with these
// policies. It takes a moment until it knows them.
func newPolicyPlugin(t *testing.T, policies ...runtime.Object) admission.ValidationInterface {
	t.Helper()
	client, known := newClientset(t, policies...)
	plugins := admission.NewPlugins()
	validating.Register(plugins)
	plugin, err := plugins.NewFromPlugins([]string{validating.PluginName},
		noConfiguration{}, policySetters(t, client, known), nil)
	require.NoError(t, err)
	known.Start(t.Context().Done())
	return plugin.(admission.ValidationInterface)
}

// policySetters returns what the plugins need that ask policies. The client describes the objects
// that policies are about, and known has the policies.
func policySetters(
	t *testing.T, client kubernetes.Interface, known informers.SharedInformerFactory,
) setters {
	t.Helper()
	return setters{
		{"SetDrainedNotification", t.Context().Done()},
		{"InspectFeatureGates", utilfeature.DefaultFeatureGate},
		{"SetExternalKubeClientSet", client},
		{"SetDynamicClient", dynamicfake.NewSimpleDynamicClient(legacyscheme.Scheme)},
		{"SetExternalKubeInformerFactory", known},
		{"SetAuthorizer", authorizerfactory.NewAlwaysAllowAuthorizer()},
		{"SetUnconditionalAuthorizer", authorizerfactory.NewAlwaysAllowAuthorizer()},
		{"SetRESTMapper", meta.NewDefaultRESTMapper(nil)},
	}
}
