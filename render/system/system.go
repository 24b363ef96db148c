// Package system writes what an operating system reads of its surroundings: time servers, time zone,
// host names, CAs that it is to trust, when it may update itself. It knows the forms of these files.
// Package target has which system reads which of them.
package system

import (
	"encoding/pem"
	"slices"
	"strconv"
	"strings"

	"kiln/pki"
	"kiln/render/node"
	"kiln/render/plan"
	"kiln/render/target"
)

// Add adds to n what belongs to the surroundings of a machine. It returns the text of
// target.SystemUnit and the fields that the unit is made from; the text is empty if the machine
// needs none. text returns the content of a file beside cluster.yaml.
func Add(
	m *plan.Machine, n *node.Node, text func(name string) []byte,
) (systemUnit string, fields []string) {
	s := &m.Settings
	var commands []string
	add := func(field string, made ...node.File) {
		for _, f := range made {
			f.From = append(f.From, s.Path(field))
			n.Files = append(n.Files, f)
		}
	}
	command := func(field, line string) {
		commands, fields = append(commands, line), append(fields, s.Path(field))
	}
	if len(s.TrustedCAsFrom) > 0 {
		add("trustedCAsFrom", authorities(m.System.Trust, s.TrustedCAsFrom, text)...)
		command("trustedCAsFrom", m.System.Trust.Update)
	}
	if s.TimeZone != "" {
		command("timeZone", "timedatectl set-timezone "+s.TimeZone)
	}
	if len(s.NTPServers) > 0 {
		for _, service := range m.System.TimeServices {
			add("ntpServers", timeServers(service, s.NTPServers))
			command("ntpServers", "-systemctl --no-block try-restart "+service.Unit)
		}
	}
	if len(s.HostAliases) > 0 {
		add("hostAliases", hosts(m))
	}
	u := updatesOf(m)
	add("updates", u.files...)
	for _, line := range u.commands {
		command("updates", line)
	}
	for _, name := range u.masked {
		n.Units = append(n.Units, node.Unit{Name: name, Masked: true})
	}
	if len(commands) == 0 {
		return "", nil
	}
	return unit(commands), slices.Compact(fields)
}

// timeServers returns the configuration of a program that may set the clock.
func timeServers(service target.TimeService, servers []string) node.File {
	text := "[Time]\nNTP=" + strings.Join(servers, " ") + "\nFallbackNTP=\n"
	if service.Chrony {
		// Besides the servers, what the files of all distributions have: a drift that outlives a
		// reboot, a clock that may jump at the start alone, and one that is kept in hardware.
		text = "server " + strings.Join(servers, " iburst\nserver ") + " iburst\n" +
			"driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\n"
	}
	return node.File{Path: service.Path, Mode: 0o644, Content: []byte(text), Why: "time servers"}
}

// hosts returns /etc/hosts: localhost, the machine's own name with its addresses, and the aliases.
// A machine of a pool learns its name only when it boots.
func hosts(m *plan.Machine) node.File {
	text := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	if !m.Pool {
		for _, a := range m.Addresses {
			text += a.String() + " " + m.Name + "\n"
		}
	}
	for _, a := range m.Settings.HostAliases {
		text += a.IP + " " + strings.Join(a.Hostnames, " ") + "\n"
	}
	return node.File{
		Path: target.HostsFile, Mode: 0o644, Content: []byte(text),
		Why: "names that the machine knows without DNS",
	}
}

// authorities returns the certificates of the files with these names, each in a file of its own:
// update-ca-certificates(8) makes no link for a file with several.
func authorities(
	trust target.Trust, names []string, text func(name string) []byte,
) (files []node.File) {
	for _, name := range names {
		for block, rest := pem.Decode(pki.PlainPEM(text(name))); block != nil; {
			files = append(files, node.File{
				Path: trust.File(strconv.Itoa(len(files) + 1)), Mode: 0o644,
				Content: pem.EncodeToMemory(block), Why: "a CA that the machine trusts",
			})
			block, rest = pem.Decode(rest)
		}
	}
	return files
}

// unit returns the unit that lets the system take over what programs read only when they are told
// to. It runs before containerd and the hook start. A command that begins with a dash may fail.
func unit(commands []string) string {
	return "[Unit]\nDescription=kiln: time, trusted CAs and updates of this machine\n" +
		"Before=containerd.service kiln.service\n\n" +
		"[Service]\nType=oneshot\nRemainAfterExit=yes\n" +
		"ExecStart=" + strings.Join(commands, "\nExecStart=") + "\n\n" +
		"[Install]\nWantedBy=multi-user.target\n"
}
