package check

import (
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"kiln/render/node"
	"kiln/render/plan"
)

// checkReferences: every file that something on the machine names is there; a static pod's lies in one of its volumes, and
// may be read, or written, by the user that the pod runs as.
func (c *inspection) checkReferences() {
	for _, p := range slices.Sorted(maps.Keys(c.kubeconfigs)) {
		for _, file := range c.kubeconfigs[p].files() {
			c.requirePath("file "+p, file)
		}
	}
	for _, file := range c.kubelet.paths {
		c.requirePath("file "+plan.KubeletConfig, file)
	}
	for _, f := range c.node.Files {
		if liesIn(f.Path, plan.UnitDir) {
			c.checkUnit(f)
		}
	}
	for _, file := range strings.Fields(c.hookData("retire")) {
		c.requirePath("file "+plan.KilnDir+"/machine: retire", file)
	}
	for _, p := range c.programs {
		c.checkVolumes(p)
		for _, flag := range slices.Sorted(maps.Keys(p.flags)) {
			for _, value := range p.flags[flag] {
				for _, file := range splitList(value) {
					c.requireUsable(p, flag, file)
				}
			}
		}
	}
}

// unitSettings are the settings of units that name files which must be there. With a "-" or "!" before it a path may be
// missing.
var unitSettings = []string{"ConditionPathExists=", "EnvironmentFile=", "ExecStart=", "ExecStartPre=", "ExecStartPost=", "ExecReload=", "ExecStop="}

// checkUnit: the files in a unit's conditions and commands.
func (c *inspection) checkUnit(f node.File) {
	for line := range strings.Lines(strings.ReplaceAll(string(f.Content), "\\\n", " ")) {
		for _, setting := range unitSettings {
			rest, found := strings.CutPrefix(line, setting)
			if !found {
				continue
			}
			for _, word := range splitWords(rest) {
				_, value, isFlag := strings.Cut(word, "=")
				if !isFlag {
					value = word
				}
				c.requirePath("file "+f.Path, value)
			}
		}
	}
}

// requirePath: a path that only the document can bring is in the document.
func (c *inspection) requirePath(by, p string) {
	if isOnlyInDocument(p) && !c.hasPath(p) && !c.isMadeByKubelet(p) {
		c.fail("%s: names %s, which the machine does not have; correct the path", by, p)
	}
}

// isMadeByKubelet says that a kubelet that joins with a token makes the file when it has joined.
func (c *inspection) isMadeByKubelet(p string) bool {
	return c.machine.Token && (p == plan.KubeletConf || liesIn(p, plan.KubeletPKI))
}

// isOnlyInDocument says whether a path is one that only the document can bring.
func isOnlyInDocument(p string) bool {
	for _, dir := range []string{plan.KubernetesDir, "/etc/etcd", plan.KubeletPKI, plan.KilnDir} {
		if liesIn(p, dir) && !strings.ContainsAny(p, " \n") {
			return true
		}
	}
	return p == plan.EtcdData || p == plan.AuditDir
}

// checkVolumes: what a pod mounts is among its volumes, and a folder or file of the machine that must be there is.
func (c *inspection) checkVolumes(p *program) {
	for _, m := range p.VolumeMounts {
		i := slices.IndexFunc(p.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			c.fail("%s: mounts the volume %q, which the pod does not have; add it", p, m.Name)
			continue
		}
		source := p.pod.Spec.Volumes[i].HostPath
		if source == nil || source.Type != nil && strings.HasSuffix(string(*source.Type), "OrCreate") {
			continue
		}
		by := p.String() + ": volume " + m.Name
		c.requirePath(by, source.Path)
		isFile := c.file(source.Path) != nil
		if source.Type != nil && c.hasPath(source.Path) && isFile != (*source.Type == corev1.HostPathFile) {
			c.fail("%s: %s is not of the type %s; correct the type", by, source.Path, *source.Type)
		}
	}
}

// writtenFlags are the flags whose paths a program writes.
var writtenFlags = map[string]bool{"audit-log-path": true, "data-dir": true, "wal-dir": true}

// requireUsable: a path that a flag names is in a volume of the pod and leads to something that its user may use. A path in no
// volume may be the image's own, unless the document has it too.
func (c *inspection) requireUsable(p *program, flag, inside string) {
	if !path.IsAbs(inside) {
		return
	}
	by := p.String() + ": --" + flag
	at := p.locate(inside)
	switch {
	case at.mount == nil && (isOnlyInDocument(inside) || c.files[inside] != nil || writtenFlags[flag]):
		c.fail("%s: %s is in no volume of the pod; add a volume and its mount", by, inside)
	case at.path == "": // in the image, or in a volume that is not the machine's
	case writtenFlags[flag] && at.mount.ReadOnly:
		c.fail("%s: %s is written, and its volume %s is read-only; remove readOnly from the mount", by, inside, at.mount.Name)
	case writtenFlags[flag]:
		c.requireAccess(by, p.user(), at, mayWrite)
	default:
		c.requirePath(by, at.path)
		c.requireAccess(by, p.user(), at, mayRead)
		if k := c.kubeconfigs[at.path]; k != nil {
			for _, file := range k.files() {
				c.requireUsable(p, flag, file)
			}
		}
	}
}
