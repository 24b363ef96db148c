package manifests

import (
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

const system = "kube-system"

// StaticPods returns the static pods of m, which must have some. token is the token of the etcd
// cluster, the cluster's UUID.
func StaticPods(p *plan.Plan, m *plan.Machine, token string) Source {
	var src Source
	if p.Balanced(m) {
		src = Source{Base: base("haproxy.yaml"), Patches: []*Patch{balancer(p)}}
	}
	if m.EtcdMember {
		src = Source{Base: base("etcd.yaml"), Patches: []*Patch{etcd(p, m, token)}}
	}
	if !m.ControlPlane() {
		return src
	}
	src.Base = Join(src.Base, base("kube-apiserver.yaml", "kube-controller-manager.yaml",
		"kube-scheduler.yaml"))
	if p.HasVIP(m) {
		src.Base = Join(src.Base, base("kube-vip.yaml"))
		src.Patches = append(src.Patches, kubeVIP(p, m))
	}
	src.Patches = append(src.Patches, apiServer(p, m), controllerManager(p, m), scheduler(p, m))
	return src
}

func apiServer(p *plan.Plan, m *plan.Machine) *Patch {
	pod := component(p, m, target.APIServer, p.APIServerFlags(m))
	pod.probeAt(m.ByAddresses(), m.Addresses[0].String())
	pod.volumes(m.BySystem(len(m.Settings.Profile.CAFolders) > 0), caVolumes(m))
	if kms := p.Config.Spec.Security.KMS; kms != nil {
		var socket hostPaths
		socket.add("kms", kms.Folder(), "DirectoryOrCreate", true)
		pod.volumes(plan.Origin{Field: "security.kms"}, socket)
	}
	if p.Hardened() {
		var audit hostPaths
		audit.add("audit-log", plan.AuditDir, "Directory", false)
		pod.volumes(p.ByProfile(), audit)
	}
	return pod.Patch
}

func controllerManager(p *plan.Plan, m *plan.Machine) *Patch {
	pod := component(p, m, target.ControllerManager, p.ControllerManagerFlags())
	pod.volumes(m.BySystem(len(m.Settings.Profile.CAFolders) > 0), caVolumes(m))
	if p.Release.FlexVolume {
		var flex hostPaths
		flex.add("flexvolume-dir", plan.FlexVolumeDir, "DirectoryOrCreate", false)
		pod.volumes(p.ByRelease(), flex)
	}
	return pod.Patch
}

func scheduler(p *plan.Plan, m *plan.Machine) *Patch {
	return component(p, m, target.Scheduler, p.SchedulerFlags()).Patch
}

func etcd(p *plan.Plan, m *plan.Machine, token string) *Patch {
	pod := newPod(p, target.Etcd)
	pod.command(p.EtcdFlags(m, token))
	user := object{"runAsUser": m.System.Etcd.UID, "runAsGroup": m.System.Etcd.GID}
	pod.set(m.BySystem(m.Settings.Profile.EtcdUser != nil),
		object{"spec": object{"securityContext": user}})
	return pod.Patch
}

// component returns the pod of a program of Kubernetes itself. It gets the machine's proxy, as with
// kubeadm (cmd/kubeadm/app/phases/controlplane/manifests.go, 1.36); etcd gets none, because it
// talks to its members alone.
func component(p *plan.Plan, m *plan.Machine, name string, commands plan.Commands) pod {
	pod := newPod(p, name)
	pod.command(commands)
	if env := variables(p.ProxyVariables(&m.Settings.Proxy)); len(env) > 0 {
		pod.container(plan.Origin{Field: m.Settings.Path("proxy")}, object{"env": env})
	}
	return pod
}

func variables(vars []plan.Variable) (env list) {
	for _, v := range vars {
		env = append(env, object{"name": v.Name, "value": v.Value})
	}
	return env
}

// pod is the patch for a static pod with one container, which has the pod's name.
type pod struct {
	*Patch
	name string
}

// newPod returns the patch with what every static pod gets: its image, and as much time to start as
// the hook waits for it. With kubeadm's four minutes the kubelet would kill, again and again, an
// API server whose machine or etcd is only slow.
func newPod(p *plan.Plan, name string) pod {
	pod := pod{newPatch("v1", "Pod", system, name), name}
	for _, step := range p.ImageSteps(name) {
		pod.container(step.From, object{"image": step.Ref})
	}
	failures := int(time.Duration(p.Config.Spec.Boot.StepTimeout) / probePeriod)
	pod.container(plan.Origin{Field: "boot.stepTimeout"}, object{"startupProbe": object{
		"failureThreshold": max(minStartFailures, failures),
	}})
	return pod
}

const (
	probePeriod      = 10 * time.Second // of the startup probes in the base manifests
	minStartFailures = 24               // kubeadm's
)

func (p pod) container(from plan.Origin, fields object) {
	fields["name"] = p.name
	p.set(from, object{"spec": object{"containers": list{fields}}})
}

func (p pod) command(steps plan.Commands) {
	for _, step := range steps {
		p.container(step.From, object{"command": step.CommandLine})
	}
}

func (p pod) probeAt(from plan.Origin, host string) {
	at := object{"httpGet": object{"host": host}}
	p.container(from, object{"livenessProbe": at, "readinessProbe": at, "startupProbe": at})
}

func (p pod) volumes(from plan.Origin, paths hostPaths) {
	p.container(from, object{"volumeMounts": paths.mounts})
	p.set(from, object{"spec": object{"volumes": paths.volumes}})
}

type hostPaths struct{ volumes, mounts list }

func (h *hostPaths) add(name, dir, kind string, readOnly bool) {
	mount := object{"name": name, "mountPath": dir}
	if readOnly {
		mount["readOnly"] = true
	}
	h.mounts = append(h.mounts, mount)
	h.volumes = append(h.volumes, object{"name": name,
		"hostPath": object{"path": dir, "type": kind}})
}

// caVolumes returns the system's folders of trusted certificates, for webhooks and OIDC issuers
// with public certificates. A folder under a read-only /usr is never created.
func caVolumes(m *plan.Machine) hostPaths {
	var h hostPaths
	for _, dir := range m.System.CADirs {
		kind := "DirectoryOrCreate"
		if m.System.ReadOnlyUsr && strings.HasPrefix(dir, "/usr/") {
			kind = "Directory"
		}
		h.add("ca"+strings.ReplaceAll(dir, "/", "-"), dir, kind, true)
	}
	return h
}
