package kinds

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"kiln.dev/kiln/render/text/wording"
)

// plugins are those of CoreDNS' own image: plugin.cfg of github.com/coredns/coredns, read at
// 1.14.2.
var plugins = strings.Fields(`
	root metadata geoip cancel tls quic grpc_server https https3 timeouts multisocket reload nsid
	bufsize bind debug trace ready health pprof prometheus errors log dnstap local dns64 acl any
	chaos loadbalance tsig cache rewrite header dnssec autopath minimal template transfer hosts
	route53 azure clouddns k8s_external kubernetes file auto secondary etcd loop forward grpc
	erratic whoami on sign view nomad proxyproto`)

// since are plugins that CoreDNS has with later minors of Kubernetes alone: plugin.cfg at 1.13.1,
// 1.14.2 and 1.14.6.
var since = map[string]int{"grpc_server": 36, "https": 36, "https3": 36, "proxyproto": 37}

// later are further properties from minor 37 on: setup.go at 1.14.6.
var later = map[string][]string{
	"forward": {"doh_method", "max_age", "next_on_nodata", "read_timeout", "resolver",
		"source_address"},
	"prometheus": {"runtime_metrics", "tls"},
	"transfer":   {"source"},
}

// properties are what may stand in the braces of plugins: setup.go of each, read at 1.14.2. Those
// of the plugins that are not here are not looked at.
var properties = map[string][]string{
	"autopath": {}, "bind": {"except"}, "bufsize": {}, "loop": {}, "minimal": {}, "nsid": {},
	"pprof": {"block"}, "prometheus": {}, "reload": {}, "whoami": {},
	"cache":  {"denial", "disable", "keepttl", "prefetch", "serve_stale", "servfail", "success"},
	"errors": {"consolidate", "stacktrace"},
	"forward": {
		"domain", "except", "expire", "failfast_all_unhealthy_upstreams", "failover", "force_tcp",
		"health_check", "max_concurrent", "max_connect_attempts", "max_fails", "max_idle_conns",
		"next", "no_rec", "policy", "prefer_udp", "tls", "tls_servername",
	},
	"health":       {"lameduck"},
	"k8s_external": {"apex", "fallthrough", "headless", "ttl"},
	"kubernetes": {
		"apiserver_burst", "apiserver_max_inflight", "apiserver_qps", "endpoint",
		"endpoint_pod_names", "fallthrough", "ignore", "kubeconfig", "labels", "multicluster",
		"namespace_labels", "namespaces", "noendpoints", "pods", "startup_timeout", "tls", "ttl",
	},
	"loadbalance": {"prefer", "reload"},
	"log":         {"class"},
	"ready":       {"monitor"},
	"template": {
		"additional", "answer", "authority", "ederror", "fallthrough", "match", "rcode", "upstream",
	},
	"transfer": {"to"},
}

type form struct {
	pattern *regexp.Regexp
	want    string
}

var (
	count  = form{regexp.MustCompile(`^[0-9]+$`), "a number"}
	period = form{
		regexp.MustCompile(`^([0-9.]+(ns|us|µs|ms|s|m|h))+$`), "a duration such as 5s",
	}
)

// forms are those of the first word behind a property. CoreDNS does not start with another one:
// setup.go of each plugin, read at 1.14.2.
var forms = map[string]form{
	"cache denial": count, "cache prefetch": count, "cache servfail": period,
	"cache success": count, "forward expire": period, "forward health_check": period,
	"forward max_concurrent": count, "forward max_fails": count, "health lameduck": period,
	"kubernetes ttl": count,
	"forward policy": {
		regexp.MustCompile(`^(random|round_robin|sequential)$`),
		"random, round_robin or sequential",
	},
	"kubernetes pods": {
		regexp.MustCompile(`^(disabled|insecure|verified)$`), "disabled, insecure or verified",
	},
}

type word struct {
	text string
	line int
}

// surroundings are what a Corefile is held against.
type surroundings struct {
	anyPlugin bool // CoreDNS may have plugins that its own image does not have
	minor     int  // of Kubernetes
	domain    string
	address   netip.Addr // of CoreDNS' own Service
}

// corefile returns what is wrong with a Corefile, "" if nothing is. It reads the file as CoreDNS
// does: lexer.go and parse.go of github.com/coredns/caddy/caddyfile, read at 1.1.1.
func corefile(text string, in surroundings) string {
	r := &corefileReader{surroundings: in, words: wordsOf(text), snippets: map[string]bool{},
		servers: map[string]int{}}
	for r.wrong == "" && r.at < len(r.words) {
		r.block()
	}
	switch {
	case r.wrong != "":
	case r.used == 0:
		return "no server block has a plugin"
	case r.cluster != nil && in.domain != "" && !slices.Contains(r.cluster, in.domain):
		return fmt.Sprintf("the plugin kubernetes does not have the zone %s, so that no Service "+
			"has a name; write that", in.domain)
	}
	return r.wrong
}

