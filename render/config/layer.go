package config

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// Effective holds the settings of one machine after all layers. The layers are, from wide to
// narrow: default, machines, that of the role (controlPlane.machines, controlPlane.etcd.machines or
// workers.machines), and the node or pool. Each overrides those before it.
type Effective struct {
	Machine
	// Source maps the path of each value ("os", "kubelet.maxPods", "labels.zone") to the layer that
	// set it ("default", "machines", "controlPlane.machines", "controlPlane.etcd.machines",
	// "workers.machines", "nodes[2]", "pools[0]"). A list is one value.
	Source map[string]string
	// Layer is the narrowest of the layers.
	Layer string

	own   *Machine   // the settings of that layer alone
	sets  fieldSet   // the fields of own that are set
	wider *Effective // the settings after the layers before it; nil before the defaults
}

// Layers returns the settings after each layer, the widest first. The last one is e.
func (e *Effective) Layers() []*Effective {
	if e.own == nil {
		return nil
	}
	return append(e.wider.Layers(), e)
}

// Sets reports whether the narrowest layer sets a field, such as kubelet.
func (e *Effective) Sets(name string) bool {
	return e.sets&(1<<structs[machineType].byName[name].machine) != 0
}

// At returns the path of a field in the narrowest layer; for a default, its name.
func (e *Effective) At(name string) string {
	if e.Layer == layerDefault {
		return name
	}
	return e.Layer + "." + name
}

// Path returns the path of a field in the narrowest layer that sets it; for a default, its name.
func (e *Effective) Path(name string) string {
	for ; e.own != nil; e = e.wider {
		if e.Sets(name) {
			return e.At(name)
		}
	}
	return name
}

// Paths returns the paths of a field in all layers that set it, the widest first.
func (e *Effective) Paths(name string) (paths []string) {
	for _, layer := range e.Layers() {
		if layer.Sets(name) {
			paths = append(paths, layer.At(name))
		}
	}
	return paths
}

type roleLayers struct{ controlPlane, etcd, worker Effective }

// controlPlaneTaint keeps pods off control planes unless a layer sets taints.
var controlPlaneTaint = Taint{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}

var machineDefaults = newMachineDefaults()

func newMachineDefaults() Machine {
	var m Machine
	v := reflect.ValueOf(&m).Elem()
	for _, f := range structs[machineType].list {
		if f.def != "" {
			v.FieldByIndex(f.index).Set(parseDefault(f.def, v.FieldByIndex(f.index).Type()))
		}
	}
	return m
}

// EffectiveNode returns the settings of the i-th node, which others may share: change nothing.
func (c *Cluster) EffectiveNode(i int) *Effective {
	n := &c.Spec.Nodes[i]
	return c.role(n.Role).over(&n.Machine, "nodes", i)
}

// EffectivePool returns the settings of the i-th pool, as EffectiveNode does.
func (c *Cluster) EffectivePool(i int) *Effective {
	return c.role(roleWorker).over(&c.Spec.Pools[i].Machine, "pools", i)
}

func (c *Cluster) role(role string) *Effective {
	roles := c.roles
	if roles == nil {
		roles = newRoleLayers(c)
	}
	switch role {
	case roleControlPlane:
		return &roles.controlPlane
	case roleEtcd:
		return &roles.etcd
	}
	return &roles.worker
}

// newRoleLayers merges the layers that are wider than nodes and pools.
func newRoleLayers(c *Cluster) *roleLayers {
	merge := func(role *Machine, name string, base Machine) Effective {
		none := &Effective{Source: map[string]string{}}
		return *none.with(&base, layerDefault).with(&c.Spec.Machines, layerAll).with(role, name)
	}
	tainted := machineDefaults
	tainted.Taints = &[]Taint{controlPlaneTaint}
	return &roleLayers{
		controlPlane: merge(&c.Spec.ControlPlane.Machines, layerControlPlane, tainted),
		etcd:         merge(&c.Spec.ControlPlane.Etcd.Machines, layerEtcd, machineDefaults),
		worker:       merge(&c.Spec.Workers.Machines, layerWorkers, machineDefaults),
	}
}

