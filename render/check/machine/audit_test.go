package machine

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFindings(t *testing.T) {
	t.Parallel()
	base, err := os.ReadFile("../../../manifests/apiserver/audit.yaml")
	require.NoError(t, err)
	own := string(base)
	first := func(rule string) string {
		return strings.Replace(own, "rules:\n", "rules:\n- "+rule+"\n", 1)
	}
	const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
	const before = "; write a rule before it with level: Metadata, resources: [{group: \"\", " +
		"resources: [secrets, serviceaccounts/token]}]"
	const beforePods = "; write a rule before it with level: Metadata, resources: [{group: \"\", " +
		"resources: [pods/attach, pods/exec, pods/log, pods/portforward, \"*/proxy\"]}]"
	const ephemeral = " of pods/ephemeralcontainers by system:node:NAME leaves no line in the " +
		"audit log; write a rule before it with level: Metadata, resources: [{group: \"\", " +
		"resources: [pods/ephemeralcontainers]}]"
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{name: "kiln's own", text: own},
		{name: "everything", text: head + "rules: [{level: Metadata}]\n"},
		{name: "no log at all", text: head + "rules: [{level: None}]\n"},
		{name: "another kind", text: "apiVersion: v1\nkind: ConfigMap\n"},
		{name: "no YAML", text: head + "rules: [\n"},
		{name: "somebody's own program", text: first(
			"{level: None, users: ['system:serviceaccount:shop:operator']}")},
		{name: "health alone", text: first("{level: None, nonResourceURLs: ['*']}")},
		{name: "one Secret", text: first(
			"{level: None, resources: [{group: '', resources: [secrets], resourceNames: [a]}]}")},
		{name: "another group", text: first("{level: None, resources: [{group: apps}]}")},
		{name: "the end of watches", text: first("{level: Metadata, verbs: [watch], " +
			"omitStages: [ResponseStarted]}")},
		{name: "no rule for Secrets", text: strings.Replace(own, "- secrets", "- endpoints", 1),
			want: []string{
				"rules[3]: get of secrets by system:node:NAME leaves no line in the audit log" +
					before,
				"rules[4]: get of secrets by system:kube-controller-manager leaves no line in " +
					"the audit log" + before,
			}},
		{name: "none by default", text: head + "rules: [{level: Metadata, users: [a]}]\n",
			want: []string{
				"rules: get of secrets by system:node:NAME leaves no line in the audit log" +
					before,
				"rules: get of pods/attach by system:node:NAME leaves no line in the audit log" +
					beforePods,
				"rules: patch" + ephemeral,
			}},
		{name: "service accounts", text: first(
			"{level: None, userGroups: ['system:serviceaccounts']}"), want: []string{
			"rules[0]: get of secrets by system:serviceaccount:kube-system:NAME leaves no line " +
				"in the audit log" + before,
			"rules[0]: get of pods/attach by system:serviceaccount:kube-system:NAME leaves no " +
				"line in the audit log" + beforePods,
			"rules[0]: patch" + strings.Replace(ephemeral, "system:node:NAME",
				"system:serviceaccount:kube-system:NAME", 1),
		}},
		{name: "changes", text: first("{level: None, verbs: [patch]}"), want: []string{
			"rules[0]: patch of secrets by system:node:NAME leaves no line in the audit log" +
				before,
			"rules[0]: patch" + ephemeral,
			"rules[0]: patch of pods/proxy by system:node:NAME leaves no line in the audit log" +
				beforePods,
		}},
		{name: "a namespace", text: first("{level: None, namespaces: [kube-system]}"),
			want: []string{
				"rules[0]: get of secrets by system:node:NAME leaves no line in the audit log" +
					before,
				"rules[0]: get of pods/attach by system:node:NAME leaves no line in the audit " +
					"log" + beforePods,
				"rules[0]: patch" + ephemeral,
			}},
		{name: "tokens", text: first(
			"{level: None, resources: [{group: '', resources: ['*/token']}]}"), want: []string{
			"rules[0]: create of serviceaccounts/token by system:node:NAME leaves no line in the " +
				"audit log" + before,
		}},
		{name: "logs of pods", text: strings.Replace(own, "- pods/log", "- pods/status", 1),
			want: []string{
				"rules[3]: get of pods/log by system:node:NAME leaves no line in the audit log" +
					beforePods,
				"rules[4]: get of pods/log by system:kube-controller-manager leaves no line in " +
					"the audit log" + beforePods,
			}},
		{name: "websockets into pods",
			text: strings.Replace(own, "- pods/exec", "- pods/status", 1),
			want: []string{
				"rules[3]: get of pods/exec by system:node:NAME leaves no line in the audit log" +
					beforePods,
				"rules[4]: get of pods/exec by system:kube-controller-manager leaves no line in " +
					"the audit log" + beforePods,
			}},
		{name: "what goes through the API server",
			text: strings.Replace(own, `"*/proxy"`, "pods/proxy", 1), want: []string{
				"rules[3]: get of services/proxy by system:node:NAME leaves no line in the " +
					"audit log" + beforePods,
				"rules[4]: get of services/proxy by system:kube-controller-manager leaves no " +
					"line in the audit log" + beforePods,
			}},
		{name: "a program that reads logs", text: first("{level: None, verbs: [get], " +
			"users: ['system:serviceaccount:kube-system:logs'], " +
			"resources: [{group: '', resources: [pods/log]}]}")},
		{name: "containers for a search", text: first("{level: None, verbs: [patch], " +
			"resources: [{group: '', resources: ['pods/*']}]}"), want: []string{
			"rules[0]: patch" + ephemeral,
			"rules[0]: patch of pods/proxy by system:node:NAME leaves no line in the audit log" +
				beforePods,
		}},
		{name: "bodies of commands", text: first("{level: Request, " +
			"resources: [{group: '', resources: [pods/exec]}]}")},
		{name: "stages", text: strings.Replace(own, "- RequestReceived",
			"- RequestReceived\n- ResponseComplete", 1), want: []string{
			"rules[0]: get of secrets by system:node:NAME leaves no line in the audit log" +
				before,
			"rules[0]: get of pods/attach by system:node:NAME leaves no line in the audit log" +
				beforePods,
			"rules[6]: patch" + ephemeral,
		}},
		{name: "bodies", text: first("{level: RequestResponse, verbs: [create]}"), want: []string{
			"rules[0]: create of secrets writes what is secret into the audit log; " +
				"write level: Metadata for secrets, serviceaccounts/token",
		}},
		{name: "bodies of tokens", text: first("{level: Request, resources: [{group: '*', " +
			"resources: ['serviceaccounts/*']}]}"), want: []string{
			"rules[0]: create of serviceaccounts/token writes what is secret into the audit " +
				"log; write level: Metadata for secrets, serviceaccounts/token",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, f := range Findings([]byte(tt.text)) {
				got = append(got, f.String())
			}
			require.Equal(t, tt.want, got)
		})
	}
}
