package assembly

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/templates"
)

// addKubelet adds the kubelet's configuration and unit. A condition in the unit keeps the kubelet
// from starting, whoever starts it, until the hook allows it.
func (t *tree) addKubelet() error {
	conf, err := t.kubeletConfig(t.m, nil)
	if err != nil {
		return err
	}
	if conf.noPeriod != nil {
		return conf.noPeriod
	}
	t.addFile(plan.KubeletConfig, 0o600, string(conf.text), "the kubelet's configuration")
	// Without logind's setting the kubelet would write this file itself, where nobody reviews it.
	// With cloud-init it still does so until the next boot, because logind starts before the files
	// are written.
	if conf.shutdown > 0 {
		t.addFile("/etc/systemd/logind.conf.d/90-kiln.conf", 0o644,
			"[Login]\nInhibitDelayMaxSec="+seconds(conf.shutdown)+"\n",
			"time for pods to end at shutdown", t.m.Settings.Paths("kubelet")...)
	}
	t.addUnit("kubelet.service", true, false)
	dropIn := templates.KubeletDropIn
	if t.m.Pool {
		dropIn = templates.PoolKubeletDropIn
	}
	command := plan.Command(t.m.Kubelet(), t.Plan.KubeletFlags(t.m))
	from := append(t.m.Settings.Paths("labels"), t.m.Path+".addresses",
		t.m.Settings.Path("kubeletPath"), t.m.Settings.Path("kubeletExtraArgs"))
	t.addFile(plan.KubeletDropIn, 0o600, dropIn(command[0], command[1:]...),
		"the kubelet's command line", from...)
	return nil
}

// shutdownPeriod returns how long a kubelet's configuration gives pods to end.
func shutdownPeriod(kubelet []byte) (period time.Duration, err error) {
	var c struct {
		ShutdownGracePeriod              metav1.Duration `json:"shutdownGracePeriod"`
		ShutdownGracePeriodByPodPriority []struct {
			ShutdownGracePeriodSeconds int64 `json:"shutdownGracePeriodSeconds"`
		} `json:"shutdownGracePeriodByPodPriority"`
	}
	if err := yaml.Unmarshal(kubelet, &c); err != nil {
		return 0, fmt.Errorf("%s: %w", plan.KubeletConfig, err)
	}
	period = c.ShutdownGracePeriod.Duration
	for _, class := range c.ShutdownGracePeriodByPodPriority {
		period += time.Duration(class.ShutdownGracePeriodSeconds) * time.Second
	}
	return period, nil
}

// kubelet is a kubelet's configuration.
type kubelet struct {
	text     []byte
	err      error
	shutdown time.Duration
	noPeriod error // why shutdown is not known
}

// KubeletConfig returns m's kubelet configuration. It fails if a patch of the user cannot be
// applied.
func (r *Cluster) KubeletConfig(m *plan.Machine, watch Watch) ([]byte, error) {
	k, err := r.kubeletConfig(m, watch)
	return k.text, err
}

func (r *Cluster) kubeletConfig(m *plan.Machine, watch Watch) (kubelet, error) {
	stream, err := r.patches.Apply(manifests.Kubelet(r.Plan, m), r.patches.ForMachine(m), watch)
	if err != nil {
		return kubelet{}, fmt.Errorf("kubelet configuration: %w", err)
	}
	k := r.kubelets.Of(stream, func() (k kubelet) {
		if k.text, k.err = manifests.WithoutMetadata(stream); k.err != nil {
			k.err = fmt.Errorf("kubelet configuration: %w", k.err)
		} else {
			k.shutdown, k.noPeriod = shutdownPeriod(k.text)
		}
		return k
	})
	return k, k.err
}

// swapAllowed reports whether the user lets the kubelet run on a machine with swap.
func (t *tree) swapAllowed() bool { return t.m.Settings.Kubelet["failSwapOn"] == false }
