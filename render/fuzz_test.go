package render_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
)

// FuzzValues puts arbitrary text into every field that takes text. A configuration that Parse
// accepts must render and pass Check. The text must arrive unchanged in the shell that reads the
// hook's data, in the words of the kubelet's unit, in the commands of static pods, and in files. No
// part of a value may have a meaning on the way.
func FuzzValues(f *testing.F) {
	for _, s := range []string{
		"plain", "$(reboot)", "`reboot`", "a'b\"c", "%n %i %%", "$HOME ${x}", "a\nb: c", "--- x",
		"\\", "; rm -rf /", "{{ . }}", "=", "2001-01-01", "é\u2028", "\x7f", " lead", "trail ", "",
		"#no", "!!tag", "*a", "a|b",
	} {
		f.Add(s)
	}
	bundle := fixture(f)
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("no YAML file can hold it")
		}
		q := quoted(s)
		text := strings.NewReplacer("TEXT", q).Replace(`apiVersion: kiln.dev/v1alpha1
kind: Cluster
metadata: {name: single}
spec:
  kubernetesVersion: v1.36.3
  machines:
    os: debian
    kubelet: {eventRecordQPS: 7}
    kubeletExtraArgs: [{name: runtime-cgroups, value: TEXT}]
    files: [{path: /etc/probe, content: TEXT}]
    sysctls: {net.core.somaxconn: TEXT}
  controlPlane:
    apiServer: {extraArgs: [{name: external-hostname, value: TEXT}]}
    scheduler: {extraArgs: [{name: leader-elect-resource-name, value: TEXT}]}
  nodes: [{name: cp-1, role: control-plane, addresses: [10.0.0.11]}]
`)
		c, err := config.Parse("cluster.yaml", []byte(text), nil)
		if err != nil {
			// One field refuses some texts; the others must then still be tried.
			c = nil
			text = strings.Replace(text, "    sysctls: {net.core.somaxconn: "+q+"}\n", "", 1)
			if c, err = config.Parse("cluster.yaml", []byte(text), nil); err != nil {
				t.Skip()
			}
		}
		r, err := render.New(c, bundle)
		require.NoError(t, err)
		n, err := r.Node(0)
		require.NoError(t, err)
		require.NoError(t, r.Check(&r.Plan.Machines[0], n))
		_, err = r.Document(0)
		require.NoError(t, err)

		require.Equal(t, s, string(n.File("/etc/probe").Content))
		require.Contains(t, podCommand(t, n, "kube-apiserver"), "--external-hostname="+s)
		require.Contains(t, podCommand(t, n, "kube-scheduler"), "--leader-elect-resource-name="+s)
		require.Equal(t, "--runtime-cgroups="+s, lastWord(t, string(n.File(dropIn).Content)))
		sysctl := string(n.File("/etc/sysctl.d/90-kiln.conf").Content)
		for _, line := range strings.Split(sysctl, "\n") {
			require.True(t, line == "" || strings.Contains(line, " = "), "sysctl line %q", line)
		}
		shellReads(t, n, r)
	})
}

// fixture returns the bundle of the case "single".
func fixture(t testing.TB) *pki.Bundle {
	b, err := pki.New(pki.Options{
		Name: "single", Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Algorithm: private.P256, CALifetime: 87600 * time.Hour, FormationWindow: time.Hour,
	})
	require.NoError(t, err)
	return b
}

// quoted writes a YAML double-quoted scalar.
func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

func podCommand(t *testing.T, n *node.Node, name string) []string {
	var pod struct {
		Spec struct {
			Containers []struct{ Command []string }
		}
	}
	content := n.File("/etc/kubernetes/manifests/" + name + ".yaml").Content
	require.NoError(t, yaml.Unmarshal(content, &pod))
	return pod.Spec.Containers[0].Command
}

// shellReads runs the hook's data in a shell and holds the values to what the plan says. Nothing
// else may happen.
func shellReads(t *testing.T, n *node.Node, r *render.Cluster) {
	const show = "\nprintf '%s\\n' \"$node\" \"$api\" \"$ignore\""
	cmd := exec.Command("sh", "-c", string(n.File("/etc/kiln/machine").Content)+show)
	cmd.Env = []string{"PATH=/nonexistent"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	ignored := strings.Join(r.Plan.Machines[0].Settings.IgnorePreflight, " ")
	require.Equal(t, fmt.Sprintf("cp-1\nhttps://10.0.0.11:6443\n%s\n", ignored), string(out))
}

// lastWord reads the last word of a drop-in's command line as systemd does (systemd.service(5),
// "Command lines").
func lastWord(t *testing.T, text string) string {
	text = strings.TrimSuffix(text, "\n")
	line := text[strings.LastIndex(text, "ExecStart=")+len("ExecStart="):]
	line = strings.ReplaceAll(line, "\\\n", " ")
	require.NotContains(t, line, "\n")
	var words []string
	var word strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && i+1 < len(line):
			i++
			in = true
			if line[i] == 'x' {
				var b int
				_, err := fmt.Sscanf(line[i+1:i+3], "%02x", &b)
				require.NoError(t, err)
				word.WriteByte(byte(b))
				i += 2
				continue
			}
			word.WriteString(map[byte]string{
				'n': "\n", 't': "\t", 'r': "\r", '\\': "\\", '"': "\"", '\'': "'",
			}[line[i]])
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\'') && !in:
			quote, in = c, true
		case quote == 0 && c == ' ':
			if in {
				words = append(words, word.String())
			}
			word.Reset()
			in = false
		default:
			in = true
			word.WriteByte(c)
		}
	}
	if in {
		words = append(words, word.String())
	}
	last := words[len(words)-1]
	// Specifiers and variables: doubled, they mean themselves.
	last = strings.ReplaceAll(strings.ReplaceAll(last, "%%", "\x00"), "$$", "\x01")
	require.NotContains(t, last, "%")
	require.NotContains(t, last, "$")
	return strings.ReplaceAll(strings.ReplaceAll(last, "\x00", "%"), "\x01", "$")
}
