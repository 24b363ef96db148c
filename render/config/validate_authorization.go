package config

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// authorization checks the authorizers of the API server, flag authorization-mode. The CIS
// benchmark wants Node and RBAC, and refuses AlwaysAllow (1.2.6 to 1.2.8). AlwaysAllow is refused
// with every profile, because each pod and each kubelet has a credential. A client without a
// credential gets nothing from AlwaysAllow: with it the API server refuses anonymous requests, also
// with anonymous-auth=true (Kubernetes 1.34 to 1.37, pkg/kubeapiserver/options/authentication.go,
// ApplyAuthorization).
func (v *checker) authorization(at *yamltext.Location) {
	args := v.c.Spec.ControlPlane.APIServer.ExtraArgs
	last := -1 // a repeated flag adds to the list, and the last entry is a place as good as any
	var modes []string
	for i, a := range args {
		if a.Name == "authorization-mode" {
			modes, last = append(modes, strings.Split(a.Value, ",")...), i
		}
	}
	if last < 0 {
		return
	}
	at = at.Index(last).Key("value")
	has := func(mode string) bool { // one in other letters has a problem of its own
		return slices.ContainsFunc(modes, func(m string) bool { return strings.EqualFold(m, mode) })
	}
	missing := missingOf(has, "Node", "RBAC")
	right := sound(modes)
	if strings.Join(modes, ",") != args[last].Value {
		right = "one such flag, with " + right
	}
	others := has("ABAC") || has("Webhook") // may allow what these two would
	switch {
	case has("AlwaysAllow"):
		v.report(at, "AlwaysAllow lets every client with any credential do everything; write %s",
			right)
	case missing != "" && v.c.Spec.Security.Hardened():
		v.report(at, "%s leaves out %s, which security.profile cis needs; write %s",
			quote(args[last].Value), missing, right)
	case !has("RBAC") && !others:
		v.report(at, "%s leaves out RBAC, and nothing would allow what controllers do; write %s",
			quote(args[last].Value), right)
	}
	for i, mode := range modes {
		if mode != "" && slices.Contains(modes[:i], mode) {
			v.report(at, "names %s twice, and the API server exits with that; write %s", mode,
				right)
			return
		}
	}
}

// missingOf returns the names that has does not have, with and between them.
func missingOf(has func(string) bool, names ...string) string {
	return strings.Join(slices.DeleteFunc(names, has), " and ")
}

// sound returns authorizers without AlwaysAllow, each once, behind Node and RBAC, with commas
// between them.
func sound(modes []string) string {
	list := []string{"Node", "RBAC"}
	for _, mode := range modes {
		known := func(m string) bool { return strings.EqualFold(m, mode) }
		if mode != "" && mode != "AlwaysAllow" && !slices.ContainsFunc(list, known) {
			list = append(list, mode)
		}
	}
	return strings.Join(list, ",")
}
