package config

import (
	"net"
	"regexp"
	"strings"
)

// bareMAC matches a MAC address with nothing between its digits.
var bareMAC = regexp.MustCompile(`^[0-9A-Fa-f]{12}$`)

// uuid matches a UUID in lower case.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// plainMAC returns a MAC address as the kernel writes it, 52:54:00:12:34:56. People also write it
// in upper case, with dashes, in three parts with dots, or with nothing between its digits. It
// returns "" if the string is no MAC address.
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

// macProblem returns why a MAC address, as plainMAC returns it, is not that of an interface, "" if
// it may be one.
func macProblem(mac string) string {
	switch {
	case mac == "":
		return "is not a MAC address; write it like 52:54:00:12:34:56"
	case strings.ContainsRune("13579bdf", rune(mac[1])):
		return "is a multicast address, which no interface has; " +
			"write one that ip link shows on the machine"
	case mac == "00:00:00:00:00:00":
		return "is not the address of an interface; write one that ip link shows on the machine"
	}
	return ""
}

// uuidProblem returns why a string in lower case is not the UUID of a machine, "" if it may be one.
func uuidProblem(text string) string {
	switch {
	case !uuid.MatchString(text):
		return "is not a UUID; write it as /sys/class/dmi/id/product_uuid shows it, " +
			"like 8f0c1d2e-3b4a-4c5d-9e6f-708192a3b4c5"
	case strings.Trim(text, "0-") == "" || strings.Trim(text, "f-") == "":
		return "is what a firmware without a UUID shows; remove it, or write mac instead"
	}
	return ""
}
