package templates_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/templates"
	"kiln.dev/kiln/test/need"
)

// ofPool makes a worker one of a pool. Its Node has these addresses: of a family the one of the
// default route, or the first that arguments of ip address select, as in -4,dev,eth1.
func (m *aMachine) ofPool(addresses string) {
	must(m.t, os.Remove(m.root+"/etc/kubernetes/kubelet.conf"))
	must(m.t, os.RemoveAll(m.root+"/var/lib/kubelet/pki"))
	m.kinds = nil
	m.hold(templates.IfPool)
	m.at(bootstrap, "token: "+secret)
	m.data["retire"] += " " + bootstrap
	m.data["node"] = ""
	m.data["steps"] = "files machine preflight name kubelet node"
	m.at("/proc/sys/kernel/hostname", "\n")
	for _, name := range []string{"name_url", "name_header", "name_token", "name_short"} {
		m.data[name] = ""
	}
	m.data["node_address"] = strings.NewReplacer(
		"-4,", "-4,address,show,scope,global,", "-6,", "-6,address,show,scope,global,",
		"-4", "-4,route,get,192.0.2.1", "-6", "-6,route,get,2001:db8::1",
	).Replace(addresses)
	m.data["step_timeout"] = "60"
}

// metadata is a platform's metadata service on loopback. It is as strict as the real one.
type metadata struct {
	*httptest.Server
	lock     sync.Mutex
	requests []string
	token    int    // status of requests for a token
	busy     int    // requests that are first answered with 503
	name     int    // status of requests for the name
	answer   string // the name
}

// nameSource returns how a machine asks a platform for its name.
func nameSource(platform string) target.NameSource {
	p, _ := target.PlatformNamed(platform)
	return *p.NameSource
}

