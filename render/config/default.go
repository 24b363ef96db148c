package config

import (
	"cmp"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// setDefaults fills the fields that are absent with what their tags say, then those whose default follows from
// another field. The settings of machines are left alone: their defaults are a layer of their own, below all others.
func setDefaults(c *Cluster) {
	fillStruct(reflect.ValueOf(c).Elem())

	net := &c.Spec.Network
	if len(net.NodeMaskSizes) == 0 {
		for _, subnet := range net.PodSubnets {
			mask := 24
			if p, err := netip.ParsePrefix(subnet); err == nil && p.Addr().Is6() {
				mask = 64
			}
			net.NodeMaskSizes = append(net.NodeMaskSizes, mask)
		}
	}

	// Like the tags' defaults, these stand for what is absent; false stands for itself.
	sec, level, metadata := &c.Spec.Security, "baseline", "deny"
	if !sec.Hardened() {
		level, metadata = "privileged", "allow"
	}
	sec.PodSecurity.Enforce = cmp.Or(sec.PodSecurity.Enforce, level)
	sec.MetadataService = cmp.Or(sec.MetadataService, metadata)

	if vip := c.Spec.ControlPlane.VIP; vip != nil {
		if c.Spec.Endpoint == "" {
			c.Spec.Endpoint = vip.Address
		} else if host, _, err := SplitEndpoint(c.Spec.Endpoint); err == nil && vip.Address == "" {
			if _, err := netip.ParseAddr(host); err == nil {
				vip.Address = host
			}
		}
		if vip.Mode == "bgp" {
			vip.Interface = cmp.Or(vip.Interface, "lo")
		}
		return // no control plane's own address may stand in for it
	}
	if c.Spec.Endpoint == "" {
		var only *Node
		for i := range c.Spec.Nodes {
			switch n := &c.Spec.Nodes[i]; {
			case n.Role != roleControlPlane:
			case only != nil:
				return
			default:
				only = n
			}
		}
		if only != nil && len(only.Addresses) > 0 {
			c.Spec.Endpoint = only.Addresses[0]
		}
	}
}

// fillStruct sets the absent fields of a struct, and of everything below it.
func fillStruct(v reflect.Value) {
	fields := structs[v.Type()]
	for i := range fields.list {
		f := &fields.list[i]
		target := v.FieldByIndex(f.index)
		if f.def != "" && f.machine < 0 && target.IsZero() {
			target.Set(parseDefault(f.def, target.Type()))
		}
		fill(target)
	}
}

// fill goes down to the structs.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		fillStruct(v)
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem())
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			return
		}
		for i := range v.Len() {
			fillStruct(v.Index(i))
		}
	}
}

// parseDefault turns the text of a default tag into a value. The tags are ours: one that does not fit its field is a
// mistake of the program, which a test over all fields finds.
func parseDefault(text string, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == durationType:
		span, err := time.ParseDuration(text)
		if err != nil {
			panic("config: default tag: " + err.Error())
		}
		v.SetInt(int64(span))
	case t.Kind() == reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			panic("config: default tag: " + err.Error())
		}
		v.SetInt(int64(n))
	case t.Kind() == reflect.Slice:
		v.Set(reflect.ValueOf(strings.Split(text, ",")))
	default:
		v.SetString(text)
	}
	return v
}
