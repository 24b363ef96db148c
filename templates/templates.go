package templates

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Where the scripts lie on a machine.
const (
	BootPath     = "/etc/kiln/boot"     // Boot
	StepsPath    = "/etc/kiln/steps"    // Steps
	ReportPath   = "/etc/kiln/report"   // Report
	BackupPath   = "/etc/kiln/backup"   // Backup
	AnnouncePath = "/etc/kiln/announce" // Announce
)

//go:embed boot/boot
var bootSource string

//go:embed boot/report
var reportSource string

//go:embed boot/backup
var backupSource string

//go:embed units
var units embed.FS

// Conditions of lines in the sources of the hook. The line "sleep 1 #if cloud-init" is only on
// machines that cloud-init makes. So no machine has what it cannot use, and none finds out again
// what render knows.
const (
	IfAnnounces    = "announces"     // the machine announces its first boot
	IfBacksUp      = "backs-up"      // it takes snapshots of etcd
	IfCloudInit    = "cloud-init"    // cloud-init writes its files
	IfControlPlane = "control-plane" // by its role, as the next two
	IfWorker       = "worker"
	IfEtcd         = "etcd"
	IfCredential   = "credential"  // it has a credential that ends
	IfLoads        = "loads"       // files are written after units have started
	IfSwapOff      = "swap-off"    // its kubelet refuses swap
	IfMember       = "member"      // it is a member of etcd
	IfPeers        = "peers"       // … one of several
	IfObjects      = "objects"     // it gives the API server what it is to hold
	IfAsks         = "asks"        // the API server says what the kinds of some are called
	IfDefinitions  = "definitions" // some define custom resources
	IfIPv6         = "ipv6"        // it has an address of IPv6
	IfNamed        = "named"       // it asks for the API server by a host name
	IfPool         = "pool"        // it is one of a pool, and finds its name out
	IfRegistries   = "registries"  // it knows more of a registry than its servers
	IfLogins       = "logins"      // its kubelet logs in to a registry
	IfPulls        = "pulls"       // it gets its images first, from registries
	IfArchive      = "archive"     // … from an archive
	IfMedium       = "medium"      // … on a medium
)

// only returns the lines of a source whose conditions hold.
func only(source string, holds []string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		before, condition, found := strings.Cut(line, " #if ")
		switch {
		case !found:
			b.WriteString(line)
		case slices.Contains(holds, strings.TrimSpace(condition)):
			b.WriteString(strings.TrimRight(before, " ") + "\n")
		}
	}
	return b.String()
}

// Boot returns the hook of a machine for which these conditions hold, /etc/kiln/boot, mode 0600:
// POSIX sh, run by kiln.service. It is boot/boot without its comments and indentation, because
// every byte counts on EC2.
func Boot(holds []string) string { return strip(only(bootSource, holds)) }

// Report returns /etc/kiln/report of a machine, mode 0600, which the hook reads for its verb
// report. It is boot/report without its comments.
func Report(holds []string) string { return dropComments(only(reportSource, holds), true) }

// Backup is /etc/kiln/backup, mode 0600: POSIX sh, run by kiln-backup.service where etcd takes
// snapshots. It is boot/backup without its comments.
var Backup = strip(backupSource)

// BackupTimer returns kiln-backup.timer, which takes snapshots at whole multiples of every, in UTC.
// every divides a day and is at least 15 minutes. Each machine is late by a small amount of its
// own. A snapshot that was missed while the machine was off is taken at boot.
func BackupTimer(every time.Duration) string {
	calendar, delay := fmt.Sprintf("*-*-* *:00/%d:00 UTC", every/time.Minute), time.Minute
	switch {
	case every == 24*time.Hour:
		calendar, delay = "*-*-* 00:00:00 UTC", 10*time.Minute
	case every >= time.Hour:
		calendar, delay = fmt.Sprintf("*-*-* 00/%d:00:00 UTC", every/time.Hour), 10*time.Minute
	}
	return strings.Join([]string{
		"[Unit]", "Description=kiln: when snapshots of etcd are taken", "",
		"[Timer]", "OnCalendar=" + calendar,
		fmt.Sprintf("RandomizedDelaySec=%d", delay/time.Second),
		"FixedRandomDelay=yes", "Persistent=yes", "",
		"[Install]", "WantedBy=timers.target", "",
	}, "\n")
}

