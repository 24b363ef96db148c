package check

import (
	"errors"
	"strings"
	"unicode"

	kubeletv1 "k8s.io/kubelet/config/v1beta1"
	"sigs.k8s.io/yaml"

	"kiln/render/plan"
)

// kubeconfig is what Check reads of a kubeconfig.
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

// kubelet is the machine's kubelet: its configuration and command line.
type kubelet struct {
	*kubeletConfig
	flags map[string][]string
}

// kubeletConfig is a kubelet's configuration, and every text in it that looks like a path.
type kubeletConfig struct {
	kubeletv1.KubeletConfiguration
	paths []string
}

// readKubeconfig reads a kubeconfig as we write them: one cluster, one user. The error quotes nothing, for a kubeconfig
// may hold a secret.
func readKubeconfig(data []byte) (*kubeconfig, error) {
	k := &kubeconfig{}
	if err := yaml.Unmarshal(data, k); err != nil || len(k.Clusters) != 1 || len(k.Users) != 1 {
		return nil, errors.New("not a kubeconfig with one cluster and one user")
	}
	return k, nil
}

// reference is a path on the machine, and where it is named. An empty path is none of the machine's.
type reference struct{ source, path string }

// file returns the path that a field of the kubelet's configuration holds.
func (k *kubelet) file(field, path string) reference {
	return reference{"file " + plan.KubeletConfig + ": " + field, path}
}

func (k *kubelet) clientCA() reference {
	return k.file("authentication.x509.clientCAFile", k.Authentication.X509.ClientCAFile)
}

// liesIn says whether p is dir or lies below it.
func liesIn(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// commandFlags returns the values of each flag on a command line, in order, however it is spelt: --name=value,
// --name value, or --name for true.
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

// splitWords returns the words of a unit's text as systemd splits them (systemd.service(5), "Command lines"): quotes hold a
// word together, a backslash takes the meaning from what follows.
func splitWords(text string) (out []string) {
	var word strings.Builder
	var quote rune
	in, escaped := false, false
	for _, r := range strings.ReplaceAll(text, "\\\n", " ") + "\n" {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\':
			escaped, in = true, true
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case r == quote:
			quote = 0
		case quote == 0 && unicode.IsSpace(r):
			if in {
				out = append(out, word.String())
			}
			word.Reset()
			in = false
		default:
			in = true
			word.WriteRune(r)
		}
	}
	return out
}

// splitList returns the parts of a comma-separated value; none of an empty one.
func splitList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// files are the files that a kubeconfig names.
func (k *kubeconfig) files() (out []string) {
	for _, file := range []string{k.Clusters[0].Cluster.CA, k.Users[0].User.Cert, k.Users[0].User.Key} {
		if file != "" {
			out = append(out, file)
		}
	}
	return out
}

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
