package ignition

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// system is an operating system as Ignition finds it: what is read-only, what is a link, and where
// users are known.
type system struct {
	name string
	// usr are further files under /usr, which is otherwise this computer's own and read-only; etc
	// are those in /etc. A text that begins with "-> " makes a link.
	usr, etc map[string]string
	// database is the folder of the second user database, if there is one.
	database string
	links    map[string]string
	// writable are folders with a file system of their own; the root is writable if there are none.
	writable []string
	// core is the number of the user core in the image, 0 if base or the document makes him.
	core int
	// base is a config of the system's own, which is merged under the document.
	base string
}

// The facts are those of flatcar/baselayout (baselayout/passwd, nsswitch.conf),
// coreos/fedora-coreos-config (manifests/passwd and group, sysusers.d/00-coreos-static.conf, the
// dracut module ignition-conf) and openSUSE's documentation of MicroOS' subvolumes.
var systems = []system{{
	name:     "flatcar",
	core:     500,
	database: "share/baselayout",
	usr: map[string]string{
		"share/baselayout/passwd": "root:x:0:0:root:/root:/bin/bash\n" +
			"etcd:x:232:232::/dev/null:/sbin/nologin\n" +
			"core:x:500:500:Flatcar Admin:/home/core:/bin/bash\n",
		"share/baselayout/group": "root:x:0:root\n" +
			"wheel:x:10:root,core\n" +
			"sudo:x:150:\n" +
			"etcd:x:232:\n" +
			"docker:x:233:core\n" +
			"systemd-journal:x:248:core\n" +
			"core:x:500:\n",
		// What /etc shows until something is written there.
		"share/flatcar/etc/nsswitch.conf": "passwd: files usrfiles\n" +
			"shadow: files\n" +
			"group: files usrfiles\n",
		"share/flatcar/etc/motd": "-> ../run/flatcar/motd",
	},
	etc: map[string]string{ // copied from the second database by flatcar-tmpfiles, before Ignition
		"passwd": "root:x:0:0:root:/root:/bin/bash\n" +
			"core:x:500:500:Flatcar Admin:/home/core:/bin/bash\n",
		"group": "root:x:0:root\n" +
			"wheel:x:10:root,core\n" +
			"sudo:x:150:\n" +
			"docker:x:233:core\n" +
			"systemd-journal:x:248:core\n" +
			"core:x:500:\n",
		"shadow":  "root:*:15887:0:::::\ncore:*:15887:0:::::\n",
		"gshadow": "",
	},
}, {
	name:     "fedora-coreos",
	database: "lib",
	usr: map[string]string{
		"lib/passwd": "nobody:x:99:99:Nobody:/:/usr/sbin/nologin\n" +
			"polkitd:x:999:998:User for polkitd:/:/usr/sbin/nologin\n" +
			"etcd:x:998:997:etcd user:/var/lib/etcd:/usr/sbin/nologin\n",
		"lib/group": "nobody:x:99:\nssh_keys:x:999:\npolkitd:x:998:\netcd:x:997:\n",
		"local":     "-> ../var/usrlocal",
	},
	etc: map[string]string{
		"nsswitch.conf": "passwd: files usrfiles\nshadow: files\ngroup: files usrfiles\n",
		"passwd":        "root:x:0:0:root:/root:/bin/bash\n",
		"group": "root:x:0:\n" +
			"adm:x:4:\n" +
			"wheel:x:10:\n" +
			"sudo:x:16:\n" +
			"systemd-journal:x:190:\n",
		"shadow":                 "root:*::0:99999:7:::\n",
		"gshadow":                "",
		"containerd/config.toml": "disabled_plugins = []\n",
	},
	links: map[string]string{
		"home": "var/home", "root": "var/roothome", "opt": "var/opt", "srv": "var/srv",
		"mnt": "var/mnt", "media": "run/media",
	},
	writable: []string{"etc", "var"},
	base: `{"ignition":{"version":"3.0.0"},"passwd":{"users":[{"name":"core",` +
		`"gecos":"CoreOS Admin","groups":["adm","sudo","systemd-journal","wheel"]}]}}`,
}, {
	name: "microos",
	etc: map[string]string{
		"nsswitch.conf": "passwd: files\nshadow: files\ngroup: files\n",
		"passwd": "root:x:0:0:root:/root:/bin/bash\n" +
			"nobody:x:65534:65534:nobody:/var/lib/nobody:/bin/bash\n",
		"group":    "root:x:0:\nshadow:x:15:\nnobody:x:65534:\n",
		"shadow":   "root:*:::::::\nnobody:!:::::::\n",
		"gshadow":  "",
		"hostname": "localhost\n",
	},
	writable: []string{"etc", "var", "home", "opt", "root", "srv", "usr/local"},
}}

