package media

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/test/need"
)

// fetch has cloud-init's own NoCloud look for its documents with the arguments of a kernel, and
// prints what it found.
const fetch = `
import sys, tempfile
from unittest import mock
from cloudinit import helpers, util
from cloudinit.sources import DataSourceNoCloud as source
empty = tempfile.mkdtemp()
config = {"datasource": {"NoCloud": {"fs_label": None}}}
with mock.patch.object(util, "get_cmdline", return_value=sys.argv[1]), \
        mock.patch("cloudinit.dmi.read_dmi_data", return_value=None), \
        mock.patch.object(util, "find_devs_with", return_value=[]):
    paths = helpers.Paths({"cloud_dir": empty, "run_dir": empty})
    ds = source.DataSourceNoCloudNet(config, None, paths)
    assert ds._get_data(), "nothing was found"
    print(ds.metadata["instance-id"])
    print(ds.userdata_raw.decode(), end="")
`

// TestCloudInitFetches: cloud-init finds its documents by the arguments in the scripts, on a server
// that has only the files of the network boot, and asks for no missing file.
func TestCloudInitFetches(t *testing.T) {
	t.Parallel()
	need.Program(t, "cloud-init")
	served := map[string][]byte{}
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		data, ok := served[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			t.Errorf("%s is not there", r.URL.Path)
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(data)
	}))
	defer server.Close()
	n := netboot()
	n.URL = server.URL
	r, list, err := files(n, fleet())
	require.NoError(t, err)
	for _, f := range list {
		served[f.Path] = f.Data
	}
	for _, name := range []string{"worker-1", "worker-2"} {
		b := r.Boots[slices.IndexFunc(r.Boots, func(b Boot) bool { return b.Node == name })]
		cmd := exec.Command(need.Python, "-c", fetch, strings.Join(b.Args, " "))
		cmd.Env = append(os.Environ(), "no_proxy=*")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, name+"\n#cloud-config\n# "+name+"\n", string(out))
	}
	require.GreaterOrEqual(t, asked.Load(), int32(6))
}
