package judges

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	rbacvalidation "k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"kiln.dev/kiln/test/judges/machine"
)

// asking is a request to the API server: a user and groups, a verb, and a resource. The resource is
// written as group/resource/subresource for the whole cluster; a space and namespace/name may
// follow.
type asking struct{ who, verb, what string }

// Who makes requests; groups follow the name.
const (
	anonymous = "system:anonymous system:unauthenticated"
	somebody  = "somebody system:authenticated"
	aPod      = "system:serviceaccount:default:default system:serviceaccounts " +
		"system:serviceaccounts:default system:authenticated"
	kubeProxy = "system:serviceaccount:kube-system:kube-proxy system:serviceaccounts " +
		"system:serviceaccounts:kube-system system:authenticated"
	coreDNS = "system:serviceaccount:kube-system:coredns system:serviceaccounts " +
		"system:serviceaccounts:kube-system system:authenticated"
	aNode         = "system:node:a system:nodes system:authenticated"
	kubeletClient = "kube-apiserver-kubelet-client system:authenticated"
	administrator = "somebody kubeadm:cluster-admins system:authenticated"
	theManager    = "system:kube-controller-manager system:authenticated"
	kubeVIP       = "kube-vip system:authenticated"
	theScheduler  = "system:kube-scheduler system:authenticated"
	theAPIServer  = "system:apiserver system:masters system:authenticated"
	anAddOn       = "system:serviceaccount:kube-system:a system:serviceaccounts " +
		"system:serviceaccounts:kube-system system:authenticated"
)

// attributes returns the request as authorizers see it.
func (r asking) attributes() authorizer.AttributesRecord {
	resource, where, _ := strings.Cut(r.what, " ")
	namespace, name, _ := strings.Cut(where, "/")
	who, what := strings.Fields(r.who), append(strings.Split(resource, "/"), "")
	return authorizer.AttributesRecord{
		User: &user.DefaultInfo{Name: who[0], Groups: who[1:]}, Verb: r.verb,
		APIGroup: what[0], APIVersion: "*", Resource: what[1], Subresource: what[2],
		Namespace: namespace, Name: name, ResourceRequest: true,
	}
}

// granted are requests that RBAC has to allow if the cluster has the user who makes them. refused
// are requests that it has to refuse.
var granted, refused = []asking{
	{kubeletClient, "create", "/nodes/proxy"},
	{kubeletClient, "get", "/nodes/log"},
	{aNode, "create", "certificates.k8s.io/certificatesigningrequests/selfnodeclient"},
	{kubeProxy, "watch", "/services"},
	{kubeProxy, "watch", "discovery.k8s.io/endpointslices"},
	{kubeProxy, "watch", "/nodes"},
	{coreDNS, "watch", "/services"},
	{coreDNS, "watch", "/namespaces"},
	{coreDNS, "watch", "discovery.k8s.io/endpointslices"},
	{theManager, "create", "authentication.k8s.io/tokenreviews"},
	{theScheduler, "create", "/pods/binding"},
	{administrator, "delete", "/secrets"},
	{kubeVIP, "create", "coordination.k8s.io/leases kube-system/"},
	{kubeVIP, "get", "coordination.k8s.io/leases kube-system/plndr-cp-lock"},
	{kubeVIP, "update", "coordination.k8s.io/leases kube-system/plndr-cp-lock"},
}, []asking{
	{anonymous, "list", "/pods"},
	{anonymous, "get list watch", "/secrets"},
	{anonymous, "get list watch", "/configmaps"},
	{anonymous, "create", "/pods"},
	{anonymous, "create", "/nodes/proxy"},
	{somebody, "list", "/pods"},
	{somebody, "get list watch", "/secrets"},
	{somebody, "create", "/pods"},
	{somebody, "create", "certificates.k8s.io/certificatesigningrequests/nodeclient"},
	{aPod, "get list watch", "/secrets"},
	{aPod, "list", "/nodes"},
	{kubeProxy, "get list watch", "/secrets"},
	{coreDNS, "get list watch", "/secrets"},
	{aNode, "get list watch", "/secrets"},
	{aNode, "create", "certificates.k8s.io/certificatesigningrequests/nodeclient"},
	{kubeletClient, "get list watch", "/secrets"},
	{kubeVIP, "get list watch", "/secrets kube-system/"},
	{kubeVIP, "update", "coordination.k8s.io/leases kube-system/kube-controller-manager"},
	{kubeVIP, "create", "coordination.k8s.io/leases kube-node-lease/"},
}

