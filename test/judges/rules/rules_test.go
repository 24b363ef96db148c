package rules

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/coredns/caddy/caddyfile"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/version"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	kubeletscheme "k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	kubeletvalidation "k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	"k8s.io/kubernetes/pkg/kubelet/eviction"
	proxyconfig "k8s.io/kubernetes/pkg/proxy/apis/config"
	proxyscheme "k8s.io/kubernetes/pkg/proxy/apis/config/scheme"
	proxyvalidation "k8s.io/kubernetes/pkg/proxy/apis/config/validation"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	schedulerscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	schedulervalidation "k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
	"sigs.k8s.io/yaml"
)

// pair is a configuration that Kubernetes refuses, beside one that it accepts.
type pair struct {
	Refused, Accepted map[string]any
	By                string // whose code decides; that of "start" is not exported
	Since, Until      int    // the first and the last minor with the rule; 0 is no limit
}

// TestKubelet asks the kubelet about testdata/kinds/kubelet.yaml.
func TestKubelet(t *testing.T) {
	ask(t, "kubelet", map[string]any{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
	}, kubelet)
}

// TestProxy asks kube-proxy about testdata/kinds/kube-proxy.yaml.
func TestProxy(t *testing.T) {
	ask(t, "kube-proxy", map[string]any{
		"apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration",
	}, proxy)
}

// TestScheduler asks kube-scheduler about testdata/kinds/kube-scheduler.yaml.
func TestScheduler(t *testing.T) {
	ask(t, "kube-scheduler", map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
	}, scheduler)
}

// TestCorefile asks CoreDNS' parser about testdata/kinds/corefile.yaml.
func TestCorefile(t *testing.T) {
	data, err := os.ReadFile("../../../testdata/kinds/corefile.yaml")
	require.NoError(t, err)
	var pairs []struct{ Refused, Accepted string }
	require.NoError(t, yaml.UnmarshalStrict(data, &pairs))
	plugins := []string{"errors", "forward", "hosts", "log"} // those of the pairs that there are
	for _, p := range pairs {
		_, err := caddyfile.Parse("Corefile", strings.NewReader(p.Accepted), plugins)
		require.NoError(t, err, p.Accepted)
		_, err = caddyfile.Parse("Corefile", strings.NewReader(p.Refused), plugins)
		require.Error(t, err, p.Refused)
	}
}

// ask holds the pairs of a file to what a program says of each: with the fields of base, one is
// refused and the other one is not.
func ask(
	t *testing.T, name string, base map[string]any, program func(by string, text []byte) error,
) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../../testdata/kinds", name+".yaml"))
	require.NoError(t, err)
	var pairs []pair
	require.NoError(t, yaml.UnmarshalStrict(data, &pairs))
	require.NotEmpty(t, pairs)
	minor, err := strconv.Atoi(strings.Split(version.DefaultKubeBinaryVersion, ".")[1])
	require.NoError(t, err)
	says := func(by string, fields map[string]any) error {
		whole := maps.Clone(base)
		maps.Copy(whole, fields)
		text, err := yaml.Marshal(whole)
		require.NoError(t, err)
		return program(by, text)
	}
	for _, p := range pairs {
		if p.By == "start" || minor < p.Since || p.Until > 0 && minor > p.Until {
			continue
		}
		if err := says(p.By, p.Accepted); err != nil {
			t.Errorf("refuses %v: %v", p.Accepted, err)
		}
		if says(p.By, p.Refused) == nil {
			t.Errorf("accepts %v", p.Refused)
		}
	}
}

// decode reads a configuration strictly, with its defaults.
func decode[T runtime.Object](scheme *runtime.Scheme, text []byte) (object T, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Join(err, errors.New("the defaults panic at a feature gate"))
		}
	}()
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	decoded, _, err := codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return object, err
	}
	return decoded.(T), nil
}

// kubelet returns why a kubelet would not start with a configuration.
func kubelet(by string, text []byte) error {
	scheme, _, err := kubeletscheme.NewSchemeAndCodecs()
	if err != nil {
		return err
	}
	c, err := decode[*kubeletconfig.KubeletConfiguration](scheme, text)
	if err != nil {
		return err
	}
	switch by {
	case "tls":
		_, ofVersion := cliflag.TLSVersion(c.TLSMinVersion)
		_, ofSuites := cliflag.TLSCipherSuites(c.TLSCipherSuites)
		return errors.Join(ofVersion, ofSuites)
	case "eviction":
		_, err := eviction.ParseThresholdConfig(c.EnforceNodeAllocatable, c.EvictionHard,
			c.EvictionSoft, c.EvictionSoftGracePeriod, c.EvictionMinimumReclaim)
		return err
	}
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	if err := gates.SetFromMap(c.FeatureGates); err != nil {
		return err
	}
	// The validator looks at the machine that it runs on.
	return utilerrors.FilterOut(kubeletvalidation.ValidateKubeletConfiguration(c, gates),
		func(err error) bool {
			return strings.Contains(err.Error(),
				"kubelet is configured to not run on a host using cgroup v1")
		})
}

// proxy returns why kube-proxy would not start with a configuration.
func proxy(_ string, text []byte) error {
	c, err := decode[*proxyconfig.KubeProxyConfiguration](proxyscheme.Scheme, text)
	if err != nil {
		return err
	}
	return proxyvalidation.Validate(c).ToAggregate()
}

// scheduler returns why kube-scheduler would not start with a configuration.
func scheduler(_ string, text []byte) error {
	c, err := decode[*schedulerconfig.KubeSchedulerConfiguration](schedulerscheme.Scheme, text)
	if err != nil {
		return err
	}
	return schedulervalidation.ValidateKubeSchedulerConfiguration(c)
}
