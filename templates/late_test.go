package templates_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBootGoesOnTrying has a row for each wait. When the step's time is over the hook reports the
// fault in all four places and goes on. When the cause is gone the machine is done, without a
// person, and the fault is gone as well.
func TestBootGoesOnTrying(t *testing.T) {
	tell := func(name, what string) func(*aMachine) {
		return func(m *aMachine) { m.know(name, what+"\n") }
	}
	answer := func(method, url string, code, exit int, body string) func(*aMachine) {
		return func(m *aMachine) { m.rule(method, url, 9999, code, exit, body) }
	}
	const (
		answers = `rm -rf "$WORLD/rules"`
		coredns = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"

		notReady = `{"status":{"conditions":[{"type":"PIDPressure","status":"False","reason":"x",` +
			`"message":"kubelet has sufficient PID available"},{"type":"Ready",` +
			`"status":"False","reason":"KubeletNotReady","message":"container runtime ` +
			`network not ready: cni plugin not initialized"}],"nodeInfo":` +
			`{"machineID":"6a1f0e6d3c5b4a29b8d7c6e5f4a3b2c1"}}}`
		noNetwork = "FAULT node-not-ready https://10.0.0.11:6443/api/v1/nodes/cp-1: container " +
			"runtime network not ready: cni plugin not initialized; "
	)
	for i, row := range []struct {
		name  string
		role  string            // or worker
		wrong func(m *aMachine) // before the document is written
		want  string            // the fault
		done  bool              // nevertheless
		mend  string            // shell: what happens while the hook is overdue
	}{
		// preflight
		{name: "address", wrong: tell("address", ""), want: "FAULT address " +
			"addresses 10.0.0.11: missing: 10.0.0.11; has lo UNKNOWN 127.0.0.1/8 eth0 UP " +
			"10.0.0.11/24; ",
			mend: `echo 2: eth0 inet 10.0.0.11/24 scope global eth0 >"$WORLD/address"`},
		{name: "address tentative",
			wrong: tell("address", "2: eth0 inet6 fd00::11/64 scope global tentative"),
			want:  "FAULT address addresses 10.0.0.11: ",
			mend:  `echo 2: eth0 inet6 fd00::11/64 scope global >"$WORLD/address"`},
		{name: "clock behind", wrong: tell("clock", "1000000000"),
			want: "FAULT clock-behind at_least 1790000000 date +%s: 100000000",
			mend: `echo 1800000000 >"$WORLD/clock"`},
		{name: "runtime", wrong: tell("active", "failed"),
			want: "FAULT runtime-active equals active systemctl is-active containerd.service: " +
				"failed; start containerd; then",
			mend: `echo active >"$WORLD/active"`},
		{name: "socket", wrong: func(m *aMachine) {
			socket := m.root + "/run/containerd/containerd.sock"
			must(m.t, os.Rename(socket, socket+".later"))
		},
			want: "FAULT runtime exist run/containerd/containerd.sock: missing: run/",
			mend: `mv "$KILN_ROOT"/run/containerd/containerd.sock.later ` +
				`"$KILN_ROOT"/run/containerd/containerd.sock`},

		// health
		{role: "control-plane", name: "kubelet", wrong: tell("no-kubelet", "active"),
			want: "FAULT kubelet-unhealthy kubelet.service: curl: (7) refused; " +
				"sh /etc/kiln/boot report; then it goes on by itself",
			mend: `rm "$WORLD/no-kubelet"; : >"$WORLD/running"`},
		{role: "control-plane", name: "kubelet crashes", wrong: func(m *aMachine) {
			m.know("no-kubelet", "activating\n")
			m.know("journal",
				`E1121 08:00:00 run.go:72] "command failed" err="unknown flag: --x"`+"\n")
		}, want: "FAULT kubelet-crash kubelet.service: curl: (7) refused; " +
			"E1121 08:00:00 run.go:72] 'command failed' err='unknown flag: --x'; sh",
			mend: `rm "$WORLD/no-kubelet"; : >"$WORLD/running"`},
		{role: "control-plane", name: "etcd", wrong: answer("GET", "http://127.0.0.1:2381/readyz",
			503, 0, "[+]a ok\n[-]data_corruption failed"),
			want: "FAULT etcd-unhealthy http://127.0.0.1:2381/readyz: " +
				"HTTP 503 [-]data_corruption failed; ", mend: answers},
		{role: "control-plane", name: "API server",
			wrong: answer("GET", "https://*/readyz", 500, 0,
				"[+]ping ok\n[-]etcd failed: reason withheld\n[-]x failed\nreadyz check failed"),
			want: "FAULT kube-apiserver-unhealthy https://10.0.0.11:6443/readyz: " +
				"HTTP 500 [-]etcd failed: reason withheld [-]x failed; ", mend: answers},
		{role: "control-plane", name: "API server ends at once", wrong: func(m *aMachine) {
			m.rule("GET", "https://10.0.0.11:6443/*", 9999, 0, 7, "")
			for i, text := range []string{"an older line", "Error: unknown flag: --x"} {
				path := fmt.Sprintf("/var/log/pods/kube-system_kube-apiserver-cp-1_0f/"+
					"kube-apiserver/%d.log", i)
				m.at(path, "2026-01-01T00:00:00.0Z stderr F more\n"+
					"2026-01-01T00:00:01.0Z stderr F "+text+"\n")
				at := time.Unix(1800000000+int64(i), 0)
				must(m.t, os.Chtimes(m.root+path, at, at))
			}
		},
			want: "FAULT kube-apiserver-unhealthy https://10.0.0.11:6443: curl: (7) as " +
				"the rule says; Error: unknown flag: --x; sh", mend: answers},
		{role: "control-plane", name: "controller-manager",
			wrong: answer("GET", "*:10257/*", 500, 0, ""),
			want:  "FAULT kube-controller-manager-unhealthy ", mend: answers},
		{role: "control-plane", name: "scheduler", wrong: answer("GET", "*:10259/*", 500, 0, ""),
			want: "FAULT kube-scheduler-unhealthy ", mend: answers},

		// objects
		{role: "control-plane", name: "credential refused",
			wrong: answer("GET", "*/configmaps/kiln", 401, 0,
				`{"message":"Unauthorized","reason":"Unauthorized"}`),
			want: "FAULT object " + kubeSystem + "/configmaps/kiln: HTTP 401: Unauthorized; ",
			mend: answers},
		{role: "control-plane", done: true, name: "object malformed",
			wrong: answer("PATCH", "*/coredns*", 422, 0,
				`{"kind":"Status","metadata":{},"status":"Failure","message":"Deployment `+
					`\"coredns\" `+
					`is invalid:\n spec","reason":"Invalid","details":{"causes":[{"reason":"x"}]},`+
					`"code":422}`),
			want: "FAULT object " + coredns + ": HTTP 422: " +
				"Deployment 'coredns' is invalid:n spec; ", mend: answers},
		{role: "control-plane", done: true, name: "object without message",
			wrong: answer("PATCH", "*/coredns*", 400, 0, secret),
			want:  "FAULT object " + coredns + ": HTTP 400; ", mend: answers},
		{role: "control-plane", done: true, name: "secret malformed",
			wrong: answer("PATCH", "*/secrets/*", 400, 0,
				`{"message":"cannot decode `+secret+`","reason":"x"}`),
			want: "FAULT object " + kubeSystem + "/secrets/token: HTTP 400; ", mend: answers},
		{role: "control-plane", done: true, name: "webhook down",
			wrong: answer("PATCH", "*/coredns*", 500, 0,
				`{"message":"failed calling webhook","reason":"InternalError"}`),
			want: "FAULT object " + coredns + ": HTTP 500: failed calling webhook; ",
			mend: answers},

		// node
		{name: "not registered", wrong: answer("GET", "*/nodes/*", 404, 0,
			`{"message":"nodes cp-1 not found","reason":"NotFound"}`),
			want: "FAULT node-not-registered https://10.0.0.11:6443/api/v1/nodes/cp-1: " +
				"HTTP 404; ", mend: answers},
		{name: "endpoint silent", wrong: answer("GET", "*/nodes/*", 0, 7, ""),
			want: "FAULT api-endpoint https://10.0.0.11:6443/api/v1/nodes/cp-1: curl: " +
				"(7) as the rule says; see that this leads to the cluster; " +
				"then it goes on by itself",
			mend: answers},
		{name: "endpoint of another cluster", wrong: answer("GET", "*/nodes/*", 0, 60, ""),
			want: "FAULT api-wrong-cluster https://10.0.0.11:6443/api/v1/nodes/cp-1: " +
				"curl: (60) as the rule says; ", mend: answers},
		{name: "endpoint of a name that the certificate lacks", wrong: func(m *aMachine) {
			m.know("curl-says", "SSL: no alternative certificate subject name matches target "+
				"host name 'api.test'\n")
			m.rule("GET", "*/nodes/*", 9999, 0, 60, "")
		}, want: "FAULT api-wrong-cluster https://10.0.0.11:6443/api/v1/nodes/cp-1: " +
			"curl: (60) SSL: no alternative certificate subject name matches target host name " +
			"'api.test'; " +
			"another cluster, or a certificate without this name: correct endpoint or " +
			"apiServer.certSANs",
			mend: answers},
		{name: "name taken", wrong: answer("GET", "*/nodes/*", 200, 0,
			`{"status":{"nodeInfo":{"machineID":"ec2d5a","bootID":"b"}}}`),
			want: "FAULT name-taken https://10.0.0.11:6443/api/v1/nodes/cp-1: " +
				"the Node of machine ec2d5a; another machine has this name: turn it off",
			mend: answers},

		// network
		{name: "not Ready", wrong: answer("GET", "*/nodes/*", 200, 0, notReady),
			want: noNetwork, mend: answers},
	} {
		t.Run(row.name, func(t *testing.T) {
			underOneShell(t, i, func(t *testing.T, shell []string) {
				role := row.role
				if role == "" {
					role = "worker"
				}
				m := newMachine(t, shell, role)
				m.data["step_timeout"] = "3"
				row.wrong(m)
				m.document()
				if row.done {
					m.wantDoneBut(row.want)
				} else {
					m.wantOverdue(row.want)
				}
				require.NotEmpty(t, m.status().Waiting)
				// The same once more, and then the cause is gone.
				m.know("meanwhile", "printf %s '"+row.mend+"' >\"$WORLD/meanwhile\"")
				out := m.wantMended()
				require.Contains(t, out, "FAULT ")
				require.Contains(t, out, ": it has come: ")
			})
		})
	}
}

