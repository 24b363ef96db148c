package config

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// maxMembers is the most members that etcd's maintainers advise (https://etcd.io/docs/v3.6/faq/,
// maximum cluster size).
const maxMembers = 7

func (v *checker) etcd(e *Etcd, at *yamltext.Location) {
	v.etcdMetrics(e.ExtraArgs, at.Key("extraArgs"))
	machines := at.Key("machines")
	v.withoutNode(&e.Machines, machines)
	if len(v.etcdMachines) == 0 && v.has(machines) {
		remedy := "give nodes role: etcd, or remove it"
		if e.External != nil {
			remedy = "remove it: etcd.external is set"
		}
		v.report(machines, "has no effect without a machine with role etcd; %s", remedy)
	}
	if e.External != nil {
		v.externalEtcd(e, at)
		return
	}
	v.backup(e.Backup, at.Key("backup"))
	if n := len(v.etcdMachines); n > 0 {
		v.members(n, e, fmt.Sprintf("has %d machines with role etcd", n), "")
	} else if n := len(v.controlPlanes); n > 0 {
		v.members(n, e, fmt.Sprintf("has %d control planes, and so %d etcd members", n, n),
			", or give etcd machines of its own (role: etcd)")
	}
}

// etcdMetrics checks where etcd serves its metrics and its health: probes and the first boot ask
// for that on loopback.
func (v *checker) etcdMetrics(args []Arg, at *yamltext.Location) {
	const asked = "http://127.0.0.1:2381"
	for i, a := range args {
		list := strings.Split(a.Value, ",")
		open := slices.Contains(list, "http://0.0.0.0:2381") ||
			slices.Contains(list, "http://[::]:2381")
		switch {
		case a.Name != "listen-metrics-urls":
		case !open && !slices.Contains(list, asked):
			v.report(at.Index(i), "has no %s, where probes and the first boot ask for etcd's "+
				"health; write it too", asked)
		case open || len(list) > 1:
			v.warn(WarnHardening, at.Index(i), "lets everybody who reaches the port read etcd's "+
				"metrics, without a credential; %s alone is kiln's", asked)
		}
	}
}

// members checks the number of members. what says which machines have them, and instead what else
// to do about too many.
func (v *checker) members(n int, e *Etcd, what, instead string) {
	nodes := v.spec.Key("nodes")
	switch {
	case n > maxMembers:
		v.report(nodes, "%s, which slow each other down; at most %d%s", what, maxMembers, instead)
	case n%2 == 0 && !e.AllowEvenMembers && !v.misspeltRole():
		v.report(nodes, "%s, which survive no more failures than %d would; "+
			"add or remove one, or set controlPlane.etcd.allowEvenMembers: true", what, n-1)
	}
}

// misspeltRole reports whether a node has a role that does not exist: it may be one of the members
// that seem to be missing. The decoder has reported it.
func (v *checker) misspeltRole() bool {
	return slices.ContainsFunc(v.c.Spec.Nodes, func(n Node) bool {
		return n.Role != "" && !slices.Contains(roles, n.Role)
	})
}

// withoutNode checks that a layer of etcd machines sets nothing of a Node: they have none.
func (v *checker) withoutNode(m *Machine, at *yamltext.Location) {
	const why = "has no effect on an etcd machine, which has no Node; remove it"
	if len(m.Labels) > 0 {
		v.report(at.Key("labels"), why)
	}
	if m.Taints != nil {
		v.report(at.Key("taints"), why)
	}
	for _, key := range []string{"enableServer", "registerNode"} {
		if _, ok := m.Kubelet[key]; ok {
			v.report(at.Key("kubelet").Key(key), "is set by kiln on an etcd machine; "+
				"remove it (without an API server its kubelet serves nobody)")
		}
	}
}

