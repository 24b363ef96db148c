package kinds

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/apis/apiserver"
	v1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	auditvalidation "k8s.io/apiserver/pkg/apis/audit/validation"
	authenticationcel "k8s.io/apiserver/pkg/authentication/cel"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	clientcmd "k8s.io/client-go/tools/clientcmd/api/v1"
	podsecurity "k8s.io/pod-security-admission/admission/api"
	podsecurityv1 "k8s.io/pod-security-admission/admission/api/v1"
	podsecurityvalidation "k8s.io/pod-security-admission/admission/api/validation"
)

// settingDocuments hold the settings of the API server to its own validators, those of 1.36.3.
var settingDocuments = map[string][]Document{
	"AuthenticationConfiguration": {ofAPIServer[v1.AuthenticationConfiguration](authentication)},
	"AuthorizationConfiguration":  {ofAPIServer[v1.AuthorizationConfiguration](authorization)},
	"EncryptionConfiguration":     {ofAPIServer[v1.EncryptionConfiguration](encryption)},
	"Config":                      {kubeconfig},
	"PodSecurityConfiguration": {
		ofAPIServer[podsecurityv1.PodSecurityConfiguration](
			podsecurityvalidation.ValidatePodSecurityConfiguration),
	},
	"Policy": {
		ofAPIServer[auditv1.Policy](auditvalidation.ValidatePolicy), groupOfAll,
	},
}

// kubeconfig checks that the current context of a kubeconfig, its cluster and its user are there:
// without them a program does not find a server (k8s.io/client-go v0.36.3, tools/clientcmd,
// ConfirmUsable).
func kubeconfig(f *Fault, data []byte) {
	c, ok := Decode[clientcmd.Config](data)
	if !ok || c.CurrentContext == "" {
		return
	}
	i := slices.IndexFunc(c.Contexts, func(n clientcmd.NamedContext) bool {
		return n.Name == c.CurrentContext
	})
	if i < 0 {
		f.Key("current-context").Report("%s is not among contexts", Show(c.CurrentContext))
		return
	}
	at, context := f.Key("contexts").Index(i).Key("context"), c.Contexts[i].Context
	if !slices.ContainsFunc(c.Clusters, func(n clientcmd.NamedCluster) bool {
		return n.Name == context.Cluster
	}) {
		at.Key("cluster").Report("%s is not among clusters", Show(context.Cluster))
	}
	if context.AuthInfo != "" && !slices.ContainsFunc(c.AuthInfos,
		func(n clientcmd.NamedAuthInfo) bool { return n.Name == context.AuthInfo }) {
		at.Key("user").Report("%s is not among users", Show(context.AuthInfo))
	}
}

// settingScheme sets the defaults of the API server's settings, and makes of them what it works
// with. Their fields are the same in all versions, so that v1 stands for the older ones too.
var settingScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		apiserver.AddToScheme, v1.AddToScheme, audit.AddToScheme, auditv1.AddToScheme,
		podsecurity.AddToScheme, podsecurityv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
})

// ofAPIServer is the rule of a document by a validator of what the API server makes of it.
func ofAPIServer[V1, T any](validate func(*T) field.ErrorList) Document {
	return func(f *Fault, data []byte) {
		settings, ok := Decode[V1](data)
		if !ok {
			return
		}
		if o, ok := any(settings).(runtime.Object); ok {
			settingScheme().Default(o)
		}
		made := new(T)
		if settingScheme().Convert(settings, made, nil) == nil {
			for _, e := range validate(made) {
				f.path(e.Field).Report("%s", fieldMessage(e))
			}
		}
	}
}

// authorizers are the types of authorizers of a file (k8s.io/kubernetes,
// pkg/kubeapiserver/authorizer/modes).
var authorizers = sets.New("AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node")

func authentication(c *apiserver.AuthenticationConfiguration) field.ErrorList {
	return validation.ValidateAuthenticationConfiguration(
		authenticationcel.NewDefaultCompiler(), c, nil)
}

// authorization leaves out what the validator says of a file of this computer.
func authorization(c *apiserver.AuthorizationConfiguration) field.ErrorList {
	errs := validation.ValidateAuthorizationConfiguration(
		authorizationcel.NewDefaultCompiler(), nil, c, authorizers, sets.New("Webhook"))
	for i, a := range c.Authorizers {
		if a.Type == "AlwaysAllow" {
			errs = append(errs, field.Forbidden(field.NewPath("authorizers").Index(i).Child("type"),
				"AlwaysAllow lets every client with any credential do everything; remove it"))
		}
	}
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		return strings.HasPrefix(e.Detail, "error loading file") ||
			e.Detail == "must be a regular file"
	})
}

func encryption(c *apiserver.EncryptionConfiguration) field.ErrorList {
	return validation.ValidateEncryptionConfiguration(c, false)
}

// path returns the fault of the value at a path as Kubernetes writes it, such as jwt[0].issuer.
func (f *Fault) path(path string) *Fault {
	for _, part := range strings.Split(strings.ReplaceAll(path, "[", "."), ".") {
		if n, err := strconv.Atoi(strings.TrimSuffix(part, "]")); err == nil {
			f = f.Index(n)
		} else {
			f = f.Key(part)
		}
	}
	return f
}

// fieldMessage returns what a validator of Kubernetes says of a value.
func fieldMessage(e *field.Error) string {
	value, isText := e.BadValue.(string)
	e.Detail, _, _ = strings.Cut(e.Detail, "\n") // an expression shows where it is wrong below
	e.Detail, _, _ = strings.Cut(e.Detail, " (e.g. ")
	switch {
	case e.Type == field.ErrorTypeRequired && e.Detail == "":
		return "is missing"
	case e.Type == field.ErrorTypeRequired:
		return "is missing: " + e.Detail
	case e.Type == field.ErrorTypeDuplicate:
		return "stands there twice"
	case e.Type == field.ErrorTypeNotSupported:
		return Show(fmt.Sprint(e.BadValue)) + " is not known: " + e.Detail
	case isText && value != "" && value != "non-null":
		return Show(value) + ": " + e.Detail
	}
	return e.Detail
}

// groupOfAll: the API server takes the group * of audit rules since 1.36.
func groupOfAll(f *Fault, data []byte) {
	policy, ok := Decode[struct {
		Rules []struct {
			Resources []struct{ Group string }
		}
	}](data)
	if !ok || f.Minor >= 36 {
		return
	}
	for i, rule := range policy.Rules {
		for j, r := range rule.Resources {
			if r.Group == "*" {
				f.Key("rules").Index(i).Key("resources").Index(j).Key("group").
					Report("* is a group since Kubernetes 1.36; leave the group out, or name one")
			}
		}
	}
}
