package judges

import (
	"context"
	"errors"
	goflag "flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/tlsutil"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	etcdflags "go.etcd.io/etcd/pkg/v3/flags"
	etcd "go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/server/resourceconfig"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/leaderelection"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	basecompatibility "k8s.io/component-base/compatibility"
	baseconfig "k8s.io/component-base/config"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // each program logs JSON too, with flags for it
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
	kubeletoptions "k8s.io/kubernetes/cmd/kubelet/app/options"
	"k8s.io/kubernetes/pkg/controlplane"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
)

// program is the command line of a program of Kubernetes: its flags, and the check of their values
// once they are set.
type program struct {
	flags *pflag.FlagSet
	check func() []error
}

// programs make a program anew. They leave out the parts of its start that need a cluster or the
// machine itself: clients, listeners, self-signed certificates, watched files.
var programs = map[string]func() (program, error){
	"etcd":                    etcdProgram,
	"kube-apiserver":          apiServerProgram,
	"kube-controller-manager": controllerManagerProgram,
	"kube-proxy":              proxyProgram,
	"kube-scheduler":          schedulerProgram,
	"kubelet":                 kubeletProgram,
}

// optionsLock is held while a program exists: making one registers feature gates and metrics
// globally.
var optionsLock sync.Mutex

// newGlobals returns feature gates and versions for one program, so that no program changes those
// of the next.
func newGlobals() (basecompatibility.ComponentGlobalsRegistry, error) {
	globals := basecompatibility.NewComponentGlobalsRegistry()
	return globals, globals.Register(basecompatibility.DefaultKubeComponent,
		compatibility.DefaultBuildEffectiveVersion(),
		utilfeature.DefaultMutableFeatureGate.DeepCopy())
}

// newFlags returns all of a program's flags as one set.
func newFlags(name string, sets cliflag.NamedFlagSets) *pflag.FlagSet {
	verflag.AddFlags(sets.FlagSet("global"))
	globalflag.AddGlobalFlags(sets.FlagSet("global"), name, logs.SkipLoggingConfigurationFlags())
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	return flags
}

// checkTLS checks the names of TLS versions and cipher suites as ApplyTo does before it listens;
// Validate does not look at them.
func checkTLS(suites []string, version string) error {
	_, errSuites := cliflag.TLSCipherSuites(suites)
	_, errVersion := cliflag.TLSVersion(version)
	return errors.Join(errSuites, errVersion)
}

// checkLogs checks the settings of logging as a program does when it applies them, before it checks
// its options.
func checkLogs(config *logsapi.LoggingConfiguration) error {
	return logsapi.Validate(config, utilfeature.DefaultFeatureGate, nil).ToAggregate()
}

// checkElection checks the times of a leader election as a program does when it takes part in one.
func checkElection(c *baseconfig.LeaderElectionConfiguration) error {
	if !c.LeaderElect {
		return nil
	}
	nothing := leaderelection.LeaderCallbacks{
		OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {},
	}
	_, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		LeaseDuration: c.LeaseDuration.Duration, RenewDeadline: c.RenewDeadline.Duration,
		RetryPeriod: c.RetryPeriod.Duration, Callbacks: nothing,
	})
	if err != nil && strings.HasPrefix(err.Error(), "Lock must not be nil") { // it comes last
		return nil
	}
	return err
}

func apiServerProgram() (program, error) {
	globals, err := newGlobals()
	if err != nil {
		return program{}, err
	}
	options := apiserver.NewServerRunOptions()
	options.GenericServerRunOptions.ComponentGlobalsRegistry = globals
	check := func() []error {
		if err := globals.Set(); err != nil {
			return []error{err}
		}
		completed, err := options.Complete(context.Background())
		if err != nil {
			return []error{err}
		}
		serving := completed.SecureServing
		errs := append(completed.Validate(), checkLogs(completed.Logs),
			checkTLS(serving.CipherSuites, serving.MinTLSVersion))
		for _, scheme := range servedSchemes {
			_, err := resourceconfig.MergeAPIResourceConfigs(
				controlplane.DefaultAPIResourceConfigSource(),
				completed.APIEnablement.RuntimeConfig, scheme,
			)
			if err != nil {
				errs = append(errs, err)
			}
		}
		// Its CA files would be watched from here on; they are read elsewhere.
		authentication := *completed.Authentication
		authentication.ClientCert, authentication.RequestHeader = nil, nil
		if _, err := authentication.ToAuthenticationConfig(); err != nil {
			errs = append(errs, err)
		}
		if file := completed.Etcd.EncryptionProviderConfigFilepath; file != "" {
			if _, err := encryptionconfig.LoadEncryptionConfig(context.Background(), file, false,
				"judge"); err != nil {
				errs = append(errs, err)
			}
		}
		return errs
	}
	return program{newFlags("kube-apiserver", options.Flags()), check}, nil
}

func controllerManagerProgram() (program, error) {
	globals, err := newGlobals()
	if err != nil {
		return program{}, err
	}
	options, err := controllermanager.NewKubeControllerManagerOptions()
	if err != nil {
		return program{}, err
	}
	options.ComponentGlobalsRegistry = globals
	known, aliases := controllers.KnownControllers(), controllers.ControllerAliases()
	disabled := controllers.ControllersDisabledByDefault()
	check := func() []error {
		return []error{
			globals.Set(), checkLogs(options.Logs), options.Validate(known, disabled, aliases),
			checkTLS(options.SecureServing.CipherSuites, options.SecureServing.MinTLSVersion),
			checkElection(&options.Generic.LeaderElection),
		}
	}
	return program{
		newFlags("kube-controller-manager", options.Flags(known, disabled, aliases)), check,
	}, nil
}

