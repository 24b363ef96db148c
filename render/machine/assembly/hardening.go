package assembly

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
)

// PatchWarnings returns what the user's patches have taken away, as far as they were applied: flags
// of programs, and plugins of the API server's admission.
func (r *Cluster) PatchWarnings() config.Problems {
	r.patches.mu.Lock()
	defer r.patches.mu.Unlock()
	return slices.SortedFunc(slices.Values(r.patches.lost), func(a, b config.Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
}

// mayLose matches a stream with an object of which noteLost knows what it may lose. Reading a
// stream takes time, and each machine has several.
var mayLose = regexp.MustCompile(`(?m)^kind: (Pod|AdmissionConfiguration)$`)

// noteLost compares a stream before and after the user's patches. last is the last patch that
// changed it.
func (s *PatchSet) noteLost(before, after []byte, last *Patch) {
	if last == nil || !mayLose.Match(before) {
		return
	}
	old, err := manifests.Read(before)
	if err != nil {
		return
	}
	patched, err := manifests.Read(after)
	if err != nil {
		return
	}
	for _, o := range old {
		i := slices.IndexFunc(patched, func(p manifests.Object) bool {
			return p.Kind == o.Kind && p.Name == o.Name && p.Namespace == o.Namespace
		})
		if i < 0 {
			continue
		}
		switch o.Kind {
		case "Pod":
			s.lostFlags(o, patched[i], last)
		case "AdmissionConfiguration":
			s.lostPlugins(o, patched[i], last)
		}
	}
}

// lostFlags notes flags that a patch takes from the command of a static pod, and flags that it
// gives a second time, of which the last one counts.
func (s *PatchSet) lostFlags(old, patched manifests.Object, by *Patch) {
	var before, after core.Pod
	if old.Decode(&before) != nil || patched.Decode(&after) != nil {
		return
	}
	for _, c := range before.Spec.Containers {
		i := slices.IndexFunc(after.Spec.Containers, func(other core.Container) bool {
			return other.Name == c.Name
		})
		if i < 0 {
			continue // which is an error elsewhere
		}
		had, has := flagsOf(c), flagsOf(after.Spec.Containers[i])
		for name, count := range had {
			if name == "authorization-mode" && has["authorization-config"] > 0 {
				continue // it excludes the mode
			}
			if has[name] < count && len(has) > 0 { // else the command is another one
				s.warnLost(by, "static pod %s: takes away --%s, which kiln sets; correct the "+
					"index of the patch, or write the flag that you mean into "+
					"extraArgs", old.Name, name)
			}
		}
		for name, count := range has {
			if count > 1 && had[name] == 1 {
				s.warnLost(by, "static pod %s: has --%s twice, and the last one counts; write it "+
					"into extraArgs instead", old.Name, name)
			}
		}
	}
}

// flagsOf returns how often each flag stands in the command of a container.
func flagsOf(c core.Container) map[string]int {
	count := map[string]int{}
	for _, word := range slices.Concat(c.Command, c.Args) {
		if name, isFlag := strings.CutPrefix(word, "--"); isFlag {
			name, _, _ = strings.Cut(name, "=")
			count[name]++
		}
	}
	return count
}

// lostPlugins notes admission plugins whose settings a patch takes away.
func (s *PatchSet) lostPlugins(old, patched manifests.Object, by *Patch) {
	type settings struct{ Plugins []struct{ Name string } }
	var before, after settings
	if old.Decode(&before) != nil || patched.Decode(&after) != nil {
		return
	}
	for _, p := range before.Plugins {
		if !slices.Contains(after.Plugins, p) {
			s.warnLost(by, "%s: takes away the settings of the plugin %s; a patch replaces the "+
				"whole list of plugins: write these settings too, or a JSON patch that adds to it",
				old.Kind, p.Name)
		}
	}
}

// warnLost notes a warning at a patch, once.
func (s *PatchSet) warnLost(by *Patch, format string, args ...any) {
	w := s.config.Problemf(by.Path, format, args...)
	w.ID = config.WarnHardening
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.lost, w) {
		s.lost = append(s.lost, w)
	}
}
