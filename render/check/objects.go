package check

import (
	"bytes"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"kiln/pki"
	"kiln/render/plan"
)

// checkObjects: a control plane brings the objects that the facts are of, and the first one reports what is wrong with the
// cluster as a whole.
func (c *inspection) checkObjects() {
	if !c.machine.ControlPlane() {
		return
	}
	if p := c.cluster.Plan; c.machine == &p.Machines[p.ControlPlanes[0]] {
		for _, err := range c.facts.errs {
			c.fail("%w", err)
		}
	}
	dir := plan.KilnDir + "/objects"
	index := c.files[dir+"/index"]
	if index == nil {
		c.fail("file %s/index: missing; the API server would get no objects", dir)
		return
	}
	lines := strings.Split(strings.TrimSuffix(string(index.Content), "\n"), "\n")
	if len(lines) != len(c.cluster.Objects) {
		c.fail("file %s: lists %d objects of %d", index.Path, len(lines), len(c.cluster.Objects))
		return
	}
	for i, o := range c.cluster.Objects {
		path, name, _ := strings.Cut(lines[i], "\t")
		if f := c.files[dir+"/"+name]; path != o.Path || f == nil || !bytes.Equal(f.Content, o.YAML) {
			c.fail("file %s: line %d: the object of %s is not what it should be", index.Path, i+1, o.Path)
		}
	}
}

// checkRights: whoever we give an identity has its rights from an object, except where the API server itself binds them: the
// nodes, the controller-manager, the scheduler and system:masters.
func (f *facts) checkRights() {
	p := f.cluster.Plan
	const csr = "system:certificates.k8s.io:certificatesigningrequests:"
	grants := []grant{
		{true, groupSubjects(pki.AdminGroup), "cluster-admin", "the operator's admin.conf may do nothing"},
		{p.OnlineSigning, groupSubjects("system:nodes"), csr + "selfnodeclient", "no kubelet's certificate is renewed"},
		{f.proxy != nil, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: plan.KubeProxy}}, "system:node-proxier", "kube-proxy sees no Services"},
	}
	seen := map[string]bool{}
	for i := range p.Machines {
		m := &p.Machines[i]
		extra := f.tokens[f.cluster.Bundle.MachineToken(m).ID].groups
		if !m.Token || seen[extra] {
			continue
		}
		seen[extra] = true
		joining := groupSubjects(append(strings.Split(extra, ","), "system:bootstrappers")...)
		grants = append(grants,
			grant{true, joining, "system:node-bootstrapper", "no machine joins with a token"},
			grant{true, joining, csr + "nodeclient", "no machine that joins with a token gets a certificate"})
	}
	for _, g := range grants {
		if g.needed && !slices.ContainsFunc(g.subjects, func(s rbacv1.Subject) bool { return slices.Contains(f.rolesOf[s], g.role) }) {
			f.fail("objects: no ClusterRoleBinding gives %s %s the ClusterRole %s, so that %s; remove the patch that takes it away", g.subjects[0].Kind, g.subjects[0].Name, g.role, g.consequence)
		}
	}
}

// grant is a right that one of several subjects has to have, for all of them belong to the same client.
type grant struct {
	needed      bool
	subjects    []rbacv1.Subject
	role        string
	consequence string // does not work without it
}

func groupSubjects(names ...string) (out []rbacv1.Subject) {
	for _, name := range names {
		out = append(out, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name})
	}
	return out
}
