package config

import (
	"regexp"

	"kiln/render/yamlpath"
)

var (
	fileMode  = regexp.MustCompile(`^0[0-7]{3}$`)
	fileOwner = regexp.MustCompile(`^([a-z_][a-z0-9_-]{0,31}|0|[1-9][0-9]{0,8}):([a-z_][a-z0-9_-]{0,31}|0|[1-9][0-9]{0,8})$`)
)

// files checks a layer's further files.
func (v *checker) files(files []File, at *yamlpath.Location) {
	seen := map[string]int{}
	lengths := map[int]bool{} // of the paths seen
	for i, f := range files {
		here := at.Index(i)
		if problem := filePathProblem(f.Path); problem != "" {
			v.report(here.Key("path"), "%s %s", quote(f.Path), problem)
		} else if first, ok := seen[f.Path]; ok {
			v.report(here.Key("path"), "%s is already files[%d]; remove one", quote(f.Path), first)
		} else {
			seen[f.Path] = i
			lengths[len(f.Path)] = true
		}
		switch {
		case fileMode.MatchString(f.Mode):
			if f.Secret && f.Mode[3] >= '4' {
				v.report(here.Key("mode"), "%s lets everybody on the machine read a secret; write \"0600\", or \"0640\" for the group of owner", quote(f.Mode))
			}
		case len(f.Mode) == 4 && f.Mode[0] != '0' && fileMode.MatchString("0"+f.Mode[1:]):
			v.report(here.Key("mode"), "%s has setuid, setgid or sticky bits; write at most \"0777\"", quote(f.Mode))
		default:
			v.report(here.Key("mode"), "%s is not a file's mode; write four octal digits in quotes, such as \"0644\"", quote(f.Mode))
		}
		if !fileOwner.MatchString(f.Owner) {
			v.report(here.Key("owner"), "%s is not an owner; write user:group, such as root:root", quote(f.Owner))
		}
		if v.oneSource(f.Content, f.ContentFrom, "content", "contentFrom", here) && f.Secret && f.Content != "" {
			v.report(here.Key("content"), "is a secret, and cluster.yaml holds none; put it into a file and name that with contentFrom")
		}
	}
	for i, f := range files {
		// A file cannot be the folder of another one.
		for end := 1; end < len(f.Path); end++ {
			if f.Path[end] != '/' || !lengths[end] {
				continue
			}
			if first, ok := seen[f.Path[:end]]; ok {
				v.report(at.Index(i).Key("path"), "%s lies below files[%d], which is a file and not a folder; rename one", quote(f.Path), first)
				break
			}
		}
	}
}
