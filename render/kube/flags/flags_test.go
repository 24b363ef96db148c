package flags_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/kube/flags"
)

// of returns a program that the tables have.
func of(t *testing.T, name string, minor int) flags.Program {
	t.Helper()
	p, ok := flags.FindProgram(name, minor)
	require.True(t, ok, "%s %d", name, minor)
	return p
}

// TestTables: every program has flags and gates in every minor that can be rendered, and none in
// others. The tables are small.
func TestTables(t *testing.T) {
	t.Parallel()
	programs := []string{
		flags.APIServer, flags.ControllerManager, flags.Etcd, flags.Kubelet, flags.Proxy,
		flags.Scheduler,
	}
	for _, name := range programs {
		for minor := target.OldestMinor(); minor <= target.NewestMinor(); minor++ {
			p := of(t, name, minor)
			require.Greater(t, len(p.Flags()), 50, "%s %d", name, minor)
			require.Greater(t, len(p.Gates()), 5, "%s %d", name, minor)
			for _, g := range p.Gates() {
				require.Contains(t, "alpha beta ga deprecated", g.Stage, g.Name)
			}
		}
		for _, minor := range []int{target.OldestMinor() - 1, target.NewestMinor() + 1} {
			_, ok := flags.FindProgram(name, minor)
			require.False(t, ok, "%s %d", name, minor)
		}
	}
	_, ok := flags.FindProgram("coredns", target.NewestMinor())
	require.False(t, ok)
	for _, table := range []string{"flags.tsv", "gates.tsv", "words.tsv"} {
		info, err := os.Stat(table)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(150_000), table)
	}
}

