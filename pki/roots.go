package pki

import "kiln.dev/kiln/pki/root"

// Root, Stage and Rotation are names of package root.
type (
	Root     = root.Root
	Stage    = root.Stage
	Rotation = root.Rotation
)

// The roots, and the stages of a rotation.
const (
	RootCA             = root.CA
	RootEtcdCA         = root.EtcdCA
	RootFrontProxyCA   = root.FrontProxyCA
	RootServiceAccount = root.ServiceAccount
	RootEncryption     = root.Encryption
	RootLeafSeed       = root.LeafSeed

	Settled = root.Settled
	Trust   = root.Trust
	Issue   = root.Issue
)

// Roots returns all roots.
func Roots() []Root { return root.All() }

// ParseRotation reads what the String of a rotation wrote.
func ParseRotation(text string) (Rotation, error) { return root.Parse(text) }
