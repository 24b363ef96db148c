package render_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"kiln.dev/kiln/render/kube/flags"
)

// mutated is the minor of the clusters of TestMutations.
const mutated = 36

// safeFlag is a flag that kiln leaves to people, with a value that its program takes.
type safeFlag struct{ program, name, good string }

var safeFlags = []safeFlag{
	{flags.APIServer, "max-requests-inflight", "500"},
	{flags.APIServer, "max-mutating-requests-inflight", "300"},
	{flags.APIServer, "min-request-timeout", "1700"},
	{flags.APIServer, "event-ttl", "2h"},
	{flags.APIServer, "goaway-chance", "0.001"},
	{flags.APIServer, "delete-collection-workers", "2"},
	{flags.APIServer, "http2-max-streams-per-connection", "200"},
	{flags.APIServer, "watch-cache", "true"},
	{flags.ControllerManager, "concurrent-deployment-syncs", "7"},
	{flags.ControllerManager, "concurrent-gc-syncs", "21"},
	{flags.ControllerManager, "node-monitor-period", "6s"},
	{flags.ControllerManager, "min-resync-period", "13h"},
	{flags.ControllerManager, "large-cluster-size-threshold", "60"},
	{flags.ControllerManager, "kube-api-burst", "40"},
	{flags.ControllerManager, "kube-api-qps", "30"},
	{flags.Scheduler, "kube-api-burst", "110"},
	{flags.Scheduler, "kube-api-qps", "60"},
	{flags.Scheduler, "leader-elect-lease-duration", "16s"},
	{flags.Etcd, "snapshot-count", "20000"},
	{flags.Etcd, "heartbeat-interval", "110"},
	{flags.Etcd, "max-request-bytes", "2000000"},
	{flags.Etcd, "quota-backend-bytes", "4294967296"},
	{flags.Etcd, "max-snapshots", "6"},
}

// flagsAt is where cluster.yaml has the flags of a program.
var flagsAt = map[string]string{
	flags.APIServer:         "apiServer",
	flags.ControllerManager: "controllerManager",
	flags.Scheduler:         "scheduler",
	flags.Etcd:              "etcd",
}

func (f safeFlag) set(name, value string) variation {
	arg := map[string]any{"name": name, "value": value}
	return variation{
		name: fmt.Sprintf("--%s=%s of %s", name, value, f.program),
		config: map[string]any{"controlPlane": map[string]any{
			flagsAt[f.program]: map[string]any{"extraArgs": []any{arg}},
		}},
	}
}

// foreignFlags returns the flags that a program has in another minor, but not in this one.
func foreignFlags() (out []variation) {
	for program := range flagsAt {
		here, _ := flags.FindProgram(program, mutated)
		for minor := range 100 {
			there, ok := flags.FindProgram(program, minor)
			if !ok {
				continue
			}
			for _, f := range there.Flags() {
				if !slices.ContainsFunc(here.Flags(), func(h flags.Flag) bool {
					return h.Name == f.Name
				}) {
					out = append(out, safeFlag{program: program}.set(f.Name, "1"))
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b variation) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return out
}

// gates returns the feature gates of Kubernetes that hold.
func gates(holds func(flags.Gate) bool) (out []flags.Gate) {
	p, _ := flags.FindProgram(flags.APIServer, mutated)
	for _, g := range p.Gates() {
		if holds(g) {
			out = append(out, g)
		}
	}
	return out
}

// gate sets a feature gate of a program or of the kubelet.
func gate(r *rand.Rand, name string, value bool) variation {
	if r.IntN(2) == 0 {
		return variation{
			name: fmt.Sprintf("the kubelet's gate %s: %v", name, value),
			config: map[string]any{"machines": map[string]any{
				"os": "debian", "platform": "nocloud",
				"kubelet": map[string]any{"featureGates": map[string]any{name: value}},
			}},
		}
	}
	program := pick(r, []string{flags.APIServer, flags.ControllerManager, flags.Scheduler})
	return safeFlag{program: program}.set("feature-gates", fmt.Sprintf("%s=%v", name, value))
}