// TestCheckFlags: each mistake with a flag or with its value, and what is said of it.
func TestCheckFlags(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program     string
		minor       int
		name, value string
		want        string // "" if there is nothing to say
	}{
		{flags.APIServer, 36, "audit-log-maxage", "30", ""},
		{flags.APIServer, 36, "audit_log_maxage", "30", ""},
		{flags.APIServer, 36, "audit-log-maxagee", "30", "error: audit-log-maxagee is not a flag " +
			`of kube-apiserver 1.36; did you mean "audit-log-maxage"?`},
		{flags.APIServer, 36, "nothing-like-it", "30", "error: nothing-like-it is not a flag " +
			"of kube-apiserver 1.36; correct its name, or remove it"},
		{flags.APIServer, 36, "max-pods", "30", "error: max-pods is not a flag " +
			"of kube-apiserver 1.36, but of kubelet; move it there, or remove it"},
		{flags.ControllerManager, 36, "concurrent-service-syncs", "1", ""},
		{flags.ControllerManager, 37, "concurrent-service-syncs", "1", "error: " +
			"concurrent-service-syncs is not a flag of kube-controller-manager 1.37: " +
			"1.37 removed it; remove it"},
		{flags.Kubelet, 36, "pod-infra-container-image", "pause", "error: " +
			"pod-infra-container-image is not a flag of kubelet 1.36: 1.35 removed it; remove it"},
		{flags.APIServer, 36, "insecure-port", "0", "error: insecure-port is not a flag of " +
			"kube-apiserver 1.36: 1.24 removed it; remove it"},
		{flags.Scheduler, 35, "tls-curve-preferences", "23", "error: tls-curve-preferences " +
			"is not a flag of kube-scheduler 1.35: it is there since 1.36; " +
			"remove it, or raise the version of Kubernetes"},
		{flags.Etcd, 37, "experimental-memory-mlock", "true", "error: experimental-memory-mlock " +
			"is not a flag of etcd of Kubernetes 1.37: 1.37 removed it " +
			"(--experimental-memory-mlock is deprecated in v3.6 and will be decommissioned in " +
			"v3.7. Use '--memory-mlock' instead); remove it"},
		{flags.Etcd, 36, "max_snapshots", "5", "error: max_snapshots is not a flag " +
			`of etcd of Kubernetes 1.36; did you mean "max-snapshots"?`},
		{flags.Etcd, 36, "max-snapshots", "5", "warning: max-snapshots is deprecated " +
			"in etcd of Kubernetes 1.36: --max-snapshots is deprecated in 3.6 and will be " +
			"decommissioned in 3.8."},
		{flags.Etcd, 36, "config-file", "/etc/etcd.yaml", "error: config-file makes etcd " +
			"ignore all other flags; remove it"},
		{flags.Scheduler, 36, "version", "true", "error: version makes kube-scheduler print " +
			"its version and exit; remove it"},
		{flags.APIServer, 36, "max-requests-inflight", "many", "error: many does not fit " +
			"--max-requests-inflight of kube-apiserver 1.36 (int); write a whole number"},
		{flags.APIServer, 36, "max-requests-inflight", "0x10", ""},
		{flags.APIServer, 36, "anonymous-auth", "no", "error: no does not fit " +
			"--anonymous-auth of kube-apiserver 1.36 (bool); write true or false"},
		{flags.APIServer, 36, "anonymous-auth", "F", ""},
		{flags.APIServer, 36, "request-timeout", "30", "error: 30 does not fit " +
			"--request-timeout of kube-apiserver 1.36 (duration); " +
			"write a duration such as 30s or 1h30m"},
		{flags.APIServer, 36, "goaway-chance", "a", "error: a does not fit " +
			"--goaway-chance of kube-apiserver 1.36 (float64); write a number such as 0.5"},
		{flags.APIServer, 36, "tls-curve-preferences", "23,x", "error: 23,x does not fit " +
			"--tls-curve-preferences of kube-apiserver 1.36 (int32Slice); " +
			"write whole numbers with commas between them"},
		{flags.APIServer, 36, "runtime-config", "batch/v1=true,api/alpha=true", ""},
		{flags.APIServer, 36, "runtime-config", "batch/v1,v1=,/v1/pods=true,api/legacy=1", ""},
		{flags.APIServer, 36, "runtime-config", "batch/v1=yes", "error: batch/v1=yes does not " +
			"fit --runtime-config of kube-apiserver 1.36 (mapStringString); " +
			"write groups and versions of APIs such as batch/v1=true,api/alpha=false"},
		{flags.Kubelet, 36, "system-reserved", "cpu", "warning and error: cpu does not fit " +
			"--system-reserved of kubelet 1.36 (mapStringString); " +
			"write pairs such as key=value, with commas between them"},
		{flags.Kubelet, 36, "node-ip", "10.0.0.1", ""},
		{flags.Kubelet, 36, "v", "loud", "error: loud does not fit --v of kubelet 1.36 (Level); " +
			"write a level of messages, from 0 to 10"},
		{flags.Etcd, 36, "max-concurrent-streams", "-1", "error: -1 does not fit " +
			"--max-concurrent-streams of etcd of Kubernetes 1.36 (uint32); " +
			"write a whole number from 0 to 4294967295"},

		// Values that have the right type.
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

// said returns the last finding as a sentence, after the kinds of all.
func said(found []flags.Finding) string {
	if len(found) == 0 {
		return ""
	}
	var kinds []string
	for _, f := range found {
		kind := "error"
		if f.Warning {
			kind = "warning"
		}
		kinds = append(kinds, kind)
	}
	last := found[len(found)-1]
	return strings.Join(kinds, " and ") + ": " + last.Word + " " + last.Message
}

// TestCheckGates: each mistake with a feature gate, and what is said of it.
func TestCheckGates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program     string
		minor       int
		value, want string
	}{
		{flags.APIServer, 36, "", ""},
		{flags.APIServer, 36, "AllAlpha=false,AllBeta=true", ""},
		{flags.APIServer, 36, "kube:ContextualLogging=false", ""},
		{flags.APIServer, 36, "ContextualLogin=true", "error: ContextualLogin is not a feature " +
			`gate of kube-apiserver 1.36; did you mean "ContextualLogging"?`},
		{flags.APIServer, 36, "NoSuchGate=true", "error: NoSuchGate is not a feature gate of " +
			"kube-apiserver 1.36; correct its name, or remove it"},
		{flags.APIServer, 36, "ContextualLogging", "error: ContextualLogging is not a feature " +
			"gate; write them like NodeSwap=true,UserNamespacesSupport=false"},
		{flags.APIServer, 36, "ContextualLogging=on", "error: ContextualLogging=on is not a " +
			"feature gate; write them like NodeSwap=true,UserNamespacesSupport=false"},
		{flags.APIServer, 36, "AuthorizeNodeWithSelectors=false", "error: " +
			"AuthorizeNodeWithSelectors is locked to true in kube-apiserver 1.36; remove it"},
		{flags.APIServer, 36, "AuthorizeNodeWithSelectors=true", "warning: " +
			"AuthorizeNodeWithSelectors stands for a feature that is stable in kube-apiserver " +
			"1.36: a later minor removes the gate, so remove it here"},
		{flags.APIServer, 37, "AuthorizeNodeWithSelectors=true", "error: " +
			"AuthorizeNodeWithSelectors is not a feature gate of kube-apiserver 1.37: " +
			"1.37 removed it, and its feature is always on; remove it"},
		{flags.APIServer, 34, "NativeHistograms=true", "error: NativeHistograms is not a feature " +
			"gate of kube-apiserver 1.34: it is there since 1.36; " +
			"remove it, or raise the version of Kubernetes"},
		{flags.APIServer, 36, "ClusterTrustBundleProjection=true", "error: " +
			"ClusterTrustBundleProjection needs the feature gate ClusterTrustBundle, which is " +
			"off in kube-apiserver 1.36; set ClusterTrustBundle=true too, or remove it"},
		{flags.APIServer, 36, "ClusterTrustBundleProjection=true,ClusterTrustBundle=true", ""},
		{flags.APIServer, 34, "ClusterTrustBundleProjection=true", ""},
		{flags.Etcd, 36, "InitialCorruptCheck=true", ""},
		{flags.Etcd, 36, "ContextualLogging=true", "error: ContextualLogging is not a feature " +
			"gate of etcd of Kubernetes 1.36; correct its name, or remove it"},
	} {
		found := of(t, row.program, row.minor).
			Check([]flags.Arg{{"feature-gates", row.value}}, nil)
		require.Equal(t, row.want, said(found), "%s %d %s", row.program, row.minor, row.value)
	}
}

