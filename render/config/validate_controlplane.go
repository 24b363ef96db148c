package config

import (
	"net/netip"
	"strings"

	"kiln/render/yamlpath"
)

// controlPlane checks the settings of the programs of the control plane.
func (v *checker) controlPlane() {
	cp, at := &v.c.Spec.ControlPlane, v.spec.Key("controlPlane")
	v.args(cp.APIServer.ExtraArgs, ownAPIServerFlags, at.Key("apiServer").Key("extraArgs"))
	v.args(cp.ControllerManager.ExtraArgs, ownControllerManagerFlags,
		at.Key("controllerManager").Key("extraArgs"))
	v.args(cp.Scheduler.ExtraArgs, ownSchedulerFlags, at.Key("scheduler").Key("extraArgs"))
	v.controlPlaneFlags()
	v.patches(cp.Patches, at.Key("patches"))
	v.certSANs(cp.APIServer.CertSANs, at.Key("apiServer").Key("certSANs"))
	v.etcd(&cp.Etcd, at.Key("etcd"))
}

// certSANs checks the further names and addresses in the API server's certificate.
func (v *checker) certSANs(list []string, at *yamlpath.Location) {
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
			}
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
		}
	}
}
