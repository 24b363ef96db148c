package vault

import (
	"fmt"
	"path/filepath"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/pki/root"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/text/wording"
)

// checkRoots returns an error if the roots of the bundle, or public half, in the file path cannot
// be those that the file where shows. Both say that they are of one cluster, and whoever writes a
// file can say that. anew says what to do if the new roots are the right ones.
func checkRoots(path, where string, here, there map[string]string, anew string) error {
	m := root.Compare(here, there)
	if m == nil {
		return nil
	}
	// What a command after -- may be called is a file's name alone.
	who := fmt.Sprintf("somebody else may have made it, and have its keys. git log -- %s shows who",
		wording.ShellWord(path))
	if m.Here == m.There {
		return fmt.Errorf("%s: its %s is not that of %s: SHA-256 %s here, %s there. A root of one "+
			"generation has one key, so this is not the bundle that made %[3]s; %[6]s. Restore "+
			"the bundle that made %[3]s. Only if the keys here are the right ones, as after "+
			"--back and a second rotation, %[7]s",
			path, m.Here, where, m.Fingerprint, m.FingerprintThere, who, anew)
	}
	return fmt.Errorf("%s: its %s (SHA-256 %s) has no root in common with %s, which has %s "+
		"(SHA-256 %s). In a rotation both are there for a while, so nothing shows that one came "+
		"from the other; %s. If a whole rotation was merged, ask who did it for the fingerprint, "+
		"and %s", path, m.Here, m.Fingerprint, where, m.There, m.FingerprintThere, who, anew)
}

// CheckTwin returns an error if the roots of the bundle, or public half, in the file path cannot be
// those of the review twin in the folder review. The twin of another cluster is not its business.
func CheckTwin(review, path string, half *pki.Public) error {
	if review == "" {
		return nil
	}
	if twin := render.ReadTwin(review); twin == nil || twin.Cluster != half.Cluster {
		return nil
	}
	return checkRoots(path, filepath.Join(review, render.IndexFile), half.Fingerprints(),
		render.TwinRoots(review), "name another folder with --review, and compare the two")
}