// TestBootNamesWrongClusterAtOnce: a server of another cluster is a fault as soon as it answers,
// not after the step's time.
func TestBootNamesWrongClusterAtOnce(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		for role, url := range map[string]string{
			"worker": "*/nodes/*", "control-plane": "*10.0.0.12:2380/members",
		} {
			m := newMachine(t, shell, role)
			m.data["step_timeout"] = "600"
			m.rule("GET", url, 9999, 0, 60, "")
			m.document()
			m.wantOverdue(map[string]string{
				"worker":        "FAULT api-wrong-cluster https://10.0.0.11:6443/api/v1/nodes/",
				"control-plane": "FAULT etcd-peer-unclear https://10.0.0.12:2380: curl: (60) ",
			}[role])
			// It began at 100, and rests for a minute then.
			require.LessOrEqual(t, m.read(m.root+"/proc/uptime"), "180", role)
		}
	})
}

// TestBootComesAfterAnHour: a worker that is powered on long before its control plane joins without
// a person. It tries more and more slowly, reports its fault once, and no start counts against it.
func TestBootComesAfterAnHour(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["step_timeout"] = "1800"
		m.rule("GET", "*/nodes/*", 9999, 0, 7, "")
		m.document()
		m.know("meanwhile", `
		read -r up _ <"$KILN_ROOT/proc/uptime"
		echo "(7) after ${up%.*} ms" >"$WORLD/curl-says"
		[ "${up%.*}" -lt 14400 ] || rm -rf "$WORLD/rules"
		cp "$WORLD/then" "$WORLD/meanwhile"
		[ -e "$KILN_ROOT/var/lib/kiln/starts" ] && echo counted >"$WORLD/counted"
		:`)
		out := m.wantMended()
		require.GreaterOrEqual(t, m.status().Steps["node"], 14000)
		require.Equal(t, 1, strings.Count(out, "FAULT api-endpoint "), out)
		// The deadline of 1,800 seconds is noticed up to a minute after it.
		rested := strings.Fields(m.read(m.world + "/rested"))
		if len(rested) < 60 || len(rested) > 100 || rested[0] < "60.0" || rested[0] > "62.0" ||
			rested[len(rested)-1] != "300.0" {
			t.Errorf("it rested %q", rested)
		}
		require.Empty(t, m.read(m.world+"/counted"), "the start counts as one without progress")
	})
}

