package kinds

import (
	"fmt"
	"net/netip"
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
	erratic whoami on sign view nomad`)

// properties are what may stand in the braces of plugins: setup.go of each, read at 1.14.2. Those
// of the plugins that are not here are not looked at.
var properties = map[string][]string{
	"autopath": {}, "bind": {"except"}, "bufsize": {}, "loop": {}, "minimal": {}, "nsid": {},
	"pprof": {}, "prometheus": {}, "reload": {}, "whoami": {},
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

// word is a word of a Corefile.
type word struct {
	text string
	line int
}

// corefile returns what is wrong with a Corefile, "" if nothing is. It reads the file as CoreDNS
// does: lexer.go and parse.go of github.com/coredns/caddy/caddyfile, read at 1.1.1. anyPlugin
// allows plugins that the usual image does not have.
func corefile(text string, anyPlugin bool) string {
	r := &corefileReader{words: wordsOf(text), snippets: map[string]bool{}, anyPlugin: anyPlugin}
	for r.wrong == "" && r.at < len(r.words) {
		r.block()
	}
	if r.wrong == "" && r.used == 0 {
		return "no server block has a plugin"
	}
	return r.wrong
}

// wordsOf cuts a Corefile into words. A number sign begins a comment, and a quote a word with
// spaces.
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

// corefileReader reads the server blocks of a Corefile up to the first mistake.
type corefileReader struct {
	words     []word
	at        int
	snippets  map[string]bool
	anyPlugin bool
	used      int // how many plugins were read
	wrong     string
}

// fail notes a mistake at the word n.
func (r *corefileReader) fail(n int, format string, args ...any) {
	line := 0
	if n = min(n, len(r.words)-1); n >= 0 {
		line = r.words[n].line
	}
	r.wrong = fmt.Sprintf("line %d: ", line) + fmt.Sprintf(format, args...)
}

// beginsLine reports whether the word n is the first one of its line.
func (r *corefileReader) beginsLine(n int) bool {
	return n == 0 || r.words[n].line > r.words[n-1].line
}

// block reads the zones of a server block and its plugins. Without a brace the block is all the
// rest.
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
	}
}

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

// plugin reads the line of a plugin, with what stands in braces after it.
func (r *corefileReader) plugin() {
	name := r.words[r.at].text
	known := name == "import" || r.anyPlugin || slices.Contains(plugins, name)
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
	if !listed || r.anyPlugin || name == "import" || slices.Contains(known, name) {
		return true
	}
	hint := wording.Hint(name, known)
	if slices.Contains(plugins, name) {
		hint = "; that is a plugin: close the brace of " + plugin + " before it"
	}
	r.fail(r.at, "the plugin %s has no property %s%s", plugin, Show(name), hint)
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

// resolvers notes what forward does not take for a name server, one that is the pod of CoreDNS
// itself, and a line without any.
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
		if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() && r.wrong == "" {
			r.fail(n, "%s is the pod of CoreDNS itself, so that each question goes round; write "+
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
	if name == "forward" {
		r.resolvers(n)
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
