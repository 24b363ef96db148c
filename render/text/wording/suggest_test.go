package wording_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/text/wording"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"podSubnets", "serviceSubnets", "mtu", "cni"}
	for _, row := range []struct{ word, want, why string }{
		{"podSubnet", "podSubnets", "a letter is missing"},
		{"podSubents", "podSubnets", "two neighbours are swapped, which counts as one mistake"},
		{"PODSUBNETS", "podSubnets", "the case is wrong"},
		{"sevriceSubnest", "serviceSubnets", "two swaps in a long word"},
		{"mut", "mtu", "one mistake in a short word"},
		{"mmm", "", "two mistakes in a short word"},
		{"podNets", "", "more mistakes than a third of the letters"},
		{strings.Repeat("m", 65), "", "longer than any word"},
		{"", "", "no word"},
	} {
		require.Equal(t, row.want, wording.Nearest(row.word, known), row.why)
	}
}

func TestNoSuch(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		word  string
		known []string
		want  string
	}{
		{"cp-11", []string{"cp-1", "worker-1"}, `no node "cp-11"; did you mean "cp-1"?`},
		{"x", []string{"cp-1", "worker-1"}, `no node "x"; there is cp-1, worker-1`},
		{"x", nil, `no node "x"`},
		{"x", strings.Fields("aa bb cc dd ee ff gg hh ii jj kk ll mm"), `no node "x"`},
	} {
		require.EqualError(t, wording.NoSuch(row.word, row.known, "no node %q", row.word), row.want)
	}
}
