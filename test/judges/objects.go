package judges

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsinstall "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/api/meta"
	metavalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	admissionregistrationinstall "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	appsinstall "k8s.io/kubernetes/pkg/apis/apps/install"
	"k8s.io/kubernetes/pkg/apis/core"
	coreinstall "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	networkinginstall "k8s.io/kubernetes/pkg/apis/networking/install"
	policyinstall "k8s.io/kubernetes/pkg/apis/policy/install"
	rbacinstall "k8s.io/kubernetes/pkg/apis/rbac/install"
	schedulinginstall "k8s.io/kubernetes/pkg/apis/scheduling/install"
	storageinstall "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/mutatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy"
	"k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicybinding"
	"k8s.io/kubernetes/pkg/registry/apps/daemonset"
	"k8s.io/kubernetes/pkg/registry/apps/deployment"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/core/configmap"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/secret"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/core/serviceaccount"
	"k8s.io/kubernetes/pkg/registry/networking/networkpolicy"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"sigs.k8s.io/yaml"
)

// objectsJudge reads every static pod as the kubelet does, and creates every API object as the API
// server does: it decodes strictly, sets defaults, converts, and validates with the strategy of the
// kind.
func objectsJudge(cluster []*Machine) (findings []string) {
	capabilitiesLock.Lock()
	defer capabilitiesLock.Unlock()
	for _, m := range cluster {
		find := func(file string, err error) {
			if err != nil {
				findings = append(findings, fmt.Sprintf("%s: %s: %v", m.Name, file, err))
			}
		}
		capabilities.ResetForTest()
		capabilities.Setup(
			flagValues(m.Command("kube-apiserver"))["--allow-privileged"] == "true", 0,
		)
		for _, f := range m.Under(manifestsDir) {
			find(f.Path, checkStaticPod(f.Content, m.Name))
		}
		if f := m.File("/etc/kiln/node.yaml"); f != nil {
			find(f.Path, newAPIServer().create("/api/v1/nodes/"+m.Name, f.Content))
		}
		if m.ControlPlane() {
			m.createObjects(find)
		}
	}
	return findings
}

// capabilitiesLock guards what the process-wide capabilities say of privileged containers.
var capabilitiesLock sync.Mutex

// createObjects creates the API objects that the machine holds, in the order of their index.
func (m *Machine) createObjects(find func(file string, err error)) {
	index := m.File(objectsDir + "/index")
	if index == nil {
		find(objectsDir+"/index", errors.New("it is absent"))
		return
	}
	server, listed := newAPIServer(), sets.New(index.Path)
	for line := range strings.Lines(string(index.Content)) {
		url, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		file := path.Join(objectsDir, name)
		listed.Insert(file)
		if f := m.File(file); f != nil {
			find(file, server.create(url, f.Content))
		} else {
			find(file, errors.New("it is absent, but in the index"))
		}
	}
	for _, f := range m.Under(objectsDir) {
		if !listed.Has(f.Path) {
			find(f.Path, errors.New("it is not in the index"))
		}
	}
}

// checkStaticPod treats a static pod as the kubelet does (tryDecodeSinglePod and applyDefaults in
// pkg/kubelet/config, which are not exported), and then creates its mirror pod. A static pod must
// not refer to API objects: the feature gate PreventStaticPodAPIReferences, on since 1.34, forbids
// it.
func checkStaticPod(text []byte, machine string) error {
	object, err := decode[*core.Pod](apiDecoder, text)
	if err != nil {
		return err
	}
	object.Name += "-" + machine
	object.Spec.NodeName = machine
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&object.Spec, nil,
		&object.ObjectMeta, nil)
	if errs := corevalidation.ValidatePodCreate(object, options); len(errs) > 0 {
		return errs.ToAggregate()
	}
	if refers, to, err := podutil.HasAPIObjectReference(object); err != nil {
		return err
	} else if refers {
		return fmt.Errorf("a static pod may not refer to %s", to)
	}
	return create(pod.Strategy, object, core.SchemeGroupVersion.WithResource("pods"))
}

// apiServer is what an API server knows from the objects that it was given so far.
type apiServer struct {
	namespaces  sets.Set[string]
	definitions map[schema.GroupVersionKind]*apiextensions.CustomResourceDefinition
}

func newAPIServer() *apiServer {
	return &apiServer{
		namespaces:  sets.New("", "default", "kube-node-lease", "kube-public", "kube-system"),
		definitions: map[schema.GroupVersionKind]*apiextensions.CustomResourceDefinition{},
	}
}

// create sends an object to its REST path. By then its namespace has to exist, and for a custom
// object the definition of its kind.
func (s *apiServer) create(url string, text []byte) error {
	var is metav1.TypeMeta
	if err := yaml.Unmarshal(text, &is); err != nil {
		return err
	}
	kind := is.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	strategy, definition := strategies[kind.GroupKind()], s.definitions[kind]

	var object runtime.Object
	var err error
	switch {
	case strategy != nil:
		if object, err = decode[runtime.Object](apiDecoder, text); err == nil {
			err = create(strategy, object.DeepCopyObject(), resource)
		}
	case definition != nil:
		resource.Resource = definition.Spec.Names.Plural
		object, err = customObject(definition, kind.Version, text)
	default:
		err = fmt.Errorf("no validator is known of a %s", kind)
	}
	if err != nil {
		return err
	}

	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	if own := restPath(resource, accessor); own != url {
		return fmt.Errorf("the index takes it to %s, but it belongs at %s", url, own)
	}
	if !s.namespaces.Has(accessor.GetNamespace()) {
		return fmt.Errorf("it comes before its namespace %s", accessor.GetNamespace())
	}
	switch object := object.(type) {
	case *core.Namespace:
		s.namespaces.Insert(object.Name)
	case *apiextensions.CustomResourceDefinition:
		for _, v := range object.Spec.Versions {
			s.definitions[schema.GroupVersionKind{
				Group: object.Spec.Group, Version: v.Name, Kind: object.Spec.Names.Kind,
			}] = object
		}
	}
	return nil
}

