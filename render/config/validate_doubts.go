package config

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

// Stubs are files whose name server is a resolver on the machine itself. CoreDNS would ask itself.
var Stubs = []string{"/run/systemd/resolve/stub-resolv.conf", "/usr/lib/systemd/resolv.conf"}

// resolvedFile has the name servers that systemd-resolved asks.
const resolvedFile = "/run/systemd/resolve/resolv.conf"

// resolver checks that the resolver configuration that pods get is not that of a resolver on the
// machine: with systemd-resolved, /etc/resolv.conf is.
func (v *checker) resolver(m settings) {
	set, _ := m.Kubelet["resolvConf"].(string)
	const why = "%s has the name server 127.0.0.53 on %s, which in a pod is the pod itself: " +
		"CoreDNS would ask itself; remove it"
	switch {
	case slices.Contains(Stubs, m.Profile.ResolvConf):
		v.reportKey(m, []string{"profile", "resolvConf"}, why, quote(m.Profile.ResolvConf), m.OS)
	case slices.Contains(Stubs, set):
		v.reportKey(m, []string{"kubelet", "resolvConf"}, why, quote(set), m.OS)
	case set == resolvedFile && m.system().ResolvConf == "/etc/resolv.conf" &&
		m.Profile.ResolvConf != set && m.OS != "":
		v.reportKey(m, []string{"kubelet", "resolvConf"}, "%s is written by systemd-resolved, "+
			"which %s does not have; remove it, or write profile: {resolvConf: %[1]s} if the "+
			"image has it", quote(set), m.OS)
	case set == "/etc/resolv.conf" && m.system().ResolvConf != set && m.Profile.ResolvConf != set:
		v.reportKey(m, []string{"kubelet", "resolvConf"}, why+", or write profile: "+
			"{resolvConf: %[1]s} if the image has no systemd-resolved", quote(set), m.OS)
	}
}

// openBinding warns of a program of the control plane that more than its own machine can reach.
func (v *checker) openBinding(key string, args []Arg) {
	at := v.spec.Key("controlPlane").Key(key).Key("extraArgs")
	for i, a := range args {
		if host, err := netip.ParseAddr(a.Value); a.Name == "bind-address" &&
			(err != nil || !host.IsLoopback()) && v.c.Spec.Security.Hardened() {
			v.warn(WarnHardening, at.Index(i), "security.profile cis keeps this program on "+
				"loopback (CIS 1.3.7, 1.4.2); with %s others reach it, and need a credential for "+
				"its metrics",
				quote(a.Value))
		}
	}
}

var fixedPorts = []fixedPort{
	{target.EtcdHTTPPort, "etcd's gateway"}, {target.EtcdClientPort, "etcd"},
	{target.EtcdPeerPort, "etcd's peers"}, {target.EtcdMetricsPort, "etcd's metrics"},
	{target.APIServerPort, "the API server"}, {target.KubeletHealthPort, "the kubelet's health"},
	{target.KubeletPort, "the kubelet"}, {target.ManagerPort, "the controller-manager"},
	{target.SchedulerPort, "the scheduler"},
}

type fixedPort struct {
	port int
	what string
}

func (v *checker) nodePorts(args []Arg, at *yamltext.Location) {
	for i, a := range args {
		if a.Name != "service-node-port-range" {
			continue
		}
		low, high, ok := portRange(a.Value)
		var taken []string
		ports := slices.Clip(fixedPorts)
		if net := &v.c.Spec.Network; net.CNI == "flannel" && net.Flannel.Port > 0 {
			ports = append(ports, fixedPort{net.Flannel.Port, "Flannel, UDP"})
		}
		for _, p := range ports {
			if ok && low <= p.port && p.port <= high {
				taken = append(taken, strconv.Itoa(p.port)+" ("+p.what+")")
			}
		}
		if len(taken) > 0 {
			v.warn(WarnNodePorts, at.Index(i).Key("value"), "the range has %s in it: a Service of "+
				"type NodePort can take the port of that program; write a range without them",
				strings.Join(taken, ", "))
		}
	}
}

// portRange reads a range of ports: LOW-HIGH, or LOW+COUNT.
func portRange(text string) (low, high int, ok bool) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		first, last, isRange = strings.Cut(text, "+")
	}
	low, err := strconv.Atoi(first)
	high, wrong := strconv.Atoi(last)
	if strings.Contains(text, "+") {
		high += low
	}
	return low, high, isRange && err == nil && wrong == nil
}

