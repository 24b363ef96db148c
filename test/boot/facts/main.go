// Command facts prints, as JSON, what the CIS evaluator of test/judges reads of a machine that runs
// (type machine.Machine there): the command line of each process, and mode and owner of the files
// that the benchmark names.
//
//	facts [ROOT]
//
// runs as root on the machine. ROOT is where the machine's files are, / if it is not given. No
// secret is in what it prints: it reads two contents, the kubelet's configuration, and of the
// encryption configuration nothing but the names of resources and providers.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"
)

// places are the files and directories whose mode and owner are read, with all that is below them.
var places = []string{
	"/etc/kubernetes",
	"/etc/etcd",
	"/etc/systemd/system/kubelet.service",
	"/etc/systemd/system/kubelet.service.d",
	"/lib/systemd/system/kubelet.service",
	"/var/lib/cni/networks",
	kubeletConfig,
}

const kubeletConfig = "/var/lib/kubelet/config.yaml"

// facts is what is printed.
type facts struct {
	Dirs, Files []file
	Booted      booted
}

type booted struct{ Processes []process }

type process struct {
	ID      int
	Command []string
}

type file struct {
	Path        string
	Mode        uint32
	User, Group string
	Content     []byte `json:",omitempty"`
}

func main() {
	root := "/"
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	found, err := read(root)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "facts:", err)
		os.Exit(1)
	}
}

// read returns the facts of the machine whose files are below root.
func read(root string) (*facts, error) {
	var m facts
	var err error
	if m.Booted.Processes, err = processes(root); err != nil {
		return nil, err
	}
	users, err := names(filepath.Join(root, "/etc/passwd"))
	if err != nil {
		return nil, err
	}
	groups, err := names(filepath.Join(root, "/etc/group"))
	if err != nil {
		return nil, err
	}
	add := func(name string, info fs.FileInfo) {
		owner := info.Sys().(*syscall.Stat_t)
		f := file{
			Path: name, Mode: owner.Mode & 0o7777,
			User: users.of(owner.Uid), Group: groups.of(owner.Gid),
		}
		switch {
		case info.IsDir():
			m.Dirs = append(m.Dirs, f)
		case info.Mode().IsRegular():
			m.Files = append(m.Files, f)
		}
	}
	for _, place := range places {
		if err := walk(root, place, add); err != nil {
			return nil, err
		}
	}
	if dir := m.Booted.flag("etcd", "data-dir"); dir != "" {
		info, err := os.Lstat(filepath.Join(root, dir))
		if err != nil {
			return nil, err
		}
		add(dir, info) // what is in it is etcd's own
	}
	encryption := m.Booted.flag("kube-apiserver", "encryption-provider-config")
	for i := range m.Files {
		f := &m.Files[i]
		if f.Path != kubeletConfig && f.Path != encryption {
			continue
		}
		if f.Content, err = os.ReadFile(filepath.Join(root, f.Path)); err != nil {
			return nil, err
		}
		if f.Path == encryption {
			if f.Content, err = providers(f.Content); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
		}
	}
	return &m, nil
}

// walk calls add for a file, or for a directory and all that is in it. A file may be gone before
// it is looked at.
func walk(root, place string, add func(string, fs.FileInfo)) error {
	return filepath.WalkDir(filepath.Join(root, place),
		func(name string, d fs.DirEntry, err error) error {
			if err == nil {
				var info fs.FileInfo
				if info, err = d.Info(); err == nil {
					add(path.Join("/", strings.TrimPrefix(name, path.Clean(root))), info)
				}
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
}

// processes returns the processes that have a command line, by their numbers. Kernel threads and
// processes that have ended have none.
func processes(root string) (out []process, err error) {
	entries, err := os.ReadDir(filepath.Join(root, "/proc"))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(filepath.Join(root, "/proc", e.Name(), "cmdline"))
		if err != nil || len(line) == 0 {
			continue
		}
		command := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		out = append(out, process{id, command})
	}
	slices.SortFunc(out, func(a, b process) int { return a.ID - b.ID })
	return out, nil
}

// flag returns the value of a flag of a program that runs, or "".
func (b *booted) flag(program, name string) string {
	for _, p := range b.Processes {
		if path.Base(p.Command[0]) != program {
			continue
		}
		for _, word := range p.Command {
			if value, ok := strings.CutPrefix(word, "--"+name+"="); ok {
				return value
			}
		}
	}
	return ""
}

// accounts are names of users or groups by their numbers.
type accounts map[string]string

// names reads a file such as /etc/passwd: the name is the first field, the number the third.
func names(file string) (accounts, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := accounts{}
	for line := range bytes.Lines(text) {
		if fields := strings.Split(string(line), ":"); len(fields) > 2 && out[fields[2]] == "" {
			out[fields[2]] = fields[0]
		}
	}
	return out, nil
}

// of returns the name of a number, or the number if it has no name.
func (a accounts) of(id uint32) string {
	number := strconv.FormatUint(uint64(id), 10)
	if name, ok := a[number]; ok {
		return name
	}
	return number
}

// providers returns an encryption configuration without keys: the names of its resources and
// providers alone.
func providers(config []byte) ([]byte, error) {
	type resource struct {
		Resources []string         `yaml:"resources" json:"resources"`
		Providers []map[string]any `yaml:"providers" json:"providers"`
	}
	var c struct {
		Resources []resource `yaml:"resources" json:"resources"`
	}
	if yaml.Unmarshal(config, &c) != nil {
		return nil, errors.New("it is not YAML") // the error may quote a key
	}
	for _, r := range c.Resources {
		for _, p := range r.Providers {
			for name := range p {
				p[name] = struct{}{}
			}
		}
	}
	return json.Marshal(c)
}
