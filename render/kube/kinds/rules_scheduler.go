package kinds

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"kiln.dev/kiln/render/text/wording"
)

// The rules of kube-scheduler are those of ValidateKubeSchedulerConfiguration and of the arguments
// of its plugins in k8s.io/kubernetes, pkg/scheduler/apis/config/validation, read at 1.36.3, and of
// NewLeaderElector. testdata/kinds/kube-scheduler.yaml has values for each that are refused and
// accepted.

var percent = Within(0, 100)

var schedulerRules = inType("config/v1.", map[string]Rule{
	"DefaultPreemptionArgs minCandidateNodesAbsolute":     NotNegative,
	"DefaultPreemptionArgs minCandidateNodesPercentage":   percent,
	"InterPodAffinityArgs hardPodAffinityWeight":          percent,
	"KubeSchedulerConfiguration parallelism":              AtLeast(1),
	"KubeSchedulerConfiguration percentageOfNodesToScore": percent,
	"KubeSchedulerConfiguration podInitialBackoffSeconds": AtLeast(1),
	"KubeSchedulerProfile percentageOfNodesToScore":       percent,
	"PodTopologySpreadArgs defaultingType":                OneOf("List", "System"),
	"ResourceSpec weight":                                 Set(Within(1, 100)),
	"ScoringStrategy type": OneOf("LeastAllocated", "MostAllocated",
		"RequestedToCapacityRatio"),
	"UtilizationShapePoint score":          Within(0, 10),
	"UtilizationShapePoint utilization":    percent,
	"VolumeBindingArgs bindTimeoutSeconds": NotNegative,
	"ExtenderManagedResource name":         Matching(validation.IsQualifiedName),
	"KubeSchedulerProfile schedulerName":   Matching(validation.IsDNS1123Subdomain),
	"ResourceSpec name":                    Matching(validation.IsQualifiedName),
}, map[string]Rule{
	"config/v1alpha1.LeaderElectionConfiguration resourceLock": OneOf("leases"),
})

var schedulerDocuments = map[string][]Document{"KubeSchedulerConfiguration": {
	schedulerTimes, schedulerProfiles, schedulerExtenders,
}}

type schedulerSettings struct {
	PodInitialBackoffSeconds *int64 `json:"podInitialBackoffSeconds"`
	PodMaxBackoffSeconds     *int64 `json:"podMaxBackoffSeconds"`
	LeaderElection           struct {
		LeaderElect   *bool  `json:"leaderElect"`
		LeaseDuration string `json:"leaseDuration"`
		RenewDeadline string `json:"renewDeadline"`
		RetryPeriod   string `json:"retryPeriod"`
	} `json:"leaderElection"`
	Profiles  []schedulerProfile `json:"profiles"`
	Extenders []struct {
		URLPrefix      string `json:"urlPrefix"`
		PrioritizeVerb string `json:"prioritizeVerb"`
		BindVerb       string `json:"bindVerb"`
		Weight         int64  `json:"weight"`
	} `json:"extenders"`
}

