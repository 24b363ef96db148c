package flags

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	cliflag "k8s.io/component-base/cli/flag"
	logs "k8s.io/component-base/logs/api/v1"
)

type kind struct {
	read func(value string) error // why a program cannot read a value
	want string                   // what to write then
}

// kinds are the types of flags that not every string fits, as the programs read them: most with
// pflag, those with names of their own with the package cli/flag of k8s.io/component-base.
var kinds = map[string]kind{
	"bool": {plain(func(f *pflag.FlagSet) { f.Bool("v", false, "") }), "true or false"},
	"int":  {plain(func(f *pflag.FlagSet) { f.Int("v", 0, "") }), wholeNumber},
	"int32": {
		plain(func(f *pflag.FlagSet) { f.Int32("v", 0, "") }), "a whole number below 2147483648",
	},
	"int64": {plain(func(f *pflag.FlagSet) { f.Int64("v", 0, "") }), wholeNumber},
	"uint":  {plain(func(f *pflag.FlagSet) { f.Uint("v", 0, "") }), wholeNumber + ", 0 or more"},
	"uint32": {
		plain(func(f *pflag.FlagSet) { f.Uint32("v", 0, "") }),
		"a whole number from 0 to 4294967295",
	},
	"uint64": {
		plain(func(f *pflag.FlagSet) { f.Uint64("v", 0, "") }), wholeNumber + ", 0 or more",
	},
	"float32": {plain(func(f *pflag.FlagSet) { f.Float32("v", 0, "") }), numberSuchAs},
	"float64": {plain(func(f *pflag.FlagSet) { f.Float64("v", 0, "") }), numberSuchAs},
	"duration": {
		plain(func(f *pflag.FlagSet) { f.Duration("v", 0, "") }),
		"a duration such as 30s or 1h30m",
	},
	"ip": {plain(func(f *pflag.FlagSet) { f.IP("v", nil, "") }), "an IP address"},
	"int32Slice": {
		plain(func(f *pflag.FlagSet) { f.Int32Slice("v", nil, "") }),
		"whole numbers with commas between them",
	},
	"stringSlice": {
		plain(func(f *pflag.FlagSet) { f.StringSlice("v", nil, "") }),
		`words with commas between them, and none or two of "`,
	},
	"stringToString": {plain(func(f *pflag.FlagSet) { f.StringToString("v", nil, "") }), pairsOf},
	"mapStringBool": {of(func() pflag.Value {
		return cliflag.NewMapStringBool(&map[string]bool{})
	}), pairsOf},
	"mapStringString": {of(func() pflag.Value {
		return cliflag.NewMapStringString(&map[string]string{})
	}), pairsOf},
	"thresholds": {of(func() pflag.Value {
		return cliflag.NewLangleSeparatedMapStringString(&map[string]string{})
	}), "thresholds such as memory.available<100Mi,nodefs.available<10%"},
	"colonSeparatedMultimapStringString": {of(func() pflag.Value {
		return cliflag.NewColonSeparatedMultimapStringString(&map[string][]string{})
	}), "pairs such as name:value, with commas between them"},
	"namedCertKey": {
		of(func() pflag.Value { return &cliflag.NamedCertKey{} }),
		"the paths of a certificate and its key, such as /etc/x/a.crt,/etc/x/a.key",
	},
	"quantity": {of(func() pflag.Value {
		return &resource.QuantityValue{}
	}), "a quantity of bytes such as 64Ki"},
	"portRange": {
		of(func() pflag.Value { return &utilnet.PortRange{} }),
		"the lowest and the highest port such as 30000-32767, at most 65535",
	},
	"Level": {func(value string) error {
		_, err := strconv.ParseUint(value, 10, 32)
		return err
	}, "a level of messages, from 0 to 10"},
	"pattern=N,...": {of(func() pflag.Value {
		return logs.VModuleConfigurationPflag(&logs.VModuleConfiguration{})
	}), "patterns of file names with levels of messages, such as gc*=4"},
}

const (
	wholeNumber  = "a whole number"
	numberSuchAs = "a number such as 0.5"
	pairsOf      = "pairs such as key=value, with commas between them"
)

// kindOf are the flags of which the table's type does not say how they are read.
var kindOf = map[string]string{"eviction-hard": "thresholds", "eviction-soft": "thresholds"}

func plain(define func(*pflag.FlagSet)) func(string) error {
	return func(value string) error {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		define(set)
		return set.Set("v", value)
	}
}

func of(newValue func() pflag.Value) func(string) error {
	return func(value string) error { return newValue().Set(value) }
}

// wants returns what to write if a value does not fit its flag, and "" if it does.
func wants(f Flag, value string) string {
	k := kinds[cmp.Or(kindOf[f.Name], f.Type)]
	if k.read != nil && k.read(value) != nil {
		return k.want
	}
	for _, form := range forms {
		if !slices.Contains(form.flags, f.Name) && !slices.Contains(form.flags, f.Type) {
			continue
		}
		parts := []string{value}
		if strings.HasSuffix(form.want, commas) {
			parts = strings.Split(value, ",")
		}
		for _, part := range parts {
			ok, err := regexp.MatchString("^(?:"+form.pattern+")$", part)
			if err != nil || !ok || part == "" && value != "" {
				return form.want
			}
		}
	}
	return ""
}

