package rollout

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/twin/change"
)

// rule says what certain changes ask of a running machine.
type rule struct {
	kind  string         // of the entry; empty for all
	path  string         // of the file; empty for all
	field *regexp.Regexp // the field's name; nil for all
	line  *regexp.Regexp // the added or removed line; nil for all
	// kept finds lists of servers, with commas between them, in both contents of the file. The rule
	// holds only if one of the servers stays.
	kept *regexp.Regexp
	gone bool // reports whether it is only for a field that the newer state lacks
	then layout.Effect
	// restarts is what starts anew, if it is not what the file's row says.
	restarts string
	why      string
}

// rules has the rules for parts of files, and for machines. They are tried in this order, before
// the table of files: a change without a rule has the effect of its file.
var rules = []rule{
	{kind: "machine", field: regexp.MustCompile(`^until$`), then: layout.Later,
		why: "its certificates or token end at another time"},
	{kind: "key", then: layout.Live, why: "sshd reads it at each login"},
	{path: "/etc/sysctl.d/90-kiln.conf", field: regexp.MustCompile(`gc_thresh[123]$`),
		then: layout.Live, why: "it is of all interfaces at once, in spite of its name"},
	{path: "/etc/sysctl.d/90-kiln.conf",
		field: regexp.MustCompile(`nf_conntrack|[./](default|\*)[./]`), then: layout.Replace,
		why: "what takes it does so when it starts: kube-proxy, an interface"},
	{path: "/etc/sysctl.d/90-kiln.conf", field: regexp.MustCompile(`hugepages|` +
		`^kernel[./](panic|keys)|^vm[./](overcommit_memory|panic_on_oom)`),
		then: layout.Restart, restarts: "kubelet.service",
		why: "kubelet starts again with it"},
	{path: "/etc/sysctl.d/90-kiln.conf", gone: true, then: layout.Live,
		why: "the kernel keeps the setting of before until it starts again"},
	{path: "/etc/modules-load.d/90-kiln.conf", gone: true, then: layout.Live,
		why: "the kernel keeps the module until it starts again"},
	{path: plan.UnitDir + "/" + target.SystemUnit, gone: true, then: layout.Live,
		why: "what it has set stays as it is"},

	{path: plan.ArtifactList, field: regexp.MustCompile(` (url|proxy)$`), then: layout.Later,
		why: "it has what it would fetch from elsewhere"},
	{path: plan.KilnDir + "/machine", field: regexp.MustCompile(`^api$`), then: layout.Replace,
		why: "programs that run go on asking the API servers where they were"},
	{path: plan.KilnDir + "/machine", field: regexp.MustCompile(`^node_address$`),
		then: layout.Replace, why: "its kubelet would go on with the addresses of before"},
	{path: plan.KilnDir + "/machine", field: regexp.MustCompile(`^backup_(directory|keep)$`),
		then: layout.Live, why: "kiln-backup reads it for each snapshot"},

	{path: plan.KubeletDropIn, field: regexp.MustCompile(` --node-labels$`), then: layout.Node,
		why: "a Node keeps its labels"},
	{path: plan.KubeletConfig, field: regexp.MustCompile(`^registerWithTaints`), then: layout.Node,
		why: "a Node keeps its taints"},
	{path: plan.KubeletDropIn, field: regexp.MustCompile(
		` --(config|kubeconfig|bootstrap-kubeconfig|root-dir|node-ip|hostname-override)$`),
		then: layout.Replace, why: "it says which Node the kubelet is, or where its data lies"},
	{path: plan.KubeletDropIn, field: inherited, then: layout.Replace, why: asBefore},
	{path: plan.KubeletConfig, field: inherited, then: layout.Replace, why: asBefore},

	{path: plan.ManifestsDir + "/etcd.yaml",
		field: regexp.MustCompile(` --initial-(cluster|cluster-state|cluster-token)$`),
		then:  layout.Later, why: "etcd reads its first members with an empty disk only"},
	{path: plan.ManifestsDir + "/etcd.yaml",
		field: regexp.MustCompile(` --(name|data-dir|wal-dir|initial-.*|.*-urls)$|[vV]olume`),
		then:  layout.Replace, why: "it says which member this is"},
	{path: plan.ManifestsDir + "/kube-apiserver.yaml",
		field: regexp.MustCompile(` --etcd-servers$`),
		kept:  regexp.MustCompile(`--etcd-servers=(\S+)`),
		then:  layout.Later, why: "the members of etcd that it knows are enough to reach it"},
	{path: plan.BalancerConf, line: regexp.MustCompile(`^  server `),
		kept: regexp.MustCompile(`(?m)^  server \S+ (\S+)`), then: layout.Later,
		why: "the balancer goes on with the API servers that it knows"},
	{path: plan.ManifestsDir + "/kube-apiserver.yaml", field: regexp.MustCompile(
		` --(advertise-address|secure-port|service-cluster-ip-range|etcd-prefix|` +
			`encryption-provider-config|service-account-(issuer|key-file|signing.*))$`),
		then: layout.Replace, why: "what runs in the cluster holds on to it"},
	{path: plan.ManifestsDir + "/kube-controller-manager.yaml", field: regexp.MustCompile(
		` --(cluster-cidr|node-cidr-mask-size.*|service-cluster-ip-range)$`),
		then: layout.Replace, why: "Nodes keep their ranges"},
	{path: plan.ManifestsDir + "/haproxy.yaml",
		field: regexp.MustCompile(`^metadata\.annotations\[kiln\.dev/config-sha256\]$`),
		then:  layout.Later, why: "the sum of the balancer's configuration"},
	{path: plan.ContainerdConfig, line: regexp.MustCompile(`^ *sandbox(_image)? = `),
		then: layout.Later, why: "sandboxes that run keep their image"},
	{path: plan.ContainerdConfig,
		line: regexp.MustCompile(`^ *(SystemdCgroup|root|state|snapshotter|version) = `),
		then: layout.Replace, why: "pods that run hold on to it"},
}

