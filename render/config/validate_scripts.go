package config

import "kiln/render/yamlpath"

// scripts checks the scripts of a layer for one phase of the first boot: those under the key.
func (v *checker) scripts(list []Script, layer *yamlpath.Location, key string) {
	seen := map[string]int{}
	for i, s := range list {
		at := layer.Key(key).Index(i)
		if first, ok := seen[s.Name]; ok {
			v.report(at.Key("name"), "%s is already %s[%d]; rename one", quote(s.Name), key, first)
		} else {
			v.label(s.Name, at.Key("name"))
			seen[s.Name] = i
		}
		v.span(s.Timeout, at.Key("timeout"))
		if !v.oneSource(s.Content, s.ContentFrom, "content", "contentFrom", at) {
			continue
		}
		content, here := s.Content, at.Key("content")
		if s.ContentFrom != "" {
			content, here = string(v.c.Text(s.ContentFrom)), at.Key("contentFrom")
		}
		switch {
		case v.isHidden(here):
		case content == "":
			v.report(here, "is empty; write the commands for sh")
		case s.Secret && s.Content != "":
			v.report(here, "is a secret, and cluster.yaml holds none; "+
				"put it into a file and name that with contentFrom")
		}
	}
}
