package patches

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/text/yamltext"
)

// kustomize fetches what a field names, and runs git for it, whatever file system it is given. It
// tries an HTTP address before it looks at the file system, and it takes git's arguments from the
// address (api v0.21.2: internal/loader/fileloader.go, internal/git/cloner.go). No option turns
// that off. So two things keep it from the network:
//
//   - Every field that names something is compared with the add-on's files before kustomize starts.
//   - kustomize is given the files that were reached this way, and no other. A kustomization that
//     was not compared does not exist for it.

// use is what the strings of a field stand for.
type use int

const (
	nothing   use = iota // no path: names, labels, inline text
	within               // further fields, in rows of their own
	file                 // paths of files
	folder               // paths of folders with a kustomization
	either               // paths of files or folders
	keyedFile            // KEY=PATH or PATH
	patchText            // a patch, or the path of a file with one
	schema               // a map, in which the key path names a file
	plugin               // programs, or settings of kustomize's own ones, which have paths in turn
	chart                // charts of helm
)

// fields has a row for each field of a kustomization, as Type.Field of kustomize's Go types.
var fields = map[string]use{
	"Kustomization.TypeMeta":                    nothing,
	"Kustomization.MetaData":                    nothing,
	"Kustomization.OpenAPI":                     schema,
	"Kustomization.NamePrefix":                  nothing,
	"Kustomization.NameSuffix":                  nothing,
	"Kustomization.Namespace":                   nothing,
	"Kustomization.CommonLabels":                nothing,
	"Kustomization.Labels":                      nothing,
	"Kustomization.CommonAnnotations":           nothing,
	"Kustomization.PatchesStrategicMerge":       patchText,
	"Kustomization.PatchesJson6902":             within,
	"Kustomization.Patches":                     within,
	"Kustomization.Images":                      nothing,
	"Kustomization.ImageTags":                   nothing,
	"Kustomization.Replacements":                within,
	"Kustomization.Replicas":                    nothing,
	"Kustomization.Vars":                        nothing,
	"Kustomization.SortOptions":                 nothing,
	"Kustomization.Resources":                   either,
	"Kustomization.Components":                  folder,
	"Kustomization.Crds":                        file,
	"Kustomization.Bases":                       either, // kustomize appends them to the resources
	"Kustomization.ConfigMapGenerator":          within,
	"Kustomization.SecretGenerator":             within,
	"Kustomization.HelmGlobals":                 chart,
	"Kustomization.HelmCharts":                  chart,
	"Kustomization.HelmChartInflationGenerator": chart,
	"Kustomization.GeneratorOptions":            nothing,
	"Kustomization.Configurations":              file,
	"Kustomization.Generators":                  plugin,
	"Kustomization.Transformers":                plugin,
	"Kustomization.Validators":                  plugin,
	"Kustomization.BuildMetadata":               nothing,

	"ConfigMapArgs.GeneratorArgs":  within,
	"SecretArgs.GeneratorArgs":     within,
	"SecretArgs.Type":              nothing,
	"GeneratorArgs.Namespace":      nothing,
	"GeneratorArgs.Name":           nothing,
	"GeneratorArgs.Behavior":       nothing,
	"GeneratorArgs.KvPairSources":  within,
	"GeneratorArgs.Options":        nothing,
	"KvPairSources.LiteralSources": nothing,
	"KvPairSources.FileSources":    keyedFile,
	"KvPairSources.EnvSources":     file,
	"KvPairSources.EnvSource":      file,

	"Patch.Path":    file,
	"Patch.Patch":   nothing, // inline text alone
	"Patch.Target":  nothing,
	"Patch.Options": nothing,

	"ReplacementField.Replacement": nothing,
	"ReplacementField.Path":        file,

	// The remaining rows are parts of fields without paths. They are listed so that a path in a new
	// version of kustomize is noticed.
	"TypeMeta.Kind": nothing, "TypeMeta.APIVersion": nothing,
	"ObjectMeta.Name": nothing, "ObjectMeta.Namespace": nothing, "ObjectMeta.Labels": nothing,
	"ObjectMeta.Annotations": nothing,
	"Label.Pairs":            nothing, "Label.IncludeSelectors": nothing,
	"Label.IncludeTemplates": nothing, "Label.IncludeVolumeClaimTemplates": nothing,
	"Label.FieldSpecs": nothing,
	"FieldSpec.Gvk":    nothing, "FieldSpec.Path": nothing,
	"FieldSpec.CreateIfNotPresent": nothing,
	"Gvk.Group":                    nothing, "Gvk.Version": nothing, "Gvk.Kind": nothing,
	"ResId.Gvk": nothing, "ResId.Name": nothing, "ResId.Namespace": nothing,
	"Selector.ResId": nothing, "Selector.AnnotationSelector": nothing,
	"Selector.LabelSelector":    nothing,
	"PatchArgs.AllowNameChange": nothing, "PatchArgs.AllowKindChange": nothing,
	"Image.Name": nothing, "Image.NewName": nothing, "Image.TagSuffix": nothing,
	"Image.NewTag": nothing, "Image.Digest": nothing,
	"Replacement.Source": nothing, "Replacement.Targets": nothing,
	"Replacement.SourceValue": nothing,
	"SourceSelector.ResId":    nothing, "SourceSelector.FieldPath": nothing,
	"SourceSelector.Options": nothing,
	"TargetSelector.Select":  nothing, "TargetSelector.Reject": nothing,
	"TargetSelector.FieldPaths": nothing, "TargetSelector.Options": nothing,
	"FieldOptions.Delimiter": nothing, "FieldOptions.Index": nothing,
	"FieldOptions.Encoding": nothing, "FieldOptions.Create": nothing,
	"Replica.Name": nothing, "Replica.Count": nothing,
	"Var.Name": nothing, "Var.ObjRef": nothing, "Var.FieldRef": nothing,
	"Target.APIVersion": nothing, "Target.Gvk": nothing, "Target.Name": nothing,
	"Target.Namespace":        nothing,
	"FieldSelector.FieldPath": nothing,
	"SortOptions.Order":       nothing, "SortOptions.LegacySortOptions": nothing,
	"LegacySortOptions.OrderFirst": nothing, "LegacySortOptions.OrderLast": nothing,
	"GeneratorOptions.Labels": nothing, "GeneratorOptions.Annotations": nothing,
	"GeneratorOptions.DisableNameSuffixHash": nothing, "GeneratorOptions.Immutable": nothing,
}