// datesAlone is the reason for a certificate whose dates are all that changes.
const datesAlone = "the certificate that it has is valid until its own end"

// certificateDates are the fields of a certificate that a later certificate changes.
var certificateDates = regexp.MustCompile(`^certificate (from|until)$`)

// effectOf returns what a field's change asks of a running machine, and why. The reason may be
// empty for Replace.
func effectOf(
	p *change.Pair, c *change.Change, f *change.Field,
) (layout.Effect, string) {
	for _, r := range rules {
		if r.matches(p, c, f) {
			return r.then, r.why
		}
	}
	if c.Kind == "file" {
		file := layout.FileAt(c.Name)
		if certificateDates.MatchString(f.Name) {
			if file != nil && file.Change == layout.Restart {
				return layout.Restart, datesAlone
			}
			return layout.Later, datesAlone
		}
		if file != nil && file.Theirs && c.What == change.Removed {
			return layout.Replace, "the system may have had a file of its own there"
		}
		switch units := restartsOf(p, c.Name); {
		case file == nil && strings.HasPrefix(c.Name, plan.KilnDir+"/"):
			return layout.Replace, "" // of another release of kiln
		case file == nil && strings.HasPrefix(c.Name, plan.ManifestsDir+"/"):
			return layout.Live, "the kubelet starts the pod again"
		case file == nil && strings.HasPrefix(f.Name, "[Install]") &&
			path.Dir(c.Name) == plan.UnitDir:
			return layout.Replace, "systemd reads it when it enables the unit"
		case file == nil && setsUnit(p, c):
			return layout.Later, "the state of the unit says it"
		case file == nil && len(units) == 0:
			return layout.Live, "nothing starts again with it: it has no restart"
		case file == nil:
			return layout.Live, strings.Join(units, ", ") + " starts again with it"
		case file.Change != layout.Replace:
			return file.Change, file.Why
		}
	}
	if setsUnit(p, c) {
		if c.Kind == "link" {
			return layout.Later, "the state of the unit says it"
		}
		return layout.Live, unitStates[p.Old.UnitState(c.Name)+" "+p.New.UnitState(c.Name)]
	}
	if c.Kind == "unit" {
		return layout.Replace, "kiln apply does not set it"
	}
	return layout.Replace, ""
}

// unitStates says what becomes of a unit, by its older and its newer state.
var unitStates = map[string]string{
	"off enabled": "it starts", "masked enabled": "it starts",
	"off masked":     "it ends, and nothing can start it",
	"enabled masked": "it ends, and nothing can start it",
	"enabled off":    "it ends", "masked off": "nothing keeps it from starting any more",
}

