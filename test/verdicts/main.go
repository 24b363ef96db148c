// Command verdicts says what kiln validate finds in flags, for judges that ask the programs
// themselves. It reads a list of questions in JSON from its input, and writes as many lists of
// messages: what kiln refuses if a configuration has the flag. Its arguments are the configuration,
// and the release of Kubernetes that stands in it instead of its own.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
)

// Question is one flag of a program.
type Question struct{ Program, Name, Value string }

// fields are where a configuration has the flags of a program.
var fields = map[string][]string{
	"etcd":                    {"controlPlane", "etcd", "extraArgs"},
	"kube-apiserver":          {"controlPlane", "apiServer", "extraArgs"},
	"kube-controller-manager": {"controlPlane", "controllerManager", "extraArgs"},
	"kube-scheduler":          {"controlPlane", "scheduler", "extraArgs"},
	"kubelet":                 {"machines", "kubeletExtraArgs"},
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: verdicts CONFIG RELEASE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(1)
	}
}

// run answers the questions of in.
func run(path, release string, in io.Reader, out io.Writer) error {
	var questions []Question
	if err := json.NewDecoder(in).Decode(&questions); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text = version.ReplaceAll(text, []byte("kubernetesVersion: "+release))
	dir := filepath.Dir(path)
	secrets, err := os.ReadFile(filepath.Join(dir, "bundle", "secrets.yaml"))
	if err != nil {
		return err
	}
	bundle, err := pki.Load(secrets)
	if err != nil {
		return err
	}
	if found := validate(text, dir, bundle); len(found) > 0 {
		return fmt.Errorf("%s: %q", path, found)
	}
	answers := make([][]string, len(questions))
	for i, q := range questions {
		asked, err := q.in(text)
		if err != nil {
			return err
		}
		answers[i] = validate(asked, dir, bundle)
	}
	return json.NewEncoder(out).Encode(answers)
}

// version is the release of Kubernetes in a configuration.
var version = regexp.MustCompile(`kubernetesVersion: \S+`)

// in returns a configuration with the flag.
func (q Question) in(text []byte) ([]byte, error) {
	path, ok := fields[q.Program]
	if !ok {
		return nil, errors.New("no configuration has flags of " + q.Program)
	}
	var c map[string]any
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, err
	}
	at, _ := c["spec"].(map[string]any)
	for _, key := range path[:len(path)-1] {
		inner, ok := at[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			at[key] = inner
		}
		at = inner
	}
	list, _ := at[path[len(path)-1]].([]any)
	at[path[len(path)-1]] = append(list, map[string]any{"name": q.Name, "value": q.Value})
	return yaml.Marshal(c)
}

// validate returns what kiln refuses.
func validate(text []byte, dir string, bundle *pki.Bundle) []string {
	c, err := config.Parse("cluster.yaml", text, os.DirFS(dir))
	if err == nil {
		var r *render.Cluster
		if r, err = render.New(c, bundle); err == nil {
			err = r.Try(nil)
		}
	}
	if err != nil {
		return strings.Split(err.Error(), "\n")
	}
	return nil
}
