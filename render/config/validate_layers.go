package config

import (
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
)

// layers checks what follows from all layers of a machine together. It reports a mistake that many
// machines share once, at the layer that makes it.
func (v *checker) layers() {
	nodes, pools := v.c.Spec.Nodes, v.c.Spec.Pools
	var without []settings // machines without an operating system
	providers := map[string]string{}
	for i := range nodes {
		m := settings{v.c.EffectiveNode(i), nodes[i].Name, v.spec.Key("nodes").Index(i)}
		if !v.machineLayers(m) {
			without = append(without, m)
		}
		v.providerID(m, providers)
		v.osVersion(m, nodes[i].Role != roleEtcd)
		if nodes[i].Role == roleControlPlane {
			v.vipPlatform(m)
		}
		v.interfaceDelivery(m, nodes[i].Interfaces)
		v.nameServers(m, nodes[i].Interfaces)
		if nodes[i].Role != roleEtcd {
			v.podSysctls(m)
			v.maxPods(m)
			v.flannelFolders(m)
		}
		if nodes[i].Role == roleWorker {
			v.reachesEndpoint(m, i)
		}
	}
	for i := range pools {
		m := settings{v.c.EffectivePool(i), pools[i].Name, v.spec.Key("pools").Index(i)}
		if !v.machineLayers(m) {
			without = append(without, m)
		}
		v.osVersion(m, true)
		v.podSysctls(m)
		v.maxPods(m)
		v.flannelFolders(m)
		v.platformNames(m, pools[i].NodeName)
	}
	v.reportWithoutSystem(without, len(nodes)+len(pools))
}

// providerID reports the ID of an instance that another node has. seen has the nodes' names by ID.
func (v *checker) providerID(m settings, seen map[string]string) {
	id, _ := m.Kubelet["providerID"].(string)
	if first, taken := seen[id]; taken && id != "" {
		v.reportKey(m, []string{"kubelet", "providerID"}, "%s is the ID of one instance, and %s "+
			"and %s would have it; write it in nodes, for each of them", quote(id), first, m.name)
	}
	seen[id] = m.name
}

func (v *checker) machineLayers(m settings) (ok bool) {
	v.kernelDefaults(m)
	v.resolver(m)
	v.earlyOwners(m)
	v.swap(m)
	v.maskedUnits(m)
	v.mountLabels(m)
	v.kubeletFlags(m)
	v.credentialProviders(m)
	v.preload(m)
	v.reserved(m)
	v.machineArtifacts(m)
	if m.OS == "" {
		return false
	}
	v.format(m)
	v.profileLayers(m)
	v.readOnly(m)
	v.dashScripts(m)
	return true
}

// reportWithoutSystem reports the machines without a system, or their common layer if all are.
func (v *checker) reportWithoutSystem(without []settings, machines int) {
	systems := strings.Join(target.SystemNames(nil), ", ")
	if machines > 0 && len(without) == machines {
		v.report(v.spec.Key("machines").Key("os"),
			"missing; write the machines' operating system, one of %s", systems)
		return
	}
	for _, m := range without {
		v.report(m.at.Key("os"), "missing, and no layer of %s sets it; write one of %s",
			m.name, systems)
	}
}

// format checks that extras are for what sets the system up, Ignition or cloud-init.
func (v *checker) format(m settings) {
	if m.Butane != "" && !m.ignition() {
		v.reportLayer(m, narrower(m, "butane", "os"), "butane is for systems with Ignition (%s), "+
			"and %s has %s; remove it, or set butane: \"\" for that machine",
			strings.Join(target.SystemNames(ignition), ", "), m.name, m.OS)
	}
	const forCloudInit = " is for systems with cloud-init, and %s has %s; " +
		"move it to the layers of the others, and use butane here"
	if len(m.CloudConfig) > 0 && m.ignition() {
		v.reportLayer(m, narrower(m, "cloudConfig", "os"), "cloudConfig"+forCloudInit,
			m.name, m.OS)
	}
	if len(m.NetworkConfig) > 0 && m.ignition() {
		v.reportLayer(m, narrower(m, "networkConfig", "os"), "networkConfig"+forCloudInit,
			m.name, m.OS)
	}
	users, ok := m.CloudConfig["users"].([]any)
	if ok && len(m.SSHAuthorizedKeys) > 0 && !slices.Contains(users, any("default")) {
		v.reportLayer(m, narrower(m, "cloudConfig", "sshAuthorizedKeys"),
			"sshAuthorizedKeys are for the image's default user, which cloudConfig.users (of %s) "+
				"leaves out; begin that list with default, or give the keys to the users in it",
			m.name)
	}
}

func (v *checker) readOnly(m settings) {
	system := m.system()
	for _, f := range m.Files {
		if filePathProblem(f.Path) == "" && !system.CanWrite(f.Path) {
			field := "os"
			if m.Profile.ReadOnlyUsr {
				field = "profile"
			}
			v.reportLayer(m, narrower(m, "files", field), "%s cannot be written on %s, "+
				"which %s has: the folder is read-only; put the file below /etc, /opt or /var",
				quote(f.Path), m.OS, m.name)
		}
	}
}

// interfaceDelivery checks that interfaces reach the machine as they are, and alone configure it.
func (v *checker) interfaceDelivery(m settings, list []Interface) {
	if len(list) == 0 {
		return
	}
	at := m.at.Key("interfaces")
	if len(m.NetworkConfig) > 0 {
		v.report(at, "is set together with networkConfig (%s), and one file has room for one of "+
			"the two; move networkConfig to the layers of other machines, or say here what it says",
			layerOf(m, "networkConfig"))
	}
	platform, _ := target.PlatformNamed(m.Platform)
	if m.OS != "" && !m.ignition() && !platform.NetworkConfig {
		v.report(at, "cloud-init takes the interfaces of %s from what %s says of them, "+
			"and not from a document; remove it, or correct the platform", m.name, m.Platform)
	}
	if m.OS == "" || m.ignition() || m.system().Netplan {
		return
	}
	for i, n := range list {
		for j, r := range n.Routes {
			if r.Metric != 0 {
				v.report(at.Index(i).Key("routes").Index(j).Key("metric"),
					"%s has %s, whose cloud-init knows no metrics; "+
						"remove it, and keep one route to each network", m.name, m.OS)
			}
		}
	}
}
