package config

import (
	"net/netip"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// controlPlane checks the settings of the programs of the control plane.
func (v *checker) controlPlane() {
	cp, at := &v.c.Spec.ControlPlane, v.spec.Key("controlPlane")
	v.args(cp.APIServer.ExtraArgs, ownAPIServerFlags, at.Key("apiServer").Key("extraArgs"))
	v.args(cp.ControllerManager.ExtraArgs, ownControllerManagerFlags,
		at.Key("controllerManager").Key("extraArgs"))
	v.args(cp.Scheduler.ExtraArgs, ownSchedulerFlags, at.Key("scheduler").Key("extraArgs"))
	v.controlPlaneFlags()
	v.openBinding("controllerManager", cp.ControllerManager.ExtraArgs)
	v.openBinding("scheduler", cp.Scheduler.ExtraArgs)
	v.nodePorts(cp.APIServer.ExtraArgs, at.Key("apiServer").Key("extraArgs"))
	v.patches(cp.Patches, at.Key("patches"))
	v.certSANs(cp.APIServer.CertSANs, at.Key("apiServer").Key("certSANs"))
	v.etcd(&cp.Etcd, at.Key("etcd"))
}

// certSANs checks the further names and addresses in the API server's certificate.
func (v *checker) certSANs(list []string, at *yamltext.Location) {
	seen := map[string]int{}
	for i, san := range list {
		here := at.Index(i)
		if first, ok := seen[san]; ok {
			v.report(here, "%s is already certSANs[%d]; remove one", quote(san), first)
			continue
		}
		seen[san] = i
		if a, err := netip.ParseAddr(san); err == nil {
			if a.Zone() != "" {
				v.report(here, "%s has a zone, which certificates cannot hold; remove it",
					quote(san))
				continue
			}
			v.ofWorker(san, here)
			continue
		}
		name := strings.TrimPrefix(san, "*.")
		problem := hostProblem(name)
		switch {
		case allDigits.MatchString(name):
			v.report(here, "%s is neither an IP address nor a DNS name; "+
				"write it like 10.0.0.10 or api.example.com", quote(san))
		case problem != "":
			v.report(here, "%s %s", quote(san), problem)
		default:
			v.ofWorker(san, here)
		}
	}
}

// ofWorker checks that a name or an address in the API server's certificate is none of a machine
// without an API server: its kubelet's certificate has that too, of the same CA.
func (v *checker) ofWorker(san string, at *yamltext.Location) {
	a := readAddress(san)
	for i := range v.c.Spec.Nodes {
		n := &v.c.Spec.Nodes[i]
		if n.Role != roleControlPlane &&
			(strings.EqualFold(n.Name, san) || a.IsValid() && v.hasAddress(i, a)) {
			v.report(at, "%s is a name or an address of %s (nodes[%d])%s, whose kubelet could "+
				"answer for the API server; remove it, or take another one for the machine",
				quote(san), n.Name, i, v.line(v.spec.Key("nodes").Index(i)))
		}
	}
}
