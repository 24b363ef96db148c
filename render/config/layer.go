package config

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
)

// Values of a node's role, and names of the layers that are not a node's or pool's own.
const (
	roleControlPlane = "control-plane"
	roleWorker       = "worker"
	roleEtcd         = "etcd"

	layerDefault      = "default"
	layerAll          = "machines"
	layerControlPlane = "controlPlane.machines"
	layerEtcd         = "controlPlane.etcd.machines"
	layerWorkers      = "workers.machines"
)

// fieldSet is a set of fields of Machine, by number.
type fieldSet uint64

// Effective is what holds for one machine after all layers: default, machines, those of its role (controlPlane.machines,
// controlPlane.etcd.machines or workers.machines), and the node's or pool's own settings, each over the one before it.
type Effective struct {
	Machine
	// Source names the layer that set each value ("default", "machines", "controlPlane.machines",
	// "controlPlane.etcd.machines", "workers.machines", "nodes[2]", "pools[0]") by the value's path ("os", "kubelet.maxPods", "labels.zone"). Lists are values as a whole.
	Source map[string]string
	// Layer is the narrowest layer that is in it.
	Layer string

	own   *Machine   // what that layer says
	wider *Effective // what it was put over; nil below the defaults
}

// Layers returns the settings after each layer, the widest first; the last one is e.
func (e *Effective) Layers() []*Effective {
	if e.own == nil {
		return nil
	}
	return append(e.wider.Layers(), e)
}

// Sets says that the narrowest layer says something of a field, such as kubelet.
func (e *Effective) Sets(name string) bool {
	return e.own.says()&(1<<structs[machineType].byName[name].machine) != 0
}

// At is the path of a field in the narrowest layer; for a default it is the field's name.
func (e *Effective) At(name string) string {
	if e.Layer == layerDefault {
		return name
	}
	return e.Layer + "." + name
}

// Path is the path of a field in the narrowest layer that sets it; for one that has its default, or none, it is the field's name.
func (e *Effective) Path(name string) string {
	for ; e.own != nil; e = e.wider {
		if e.Sets(name) {
			return e.At(name)
		}
	}
	return name
}

// Paths returns the paths of a mapping in all layers that set it, the widest first.
func (e *Effective) Paths(name string) (paths []string) {
	for _, layer := range e.Layers() {
		if layer.Sets(name) {
			paths = append(paths, layer.At(name))
		}
	}
	return paths
}

// roleLayers holds what the machines of a role have in common.
type roleLayers struct{ controlPlane, etcd, worker Effective }

// controlPlaneTaint keeps pods off control planes unless a layer sets taints.
var controlPlaneTaint = Taint{Key: "node-role.kubernetes.io/control-plane", Effect: "NoSchedule"}

// machineDefaults is the layer below all others.
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

// EffectiveNode returns the settings of the i-th node. Maps and lists are shared with the Cluster and with other
// machines: they must not be changed.
func (c *Cluster) EffectiveNode(i int) Effective {
	n := &c.Spec.Nodes[i]
	return c.role(n.Role).over(&n.Machine, "nodes", i)
}

// EffectivePool returns the settings of the i-th pool, as EffectiveNode does.
func (c *Cluster) EffectivePool(i int) Effective {
	return c.role(roleWorker).over(&c.Spec.Pools[i].Machine, "pools", i)
}

// role returns what the machines of a role have in common.
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

// newRoleLayers merges the layers above the single machines.
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

// over returns e with a machine's own settings on top.
func (e *Effective) over(m *Machine, list string, i int) Effective {
	if m.says() == 0 {
		return *e
	}
	return *e.with(m, fmt.Sprintf("%s[%d]", list, i))
}

// with returns e with a narrower layer on top.
func (e *Effective) with(m *Machine, layer string) *Effective {
	next := &Effective{Machine: e.Machine, Source: maps.Clone(e.Source), Layer: layer, own: m, wider: e}
	next.apply(m)
	return next
}

// says returns the fields that a layer sets: those that stand in the file, and those that are not zero.
func (m *Machine) says() fieldSet {
	set := m.set
	v := reflect.ValueOf(m).Elem()
	for i := range structs[machineType].list {
		if f := &structs[machineType].list[i]; !v.Field(f.machine).IsZero() {
			set |= 1 << f.machine
		}
	}
	return set
}

// apply puts a narrower layer over e: maps merge key by key, everything else is replaced. Maps that came from a
// wider layer are copied before they change.
func (e *Effective) apply(m *Machine) {
	says, layer := m.says(), e.Layer
	src, dst := reflect.ValueOf(m).Elem(), reflect.ValueOf(&e.Machine).Elem()
	for i := range structs[machineType].list {
		f := &structs[machineType].list[i]
		if says&(1<<f.machine) == 0 {
			continue
		}
		e.set |= 1 << f.machine
		from, to := src.Field(f.machine), dst.Field(f.machine)
		switch p := to.Addr().Interface().(type) {
		case *map[string]string:
			*p = e.mergeTexts(*p, from.Interface().(map[string]string), f.name, layer)
		case *map[string]any:
			*p = e.mergeTree(*p, from.Interface().(map[string]any), f.name, layer)
		default:
			to.Set(from)
			e.Source[f.name] = layer
		}
	}
}

// mergeTexts returns wide with narrow's keys on top.
func (e *Effective) mergeTexts(wide, narrow map[string]string, path, layer string) map[string]string {
	if len(narrow) == 0 {
		return e.keepEmpty(wide, path, layer)
	}
	delete(e.Source, path)
	for k := range narrow {
		e.Source[path+"."+k] = layer
	}
	if len(wide) == 0 {
		return narrow
	}
	merged := maps.Clone(wide)
	maps.Copy(merged, narrow)
	return merged
}

// keepEmpty handles a layer that sets an empty map: it adds nothing, and is named as the source if nothing is there.
func (e *Effective) keepEmpty(wide map[string]string, path, layer string) map[string]string {
	if len(wide) > 0 {
		return wide
	}
	e.Source[path] = layer
	return map[string]string{}
}

// mergeTree returns wide with narrow's keys on top, and so for mappings within.
func (e *Effective) mergeTree(wide, narrow map[string]any, path, layer string) map[string]any {
	switch {
	case len(narrow) == 0 && len(wide) > 0:
		return wide
	case len(wide) == 0:
		e.note(narrow, path, layer)
		return narrow
	}
	merged := maps.Clone(wide)
	for k, v := range narrow {
		sub := path + "." + k
		before, wasTree := merged[k].(map[string]any)
		now, isTree := v.(map[string]any)
		if wasTree && isTree {
			merged[k] = e.mergeTree(before, now, sub, layer)
			continue
		}
		if wasTree {
			e.forget(sub)
		}
		merged[k] = v
		e.note(v, sub, layer)
	}
	return merged
}

// note names layer as the source of every value at and below path.
func (e *Effective) note(v any, path, layer string) {
	tree, ok := v.(map[string]any)
	if !ok || len(tree) == 0 {
		e.Source[path] = layer
		return
	}
	delete(e.Source, path)
	for k, sub := range tree {
		e.note(sub, path+"."+k, layer)
	}
}

// forget drops the sources of everything at and below path.
func (e *Effective) forget(path string) {
	maps.DeleteFunc(e.Source, func(k, _ string) bool {
		return k == path || strings.HasPrefix(k, path+".")
	})
}
