// Package rotation holds what people have to do in each stage of a root's rotation: which machines
// a stage concerns, what it means, and what must be true before it begins. kiln secrets rotate and
// kiln plan show it. The package changes nothing; package pki has the stages themselves.
package rotation

import (
	"cmp"
	"slices"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/node"
)

// advice is what people have to know of the rotation of a root.
type advice struct {
	root  pki.Root
	roles []string // the machines that have something of the root
	// trust, issue and drop say what each stage means; a root without stages has drop alone.
	trust, issue, drop string
	// beforeIssue and beforeDrop say what else must be true before that stage, when every machine
	// runs the stage before. For a root without stages, first says what to do before the first
	// machine gets the new one. afterDrop says what is left to do after the last stage.
	beforeIssue, beforeDrop, first, afterDrop []string
	// stolen says until when a stolen root is of use, and what it is good for until then.
	stolen string
}

// Lines that several roots share.
const (
	// Etcdctl asks a member of etcd on its machine, with the member's own certificate.
	Etcdctl = "etcdctl --cacert /etc/etcd/pki/ca.crt --cert /etc/etcd/pki/server.crt " +
		"--key /etc/etcd/pki/server.key"

	restartPods = "restart all pods that talk to the API, or that read ca.crt of their service " +
		"account once: for ns in $(kubectl get namespaces -o name | cut -d/ -f2); do " +
		"kubectl -n $ns rollout restart deployment,daemonset,statefulset; done"
	aggregated = "the API servers only ever add to what aggregated API servers trust: " +
		"kubectl -n kube-system delete configmap extension-apiserver-authentication  " +
		"# they write it again within a minute, without the old CA"
	lastMachine = "until the last machine runs the stage drop: "
)

var (
	all           = []string{node.Etcd, node.ControlPlane, node.Worker}
	etcdAndAPI    = []string{node.Etcd, node.ControlPlane}
	controlPlanes = []string{node.ControlPlane}
)

// table has a row for each root.
var table = []advice{
	{
		root: pki.RootCA, roles: all,
		trust: "every machine trusts the new CA of the cluster beside the old one, which signs",
		issue: "the new CA of the cluster signs; every machine trusts both",
		drop:  "the old CA of the cluster is trusted no longer",
		beforeIssue: []string{
			"everybody has the new admin.conf, and every other kubeconfig has both CAs",
			restartPods,
		},
		beforeDrop: []string{
			"everybody has the new admin.conf, and no other kubeconfig has a certificate of the " +
				"old CA",
			"machines of pools were replaced in this stage: their kubelets have certificates of " +
				"the CA that signed when they joined",
		},
		afterDrop: []string{aggregated},
		stolen: lastMachine + "its thief is any user, node and administrator of the cluster, " +
			"and any API server for its clients",
	}, {
		root: pki.RootEtcdCA, roles: etcdAndAPI,
		trust:  "etcd and the API servers trust etcd's new CA beside the old one, which signs",
		issue:  "etcd's new CA signs; etcd and the API servers trust both",
		drop:   "etcd's old CA is trusted no longer",
		stolen: lastMachine + "its thief reads and writes all of etcd, and can be a member of it",
	}, {
		root: pki.RootFrontProxyCA, roles: controlPlanes,
		trust: "API servers trust the new CA of the front proxy beside the old one, which signs",
		issue: "the new CA of the front proxy signs; API servers trust both",
		drop:  "the old CA of the front proxy is trusted no longer",
		beforeIssue: []string{"aggregated API servers have read the new list of CAs, which the " +
			"API servers keep in kube-system/extension-apiserver-authentication: they do it by " +
			"themselves within a minute"},
		afterDrop: []string{aggregated},
		stolen:    lastMachine + "its thief is any user for every API server",
	}, {
		root: pki.RootServiceAccount, roles: controlPlanes,
		trust: "API servers accept tokens of the new key beside those of the old one, which signs",
		issue: "the new key signs service account tokens; API servers accept those of both",
		drop:  "tokens that the old key signed are accepted no longer",
		beforeDrop: []string{
			"no token that the old key signed is still valid. Tokens in Secrets never end: " +
				"kubectl get secrets -A --field-selector type=kubernetes.io/" +
				"service-account-token  # delete each one, and Kubernetes makes no new one for it",
		},
		stolen: lastMachine + "its thief is any service account of the cluster",
	}, {
		root: pki.RootEncryption, roles: controlPlanes,
		trust: "API servers read Secrets of the new key in etcd; the old one writes",
		issue: "the new key writes Secrets to etcd; API servers read those of both",
		drop:  "what the old key wrote to etcd can be read no longer",
		beforeDrop: []string{
			"every Secret is written again: kubectl get secrets -A -o json | kubectl replace -f -" +
				"  # repeat it on a conflict; from Kubernetes 1.37 also a StorageVersionMigration",
			"nothing in etcd has the old key's name: kubectl -n kube-system exec etcd-NAME -- " +
				Etcdctl + " get /registry/secrets --prefix --print-value-only | grep -ao " +
				"'k8s:enc:[a-z]*:v1:[^:]*:' | sort | uniq -c  # NAME: a control plane with a " +
				"member; want one line, of the new key",
			"no snapshot of etcd from before is needed, or a copy of the bundle of this stage " +
				"is kept for it: only this key reads its Secrets",
		},
		stolen: "for ever, in each snapshot and disk that has Secrets of that key; replace the " +
			"Secrets themselves",
	}, {
		root: pki.RootLeafSeed, roles: all,
		drop: "every machine gets new keys, and every bootstrap token is new",
		first: []string{
			"bootstrap tokens of pools are new: apply their " +
				"Secrets, as kiln plan says. The old tokens work until they end; kubectl " +
				"-n kube-system get secrets --field-selector type=bootstrap.kubernetes.io/token " +
				"lists their Secrets: delete them to end them now",
		},
		stolen: "until every certificate ends that was issued before: whoever has the seed has " +
			"the keys of every certificate that he has seen, and his CA is still trusted; " +
			"rotate ca, etcd-ca and front-proxy-ca as well",
	},
}

func of(root pki.Root) *advice {
	i := slices.IndexFunc(table, func(a advice) bool { return a.root == root })
	return &table[i]
}

// Roles returns the roles of the machines that have something of a root.
func Roles(root pki.Root) []string { return of(root).roles }

// Meaning returns what a stage of a root means. The stage Settled means that the old root was
// dropped.
func Meaning(root pki.Root, stage pki.Stage) string {
	switch a := of(root); stage {
	case pki.Trust:
		return a.trust
	case pki.Issue:
		return a.issue
	default:
		return a.drop
	}
}

// Conditions returns what else must be true before a root may leave a stage that every machine
// runs. wait says how long service account tokens live (TokenWait); it is empty if
// nobody knows.
func Conditions(root pki.Root, stage pki.Stage, wait string) []string {
	a := of(root)
	switch stage {
	case pki.Trust:
		return a.beforeIssue
	case pki.Issue:
		lines := slices.Clone(a.beforeDrop)
		if root == pki.RootServiceAccount {
			lines = append(lines, cmp.Or(wait, untilTokensEnd(anyLife)))
		}
		return lines
	default:
		return nil
	}
}

// First returns what to do before the first machine has a root that was replaced in one step.
func First(root pki.Root) []string { return of(root).first }

// Remaining returns what is left to do when the old root was dropped.
func Remaining(root pki.Root) []string { return of(root).afterDrop }

// Exposure returns until when a stolen root is of use.
func Exposure(root pki.Root) string { return of(root).stolen }
