package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	quotav1 "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/v1"
	quotav1alpha1 "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/v1alpha1"
	quotav1beta1 "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota/v1beta1"
	webhookv1 "k8s.io/apiserver/pkg/admission/plugin/webhook/config/apis/webhookadmission/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	apiserverv1alpha1 "k8s.io/apiserver/pkg/apis/apiserver/v1alpha1"
	apiserverv1beta1 "k8s.io/apiserver/pkg/apis/apiserver/v1beta1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/kubernetes/scheme"
	kubeconfigv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	logsapi "k8s.io/component-base/logs/api/v1"
	aggregatorv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	proxyv1alpha1 "k8s.io/kube-proxy/config/v1alpha1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	kubeletv1 "k8s.io/kubelet/config/v1"
	kubeletv1alpha1 "k8s.io/kubelet/config/v1alpha1"
	kubeletv1beta1 "k8s.io/kubelet/config/v1beta1"
	limitv1 "k8s.io/kubernetes/plugin/pkg/admission/eventratelimit/apis/eventratelimit/v1alpha1"
	tolerationv1 "k8s.io/kubernetes/plugin/pkg/admission/podtolerationrestriction/apis/podtolerationrestriction/v1alpha1"
	podsecurityv1 "k8s.io/pod-security-admission/admission/api/v1"
)

// named is a type whose kind has another name.
type named struct {
	kind string
	of   any
}

// configurations are the kinds that no API server stores: programs read them from files.
var configurations = map[schema.GroupVersion][]any{
	{Version: "v1"}: {kubeconfigv1.Config{}},
	{Group: "apiserver.config.k8s.io", Version: "v1"}: {
		apiserverv1.AdmissionConfiguration{}, apiserverv1.AuthenticationConfiguration{},
		apiserverv1.AuthorizationConfiguration{}, apiserverv1.EncryptionConfiguration{},
		named{"ResourceQuotaConfiguration", quotav1.Configuration{}},
		named{"WebhookAdmissionConfiguration", webhookv1.WebhookAdmission{}},
	},
	{Group: "apiserver.config.k8s.io", Version: "v1beta1"}: {
		apiserverv1beta1.AuthenticationConfiguration{},
		apiserverv1beta1.AuthorizationConfiguration{},
		apiserverv1beta1.TracingConfiguration{},
	},
	{Group: "apiserver.k8s.io", Version: "v1beta1"}: {
		apiserverv1beta1.EgressSelectorConfiguration{},
	},
	{Group: "apiserver.config.k8s.io", Version: "v1alpha1"}: {
		apiserverv1alpha1.AuthenticationConfiguration{},
		apiserverv1alpha1.AuthorizationConfiguration{},
		apiserverv1alpha1.TracingConfiguration{},
	},
	{Group: "audit.k8s.io", Version: "v1"}: {auditv1.Policy{}},
	{Group: "eventratelimit.admission.k8s.io", Version: "v1alpha1"}: {
		limitv1.Configuration{},
	},
	{Group: "kubescheduler.config.k8s.io", Version: "v1"}: {
		schedulerv1.DefaultPreemptionArgs{}, schedulerv1.DynamicResourcesArgs{},
		schedulerv1.InterPodAffinityArgs{}, schedulerv1.KubeSchedulerConfiguration{},
		schedulerv1.NodeAffinityArgs{}, schedulerv1.NodeResourcesBalancedAllocationArgs{},
		schedulerv1.NodeResourcesFitArgs{}, schedulerv1.PodTopologySpreadArgs{},
		schedulerv1.VolumeBindingArgs{},
	},
	{Group: "kubelet.config.k8s.io", Version: "v1"}: {kubeletv1.CredentialProviderConfig{}},
	{Group: "kubelet.config.k8s.io", Version: "v1beta1"}: {
		kubeletv1beta1.CredentialProviderConfig{}, kubeletv1beta1.KubeletConfiguration{},
	},
	{Group: "kubelet.config.k8s.io", Version: "v1alpha1"}: {
		kubeletv1alpha1.CredentialProviderConfig{},
	},
	{Group: "kubeproxy.config.k8s.io", Version: "v1alpha1"}: {
		proxyv1alpha1.KubeProxyConfiguration{},
	},
	{Group: "podtolerationrestriction.admission.k8s.io", Version: "v1alpha1"}: {
		tolerationv1.Configuration{},
	},
	{Group: "resourcequota.admission.k8s.io", Version: "v1alpha1"}: {
		quotav1alpha1.Configuration{},
	},
	{Group: "resourcequota.admission.k8s.io", Version: "v1beta1"}: {quotav1beta1.Configuration{}},
	{Group: "pod-security.admission.config.k8s.io", Version: "v1"}: {
		podsecurityv1.PodSecurityConfiguration{},
	},
}

