package config

// scripts checks a layer's scripts of one phase of the first boot: those under key.
func (v *checker) scripts(list []Script, layer *where, key string) {
	seen := map[string]int{}
	for i, s := range list {
		at := layer.key(key).at(i)
		if first, ok := seen[s.Name]; ok {
			v.report(at.key("name"), "%s is already %s[%d]; rename one", quote(s.Name), key, first)
		} else {
			v.label(s.Name, at.key("name"))
			seen[s.Name] = i
		}
		v.span(s.Timeout, at.key("timeout"))
		if !v.oneText(s.Content, s.ContentFrom, "content", "contentFrom", at) {
			continue
		}
		text, textAt := s.Content, at.key("content")
		if s.ContentFrom != "" {
			text, textAt = string(v.c.Text(s.ContentFrom)), at.key("contentFrom")
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
