package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const key = "bm90LWZvci1vdGhlcnM="

// TestRead: modes, owners by name, command lines, and no secret.
func TestRead(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, content := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/sh\nrunner:x:" + number(os.Getuid()) + ":\n",
		"etc/group":  "wheel:x:" + number(os.Getgid()) + ":\n",
		"proc/12/cmdline": "/usr/bin/kube-apiserver\x00--profiling=false\x00" +
			"--encryption-provider-config=/etc/kubernetes/apiserver/encryption.yaml\x00",
		"proc/3/cmdline":  "etcd\x00--data-dir=/var/lib/other\x00--name=\x00",
		"proc/4/cmdline":  "", // a kernel thread
		"proc/sys/file":   "",
		"var/lib/other/x": key,

		"etc/kubernetes/pki/ca.key": key,
		"etc/kubernetes/apiserver/encryption.yaml": `{"kind": "EncryptionConfiguration",
			"resources": [{"resources": ["secrets"], "providers": [
			{"secretbox": {"keys": [{"name": "one", "secret": "` + key + `"}]}},
			{"identity": {}}]}]}`,
		"var/lib/kubelet/config.yaml": "readOnlyPort: 0\n",
	} {
		write(t, filepath.Join(root, name), content)
	}
	if err := os.Chmod(filepath.Join(root, "etc/kubernetes/pki/ca.key"), 0o640); err != nil {
		t.Fatal(err)
	}

	m, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []process{
		{3, []string{"etcd", "--data-dir=/var/lib/other", "--name="}},
		{12, []string{"/usr/bin/kube-apiserver", "--profiling=false",
			"--encryption-provider-config=/etc/kubernetes/apiserver/encryption.yaml"}},
	}
	if !slices.EqualFunc(m.Booted.Processes, want, func(a, b process) bool {
		return a.ID == b.ID && slices.Equal(a.Command, b.Command)
	}) {
		t.Errorf("processes are %+v", m.Booted.Processes)
	}
	user := "runner"
	if os.Getuid() == 0 {
		user = "root" // the first name of a number counts
	}
	for _, row := range []file{
		{"/etc/kubernetes/pki/ca.key", 0o640, user, "wheel", nil},
		{kubeletConfig, 0o600, user, "wheel", []byte("readOnlyPort: 0\n")},
		{
			"/etc/kubernetes/apiserver/encryption.yaml", 0o600, user, "wheel",
			[]byte(`{"resources":[{"resources":["secrets"],` +
				`"providers":[{"secretbox":{}},{"identity":{}}]}]}`),
		},
	} {
		i := slices.IndexFunc(m.Files, func(f file) bool { return f.Path == row.Path })
		if i < 0 {
			t.Errorf("%s is absent", row.Path)
		} else if got := m.Files[i]; got.Mode != row.Mode || got.User != row.User ||
			got.Group != row.Group || string(got.Content) != string(row.Content) {
			t.Errorf("%s: got %+v, want %+v", row.Path, got, row)
		}
	}
	if !slices.ContainsFunc(m.Dirs, func(f file) bool {
		return f.Path == "/var/lib/other" && f.Mode == 0o700 && f.User == user
	}) {
		t.Errorf("etcd's data is not in %+v", m.Dirs)
	}

	for _, f := range m.Files {
		if strings.Contains(string(f.Content), key) {
			t.Errorf("%s: the record has the key", f.Path)
		}
	}
}

// TestNumbers: an owner without a name stays a number.
func TestNumbers(t *testing.T) {
	t.Parallel()
	if got := (accounts{"0": "root"}).of(2379); got != "2379" {
		t.Errorf("the owner is %s", got)
	}
}

// TestBroken: a broken encryption configuration is an error that does not quote it.
func TestBroken(t *testing.T) {
	t.Parallel()
	_, err := providers([]byte("resources: " + key))
	if err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("the error is %v", err)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func number(id int) string { return accounts{}.of(uint32(id)) }
