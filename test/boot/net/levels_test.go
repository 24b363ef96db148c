package main

import (
	"os"
	"path/filepath"
	"testing"
)

// withLogs returns a copy of the clean record with logs, in which one file has a line.
func withLogs(t *testing.T, where, line string) string {
	t.Helper()
	folder := planted(t, "failed", "")
	const etcd = "pods/kube-system_etcd-cp-1_1/etcd/0.log"
	files := map[string]string{
		"warnings": "", "cloud-init.log": "", etcd: "2026-11-22T21:13:35Z stderr F I1122 fine\n",
	}
	if where == "etcd" {
		where = etcd
	}
	if where != "journal" {
		files[where] += line + "\n"
	} else {
		folder = planted(t, where, line+"\n")
	}
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// listed returns the exceptions of the list.
func listed(t *testing.T) []exception {
	t.Helper()
	text, err := os.ReadFile("exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	known, err := parseExceptions(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return known
}

// TestLevels: a line of each level in each form is found, where it is and by its level, and what is
// no worse than information is not.
func TestLevels(t *testing.T) {
	t.Parallel()
	known := listed(t)
	const pod = "2026-11-22T21:13:35.1Z stderr F "
	for _, row := range []struct{ where, line, sign string }{
		{"etcd", pod + "E1122 21:13:35.778153       1 a.go:2] b", "error"},
		{"etcd", pod + "F1122 21:13:35.778153       1 a.go:2] b", "error"},
		{"etcd", pod + "W1122 21:13:35.778153       1 a.go:2] b", "warning"},
		{"etcd", pod + "I1122 21:13:35.778153       1 a.go:2] E", ""},
		{"etcd", pod + `{"level":"fatal","ts":"x"}`, "error"},
		{"etcd", pod + `{"level":"warn","ts":"x"}`, "warning"},
		{"etcd", pod + `{"level":"info","ts":"x"}`, ""},
		{"etcd", pod + "[ERROR] plugin/errors: 2", "error"},
		{"etcd", pod + "[WARNING] plugin/x: 2", "warning"},
		{"etcd", pod + "[INFO] plugin/x: 2", ""},
		{"journal", "[1.1] cp-1 kubelet[9]: E1122 21:13:34.0 no klog", ""},
		{"journal", "[1.1] cp-1 kubelet[9]: E1122 21:13:34.008160    9 a.go:1] b", "error"},
		{"journal", `[1.1] cp-1 containerd[9]: time="2026" level=warning msg="b"`, "warning"},
		{"journal", `[1.1] cp-1 containerd[9]: time="2026" level=error msg="b"`, "error"},
		{"journal", `[1.1] cp-1 containerd[9]: time="2026" level=info msg="b"`, ""},
		{"warnings", "[1.1] cp-1 systemd[1]: anything", "warning"},
		{"cloud-init.log", "2026-11-22 21:13:24,664 - a.py[WARNING]: b", "warning"},
		{"cloud-init.log", "2026-11-22 21:13:24,664 - a.py[ERROR]: b", "error"},
		{"cloud-init.log", "2026-11-22 21:13:24,664 - a.py[DEBUG]: b", ""},
	} {
		found, err := findings(withLogs(t, row.where, row.line), known)
		switch {
		case err != nil:
			t.Fatal(err)
		case row.sign == "" && len(found) == 0:
		case len(found) != 1 || found[0] != finding{row.where, row.sign, row.line}:
			t.Errorf("%s: %q: found %v, want %q", row.where, row.line, found, row.sign)
		}
	}
}

// TestListed: the list covers a line of a usual start, and not another fault in the same words.
func TestListed(t *testing.T) {
	t.Parallel()
	known := listed(t)
	const klog = "[1.1] cp-1 kubelet[9]: E1122 21:13:34.008160    9 "
	for line, want := range map[string]bool{
		klog + `kubelet_node_status.go:108] "Unable to register node with API server" ` +
			`err="Post \"https://a:6443/api/v1/nodes\": dial tcp 1.1.1.1:6443: ` +
			`connect: connection refused" node="cp-1"`: true,
		klog + `kubelet_node_status.go:108] "Unable to register node with API server" ` +
			`err="Post \"https://a:6443/api/v1/nodes\": tls: certificate signed by ` +
			`unknown authority" node="cp-1"`: false,
	} {
		if got := excepted(finding{"journal", "error", line}, known); got != want {
			t.Errorf("%q: %t, want %t", line, got, want)
		}
	}
}