func newMetadata(t *testing.T, platform string) *metadata {
	m := &metadata{token: http.StatusOK, name: http.StatusOK}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.requests = append(m.requests, r.Method+" "+r.URL.String())
		refused := map[string]bool{
			"aws": r.Method == http.MethodGet &&
				r.Header.Get("X-Aws-Ec2-Metadata-Token") != secret,
			"azure": r.Header.Get("Metadata") != "true" || r.Header.Get("X-Forwarded-For") != "",
			"gcp":   r.Header.Get("Metadata-Flavor") != "Google",
		}[platform]
		source := nameSource(platform)
		path := func(url string) string { return strings.TrimPrefix(url, "http://169.254.169.254") }
		switch {
		case m.busy > 0:
			m.busy--
			w.WriteHeader(http.StatusServiceUnavailable)
		case platform == "aws" && r.Method == http.MethodPut &&
			r.URL.String() == path(source.Token) &&
			r.Header.Get("X-Aws-Ec2-Metadata-Token-Ttl-Seconds") != "":
			w.WriteHeader(m.token)
			fmt.Fprint(w, secret)
		case refused:
			w.WriteHeader(http.StatusUnauthorized)
		case r.Method != http.MethodGet || r.URL.String() != path(source.URL):
			w.WriteHeader(http.StatusNotFound)
		default:
			w.WriteHeader(m.name)
			fmt.Fprint(w, m.answer)
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// asks makes the machine one of a pool whose hook asks the service with the real curl.
func (m *aMachine) asks(service *metadata, platform, curl string) {
	m.ofPool("-4")
	source := nameSource(platform)
	here := func(url string) string {
		return strings.Replace(url, "http://169.254.169.254",
			service.URL, 1)
	}
	m.data["name_url"], m.data["name_header"], m.data["name_token"] = here(source.URL),
		source.Header, here(source.Token)
	if source.Short {
		m.data["name_short"] = "yes"
	}
	must(m.t, os.MkdirAll(m.bin+"/other", 0o755))
	must(m.t, os.Symlink("../fakes/curl", m.bin+"/other/curl"))
	must(m.t, os.Remove(m.bin+"/curl"))
	// The real curl asks the service and the fake one asks the cluster. The arguments of both are
	// recorded.
	write(m.t, m.bin+"/curl", "#!/bin/sh\ncase $* in\n"+
		"*"+service.URL+"*) echo \"$*\" >>\"$WORLD/arguments\" && exec "+curl+" \"$@\" ;;\n"+
		"*) exec "+m.bin+"/other/curl \"$@\" ;;\nesac\n", 0o755)
}

// TestPoolAsksPlatform: a machine of a pool takes the name that its platform gives it. The real
// curl asks a service on loopback.
func TestPoolAsksPlatform(t *testing.T) {
	curl := need.Program(t, "curl")
	const remedy = "; see that the metadata service is on and answers this machine; then it goes"
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, row := range []struct {
			name, platform, answer, node string
			busy, token, status          int
			fault                        string // of which SERVICE is the service's URL
		}{
			{name: "aws", platform: "aws", answer: "ip-10-0-0-11.eu-west-1.compute.internal",
				node: "ip-10-0-0-11.eu-west-1.compute.internal"},
			{name: "aws with two domains", platform: "aws",
				answer: "ip-10-0-0-11.example.com example.org", node: "ip-10-0-0-11.example.com"},
			{name: "aws, busy at first", platform: "aws",
				answer: "i-0123456789abcdef0.ec2.internal", busy: 3,
				node: "i-0123456789abcdef0.ec2.internal"},
			{name: "azure", platform: "azure", answer: "pool000007", node: "pool000007"},
			{name: "gcp", platform: "gcp", answer: "Pool-blue-x7f2", node: "pool-blue-x7f2"},
			{name: "openstack", platform: "openstack", answer: "blue-7.novalocal", node: "blue-7"},
			{name: "no token", platform: "aws", token: 403,
				fault: "FAULT metadata SERVICE/latest/meta-data/local-hostname: HTTP 403" + remedy},
			{name: "no such thing", platform: "gcp", status: 404,
				fault: "FAULT metadata SERVICE/computeMetadata/v1/instance/name: HTTP 404" +
					remedy},
			{name: "always busy", platform: "azure", busy: 1000,
				fault: "FAULT metadata SERVICE/metadata/instance/compute/osProfile/computerName" +
					"?api-version=2021-02-01&format=text: HTTP 503" + remedy},
			{name: "a page", platform: "openstack", answer: "<html><body>Log in</body></html>",
				fault: "FAULT node-name SERVICE/latest/meta-data/local-hostname: " +
					"it is called '<html><body>log'; "},
			{name: "nothing", platform: "openstack",
				fault: "FAULT node-name SERVICE/latest/meta-data/local-hostname: " +
					"it is called ''; "},
			{name: "what no Node can be called", platform: "azure", answer: "my_pool7",
				fault: "FAULT node-name SERVICE/metadata/instance/compute/osProfile/computerName" +
					"?api-version=2021-02-01&format=text: it is called 'my_pool7'; "},
		} {
			if !isTurn(t, shell, i) {
				continue
			}
			t.Run(row.name, func(t *testing.T) {
				service := newMetadata(t, row.platform)
				service.answer, service.busy = row.answer, row.busy
				if row.token != 0 {
					service.token = row.token
				}
				if row.status != 0 {
					service.name = row.status
				}
				m := newMachine(t, shell, "worker")
				m.asks(service, row.platform, curl)
				whole := row.name == "aws"
				if !whole {
					m.data["steps"] = "files name"
					m.at("/proc/swaps", "")
				}
				m.document()
				if row.fault != "" {
					// A name that no Node can have stays one.
					waits := row.status+row.token+row.busy > 0 || row.name == "nothing"
					m.wantFault(strings.ReplaceAll(row.fault, "SERVICE", service.URL), waits)
				} else {
					m.wantDone()
					require.Equal(t, row.node+"\nNODE_IP=10.0.0.11\n"+row.node,
						m.read(m.root+"/var/lib/kiln/name")+
							m.read(m.root+"/var/lib/kiln/node-ip")+m.status().Node)
					require.False(t, whole && !strings.Contains(m.read(m.world+"/curl"),
						"/api/v1/nodes/"+row.node+"\n"), "it looks for another Node")
				}
				arguments := m.read(m.world + "/arguments")
				require.NotContains(t, arguments, secret)
				require.Contains(t, arguments, "--noproxy *")
				require.Empty(t, m.read(m.root+"/run/kiln/header"), "the token is still there")
			})
		}

		// No service answers.
		service := newMetadata(t, "gcp")
		m := newMachine(t, shell, "worker")
		m.asks(service, "gcp", curl)
		m.data["steps"] = "files name"
		m.at("/proc/swaps", "")
		service.Close()
		m.document()
		m.wantOverdue("FAULT metadata " + service.URL +
			"/computeMetadata/v1/instance/name: curl: (7) ")
	})
}

