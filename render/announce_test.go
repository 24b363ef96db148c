package render_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render"
)

// announcedFile has what announcements cost.
const announcedFile = "../testdata/announced"

// announceCost is how many bytes the compressed document of a control plane and of a worker on EC2
// may have more if the machine announces. Ignition carries four thirds of it, and the secrets of a
// lean document stand alone, without the hook's text to share words with.
const announceCost = 290

// TestAnnounced holds what announcements add to compressed documents, of machines whole and lean,
// to the golden table and to the promise.
func TestAnnounced(t *testing.T) {
	t.Parallel()
	table := [][]string{{"case", "machine", "form", "without", "with", "more"}}
	for _, name := range []string{"baseline", "ha", "delivery-lean"} {
		c, b := inputs(t, name)
		for i := range c.Spec.Nodes {
			c.Spec.Nodes[i].Report.URL = "http://10.0.0.5:8080"
		}
		with, err := render.New(c, b)
		require.NoError(t, err)
		without := load(t, name)
		add := func(machine, form string, was, is int) {
			table = append(table, []string{
				name, machine, form, strconv.Itoa(was), strconv.Itoa(is), strconv.Itoa(is - was),
			})
		}
		for i := range with.Machines() {
			m := &with.Plan.Machines[i]
			if m.Settings.Delivery.Mode == "lean" {
				was, is := documentSize(t, without, i), documentSize(t, with, i)
				add(m.Name, "lean-"+string(m.System.Format), was, is)
				continue
			}
			n, err := with.Node(i)
			require.NoError(t, err)
			before, after := packed(t, nodes(t, name)[i]), packed(t, n)
			for _, form := range []string{"Ignition", "cloud-init"} {
				add(m.Name, form, len(before[form+", compressed"]), len(after[form+", compressed"]))
			}
		}
	}
	checkSizes(t, announcedFile, table,
		"Bytes of compressed documents of machines that announce the state of their first boot.")
	for _, row := range table[1:] {
		more, err := strconv.Atoi(row[5])
		require.NoError(t, err)
		if row[0] == "baseline" && row[2] == "cloud-init" {
			require.LessOrEqual(t, more, announceCost, "%s", row)
		}
	}
}

func documentSize(t *testing.T, r *render.Cluster, i int) int {
	t.Helper()
	d, err := r.Document(i)
	require.NoError(t, err)
	return d.Entry.Bytes
}
