package need

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shells are the shells that are /bin/sh on the systems that kiln supports, with the words that
// start each of them.
var shells = map[string][]string{
	"bash":    {"bash", "--posix"},
	"busybox": {"busybox", "sh"},
	"dash":    {"dash"},
}

// Shells returns the names of the shells that are /bin/sh on the systems that kiln supports,
// sorted.
func Shells() []string { return slices.Sorted(maps.Keys(shells)) }

// Words returns the words that start a shell.
func Words(shell string) []string { return slices.Clone(shells[shell]) }

// Usable returns the names of the shells that tests can use, sorted. It fails without any.
func Usable(t testing.TB) (names []string) {
	t.Helper()
	for _, name := range Shells() {
		if asked(t, name).look().path != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		t.Fatal("there is no shell that starts the programs of PATH: install dash or bash")
	}
	return names
}

// Basic returns the path of a program that every system has.
func Basic(t testing.TB, name string) string {
	t.Helper()
	path := pathOf(name)
	if path == "" {
		t.Fatalf("%s is neither in PATH nor in /usr/sbin", name)
	}
	return path
}

// pathOf returns the path of a program, or "". It looks into /usr/sbin too, which only root has in
// PATH.
func pathOf(name string) string {
	for _, name := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// program looks for the first of some programs.
func program(names ...string) func() found {
	return sync.OnceValue(func() found {
		for _, name := range names {
			if path := pathOf(name); path != "" {
				return found{path: path}
			}
		}
		return found{want: strings.Join(names, " or ")}
	})
}

// programAt looks for a program that is in no folder of PATH.
func programAt(file string) func() found {
	return sync.OnceValue(func() found {
		if path, err := exec.LookPath(file); err == nil {
			return found{path: path}
		}
		return found{want: filepath.Base(file)}
	})
}

// shell looks for a shell that starts the programs of PATH, and so the fakes of tests. Debian's
// busybox-static starts its own instead.
func shell(name string) func() found {
	return sync.OnceValue(func() found {
		path := pathOf(name)
		if path == "" {
			return found{want: name}
		}
		words := append(Words(name)[1:], "-c", "PATH=/none; date")
		if exec.Command(path, words...).Run() == nil { // #nosec G204 -- a shell of the map above
			return found{want: "a " + name + " that starts the programs of PATH, not its own"}
		}
		return found{path: path}
	})
}

// file looks for a file.
func file(path, want string) func() found {
	return sync.OnceValue(func() found {
		if _, err := os.Stat(path); err != nil {
			return found{want: want}
		}
		return found{path: path}
	})
}

// modules looks for modules of the system's Python.
func modules(names, want string) func() found {
	return sync.OnceValue(func() found {
		// #nosec G204 -- the modules are named in Things
		if exec.Command(Python, "-c", "import "+names).Run() != nil {
			return found{want: want}
		}
		return found{path: Python}
	})
}

// both looks for two things, and returns the first, or the one that is not here.
func both(first, second func() found) func() found {
	return func() found {
		if first().path != "" && second().path == "" {
			return second()
		}
		return first()
	}
}

// right tries what that right allows.
func right(name string, try func() error) func() found {
	return sync.OnceValue(func() found {
		if try() != nil {
			return found{want: name}
		}
		return found{path: name}
	})
}

func ipv6() error {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return err
	}
	return l.Close()
}

// image is a small ISO 9660 image, compressed.
//
//go:embed image.iso.gz
var image []byte

// imageMount mounts an image, as root and with loop devices.
func imageMount() error {
	return inFolder(func(dir string) error {
		r, err := gzip.NewReader(bytes.NewReader(image))
		if err != nil {
			return err
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		file := filepath.Join(dir, "image.iso")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
		mount := filepath.Join(dir, "mount")
		if err := os.Mkdir(mount, 0o700); err != nil {
			return err
		}
		if err := exec.Command("mount", "-o", "ro,loop", file, mount).Run(); err != nil {
			return err
		}
		return exec.Command("umount", mount).Run()
	})
}

// tracing lets strace answer a call of the system.
func tracing() error {
	return exec.Command("strace", "-o", os.DevNull, "-P", "/", "-e", "inject=fsync:error=EIO",
		"true").Run()
}

func ownFiles() error {
	const try = "mount -t tmpfs -o size=8k none /mnt"
	return exec.Command("unshare", "--mount", "sh", "-c", try).Run()
}

// ownNetwork starts systemd-networkd, if it is here, without any file.
func ownNetwork() error {
	const try = "mount -t tmpfs none /mnt"
	err := exec.Command("unshare", "--net", "--mount", "sh", "-c", try).Run()
	if err != nil || pathOf(networkd) == "" {
		return err
	}
	return inFolder(func(dir string) error {
		_, err := Networkd(dir)
		return err
	})
}

// root gives a file away.
func root() error {
	return inFolder(func(dir string) error { return os.Chown(dir, os.Geteuid()+1, -1) })
}

func pseudoTerminals() error {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// inFolder calls do with an empty folder.
func inFolder(do func(dir string) error) error {
	dir, err := os.MkdirTemp("", "kiln")
	if err != nil {
		return err
	}
	err = do(dir)
	if removed := os.RemoveAll(dir); err == nil {
		err = removed
	}
	return err
}
