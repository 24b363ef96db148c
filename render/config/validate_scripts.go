package config

import "kiln/render/yamlpath"

// scripts checks a layer's scripts of one phase of the first boot: those under key.
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
		text, textAt := s.Content, at.Key("content")
		if s.ContentFrom != "" {
			text, textAt = string(v.c.Text(s.ContentFrom)), at.Key("contentFrom")
		}
		switch {
		case v.isHidden(textAt):
		case text == "":
			v.report(textAt, "is empty; write the commands for sh")
		case s.Secret && s.Content != "":
			v.report(textAt, "is a secret, and cluster.yaml holds none; put it into a file and name that with contentFrom")
		}
	}
}
