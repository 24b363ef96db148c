package config

import (
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

var fileMode = format("mode")

var fileOwner = format("owner")

func (v *checker) files(files []File, at *yamltext.Location) {
	seen := map[string]int{} // the paths, and their indices
	for i, f := range files {
		here := at.Index(i)
		if problem := filePathProblem(f.Path); problem != "" {
			v.report(here.Key("path"), "%s %s", quote(f.Path), problem)
		} else if first, ok := seen[f.Path]; ok {
			v.report(here.Key("path"), "%s is already files[%d]; remove one", quote(f.Path), first)
		} else {
			seen[f.Path] = i
		}
		if folder := sharedFolder(f.Path); f.Secret && folder != "" {
			v.report(here.Key("path"), "%s is in %s, where everybody may write: another program "+
				"could read or replace the secret; write it below /etc or /var/lib",
				quote(f.Path), folder)
		}
		v.fileMode(&f, here.Key("mode"))
		v.netplanFile(&f, here)
		v.networkdFile(&f, here)
		if !fileOwner.MatchString(f.Owner) {
			v.report(here.Key("owner"), "%s is not an owner; write user:group, such as root:root",
				quote(f.Owner))
		}
		v.restart(f.Restart, here.Key("restart"))
		if len(f.Restart) > 0 && strings.Contains(f.Path, " ") {
			v.report(here.Key("restart"), "the path has a blank; only others can have restart")
		}
		ok := v.oneSource(f.Content, f.ContentFrom, "content", "contentFrom", here)
		if ok && f.Secret && f.Content != "" {
			v.report(here.Key("content"), "is a secret, and cluster.yaml holds none; "+
				"put it into a file and name that with contentFrom")
		}
	}
	v.filesBelowFiles(files, seen, at)
	v.kubeletDropIns(files, at)
	v.systemFiles(files, at)
}

// sharedFolder returns the folder above a path in which every user of a machine may make files, or
// nothing.
func sharedFolder(path string) string {
	for _, folder := range []string{"/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/var/lock"} {
		if strings.HasPrefix(path, folder+"/") {
			return folder
		}
	}
	return ""
}

func (v *checker) fileMode(f *File, at *yamltext.Location) {
	switch {
	case fileMode.MatchString(f.Mode):
		if f.Secret && f.Mode[3] >= '4' {
			v.report(at, "%s lets everybody on the machine read a secret; "+
				"write \"0600\", or \"0640\" for the group of owner", quote(f.Mode))
		}
	case len(f.Mode) == 4 && f.Mode[0] != '0' && fileMode.MatchString("0"+f.Mode[1:]):
		v.report(at, "%s has setuid, setgid or sticky bits; write at most \"0777\"", quote(f.Mode))
	default:
		v.report(at, "%s is not a file's mode; "+
			"write four octal digits in quotes, such as \"0644\"", quote(f.Mode))
	}
}

// filesBelowFiles reports a file in a folder whose path is that of another file. seen maps the
// paths of the files to their indices.
func (v *checker) filesBelowFiles(files []File, seen map[string]int, at *yamltext.Location) {
	lengths := map[int]bool{} // of the paths; a look-up of each folder would take longer
	for name := range seen {
		lengths[len(name)] = true
	}
	for i, f := range files {
		for end := 1; end < len(f.Path); end++ {
			if f.Path[end] != '/' || !lengths[end] {
				continue
			}
			if first, ok := seen[f.Path[:end]]; ok {
				v.report(at.Index(i).Key("path"),
					"%s lies below files[%d], which is a file and not a folder; rename one",
					quote(f.Path), first)
				break
			}
		}
	}
}
