package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/render/config"
)

// FuzzParse feeds Parse anything. Parse never panics and never takes long. Its messages are lines
// that a terminal can show, and every later stage can use what it accepts.
func FuzzParse(f *testing.F) {
	cases, err := filepath.Glob(filepath.Join(clusters, "*", "cluster.yaml"))
	require.NoError(f, err)
	for _, path := range cases {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add(firstConfig("demo"))
	dir := fstest.MapFS{"x": {Data: []byte("x")}}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		c, err := config.Parse("cluster.yaml", data, dir)
		require.LessOrEqual(t, time.Since(start), time.Second)
		if err != nil {
			var problems config.Problems
			require.True(t, errors.As(err, &problems))
			require.NotEmpty(t, problems)
			for _, p := range problems {
				require.NotEmpty(t, p.Message)
				// Messages quote input, which may have the mark of a wrong format itself.
				if !bytes.Contains(data, []byte("%!")) {
					require.NotContains(t, p.Message, "%!", "a message was formatted wrongly")
				}
				require.GreaterOrEqual(t, p.Line, 0)
			}
			return
		}
		checkAccepted(t, c)
	})
}

// checkAccepted states what must hold of every cluster that Parse lets through.
func checkAccepted(t *testing.T, c *config.Cluster) {
	t.Helper()
	controlPlanes := 0
	for i := range c.Spec.Nodes {
		n := &c.Spec.Nodes[i]
		e := c.EffectiveNode(i)
		require.NotEmpty(t, e.OS)
		require.NotEmpty(t, e.Platform)
		require.LessOrEqual(t, len(n.Name), 63)
		require.NotContains(t, n.Name, "/")
		require.Len(t, n.Addresses, len(c.Spec.Network.PodSubnets))
		if n.Role == "control-plane" {
			controlPlanes++
		}
		require.Equal(t, n.MAC != "", c.Values().Nodes[i].MAC != "")
	}
	require.Positive(t, controlPlanes)
	require.Positive(t, c.Values().Minor)
	require.NotEmpty(t, c.Values().EndpointHost)
	require.NotContains(t, c.Values().EtcdHosts, "")
	require.Equal(t, c.Spec.ControlPlane.VIP != nil, c.Values().VIP.IsValid())
	requireValid(t, reflect.ValueOf(*c.Values()))
}

// requireValid requires that every address and network in v is valid, save the two that a cluster
// may do without.
func requireValid(t *testing.T, v reflect.Value) {
	t.Helper()
	if a, ok := v.Interface().(interface{ IsValid() bool }); ok {
		require.True(t, a.IsValid())
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "VIP" && name != "EndpointAddress" {
				requireValid(t, v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			requireValid(t, v.Index(i))
		}
	}
}
