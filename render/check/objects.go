package check

import (
	"bytes"
	"slices"
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// checkObjects checks that a control plane brings all objects; the first adds the cluster's errors.
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
	index := c.tree.Exact(dir + "/index")
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
		f := c.tree.Exact(dir + "/" + name)
		if path != o.Path || f == nil || !bytes.Equal(f.Content, o.JSON()) {
			c.fail("file %s: line %d: the object of %s is not what it should be",
				index.Path, i+1, o.Path)
		}
	}
}

// checkDNSProbes checks that CoreDNS has the plugins that the probes of its Deployment ask: it is
// never ready without them, and starts again and again.
func (f *facts) checkDNSProbes() {
	var settings core.ConfigMap
	var deployment apps.Deployment
	for _, o := range f.cluster.Objects {
		var err error
		switch {
		case o.Name != "coredns" || o.Namespace != "kube-system":
		case o.Kind == "ConfigMap":
			err = o.Decode(&settings)
		case o.Kind == "Deployment":
			err = o.Decode(&deployment)
		}
		if err != nil {
			return // which checkKinds says
		}
	}
	corefile := settings.Data["Corefile"]
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, probe := range []*core.Probe{container.LivenessProbe, container.ReadinessProbe} {
			if probe == nil || probe.HTTPGet == nil || corefile == "" {
				continue
			}
			plugin := strings.TrimPrefix(probe.HTTPGet.Path, "/")
			if (plugin == "health" || plugin == "ready") &&
				!slices.Contains(strings.Fields(corefile), plugin) {
				f.fail("objects: ConfigMap coredns: the Corefile has no plugin %s, which a probe "+
					"of the Deployment asks; add it", plugin)
			}
		}
	}
}

// checkRights checks that a ClusterRoleBinding gives each identity that kiln issues its rights. The
// API server itself binds those of nodes, controller-manager, scheduler and system:masters.
func (f *facts) checkRights() {
	for _, g := range slices.Concat(f.grants(), f.joiningGrants()) {
		isBound := func(s rbacv1.Subject) bool { return slices.Contains(f.rolesOf[s], g.role) }
		if !slices.ContainsFunc(g.subjects, isBound) {
			f.fail("objects: no ClusterRoleBinding gives %s %s the ClusterRole %s, so that %s; "+
				"remove the patch that takes it away",
				g.subjects[0].Kind, g.subjects[0].Name, g.role, g.consequence)
		}
	}
}

type grant struct {
	// subjects are all that the API server knows the client by. One of them must have the role.
	subjects    []rbacv1.Subject
	role        string
	consequence string // what happens without the role, for messages
}

const csrRole = "system:certificates.k8s.io:certificatesigningrequests:"

// grants returns the rights that do not depend on how machines join.
func (f *facts) grants() []grant {
	all := []grant{{groupSubjects(pki.AdminGroup), "cluster-admin",
		"the operator's admin.conf may do nothing"}}
	if f.cluster.Plan.OnlineSigning {
		all = append(all, grant{groupSubjects("system:nodes"), csrRole + "selfnodeclient",
			"no kubelet's certificate is renewed"})
	}
	if f.proxy != nil {
		all = append(all, grant{
			subjects: []rbacv1.Subject{{
				Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: target.KubeProxy,
			}},
			role:        "system:node-proxier",
			consequence: "kube-proxy sees no Services",
		})
	}
	return all
}

// joiningGrants returns the rights of machines that join with a token, once for each set of groups.
func (f *facts) joiningGrants() (all []grant) {
	seen := map[string]bool{}
	for i := range f.cluster.Plan.Machines {
		m := &f.cluster.Plan.Machines[i]
		if !m.Pool {
			continue
		}
		extra := f.tokens[f.cluster.Bundle.PoolToken(m.Name).ID].groups
		if seen[extra] {
			continue
		}
		seen[extra] = true
		joining := groupSubjects(append(strings.Split(extra, ","), "system:bootstrappers")...)
		all = append(all,
			grant{joining, "system:node-bootstrapper", "no machine joins a pool"},
			grant{joining, csrRole + "nodeclient", "no machine of a pool gets a certificate"})
	}
	return all
}

func groupSubjects(names ...string) (subjects []rbacv1.Subject) {
	for _, name := range names {
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: name})
	}
	return subjects
}