// rights checks that Kubernetes' own RBAC authorizer, with its own roles and the cluster's, allows
// what is needed and no more.
func (t *trust) rights() {
	authorizer := t.authorizer()
	accounts := map[string]bool{}
	for _, f := range t.at.Under(objectsDir) {
		if account := machine.Read[corev1.ServiceAccount](f); account.Kind == "ServiceAccount" {
			accounts["system:serviceaccount:"+account.Namespace+":"+account.Name] = true
		}
	}
	for _, w := range t.at.workloads() {
		if name := w.spec.ServiceAccountName; name != "" &&
			!accounts["system:serviceaccount:"+w.namespace+":"+name] {
			t.find("%s: there is no service account %s", w.file, name)
		}
	}
	for _, r := range granted {
		name, _, _ := strings.Cut(r.who, " ")
		if strings.HasPrefix(name, "system:serviceaccount:") && !accounts[name] {
			continue
		}
		if r.who == kubeVIP && t.commands[t.at]["kube-vip"] == nil {
			continue
		}
		if r.what == "certificates.k8s.io/certificatesigningrequests/selfnodeclient" &&
			t.option(t.at, "kube-controller-manager", "cluster-signing-key-file") == "" {
			continue // nothing would sign it
		}
		if !authorizer(r) {
			t.find("%s may not %s %s", name, r.verb, r.what)
		}
	}
	for _, group := range t.tokenGroups() {
		for _, what := range []string{
			"certificates.k8s.io/certificatesigningrequests",
			"certificates.k8s.io/certificatesigningrequests/nodeclient",
		} {
			if !authorizer(asking{"system:bootstrap:x " + group, "create", what}) {
				t.find("%s, who join with a token, may not create %s", group, what)
			}
		}
		if authorizer(asking{"system:bootstrap:x " + group, "get", "/secrets"}) {
			t.find("%s, who join with a token, may get secrets", group)
		}
	}
	for _, r := range refused {
		for verb := range strings.FieldsSeq(r.verb) {
			if authorizer(asking{r.who, verb, r.what}) {
				t.find("%s may %s %s", r.who, verb, r.what)
			}
		}
	}
}

// authorizer returns the cluster's, by RBAC alone.
func (t *trust) authorizer() func(asking) bool {
	var roles []*rbacv1.Role
	var bindings []*rbacv1.RoleBinding
	var clusterRoles []*rbacv1.ClusterRole
	var clusterBindings []*rbacv1.ClusterRoleBinding
	for _, r := range slices.Concat(bootstrappolicy.ClusterRoles(),
		bootstrappolicy.ControllerRoles()) {
		clusterRoles = append(clusterRoles, &r)
	}
	for _, b := range slices.Concat(bootstrappolicy.ClusterRoleBindings(),
		bootstrappolicy.ControllerRoleBindings()) {
		clusterBindings = append(clusterBindings, &b)
	}
	for _, f := range t.at.Under(objectsDir) {
		switch machine.Read[rbacv1.ClusterRole](f).Kind {
		case "Role":
			roles = append(roles, new(machine.Read[rbacv1.Role](f)))
		case "RoleBinding":
			bindings = append(bindings, new(machine.Read[rbacv1.RoleBinding](f)))
		case "ClusterRole":
			clusterRoles = append(clusterRoles, new(machine.Read[rbacv1.ClusterRole](f)))
		case "ClusterRoleBinding":
			binding := machine.Read[rbacv1.ClusterRoleBinding](f)
			clusterBindings = append(clusterBindings, &binding)
		}
	}
	_, static := rbacvalidation.NewTestRuleResolver(roles, bindings, clusterRoles, clusterBindings)
	all := rbac.New(static, static, static, static)
	return func(r asking) bool {
		decision, _, _ := all.Authorize(context.Background(), r.attributes())
		return decision == authorizer.DecisionAllow
	}
}