// Unit returns the text of a unit or drop-in, by its path under /etc/systemd/system:
//
//	kiln.service                        every machine, enabled
//	kubelet.service                     every machine, enabled; its command line is that of
//	                                    KubeletDropIn
//	containerd.service                  machines that fetch it, enabled
//	kiln-wall.service                   machines that refuse pods a metadata service, enabled; its
//	                                    commands are those of Wall
//	kiln-backup.service                 members of etcd that take snapshots; BackupTimer starts
//	                                    it
//	containerd.service.d/10-kiln.conf   Flatcar
//
// Units have no comments, as scripts; drop-ins keep the comment that says why they are there. Unit
// panics if no unit has that name.
func Unit(name string) string {
	text, err := units.ReadFile("units/" + name)
	if err != nil {
		panic("templates: no unit " + name)
	}
	if strings.HasSuffix(name, ".service") {
		return dropComments(string(text), false)
	}
	return string(text)
}

// Wall returns kiln-wall.service, which refuses connections of pods with routing rules. Each rule
// is arguments of ip(8), such as "-4 rule add from 10.244.0.0/16 … prohibit". A rule that is there
// already is left alone, and no reload of a firewall removes one. The unit has no ExecStop:
// whatever stops it, the rules stay.
func Wall(rules []string) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, `ExecStart=/bin/sh -c 'e=$$(ip %s 2>&1) || `+
			`case $$e in *"File exists"*) ;; *) echo "ip %[1]s: $$e" >&2; exit 1 ;; esac'`+"\n", r)
	}
	return strings.Replace(Unit("kiln-wall.service"), "RULES\n", b.String(), 1)
}

// WallDropIn lets the kubelet start only where the rules of Wall are set. It does not require the
// unit: a kubelet whose requirement failed once is not started again when the unit succeeds later.
const WallDropIn = "[Unit]\nWants=kiln-wall.service\nAfter=kiln-wall.service\n" +
	"[Service]\nExecStartPre=/bin/systemctl --quiet is-active kiln-wall.service\n"

// FirewallDropIn is for nftables.service, which removes the rules of all others when it starts,
// reloads or stops; firewalld with its default backend removes its own alone. kube-proxy and
// flanneld set theirs when they start, and look for them again after an hour or never. So it ends
// both, and the kubelet starts them anew.
const FirewallDropIn = "[Service]\nExecStartPost=-" + endServers + "\nExecReload=-" +
	endServers + "\nExecStopPost=-" + endServers + "\n"

const endServers = `/bin/sh -c 'for p in /proc/[0-9]*; do read -r c <$$p/comm && ` +
	`case $$c in kube-proxy|flanneld) kill $${p##*/} ;; esac; done 2>/dev/null; :'`

// Hidden is a drop-in under /etc/systemd/system that takes the place of one below /usr. Those of
// target.System.Hides start the kubelet by themselves, or with other flags.
const Hidden = "# Hides the file of this name in /usr: kiln starts the kubelet, with its own " +
	"flags.\n[Unit]\n"

// PoolKubeletDropIn is KubeletDropIn for machines of pools: the kubelet gets the address that was
// found at boot.
func PoolKubeletDropIn(program string, flags ...string) string {
	text := strings.TrimPrefix(KubeletDropIn(program, flags...), "[Service]\n")
	return "[Service]\nEnvironmentFile=-/var/lib/kiln/node-ip\n" +
		strings.TrimSuffix(text, "\n") + " \\\n  --node-ip=${NODE_IP}\n"
}