type reader struct {
	root    string
	files   map[string][]byte // of the add-on
	reached map[string][]byte // those that kustomize may see
	read    map[string]bool   // folders
	found   []error
	docs    map[string][]yamltext.Document

	withhold   func(value string) bool // as in Build
	parts      map[string]parts        // of the folders that were read
	builds     map[string]outcome      // of folders
	resources  []string                // the files with objects
	generators []generator             // of Secrets
	secrets    []string                // values of Secrets, which no message may quote
	// secretSources are the files of which Secrets are made, and sources those of ConfigMaps.
	secretSources map[string]bool
	sources       []source

	hasSecrets func() bool // reports whether any file of the add-on may bring a Secret
}

type generator struct{ file, field, name string }

// read reads the kustomization in root, and everything that it names. The reader has all problems:
// missing files, programs, and values of Secrets that leave them.
func read(root string, files map[string][]byte, withhold func(string) bool) *reader {
	r := &reader{
		docs:  map[string][]yamltext.Document{},
		files: maps.Clone(files), reached: map[string][]byte{}, read: map[string]bool{},
		withhold: withhold, parts: map[string]parts{}, builds: map[string]outcome{},
		secretSources: map[string]bool{},
	}
	r.hasSecrets = sync.OnceValue(func() bool {
		for _, data := range r.files {
			if Mentions(data).any() {
				return true
			}
		}
		return false
	})
	r.root = path.Clean(root)
	r.folder(r.root)
	r.checkSources()
	r.checkSize()
	return r
}

func (r *reader) err() error { return errors.Join(r.found...) }

func (r *reader) folder(dir string) {
	if r.read[dir] {
		return
	}
	r.read[dir] = true
	var names []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if r.reach(path.Join(dir, name)) {
			names = append(names, path.Join(dir, name))
		}
	}
	if len(names) != 1 {
		r.problem(dir, "", "the folder has %d kustomizations; it needs one kustomization.yaml",
			len(names))
		return
	}
	if !r.bounded(names[0], yamltext.Patch) {
		return
	}
	// kustomize's own decoder: its keys may be written in any case.
	var k types.Kustomization
	if err := k.Unmarshal(r.files[names[0]]); err != nil {
		r.problem(names[0], "", "%s", yamltext.Message(err))
		return
	}
	at := place{reader: r, name: names[0], dir: dir}
	at.walk(reflect.ValueOf(k), "", within)
	at.checkSecrets(&k)
	at.noteSize(&k)
}

// reach reports whether the add-on has the file, and lets kustomize see it.
func (r *reader) reach(name string) bool {
	data, ok := r.files[name]
	if ok {
		r.reached[name] = data
	}
	return ok
}

// problem notes a problem in a file of the add-on, at a field of it; "" is the file as a whole.
func (r *reader) problem(name, field, format string, args ...any) {
	at := name
	if docs := r.documents(name); field != "" && len(docs) > 0 {
		line, column, _ := docs[0].Position(docs[0].Nearest(field))
		at = fmt.Sprintf("%s:%d:%d", name, line, column)
	}
	if field != "" {
		field += ": "
	}
	r.found = append(r.found, fmt.Errorf("%s: %s%s", at, field, fmt.Sprintf(format, args...)))
}