// TestCheckTogether: the gates of several flags and of the configuration file are one set, and a
// program that behaves as an older minor may have its gates.
func TestCheckTogether(t *testing.T) {
	t.Parallel()
	kubelet := of(t, flags.Kubelet, 36)
	found := kubelet.Check(nil, map[string]bool{"NoSuchGate": true, "ContextualLogging": true})
	require.Len(t, found, 1)
	require.Equal(t, "NoSuchGate", found[0].Gate)
	require.Equal(t, -1, found[0].Arg)

	trust := map[string]bool{"ClusterTrustBundleProjection": true}
	require.Len(t, kubelet.Check(nil, trust), 1)
	gates := []flags.Arg{{"feature-gates", "ClusterTrustBundle=true"}}
	found = kubelet.Check(gates, trust)
	require.Len(t, found, 1)
	require.True(t, found[0].Warning, "the flag is deprecated in the kubelet")
	gates[0].Value = "ClusterTrustBundleProjection=false"
	require.Len(t, kubelet.Check(gates, trust), 1, "the flag overrides the file")

	server := of(t, flags.APIServer, 36)
	locked := flags.Arg{"feature-gates", "AuthorizeNodeWithSelectors=false"}
	require.Len(t, server.Check([]flags.Arg{locked}, nil), 1)
	require.Empty(t, server.Check([]flags.Arg{{"emulated-version", "1.35"}, locked}, nil))
}

// TestCheckCommand: words are read as the programs read them.
func TestCheckCommand(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program string
		words   []string
		at      int // the word of the only finding, -1 for none
		want    string
	}{
		{flags.APIServer, []string{"--profiling", "--v=2", "-v=3", "-v", "4"}, -1, ""},
		{flags.APIServer, []string{"--request-timeout", "30s"}, -1, ""},
		{flags.APIServer, []string{"--request-timeout", "-1"}, 0, "error: -1 does not fit " +
			"--request-timeout of kube-apiserver 1.36 (duration); " +
			"write a duration such as 30s or 1h30m"},
		{flags.APIServer, []string{"--v=2", "--request-timeout"}, 1, "error: --request-timeout " +
			"has no value; write --request-timeout=VALUE"},
		{flags.APIServer, []string{"--v=2", "--profilingg", "--v=3"}, 1, "error: profilingg is " +
			`not a flag of kube-apiserver 1.36; did you mean "profiling"?`},
		{flags.APIServer, []string{"--profiling", "false"}, 1, "error: false is not a flag, and " +
			"kube-apiserver takes nothing else; write --name=value, or remove it"},
		{flags.APIServer, []string{"-profiling=false"}, 0, "error: -profiling=false begins with " +
			"one dash; write two"},
		{flags.Etcd, []string{"-auto-tls=false", "--auto-tls"}, -1, ""},
	} {
		found := of(t, row.program, 36).CheckCommand(row.words)
		require.Equal(t, row.want, said(found), "%v", row.words)
		if row.at >= 0 {
			require.Len(t, found, 1)
			require.Equal(t, row.at, found[0].Arg, "%v", row.words)
		}
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
