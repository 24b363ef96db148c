package config

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/wording"
	"kiln.dev/kiln/render/text/yamltext"
)

func (v *checker) versions() {
	at := v.spec.Key("kubernetesVersion")
	text := v.c.Spec.KubernetesVersion
	parsed, problem := parseVersion(text)
	switch {
	case problem != "":
		v.report(at, "%s", problem)
	case parsed.minor < target.OldestMinor() || parsed.minor > target.NewestMinor():
		v.report(at, "%s is not supported; this release of kiln knows the minors 1.%d to 1.%d",
			text, target.OldestMinor(), target.NewestMinor())
	default:
		v.version = parsed
	}
}

func (v *checker) kubeletVersion(text string, at *yamltext.Location) {
	parsed, problem := parseVersion(text)
	switch {
	case problem != "":
		v.report(at, "%s", problem)
	case v.version == version{}: // versions has reported its problem
	case parsed.minor > v.version.minor: // kubeadm, too, leaves patch releases out of it
		v.report(at, "%s is newer than kubernetesVersion (%s), and a kubelet must not be of a "+
			"newer minor than the API server; lower it", text, v.c.Spec.KubernetesVersion)
	case parsed.minor < v.version.minor-target.KubeletSkew:
		v.report(at, "%s is more than %d minors older than kubernetesVersion (%s); "+
			"the version skew policy allows 1.%d and later",
			text, target.KubeletSkew, v.c.Spec.KubernetesVersion,
			v.version.minor-target.KubeletSkew)
	}
}

func (v *checker) images() {
	if repo := v.c.Spec.ImageRepository; !imageRepository.MatchString(repo) || len(repo) > 255 {
		v.report(v.spec.Key("imageRepository"), "%s is not an image repository; "+
			"write host, optional port and path, such as registry.example.com:5000/k8s",
			quote(repo))
	}
	v.retiredRegistry(v.c.Spec.ImageRepository, v.spec.Key("imageRepository"))
	at, components := v.spec.Key("images"), target.ComponentNames()
	for name, image := range v.c.Spec.Images {
		here := at.Key(name)
		_, repository, _ := target.ImageParts(image)
		switch {
		case !slices.Contains(components, name):
			v.report(here, "unknown component; the images are %s%s",
				strings.Join(components, ", "), wording.Hint(name, components))
		case name == target.Pause && tagAndDigest.MatchString(image):
			// https://github.com/containerd/containerd/issues/13529
			v.report(here, "the reference has a tag and a digest, with which containerd 2.3.0 "+
				"to 2.3.3 starts no pod; remove the tag: the digest alone names the image")
		case slices.Contains(components, path.Base(repository)) &&
			path.Base(repository) != name:
			v.report(here, "%s is an image of %s; correct its name, or the key here",
				quote(image), path.Base(repository))
		default:
			v.image(image, name, here)
			v.imageMinor(image, name, here)
			v.retiredRegistry(image, here)
		}
	}
}

// retiredHosts are the registries that Kubernetes' images had before, frozen since April 2023
// (https://kubernetes.io/blog/2023/03/10/image-registry-redirect).
var retiredHosts = regexp.MustCompile(`^(k8s\.gcr\.io|gcr\.io/google[-_]containers)(/|$)`)

// retiredRegistry reports an image or a repository at a host that is no registry, and warns of
// those that get no new images. A mirror may have them.
func (v *checker) retiredRegistry(image string, at *yamltext.Location) {
	host, _, _ := strings.Cut(image, "/")
	if host == webOfDocker {
		v.report(at, "%s is a web site and no registry; write docker.io in its place", quote(host))
	} else if old := retiredHosts.FindString(image); old != "" &&
		RegistryOf(v.c.Spec.Machines.Registries, host) < 0 {
		v.warn(WarnImageTag, at, "%s has had no new images since 2023; write registry.k8s.io in "+
			"its place", strings.TrimSuffix(old, "/"))
	}
}

var imageVersion = regexp.MustCompile(`:v1\.([0-9]{1,3})\.[0-9]+[^/]*$`)

// oldEtcd matches the version of an etcd before 3.5 in the tag of an image.
var oldEtcd = regexp.MustCompile(`:v?(2|3\.[0-4])\.[0-9]+`)

// imageMinor checks that an image of Kubernetes is of the cluster's minor, if its tag says one. The
// flags and configuration files are those of that minor.
func (v *checker) imageMinor(image, name string, at *yamltext.Location) {
	if old := oldEtcd.FindString(image); name == target.Etcd && old != "" {
		v.report(at, "%s is of etcd %s, which exits with flags that kiln writes; write an image "+
			"of 3.5 or later", quote(image), strings.TrimLeft(old, ":v"))
	}
	m := imageVersion.FindStringSubmatch(image)
	known := v.version != version{} && strings.HasPrefix(name, "kube-") && name != target.KubeVIP
	if m != nil && known && m[1] != strconv.Itoa(v.version.minor) {
		v.report(at, "%s is of Kubernetes 1.%s, and the flags are those of kubernetesVersion "+
			"(%s); write an image of that minor, or change kubernetesVersion",
			quote(image), m[1], v.c.Spec.KubernetesVersion)
	}
}

// image checks a whole reference of an image. name is the last part of the path in the example.
func (v *checker) image(image, name string, at *yamltext.Location) {
	if !imageReference.MatchString(image) || len(image) > 512 {
		v.report(at, "%s is not a whole image reference; "+
			"write registry, path and a tag or digest, such as registry.k8s.io/%s:v1.2.3",
			quote(image), name)
	}
}
