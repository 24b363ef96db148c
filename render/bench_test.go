package render_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkWorker measures one more worker of a cluster: rendered, checked and packed.
func BenchmarkWorker(b *testing.B) {
	for _, name := range []string{"ha", "single"} {
		b.Run(name, func(b *testing.B) {
			r := load(b, name)
			last := r.Machines() - 1
			for b.Loop() {
				_, err := r.Document(last)
				require.NoError(b, err)
			}
		})
	}
}

// BenchmarkControlPlane measures one control plane: rendered, checked and packed.
func BenchmarkControlPlane(b *testing.B) {
	for _, name := range []string{"ha", "single"} {
		b.Run(name, func(b *testing.B) {
			r := load(b, name)
			for b.Loop() {
				_, err := r.Document(0)
				require.NoError(b, err)
			}
		})
	}
}
