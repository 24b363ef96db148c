package assembly

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/manifests"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/plan"
)

// addPreload adds the list of the images that the machine gets before its kubelet starts. It fails
// without a lock of images, for an image that a pod asks a registry for nevertheless, and for one
// whose registry wants a login before the kubelet runs.
func (t *tree) addPreload() error {
	if t.m.Settings.Preload == "" {
		return nil
	}
	c, from := t.Plan.Config, t.m.Settings.Path("preload")
	if !c.PinsImages() {
		lock, _ := c.LockName()
		return config.Problems{c.Problemf(from, "there is no %s with images, and an image that "+
			"is preloaded is known by its digest; run kiln lock --images%s", lock, c.Flag())}
	}
	var lines []string
	var problems config.Problems
	for _, use := range t.imageUses() {
		line := target.StoredImage(use.image.Reference)
		if pinned, _ := c.Pinned(use.image.Reference); pinned != use.image.Reference {
			_, digest := target.SplitDigest(pinned)
			line += " " + digest
		}
		lines = append(lines, line)
		field, text := t.preloadProblem(use)
		if p := c.Problemf(field, "%s", text); text != "" && !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	if problems != nil {
		return problems
	}
	slices.Sort(lines)
	t.addFile(plan.PreloadList, 0o600, strings.Join(slices.Compact(lines), "\n")+"\n",
		"the images that it gets before its kubelet starts", from)
	return nil
}

// imageUse is an image of the machine, and what runs it. For images that kiln knows to be there,
// and those that a program asks for, nothing does.
type imageUse struct {
	field, user string
	image       manifests.Image
	admitted    bool // through the API server, which may change when it is pulled
}

// imageUses returns the images of the machine's static pods, and on a machine where other pods run
// those of all objects, because any of them may come there.
func (t *tree) imageUses() (uses []imageUse) {
	references := t.images()
	for i := range t.n.Files {
		f := &t.n.Files[i]
		if path.Dir(f.Path) != plan.ManifestsDir {
			continue
		}
		images, _ := manifests.Images(f.Content) // what is no pod has none
		for _, image := range images {
			uses = append(uses, imageUse{
				strings.Join(f.From, ""), "static pod " + path.Base(f.Path), image, false,
			})
		}
	}
	if t.m.Joins() {
		for _, o := range t.Objects {
			for _, image := range o.Images() {
				uses = append(uses, imageUse{t.ObjectField(o), o.Kind + " " + o.Name, image, true})
			}
		}
		for _, addon := range t.Plan.Config.Spec.Addons {
			references = append(references, addon.Images...)
		}
	}
	for _, reference := range references {
		uses = append(uses, imageUse{image: manifests.Image{Reference: reference}})
	}
	return uses
}

// preloadProblem returns why it is no use to have an image before the kubelet starts, or why it
// cannot be had, and the field that says so; "" if all is well.
func (t *tree) preloadProblem(use imageUse) (field, problem string) {
	host, _, _ := target.ImageParts(use.image.Reference)
	rows := t.m.Settings.Registries
	row := config.RegistryOf(rows, host)
	if t.m.Settings.Preload == "registry" {
		if row < 0 || rows[row].Username == "" {
			return "", ""
		}
		return t.m.Settings.Path("preload"), "registry: pulls images of " + host + " before the " +
			"kubelet runs, which alone logs in there; write preload: medium or a path, or leave " +
			"username out"
	}
	by, instead := "imagePullPolicy: Always, the default of the tag latest", "IfNotPresent"
	always, field := use.image.Always, use.field
	if plugin, on := t.alwaysPulls(); on && use.admitted {
		always, field = true, plugin
		by, instead = "the plugin AlwaysPullImages", "the plugins without it"
	}
	const verify = "imagePullCredentialsVerificationPolicy: AlwaysVerify"
	if strings.Contains(string(t.n.File(plan.KubeletConfig).Content), verify) && row < 0 {
		return t.m.Settings.Path("kubelet"), verify + " lets the kubelet ask " + host + ", also " +
			"for images that are preloaded; leave it out, or write a row of registries for " + host
	}
	if !always || row >= 0 {
		return "", ""
	}
	return field, fmt.Sprintf("%s: container %s asks %s at each start, also for an image that is "+
		"preloaded, by %s; write %s, or a row of registries for %s", use.user, use.image.User, host,
		by, instead, host)
}

// alwaysPulls reports whether the API server makes every pod ask its registry at each start, and
// the field that says so.
func (t *tree) alwaysPulls() (field string, always bool) {
	spec := &t.Plan.Config.Spec
	for i, a := range spec.ControlPlane.APIServer.ExtraArgs {
		if a.Name == "enable-admission-plugins" &&
			slices.Contains(strings.Split(a.Value, ","), "AlwaysPullImages") {
			return fmt.Sprintf("controlPlane.apiServer.extraArgs[%d]", i), true
		}
	}
	return "security.alwaysPullImages", spec.Security.AlwaysPullImages
}