// TestBootPollsFast: while a wait is young the hook asks five times a second, and then at pauses of
// a thirtieth of the time, so that it never loses much of it. So what comes within 90 seconds is
// seen within three.
func TestBootPollsFast(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["step_timeout"] = "900"
		m.rule("GET", "*/nodes/*", 9999, 404, 0, "")
		must(t, os.Remove(m.bin+"/sleep"))
		write(t, m.bin+"/sleep", "#!/bin/sh\nread -r up _ <\"$KILN_ROOT/proc/uptime\"\n"+
			"echo \"$up $1\" >>\"$WORLD/slept\"\n"+
			"exec \"${0%/*}/real/sleep\" \"$1\"\n", 0o755)
		must(t, os.Mkdir(m.bin+"/real", 0o755))
		must(t, os.Symlink("../fakes/sleep", m.bin+"/real/sleep"))
		m.document()
		m.wantOverdue("FAULT node-not-registered ")
		for line := range strings.Lines(m.read(m.world + "/slept")) {
			var up, pause float64
			_, err := fmt.Sscan(line, &up, &pause)
			must(t, err)
			waited := up - 100
			if want := max(0.2, waited/30); waited < 900 && (pause > want || pause < want-0.1) {
				t.Errorf("after %.2f s it slept %.1f s", waited, pause)
			}
		}
	})
}

