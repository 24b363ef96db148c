package config

import (
	"fmt"
	"slices"
)

// Ids of warnings: of what is valid and probably not meant.
const (
	WarnAcceptance   = "unused-acceptance"
	WarnCloud        = "cloud-controller"
	WarnDeprecated   = "deprecated"
	WarnDNSAddress   = "dns-address"
	WarnDomain       = "dns-domain"
	WarnFamily       = "endpoint-family"
	WarnEndpointName = "endpoint-name"
	WarnEtcd         = "external-etcd"
	WarnHardening    = "hardening"
	WarnHook         = "helm-hook"
	WarnImageTag     = "image-tag"
	WarnKMSPlugin    = "kms-plugin"
	WarnLifetime     = "lifetime"
	WarnMirror       = "mirror-through-proxy"
	WarnNodePorts    = "node-ports"
	WarnPodNetwork   = "pod-network"
	WarnPodRoutes    = "pod-routes"
	WarnPolicies     = "network-policies"
	WarnPublicSubnet = "public-subnet"
	WarnResolver     = "no-resolver"
	WarnCgroup       = "reserved-cgroup"
	WarnRuntimeClass = "runtime-class"
	WarnServices     = "services"
	WarnSystemFile   = "system-file"
	WarnUnreadFile   = "unread-file"
	WarnUnverified   = "unverified-registry"
	WarnVariable     = "variable"
)

// warnings are the ids that acceptWarnings may have, sorted.
var warnings = []string{
	WarnCloud, WarnDeprecated, WarnDNSAddress, WarnDomain, WarnFamily, WarnEndpointName, WarnEtcd,
	WarnHardening, WarnHook, WarnImageTag, WarnKMSPlugin, WarnLifetime, WarnMirror, WarnPolicies,
	WarnResolver, WarnNodePorts, WarnPodNetwork, WarnPodRoutes, WarnPublicSubnet, WarnCgroup,
	WarnRuntimeClass, WarnServices, WarnSystemFile, WarnUnreadFile, WarnUnverified, WarnVariable,
}

// Warning returns a warning about the configuration as a whole.
func Warning(id, format string, args ...any) Problem {
	return Problem{ID: id, Message: fmt.Sprintf(format, args...)}
}

// Warnings returns what this file warns of by itself.
func (c *Cluster) Warnings() Problems { return c.warned }

// Unaccepted returns the warnings that acceptWarnings does not name, and one for each name there
// that none of them has.
func (c *Cluster) Unaccepted(all Problems) (left Problems) {
	fired := map[string]bool{}
	for _, w := range all {
		fired[w.ID] = true
		if !slices.Contains(c.Spec.AcceptWarnings, w.ID) {
			left = append(left, w)
		}
	}
	for i, id := range c.Spec.AcceptWarnings {
		if !fired[id] {
			w := c.Problemf(fmt.Sprintf("acceptWarnings[%d]", i),
				"nothing warns of %s; remove it", id)
			w.ID = WarnAcceptance
			left = append(left, w)
		}
	}
	return left
}
