package assembly

import (
	"encoding/json"
	"fmt"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/containerd"
	"kiln.dev/kiln/render/plan"
)

// addRegistries adds what containerd and the kubelet know of registries: mirrors, CAs, client
// certificates, and logins.
func (t *tree) addRegistries() {
	from := t.m.Settings.Path("registries")
	for i := range t.m.Settings.Registries {
		r := &t.m.Settings.Registries[i]
		access := containerd.Access{Unverified: r.CA == "none"}
		if r.CA == "cluster" {
			access.CAFile = plan.CACert
		}
		if r.CAFrom != "" {
			access.CAFile = plan.RegistryFile(r, "ca.crt")
			ca := t.Public.TrustedCA("", t.Plan.Config.Text(r.CAFrom))
			t.addFile(access.CAFile, 0o644, string(ca), "CA of "+r.Host+", for containerd", from)
		}
		if r.CertFrom != "" {
			access.CertFile, access.KeyFile = plan.RegistryFile(r, "client.crt"),
				plan.RegistryFile(r, "client.key")
			t.addFile(access.CertFile, 0o644, string(t.Plan.Config.Text(r.CertFrom)),
				"containerd's certificate for "+r.Host, from)
			t.addRegistrySecret(access.KeyFile, "registry-client "+access.KeyFile,
				t.Plan.Config.Text(r.KeyFrom), "key of that certificate")
		}
		if r.Mirrors != nil || access != (containerd.Access{}) {
			t.addFile(plan.RegistryFile(r, "hosts.toml"), 0o644,
				containerd.Hosts(r.Mirrors, r.MirrorsOnly, access), "servers of "+r.Host, from)
		}
	}
	if len(t.m.Logins()) > 0 {
		t.addLogins(from)
	}
}

// addRegistrySecret adds a file with a secret of the user's that is for registries.
func (t *tree) addRegistrySecret(path, secret string, content []byte, why string) {
	t.n.Files = append(t.n.Files, node.File{
		Path: path, Mode: 0o600, Content: content, Secret: secret, Why: why,
		From: []string{t.m.Settings.Path("registries")},
	})
}

// addLogins adds the program that tells the kubelet the logins of registries. containerd's own
// files have no place for a login that a registry exchanges for a token. The kubelet starts the
// program for each image, so that a new password counts at once (pkg/credentialprovider/plugin of
// Kubernetes 1.36).
func (t *tree) addLogins(from string) {
	const api = "credentialprovider.kubelet.k8s.io/v1"
	type login struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}
	var hosts, answers []string
	for _, r := range t.m.Logins() {
		hosts = append(hosts, r.Host)
		answer := jsonText(login{r.Username, t.Plan.Config.Password(&r)})
		answers = append(answers, jsonText(r.Host)+":"+answer)
	}
	// One line for each registry: the check of images reads it.
	t.addRegistrySecret(plan.Logins, "registry-logins", []byte(`{"apiVersion":"`+api+`",`+
		`"kind":"CredentialProviderResponse","cacheKeyType":"Global","cacheDuration":"0s","auth":{`+
		"\n"+strings.Join(answers, ",\n")+"\n}}\n"), "logins of registries, for the kubelet")
	t.addFile(plan.LoginsTeller, 0o700, "#!/bin/sh\nexec cat "+plan.Logins+"\n",
		"the program that the kubelet asks for them", from)
	t.addFile(plan.LoginsConfig, 0o600, "apiVersion: kubelet.config.k8s.io/v1\n"+
		"kind: CredentialProviderConfig\nproviders:\n- name: "+plan.LoginsProgram+"\n"+
		"  apiVersion: "+api+"\n"+
		"  matchImages: "+jsonText(hosts)+"\n  defaultCacheDuration: 0s\n",
		"the kubelet's programs for logins", from)
}

// jsonText returns a value as JSON on one line, with its characters as they are.
func jsonText(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("assembly: %v cannot be encoded: %v", v, err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// checkLogins refuses a login for an image that containerd pulls by itself, because the kubelet
// alone logs in.
func (t *tree) checkLogins() error {
	if t.m.Settings.Preload != "" { // it brings these images
		return nil
	}
	pulled := []string{t.Plan.Images[target.Pause]}
	if t.hasSnapshot() {
		pulled = append(pulled, t.Plan.Images[target.Etcd])
	}
	for _, image := range pulled {
		host, _, _ := target.ImageParts(image)
		rows := t.m.Settings.Registries
		if i := config.RegistryOf(rows, host); i >= 0 && rows[i].Username != "" {
			return config.Problems{t.Plan.Config.Problemf(
				fmt.Sprintf("%s[%d].username", t.m.Settings.Path("registries"), i),
				"containerd pulls %s by itself, and shows no login; let everybody pull that "+
					"image there, name a copy of it in images, or write preload: medium", image)}
		}
	}
	return nil
}