// wordsOf cuts a Corefile into words. # begins a comment, a quote a word with spaces.
func wordsOf(text string) (out []word) {
	line := 1
	var current []rune
	started, quoted, comment, escaped := false, false, false, false
	begin := 0
	end := func() {
		if started {
			out = append(out, word{string(current), begin})
		}
		current, started = nil, false
	}
	for _, c := range text {
		switch {
		case quoted && escaped:
			if c != '"' {
				current = append(current, '\\')
			}
			current, escaped = append(current, c), false
		case quoted && c == '\\':
			escaped = true
		case quoted && c == '"':
			quoted = false
			end()
		case quoted:
			current = append(current, c)
		case unicode.IsSpace(c):
			comment = comment && c != '\n'
			end()
		case comment:
		case c == '#':
			comment = true
		case c == '"' && !started:
			started, quoted, begin = true, true, line
		default:
			if !started {
				started, begin = true, line
			}
			current = append(current, c)
		}
		if c == '\n' {
			line++
		}
	}
	end()
	return out
}

type corefileReader struct {
	surroundings
	words    []word
	at       int
	snippets map[string]bool
	used     int            // how many plugins were read
	cluster  []string       // the zones of the plugin kubernetes, nil without one
	servers  map[string]int // the lines of zones, with their ports and the addresses of bind
	header   []word         // the zones of this block
	bound    string         // the addresses of bind in it
	wrong    string
}

func (r *corefileReader) fail(n int, format string, args ...any) {
	line := 0
	if n = min(n, len(r.words)-1); n >= 0 {
		line = r.words[n].line
	}
	r.wrong = fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...)
}

func (r *corefileReader) beginsLine(n int) bool {
	return n == 0 || r.words[n].line > r.words[n-1].line
}

// block reads the zones of a server block and its plugins. Without a brace it is all the rest.
func (r *corefileReader) block() {
	begin, another := r.at, false
	first := r.words[begin].text
	for ; r.at < len(r.words); r.at++ {
		text := r.words[r.at].text
		if text == "{" {
			if another {
				r.fail(r.at, "another zone must follow the comma")
				return
			}
			break
		}
		if !another && r.at > begin && r.beginsLine(r.at) {
			break
		}
		another = strings.HasSuffix(text, ",")
	}
	switch {
	case r.at == len(r.words):
		if another {
			r.fail(r.at, "the file ends after a comma")
		}
		return
	case strings.HasPrefix(first, "(") && strings.HasSuffix(first, ")"):
		r.snippet(first)
		return
	}
	braced := r.words[r.at].text == "{"
	opened := r.at
	r.bound, r.header = "", r.words[begin:opened]
	if braced {
		r.at++
	}
	for r.wrong == "" && r.at < len(r.words) && r.words[r.at].text != "}" {
		r.plugin()
	}
	switch {
	case r.wrong != "":
	case braced && r.at == len(r.words) && r.words[r.at-1].text != "}": // CoreDNS looks no closer
		r.fail(opened, "the brace is never closed")
	default:
		r.at++
		r.zones(begin, opened)
	}
}

// zones notes a zone that an earlier block has at the same port and addresses.
func (r *corefileReader) zones(from, to int) {
	for n, w := range r.words[from:to] {
		zone := strings.ToLower(strings.TrimSuffix(w.text, ","))
		if !strings.Contains(zone, "://") {
			zone = "dns://" + zone
		}
		if !hasPort.MatchString(zone) {
			zone += ":53"
		}
		zone += r.bound
		if line := r.servers[zone]; line > 0 && r.wrong == "" {
			r.fail(from+n, "line %d has the zone %s already, and CoreDNS does not start with two; "+
				"write all plugins into one block", line, Show(w.text))
		}
		r.servers[zone] = w.line
	}
}

var hasPort = regexp.MustCompile(`:[0-9]+$`)

// snippet reads what stands in the braces after the name of a snippet.
func (r *corefileReader) snippet(name string) {
	if r.words[r.at].text != "{" {
		r.fail(r.at, "a brace must follow %s", Show(name))
		return
	}
	opened := r.at
	for depth := 0; r.at < len(r.words); r.at++ {
		switch r.words[r.at].text {
		case "{":
			depth++
		case "}":
			depth--
		}
		if depth == 0 {
			r.at++
			r.snippets[strings.Trim(name, "()")] = true
			return
		}
	}
	r.fail(opened, "the brace is never closed")
}

