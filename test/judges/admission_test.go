package judges

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi/openapitest"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	apiserveroptions "k8s.io/kubernetes/pkg/kubeapiserver/options"
)

// nodeAdmission is what an API server asks about a request that writes a Node.
type nodeAdmission struct{ chain admission.Interface }

// newNodeAdmission makes the API server's plugins that look at Nodes, in the API server's order,
// and gives them the policies among the objects of a control plane. If one is not empty, its only
// occurrence in the policies is replaced by another.
func newNodeAdmission(t *testing.T, m *Machine, one, another string) nodeAdmission {
	t.Helper()
	var policies []runtime.Object
	replaced := 0
	for _, f := range m.Under(objectsDir) {
		if !strings.Contains(f.Path, "worker-roles") {
			continue
		}
		text := readable(f)
		if one != "" {
			replaced += strings.Count(text, one)
			text = strings.ReplaceAll(text, one, another)
		}
		object, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
		require.NoError(t, err, f.Path)
		legacyscheme.Scheme.Default(object)
		policies = append(policies, object)
	}
	require.Equal(t, one != "", replaced == 1, one)
	require.Len(t, policies, 4)

	_, known := newClientset(t, policies...)
	all := apiserveroptions.NewAdmissionOptions().GenericAdmission
	var names []string
	for _, name := range all.RecommendedPluginOrder {
		switch name {
		case "NodeRestriction", "TaintNodesByCondition", "MutatingAdmissionPolicy",
			"ValidatingAdmissionPolicy":
			names = append(names, name)
		}
	}
	require.Len(t, names, 4)
	setters := policySetters(t, schemas(t), known)
	chain, err := all.Plugins.NewFromPlugins(names, noConfiguration{}, setters, nil)
	require.NoError(t, err)
	known.Start(t.Context().Done())
	a := nodeAdmission{chain}
	require.Eventually(t, func() bool {
		_, err := a.node(t, controller, "", masquerade, masquerade)
		return !apierrors.IsServiceUnavailable(err) // it does not know yet what a Node looks like
	}, time.Minute, 10*time.Millisecond)
	return a
}

// node returns the labels of a Node after a request that asks for the given ones, or the reason why
// the request is refused.
func (a nodeAdmission) node(
	t *testing.T, by user.Info, subresource string, before, after labels,
) (labels, error) {
	t.Helper()
	object := &core.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: maps.Clone(after)}}
	operation := admission.Create
	var old, options runtime.Object = nil, &metav1.CreateOptions{}
	if before != nil {
		operation, options = admission.Update, &metav1.UpdateOptions{}
		old = &core.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: before}}
	}
	attributes := admission.NewAttributesRecord(object, old,
		corev1.SchemeGroupVersion.WithKind("Node"), "", "worker-1",
		corev1.SchemeGroupVersion.WithResource("nodes"), subresource, operation, options, false, by)
	interfaces := admission.NewObjectInterfacesFromScheme(legacyscheme.Scheme)
	err := a.chain.(admission.MutationInterface).Admit(
		context.Background(), attributes, interfaces)
	if err != nil {
		return nil, err
	}
	err = a.chain.(admission.ValidationInterface).Validate(
		context.Background(), attributes, interfaces)
	if err != nil {
		return nil, err
	}
	return object.Labels, nil
}

// setters give plugins what they need, each by the method of that name. The API server's own
// initializer does the same, but its constructor has other parameters in other releases.
type setters []struct {
	method string
	value  any
}

func (s setters) Initialize(plugin admission.Interface) {
	for _, set := range s {
		if method := reflect.ValueOf(plugin).MethodByName(set.method); method.IsValid() {
			method.Call([]reflect.Value{reflect.ValueOf(set.value)})
		}
	}
}

type noConfiguration struct{}

func (noConfiguration) ConfigFor(string) (io.Reader, error) { return nil, nil }

// schemas returns a client of a server that describes the objects of Kubernetes' core and nothing
// else. The fake client cannot describe even those.
func schemas(t *testing.T) kubernetes.Interface {
	t.Helper()
	known, err := openapitest.NewEmbeddedFileClient().Paths()
	require.NoError(t, err)
	core, err := known["api/v1"].Schema(runtime.ContentTypeJSON)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/openapi/v3", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"paths": {"api/v1": {"serverRelativeURL": "/openapi/v3/api/v1"}}}`)
	})
	mux.HandleFunc("/openapi/v3/api/v1",
		func(w http.ResponseWriter, _ *http.Request) { w.Write(core) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	return client
}