// place is a kustomization's file and its folder.
type place struct {
	*reader
	name, dir string
}

// inside returns the path in the add-on of what a field of the kustomization names.
func (p place) inside(value string) string { return path.Join(p.dir, value) }

func (p place) walk(v reflect.Value, field string, kind use) {
	switch {
	case kind == nothing:
	case kind == plugin:
		p.problem(p.name, field, "kiln runs no plugins; use a field that does the same: patches, "+
			"replacements, labels, images, namespace, configMapGenerator")
	case kind == chart:
		p.problem(p.name, field, "kiln does not run helm; render the chart with "+
			"\"helm template\", add the output to the folder and name it under resources")
	case kind == schema:
		if name, ok := v.Interface().(map[string]string)["path"]; ok {
			p.followField(name, field+".path", file)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if v.Field(i).IsZero() {
				continue
			}
			inner, known := fields[v.Type().Name()+"."+f.Name]
			if !known {
				p.problem(p.name, f.Name, "kiln does not know this field")
			}
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			p.walk(v.Field(i), strings.Trim(field+"."+key, "."), inner)
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			p.walk(v.Index(i), fmt.Sprintf("%s[%d]", field, i), kind)
		}
	case v.Kind() == reflect.Pointer:
		p.walk(v.Elem(), field, kind)
	case v.Kind() == reflect.String:
		p.followField(v.String(), field, kind)
	default:
		p.problem(p.name, field, "kiln does not know this field")
	}
}

// followField follows the path in a field, and notes a problem with it.
func (p place) followField(value, field string, kind use) {
	target := value
	if kind == keyedFile {
		if key, after, ok := strings.Cut(value, "="); ok && !address(key) {
			target = after
		}
	}
	if kind == patchText && (!p.boundedText(target, field) || inline(target)) {
		return
	}
	if problem := p.follow(target, kind); problem != "" {
		p.problem(p.name, field, "%s %s", p.shown(value), problem)
	}
}

// follow reads the file or folder that value names, or returns why that may not be used.
func (p place) follow(value string, kind use) string {
	name := p.inside(value)
	switch {
	case value == "":
		return "is empty; name a file of the add-on"
	case address(value):
		return "is an address, or looks like one to kustomize; kiln fetches nothing: " +
			"put the files into the add-on's folder, and name them"
	case path.IsAbs(value):
		return "is absolute; name a file of the add-on by its path from this kustomization"
	case strings.Contains(value, "//"):
		return "has an empty part; write one /"
	case kind != folder && p.dir != "." && !strings.HasPrefix(name, p.dir+"/") &&
		!p.isFolder(name):
		return "lies above or beside the folder of this kustomization, and kustomize reads no " +
			"file from there; move it here, or name a folder with a kustomization of its own, in " +
			"the folder of cluster.yaml"
	case kind != folder && p.reach(name):
		if kind != keyedFile {
			p.bounded(name, yamltext.Resource)
		}
		return ""
	case (kind == folder || kind == either) && p.isFolder(name):
		p.folder(name)
		return ""
	case kind == folder:
		return "is no folder with a kustomization in the folder of cluster.yaml"
	}
	return "is not among the add-on's files"
}

func (r *reader) isFolder(dir string) bool {
	for name := range r.files {
		if dir == "." || strings.HasPrefix(name, dir+"/") {
			return true
		}
	}
	return false
}

// addressed matches what kustomize takes for a git repository: a scheme, a user or GitHub's name at
// the beginning (internal/git/repospec.go), or the query that only an address has.
var addressed = regexp.MustCompile(`(?i)^(git::|https?:|[a-z][a-z0-9-]*@|github\.com[/:])|://|\?`)

// address reports whether kustomize might fetch a value or pass it to git. It does that even if a
// file has that name: if the file is not YAML it tries git.
func address(value string) bool {
	u, err := url.Parse(value)
	return addressed.MatchString(value) || err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// inline reports whether an entry of patchesStrategicMerge is a patch and not an address.
// "http://host/x: y" is valid YAML too, but kustomize would fetch it.
func inline(value string) bool {
	if u, err := url.Parse(value); err == nil && u.Scheme != "" && !strings.Contains(value, "\n") {
		return false
	}
	var object map[string]any
	return yaml.Unmarshal([]byte(value), &object) == nil && len(object) > 0
}

var credentials = regexp.MustCompile(`://[^/@]*@`)

// shown quotes a value without a password, cut, and not if it is withheld.
func (r *reader) shown(value string) string {
	const most = 120
	if value = credentials.ReplaceAllString(value, "://…@"); r.withhold(value) {
		return "(value withheld)"
	}
	if runes := []rune(value); len(runes) > most {
		value = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", value)
}