// TestPoolTakesHostName: a machine of a pool takes the system's host name, once there is one, and
// keeps it.
func TestPoolTakesHostName(t *testing.T) {
	underEachShell(t, func(t *testing.T, shell []string) {
		long := strings.Repeat("a", 63)
		called := func(name string) *aMachine {
			m := newMachine(t, shell, "worker")
			m.ofPool("-4")
			m.data["steps"] = "files name"
			m.at("/proc/swaps", "")
			m.data["api"] = "https://api.example.com:6443"
			m.at("/proc/sys/kernel/hostname", name+"\n")
			m.document()
			return m
		}
		names := map[string]string{
			"blue-7": "blue-7", "Blue-7.Example.COM": "blue-7.example.com", "7": "", "10.0.0.7": "",
			"a_b": "", "-a": "", "a-": "", "a.-b": "", "a..b": "",
			"kubernetes": "", "Kubernetes.default.svc": "", "kubernetes-1": "kubernetes-1",
			"api.example.com": "", "api-1.example.com": "api-1.example.com",
			long: long, long + "a": "", "7a": "7a", "$(reboot)": "", "localhosts": "localhosts",
		}
		for i, name := range slices.Sorted(mapsKeys(names)) {
			if !isTurn(t, shell, i) {
				continue
			}
			want := names[name]
			m := called(name)
			if want == "" {
				m.wantFaults("FAULT node-name /proc/sys/kernel/hostname: it is called '" +
					strings.ToLower(name) + "'; give the machine a name of ")
				continue
			}
			m.wantDone()
			require.Equal(t, want+"\n", m.read(m.root+"/var/lib/kiln/name"), name)
		}

		// The hook waits while the name is localhost: a network may still bring a name.
		for i, name := range []string{"localhost", "localhost.localdomain", "(none)"} {
			if !isTurn(t, shell, i) {
				continue
			}
			m := called(name)
			out := m.wantOverdue("FAULT node-name /proc/sys/kernel/hostname: " +
				"it is called '" + name + "'; ")
			require.Contains(t, out,
				"name: waiting for the name of this machine: it is called '"+name+"'\n")
			m.at("/proc/sys/kernel/hostname", "late\n")
			m.wantDone()
		}

		// It is killed after the name was found, and DHCP brings another name: it goes on with the
		// first name. The kubelet's unit sets that name at every boot.
		m := newMachine(t, shell, "worker")
		m.ofPool("-4")
		m.know("hostname", "first\n")
		m.know("no-kubelet", "activating\n")
		m.document()
		m.wantOverdue("FAULT kubelet-crash ")
		must(t, os.Remove(m.world+"/no-kubelet"))
		m.at("/proc/sys/kernel/hostname", "second\n")
		m.wantDone()
		asked := m.read(m.world + "/curl")
		require.Contains(t, asked, "/nodes/first")
		require.NotContains(t, asked, "second")
		m.at("/proc/sys/kernel/hostname", "third\n")
		m.know("route-4", "192.0.2.1 via 10.0.0.1 dev eth0 src 10.0.0.99 uid 0 \\    cache\n")
		out, code := m.start("kubelet")
		require.Zero(t, code, out)
		require.Equal(t, "first\n", m.read(m.root+"/proc/sys/kernel/hostname"), out)
		require.Equal(t, "NODE_IP=10.0.0.99\n", m.read(m.root+"/var/lib/kiln/node-ip"), out)
		must(t, os.Remove(m.world+"/route-4"))
		out, code = m.start("kubelet")
		require.Equal(t, 1, code, out)
		require.Contains(t, out, "no address for the kubelet: none by ip -4 route get "+
			"192.0.2.1: RTNETLINK answers: Network is unreachable")
	})
}