// setsUnit reports whether the change is of the state of a unit that kiln apply may set. Its file,
// and a link by which it starts, belong to it. It may not set one of kiln's own that only a birth
// starts; a mount and its like, over what programs have open; nor one of the image that the
// document no longer mentions: nobody knows whether the image starts it.
func setsUnit(p *change.Pair, c *change.Change) bool {
	name := path.Base(c.Name)
	row := layout.FileAt(plan.UnitDir + "/" + name)
	if row != nil && row.Change == layout.Replace ||
		!slices.Contains([]string{".service", ".timer", ".socket", ".path"}, path.Ext(name)) {
		return false
	}
	switch c.Kind {
	case "unit":
		brings := func(m *change.Machine) bool {
			return m.Entries.Find(change.Key{Kind: "file", ID: plan.UnitDir + "/" + name}) != nil
		}
		switch p.Old.UnitState(name) {
		case "enabled":
			return p.New.UnitState(name) == "masked" || brings(p.Old)
		case "masked": // a link is where the file would be
			return !brings(p.New)
		}
		return true
	case "link", "file":
		dir := path.Dir(c.Name)
		return (dir == plan.UnitDir || path.Dir(dir) == plan.UnitDir) &&
			slices.ContainsFunc(p.Changes, func(u *change.Change) bool {
				return u.Kind == "unit" && u.Name == name
			})
	}
	return false
}

// startsAnew returns what starts anew with a field's change: units, and static pods by their names.
func startsAnew(p *change.Pair, c *change.Change, f *change.Field) string {
	for _, r := range rules {
		if r.restarts != "" && r.matches(p, c, f) {
			return r.restarts
		}
	}
	return layout.FileAt(c.Name).Restarts
}

// restartsOf returns the units that start again after a change of one of the user's files, as the
// newer document says, or the older one for a file that goes. A unit whose own state changes, or
// whose file goes, starts or ends with that.
func restartsOf(p *change.Pair, file string) []string {
	for _, m := range []*change.Machine{p.New, p.Old} {
		e := m.Entries.Find(change.Key{Kind: "file", ID: plan.RestartList})
		if e == nil {
			continue
		}
		for _, line := range wording.SplitLines(e.Content) {
			if name, units, _ := strings.Cut(line, " "); name == file {
				return slices.DeleteFunc(strings.Fields(units), func(unit string) bool {
					goes := func(c *change.Change) bool {
						return c.Kind == "unit" && c.Name == unit ||
							c.Name == plan.UnitDir+"/"+unit && c.What == change.Removed
					}
					return slices.ContainsFunc(p.Changes, goes) ||
						p.New.UnitState(unit) == "masked"
				})
			}
		}
	}
	return nil
}

// setting returns what finds the kubelet's settings whose names begin so, and the flags that are
// spelled so. Where capitals run into the next word (cpuCFSQuota), the flag is a name of its own.
func setting(names ...string) *regexp.Regexp {
	list := strings.Join(names, "|")
	flags := upper.ReplaceAllStringFunc(list, func(s string) string {
		return "-" + strings.ToLower(s)
	})
	return regexp.MustCompile("^(" + list + ")| --(" + flags + ")")
}

var upper = regexp.MustCompile("[A-Z]+")

// inherited are the kubelet's settings that pods which run keep.
var inherited = setting("cgroup", "kubeletCgroups", "systemCgroups", "cluster", "podCIDR",
	"podInfra", "podManifest", "podLogsDir", "resolvConf", "staticPod", "containerRuntime",
	"imageServiceEndpoint", "providerID", "userNamespaces", "memorySwap", "failSwapOn", "healthz",
	"port")

const asBefore = "pods that run go on with the setting of before"

// admission are the kubelet's settings by which it refuses pods, or which a pod has from its
// beginning. A kubelet that starts looks at all pods again, also at those that run
// (kubernetes#83612).
var admission = setting("maxPods", "podsPerCore", "podPidsLimit", "kubeReserved", "systemReserved",
	"podMaxPids", "enforceNodeAllocatable", "eviction", "allowedUnsafeSysctls", "volumePluginDir",
	"seccompDefault", "cpuCFSQuota", "cpuCfsQuota", "memoryThrottlingFactor")

// shares are those by which pods have processors and memory of their own. A kubelet with another
// one does not start with the files in which it has kept what each pod has
// (pkg/kubelet/cm/cpumanager/state of Kubernetes 1.36).
var shares = setting("cpuManager", "memoryManager", "topologyManager", "reservedMemory",
	"reservedSystemCPUs", "reservedCpus")

