package config

import "strconv"

// neededFlags are boolean flags of the API server. It starts without them, and a part of the
// cluster that kiln sets up does not work.
var neededFlags = []struct {
	flag   string
	needed func(c *Cluster) bool
	why    string
}{
	{
		"allow-privileged", (*Cluster).hasProxy,
		"the pods of kube-proxy, which are privileged, are refused",
	},
	{
		"enable-bootstrap-token-auth", (*Cluster).hasPools,
		"machines of pools cannot join",
	},
}

// hasProxy reports whether kiln sets kube-proxy up.
func (c *Cluster) hasProxy() bool { return c.Spec.Network.Proxy != "none" }

// hasPools reports whether the cluster has pools, whose machines join with tokens.
func (c *Cluster) hasPools() bool { return len(c.Spec.Pools) > 0 }

// neededFlags checks that no flag of the API server turns off what the rest of the configuration
// needs.
func (v *checker) neededFlags() {
	at := v.spec.Key("controlPlane").Key("apiServer").Key("extraArgs")
	for i, a := range v.c.Spec.ControlPlane.APIServer.ExtraArgs {
		on, err := strconv.ParseBool(a.Value)
		for _, f := range neededFlags {
			if a.Name == f.flag && err == nil && !on && f.needed(v.c) {
				v.report(at.Index(i).Key("value"), "with %s %s; remove the flag",
					quote(a.Value), f.why)
			}
		}
	}
}