// restPath is where an object lies in the API.
func restPath(resource schema.GroupVersionResource, object metav1.Object) string {
	at := "/apis/" + resource.Group
	if resource.Group == "" {
		at = "/api"
	}
	if object.GetNamespace() != "" {
		return path.Join(at, resource.Version, "namespaces", object.GetNamespace(),
			resource.Resource, object.GetName())
	}
	return path.Join(at, resource.Version, resource.Resource, object.GetName())
}

// create does to an object of a built-in kind what the API server's store does before it stores it.
func create(
	strategy rest.RESTCreateStrategy, object runtime.Object, resource schema.GroupVersionResource,
) error {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	ctx := request.WithNamespace(context.Background(), accessor.GetNamespace())
	ctx = request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, APIGroup: resource.Group, APIVersion: resource.Version,
		Namespace: accessor.GetNamespace(), Resource: resource.Resource, Name: accessor.GetName(),
	})
	rest.FillObjectMetaSystemFields(accessor)
	if s, ok := object.(*core.Service); ok && s.Spec.ClusterIP != "" &&
		len(s.Spec.ClusterIPs) == 0 {
		// beginCreate in pkg/registry/core/service/storage, which is not exported
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
	return rest.BeforeCreate(strategy, ctx, object)
}

// customObject reads an object of a kind that a definition has brought.
func customObject(
	definition *apiextensions.CustomResourceDefinition, version string, text []byte,
) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(text, &object.Object); err != nil {
		return nil, err
	}
	schema, err := apiextensions.GetSchemaForVersion(definition, version)
	if err != nil {
		return nil, err
	}
	errs := metavalidation.ValidateObjectMetaAccessor(object,
		definition.Spec.Scope == apiextensions.NamespaceScoped,
		metavalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if schema != nil {
		validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
		if err != nil {
			return nil, err
		}
		errs = append(errs, validation.ValidateCustomResource(nil, object.Object, validator)...)
	}
	return object, errs.ToAggregate()
}

// strategies say how the API server creates the objects of a kind.
var strategies = map[schema.GroupKind]rest.RESTCreateStrategy{
	{Kind: "ConfigMap"}:      configmap.Strategy,
	{Kind: "Namespace"}:      namespace.Strategy,
	{Kind: "Node"}:           node.Strategy,
	{Kind: "Pod"}:            pod.Strategy,
	{Kind: "Secret"}:         secret.Strategy,
	{Kind: "Service"}:        service.Strategy,
	{Kind: "ServiceAccount"}: serviceaccount.Strategy,

	// Who may create them is asked about parameters alone.
	{
		Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy",
	}: mutatingadmissionpolicy.NewStrategy(nil, nil),
	{
		Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding",
	}: mutatingadmissionpolicybinding.NewStrategy(nil, nil, nil),
	{
		Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy",
	}: validatingadmissionpolicy.NewStrategy(nil, nil),
	{
		Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding",
	}: validatingadmissionpolicybinding.NewStrategy(nil, nil, nil),

	{Group: "apps", Kind: "DaemonSet"}:   daemonset.Strategy,
	{Group: "apps", Kind: "Deployment"}:  deployment.Strategy,
	{Group: "apps", Kind: "StatefulSet"}: statefulset.Strategy,

	{
		Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition",
	}: customresourcedefinition.NewStrategy(apiScheme),

	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: networkpolicy.Strategy,
	{Group: "policy", Kind: "PodDisruptionBudget"}:      poddisruptionbudget.Strategy,

	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:        clusterrole.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: clusterrolebinding.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:               role.Strategy,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:        rolebinding.Strategy,

	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}: priorityclass.Strategy,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:     storageclass.Strategy,
}

// apiScheme knows the kinds that strategies has, in all their versions.
var apiScheme = schemeOf(
	coreinstall.Install, admissionregistrationinstall.Install, appsinstall.Install,
	apiextensionsinstall.Install, networkinginstall.Install,
	policyinstall.Install, rbacinstall.Install, schedulinginstall.Install, storageinstall.Install,
)

var apiDecoder = strictDecoder(apiScheme)

func schemeOf(installs ...func(*runtime.Scheme)) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, install := range installs {
		install(scheme)
	}
	return scheme
}

// strictDecoder returns a decoder that fills in defaults and converts to internal types. The
// decoder rejects unknown and repeated fields.
func strictDecoder(scheme *runtime.Scheme) runtime.Decoder {
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDecoder()
}

// decode reads a file that holds one object of type T and nothing else.
func decode[T runtime.Object](decoder runtime.Decoder, text []byte) (T, error) {
	var none T
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	if _, err := documents.Read(); err != nil {
		return none, err
	}
	if _, err := documents.Read(); err != io.EOF {
		return none, errors.New("it has more than one document")
	}
	object, kind, err := decoder.Decode(text, nil, nil)
	if err != nil {
		return none, err
	}
	typed, ok := object.(T)
	if !ok {
		return none, fmt.Errorf("it is a %s", kind)
	}
	return typed, nil
}
