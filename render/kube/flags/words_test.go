package flags_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/kube/flags"
)

// TestCheckWords: each mistake with a value that has the right type, and what is said of it.
func TestCheckWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program     string
		minor       int
		name, value string
		want        string // "" if there is nothing to say
	}{
		{flags.APIServer, 36, "enable-admission-plugins", "NodeRestriction,ResourceQuota", ""},
		{flags.APIServer, 36, "enable-admission-plugins", "", ""},
		{flags.APIServer, 36, "enable-admission-plugins", `"NodeRestriction"`, ""},
		{flags.APIServer, 36, "enable-admission-plugins", "PodSecurty", "error: PodSecurty " +
			`is not a value of --enable-admission-plugins of kube-apiserver 1.36; ` +
			`did you mean "PodSecurity"?`},
		{flags.APIServer, 36, "disable-admission-plugins", "PodSecurityPolicy", "error: " +
			"PodSecurityPolicy is not a value of --disable-admission-plugins of " +
			"kube-apiserver 1.36; correct it, or remove it"},
		{flags.APIServer, 36, "authorization-mode", "Node,Rbac", "error: Rbac is not a value of " +
			`--authorization-mode of kube-apiserver 1.36; did you mean "RBAC"?`},
		{flags.APIServer, 36, "audit-log-mode", "fast", "error: fast is not a value of " +
			"--audit-log-mode of kube-apiserver 1.36; write batch, blocking, blocking-strict"},
		{flags.Kubelet, 36, "tls-min-version", "1.2", "warning and error: 1.2 is not a value " +
			"of --tls-min-version of kubelet 1.36; " +
			"write VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13"},
		{flags.ControllerManager, 36, "controllers", "*,-nodeipam,bootstrapsigner", ""},
		{flags.ControllerManager, 36, "controllers", "*,-nodeipan", "error: nodeipan is not a " +
			"value of --controllers of kube-controller-manager 1.36; " +
			`did you mean "nodeipam"?`},
		{flags.ControllerManager, 36, "cloud-provider", "aws", "error: aws is not a value of " +
			"--cloud-provider of kube-controller-manager 1.36; write external"},
		{flags.APIServer, 36, "runtime-config", "batch/v2=true", "error: batch/v2 is no group " +
			"and version that kube-apiserver 1.36 knows; write batch/v1 or batch/v1beta1"},
		{flags.APIServer, 36, "runtime-config", "batc/v1=true", "error: batc/v1 is no group " +
			`and version that kube-apiserver 1.36 knows; did you mean "batch"?`},
		{flags.APIServer, 36, "runtime-config", "batch=true", "error: batch is no group and " +
			"version of an API; write batch/v1 or batch/v1beta1"},
		{flags.APIServer, 36, "runtime-config", "api/beta=1", "error: api/beta=1 has neither " +
			"true nor false; write api/beta=true or api/beta=false"},
		{flags.APIServer, 36, "runtime-config", "api/all=false", "error: api/all=false leaves " +
			"no API; name one too, such as api/all=false,api/v1=true"},
		{flags.APIServer, 36, "runtime-config", "example.net/v1=true", "error: example.net/v1 " +
			"is no group and version that kube-apiserver 1.36 knows; " +
			"write a group and a version such as batch/v1, or remove it"},
		{flags.Etcd, 36, "auto-compaction-mode", "hours", "error: hours is not a value of " +
			"--auto-compaction-mode of etcd of Kubernetes 1.36; write periodic, revision"},
	} {
		found := of(t, row.program, row.minor).Check([]flags.Arg{{row.name, row.value}}, nil)
		require.Equal(t, row.want, said(found), "%s --%s=%s", row.program, row.name, row.value)
	}
}

