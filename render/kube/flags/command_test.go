package flags_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/kube/flags"
)

// TestCheckCommand: words are read as the programs read them.
func TestCheckCommand(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		program string
		words   []string
		at      int // the word of the only finding, -1 for none
		want    string
	}{
		{flags.APIServer, []string{"--profiling", "--v=2", "-v=3", "-v", "4"}, -1, ""},
		{flags.APIServer, []string{"--request-timeout", "30s"}, -1, ""},
		{flags.APIServer, []string{"--request-timeout", "-1"}, 0, "error: -1 does not fit " +
			"--request-timeout of kube-apiserver 1.36 (duration); " +
			"write a duration such as 30s or 1h30m"},
		{flags.APIServer, []string{"--v=2", "--request-timeout"}, 1, "error: --request-timeout " +
			"has no value; write --request-timeout=VALUE"},
		{flags.APIServer, []string{"--v=2", "--profilingg", "--v=3"}, 1, "error: profilingg is " +
			`not a flag of kube-apiserver 1.36; did you mean "profiling"?`},
		{flags.APIServer, []string{"--profiling", "false"}, 1, "error: false is not a flag, and " +
			"kube-apiserver takes nothing else; write --name=value, or remove it"},
		{flags.APIServer, []string{"-profiling=false"}, 0, "error: -profiling=false begins with " +
			"one dash; write two"},
		{flags.Etcd, []string{"-auto-tls=false", "--auto-tls"}, -1, ""},
	} {
		found := of(t, row.program, 36).CheckCommand(row.words)
		require.Equal(t, row.want, said(found), "%v", row.words)
		if row.at >= 0 {
			require.Len(t, found, 1)
			require.Equal(t, row.at, found[0].Arg, "%v", row.words)
		}
	}
}
