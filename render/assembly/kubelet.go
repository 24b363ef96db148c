package assembly

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"kiln/render/plan"
	"kiln/templates"
)

// addKubelet adds the kubelet's configuration and unit. The unit has a condition: before the hook has allowed it, the
// kubelet does not start, whoever starts it.
func (t *tree) addKubelet() error {
	conf, err := t.KubeletConfig(t.m, nil)
	if err != nil {
		return err
	}
	t.addFile(plan.KubeletConfig, 0o600, string(conf), "the kubelet's configuration")
	if err := t.addShutdownDelay(conf); err != nil {
		return err
	}
	command := plan.Command(t.m.Settings.KubeletPath, t.Plan.KubeletFlags(t.m))
	t.addUnit("kubelet.service", true, false)
	dropIn := templates.KubeletDropIn
	if t.m.Pool {
		dropIn = templates.PoolKubeletDropIn
	}
	t.addFile(plan.KubeletDropIn, 0o600, dropIn(command[0], command[1:]...), "the kubelet's command line",
		append(t.m.Settings.Paths("labels"), t.m.Path+".addresses", t.m.Settings.Path("kubeletPath"), t.m.Settings.Path("kubeletExtraArgs"))...)
	return nil
}

// addShutdownDelay adds the time that logind lets the kubelet hold up a shutdown, for its pods to end. The kubelet would otherwise write such a
// file itself, where nobody reviews it; with cloud-init, whose files come after logind has started, it does so until the next boot.
func (t *tree) addShutdownDelay(kubelet []byte) error {
	var c struct {
		ShutdownGracePeriod              metav1.Duration                              `json:"shutdownGracePeriod"`
		ShutdownGracePeriodByPodPriority []struct{ ShutdownGracePeriodSeconds int64 } `json:"shutdownGracePeriodByPodPriority"`
	}
	if err := yaml.Unmarshal(kubelet, &c); err != nil {
		return fmt.Errorf("%s: %w", plan.KubeletConfig, err)
	}
	period := c.ShutdownGracePeriod.Duration
	for _, class := range c.ShutdownGracePeriodByPodPriority {
		period += time.Duration(class.ShutdownGracePeriodSeconds) * time.Second
	}
	if period > 0 {
		t.addFile("/etc/systemd/logind.conf.d/90-kiln.conf", 0o644, fmt.Sprintf("[Login]\nInhibitDelayMaxSec=%s\n", seconds(period)), "time for pods to end at shutdown", t.m.Settings.Paths("kubelet")...)
	}
	return nil
}
