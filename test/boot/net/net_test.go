package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClean: the record of a boot in which nothing went wrong has no finding.
func TestClean(t *testing.T) {
	t.Parallel()
	if found, err := findings("testdata/clean", nil); err != nil || len(found) > 0 {
		t.Errorf("%v, %v; want none", found, err)
	}
}

// TestPlanted: each sign that is planted into that record is found, by its name and once.
func TestPlanted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ file, line, sign string }{
		{"console", "[    2.1] Kernel panic - not syncing: VFS", "kernel panic"},
		{"console", "You are in emergency mode. After logging in, type", "emergency shell"},
		{"journal", "[5.1] cp-1 systemd[1]: kiln.service: Found ordering cycle on a.service/start",
			"ordering cycle"},
		{"journal", "[9.9] cp-1 kernel: Out of memory: Killed process 812 (etcd)",
			"out of memory"},
		{"journal", "[9.9] cp-1 systemd[1]: kubelet.service: Failed with result 'oom-kill'.",
			"out of memory"},
		{"journal", "[9.9] cp-1 kernel: containerd[5]: segfault at 0 ip 0", "crash"},
		{"journal", "[9.9] cp-1 kubelet[812]: panic: runtime error: index", "crash"},
		{"journal", "[9.9] cp-1 systemd[1]: a.service: Main process exited, code=dumped, " +
			"status=11/SEGV", "crash"},
		{"journal", `[9.9] cp-1 audit[1]: AVC avc:  denied  { write } for comm="etcd"`, "SELinux"},
		{"console", "[FAILED] Failed to start kiln.service.", "failed unit"},
		{"journal", "[9.9] cp-1 systemd[1]: a.service: Failed with result 'exit-code'.",
			"failed unit"},
		{"journal", "[9.9] cp-1 systemd[1]: Dependency failed for kubelet.service - kubelet.",
			"unit that was not started"},
		{"console", "[ TIME ] Timed out waiting for device dev-vdb.device - /dev/vdb.",
			"unit that was not started"},
		{"failed", "a.service loaded failed failed A", "failed unit"},
		{"journal", "[9.9] cp-1 systemd[1]: /etc/systemd/system/a.service:3: Unknown key 'X'",
			"unit file"},
		{"console", "FAULT cpus 1: found 1, wanted 2; give it more", "fault of the hook"},
	} {
		folder := planted(t, row.file, row.line+"\n")
		found, err := findings(folder, nil)
		if err != nil {
			t.Fatal(err)
		}
		hit := false
		for _, f := range found {
			hit = hit || f.where == row.file && f.sign == row.sign && f.line == row.line
		}
		if !hit {
			t.Errorf("%s: %q: found %v, want the sign %q", row.file, row.line, found, row.sign)
		}
	}
}

// TestCloudInit: each error in cloud-init's status is a finding, and so is another end than done.
func TestCloudInit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"status":"running"}`:                               "status is running, not done",
		`{"status":"done","errors":["no disk"]}`:             "no disk",
		`{"status":"done","recoverable_errors":{"W":["x"]}}`: "x",
	} {
		folder := planted(t, "failed", "")
		path := filepath.Join(folder, "cloud-init.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := findings(folder, nil)
		if err != nil || len(found) != 1 || found[0].line != want {
			t.Errorf("%s: %v, %v; want %q", text, found, err, want)
		}
	}
}

// TestRecordIsComplete: a record without a console or a journal is an error, not a clean boot.
func TestRecordIsComplete(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"console", "journal", "failed"} {
		folder := planted(t, "failed", "")
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		if found, err := findings(folder, nil); err == nil {
			t.Errorf("without %s: %v, and no error", name, found)
		}
	}
}

// TestExceptions: an exception covers its line in its file alone, and each has a date and a reason.
func TestExceptions(t *testing.T) {
	t.Parallel()
	block := "date: 2026-11-22\nwhere: journal\nline: a\\.service: Failed with\nreason: known\n"
	known, err := parseExceptions("# comment\n" + block + "\n" + block)
	if err != nil || len(known) != 2 {
		t.Fatal(known, err)
	}
	line := "systemd[1]: a.service: Failed with result 'exit-code'."
	for _, row := range []struct {
		file, line string
		want       int
	}{{"journal", line, 0}, {"console", strings.Replace(line, "a.", "FAULT b ", 1), 2},
		{"journal", strings.Replace(line, "a.", "b.", 1), 1}} {
		found, err := findings(planted(t, row.file, row.line+"\n"), known)
		if err != nil || len(found) != row.want {
			t.Errorf("%s: %q: %v, %v; want %d", row.file, row.line, found, err, row.want)
		}
	}
	for _, field := range []string{"date: 2026-11-22\n", "where: journal\n", "reason: known\n"} {
		if _, err := parseExceptions(strings.Replace(block, field, "", 1)); err == nil {
			t.Errorf("an exception without %q is accepted", field)
		}
	}
	text, err := os.ReadFile("exceptions.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parseExceptions(string(text)); err != nil {
		t.Error(err)
	}
}

// planted returns a copy of the clean record with text added to a file.
func planted(t *testing.T, file, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/clean")); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(folder, file), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}