// domains warns of names that the cluster's DNS answers for although another server has them.
func (v *checker) domains() {
	domain, at := v.c.Spec.Network.DNSDomain, v.spec.Key("network").Key("dnsDomain")
	var found []string
	add := func(field, text string) { // a name, or the URL of one
		host := strings.TrimPrefix(strings.TrimPrefix(text, "https://"), "http://")
		host, _, _ = strings.Cut(host, "/")
		host, _, _ = strings.Cut(host, ":")
		if host != "" && domain != "" && within(host, domain) {
			found = append(found, host+" ("+field+")")
		}
	}
	m := &v.c.Spec.Machines
	add("endpoint", v.values.EndpointHost)
	add("machines.proxy.http", m.Proxy.HTTP)
	add("machines.proxy.https", m.Proxy.HTTPS)
	add("imageRepository", v.c.Spec.ImageRepository)
	for _, r := range m.Registries {
		add("machines.registries", r.Host)
		for _, mirror := range r.Mirrors {
			add("machines.registries", mirror)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) > 0 && v.c.Spec.DNS.Provider != "none" {
		v.warn(WarnDomain, at, "CoreDNS answers for all of %s, so that pods do not find %s; write "+
			"a domain of the cluster's own, such as cluster.local", domain,
			strings.Join(found, ", "))
	}
}

// publicSubnets warns of networks of pods and Services that other machines of the internet have.
func (v *checker) publicSubnets() {
	private := []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12"),
		netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"),
		netip.MustParsePrefix("198.18.0.0/15"),
	}
	for key, list := range map[string][]netip.Prefix{
		"podSubnets": v.pods, "serviceSubnets": v.services,
	} {
		for i, p := range list {
			inside := func(of netip.Prefix) bool { return of.Overlaps(p) && of.Bits() <= p.Bits() }
			if p.IsValid() && p.Addr().Is4() && !slices.ContainsFunc(private, inside) {
				v.warn(WarnPublicSubnet, v.spec.Key("network").Key(key).Index(i), "%s has "+
					"addresses of others on the internet, which pods and machines then do not "+
					"reach; write a network such as 10.244.0.0/16 (RFC 1918, RFC 6598)", p)
			}
		}
	}
}

var systemFiles = map[string]string{
	"/etc/fstab": "it takes the place of the image's: write mounts of cloudConfig, or a " +
		"unit .mount",
	"/etc/resolv.conf": "it takes the place of the system's resolver: write nameservers of " +
		"interfaces",
	"/etc/hosts": "it takes the place of the machine's own: write hostAliases",
}

// readIn are the folders of which a program reads files of some names alone, and those names.
var readIn = map[string]struct {
	names *regexp.Regexp
	why   string
}{
	"/etc/containerd/conf.d": {regexp.MustCompile(`\.toml$`), "kiln merges NAME.toml alone"},
	"/etc/cron.d":            {regexp.MustCompile(`^[\w-]+$`), "cron reads no name with a dot"},
	"/etc/kubernetes/manifests": {regexp.MustCompile(`^[^.]`),
		"the kubelet reads no name that begins with a dot"},
	"/etc/modprobe.d":     {dotConf, "modprobe reads NAME.conf alone"},
	"/etc/modules-load.d": {dotConf, "systemd reads NAME.conf alone"},
	"/etc/netplan":        {regexp.MustCompile(`\.yaml$`), "netplan reads NAME.yaml alone"},
	"/etc/sudoers.d":      {regexp.MustCompile(`^[^.]+[^.~]$`), "sudo reads no name with a dot"},
	"/etc/sysctl.d":       {dotConf, "systemd reads NAME.conf alone"},
	"/etc/systemd/network": {regexp.MustCompile(`\.(network|netdev|link)$`),
		"networkd reads NAME.network, NAME.netdev and NAME.link alone"},
	"/etc/tmpfiles.d": {dotConf, "systemd reads NAME.conf alone"},
}

var dotConf = regexp.MustCompile(`\.conf$`)