// TestBootGivesEachWaitItsTime: what was late takes nothing from what the step waits for next.
func TestBootGivesEachWaitItsTime(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "60"
		m.rule("GET", "*:10257/healthz", 9999, 503, 0, "")
		m.rule("GET", "*:10259/healthz", 10, 503, 0, "")
		m.document()
		m.know("meanwhile", `rm "$WORLD/rules/000"`)
		out := m.wantMended()
		require.Equal(t, 1, strings.Count(out, "FAULT "), out)
	})
}

// TestBootIsInterruptedWhileLate: systemctl stop ends a hook that is overdue. It says that it was
// interrupted, and no fault.
func TestBootIsInterruptedWhileLate(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "worker")
		m.data["step_timeout"] = "3"
		m.rule("GET", "*/nodes/*", 9999, 404, 0, "")
		m.document()
		m.know("meanwhile", "kill -TERM 0")
		_, code := m.run()
		if v := m.status(); code != 143 || v.Phase != "stopped" || len(v.Faults) != 0 {
			t.Errorf("exit status %d, %+v", code, v)
		}
		// What an earlier start reported is over at the next one.
		m.know("meanwhile", `: >"$WORLD/late"`)
		must(t, os.RemoveAll(m.world+"/rules"))
		m.wantDone()
		require.Empty(t, m.read(m.root+"/etc/issue.d/kiln.issue"),
			"the fault is still at the login prompt")
	})
}

// TestBootLabelsUntilItCannot: a control plane tries to label its Node as long as its credential
// lasts. Then a person has to, and the machine is done.
func TestBootLabelsUntilItCannot(t *testing.T) {
	underAShell(t, func(t *testing.T, shell []string) {
		m := newMachine(t, shell, "control-plane")
		m.data["step_timeout"] = "3"
		m.rule("PATCH", "*/nodes/cp-1*", 9999, 503, 0, "")
		m.document()
		m.know("meanwhile", `cp "$WORLD/then" "$WORLD/meanwhile"
		[ "$(wc -l <"$WORLD/rested")" -lt 4 ] || echo 1800600001 >"$WORLD/clock"`)
		require.Contains(t, m.wantMended(), "labels: warning: no credential to label the Node: ")
	})
}