// drains reports whether a kubelet with another value of the setting, or of another minor, might
// end pods that run. More pods than before are no harm.
func drains(c *change.Change, f *change.Field) bool {
	switch {
	case c.Kind == "machine" && f.Name == "kubelet":
		return minor(change.Text(f.Old)) != minor(change.Text(f.New))
	case strings.Contains(f.Name, "hugepages"):
		return true
	case c.Name != plan.KubeletConfig && c.Name != plan.KubeletDropIn:
		return false
	case f.Name == "maxPods" && f.New != nil:
		was := defaultMaxPods
		if f.Old != nil {
			was, _ = strconv.Atoi(*f.Old)
		}
		now, err := strconv.Atoi(*f.New)
		return err != nil || now < was
	}
	return admission.MatchString(f.Name) || isShare(c, f)
}

// isShare reports whether the setting is one by which pods have processors and memory of their own.
func isShare(c *change.Change, f *change.Field) bool {
	return (c.Name == plan.KubeletConfig || c.Name == plan.KubeletDropIn) &&
		shares.MatchString(f.Name)
}

// defaultMaxPods is the kubelet's own (SetDefaults_KubeletConfiguration).
const defaultMaxPods = 110

// matches reports whether a rule applies to a field. The field is empty if the whole file was
// added or removed.
func (r *rule) matches(p *change.Pair, c *change.Change, f *change.Field) bool {
	if r.kind != "" && r.kind != c.Kind {
		return false
	}
	if r.path != "" && (c.Kind != "file" || c.Name != r.path) {
		return false
	}
	if r.field != nil && !r.field.MatchString(f.Name) {
		return false
	}
	if r.gone && c.What != change.Removed && (f.Old == nil || f.New != nil) {
		return false
	}
	if r.kept != nil && !sharesServer(p, c, r.kept) {
		return false
	}
	return r.line == nil || r.line.MatchString(f.Either())
}

// sharesServer reports whether a server is in the lists of both contents of a file.
func sharesServer(p *change.Pair, c *change.Change, list *regexp.Regexp) bool {
	servers := func(m *change.Machine) (out []string) {
		if e := m.Entries.Find(change.Key{Kind: c.Kind, ID: c.Name}); e != nil {
			for _, match := range list.FindAllStringSubmatch(string(e.Content), -1) {
				out = append(out, strings.Split(match[1], ",")...)
			}
		}
		return out
	}
	old := servers(p.Old)
	return slices.ContainsFunc(servers(p.New), func(s string) bool {
		return slices.Contains(old, s)
	})
}

// writable reports whether kiln apply may write what changed: no program that runs reads it, or the
// one that does takes it as it was meant.
func writable(p *change.Pair, c *change.Change) bool {
	switch c.Kind {
	case "unit", "link":
		return setsUnit(p, c)
	case "file":
		row := layout.FileAt(c.Name)
		return row != nil && row.Change != layout.Replace || !replaces(p, c)
	case "key":
		return hasPlainKeys(p.Old) && hasPlainKeys(p.New)
	case "machine":
		return !slices.ContainsFunc(c.Fields, func(f change.Field) bool {
			return f.Name != "until" && (f.Name != "kubelet" || !fetches(p))
		})
	}
	return false
}

// fetches reports whether the machine fetches its kubelet as a file, by both documents.
func fetches(p *change.Pair) bool {
	return !slices.ContainsFunc([]*change.Machine{p.Old, p.New}, func(m *change.Machine) bool {
		e := m.Entries.Find(change.Key{Kind: "file", ID: plan.ArtifactList})
		return e == nil || !strings.Contains(string(e.Content), " "+target.BinDir+"/kubelet ")
	})
}

// replaces reports whether something of a file's change asks for a replacement. Of labels and
// taints, which do not, a kubelet that starts again takes only the zone, the region and the
// instance type, and the plan gives the Node the same.
func replaces(p *change.Pair, c *change.Change) bool {
	fields := c.Fields
	if c.What != change.Changed {
		fields = []change.Field{{}}
	}
	return slices.ContainsFunc(fields, func(f change.Field) bool {
		e, _ := effectOf(p, c, &f)
		return e == layout.Replace
	})
}

// hasPlainKeys reports whether the machine's document has keys for ssh, all without options.
func hasPlainKeys(m *change.Machine) bool {
	has, plain := false, true
	for _, e := range m.Entries {
		if e.Kind == "key" {
			has, plain = true, plain && change.IsPlainKey(e.ID)
		}
	}
	return has && plain
}
