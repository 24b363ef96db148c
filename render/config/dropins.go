package config

import (
	"cmp"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// KubeletDropIns is the folder of drop-ins of the kubelet's configuration. The fields of a file
// NAME.conf in it are taken as fields of kubelet in the layer that has the file, over those that
// stand there. No kubelet reads the folder.
const KubeletDropIns = "/etc/kubernetes/kubelet.conf.d"

func isDropIn(name string) bool {
	return path.Dir(name) == KubeletDropIns && path.Ext(name) == ".conf"
}

// dropIn returns the fields of a drop-in of the kubelet's configuration, and false if it is none.
func (c *Cluster) dropIn(f *File) (fields map[string]any, ok bool) {
	text := []byte(cmp.Or(f.Content, string(c.Text(f.ContentFrom))))
	if yamltext.Object.Check(text) != nil {
		return nil, false
	}
	text, err := yaml.YAMLToJSONStrict(text)
	if err != nil || json.Unmarshal(text, &fields) != nil || fields["apiVersion"] != kubeletAPI ||
		fields["kind"] != kubeletKind {
		return nil, false
	}
	delete(fields, "apiVersion")
	delete(fields, "kind")
	return fields, true
}

func (c *Cluster) readDropIns() {
	for _, layer := range c.written() {
		m, files := layer.Machine, map[string]*File{}
		for i := range m.Files {
			if f := &m.Files[i]; isDropIn(f.Path) {
				files[f.Path] = f
			}
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if fields, ok := c.dropIn(files[name]); ok {
				m.dropIns = append(m.dropIns, fields)
			}
		}
	}
}

// KubeletAt returns the path of the field that says most of kubelet in the narrowest layer: files
// if only drop-ins do.
func (e *Effective) KubeletAt() string {
	if len(e.own.Kubelet) == 0 && len(e.own.dropIns) > 0 {
		return e.At("files")
	}
	return e.At("kubelet")
}

// kubeletDropIns checks the drop-ins of the kubelet's configuration among the files of a layer.
func (v *checker) kubeletDropIns(files []File, at *yamltext.Location) {
	for i := range files {
		f, here := &files[i], at.Index(i)
		if path.Dir(f.Path) != KubeletDropIns {
			continue
		}
		fields, ok := v.c.dropIn(f)
		switch {
		case !isDropIn(f.Path):
			v.report(here.Key("path"), "%s is no NAME.conf, and kubelets leave out all others; "+
				"rename it", quote(f.Path))
		case f.Secret:
			v.report(here, "a drop-in of the kubelet's configuration holds no secret, or messages "+
				"about its values would show them; remove secret")
		case !ok:
			v.report(here, "is no KubeletConfiguration of %s in YAML", kubeletAPI)
		default:
			v.kubelet(fields, here)
		}
	}
}
