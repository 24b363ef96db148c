package judges

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/apis/apps"
	"k8s.io/kubernetes/pkg/apis/core"
)

// process is a program of the cluster that runs on a machine.
type process struct {
	Name    string // of its program, such as kube-apiserver
	File    string // that its command line stands in
	Command []string
	See     sight
}

// sight is what a process finds at a path: a file, a directory, or nil for nothing.
type sight func(path string) *File

// processes returns the kubelet, the first container of every static pod, and the first container
// of every DaemonSet and Deployment in kube-system among the machine's API objects.
func (m *Machine) processes() ([]process, error) {
	var out []process
	if command := m.Command("kubelet"); len(command) > 0 {
		out = append(out, process{
			Name: path.Base(command[0]), File: kubeletDropIn, Command: command, See: m.see,
		})
	}
	for _, f := range append(m.Under(manifestsDir), m.Under(objectsDir)...) {
		if path.Ext(f.Path) != ".yaml" {
			continue
		}
		object, err := decode[runtime.Object](apiDecoder, f.Content)
		if runtime.IsNotRegisteredError(err) {
			continue // the definition of its kind is another object
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		var namespace string
		var spec *core.PodSpec
		switch object := object.(type) {
		case *core.Pod:
			namespace, spec = object.Namespace, &object.Spec
		case *apps.DaemonSet:
			namespace, spec = object.Namespace, &object.Spec.Template.Spec
		case *apps.Deployment:
			namespace, spec = object.Namespace, &object.Spec.Template.Spec
		}
		if namespace != "kube-system" || len(spec.Containers) == 0 {
			continue
		}
		container := &spec.Containers[0]
		command := slices.Concat(container.Command, container.Args)
		if len(container.Command) == 0 {
			// The image starts its own program, which has the name of the container.
			command = slices.Insert(command, 0, container.Name)
		}
		out = append(out, process{
			Name: path.Base(command[0]), File: f.Path,
			Command: command, See: m.seenFrom(spec, container),
		})
	}
	return out, nil
}

// see returns what lies at an absolute path of the machine, at the end of a link.
func (m *Machine) see(file string) *File {
	if !path.IsAbs(file) {
		return nil
	}
	file = m.linkTarget(file)
	if f := cmp.Or(m.File(file), m.Dir(file)); f != nil {
		return f
	}
	for i := range m.Files {
		if strings.HasPrefix(m.Files[i].Path, file+"/") {
			return &File{Path: file}
		}
	}
	return nil
}

// serviceAccountDir is where the kubelet puts a service account's token and the cluster's CA.
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// seenFrom returns the sight of a container: the volumes that are mounted into it.
func (m *Machine) seenFrom(spec *core.PodSpec, container *core.Container) sight {
	return func(file string) *File {
		if spec.ServiceAccountName != "" {
			switch file {
			case serviceAccountDir + "/ca.crt":
				return m.see("/etc/kubernetes/pki/ca.crt")
			case serviceAccountDir + "/token":
				return &File{Path: file, Content: []byte("token")}
			}
		}
		var mount core.VolumeMount
		for _, v := range container.VolumeMounts {
			if (file == v.MountPath || strings.HasPrefix(file, v.MountPath+"/")) &&
				len(v.MountPath) > len(mount.MountPath) {
				mount = v
			}
		}
		i := slices.IndexFunc(spec.Volumes,
			func(v core.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			return nil
		}
		below := strings.TrimPrefix(file, mount.MountPath)
		switch volume := spec.Volumes[i]; {
		case volume.HostPath != nil:
			if f := m.see(path.Join(volume.HostPath.Path, below)); f != nil {
				return f
			} else if t := volume.HostPath.Type; below == "" && t != nil &&
				*t == core.HostPathDirectoryOrCreate {
				return &File{Path: volume.HostPath.Path}
			}
		case volume.ConfigMap != nil:
			return m.configMapFile(volume.ConfigMap, strings.TrimPrefix(below, "/"))
		}
		return nil
	}
}

// configMapFile returns a file in a volume made from a ConfigMap in kube-system.
func (m *Machine) configMapFile(volume *core.ConfigMapVolumeSource, name string) *File {
	if len(volume.Items) > 0 {
		i := slices.IndexFunc(volume.Items,
			func(item core.KeyToPath) bool { return item.Path == name })
		if i < 0 {
			return nil
		}
		name = volume.Items[i].Key
	}
	for _, f := range m.Under(objectsDir) {
		object, err := decode[*core.ConfigMap](apiDecoder, f.Content)
		if err != nil || object.Namespace != "kube-system" || object.Name != volume.Name {
			continue
		}
		if content, ok := object.Data[name]; ok {
			return &File{Path: f.Path, Content: []byte(content)}
		}
	}
	return nil
}
