package config_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEndpoint(t *testing.T) {
	t.Parallel()
	rows := []struct {
		text, host string
		port       int
	}{
		{"api.example.com", "api.example.com", 6443},
		{"api.example.com:443", "api.example.com", 443},
		{"10.0.0.1", "10.0.0.1", 6443},
		{"10.0.0.1:8443", "10.0.0.1", 8443},
		{"fd00::1", "fd00::1", 6443},
		{"[fd00::1]", "fd00::1", 6443},
		{"[fd00::1]:443", "fd00::1", 443},
	}
	for _, row := range rows {
		values := parse(t, header+onOS+"  endpoint: \""+row.text+"\"\n"+oneNode, nil).Values()
		require.Equal(t, row.host, values.EndpointHost)
		require.Equal(t, row.port, values.EndpointPort)
		a, err := netip.ParseAddr(row.host)
		require.Equal(t, err == nil, values.EndpointAddress.IsValid())
		require.Equal(t, a, values.EndpointAddress)
	}
	for _, bad := range []string{
		":6443", "[fd00::1", "[fd00::1]x", "a:b", "a:1:2", "a:+1", "a:01", "a:65536",
	} {
		problems := problemsOf(t, header+onOS+"  endpoint: \""+bad+"\"\n"+oneNode, nil)
		require.Contains(t, problems, ": endpoint: ", bad)
	}
}
