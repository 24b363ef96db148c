package addons

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/plan"
)

// judge holds what the rules compare.
type judge struct {
	plan    *plan.Plan
	objects []*object
	felix   bool // its definition says that it follows the mode of kube-proxy
}

// object is an object that was decoded.
type object struct {
	manifests.Object
	fields map[string]any
	pods   *core.PodTemplateSpec // nil if its kind has no pods
}

// readKinds are the kinds without pods whose fields the tables name.
var readKinds = []string{
	"ConfigMap", "FelixConfiguration", "IPPool", "Installation", "NetworkPolicy",
}

// newJudge decodes the objects that matter. Without add-ons and Flannel it decodes none.
func newJudge(p *plan.Plan, objects []manifests.Object) *judge {
	j := &judge{plan: p}
	if len(p.Config.Spec.Addons) == 0 && !p.Flannel() {
		return j
	}
	for _, from := range objects {
		j.felix = j.felix || strings.HasPrefix(from.Name, "felixconfigurations.") &&
			followsProxy.Match(from.YAML)
		o := &object{Object: from}
		template, err := o.PodTemplate()
		if err != nil || template == nil && !slices.Contains(readKinds, o.Kind) ||
			o.Decode(&o.fields) != nil {
			continue
		}
		o.pods = template
		j.objects = append(j.objects, o)
	}
	return j
}

// followsProxy matches the default of Calico 3.32 and later: Felix takes nftables if kube-proxy
// does (https://github.com/projectcalico/calico/pull/11629).
var followsProxy = regexp.MustCompile(`nftablesMode:\n +default: Auto\n`)

// configMap returns the ConfigMap of that name; an empty object if there is none.
func (j *judge) configMap(name string) *object {
	for _, o := range j.objects {
		if o.is("ConfigMap", name) {
			return o
		}
	}
	return &object{}
}

func (o *object) finding(format string, args ...any) NetworkFinding {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + name
	}
	return NetworkFinding{o.Object, o.Kind + " " + name + ": " + fmt.Sprintf(format, args...)}
}

func (o *object) is(kind, name string) bool { return o.Kind == kind && o.Name == name }

// calico reports whether the object is one of Calico's own kinds.
func (o *object) calico() bool {
	return strings.HasPrefix(o.Path, "/apis/operator.tigera.io/") ||
		strings.HasPrefix(o.Path, "/apis/crd.projectcalico.org/") ||
		strings.HasPrefix(o.Path, "/apis/projectcalico.org/")
}

// at returns the value at a path of keys, nil if there is none.
func (o *object) at(keys ...string) any {
	var value any = o.fields
	for _, key := range keys {
		fields, _ := value.(map[string]any)
		value = fields[key]
	}
	return value
}

// text returns the string at a path of keys, "" if there is none.
func (o *object) text(keys ...string) string {
	s, _ := o.at(keys...).(string)
	return s
}

// container returns a container of the object's pods, nil if they have none of that name.
func (o *object) container(name string) *core.Container {
	if o.pods == nil {
		return nil
	}
	for i := range o.pods.Spec.Containers {
		if c := &o.pods.Spec.Containers[i]; c.Name == name {
			return c
		}
	}
	return nil
}

// runs reports whether the object's pods have a container of that name.
func (o *object) runs(container string) bool { return o.container(container) != nil }

// env returns the value of an environment variable of a container, "" if it is not set or comes
// from elsewhere.
func (o *object) env(container, name string) string {
	if c := o.container(container); c != nil {
		for _, e := range c.Env {
			if e.Name == name {
				return e.Value
			}
		}
	}
	return ""
}

// bringsCNI reports whether the object can put the configuration of a CNI plugin on the machines:
// its pods mount the folder or one above it, or an operator makes such pods of it.
func (o *object) bringsCNI() bool {
	if o.Kind == "Installation" && o.calico() {
		return true
	}
	if o.pods == nil {
		return false
	}
	return slices.ContainsFunc(o.pods.Spec.Volumes, func(v core.Volume) bool {
		if v.HostPath == nil {
			return false
		}
		folder := path.Clean(v.HostPath.Path)
		cni := path.Dir(plan.CNIConfDir)
		return folder == plan.CNIConfDir || folder == cni || folder == path.Dir(cni)
	})
}
