package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"kiln.dev/kiln/render/kube/flags"
	"kiln.dev/kiln/render/text/yamltext"
)

// checker reports every value that the types allow and a cluster does not. It changes nothing. Most
// methods have the name of the field that they check. A function xProblem returns why a value is no
// x, "" if it is one.
type checker struct {
	*reporter
	c      *Cluster
	values *Values
	spec   *yamltext.Location

	pods, services []netip.Prefix // the subnets by index; those with a problem are zero
	version        version        // kubernetesVersion; zero if it has a problem
	controlPlanes  []int          // the indices of the control planes in nodes
	etcdMachines   []int          // the indices of the machines with role etcd

	cniFolder namedFolder // of CNI plugins, on the first machine with pods

	// reported holds the problems that reportLayer has reported, by path and format, and those of
	// kubeletFlags, by path and word.
	reported map[string]bool
	// bash holds whether scripts are for bash alone, by their text.
	bash map[string]bool
	// kubeletFindings holds what kubeletFlags has found, by flags, feature gates and minor.
	kubeletFindings map[string][]flags.Finding
}

var roles = structs[reflect.TypeFor[Node]()].byName["role"].enum

func (v *checker) label(name string, at *yamltext.Location) {
	if len(validation.IsDNS1123Label(name)) > 0 {
		v.report(at, "%s is not a valid name; write lower-case letters, digits and '-', "+
			"at most 63, with a letter or digit at both ends", quote(name))
	}
}

// oneSource checks that exactly one of two fields gives a content: inline has the content itself,
// from the name of a file. ok reports whether one does.
func (v *checker) oneSource(
	content, file, inline, from string, at *yamltext.Location,
) (ok bool) {
	hasContent := content != "" || v.has(at.Key(inline))
	hasFile := file != "" || v.has(at.Key(from))
	switch {
	case v.isHidden(at.Key(inline)) || v.isHidden(at.Key(from)):
		// A key that stands for one of them is reported already.
	case hasContent && hasFile:
		v.report(at.Key(from), "is set together with %s; write one of the two", inline)
	case !hasContent && !hasFile:
		v.report(at, "is empty; write %s, or name a file with %s", inline, from)
	case !hasContent && file == "":
		v.report(at.Key(from), "is empty; name a file beside the configuration")
	default:
		return true
	}
	return false
}

func (v *checker) has(at *yamltext.Location) bool {
	value, _ := yamltext.Find(v.root, at)
	return value != nil
}

// line returns " (line 12)" for a location, "" if it has no line.
func (v *checker) line(at *yamltext.Location) string {
	if line, _ := yamltext.Position(v.root, at); line > 0 {
		return fmt.Sprintf(" (line %d)", line)
	}
	return ""
}

// machineAddress checks an address, text in the file. ok reports whether it is that of a machine.
func (v *checker) machineAddress(text string, a netip.Addr, at *yamltext.Location) (ok bool) {
	problem := notAddress(text)
	if a.IsValid() {
		problem = addressProblem(a)
	}
	if problem != "" {
		v.report(at, "%s %s", quote(text), problem)
	}
	return problem == ""
}

// repeated reports the i-th entry of a list if the list, a field of that name, has it already.
func (v *checker) repeated(list []string, i int, field string, at *yamltext.Location) bool {
	first := slices.Index(list, list[i])
	if first < i {
		v.report(at, "%s is already %s[%d]; remove one", quote(list[i]), field, first)
	}
	return first < i
}

// reportTaken reports a value that the first-th node has already, under a key there.
func (v *checker) reportTaken(value string, first int, key string, at *yamltext.Location) {
	there := v.spec.Key("nodes").Index(first).Key(key)
	v.report(at, "%s is already that of %s (nodes[%d])%s; every machine has its own",
		value, v.c.Spec.Nodes[first].Name, first, v.line(there))
}

func (v *checker) hasAddress(i int, a netip.Addr) bool {
	n := &v.values.Nodes[i]
	if slices.Contains(n.Addresses, a) {
		return true
	}
	return slices.ContainsFunc(n.Interfaces, func(nic InterfaceValues) bool {
		return ownAddress(nic.Addresses, a)
	})
}

// fits reports whether the cluster has addresses of a family, or may: a pod subnet may be wrong.
func (v *checker) fits(is4 bool) bool {
	return len(v.pods) == 0 || slices.ContainsFunc(v.pods, func(p netip.Prefix) bool {
		return !p.IsValid() || p.Addr().Is4() == is4
	})
}

func (v *checker) outside(a netip.Addr, at *yamltext.Location) {
	for i, p := range v.pods {
		if p.IsValid() && p.Contains(a) {
			v.report(at, "%s lies in network.podSubnets[%d] %s; move one of them", a, i, p)
		}
	}
	for i, p := range v.services {
		if p.IsValid() && p.Contains(a) {
			v.report(at, "%s lies in network.serviceSubnets[%d] %s; move one of them", a, i, p)
		}
	}
}

// early reports the URL of a server that a machine asks before the cluster has pods and Services,
// if it is one of these.
func (v *checker) early(text string, at *yamltext.Location) {
	u, err := url.Parse(text)
	if err != nil {
		return // reported already
	}
	host := u.Hostname()
	if a := readAddress(host); a.IsValid() {
		v.outside(a, at)
	} else if strings.HasSuffix(host, ".svc") || strings.Contains(host, ".svc.") {
		v.report(at, "%s is the name of a Service, and a machine asks before it is part of a "+
			"cluster; write a server outside of it", quote(host))
	}
}

// shortestBoot is the shortest time in which somebody renders a machine, puts its document where it
// boots from, and sees it join.
const shortestBoot = Duration(5 * time.Minute)

const aDay = Duration(24 * time.Hour)

// window checks a duration that begins with the bundle and in which machines have to boot.
func (v *checker) window(d Duration, at *yamltext.Location) {
	v.span(d, at)
	if d > 0 && d%Duration(time.Second) == 0 && d < shortestBoot {
		v.report(at, "%s has ended before a machine is up: it begins when the bundle is made; "+
			"write %s or more", d, shortestBoot)
	}
}

func (v *checker) span(d Duration, at *yamltext.Location) {
	switch {
	case d <= 0:
		v.report(at, "%s is not more than 0; "+
			"write hours, minutes and seconds, such as 8760h or 30m", d)
	case d%Duration(time.Second) != 0:
		v.report(at, "%s has a fraction of a second; write whole seconds", d)
	case d > maxDuration:
		v.report(at, "%s is longer than 100 years (%s); shorten it", d, maxDuration)
	}
}
