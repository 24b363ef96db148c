package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/test/need"
)

const terraformExamples = "../../docs/examples/terraform"

// TestTerraformFields: the examples read fields that inventory.json has, and platforms that kiln
// knows.
func TestTerraformFields(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, of := range []reflect.Type{
		reflect.TypeFor[document.Entry](), reflect.TypeFor[document.Body](),
		reflect.TypeFor[document.Inventory](),
	} {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			known[name] = true
		}
	}
	// The columns of the table of ports in the example for aws.
	for _, name := range []string{"from", "to", "protocol", "ports"} {
		known[name] = true
	}
	files, err := filepath.Glob(terraformExamples + "/*/main.tf")
	require.NoError(t, err)
	require.Len(t, files, 5)
	for _, file := range files {
		text := example(t, filepath.Base(filepath.Dir(file)))
		require.Contains(t, text, `jsondecode(file("${var.nodes}/inventory.json"))`, file)
		require.Contains(t, text, "${var.nodes}/${each.value.document}", file)
		field := regexp.MustCompile(
			`\b(?:each\.value|d|local\.inventory|each\.value\.body)\.([a-z_][A-Za-z0-9_]*)`)
		fields := field.FindAllStringSubmatch(text, -1)
		require.NotEmpty(t, fields, file)
		for _, field := range fields {
			require.True(t, known[field[1]], "%s: %s is no field of inventory.json", file, field[0])
		}
		chosen := regexp.MustCompile(`d\.platform == "([a-z]+)"`)
		for _, platform := range chosen.FindAllStringSubmatch(text, -1) {
			require.Contains(t, output(t, "platforms"), "\n"+platform[1]+" ", file)
		}
	}
}

// output returns the output of a verb that succeeds.
func output(t *testing.T, words ...string) string {
	t.Helper()
	var out strings.Builder
	require.Equal(t, exitDone, run(words, nil, &out, io.Discard, false))
	return out.String()
}

// terraformIn returns a function that runs Terraform in a folder, and returns what it prints.
func terraformIn(t *testing.T, dir string) func(words ...string) (string, error) {
	t.Helper()
	terraform := need.Program(t, need.Terraform)
	return func(words ...string) (string, error) {
		cmd := exec.Command(terraform, words...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1",
			"TF_CLI_CONFIG_FILE=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

// TestTerraform requires that the examples are formatted. It plans the module that needs no
// provider, with the documents of a cluster, and applies it: its user data is the documents.
func TestTerraform(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := terraformIn(t, dir)
	examples, err := filepath.Abs(terraformExamples)
	require.NoError(t, err)
	out, err := program("fmt", "-check", "-diff", "-recursive", examples)
	require.NoError(t, err, out)

	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	write("main.tf", read(t, examples+"/documents/main.tf"))
	write("cluster.yaml", output(t, "init", "--address", "10.0.0.11,10.0.0.21")+
		"    delivery: {mode: pointer, url: \"https://boot.example.com/{node}/{sha512}\"}\n"+
		"    mac: 52:54:00:12:34:56\n")
	nodes := filepath.Join(dir, "nodes")
	output(t, "render", "--config", filepath.Join(dir, "cluster.yaml"), "--out", nodes)
	for _, words := range [][]string{
		{"init", "-backend=false", "-no-color"}, {"validate", "-no-color"},
	} {
		out, err := program(words...)
		require.NoError(t, err, out)
	}
	plan := []string{"plan", "-no-color", "-lock=false", "-var", "nodes=" + nodes}
	out, err = program(plan...)
	require.NoError(t, err, out)
	for _, line := range []string{
		`# terraform_data.machine["cp-1"] will be created`,
		`# terraform_data.machine["worker-1"] will be created`,
		`+ document = "worker-1/user-data"`, `"https://boot.example.com/worker-1/`,
		"Plan: 2 to add, 0 to change, 0 to destroy.",
	} {
		require.Contains(t, regexp.MustCompile(` +`).ReplaceAllString(out, " "), line)
	}
	require.NotContains(t, out, "PRIVATE KEY")
	requireUserData(t, program, nodes)
	for _, name := range []string{"worker-1/body.sh", "worker-1/user-data"} {
		write("nodes/"+name, "#cloud-config\n")
		out, err = program(plan...)
		require.Error(t, err)
		require.Contains(t, regexp.MustCompile(`\s+│?\s*`).ReplaceAllString(out, " "),
			"is not the one of inventory.json; run kiln render again.")
	}
}

// requireUserData applies the module, and holds what it gives to each machine to the documents.
func requireUserData(
	t *testing.T, program func(words ...string) (string, error), nodes string,
) {
	t.Helper()
	out, err := program("apply", "-auto-approve", "-no-color", "-var", "nodes="+nodes)
	require.NoError(t, err, out)
	require.NotContains(t, out, "#cloud-config")
	text, err := program("output", "-json", "user_data")
	require.NoError(t, err, text)
	given := map[string]string{}
	require.NoError(t, json.Unmarshal([]byte(text), &given))
	want := map[string]string{}
	for _, name := range []string{"cp-1", "worker-1"} {
		want[name] = read(t, filepath.Join(nodes, name, "user-data"))
	}
	require.Equal(t, want, given)
}
