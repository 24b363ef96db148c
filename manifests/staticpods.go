package manifests

import (
	"fmt"
	"path"
	"strings"
	"time"

	"kiln/render/config"
	"kiln/render/plan"
)

// system is the namespace of everything that belongs to the cluster itself.
const system = "kube-system"

// StaticPods returns the static pods of m, which has some. token is the etcd cluster's: the cluster's UUID.
func StaticPods(p *plan.Plan, m *plan.Machine, token string) Source {
	var src Source
	if p.Balanced(m) {
		src = Source{Base: base("haproxy.yaml"), Patches: []string{balancer(p)}}
	}
	if m.EtcdMember {
		src = Source{Base: base("etcd.yaml"), Patches: []string{etcd(p, m, token)}}
	}
	if !m.ControlPlane() {
		return src
	}
	src.Base = Join(src.Base, base("kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml"))
	if p.HasVIP(m) {
		src.Base = Join(src.Base, base("kube-vip.yaml"))
		src.Patches = append(src.Patches, kubeVIP(p, m))
	}
	src.Patches = append(src.Patches, apiServer(p, m), controllerManager(p, m), scheduler(p, m))
	return src
}

func apiServer(p *plan.Plan, m *plan.Machine) string {
	c := component(p, m, plan.APIServer, p.APIServerFlags(m))
	probeAt(c, m.Addresses[0].String())
	volumes := caVolumes(m)
	if p.Hardened() {
		volumes.add("audit-log", plan.AuditDir, "Directory", false)
	}
	c["volumeMounts"] = volumes.mounts
	return staticPod(plan.APIServer, c, volumes.volumes)
}

func controllerManager(p *plan.Plan, m *plan.Machine) string {
	c := component(p, m, plan.ControllerManager, p.ControllerManagerFlags())
	volumes := caVolumes(m)
	if p.Release.FlexVolume {
		volumes.add("flexvolume-dir", plan.FlexVolumeDir, "DirectoryOrCreate", false)
	}
	c["volumeMounts"] = volumes.mounts
	return staticPod(plan.ControllerManager, c, volumes.volumes)
}

func scheduler(p *plan.Plan, m *plan.Machine) string {
	return staticPod(plan.Scheduler, component(p, m, plan.Scheduler, p.SchedulerFlags()), nil)
}

func etcd(p *plan.Plan, m *plan.Machine, token string) string {
	return staticPod(plan.Etcd, container(p, plan.Etcd, p.EtcdFlags(m, token)), nil)
}

// component is the container of a program of Kubernetes itself. It knows the machine's proxy, as with kubeadm (kubeadm.md
// §3.9); etcd talks to its members alone.
func component(p *plan.Plan, m *plan.Machine, name string, flags []config.Arg) object {
	c := container(p, name, flags)
	setProxy(c, p, &m.Settings.Proxy)
	return c
}

// setProxy adds the variables of a proxy to a container.
func setProxy(c object, p *plan.Plan, proxy *config.Proxy) {
	var env list
	for _, v := range p.ProxyVariables(proxy) {
		env = append(env, object{"name": v.Name, "value": v.Value})
	}
	if len(env) > 0 {
		c["env"] = env
	}
}

// container is what every static pod's container gets: image, command, and as long to start as the hook waits for it. With
// kubeadm's four minutes the kubelet kills, again and again, an API server whose machine or etcd is merely slow.
func container(p *plan.Plan, name string, flags []config.Arg) object {
	c := image(p, name)
	c["command"] = plan.Command(name, flags)
	return c
}

// image is a container without a command.
func image(p *plan.Plan, name string) object {
	return object{
		"name": name, "image": p.Images[name],
		"startupProbe": object{"failureThreshold": max(minStartFailures, int(time.Duration(p.Config.Spec.Boot.StepTimeout)/probePeriod))},
	}
}

const (
	probePeriod      = 10 * time.Second // of the startup probes in the base manifests
	minStartFailures = 24               // kubeadm's
)

// probeAt sets the host that the container's probes ask.
func probeAt(c object, host string) {
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		settings, ok := c[probe].(object)
		if !ok {
			settings = object{}
			c[probe] = settings
		}
		settings["httpGet"] = object{"host": host}
	}
}

func staticPod(name string, c object, volumes list) string {
	spec := object{"containers": list{c}}
	if len(volumes) > 0 {
		spec["volumes"] = volumes
	}
	return patch("v1", "Pod", system, name, object{"spec": spec})
}

// hostPaths are volumes from the host with their mounts.
type hostPaths struct{ volumes, mounts list }

func (h *hostPaths) add(name, dir, kind string, readOnly bool) {
	mount := object{"name": name, "mountPath": dir}
	if readOnly {
		mount["readOnly"] = true
	}
	h.mounts = append(h.mounts, mount)
	h.volumes = append(h.volumes, object{"name": name, "hostPath": object{"path": dir, "type": kind}})
}

// caVolumes are the system's folders of trusted certificates, for webhooks and OIDC issuers with public certificates.
// A folder under a read-only /usr is never created.
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

// ManifestPath is where the static pod of that name lies.
func ManifestPath(name string) string {
	return path.Join(plan.ManifestsDir, fmt.Sprintf("%s.yaml", name))
}
