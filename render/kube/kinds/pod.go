package kinds

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kiln.dev/kiln/render/text/wording"
)

func podOf(f *Fault, data []byte) {
	if pod, ok := Decode[core.Pod](data); ok {
		checkPod(f.Key("spec"), &pod.Spec)
	}
}

type workload struct {
	Spec struct {
		Selector *metav1.LabelSelector `json:"selector"`
		Template core.PodTemplateSpec  `json:"template"`
		Claims   []struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
		} `json:"volumeClaimTemplates"`
		JobTemplate struct {
			Spec struct {
				Template core.PodTemplateSpec `json:"template"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

func templateOf(f *Fault, data []byte) {
	if w, ok := Decode[workload](data); ok {
		// A StatefulSet gives its pods a volume for each claim, with the name of the claim.
		var claims []string
		for i := range w.Spec.Claims {
			claims = append(claims, w.Spec.Claims[i].Metadata.Name)
		}
		checkPod(f.Key("spec", "template", "spec"), &w.Spec.Template.Spec, claims...)
	}
}

func jobTemplateOf(f *Fault, data []byte) {
	if w, ok := Decode[workload](data); ok {
		at := f.Key("spec", "jobTemplate", "spec", "template", "spec")
		checkPod(at, &w.Spec.JobTemplate.Spec.Template.Spec)
		checkJobRestart(at, &w.Spec.JobTemplate.Spec.Template.Spec)
	}
}

func selectsOwn(f *Fault, data []byte) {
	w, ok := Decode[workload](data)
	if !ok || w.Spec.Selector == nil {
		return
	}
	at := f.Key("spec", "selector")
	selector, err := metav1.LabelSelectorAsSelector(w.Spec.Selector)
	switch {
	case err != nil:
		at.Report("is not a selector: %s", err)
	case selector.Empty():
		at.Report("selects every pod; write matchLabels")
	case !selector.Matches(labels.Set(w.Spec.Template.Labels)):
		at.Report("does not select the pods of spec.template: their labels are %s",
			labels.Set(w.Spec.Template.Labels))
	}
}

func restartsAlways(f *Fault, data []byte) {
	w, ok := Decode[workload](data)
	if !ok {
		return
	}
	policy := w.Spec.Template.Spec.RestartPolicy
	if policy != "" && policy != core.RestartPolicyAlways {
		f.Key("spec", "template", "spec", "restartPolicy").Report("%s: these pods take only Always",
			Show(string(policy)))
	}
}

func restartsNotAlways(f *Fault, data []byte) {
	if w, ok := Decode[workload](data); ok {
		checkJobRestart(f.Key("spec", "template", "spec"), &w.Spec.Template.Spec)
	}
}

func checkJobRestart(f *Fault, spec *core.PodSpec) {
	if spec.RestartPolicy == "" || spec.RestartPolicy == core.RestartPolicyAlways {
		f.Report("the pods of a Job need restartPolicy Never or OnFailure")
	}
}

// backSteps reports a path that leads out of where it begins.
func backSteps(v any) string {
	if s, _ := v.(string); slices.Contains(strings.Split(s, "/"), "..") {
		return Show(s) + ` holds ".."`
	}
	return ""
}

// checkPod reports what is wrong with a pod. claims are volumes besides its own.
func checkPod(f *Fault, spec *core.PodSpec, claims ...string) {
	if len(spec.Containers) == 0 {
		f.Report("containers is missing; a pod needs one")
	}
	p := pod{spec: spec, volumes: map[string]bool{}, names: map[string]bool{}}
	for i := range spec.Volumes {
		v := &spec.Volumes[i]
		at := f.Key("volumes").Index(i)
		if p.volumes[v.Name] {
			at.Report("another volume has the name %s", Show(v.Name))
		}
		p.volumes[v.Name] = true
		if n := sources(&v.VolumeSource); n > 1 {
			at.Report("has %d sources; a volume has one", n)
		}
	}
	for _, name := range claims {
		p.volumes[name] = true
	}
	checkTolerations(f.Key("tolerations"), spec.Tolerations)
	if s := spec.SecurityContext; s != nil {
		checkSeccomp(f.Key("securityContext", "seccompProfile"), s.SeccompProfile)
	}
	for i := range spec.Containers {
		p.checkContainer(f.Key("containers").Index(i), &spec.Containers[i], false)
	}
	for i := range spec.InitContainers {
		p.checkContainer(f.Key("initContainers").Index(i), &spec.InitContainers[i], true)
	}
}

func sources(v *core.VolumeSource) (n int) {
	all := reflect.ValueOf(v).Elem()
	for i := range all.NumField() {
		if !all.Field(i).IsNil() {
			n++
		}
	}
	return n
}

// checkSeccomp reports a profile of the machine without its path, and a path of another profile.
func checkSeccomp(f *Fault, p *core.SeccompProfile) {
	if p == nil || p.Type == "" {
		return
	}
	isLocal := p.Type == core.SeccompProfileTypeLocalhost
	switch path := p.LocalhostProfile; {
	case isLocal && (path == nil || *path == ""):
		f.Report("localhostProfile is missing; type Localhost needs the path of a profile")
	case !isLocal && path != nil:
		f.Key("localhostProfile").Report("only type Localhost has a path; remove it")
	}
}

// firstComparison is the first minor with the gate TaintTolerationComparisonOperators.
const firstComparison = 35

// checkTolerations reports operators that the minor does not have. Whether a later minor takes them
// depends on its gate, which is off by default; the API server checks that.
func checkTolerations(f *Fault, tolerations []core.Toleration) {
	for i := range tolerations {
		switch operator := tolerations[i].Operator; operator {
		case core.TolerationOpLt, core.TolerationOpGt:
			if f.Minor < firstComparison {
				f.Index(i).Key("operator").Report("Kubernetes has %s since 1.%d; "+
					"write Equal or Exists", operator, firstComparison)
			}
		}
	}
}

type pod struct {
	spec    *core.PodSpec
	volumes map[string]bool
	names   map[string]bool // of the containers so far
}

// checkContainer reports what is wrong with a container. One without an image is most often a patch
// whose name is misspelt, so the message lists the names of the others.
func (p *pod) checkContainer(f *Fault, c *core.Container, initial bool) {
	if p.names[c.Name] {
		f.Report("another container has the name %s", Show(c.Name))
	}
	p.names[c.Name] = true
	if c.Image == "" {
		var others []string
		all := slices.Concat(p.spec.Containers, p.spec.InitContainers)
		for i := range all {
			if all[i].Image != "" {
				others = append(others, all[i].Name)
			}
		}
		what := "the container has no image"
		if len(others) > 0 {
			what = fmt.Sprintf("the container has no image; the pod has %s%s",
				strings.Join(others, ", "), wording.Hint(c.Name, others))
		}
		f.Report("%s", what)
	}
	for i := range c.Env {
		if c.Env[i].Value != "" && c.Env[i].ValueFrom != nil {
			f.Key("env").Index(i).Report("has value and valueFrom; remove one")
		}
	}
	if s := c.SecurityContext; s != nil {
		checkSeccomp(f.Key("securityContext", "seccompProfile"), s.SeccompProfile)
	}
	p.checkPorts(f.Key("ports"), c)
	p.checkMounts(f, c)
	checkResources(f.Key("resources"), &c.Resources)
	probe := func(name string, handler *core.Probe, once bool) {
		if handler != nil {
			checkProbe(f.Key(name), handler, once)
		}
	}
	sidecar := c.RestartPolicy != nil && *c.RestartPolicy == core.ContainerRestartPolicyAlways
	if initial && !sidecar && (c.LivenessProbe != nil || c.ReadinessProbe != nil ||
		c.StartupProbe != nil || c.Lifecycle != nil) {
		f.Report("an init container takes no probes and no lifecycle without restartPolicy Always")
	}
	probe("livenessProbe", c.LivenessProbe, true)
	probe("readinessProbe", c.ReadinessProbe, false)
	probe("startupProbe", c.StartupProbe, true)
}

func (p *pod) checkPorts(f *Fault, c *core.Container) {
	names := map[string]bool{}
	for i := range c.Ports {
		port := &c.Ports[i]
		if port.Name != "" && names[port.Name] {
			f.Index(i).Report("another port has the name %s", Show(port.Name))
		}
		names[port.Name] = true
		if p.spec.HostNetwork && port.HostPort != 0 && port.HostPort != port.ContainerPort {
			f.Index(i).Report("hostPort %d is not containerPort %d; with hostNetwork both are one",
				port.HostPort, port.ContainerPort)
		}
	}
}

func (p *pod) checkMounts(f *Fault, c *core.Container) {
	paths := map[string]bool{}
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		at := f.Key("volumeMounts").Index(i)
		if m.Name != "" && !p.volumes[m.Name] {
			known := slices.Sorted(maps.Keys(p.volumes))
			at.Report("the pod has no volume %s%s", Show(m.Name), wording.Hint(m.Name, known))
		}
		if m.MountPath != "" && paths[m.MountPath] {
			at.Report("something else is mounted at %s", Show(m.MountPath))
		}
		paths[m.MountPath] = true
	}
}

func checkResources(f *Fault, r *core.ResourceRequirements) {
	for _, list := range []struct {
		name   string
		values core.ResourceList
	}{{"limits", r.Limits}, {"requests", r.Requests}} {
		for name, q := range list.values {
			if q.Sign() < 0 {
				f.Key(list.name, string(name)).Report("%s is negative", q.String())
			}
		}
	}
	for name, request := range r.Requests {
		if limit, ok := r.Limits[name]; ok && request.Cmp(limit) > 0 {
			f.Key("requests", string(name)).Report("%s is more than the limit, %s",
				request.String(), limit.String())
		}
	}
}

// checkProbe reports a probe that does not ask in exactly one way. A probe that only says whether a
// container lives is content with one success.
func checkProbe(f *Fault, p *core.Probe, once bool) {
	ways := 0
	for _, given := range []bool{
		p.Exec != nil, p.HTTPGet != nil, p.TCPSocket != nil, p.GRPC != nil,
	} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		f.Report("a probe has exactly one of exec, httpGet, tcpSocket and grpc")
	}
	if once && p.SuccessThreshold > 1 {
		f.Key("successThreshold").Report("%d is not 1", p.SuccessThreshold)
	}
}
