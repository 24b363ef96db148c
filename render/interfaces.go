package render

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"kiln/render/config"
	"kiln/render/node"
	"kiln/render/plan"
)

// interfaces adds the configuration of the machine's network interfaces, in the language of whoever configures them: cloud-init, which
// speaks to the program on the machine, or that program itself.
func (t *tree) interfaces() error {
	list := t.m.Interfaces
	if len(list) == 0 {
		return nil
	}
	if t.m.System.Format == plan.CloudInit {
		text, err := networkConfig(list, config.Netplan(t.m.System.Name))
		t.n.NetworkConfig = text
		return err
	}
	write, ok := interfaceFiles[t.m.System.Network]
	if !ok {
		return fmt.Errorf("interfaces: no way to say them to %s", t.m.System.Network)
	}
	for i := range list {
		files := append(linkFile(&list[i]), write(&list[i])...)
		for _, f := range files {
			f.From = []string{at(t.m.Path+".interfaces", i)}
			t.n.Files = append(t.n.Files, f)
		}
	}
	return nil
}

// interfaceFiles is how each program is told of an interface.
var interfaceFiles = map[string]func(*plan.Interface) []node.File{
	plan.Networkd:       networkdFiles,
	plan.NetworkManager: keyfiles,
}

// linkFile is what gives an interface its name: udev's, whatever program configures the interface. The permanent address is asked for, since
// a bond gives all its members one, and VLANs have that of what they are on (systemd.link(5)).
func linkFile(n *plan.Interface) []node.File {
	if n.MAC == "" {
		return nil
	}
	var b ini
	b.section("Match")
	b.set("PermanentMACAddress", n.MAC)
	b.section("Link")
	b.set("Name", n.Name)
	return []node.File{b.file(networkdPath(n, "link"), 0o644, "name of the interface with this address")}
}

// ini is a text of sections with lines KEY=VALUE, as systemd and NetworkManager read them.
type ini struct {
	text    strings.Builder
	heading string // of a section that has no line yet
}

// section begins a section; one that gets no line is left out.
func (b *ini) section(name string) { b.heading = "[" + name + "]\n" }

// set adds a line for each value that is not empty.
func (b *ini) set(key string, values ...string) {
	for _, v := range values {
		if v != "" {
			b.text.WriteString(b.heading + key + "=" + v + "\n")
			b.heading = ""
		}
	}
}

func (b *ini) file(path string, mode uint32, why string) node.File {
	return node.File{Path: path, Mode: mode, Content: []byte(b.text.String()), Why: why}
}

// digits is a number in decimal digits; 0 is nothing.
func digits(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func texts[T fmt.Stringer](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

// only are the addresses of a family.
func only(list []netip.Addr, is4 bool) (out []string) {
	for _, a := range list {
		if a.Is4() == is4 {
			out = append(out, a.String())
		}
	}
	return out
}
