package config

import (
	"cmp"
	"net/netip"
	"reflect"
	"time"

	"kiln.dev/kiln/render/facts/target"
)

// setDefaults sets absent fields to the default of their tags, then those whose default follows
// from another field. It leaves the settings of machines alone: their defaults are a layer of their
// own, below all others.
func setDefaults(c *Cluster) {
	fillStruct(reflect.ValueOf(c).Elem())
	setNodeMasks(&c.Spec.Network)
	setFlannel(&c.Spec.Network)
	setSecurity(&c.Spec.Security)
	setStagger(&c.Spec.Certificates)
	setEndpoint(&c.Spec)
}

// setNodeMasks sets absent nodeMaskSizes: 24 for IPv4 and 64 for IPv6.
func setNodeMasks(net *Network) {
	if len(net.NodeMaskSizes) > 0 {
		return
	}
	for _, subnet := range net.PodSubnets {
		mask := 24
		if p, err := netip.ParsePrefix(subnet); err == nil && p.Addr().Is6() {
			mask = 64
		}
		net.NodeMaskSizes = append(net.NodeMaskSizes, mask)
	}
}

// setFlannel sets the absent backend and port of Flannel, where it connects the pods.
func setFlannel(net *Network) {
	if net.CNI != "flannel" {
		return
	}
	f := &net.Flannel
	if f.Backend == "" {
		f.Backend = "vxlan"
		if net.Encryption == wireGuard {
			f.Backend = wireGuard
		}
	}
	switch f.Backend {
	case "vxlan":
		f.Port = cmp.Or(f.Port, target.VXLANPort)
	case wireGuard:
		f.Port = cmp.Or(f.Port, target.WireGuardPort)
	}
}

func setSecurity(sec *Security) {
	level, metadata := "baseline", "deny"
	if !sec.Hardened() {
		level, metadata = "privileged", "allow"
	}
	sec.PodSecurity.Enforce = cmp.Or(sec.PodSecurity.Enforce, level)
	sec.MetadataService = cmp.Or(sec.MetadataService, metadata)
}

// setStagger sets an absent stagger to 30 days, which is also about a twelfth of the default
// lifetime. A shorter lifetime has a shorter stagger, so that no certificate loses much of it.
func setStagger(cert *Certificates) {
	if cert.Stagger == nil {
		stagger := min(720*Duration(time.Hour), max(cert.Lifetime, 0)/12)
		stagger -= stagger % Duration(time.Second)
		cert.Stagger = &stagger
	}
}

// setEndpoint sets an absent endpoint and the absent fields of a vip. Each of the two gets its
// address from the other. Without a vip the endpoint is the address of the only control plane.
func setEndpoint(spec *Spec) {
	if vip := spec.ControlPlane.VIP; vip != nil {
		if spec.Endpoint == "" {
			spec.Endpoint = vip.Address
		} else if host, _, err := splitEndpoint(spec.Endpoint); err == nil && vip.Address == "" {
			if _, err := netip.ParseAddr(host); err == nil {
				vip.Address = host
			}
		}
		if vip.Mode == "bgp" {
			vip.Interface = cmp.Or(vip.Interface, "lo")
		}
		return
	}
	if spec.Endpoint != "" {
		return
	}
	var only *Node
	for i := range spec.Nodes {
		if spec.Nodes[i].Role != roleControlPlane {
			continue
		}
		if only != nil {
			return
		}
		only = &spec.Nodes[i]
	}
	if only != nil && len(only.Addresses) > 0 {
		spec.Endpoint = only.Addresses[0]
	}
}

func fillStruct(v reflect.Value) {
	if f, ok := v.Addr().Interface().(*File); ok && f.Secret {
		f.Mode = cmp.Or(f.Mode, "0600")
	}
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