func (v *checker) externalEtcd(e *Etcd, at *yamltext.Location) {
	external := at.Key("external")
	if len(v.etcdMachines) > 0 {
		v.report(external, "is set together with machines with role etcd, such as %s; "+
			"remove it, or give them another role", v.c.Spec.Nodes[v.etcdMachines[0]].Name)
	}
	if len(e.ExtraArgs) > 0 {
		v.report(at.Key("extraArgs"), "has no effect with etcd.external; remove it")
	}
	if e.AllowEvenMembers {
		v.report(at.Key("allowEvenMembers"), "has no effect with etcd.external; remove it")
	}
	if e.Backup != nil {
		v.report(at.Key("backup"), "has no effect with etcd.external; "+
			"remove it, and back up that cluster where it runs")
	}
	v.etcdEndpoints(e.External.Endpoints, external.Key("endpoints"))
	const certificate = "a certificate (BEGIN CERTIFICATE)"
	v.pem(e.External.CAFrom, certificate, "CERTIFICATE-----", external.Key("caFrom"))
	if block, _ := pem.Decode(v.c.Text(e.External.CAFrom)); block != nil {
		cert, err := x509.ParseCertificate(block.Bytes)
		if err == nil && cert.BasicConstraintsValid && !cert.IsCA {
			v.warn(WarnEtcd, external.Key("caFrom"), "%s is no certificate of a CA; name that of "+
				"the CA that signed those of the members", quote(e.External.CAFrom))
		}
	}
	v.pem(e.External.CertFrom, certificate, "CERTIFICATE-----", external.Key("certFrom"))
	v.pem(e.External.KeyFrom, "a private key that is not encrypted (BEGIN PRIVATE KEY)",
		"PRIVATE KEY-----", external.Key("keyFrom"))
	v.clientPair(e.External.CertFrom, e.External.KeyFrom, "member of etcd", external)
}

// endsInPort matches a URL without a path that has a port. etcd's client gives what stands behind
// https:// to the dialer as it is (client/v3/internal/endpoint, translateEndpoint, at v3.6.5).
var endsInPort = regexp.MustCompile(`:[0-9]+$`)

func (v *checker) etcdEndpoints(endpoints []string, at *yamltext.Location) {
	if len(endpoints) == 0 {
		v.report(at, "is empty; write the members' client URLs, such as https://10.0.0.31:2379")
	}
	for i, endpoint := range endpoints {
		here := at.Index(i)
		v.early(endpoint, here)
		problem := urlProblem(endpoint, "https")
		switch {
		case problem != "":
			const server = "//server.example.com"
			v.report(here, "%s", strings.Replace(problem, server, server+":2379", 1))
		case strings.Count(endpoint, "/") > 2:
			v.report(here, "%s has a path; end it with the port", quote(endpoint))
		case !endsInPort.MatchString(endpoint):
			v.report(here, "%s has no port, and clients of etcd add none; write it like %s:2379",
				quote(endpoint), endpoint)
		case !v.repeated(endpoints, i, "endpoints", here):
			v.etcdHost(endpoint, here)
		}
	}
}

func (v *checker) etcdHost(endpoint string, at *yamltext.Location) {
	host, port, _ := net.SplitHostPort(strings.TrimPrefix(endpoint, "https://"))
	a, where := readAddress(host), ""
	if a.IsLoopback() || host == "localhost" {
		where = "each control plane itself"
	}
	for i, n := range v.c.Spec.Nodes {
		if a.IsValid() && v.hasAddress(i, a) || n.Name == host {
			where = n.Name
		}
	}
	const why = "is on %s, where %s; write the address and port at which a member answers clients"
	if where != "" {
		v.warn(WarnEtcd, at, why, where, "kiln starts no etcd")
	} else if port == strconv.Itoa(target.EtcdPeerPort) {
		v.warn(WarnEtcd, at, why, "port "+port, "members talk with each other")
	}
}

const maxSnapshots = 10000

// BackupPeriods are the times that may lie between two snapshots. Each fits whole into a day, so
// that a systemd calendar can name the times of the snapshots.
var BackupPeriods = []time.Duration{
	15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour,
	12 * time.Hour, 24 * time.Hour,
}

// backupDirectory matches folders that a shell, the options of a mount and a person read in the
// same way.
var backupDirectory = regexp.MustCompile(`^/[A-Za-z0-9._/-]+$`)

func (v *checker) backup(b *EtcdBackup, at *yamltext.Location) {
	if b == nil {
		return
	}
	here := at.Key("directory")
	problem := filePathProblem(b.Directory)
	switch {
	case problem != "":
		v.report(here, "%s %s", quote(b.Directory), problem)
	case !backupDirectory.MatchString(b.Directory):
		v.report(here, "%s has characters that a folder for snapshots must not have; "+
			"use letters, digits, '.', '_' and '-'", quote(b.Directory))
	case below("/etc", b.Directory) || strings.HasPrefix(b.Directory, "/boot"):
		v.report(here, "%s is no place for data; write a folder such as /var/backups/etcd",
			quote(b.Directory))
	}
	if !slices.Contains(BackupPeriods, time.Duration(b.Every)) {
		v.report(at.Key("every"),
			"%s does not fit whole into a day; write 15m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 24h",
			b.Every)
	}
	if b.Keep < 1 || b.Keep > maxSnapshots {
		v.report(at.Key("keep"), "%d is not a number of snapshots; write 1 to %d", b.Keep,
			maxSnapshots)
	}
}