// bootstrapToken is a Secret that lets machines join.
type bootstrapToken struct {
	Type       corev1.SecretType
	StringData struct {
		ID     string `json:"token-id"`
		Secret string `json:"token-secret"`
		Groups string `json:"auth-extra-groups"`
		Usage  string `json:"usage-bootstrap-authentication"`
	}
}

func (t *trust) tokens() (out []bootstrapToken) {
	for _, f := range t.first().Under(objectsDir) {
		if token := machine.Read[bootstrapToken](f); token.Type == "bootstrap.kubernetes.io/token" {
			out = append(out, token)
		}
	}
	return out
}

// knows reports whether the API server lets machines join with a token.
func (t *trust) knows(token string) bool {
	return slices.ContainsFunc(t.tokens(), func(known bootstrapToken) bool {
		return known.StringData.ID+"."+known.StringData.Secret == token &&
			known.StringData.Usage == "true"
	})
}

func (t *trust) tokenGroups() (out []string) {
	for _, token := range t.tokens() {
		out = append(out, strings.Split(token.StringData.Groups, ",")...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// auditing is a request, and the level at which the audit log records it.
type auditing struct {
	asking
	want auditapi.Level
}

// audited are requests with the level at which the audit log records them. Bodies with secrets are
// left out, bodies that decide about rights are recorded, and no request of a person is missing.
var audited = []auditing{
	{asking{somebody, "patch", "/configmaps"}, auditapi.LevelMetadata},
	{asking{somebody, "create", "authentication.k8s.io/tokenreviews"}, auditapi.LevelMetadata},
	{asking{somebody, "create", "/pods"}, auditapi.LevelMetadata},
	{asking{somebody, "delete", "apps/deployments"}, auditapi.LevelMetadata},
	{asking{anonymous, "get", "/pods"}, auditapi.LevelMetadata},
	{asking{aNode, "patch", "/nodes/status"}, auditapi.LevelMetadata},
	{
		asking{somebody, "create", "rbac.authorization.k8s.io/clusterrolebindings"},
		auditapi.LevelRequest,
	},
	{
		asking{somebody, "update", "admissionregistration.k8s.io/validatingwebhookconfigurations"},
		auditapi.LevelRequest,
	},
	{asking{somebody, "delete", "networking.k8s.io/networkpolicies"}, auditapi.LevelRequest},
	{asking{aNode, "get", "/pods"}, auditapi.LevelNone},
	{asking{aNode, "watch", "/configmaps"}, auditapi.LevelNone},
	{asking{theScheduler, "update", "coordination.k8s.io/leases"}, auditapi.LevelNone},
}

// traced are requests that leave a line without a body, whoever makes them: who has stolen the key
// of a component, or an add-on's token, must not be invisible. Commands in pods are gets where a
// websocket carries them.
var traced = map[string][]string{
	"/secrets": {
		"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
	},
	"/serviceaccounts/token": {"create"},
	"/pods/exec":             {"get", "create"},
	"/pods/attach":           {"get", "create"},
	"/pods/log":              {"get"},
	"/pods/portforward":      {"get", "create"},
	"/pods/proxy":            {"get", "create"},
	"/services/proxy":        {"get", "create"},
	"/nodes/proxy":           {"get", "create"},
}

// askers are all users of the cluster: those of the certificates on its machines, kubelets, service
// accounts, the API server itself, and people.
func (t *trust) askers() (out []string) {
	out = []string{
		anonymous, somebody, administrator, aPod, kubeProxy, coreDNS, anAddOn, theAPIServer,
		theManager, theScheduler, kubeVIP, aNode,
	}
	for _, m := range t.cluster {
		if m.Joins() {
			out = append(out, "system:node:"+m.Name+" system:nodes system:authenticated")
		}
		for _, c := range t.credentialsOf(m) {
			f := m.File(c.cert)
			if f == nil || c.usage != x509.ExtKeyUsageClientAuth {
				continue
			}
			block, _ := pem.Decode(f.Content)
			if block == nil {
				continue
			}
			if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
				groups := append(cert.Subject.Organization, "system:authenticated")
				out = append(out, cert.Subject.CommonName+" "+strings.Join(groups, " "))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// audit: Kubernetes' own evaluator gives each request its level.
func (t *trust) audit() {
	f := t.at.File(t.option(t.at, "kube-apiserver", "audit-policy-file"))
	if f == nil {
		return // cisJudge wants it
	}
	rules, err := policy.LoadPolicyFromBytes(f.Content)
	if err != nil {
		return // configurationsJudge says so
	}
	evaluator := policy.NewPolicyRuleEvaluator(rules)
	all, askers := slices.Clone(audited), t.askers()
	for what, verbs := range traced {
		for _, verb := range verbs {
			for _, who := range askers {
				all = append(all, auditing{asking{who, verb, what}, auditapi.LevelMetadata})
			}
		}
	}
	for _, a := range all {
		if level := evaluator.EvaluatePolicyRule(a.attributes()).Level; level != a.want {
			t.find("%s: %s by %s of %s is audited at %s, want %s", f.Path, a.verb, a.who,
				a.what, level, a.want)
		}
	}
}

// anonymous: nobody is anonymous but where health is asked for.
func (t *trust) anonymous() {
	file := t.option(t.at, "kube-apiserver", "authentication-config")
	if file == "" {
		if !t.at.In("baseline") {
			t.find("kube-apiserver --authentication-config is not set: anybody may be anonymous")
		}
		return
	}
	config := machine.Read[struct {
		Anonymous struct {
			Enabled    *bool
			Conditions []struct{ Path string }
		}
	}](t.at.File(file)).Anonymous
	if config.Enabled == nil || *config.Enabled && len(config.Conditions) == 0 {
		t.find("%s: anybody may be anonymous anywhere", file)
	}
	for _, c := range config.Conditions {
		if !slices.Contains([]string{"/livez", "/readyz", "/healthz"}, c.Path) {
			t.find("%s: anybody may be anonymous at %s", file, c.Path)
		}
	}
}

// admission checks that pods that could take a machine over are refused outside kube-system, and
// that plugins that need settings have them.
func (t *trust) admission() {
	file := t.option(t.at, "kube-apiserver", "admission-control-config-file")
	settings := map[string]podSecurity{}
	for _, p := range machine.Read[struct {
		Plugins []struct {
			Name          string
			Configuration podSecurity
		}
	}](t.at.File(file)).Plugins {
		settings[p.Name] = p.Configuration
	}
	if !t.at.In("baseline") {
		pods := settings["PodSecurity"]
		if !slices.Contains([]string{"baseline", "restricted"}, pods.Defaults.Enforce) ||
			len(pods.Exemptions.Usernames) > 0 ||
			len(pods.Exemptions.RuntimeClasses) > 0 ||
			!slices.Equal(pods.Exemptions.Namespaces, []string{"kube-system"}) {
			t.find("%s: PodSecurity is %+v", file, pods)
		}
	}
	enabled := t.option(t.at, "kube-apiserver", "enable-admission-plugins")
	if _, ok := settings["EventRateLimit"]; strings.Contains(enabled, "EventRateLimit") && !ok {
		t.find("%s: the plugin EventRateLimit is enabled without limits", file)
	}
}

// podSecurity is what is read of the settings of the plugin of that name.
type podSecurity struct {
	Defaults   struct{ Enforce string }
	Exemptions struct{ Namespaces, Usernames, RuntimeClasses []string }
}