// scalars are the types that are not read as Go declares them, with the form of their values.
var scalars = map[reflect.Type]string{
	reflect.TypeFor[resource.Quantity]():                            "quantity",
	reflect.TypeFor[resource.QuantityValue]():                       "quantity",
	reflect.TypeFor[intstr.IntOrString]():                           "int-or-string",
	reflect.TypeFor[metav1.Time]():                                  "time",
	reflect.TypeFor[metav1.MicroTime]():                             "time",
	reflect.TypeFor[metav1.Duration]():                              "duration",
	reflect.TypeFor[logsapi.TimeOrMetaDuration]():                   "any",
	reflect.TypeFor[logsapi.VModuleConfiguration]():                 "any",
	reflect.TypeFor[metav1.FieldsV1]():                              "any",
	reflect.TypeFor[runtime.RawExtension]():                         "any",
	reflect.TypeFor[runtime.Unknown]():                              "any",
	reflect.TypeFor[apiextensionsv1.JSON]():                         "any",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrArray]():       "any",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrBool]():        "any",
	reflect.TypeFor[apiextensionsv1.JSONSchemaPropsOrStringArray](): "any",
	reflect.TypeFor[[]byte]():                                       "bytes",
}

// Lines returns the lines of the table for the types of this build, which is of that minor.
func Lines(minor int) []string {
	c := &collection{lines: map[string]bool{}, names: map[string]reflect.Type{}}
	apiextensionsv1.AddToScheme(scheme.Scheme)
	aggregatorv1.AddToScheme(scheme.Scheme)
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		_, stored := t.FieldByName("ObjectMeta")
		if stored && !removed(t, minor) && gvk.Version != runtime.APIVersionInternal {
			c.addKind(gvk.GroupVersion(), gvk.Kind, t)
		}
	}
	for gv, all := range configurations {
		for _, v := range all {
			if n, ok := v.(named); ok {
				c.addKind(gv, n.kind, reflect.TypeOf(n.of))
				continue
			}
			t := reflect.TypeOf(v)
			c.addKind(gv, t.Name(), t)
		}
	}
	var out []string
	for line := range c.lines {
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// removed reports whether API servers of a minor no longer serve a kind that still has a type.
func removed(t reflect.Type, minor int) bool {
	lifecycle, ok := reflect.New(t).Interface().(interface {
		APILifecycleRemoved() (major, minor int)
	})
	if !ok {
		return false
	}
	_, last := lifecycle.APILifecycleRemoved()
	return last <= minor
}

// collection gathers lines.
type collection struct {
	lines map[string]bool
	names map[string]reflect.Type
}

func (c *collection) addKind(gv schema.GroupVersion, kind string, t reflect.Type) {
	c.lines[fmt.Sprintf("kind %s %s %s", gv, kind, c.name(t))] = true
}

// name returns how the table writes a type, and collects the fields of a struct.
func (c *collection) name(t reflect.Type) string {
	if s, ok := scalars[t]; ok {
		return s
	}
	switch t.Kind() {
	case reflect.Pointer:
		return c.name(t.Elem())
	case reflect.Slice:
		return "[]" + c.name(t.Elem())
	case reflect.Map:
		return "map:" + c.name(t.Elem())
	case reflect.Interface:
		return "any"
	case reflect.Struct:
	default:
		return t.Kind().String()
	}
	pkg := path.Join(path.Base(path.Dir(t.PkgPath())), path.Base(t.PkgPath()))
	name := pkg + "." + t.Name()
	if known, ok := c.names[name]; ok {
		if known != t {
			panic(name + " is the name of two types")
		}
		return name
	}
	p := reflect.PointerTo(t)
	text := reflect.TypeFor[encoding.TextUnmarshaler]()
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(text) {
		panic(name + " reads itself; scalars must say how")
	}
	c.names[name] = t
	c.fields(name, t)
	return name
}

// fields collects the fields of a struct; those of an embedded struct are fields of its owner.
func (c *collection) fields(owner string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-":
		case tag == "" && (f.Anonymous || options == "inline"):
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			c.fields(owner, inner)
		default:
			if tag == "" {
				tag = f.Name
			}
			c.lines[owner+" "+tag+" "+c.name(f.Type)] = true
		}
	}
}
