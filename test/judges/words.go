package judges

import (
	"crypto/tls"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/etcd/client/pkg/v3/tlsutil"
	extensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	serveroptions "k8s.io/apiserver/pkg/server/options"
	pluginlog "k8s.io/apiserver/plugin/pkg/audit/log"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/version"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane/reconcilers"
	"k8s.io/kubernetes/pkg/kubeapiserver/authorizer/modes"
)

// knownWords returns the words that the values of flags may have, by program and flag: the form of
// the value, and the words with commas between them. Words that no package exports stand here as
// the source has them.
func knownWords() known {
	out := known{}
	set := func(program, flag, form string, words []string) {
		words = slices.Compact(slices.Sorted(slices.Values(words)))
		out[row(program, flag)] = row(form, strings.Join(words, ","))
	}
	plugins := apiserver.NewServerRunOptions().Admission.GenericAdmission.Plugins.Registered()
	aliases := controllers.ControllerAliases()
	names := append(controllers.KnownControllers(), slices.Collect(maps.Keys(aliases))...)
	logs := []string{"json", "text"} // k8s.io/component-base/logs/json/register
	for _, program := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet",
	} {
		set(program, "tls-cipher-suites", "list", cliflag.TLSCipherPossibleValues())
		set(program, "tls-min-version", "word", cliflag.TLSPossibleVersions())
		set(program, "logging-format", "word", logs)
	}
	set("kube-proxy", "logging-format", "word", logs)
	for _, flag := range []string{"enable-admission-plugins", "disable-admission-plugins"} {
		set("kube-apiserver", flag, "list", plugins)
	}
	set("kube-apiserver", "authorization-mode", "list", modes.AuthorizationModeChoices)
	set("kube-apiserver", "runtime-config", "apis", servedAPIs())
	set("kube-apiserver", "audit-log-format", "word", pluginlog.AllowedFormats)
	set("kube-apiserver", "audit-log-mode", "word", serveroptions.AllowedModes)
	set("kube-apiserver", "audit-webhook-mode", "word", serveroptions.AllowedModes)
	// The API server exits with another type when it starts to serve, not when it reads its flags
	// (k8s.io/kubernetes/pkg/controlplane/instance.go).
	set("kube-apiserver", "endpoint-reconciler-type", "word", reconcilers.AllTypes.Names())
	// k8s.io/apiserver/pkg/server/options/etcd.go: storageTypes and storageMediaTypes.
	set("kube-apiserver", "storage-backend", "word", []string{"etcd3"})
	set("kube-apiserver", "storage-media-type", "word", []string{
		runtime.ContentTypeJSON, runtime.ContentTypeProtobuf, runtime.ContentTypeYAML,
	})
	for _, flag := range []string{"audit-log-version", "audit-webhook-version"} {
		set("kube-apiserver", flag, "word", []string{"audit.k8s.io/v1"})
	}
	set("kube-controller-manager", "controllers", "signed", names)
	// k8s.io/kubernetes/pkg/controller/nodeipam/ipam: the others need a cloud provider within.
	set("kube-controller-manager", "cidr-allocator-type", "word", []string{"RangeAllocator"})
	// k8s.io/component-base/metrics/version_parser.go: the minor before, of the version that a
	// release has; one that is built here has none.
	for _, program := range []string{
		"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler",
	} {
		set(program, "show-hidden-metrics-for-version", "word", []string{previousMinor()})
	}
	for _, program := range []string{"kube-controller-manager", "kubelet"} {
		// k8s.io/cloud-provider/plugins.go: all others are gone.
		set(program, "cloud-provider", "word", []string{"external"})
	}
	// k8s.io/kubernetes/pkg/kubelet/apis/config/validation/validation.go.
	set("kubelet", "hairpin-mode", "word", []string{
		"none", "hairpin-veth", "promiscuous-bridge",
	})
	set("kubelet", "topology-manager-policy", "word", []string{
		"none", "best-effort", "restricted", "single-numa-node",
	})
	set("kubelet", "topology-manager-scope", "word", []string{"container", "pod"})
	set("kubelet", "enforce-node-allocatable", "list", []string{
		"none", "pods", "system-reserved", "system-reserved-compressible", "kube-reserved",
		"kube-reserved-compressible",
	})
	for _, program := range []string{"kube-controller-manager", "kube-scheduler"} {
		set(program, "leader-elect-resource-lock", "word", []string{"leases"})
	}
	// go.etcd.io/etcd: embed/config.go (Validate), tlsutil/versions.go, logutil/log_format.go.
	set("etcd", "auto-compaction-mode", "word", []string{"periodic", "revision"})
	set("etcd", "cipher-suites", "list", etcdCiphers())
	set("etcd", "log-format", "word", []string{"console", "json"})
	set("etcd", "log-level", "word", []string{
		"debug", "info", "warn", "error", "dpanic", "panic", "fatal", // go.uber.org/zap/zapcore
	})
	set("etcd", "logger", "word", []string{"zap"})
	for _, flag := range []string{"tls-max-version", "tls-min-version"} {
		set("etcd", flag, "word", []string{
			string(tlsutil.TLSVersion12), string(tlsutil.TLSVersion13),
		})
	}
	return out
}

// servedSchemes are the schemes of the three servers that are in one API server.
var servedSchemes = []*runtime.Scheme{legacyscheme.Scheme, extensions.Scheme, aggregator.Scheme}

// servedAPIs returns the groups and versions that the API server may serve, the core group as api.
func servedAPIs() (all []string) {
	for _, scheme := range servedSchemes {
		for _, version := range scheme.PrioritizedVersionsAllGroups() {
			if version.Group == "" {
				version.Group = "api"
			}
			all = append(all, version.String())
		}
	}
	return all
}

// etcdCiphers returns the names of the cipher suites that etcd knows.
func etcdCiphers() (names []string) {
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		if _, ok := tlsutil.GetCipherSuite(suite.Name); ok {
			names = append(names, suite.Name)
		}
	}
	return names
}

// previousMinor returns the name of the minor before this one.
func previousMinor() string {
	number, _ := strconv.Atoi(strings.TrimPrefix(version.DefaultKubeBinaryVersion, "1."))
	return "1." + strconv.Itoa(number-1)
}
