package check

import (
	"errors"
	"strings"
	"unicode"

	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"kiln/render/plan"
)

// reference is a path on the machine, and the place that names it, for messages. The path is empty
// if nothing is named, or if the named path is not one of the machine's.
type reference struct{ source, path string }

// kubeconfig is the part of a kubeconfig that is checked.
type kubeconfig struct {
	path     string
	Clusters []struct {
		Cluster struct {
			Server string `json:"server"`
			CA     string `json:"certificate-authority"`
		} `json:"cluster"`
	} `json:"clusters"`
	Users []struct {
		User struct {
			Cert  string `json:"client-certificate"`
			Key   string `json:"client-key"`
			Token string `json:"token"`
		} `json:"user"`
	} `json:"users"`
}

// readKubeconfig reads a kubeconfig with one cluster and one user, as kiln writes them. It fails on
// anything else. The error quotes nothing, because a kubeconfig may hold a secret.
func readKubeconfig(data []byte) (*kubeconfig, error) {
	k := &kubeconfig{}
	if err := yaml.Unmarshal(data, k); err != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		return nil, errors.New("not a kubeconfig with one cluster and one user")
	}
	return k, nil
}

// files returns the paths of the files that a kubeconfig names.
func (k *kubeconfig) files() (paths []string) {
	cluster, user := k.Clusters[0].Cluster, k.Users[0].User
	for _, p := range []string{cluster.CA, user.Cert, user.Key} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	return paths
}

// kubelet is the machine's kubelet: its configuration and its command line.
type kubelet struct {
	*kubeletConfig
	flags map[string][]string
}

// kubeletConfig is a kubelet's configuration, and every string in it that looks like a path.
type kubeletConfig struct {
	kubeletv1.KubeletConfiguration
	paths []string
}

// file returns a path that a field of the kubelet's configuration holds, as a reference.
func (k *kubelet) file(field, path string) reference {
	return reference{"file " + plan.KubeletConfig + ": " + field, path}
}

// clientCA returns the file of the CA by which the kubelet recognises its clients.
func (k *kubelet) clientCA() reference {
	return k.file("authentication.x509.clientCAFile", k.Authentication.X509.ClientCAFile)
}

// visitStrings calls visit with each string in a decoded YAML value, in no fixed order. Keys of
// maps are not visited.
func visitStrings(v any, visit func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			visitStrings(e, visit)
		}
	case []any:
		for _, e := range v {
			visitStrings(e, visit)
		}
	case string:
		visit(v)
	}
}

// commandFlags returns the values of each flag on a command line, in order. A flag is written
// --name=value, or --name value, or --name for true; one dash means the same as two.
func commandFlags(command []string) map[string][]string {
	flags := map[string][]string{}
	for i, word := range command {
		name, isFlag := strings.CutPrefix(word, "-")
		if !isFlag {
			continue
		}
		name, value, found := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		if next := i + 1; !found {
			value = "true"
			if next < len(command) && !strings.HasPrefix(command[next], "-") {
				value = command[next]
			}
		}
		flags[name] = append(flags[name], value)
	}
	return flags
}

// lastValue returns the last value of a flag, which is the one that counts; "" if there is none.
func lastValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// splitList returns the parts of a comma-separated value. An empty value has no parts.
func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// splitWords splits a line of a unit into words as systemd does (systemd.service(5), "Command
// lines"): quotes hold a word together, and a backslash takes away the special meaning of the next
// character.
func splitWords(line string) (words []string) {
	var word strings.Builder
	var quote rune // 0 outside of quotes
	inWord, escaped := false, false
	for _, r := range strings.ReplaceAll(line, "\\\n", " ") + "\n" {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\':
			escaped, inWord = true, true
		case quote == 0 && (r == '"' || r == '\''):
			quote, inWord = r, true
		case r == quote:
			quote = 0
		case quote == 0 && unicode.IsSpace(r):
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	return words
}

// liesIn reports whether p is dir, or lies below it.
func liesIn(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