type schedulerProfile struct {
	SchedulerName string                  `json:"schedulerName"`
	Plugins       map[string]schedulerSet `json:"plugins"`
	PluginConfig  []struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"pluginConfig"`
}

// schedulerSet is what a profile enables and disables at one point.
type schedulerSet struct {
	Enabled  []schedulerPlugin `json:"enabled"`
	Disabled []schedulerPlugin `json:"disabled"`
}

type schedulerPlugin struct {
	Name string `json:"name"`
}

func schedulerTimes(f *Fault, data []byte) {
	c, ok := Decode[schedulerSettings](data)
	if !ok {
		return
	}
	first, last := int64(1), int64(10)
	if c.PodInitialBackoffSeconds != nil {
		first = *c.PodInitialBackoffSeconds
	}
	if c.PodMaxBackoffSeconds != nil {
		last = *c.PodMaxBackoffSeconds
	}
	if last < first {
		f.Key("podMaxBackoffSeconds").Report("%d is below podInitialBackoffSeconds, %d", last,
			first)
	}
	e := &c.LeaderElection
	if e.LeaderElect != nil && !*e.LeaderElect {
		return
	}
	lease := cmp.Or(lengthOf(e.LeaseDuration), 15*time.Second)
	deadline := cmp.Or(lengthOf(e.RenewDeadline), 10*time.Second)
	period := cmp.Or(lengthOf(e.RetryPeriod), 2*time.Second)
	switch f = f.Key("leaderElection"); {
	case deadline >= lease:
		f.Key("renewDeadline").Report("%s is not below leaseDuration, %s", deadline, lease)
	case period <= 0 || 1.2*float64(period) >= float64(deadline):
		f.Key("retryPeriod").Report("%s, and a fifth more, is not below renewDeadline, %s",
			period, deadline)
	}
}

// schedulerProfiles checks the profiles: each has a name of its own, all sort the queue alike, and
// no plugin has its arguments twice.
func schedulerProfiles(f *Fault, data []byte) {
	c, ok := Decode[schedulerSettings](data)
	if !ok {
		return
	}
	names := map[string]bool{}
	for i := range c.Profiles {
		p, at := &c.Profiles[i], f.Key("profiles").Index(i)
		if p.SchedulerName == "" && len(c.Profiles) > 1 {
			at.Key("schedulerName").Report("is missing, and there are several profiles")
		} else if names[p.SchedulerName] {
			at.Key("schedulerName").Report("another profile has this name")
		}
		names[p.SchedulerName] = true
		queue, first := p.Plugins["queueSort"], c.Profiles[0].Plugins["queueSort"]
		if len(queue.Enabled) > 1 {
			at.Key("plugins", "queueSort", "enabled").Report("one plugin sorts the queue")
		}
		if !slices.Equal(first.Enabled, queue.Enabled) ||
			!slices.Equal(first.Disabled, queue.Disabled) {
			at.Key("plugins", "queueSort").Report("is not what the first profile has")
		}
		given := map[string]bool{}
		for j, config := range p.PluginConfig {
			if given[config.Name] {
				at.Key("pluginConfig").Index(j).Report("%s has arguments already",
					Show(config.Name))
			}
			given[config.Name] = true
			pluginName(at.Key("pluginConfig").Index(j), config.Name)
		}
		for point, set := range p.Plugins {
			for j, plugin := range set.Enabled {
				pluginName(at.Key("plugins", point, "enabled").Index(j), plugin.Name)
			}
			for j, plugin := range set.Disabled {
				pluginName(at.Key("plugins", point, "disabled").Index(j), plugin.Name)
			}
		}
	}
}

// schedulerPlugins are the plugins of kube-scheduler, of all minors: pkg/scheduler/framework/
// plugins/names. A scheduler of somebody's own has more.
var schedulerPlugins = []string{
	"DefaultBinder", "DefaultPreemption", "DynamicResources", "GangScheduling", "ImageLocality",
	"InterPodAffinity", "NodeAffinity", "NodeDeclaredFeatures", "NodeName", "NodePorts",
	"NodeResourcesBalancedAllocation", "NodeResourcesFit", "NodeUnschedulable", "NodeVolumeLimits",
	"PodGroupPodsCount", "PodTopologySpread", "PrioritySort", "SchedulingGates", "TaintToleration",
	"TopologyPlacementGenerator", "VolumeBinding", "VolumeRestrictions", "VolumeZone",
}

var removedPlugins = []string{"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"}

// pluginName reports the name of a plugin that is removed, or almost that of another.
func pluginName(f *Fault, name string) {
	if slices.Contains(removedPlugins, name) {
		f.Report("kube-scheduler has no %s any more; write NodeVolumeLimits", name)
	} else if near := wording.Nearest(name, schedulerPlugins); near != "" && near != name {
		f.Report("kube-scheduler has no plugin %s; did you mean %q?", Show(name), near)
	}
}

func schedulerExtenders(f *Fault, data []byte) {
	c, ok := Decode[schedulerSettings](data)
	if !ok {
		return
	}
	binds := false
	for i, e := range c.Extenders {
		at := f.Key("extenders").Index(i)
		if !strings.HasPrefix(e.URLPrefix, "http") {
			at.Key("urlPrefix").Report("%s is no URL, and each pod that asks there stays Pending; "+
				"write it like https://extender.example.com", Show(e.URLPrefix))
		}
		if e.PrioritizeVerb != "" && e.Weight <= 0 {
			at.Key("weight").Report("is not above 0, and prioritizeVerb needs that")
		}
		if binds && e.BindVerb != "" {
			at.Key("bindVerb").Report("another extender binds pods")
		}
		binds = binds || e.BindVerb != ""
	}
}