func schedulerProgram() (program, error) {
	globals, err := newGlobals()
	if err != nil {
		return program{}, err
	}
	options := scheduler.NewOptionsWithComponentGlobalsRegistry(globals)
	check := func() []error {
		if err := globals.Set(); err != nil {
			return []error{err}
		}
		options.ComponentConfig, err = schedulerconfig.Default()
		if options.ConfigFile != "" {
			options.ComponentConfig, err = scheduler.LoadConfigFromFile(
				klog.Background(), options.ConfigFile,
			)
		}
		if err != nil {
			return []error{err}
		}
		if options.ConfigFile == "" {
			options.ApplyDeprecated()
		}
		options.ApplyLeaderElectionTo(options.ComponentConfig)
		return append(options.Validate(), checkLogs(options.Logs),
			checkTLS(options.SecureServing.CipherSuites, options.SecureServing.MinTLSVersion),
			checkElection(&options.ComponentConfig.LeaderElection))
	}
	return program{newFlags("kube-scheduler", *options.Flags), check}, nil
}

func kubeletProgram() (program, error) {
	flags := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	options := kubeletoptions.NewKubeletFlags()
	options.AddFlags(flags)
	config, err := kubeletoptions.NewKubeletConfiguration()
	if err != nil {
		return program{}, err
	}
	kubeletoptions.AddKubeletConfigFlags(flags, config)
	kubeletoptions.AddGlobalFlags(flags)
	return program{flags, func() []error {
		return []error{
			kubeletoptions.ValidateKubeletFlags(options), setUp(config),
			validate(config, utilfeature.DefaultFeatureGate),
		}
	}}, nil
}

// setUp returns why a kubelet ends behind the validation of its configuration, when it sets up its
// server (app.InitializeTLS, which also reads keys) and its thresholds of eviction.
func setUp(config *kubeletconfig.KubeletConfiguration) error {
	_, err := eviction.ParseThresholdConfig(config.EnforceNodeAllocatable, config.EvictionHard,
		config.EvictionSoft, config.EvictionSoftGracePeriod, config.EvictionMinimumReclaim)
	return errors.Join(err, checkTLS(config.TLSCipherSuites, config.TLSMinVersion),
		checkLogs(&config.Logging))
}

// proxyProgram leaves out Complete, which watches the file of --config; configurationsJudge reads
// that file. It also leaves out boot-id-file and machine-id-file, two flags of cAdvisor that
// kube-proxy 1.36 and older took over with its libraries.
func proxyProgram() (program, error) {
	var sets cliflag.NamedFlagSets
	proxy.NewOptions().AddFlags(sets.FlagSet("generic"))
	return program{newFlags("kube-proxy", sets), func() []error { return nil }}, nil
}

// etcdProgram treats etcd's flags as etcdmain does (config.configFromCmdLine), which is not
// exported. The release of etcd is the one in the image that kubeadm deploys with this Kubernetes.
func etcdProgram() (program, error) {
	config := etcd.NewConfig()
	config.ZapLoggerBuilder = etcd.NewZapLoggerBuilder(zap.NewNop())
	state := etcdflags.NewSelectiveStringValue(etcd.ClusterStateFlagNew,
		etcd.ClusterStateFlagExisting)
	set := goflag.NewFlagSet("etcd", goflag.ContinueOnError)
	config.AddFlags(set)
	set.Var(state, "initial-cluster-state", "")

	flags := pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.AddGoFlagSet(set)
	flags.VisitAll(func(f *pflag.Flag) {
		// Releases 3.6.5 and 3.6.6 announce the end of snapshot-count, 3.6.8 and 3.7.0 no more.
		if strings.Contains(f.Usage, "will be decommissioned") && f.Name != "snapshot-count" {
			f.Deprecated = f.Usage
		}
	})
	check := func() []error {
		config.ListenPeerUrls = etcdflags.UniqueURLsFromFlag(set, "listen-peer-urls")
		config.AdvertisePeerUrls = etcdflags.UniqueURLsFromFlag(set, "initial-advertise-peer-urls")
		config.ListenClientUrls = etcdflags.UniqueURLsFromFlag(set, "listen-client-urls")
		config.AdvertiseClientUrls = etcdflags.UniqueURLsFromFlag(set, "advertise-client-urls")
		config.ListenMetricsUrls = etcdflags.UniqueURLsFromFlag(set, "listen-metrics-urls")
		config.CipherSuites = etcdflags.StringsFromFlag(set, "cipher-suites")
		config.ClusterState = state.String()
		errs := []error{config.Validate()}
		// parseCompactionRetention of embed/etcd.go, which is not exported.
		if _, err := strconv.ParseUint(config.AutoCompactionRetention, 10, 63); err != nil {
			_, err := time.ParseDuration(config.AutoCompactionRetention)
			errs = append(errs, err)
		}
		if _, _, err := config.PeerURLsMapAndToken("etcd"); err != nil {
			errs = append(errs, err)
		}
		for _, suite := range config.CipherSuites {
			if _, ok := tlsutil.GetCipherSuite(suite); !ok {
				errs = append(errs, fmt.Errorf("unknown cipher suite %s", suite))
			}
		}
		for _, info := range []transport.TLSInfo{config.ClientTLSInfo, config.PeerTLSInfo} {
			if _, err := info.ServerConfig(); err != nil {
				errs = append(errs, err)
			}
		}
		return errs
	}
	return program{flags, check}, nil
}
