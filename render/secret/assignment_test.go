package secret

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAssigns: a value of a name like PASSWORD is a secret, wherever the name stands. References to
// a value, and names of other things, are none.
func TestAssigns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"PASSWORD=x", "Environment=DB_PW=x", `Environment="A=1" "API_KEY=x"`, "rd.luks.password=x",
		"exec --token=x", "quiet pw=x", "psk = x", `passwd="x y"`, "SetCredential=a:x",
		"client_secret=/x",
	} {
		require.True(t, assigns([]byte(text)), text)
	}
	for _, text := range []string{
		"", "PASSWORD=", "PASSWORD=$X", `TOKEN="${X}"`, "TOKEN=%d/a", "TOKEN_FILE=/x", "token=true",
		"secret=<yours>", "httpw=1", "a secret == b", "passwd: files", "SetCredential=a:",
		"--authentication-token-webhook=true", "rd.luks.name=root", "PATH=/bin",
	} {
		require.False(t, assigns([]byte(text)), text)
	}
}
