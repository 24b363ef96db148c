// This file finds what an audit policy of the API server hides, and what it gives away. Each
// request for Secrets and for tokens of service accounts must leave a line without a body, and each
// one for the log of a pod, exec, attach, port-forward, an ephemeral container or a proxy must
// leave a line.

package machine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/kube/kinds"
)

type policy struct {
	OmitStages []string `json:"omitStages"`
	Rules      []rule   `json:"rules"`
}

type rule struct {
	Level           string   `json:"level"`
	Users           []string `json:"users"`
	UserGroups      []string `json:"userGroups"`
	Verbs           []string `json:"verbs"`
	Namespaces      []string `json:"namespaces"`
	NonResourceURLs []string `json:"nonResourceURLs"`
	OmitStages      []string `json:"omitStages"`
	Resources       []struct {
		Group         string   `json:"group"`
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames"`
	} `json:"resources"`
}

type user struct {
	name   string
	groups []string
}

var users = []user{
	{"system:node:NAME", []string{"system:nodes"}},
	{"system:serviceaccount:kube-system:NAME",
		[]string{"system:serviceaccounts", "system:serviceaccounts:kube-system"}},
	{"system:kube-controller-manager", nil},
	{"system:kube-scheduler", nil},
	{"system:apiserver", []string{pki.MastersGroup}},
	{"kubernetes-admin", []string{pki.AdminGroup}},
	{"NAME", nil},
}

// request is a request for a resource. rule has the resources of a rule for it.
type request struct {
	resource string
	verbs    []string
	rule     string
	secret   bool // its body holds a secret
}

const (
	secrets = "secrets, serviceaccounts/token"
	pods    = "pods/attach, pods/exec, pods/log, pods/portforward, \"*/proxy\""
)

// requests are what they may ask. A websocket carries a command into a pod with a get.
var requests = []request{
	{"secrets", []string{
		"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
	}, secrets, true},
	{"serviceaccounts/token", []string{"create"}, secrets, true},
	{"pods/attach", []string{"get", "create"}, pods, false},
	{"pods/exec", []string{"get", "create"}, pods, false},
	{"pods/log", []string{"get"}, pods, false},
	{"pods/portforward", []string{"get", "create"}, pods, false},
	{"pods/ephemeralcontainers", []string{"patch", "update"}, "pods/ephemeralcontainers", false},
	{"pods/proxy", []string{"get", "create", "update", "patch", "delete"}, pods, false},
	{"services/proxy", []string{"get", "create", "update", "patch", "delete"}, pods, false},
	{"nodes/proxy", []string{"get", "create", "update", "patch", "delete"}, pods, false},
}

// Findings returns what is wrong with a document if it is an audit policy, once for each rule and
// each remedy. A policy that records nothing at all is how a user does without the log, and nothing
// is wrong.
func Findings(text []byte) (found []kinds.Finding) {
	var p policy
	records := func(r rule) bool { return r.Level != "None" }
	if !bytes.Contains(text, []byte("audit.k8s.io/")) || yaml.Unmarshal(text, &p) != nil ||
		!slices.ContainsFunc(p.Rules, records) {
		return nil
	}
	for _, r := range requests {
		for _, verb := range r.verbs {
			for _, u := range users {
				for _, namespace := range []string{"", "default", "kube-system"} {
					found = append(found, p.ask(u, verb, &r, namespace)...)
				}
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(found, func(f kinds.Finding) bool {
		_, remedy, _ := strings.Cut(f.Message, "; ")
		defer func() { seen[f.Path+remedy] = true }()
		return seen[f.Path+remedy]
	})
}

func (p *policy) ask(u user, verb string, q *request, namespace string) []kinds.Finding {
	level, at, omitted := "None", "rules", p.OmitStages
	matches := func(r rule) bool { return r.matches(u, verb, q.resource, namespace) }
	if i := slices.IndexFunc(p.Rules, matches); i >= 0 {
		r := &p.Rules[i]
		level, at = r.Level, fmt.Sprintf("rules[%d]", i)
		omitted = slices.Concat(omitted, r.OmitStages)
	}
	if slices.Contains(omitted, "RequestReceived") && slices.Contains(omitted, "ResponseComplete") {
		level = "None"
	}
	message := ""
	switch {
	case level == "None":
		message = fmt.Sprintf("%s of %s by %s leaves no line in the audit log; write a rule "+
			"before it with level: Metadata, resources: [{group: \"\", resources: [%s]}]",
			verb, q.resource, u.name, q.rule)
	case q.secret && (level == "Request" || level == "RequestResponse"):
		message = fmt.Sprintf("%s of %s writes what is secret into the audit log; "+
			"write level: Metadata for %s", verb, q.resource, q.rule)
	default:
		return nil
	}
	return []kinds.Finding{{Path: at, Message: message}}
}

// matches does what k8s.io/apiserver/pkg/audit/policy does in 1.36.3 with a request for a resource.
// A rule for some objects by name matches none: what it says of those is the user's wish.
func (r *rule) matches(u user, verb, resource, namespace string) bool {
	matchesAny := func(list []string, values ...string) bool {
		isListed := func(value string) bool { return slices.Contains(list, value) }
		return len(list) == 0 || slices.ContainsFunc(values, isListed)
	}
	groups := append([]string{"system:authenticated"}, u.groups...)
	if !matchesAny(r.Users, u.name) || !matchesAny(r.UserGroups, groups...) ||
		!matchesAny(r.Verbs, verb) || !matchesAny(r.Namespaces, namespace) {
		return false
	}
	name, subresource, _ := strings.Cut(resource, "/")
	words := []string{resource, "*", name + "/*"}
	if subresource != "" {
		words = append(words, "*/"+subresource)
	}
	for _, g := range r.Resources {
		if (g.Group == "" || g.Group == "*") && matchesAny(g.Resources, words...) &&
			len(g.ResourceNames) == 0 {
			return true
		}
	}
	return len(r.Resources) == 0 && (len(r.Namespaces) > 0 || len(r.NonResourceURLs) == 0)
}
