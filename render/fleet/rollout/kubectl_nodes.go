// This file writes the commands of kubectl that people paste from a plan: for Nodes, and for
// API objects. The states may come from somebody else. So what stands in a command is quoted, or it
// is a name that Kubernetes allows: that has no character which a shell obeys, and is no flag.

package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/fleet/running"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// Change is a change of a Node.
type Change struct {
	Command string                   // with NAME for the Node's name, or why there is none
	Holds   func(*running.Node) bool // whether a Node has it already; nil if nobody can tell
}

// Changes returns the changes of the Node that the fields of one file ask for: of taints one, of
// labels one or several each.
func Changes(fields []change.Field) (list []Change) {
	old, now := map[string]string{}, map[string]string{}
	for i := range fields {
		if f := &fields[i]; strings.HasPrefix(f.Name, "registerWithTaints") {
			list = append(list, taintChange(f))
		} else {
			addLabels(old, f.Old)
			addLabels(now, f.New)
		}
	}
	for _, label := range slices.Sorted(maps.Keys(now)) {
		list = append(list, labelChange(label, now[label], true))
	}
	for _, label := range slices.Sorted(maps.Keys(old)) {
		if _, stays := now[label]; !stays {
			list = append(list, labelChange(label, old[label], false))
		}
	}
	return list
}

// addLabels adds the labels of a kubelet's flag.
func addLabels(to map[string]string, flag *string) {
	if flag == nil {
		return
	}
	for label := range strings.SplitSeq(*flag, ",") {
		key, value, _ := strings.Cut(label, "=")
		to[key] = value
	}
}

// labelChange returns the change that gives a Node a label, or takes it away. A role has two
// labels: the one that a kubelet may set, and the role itself. Both come and go together, because
// one of them would bring the other back.
func labelChange(key, value string, wanted bool) Change {
	if !isLabel(key, value) {
		return Change{Command: noCommand("label", key+"="+value)}
	}
	keys := []string{key}
	if role, ok := strings.CutPrefix(key, config.OwnRoleLabel); ok {
		keys = append(keys, config.RoleLabel+role)
	}
	var c Change
	if !wanted {
		c.Command = "kubectl label node NAME " + strings.Join(keys, "- ") + "-"
		c.Holds = func(n *running.Node) bool {
			return !slices.ContainsFunc(keys, func(key string) bool {
				_, there := n.Labels[key]
				return there
			})
		}
		return c
	}
	end := "=" + value
	c.Command = "kubectl label --overwrite node NAME " + strings.Join(keys, end+" ") + end
	c.Holds = func(n *running.Node) bool {
		return !slices.ContainsFunc(keys, func(key string) bool {
			has, there := n.Labels[key]
			return !there || has != value
		})
	}
	return c
}

// taintChange is labelChange for taints. A field may be a part of a taint, such as its value. Then
// the rest of the taint is not known, and there is no command.
func taintChange(f *change.Field) Change {
	var taint corev1.Taint
	err := json.Unmarshal([]byte(f.Either()), &taint)
	switch {
	case err != nil:
		return Change{Command: fmt.Sprintf("on NAME, with kubectl taint: %q: %q → %q", f.Name,
			change.Text(f.Old), change.Text(f.New))}
	case !isTaint(&taint):
		return Change{Command: noCommand("taint", f.Either())}
	}
	has := func(n *running.Node) bool { return slices.Contains(n.Taints, taint.ToString()) }
	command := "kubectl taint --overwrite node NAME " + taint.ToString()
	if f.New == nil {
		return Change{Command: command + "-",
			Holds: func(n *running.Node) bool { return !has(n) }}
	}
	return Change{Command: command, Holds: has}
}

// noCommand returns the line in place of a command for something that no Node can have.
func noCommand(what, text string) string {
	return fmt.Sprintf("on NAME, by hand: Kubernetes allows no %s %q", what, text)
}

// isTaint reports whether a Node can have the taint.
func isTaint(t *corev1.Taint) bool {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule,
		corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	return isLabel(t.Key, t.Value) && slices.Contains(effects, t.Effect)
}

// isLabel reports whether a Node can have a label with this key and value. Keys and values of
// taints have the same grammar.
func isLabel(key, value string) bool {
	return len(validation.IsQualifiedName(key)) == 0 &&
		len(validation.IsValidLabelValue(value)) == 0
}

// Label returns the lines that give a new machine's Node the labels that only an administrator may
// set. It returns none if there are no such labels.
func Label(m *change.Machine, name string) (lines []string) {
	labels := nodeLabels(m)
	var words strings.Builder
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		if !isLabel(key, value) {
			line := noCommand("label", key+"="+value)
			lines = append(lines, strings.Replace(line, "NAME", name, 1))
			continue
		}
		words.WriteString(" " + key + "=" + value)
	}
	if words.Len() > 0 {
		lines = append(lines, "kubectl label --overwrite node "+name+words.String()+
			"  # once it is a Node: its hook may do it only while the cluster is formed")
	}
	return lines
}

// nodeLabels returns the labels that only an administrator may give the machine's Node.
func nodeLabels(m *change.Machine) map[string]string {
	entry := m.Entries.Find(change.Key{Kind: "file", ID: plan.KilnDir + "/node.yaml"})
	if entry == nil {
		return nil
	}
	var node struct {
		Metadata struct{ Labels map[string]string }
	}
	if err := yaml.Unmarshal(entry.Content, &node); err != nil {
		return nil // kiln wrote no such file
	}
	return node.Metadata.Labels
}

// labelChanges returns these labels as changes.
func labelChanges(m *change.Machine) (list []Change) {
	labels := nodeLabels(m)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, labelChange(key, labels[key], true))
	}
	return list
}

// drain returns the command that moves a Node's pods away, and keeps new ones off it.
func drain(name string) Line {
	return commands("kubectl drain " + name + " --ignore-daemonsets --delete-emptydir-data")[0].
		as(Drain).of(name)
}

// uncordon returns the command that ends what drain began: a Node stays as it is when its machine
// is replaced.
func uncordon(names ...string) Line {
	line := commands("kubectl uncordon " + strings.Join(names, " "))[0].as(Uncordon).of(names[0])
	line.Nodes = names
	return line
}

// forget returns the command that deletes the Node of a machine that is gone. A cloud's controller
// may have deleted it.
func forget(name string) Line {
	line := commands("kubectl delete node " + name)[0].of(name)
	line.Command += " --ignore-not-found"
	return line
}