func unread(name string) string {
	dir, base := path.Dir(name), path.Base(name)
	in, known := readIn[dir]
	switch {
	case known && !in.names.MatchString(base):
		return in.why
	case strings.HasPrefix(dir, "/etc/kubernetes/manifests/"):
		return "the kubelet reads no folder in this one"
	case path.Dir(dir) == "/etc/containerd/certs.d" && path.Ext(base) == ".toml" &&
		base != "hosts.toml":
		return "containerd reads hosts.toml alone"
	case name == "/etc/default/kubelet" || name == "/etc/sysconfig/kubelet":
		return "it is kubeadm's, and kiln's kubelet.service does not name it: write " +
			"kubeletExtraArgs"
	}
	return ""
}

// mentions reports whether a value of a document has a unit that reads a file.
func mentions(n *yaml.Node, file string) bool {
	return strings.Contains(n.Value, "EnvironmentFile=-"+file) ||
		strings.Contains(n.Value, "EnvironmentFile="+file) ||
		slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return mentions(c, file) })
}

// systemFiles warns of files that take the place of the system's, that nothing reads, or that give
// rights to everybody.
func (v *checker) systemFiles(files []File, at *yamltext.Location) {
	for i, f := range files {
		if why := systemFiles[f.Path]; why != "" {
			v.warn(WarnSystemFile, at.Index(i).Key("path"), "%s: %s", f.Path, why)
		}
		if why := unread(f.Path); why != "" && !mentions(v.root, f.Path) {
			v.warn(WarnUnreadFile, at.Index(i).Key("path"), "%s is not read: %s", f.Path, why)
		}
		if strings.HasPrefix(f.Path, "/etc/sudoers") && len(f.Mode) == 4 && f.Mode[3]&2 != 0 {
			v.warn(WarnSystemFile, at.Index(i).Key("mode"), "everybody may write this file, and "+
				"so become root; write \"0440\"")
		}
	}
}

// nameServers warns of a machine that fetches from names and has no name server: all its interfaces
// are written here, none has one, and none asks by DHCP.
func (v *checker) nameServers(m settings, list []Interface) {
	if len(list) == 0 || !m.Binaries.Fetches() && m.Binaries.Source != target.SourcePackages {
		return
	}
	for i := range list {
		if n := &list[i]; n.DHCP4 || n.DHCP6 || len(n.Nameservers) > 0 {
			return
		}
	}
	v.warn(WarnResolver, m.at.Key("interfaces"), "%s has no name server, and fetches its programs "+
		"from names; write nameservers", m.name)
}

// earlyOwners checks that cloud-init knows the owners of files: it writes them before it makes the
// users and groups of cloudConfig, and leaves out all files behind one whose owner it does not know
// (cloud-init 22.4 to 26.2, config/cloud.cfg.tmpl: write_files stands before users_groups).
func (v *checker) earlyOwners(m settings) {
	if m.ignition() {
		return
	}
	made := map[string]bool{}
	for _, key := range []string{"users", "groups"} {
		list, _ := m.CloudConfig[key].([]any)
		for _, entry := range list {
			switch entry := entry.(type) {
			case string:
				made[entry] = true
			case map[string]any:
				name, _ := entry["name"].(string)
				made[name] = true
				for group := range entry {
					made[group] = made[group] || key == "groups"
				}
			}
		}
	}
	for i, f := range m.Files {
		user, group, _ := strings.Cut(f.Owner, ":")
		if made[user] || made[group] {
			at := v.layerAt(m, layerOf(m, "files")).Key("files").Index(i).Key("owner")
			v.reportOnce(at, "%s is of cloudConfig, and cloud-init writes files before it makes "+
				"its users: it would leave out this file and all behind it; write numbers such as "+
				"1500:1500, and that uid in users", quote(f.Owner))
		}
	}
}

func (v *checker) swap(m settings) {
	if set, ok := m.Kubelet["failSwapOn"].(bool); ok && !set {
		return
	}
	mounts, _ := m.CloudConfig["mounts"].([]any)
	for i, mount := range mounts {
		fields, _ := mount.([]any)
		if len(fields) > 2 && (fields[2] == "swap" || fields[1] == "swap") {
			at := v.layerAt(m, m.Source["cloudConfig.mounts"]).Key("cloudConfig").Key("mounts")
			v.reportOnce(at.Index(i), "turns swap on, with which the kubelet does not start; "+
				"remove it, or write kubelet: {failSwapOn: false}")
		}
	}
}
