package pki_test

import (
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/test/need"
)

// question asks for a secret of a cluster, or has the answer too: docs/derivation.json is a list of
// them.
type question struct {
	// Kind is key, token, announce, announce/pool or serial.
	Kind       string `json:"kind"`
	Cluster    string `json:"cluster"`
	LeafSeed   string `json:"leafSeed"`
	Name       string `json:"name"`
	Generation int    `json:"generation,omitempty"`
	Content    string `json:"content"` // of a serial number

	Private string `json:"private,omitempty"`
	Public  string `json:"public,omitempty"`
	Token   string `json:"token,omitempty"`
	Serial  string `json:"serial,omitempty"`
}

// answered returns the question with kiln's answer.
func (q question) answered(t *testing.T) question {
	t.Helper()
	q.Private, q.Public, q.Token, q.Serial = "", "", "", ""
	b := &pki.Bundle{}
	b.Cluster = q.Cluster
	var err error
	b.LeafSeed, err = hex.DecodeString(q.LeafSeed)
	require.NoError(t, err)
	b.Generations = map[string]int{q.Name: q.Generation}
	switch q.Kind {
	case "serial":
		q.Serial = b.Serial([]byte(q.Content)).Text(16)
	case "key":
		block, _ := pem.Decode(b.LeafKey(q.Name).PEM())
		key, err := x509.ParseECPrivateKey(block.Bytes)
		require.NoError(t, err)
		scalar, err := key.Bytes()
		require.NoError(t, err)
		point, err := key.PublicKey.Bytes()
		require.NoError(t, err)
		q.Private, q.Public = hex.EncodeToString(scalar), hex.EncodeToString(point)
	case "announce", "announce/pool":
		b.Generations = map[string]int{q.Kind + "/" + q.Name: q.Generation}
		m := &plan.Machine{Name: q.Name, Pool: q.Kind == "announce/pool"}
		q.Private = string(b.AnnounceKey(m))
	default:
		b.Generations = map[string]int{q.Kind + "/" + q.Name: q.Generation}
		q.Token = b.PoolToken(q.Name).Bearer()
	}
	return q
}

// TestDerivationVectors freezes the derivation of keys, serial numbers and tokens. A change here
// changes every certificate of every cluster: it is a new format, never a fix.
func TestDerivationVectors(t *testing.T) {
	t.Parallel()
	for _, q := range vectors(t) {
		require.Equal(t, q, q.answered(t))
	}
}

// TestSecondImplementation: a program in another language, which shares no code with kiln, derives
// what kiln derives: the vectors, and what random seeds, names and generations give.
func TestSecondImplementation(t *testing.T) {
	t.Parallel()
	python := need.Program(t, "python3")
	asked := vectors(t)
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		return fmt.Sprintf("ä%x/%x", random.Uint64()>>random.IntN(64), random.Uint32())
	}
	for range 30 {
		seed := make([]byte, 32)
		for i := range seed {
			seed[i] = byte(random.Uint32())
		}
		for _, kind := range []string{"key", "token", "announce", "announce/pool", "serial"} {
			q := question{Kind: kind, Cluster: text(), LeafSeed: hex.EncodeToString(seed)}
			if kind == "serial" {
				q.Content = text()
			} else {
				q.Name, q.Generation = text(), 1+random.IntN(1000)
			}
			asked = append(asked, q)
		}
	}
	in, err := json.Marshal(asked)
	require.NoError(t, err)
	cmd := exec.Command(python, "../docs/derivation.py")
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	require.NoError(t, err)
	var answers []question
	require.NoError(t, json.Unmarshal(out, &answers))
	require.Len(t, answers, len(asked))
	for i, q := range asked {
		require.Equal(t, q.answered(t), answers[i])
	}
}

func vectors(t *testing.T) (list []question) {
	t.Helper()
	data, err := os.ReadFile("../docs/derivation.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &list))
	require.NotEmpty(t, list)
	return list
}