// TestCheckLimits: a number or range outside of its limits is refused, and one within is not.
func TestCheckLimits(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ program, name, good, wrong, want string }{
		{flags.APIServer, "goaway-chance", "0.02", "0.03", "0 to 0.02"},
		{flags.APIServer, "goaway-chance", "0", "NaN", "0 to 0.02"},
		{flags.APIServer, "service-account-max-token-expiration", "0", "10m",
			"0s, or 1h0m0s to 1193046h28m16s"},
		{flags.APIServer, "max-requests-inflight", "0", "-1", "0 or more"},
		{flags.APIServer, "request-timeout", "1m30s", "-1s", "0s or more"},
		{flags.APIServer, "audit-log-maxage", "0", "-1", "0 or more"},
		{flags.APIServer, "kubernetes-service-node-port", "30443", "65536", "0 to 65535"},
		{
			flags.APIServer, "service-node-port-range", "20000-30000", "30000-20000",
			"the lowest and the highest port such as 30000-32767, at most 65535",
		},
		{
			flags.APIServer, "service-node-port-range", "30000+100", "30000:32767",
			"the lowest and the highest port such as 30000-32767, at most 65535",
		},
		{
			flags.Etcd, "election-timeout", "50000", "50001",
			"1 to 50000 milliseconds",
		},
		{flags.Etcd, "compact-hash-check-time", "1m", "0s", "1ns or more"},
	} {
		p := of(t, row.program, 36)
		require.Empty(t, p.Check([]flags.Arg{{row.name, row.good}}, nil), row.name)
		found := p.Check([]flags.Arg{{row.name, row.wrong}}, nil)
		require.Len(t, found, 1, row.name)
		require.Contains(t, found[0].Message, "write "+row.want, row.name)
	}
}

// TestCheckPairs: flags that fit each alone and not together. A flag that is not there has the
// program's default.
func TestCheckPairs(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program string
		words   []string
		want    string // "" if there is nothing to say
	}{
		{flags.APIServer, []string{
			"--enable-admission-plugins=AlwaysPullImages",
			"--disable-admission-plugins=DefaultStorageClass",
		}, ""},
		{flags.APIServer, []string{
			"--enable-admission-plugins=NodeRestriction,AlwaysPullImages",
			"--disable-admission-plugins=AlwaysPullImages",
		}, "error: AlwaysPullImages is enabled and disabled, and kube-apiserver 1.36 exits with " +
			"that; remove it from one of the two flags"},
		{flags.Etcd, []string{"--heartbeat-interval=200"}, ""},
		{flags.Etcd, []string{"--heartbeat-interval=300"}, "error: 300 is more than a fifth of " +
			"--election-timeout, 1000; etcd of Kubernetes 1.36 exits with that: " +
			"write --election-timeout=1500 or more too"},
		{flags.Etcd, []string{"--election-timeout=400"}, "error: 400 is less than five times " +
			"--heartbeat-interval, 100; etcd of Kubernetes 1.36 exits with that: " +
			"write 500 or more"},
		{flags.Etcd, []string{"--heartbeat-interval=300", "--election-timeout=3000"}, ""},
		{flags.Scheduler, []string{
			"--leader-elect-renew-deadline=30s", "--leader-elect-lease-duration=60s",
		}, ""},
		{flags.Scheduler, []string{"--leader-elect-renew-deadline=30s"}, "error: 30s is not " +
			"below --leader-elect-lease-duration, 15s; kube-scheduler 1.36 exits with that: " +
			"write a longer lease too, or a shorter deadline"},
		{flags.Scheduler, []string{"--leader-elect-lease-duration=5s"}, "error: 5s is not above " +
			"--leader-elect-renew-deadline, 10s; kube-scheduler 1.36 exits with that: " +
			"write a longer lease, or a shorter deadline too"},
		{flags.ControllerManager, []string{"--leader-elect-retry-period=10s"}, "error: 10s is " +
			"too long for --leader-elect-renew-deadline, 10s, which must be above 12s; " +
			"kube-controller-manager 1.36 exits with that: write a longer deadline too, " +
			"or a shorter period"},
		{flags.Scheduler, []string{"--leader-elect-renew-deadline=30s", "--leader-elect=0"}, ""},
	} {
		require.Equal(t, row.want, said(of(t, row.program, 36).CheckCommand(row.words)),
			"%s %v", row.program, row.words)
	}
}