func (r *corefileReader) plugin() {
	name := r.words[r.at].text
	known := name == "import" || r.anyPlugin ||
		slices.Contains(plugins, name) && r.minor >= since[name]
	if !known {
		r.fail(r.at, "CoreDNS has no plugin %s%s", Show(name), wording.Hint(name, plugins))
		return
	}
	r.used++
	opened, depth := r.at, 0
	for r.at++; r.at < len(r.words); r.at++ {
		switch text := r.words[r.at].text; {
		case depth == 1 && text != "}" && r.words[r.at-1].text != "{" && !r.beginsLine(r.at):
		case depth == 1 && text != "}" && text != "{" && !r.property(name, text):
			return
		case text == "{":
			depth++
		case depth == 0 && r.beginsLine(r.at):
			r.imports(name, opened)
			return
		case text == "}" && depth > 0:
			depth--
		case text == "}":
			r.fail(r.at, "a brace is closed that was not opened")
			return
		}
	}
	if depth > 0 {
		r.fail(opened, "the brace of %s is never closed", name)
		return
	}
	r.imports(name, opened)
}

// property reports whether a plugin has a property, as far as it is known, and notes it if not.
func (r *corefileReader) property(plugin, name string) bool {
	known, listed := properties[plugin]
	if r.minor >= 37 {
		known = slices.Concat(known, later[plugin])
	}
	if !listed || r.anyPlugin || name == "import" || slices.Contains(known, name) {
		return r.hasForm(plugin, name)
	}
	hint := wording.Hint(name, known)
	if slices.Contains(plugins, name) {
		hint = "; that is a plugin: close the brace of " + plugin + " before it"
	}
	r.fail(r.at, "the plugin %s has no property %s%s", plugin, Show(name), hint)
	return false
}

// clusterZones notes the zones of the plugin kubernetes at the word n, its own or the block's.
func (r *corefileReader) clusterZones(n int) {
	own := r.words[n+1 : r.at]
	if i := slices.IndexFunc(own, func(w word) bool {
		return w.text == "{" || w.line > r.words[n].line
	}); i >= 0 {
		own = own[:i]
	}
	if len(own) == 0 {
		own = r.header
	}
	for _, w := range own {
		zone := strings.TrimPrefix(strings.TrimSuffix(w.text, ","), "dns://")
		zone = strings.TrimSuffix(hasPort.ReplaceAllString(zone, ""), ".")
		r.cluster = append(r.cluster, strings.ToLower(zone))
	}
}

func (r *corefileReader) hasForm(plugin, name string) bool {
	want, formed := forms[plugin+" "+name]
	if !formed || r.at+1 < len(r.words) && !r.beginsLine(r.at+1) &&
		want.pattern.MatchString(r.words[r.at+1].text) {
		return true
	}
	r.fail(r.at, "%s of the plugin %s wants %s", name, plugin, want.want)
	return false
}

// isNameServer reports whether forward takes a word for a name server: an address, maybe with a
// port, or one of DNS over TLS, maybe with the server's name behind %.
func isNameServer(text string) bool {
	scheme, address, isURL := strings.Cut(text, "://")
	if !isURL {
		scheme, address = "dns", text
	}
	address, _, _ = strings.Cut(address, "%")
	_, wrongPort := netip.ParseAddrPort(address)
	_, wrong := netip.ParseAddr(strings.Trim(address, "[]"))
	return (scheme == "dns" || scheme == "tls") && (wrongPort == nil || wrong == nil)
}

// resolvers notes what forward takes for no name server, one that is CoreDNS itself, and none.
func (r *corefileReader) resolvers(n int) {
	to := 0 // name servers in the line itself, behind the zone
	for i, w := range r.words[n+1 : r.at] {
		host := w.text
		if w.line == r.words[n].line && host != "{" && i > 0 {
			to++
			if !isNameServer(host) && !strings.HasPrefix(host, "/") && r.wrong == "" {
				r.fail(n, "forward takes addresses of name servers and files like "+
					"/etc/resolv.conf, and %s is neither", Show(host))
			}
		}
		if at, err := netip.ParseAddrPort(host); err == nil {
			host = at.Addr().String()
		}
		a, err := netip.ParseAddr(host)
		if err == nil && (a.IsLoopback() || a == r.address) && r.wrong == "" {
			r.fail(n, "%s is CoreDNS itself, so that each question goes round; write "+
				"/etc/resolv.conf, or the address of a name server", w.text)
		}
	}
	if to == 0 && r.wrong == "" {
		r.fail(n, "forward names no name server; write forward . /etc/resolv.conf")
	}
}

// imports checks the name servers of a forward, and the line of an import, if the plugin at the
// word n is one. A pod of CoreDNS has no file beside its Corefile but those that a patch mounts, so
// only snippets are checked.
func (r *corefileReader) imports(name string, n int) {
	switch name {
	case "forward":
		r.resolvers(n)
	case "kubernetes":
		r.clusterZones(n)
	case "bind":
		for _, w := range r.words[n+1 : r.at] {
			r.bound += " " + w.text
		}
	}
	if name != "import" {
		return
	}
	if r.at-n != 2 {
		r.fail(n, "import takes one snippet or file")
		return
	}
	target := r.words[n+1].text
	if !r.snippets[target] && !strings.ContainsAny(target, "/.*") {
		r.fail(n, "no snippet %s stands before it", Show("("+target+")"))
	}
}