// initrd is the folder of the system's own configs, which on a machine lies in its initrd.
func (s *system) initrd() string { return filepath.Join(programs, "initrd", s.name) }

// image makes the files that every root of s shares.
func (s *system) image() {
	usr := filepath.Join(programs, "usr", s.name)
	must(os.MkdirAll(usr, 0o755))
	write(usr, s.usr)
	must(os.MkdirAll(s.initrd()+"/base.d", 0o755))
	if s.base != "" {
		must(os.WriteFile(s.initrd()+"/base.d/00-core.ign", []byte(s.base), 0o600))
	}
	if s.database == "" {
		return
	}
	// The C library looks for its modules in its own folder.
	libraries, err := filepath.Glob("/usr/lib*/*/libc.so.6")
	must(err)
	if len(libraries) == 0 {
		libraries = []string{"/usr/lib64/libc.so.6"}
	}
	module := filepath.Join(usr, strings.TrimPrefix(filepath.Dir(libraries[0]), "/usr"),
		"libnss_usrfiles.so.2")
	must(os.MkdirAll(filepath.Dir(module), 0o755))
	gcc := exec.Command(
		"gcc", "-Wall", "-Werror", "-shared", "-fPIC", "-D_GNU_SOURCE",
		`-DFOLDER="/usr/`+s.database+`"`, "-o", module, "testdata/usrfiles.c",
	)
	if out, err := gcc.CombinedOutput(); err != nil {
		panic(string(out))
	}
}

// root returns a new root of s, as Ignition finds it: mounted, and nothing of the document there.
func (s *system) root(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp(programs, "root")
	check(t, err)
	mount(t, "tmpfs", root, "tmpfs", "mode=0755")
	folders := []string{"boot", "dev", "etc", "proc", "run", "sys", "tmp", "usr", "var"}
	for _, folder := range append(folders, s.writable...) {
		if folder != "usr/local" {
			check(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
		}
	}
	for _, folder := range []string{"bin", "lib", "lib64", "sbin"} {
		check(t, os.Symlink("usr/"+folder, filepath.Join(root, folder)))
	}
	for _, folder := range []string{"home", "root", "opt", "srv", "mnt", "media"} {
		if to := s.links[folder]; to != "" {
			check(t, os.Symlink(to, filepath.Join(root, folder)))
		} else {
			check(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
		}
	}
	usr := filepath.Join(programs, "usr", s.name)
	// without an upper folder it is read-only
	mount(t, "overlay", root+"/usr", "overlay", "lowerdir="+usr+":/usr")
	for _, folder := range s.writable {
		mount(t, "tmpfs", filepath.Join(root, folder), "tmpfs", "mode=0755")
	}
	if lower := usr + "/share/flatcar/etc"; exists(lower) {
		check(t, os.MkdirAll(root+"/boot/etc/upper", 0o755))
		check(t, os.MkdirAll(root+"/boot/etc/work", 0o755))
		mount(t, "overlay", root+"/etc", "overlay",
			"lowerdir="+lower+",upperdir="+root+"/boot/etc/upper,workdir="+root+"/boot/etc/work")
	}
	write(root+"/etc", s.etc)
	for _, to := range s.links { // made by systemd-tmpfiles before Ignition writes files
		if below, ok := strings.CutPrefix(to, "var/"); ok {
			check(t, os.MkdirAll(filepath.Join(root, "var", below), 0o755))
		}
	}
	if s.usr["local"] != "" {
		check(t, os.MkdirAll(root+"/var/usrlocal", 0o755))
	}
	if uid := s.core; uid != 0 { // whom Ignition does not make has a home already
		check(t, os.MkdirAll(root+"/home/core", 0o755))
		check(t, os.Chown(root+"/home/core", uid, uid))
	}
	check(t, os.MkdirAll(root+"/var/lib", 0o755))
	check(t, os.MkdirAll(root+"/var/log", 0o755))
	// For the programs that run there afterwards.
	mount(t, "proc", root+"/proc", "proc", "")
	mount(t, "tmpfs", root+"/run", "tmpfs", "mode=0755")
	check(t, unix.Mknod(root+"/dev/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	if len(s.writable) > 0 {
		check(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	}
	return root
}

func mount(t *testing.T, source, target, kind, options string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, 0, options); err != nil {
		t.Fatalf("mount %s %s: %v", target, options, err)
	}
	t.Cleanup(func() { unix.Unmount(target, unix.MNT_DETACH) })
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// write writes files, given by their paths below dir.
func write(dir string, files map[string]string) {
	for name, text := range files {
		file := filepath.Join(dir, name)
		must(os.MkdirAll(filepath.Dir(file), 0o755))
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			must(os.Symlink(to, file))
			continue
		}
		must(os.WriteFile(file, []byte(text), 0o644))
	}
}