// TestPoolFindsAddress: the Node's address is the source address of the default route, or the first
// address that the configuration selects.
func TestPoolFindsAddress(t *testing.T) {
	const (
		tentative = "2: eth0    inet6 fd00::11/64 scope global tentative \\       valid_lft " +
			"forever\n"
		old = "2: eth0    inet6 fd00::10/64 scope global deprecated dynamic mngtmpaddr \\  " +
			"     valid_lft 1sec\n"
		six = "2: eth0    inet6 fd00::12/64 scope global dynamic \\       valid_lft forever\n"
		two = "3: eth1    inet 10.8.0.7/24 brd 10.8.0.255 scope global eth1\\       " +
			"valid_lft forever\n3: eth1    inet 10.8.0.8/24 scope global secondary eth1\\       " +
			"valid_lft forever\n"
	)
	underEachShell(t, func(t *testing.T, shell []string) {
		for i, row := range []struct {
			addresses string
			world     map[string]string
			want      string
			asked     string // ip
			fault     string
		}{
			{addresses: "-4", want: "10.0.0.11"},
			{addresses: "-4 -6", world: map[string]string{
				"route-6": "2001:db8::1 from :: via fe80::1 dev eth0 proto ra src fd00::5 metric " +
					"100 pref medium"}, want: "10.0.0.11,fd00::5"},
			{addresses: "-6,dev,eth0 -4", world: map[string]string{"global-6": tentative + old +
				six}, want: "fd00::12,10.0.0.11", asked: "-o -6 address show scope global dev " +
				"eth0\n"},
			{addresses: "-4,dev,eth1,to,10.8.0.0/24", world: map[string]string{"global-4": two},
				want:  "10.8.0.7",
				asked: "-o -4 address show scope global dev eth1 to 10.8.0.0/24\n"},
			{addresses: "-4,to,10.9.0.0/24", world: map[string]string{"global-4": ""},
				fault: "FAULT node-address -4,address,show,scope,global,to,10.9.0.0/24: " +
					"none by ip -4 address show scope global to 10.9.0.0/24: "},
			{addresses: "-4 -6", fault: "FAULT node-address -4,route,get,192.0.2.1 " +
				"-6,route,get,2001:db8::1: none by ip -6 route get 2001:db8::1: " +
				"RTNETLINK answers: Network is unreachable; "},
			{addresses: "-6,dev,eth0", world: map[string]string{"global-6": tentative},
				fault: "FAULT node-address -6,address,show,scope,global,dev,eth0: " +
					"none by ip -6 address show scope global dev eth0: 2: eth0 "},
		} {
			if !isTurn(t, shell, i) {
				continue
			}
			m := newMachine(t, shell, "worker")
			m.ofPool(row.addresses)
			m.data["steps"] = "files name"
			m.at("/proc/swaps", "")
			m.at("/proc/sys/kernel/hostname", "blue-7\n")
			for name, content := range row.world {
				m.know(name, content+"\n")
			}
			m.document()
			if row.fault != "" {
				m.wantOverdue(row.fault)
				continue
			}
			require.Contains(t, m.wantDone(), "name: it is blue-7, at "+row.want+"\n")
			require.Equal(t, "NODE_IP="+row.want+"\n", m.read(m.root+"/var/lib/kiln/node-ip"),
				row.addresses)
			require.Equal(t, row.asked, m.read(m.world+"/ip"), row.addresses)
		}
	})
}

// TestPoolAlone: named machines get no function of pools.
func TestPoolAlone(t *testing.T) {
	t.Parallel()
	text := templates.Steps(nil, strings.Fields("pre-boot machine preflight restore others etcd "+
		"kubelet member objects control-plane node role ready post-boot"),
		everyCheck())
	for _, name := range []string{"step_name", "christened", "platform_told", "located",
		"remembered"} {
		require.NotContains(t, text, name+"()", name)
	}
	drop := templates.PoolKubeletDropIn("kubelet", "--v=$2")
	require.Equal(t,
		"[Service]\nEnvironmentFile=-/var/lib/kiln/node-ip\nExecStart=\nExecStart=kubelet "+
			"\\\n  --v=$$2 \\\n  --node-ip=${NODE_IP}\n", drop)
}