func (e *Effective) over(m *Machine, list string, i int) *Effective {
	if m.fields() == 0 {
		return e
	}
	return e.with(m, fmt.Sprintf("%s[%d]", list, i))
}

func (e *Effective) with(m *Machine, layer string) *Effective {
	next := &Effective{Machine: e.Machine, Source: maps.Clone(e.Source), Layer: layer,
		own: m, sets: m.fields(), wider: e}
	next.apply(m)
	return next
}

// fields returns the fields that the file sets, and those that are not zero.
func (m *Machine) fields() fieldSet {
	set := m.set
	if len(m.dropIns) > 0 {
		set |= 1 << structs[machineType].byName["kubelet"].machine
	}
	v := reflect.ValueOf(m).Elem()
	for i := range structs[machineType].list {
		if f := &structs[machineType].list[i]; !v.Field(f.machine).IsZero() {
			set |= 1 << f.machine
		}
	}
	return set
}

// apply puts a narrower layer over e: maps merge key by key, everything else is replaced.
func (e *Effective) apply(m *Machine) {
	src, dst := reflect.ValueOf(m).Elem(), reflect.ValueOf(&e.Machine).Elem()
	for i := range structs[machineType].list {
		f := &structs[machineType].list[i]
		if e.sets&(1<<f.machine) == 0 {
			continue
		}
		e.set |= 1 << f.machine
		from, to := src.Field(f.machine), dst.Field(f.machine)
		switch p := to.Addr().Interface().(type) {
		case *map[string]string:
			*p = mergeMaps(e, *p, from.Interface().(map[string]string), f.name)
		case *map[string]any:
			*p = mergeMaps(e, *p, from.Interface().(map[string]any), f.name)
			if f.name != "kubelet" {
				continue
			}
			for _, fields := range m.dropIns {
				*p = mergeMaps(e, *p, fields, f.name)
			}
		default:
			to.Set(from)
			e.Source[f.name] = e.Layer
		}
	}
}

// mergeMaps returns wide with the keys of narrow on top, and merges maps within in the same way. A
// narrow map without keys adds nothing; it is the source of the map if wide has no keys either.
func mergeMaps[V any](e *Effective, wide, narrow map[string]V, path string) map[string]V {
	switch {
	case len(narrow) == 0 && len(wide) > 0:
		return wide
	case len(narrow) == 0:
		e.Source[path] = e.Layer
		return narrow
	}
	delete(e.Source, path) // wide may be without keys
	merged := make(map[string]V, len(wide)+len(narrow))
	maps.Copy(merged, wide)
	for k, v := range narrow {
		sub := path + "." + k
		before, wasMap := any(merged[k]).(map[string]any)
		now, isMap := any(v).(map[string]any)
		if wasMap && isMap {
			merged[k] = any(mergeMaps(e, before, now, sub)).(V)
			continue
		}
		if wasMap {
			e.forget(sub)
		}
		merged[k] = v
		e.note(v, sub)
	}
	return merged
}

// note names the layer of e as the source of every value at and below path.
func (e *Effective) note(v any, path string) {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		e.Source[path] = e.Layer
		return
	}
	delete(e.Source, path)
	for k, sub := range m {
		e.note(sub, path+"."+k)
	}
}

func (e *Effective) forget(path string) {
	maps.DeleteFunc(e.Source, func(k, _ string) bool {
		return k == path || strings.HasPrefix(k, path+".")
	})
}

// The values of a node's role.
const (
	roleControlPlane = "control-plane"
	roleWorker       = "worker"
	roleEtcd         = "etcd"
)

// The names of the layers, but for those of single nodes and pools.
const (
	layerDefault      = "default"
	layerAll          = "machines"
	layerControlPlane = "controlPlane.machines"
	layerEtcd         = "controlPlane.etcd.machines"
	layerWorkers      = "workers.machines"
)
