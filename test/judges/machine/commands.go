package machine

import (
	"path"
	"slices"
	"strings"
)

// Command returns the command line of a component, program first: of the kubelet, a static pod or
// the DaemonSet kube-proxy. It is nil if the machine has no such component. Of a machine that runs
// it is the command line of the first process of the program.
func (m *Machine) Command(component string) []string {
	if commands := m.Commands(component); len(commands) > 0 {
		return commands[0]
	}
	return nil
}

// Commands returns all command lines of a component. Only a machine that runs can have several.
func (m *Machine) Commands(component string) (out [][]string) {
	if m.Booted != nil {
		for _, p := range m.Booted.Processes {
			if path.Base(p.Command[0]) == component {
				out = append(out, p.Command)
			}
		}
		return out
	}
	var command []string
	switch component {
	case "kubelet":
		command = m.kubeletCommand()
	case "kube-proxy":
		command = m.proxyCommand()
	default:
		pod := Read[struct{ Spec pod }](m.File(ManifestsDir + "/" + component + ".yaml"))
		command = pod.Spec.command()
	}
	if len(command) == 0 {
		return nil
	}
	return [][]string{command}
}

// pod is what is read of a pod.
type pod struct {
	Containers []struct{ Command, Args []string }
}

// command returns the command line of the first container.
func (p *pod) command() []string {
	if len(p.Containers) == 0 {
		return nil
	}
	return slices.Concat(p.Containers[0].Command, p.Containers[0].Args)
}

// proxyCommand returns kube-proxy's command line, program first, from its DaemonSet.
func (m *Machine) proxyCommand() []string {
	for _, f := range m.Under(ObjectsDir) {
		object := Read[struct {
			Kind     string
			Metadata struct{ Name, Namespace string }
			Spec     struct{ Template struct{ Spec pod } }
		}](f)
		if object.Kind == "DaemonSet" && object.Metadata.Namespace == "kube-system" &&
			object.Metadata.Name == "kube-proxy" {
			return object.Spec.Template.Spec.command()
		}
	}
	return nil
}

// kubeletCommand returns the kubelet's command line, program first, from its drop-in.
func (m *Machine) kubeletCommand() []string {
	f := m.File(KubeletDropIn)
	if f == nil {
		return nil
	}
	var command []string
	for line := range strings.Lines(strings.ReplaceAll(string(f.Content), "\\\n", " ")) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line),
			"ExecStart="); ok && value != "" {
			command = words(value)
		}
	}
	return command
}

// words splits a systemd command line at its spaces; a word may stand in double or single quotes.
func words(line string) (out []string) {
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, open = r, true
		case quote == 0 && r == ' ':
			if open || word.Len() > 0 {
				out = append(out, word.String())
			}
			word.Reset()
			open = false
		default:
			word.WriteRune(r)
		}
	}
	if open || word.Len() > 0 {
		out = append(out, word.String())
	}
	return out
}

// Flag returns the value of a flag where it first stands on a command line; one without a value is
// true.
func Flag(command []string, name string) (string, bool) {
	for _, word := range command {
		if found, text, ok := strings.Cut(word, "="); found == "--"+name {
			if !ok {
				text = "true"
			}
			return text, true
		}
	}
	return "", false
}
