package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSizesDoc holds the tables of docs/sizes.md to the files of testdata from which they are made.
func TestSizesDoc(t *testing.T) {
	t.Parallel()
	const path = "../../docs/sizes.md"
	page := read(t, path)
	want := page
	for name, table := range map[string]string{
		"hook":      hookTable(read(t, "../../testdata/hook")),
		"sizes":     sizesTable(rowsOf(t, "sizes")),
		"budget":    budgetTable(rowsOf(t, "budget")),
		"delivered": deliveredTable(rowsOf(t, "delivered")),
	} {
		begin := "<!-- made from testdata/" + name + " by make golden -->\n\n"
		before, rest, found := strings.Cut(want, begin)
		require.True(t, found, begin)
		_, after, found := strings.Cut(rest, "|\n\n")
		require.True(t, found, name)
		want = before + begin + table + "\n" + after
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o600))
		return
	}
	require.Equal(t, want, page, "make golden rewrites it")
}

// rowsOf returns a table of testdata: a row for each line, by the names of its columns.
func rowsOf(t *testing.T, name string) (rows []map[string]string) {
	t.Helper()
	var head []string
	for line := range strings.Lines(read(t, "../../testdata/"+name)) {
		cells := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case head == nil:
			head = cells
		default:
			row := map[string]string{"": strings.Join(head, " ")}
			for i, cell := range cells {
				row[head[i]] = cell
			}
			rows = append(rows, row)
		}
	}
	require.NotEmpty(t, rows, name)
	return rows
}

// figure returns a number of bytes with a comma between thousands, without the mark of a limit.
func figure(bytes string) string {
	bytes = strings.TrimSuffix(bytes, "!")
	if n := len(bytes); n > 3 {
		return bytes[:n-3] + "," + bytes[n-3:]
	}
	return bytes
}

var formats = map[string]string{
	"ignition": "Ignition", "config.ign": "Ignition",
	"cloud-init": "cloud-init", "user-data": "cloud-init",
}

var kinds = map[string]string{"cp": "control plane", "worker": "worker", "blue": "pool"}

// kindOf returns the role of a machine of a golden cluster, which its name says; or pool.
func kindOf(machine string) string {
	name, _, _ := strings.Cut(machine, "-")
	return kinds[name]
}

// sizesTable has a row for each document of the case baseline, and the platforms that refuse it.
func sizesTable(rows []map[string]string) string {
	var b strings.Builder
	b.WriteString("| document | plain | compressed | compressed, as text | too large for |\n")
	b.WriteString("|---|---|---|---|---|\n")
	for _, row := range rows {
		if row["case"] != "baseline" {
			continue
		}
		var refused []string
		for _, platform := range strings.Fields(row[""]) {
			if strings.HasSuffix(row[platform], "!") {
				refused = append(refused, "`"+platform+"`")
			}
		}
		fmt.Fprintf(&b, "| %s, %s | %s | %s | %s | %s |\n", kindOf(row["machine"]),
			formats[row["format"]], figure(row["akamai"]), figure(row["aws"]),
			figure(row["hetzner"]), cmp.Or(strings.Join(refused, ", "), "none"))
	}
	return b.String()
}

// modules are the files of the hook, in the order in which a reader meets them.
var modules = []struct{ name, what string }{
	{"boot", "the engine: state, faults, the step that verifies files"},
	{"steps", "the steps of this machine, and the functions of its checks"},
	{"checks", "a table: the program that is asked, the answer that is wanted, the remedy"},
	{"machine", "what is different on each machine: name, steps, addresses"},
	{"files", "every file of the document, with sum, mode and owner"},
	{"report", "what a bug report needs, without secrets"},
	{"node.yaml", "the labels of a control plane"},
	{"", ""},
}

// hookTable has a row for each module of the hook, with the bytes on a control plane of three and
// on a worker, both with Flannel; compressed in brackets, alone.
func hookTable(text string) string {
	bytes := map[string]string{}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); f[0] == "balancer" {
			_, module, _ := strings.Cut(f[2], "/")
			bytes[f[1]+"/"+module] = fmt.Sprintf("%s (%s)", figure(f[3]), figure(f[4]))
		}
	}
	var b strings.Builder
	b.WriteString("| file | what it is | control plane | worker |\n|---|---|---|---|\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cmp.Or(m.name, "all, compressed together"),
			m.what, bytes["control-plane/"+m.name], bytes["worker/"+m.name])
	}
	return b.String()
}

var partNames = map[string]string{
	"hook":         "the hook: scripts, checks, its data, the list of files",
	"certificates": "certificates",
	"API-objects":  "objects for the API server",
	"static-pods":  "static pods",
	"keys":         "keys",
	"rest":         "kubelet, containerd, network, units",
}

// budgetTable has a row for each part of the documents of the case baseline.
func budgetTable(rows []map[string]string) string {
	bytes := map[string][2]string{}
	var parts []string
	for _, row := range rows {
		if row["case"] != "baseline" {
			continue
		}
		part, column := row["part"], 0
		if kindOf(row["machine"]) == "worker" {
			column = 1
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
		cells := bytes[part]
		cells[column] = fmt.Sprintf("%s (%s)", figure(row["bytes"]), row["files"])
		bytes[part] = cells
	}
	var b strings.Builder
	b.WriteString("| part | control plane | worker |\n|---|---|---|\n")
	for _, part := range parts {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", partNames[part], bytes[part][0], bytes[part][1])
	}
	return b.String()
}

// deliveredTable has one row for each mode, kind of machine and format.
func deliveredTable(rows []map[string]string) string {
	var b strings.Builder
	b.WriteString("| mode | machine | format | document | body |\n|---|---|---|---|---|\n")
	var seen []string
	for _, row := range rows {
		machine := row["mode"] + kindOf(row["machine"]) + row["form"]
		if slices.Contains(seen, machine) {
			continue
		}
		seen = append(seen, machine)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", row["mode"], kindOf(row["machine"]),
			formats[row["form"]], figure(row["document"]), figure(row["body"]))
	}
	return b.String()
}