// KubeletDropIn returns kubelet.service.d/10-kubeadm.conf: the kubelet's command line in one
// ExecStart. The program is first, and each flag is one argument, whatever it holds
// ("--node-ip=10.0.0.11"): systemd's specifiers, variables and quotes are escaped. The file's name
// is kubeadm's, so that tools and people find it.
func KubeletDropIn(program string, flags ...string) string {
	text := "[Service]\nExecStart=\nExecStart=" + word(program, false)
	for _, flag := range flags {
		text += " \\\n  " + word(flag, true)
	}
	return text + "\n"
}

// word returns s as one word of a command line in a unit (systemd.service(5), "Command lines", read
// at 257). systemd expands variables in arguments, but not in the program's name, where $$ would
// stay $$.
func word(s string, argument bool) string {
	s = strings.ReplaceAll(s, "%", "%%")
	if argument {
		s = strings.ReplaceAll(s, "$", "$$")
	}
	if s != "" && !strings.ContainsAny(s, " \t\r\n\"'\\;") {
		return s
	}
	quoted := strings.NewReplacer(
		`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`,
	).Replace(s)
	return `"` + quoted + `"`
}

// strip returns a script without comments, empty lines and indentation, but with its first block of
// comments.
func strip(script string) string {
	head, body, _ := strings.Cut(script, "\n\n")
	return head + "\n" + dropComments(body, true)
}

// dropComments returns text without the lines that are comments. It takes indentation and empty
// lines from a script too, where they mean nothing.
func dropComments(text string, script bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		// A case without a branch for everything else succeeds as well; only shellcheck asks for
		// the branch.
		if strings.HasPrefix(content, "#") || script && (content == "" || content == "*) ;;") {
			continue
		}
		if script {
			line = strings.TrimLeft(line, "\t")
		}
		b.WriteString(line)
	}
	return b.String()
}

// FaultCodes are the codes of the hook's own faults. The ids of checks are codes too.
var FaultCodes = []string{
	"file-damaged",     // a file of the list is missing or changed, or the list is cut off
	"document-changed", // the state is that of another document
	"cloned",           // the state is that of another machine
	"no-progress",      // twenty starts, and no step done
	"pre-boot",         // a script of the user's failed, or took too long
	"post-boot",
	"unwritable",            // a folder is full, or cannot be written
	"hook",                  // the hook ended without a verdict
	"artifact-unreachable",  // the step fetch, as the next three: nobody hands the file out
	"artifact-wrong-digest", // what came is another file
	"artifact-no-room",
	"artifact-incompatible", // the program does not run here, or is of another version
	"etcd-empty-after-formation",
	"etcd-foreign",      // the data directory is another's
	"etcd-kept",         // the data outlived the machine, and the cluster runs without it
	"etcd-no-quorum",    // the members that are left cannot take this one in
	"etcd-learner",      // it was added, and gets no vote
	"etcd-peer-unclear", // a peer answers, but not with its members
	"etcd-split",        // two peers answer from two clusters
	"etcd-nobody",       // the disk is empty after a restore, and no other member has the data
	"etcd-snapshot",     // the snapshot to restore is not there
	"etcd-restore",      // the snapshot cannot be restored
	"etcd-backup",       // said by Backup: no snapshot was taken
	"etcd-unhealthy",    // after step_timeout, as the next four
	"kubelet-unhealthy",
	"kubelet-crash", // it exits again and again
	"kube-apiserver-unhealthy",
	"kube-controller-manager-unhealthy",
	"kube-scheduler-unhealthy",
	"packages",            // the package manager failed
	"preload",             // images are in no archive and no registry
	"object",              // the API server refuses an object, or did not take it in time
	"api-endpoint",        // no answer
	"api-wrong-cluster",   // the certificate there is not of this cluster's CA
	"metadata",            // pools alone, as the next two: the platform does not say the name
	"node-name",           // the machine has a name that no Node can have
	"node-address",        // the machine has no address that the Node could have
	"name-taken",          // the Node of this name is another machine's
	"node-not-registered", // the API server answers, but has no Node of this name
	"node-not-ready",      // the Node is there, and cannot run pods
	"kubelet-credential",  // the kubelet got no certificate
}
