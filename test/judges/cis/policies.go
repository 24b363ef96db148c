package cis

import (
	"slices"
	"strconv"

	"kiln.dev/kiln/test/judges/machine"
)

// object is what section 5 reads of an object of the API server.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		podSpec
		Template struct{ Spec podSpec } // of a DaemonSet and the like
	}
	Rules    []struct{ APIGroups, Resources, Verbs []string }
	RoleRef  struct{ Name string }
	Subjects []struct{ Kind, Name string }
}

type podSpec struct {
	HostPID, HostIPC, HostNetwork *bool
	Containers                    []container
}

type container struct {
	Name            string
	SecurityContext struct{ Privileged, AllowPrivilegeEscalation *bool }
}

// objects are the objects of a cluster that runs, or those that a document brings: static pods, and
// what the hook applies.
func objects(m *machine.Machine) (out []object) {
	if m.Booted != nil {
		type list struct{ Items []object }
		return machine.Read[list](&machine.File{Content: m.Booted.Objects}).Items
	}
	for _, f := range append(m.Under(machine.ManifestsDir), m.Under(machine.ObjectsDir)...) {
		out = append(out, machine.Read[object](f))
	}
	return out
}

// pods finds a field of each pod.
func pods(name string, field func(*podSpec) *bool) place {
	return func(m *machine.Machine) (out []value) {
		for _, o := range objects(m) {
			for _, spec := range []*podSpec{&o.Spec.podSpec, &o.Spec.Template.Spec} {
				if len(spec.Containers) > 0 {
					out = append(out, boolean(o.Metadata.Name+": "+name, field(spec)))
				}
			}
		}
		return out
	}
}

// containers finds a field of the securityContext of each container.
func containers(name string, field func(*container) *bool) place {
	return func(m *machine.Machine) (out []value) {
		for _, o := range objects(m) {
			for _, c := range slices.Concat(o.Spec.Containers, o.Spec.Template.Spec.Containers) {
				out = append(out, boolean(o.Metadata.Name+": "+c.Name+": "+name, field(&c)))
			}
		}
		return out
	}
}

func boolean(of string, b *bool) value {
	if b == nil {
		return value{of: of}
	}
	return value{of, strconv.FormatBool(*b), true}
}

// administrators finds the bindings of the role cluster-admin, by name.
func administrators(m *machine.Machine) (out []value) {
	for _, o := range objects(m) {
		if o.Kind == "ClusterRoleBinding" && o.RoleRef.Name == "cluster-admin" {
			out = append(out, value{"binding of cluster-admin", o.Metadata.Name, true})
		}
	}
	return out
}

// everybodyMay finds what every user may do with a resource of the core group, in all namespaces:
// the roles that are bound to the group system:authenticated, or no.
func everybodyMay(resource string, verbs ...string) place {
	return func(m *machine.Machine) (out []value) {
		all := objects(m)
		for _, binding := range all {
			everybody := slices.ContainsFunc(binding.Subjects,
				func(s struct{ Kind, Name string }) bool {
					return s.Kind == "Group" && s.Name == "system:authenticated"
				})
			if binding.Kind != "ClusterRoleBinding" || !everybody {
				continue
			}
			for _, role := range all {
				if role.Kind == "ClusterRole" && role.Metadata.Name == binding.RoleRef.Name &&
					role.allows(resource, verbs) {
					out = append(out, value{resource + " for everybody", role.Metadata.Name, true})
				}
			}
		}
		if out == nil {
			out = []value{{resource + " for everybody", "no", true}}
		}
		return out
	}
}

// allows reports whether a role allows one of the verbs.
func (o *object) allows(resource string, verbs []string) bool {
	names := func(list []string, words ...string) bool {
		return slices.ContainsFunc(append(words, "*"),
			func(word string) bool { return slices.Contains(list, word) })
	}
	for _, r := range o.Rules {
		if names(r.APIGroups, "") && names(r.Resources, resource) && names(r.Verbs, verbs...) {
			return true
		}
	}
	return false
}
