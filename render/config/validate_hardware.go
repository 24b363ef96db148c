package config

import (
	"net"
	"regexp"
	"strings"
)

var bareMAC = regexp.MustCompile(`^[0-9A-Fa-f]{12}$`)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// hardware checks by what a node knows its own machine. owners maps the MAC addresses and UUIDs of the nodes before it to their
// indices.
func (v *checker) hardware(i int, owners map[string]int) {
	n, values, list := &v.c.Spec.Nodes[i], &v.values.Nodes[i], v.spec.Key("nodes")
	for _, id := range []struct{ key, text, value, problem string }{
		{"mac", n.MAC, values.MAC, macProblem(values.MAC)},
		{"productUUID", n.ProductUUID, values.ProductUUID, uuidProblem(values.ProductUUID)},
	} {
		at := list.Index(i).Key(id.key)
		if id.text == "" {
			continue
		}
		if id.problem != "" {
			v.report(at, "%s %s", quote(id.text), id.problem)
			continue
		}
		if first, ok := owners[id.value]; ok {
			v.report(at, "%s is already that of %s (nodes[%d])%s; every machine has its own", quote(id.text), v.c.Spec.Nodes[first].Name, first, v.line(list.Index(first).Key(id.key)))
			continue
		}
		owners[id.value] = i
	}
}

// plainMAC returns a MAC address as the kernel writes it, 52:54:00:12:34:56. People also write it in
// upper case, with dashes, in three parts with dots, or with nothing between its digits. It returns
// "" if the string is no MAC address.
func plainMAC(text string) string {
	if bareMAC.MatchString(text) {
		text = text[:4] + "." + text[4:8] + "." + text[8:]
	}
	mac, err := net.ParseMAC(text)
	if err != nil || len(mac) != 6 {
		return ""
	}
	return mac.String()
}

// macProblem returns what keeps a MAC address, as plainMAC returns it, from being an interface's; ""
// if nothing does.
func macProblem(mac string) string {
	switch {
	case mac == "":
		return "is not a MAC address; write it like 52:54:00:12:34:56"
	case strings.ContainsRune("13579bdf", rune(mac[1])):
		return "is a group's address (multicast), and no interface's; write one that ip link shows on the machine"
	case mac == "00:00:00:00:00:00":
		return "is no interface's address; write one that ip link shows on the machine"
	}
	return ""
}

// uuidProblem returns what keeps a text in lower case from being a machine's UUID, "" if nothing does.
func uuidProblem(text string) string {
	switch {
	case !uuid.MatchString(text):
		return "is not a UUID; write it as /sys/class/dmi/id/product_uuid shows it, like 8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5"
	case strings.Trim(text, "0-") == "" || strings.Trim(text, "f-") == "":
		return "is what a firmware without a UUID shows; remove it, or write mac instead"
	}
	return ""
}
