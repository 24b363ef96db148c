package assembly

import (
	"fmt"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// Packages returns the unit that installs the packages of m, and the files that it needs. key is
// the public key of the repository. A machine whose programs come from elsewhere has no such unit.
func Packages(m *plan.Machine, proxy []plan.Variable, key []byte) (unit string, files []node.File) {
	b := &m.Settings.Binaries
	if !m.Packaged() {
		return "", nil
	}
	p := m.System.Packages
	url := target.Mirrored(p.Repository(fmt.Sprint("1.", m.KubeletMinor)), b.Mirror)
	version := strings.TrimPrefix(m.KubeletVersion, "v")
	form := forms[p.Manager]
	add := func(path, content, why string) {
		files = append(files,
			node.File{Path: path, Mode: 0o644, Content: []byte(content), Why: why})
	}
	add(form.key, string(key), "the key of the packages")
	add(form.repository, fmt.Sprintf(form.text, url, form.key), "where packages come from")

	unit = "[Unit]\nDescription=kiln: install packages, whose content no document fixes\n\n" +
		"[Service]\n" +
		"Type=oneshot\nSyslogIdentifier=kiln-packages\n"
	for _, v := range proxy {
		unit += "Environment=" + strings.ToLower(v.Name) + "=" + v.Value + "\n"
	}
	return unit + fmt.Sprintf(form.commands, version, p.Runtime), files
}

// form is what a package manager reads and is told.
type form struct {
	repository, text string // its file: URL of the repository, path of the key
	key              string
	commands         string // version of the kubelet, package with containerd
}

var forms = map[string]form{
	target.APT: {
		repository: "/etc/apt/sources.list.d/kubernetes.sources",
		text:       "Types: deb\nURIs: %s\nSuites: /\nSigned-By: %s\n",
		key:        "/etc/apt/keyrings/kubernetes.asc",
		// A power cut may leave packages half installed, of which apt says that all is well, and
		// damaged archives, of which it compares the sizes alone. dpkg may fail while another apt
		// works. A server that fails is an error (Error-Mode), another apt is waited for at install
		// (Lock::Timeout), and the files of the document stay as they are (force-confold). The CNI
		// plugins are a package that the kubelet's depends on.
		commands: "Environment=DEBIAN_FRONTEND=noninteractive\n" +
			"ExecStart=-/bin/sh -c '" +
			`for p in $$(dpkg-query -W -f "$${db:Status-Eflag}/$${Package} "); do case $$p in ` +
			`reinstreq/*) dpkg --remove --force-remove-reinstreq --force-depends "$${p#*/}" ;; ` +
			"esac; done; dpkg --force-confold --configure -a; apt-get clean'\n" +
			"ExecStart=/usr/bin/apt-get -qq -o Acquire::Retries=10 " +
			"-o APT::Update::Error-Mode=any update\n" +
			"ExecStart=/usr/bin/apt-get -qq -o Acquire::Retries=10 --no-install-recommends " +
			"--allow-change-held-packages -o DPkg::Lock::Timeout=600 " +
			"-o Dpkg::Options::=--force-confold install kubelet=%[1]s-* %[2]s\n" +
			"ExecStart=/usr/bin/apt-mark -qq hold kubelet %[2]s\n",
	},
	target.DNF: {
		repository: "/etc/yum.repos.d/kubernetes.repo",
		text: "[kubernetes]\nname=Kubernetes\nbaseurl=%s\nenabled=1\ngpgcheck=1\n" +
			"repo_gpgcheck=1\ngpgkey=file://%s\nexclude=kubelet\n",
		key: "/etc/pki/rpm-gpg/kubernetes.asc",
		commands: "ExecStart=/usr/bin/dnf -q -y --disableexcludes=kubernetes install " +
			"kubelet-%[1]s %[2]s\n",
	},
}
