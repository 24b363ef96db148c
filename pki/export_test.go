package pki

import "math/big"

// Serial is serial for the vectors.
func (b *Bundle) Serial(content []byte) *big.Int { return b.serial(content) }