// commas are the end of what to write where a value is a list.
const commas = ", with commas between them"

// forms are what the programs ask of values that every string fits as a type: of flags, or of the
// types that flags of one program have. Sources: k8s.io/apiserver v0.36.3, pkg/server/options:
// etcd.go, server_run_options.go; k8s.io/component-base v0.36.3, metrics/api/v1 and
// compatibility/registry.go; k8s.io/kubernetes v1.36.3, pkg/util/taints/taints.go and
// pkg/util/flag/flags.go; go.etcd.io/etcd/client/pkg/v3 v3.6.8, types/urls.go.
var forms = []struct {
	flags   []string
	pattern string
	want    string
}{
	{
		[]string{"UniqueURLs"}, `|\*|https?://[^/]+:[0-9]*|unixs?:.*`,
		"URLs such as https://10.0.0.11:2379" + commas,
	},
	{[]string{"cors"}, `.+`, "* or URLs such as https://example.com:8443"},
	{
		[]string{"requestheader-allowed-names", "requestheader-extra-headers-prefix",
			"requestheader-group-headers", "requestheader-username-headers"},
		`|.+`, "names" + commas,
	},
	{
		[]string{"auto-compaction-retention"}, `[0-9]+|([0-9.]+(ns|us|µs|ms|s|m|h))+`,
		"hours or revisions such as 8, or a duration such as 30m",
	},
	{[]string{"cpu-manager-policy-options"}, `.+`, pairsOf},
	{[]string{"leader-elect-resource-name", "leader-elect-resource-namespace"}, `.+`, "a name"},
	{
		[]string{"eviction-minimum-reclaim", "eviction-soft-grace-period"},
		`|(memory\.available|(node|image|container)fs\.(available|inodesFree)|pid\.available|` +
			`allocatableMemory\.available)=[\w.]+%?`,
		"signals such as memory.available=1m30s" + commas,
	},
	{[]string{"reserved-cpus"}, `|[0-9]+(-[0-9]+)?`, "numbers of CPUs such as 0-3" + commas},
	{[]string{"runonce"}, `0|[fF]|false|False|FALSE`, "false"},
	{
		[]string{"[]v1.Taint"}, `|[\w./-]+(=[\w.-]*)?:(NoSchedule|PreferNoSchedule|NoExecute)`,
		"taints such as dedicated=batch:NoSchedule" + commas,
	},
	{
		[]string{"reserved-memory"},
		`|[0-9]+:` + memory + `(,` + memory + `)*(;[0-9]+:` + memory + `(,` + memory + `)*)*`,
		"memory of NUMA nodes such as 0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi",
	},
	{
		[]string{"watch-cache-sizes"}, `|[^#]*#[0-9]{1,18}`,
		"resources and numbers such as deployments.apps#100" + commas,
	},
	{
		[]string{"etcd-servers-overrides"}, `|[^/#]*/[^/#]*#[^#;]+(;[^#;]+)*`,
		"resources and URLs such as /events#https://10.0.0.9:2379" + commas,
	},
	{
		[]string{"strict-transport-security-directives"},
		`|includeSubDomains|preload|max-age=[^=]*`,
		"max-age=SECONDS, includeSubDomains, preload" + commas,
	},
	{
		[]string{"cors-allowed-origins"}, `|.*(\^|//).*[$:].*|.*[$:].*(\^|//).*`,
		`regular expressions from // to the end of a host, such as //example\.com$` + commas,
	},
	{
		[]string{"allow-metric-labels"}, `[a-zA-Z_:][\w:]*,[a-zA-Z_]\w*=.*`,
		"a metric, its label and values, such as rest_client_requests_total,code=200",
	},
	{[]string{"disabled-metrics"}, `|[a-zA-Z_:][\w:]*`, "names of metrics" + commas},
	{
		[]string{"emulated-version", "min-compatibility-version"},
		`|(kube=)?1\.[0-9]+`, "versions such as 1.35" + commas,
	},
	{[]string{"requestheader-uid-headers"}, `|X-Remote-Uid`, "X-Remote-Uid"},
	{
		[]string{"service-account-issuer"}, `[^:\s]+|[a-z][a-z0-9+.-]*://[^\s:]+(:[0-9]+)?[^\s:]*`,
		"a URL such as https://issuer.example.com, or a name without a colon",
	},
}

const memory = `(memory|hugepages-\w+)=[0-9.]+[A-Za-z]*`

// wantsRuntimeConfig is wants for the flag runtime-config. Method apis checks the names.
func wantsRuntimeConfig(value string) string {
	for pair := range strings.SplitSeq(value, ",") {
		api, on, _ := strings.Cut(pair, "=")
		_, err := strconv.ParseBool(strings.TrimSpace(on))
		if pair != "" && strings.TrimSpace(api) == "" || err != nil && strings.TrimSpace(on) != "" {
			return "groups and versions of APIs such as batch/v1=true,api/alpha=false"
		}
	}
	return ""
}
