// This file writes the files from which an operating system knows its surroundings: time
// servers, time zone, host names, further CAs, when it may update itself. Package target says which
// system reads which file.

package assembly

import (
	"encoding/pem"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// AddSystemFiles adds the files about a machine's surroundings to n, and the units that never
// start. It returns the text of target.SystemUnit, which the caller adds, and the fields that the
// unit is made from; the text is empty if the machine needs no such unit. read returns the content
// of a file beside cluster.yaml.
func AddSystemFiles(
	m *plan.Machine, n *node.Node, read func(name string) []byte,
) (systemUnit string, fields []string) {
	s := m.Settings
	var commands []string
	add := func(field string, files ...node.File) {
		for _, f := range files {
			f.From = append(f.From, s.Path(field))
			n.Files = append(n.Files, f)
		}
	}
	command := func(field, line string) {
		commands, fields = append(commands, line), append(fields, s.Path(field))
	}
	// Commands that may fail come first: the unit ends with the first other one that does.
	if len(s.NTPServers) > 0 {
		for _, service := range m.System.TimeServices {
			add("ntpServers", timeServers(service, s.NTPServers))
			command("ntpServers", "-systemctl --no-block try-restart "+service.Unit)
		}
	}
	var u updates
	if s.Updates.Policy == config.UpdatesNone {
		noUpdates[m.System.Updater](&u)
	}
	add("updates", u.files...)
	for _, line := range u.commands {
		command("updates", line)
	}
	for _, name := range u.masked {
		n.Units = append(n.Units, node.Unit{Name: name, Masked: true})
	}
	if s.TimeZone != "" {
		// Not timedatectl: the first program that tells a kernel its time zone sets its clock back
		// or forth, where systemd has not done so at boot (settimeofday(2)).
		zone := "/usr/share/zoneinfo/" + s.TimeZone
		command("timeZone", "test -e "+zone)
		command("timeZone", "ln -sfn .."+zone+" /etc/localtime")
	}
	if len(s.TrustedCAsFrom) > 0 {
		add("trustedCAsFrom", authorities(m.System.Trust, s.TrustedCAsFrom, read)...)
		command("trustedCAsFrom", m.System.Trust.Update)
	}
	if len(s.HostAliases) > 0 {
		add("hostAliases", hosts(m))
	}
	if len(commands) == 0 {
		return "", nil
	}
	// The commands of a field follow each other.
	return unit(commands), slices.Compact(fields)
}

// timeServers returns the configuration of a program that may set the clock.
func timeServers(service target.TimeService, servers []string) node.File {
	each := "server " + strings.Join(servers, " iburst\nserver ") + " iburst\n"
	content := map[string]string{
		// The empty value takes away the servers of the image; those of DHCP stay.
		target.Timesyncd: "[Time]\nNTP=\nNTP=" + strings.Join(servers, " ") + "\nFallbackNTP=\n",
		// The drift outlives a reboot, the clock may jump in the first three updates alone, and the
		// hardware's clock follows (chrony.conf(5)).
		target.Chrony: each + "driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\n",
		// The drift likewise. Nobody else may ask or change this machine (Flatcar's page
		// "Configuring date and time").
		target.NTPD: each + "driftfile /var/lib/ntp/ntp.drift\n" +
			"restrict default nomodify nopeer noquery limited kod\n" +
			"restrict 127.0.0.1\nrestrict [::1]\n",
	}[service.Program]
	return node.File{Path: service.Path, Mode: 0o644, Content: []byte(content), Why: "time servers"}
}

// hosts returns /etc/hosts: localhost, the machine's own name with its addresses, and the aliases.
// A machine of a pool has no line of its own, because it learns its name when it boots;
// nss-myhostname(8) answers for it.
func hosts(m *plan.Machine) node.File {
	content := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	if !m.Pool {
		for _, a := range m.Addresses {
			content += a.String() + " " + m.Name + "\n"
		}
	}
	for _, a := range m.Settings.HostAliases {
		content += a.IP + " " + strings.Join(a.Hostnames, " ") + "\n"
	}
	return node.File{
		Path: target.HostsFile, Mode: 0o644, Content: []byte(content),
		Why: "names that the machine knows without DNS",
	}
}

// authorities returns the certificates of the files with these names, each in a file of its own:
// update-ca-certificates(8) makes no link for a file with several.
func authorities(
	trust target.Trust, names []string, read func(name string) []byte,
) (files []node.File) {
	for _, name := range names {
		rest := pki.PlainPEM(read(name))
		for block, rest := pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
			files = append(files, node.File{
				Path: trust.File(len(files) + 1), Mode: 0o644,
				Content: pem.EncodeToMemory(block), Why: "a CA that the machine trusts",
			})
		}
	}
	return files
}

// unit returns the unit that runs commands, one after the other: programs read some of the files
// only when they are told to. It ends with the first command that fails, unless a dash is in front.
// containerd and the hook start after it.
func unit(commands []string) string {
	return "[Unit]\nDescription=kiln: time, trusted CAs and updates of this machine\n" +
		"Before=containerd.service kiln.service\n\n" +
		"[Service]\nType=oneshot\nRemainAfterExit=yes\n" +
		"ExecStart=" + strings.Join(commands, "\nExecStart=") + "\n\n" +
		"[Install]\nWantedBy=multi-user.target\n"
}
