package review

import (
	"path"
	"regexp"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/text/wording"
)

// rootLine matches the line of a CA of the cluster: its mark, and the fingerprint of its key.
var rootLine = regexp.MustCompile(`^ +certificate ([a-z-]+ g[0-9]+): .*; for ca; .*` +
	`; fingerprint SHA-256 ([0-9a-f]{64})`)

// Roots returns the fingerprints of the CAs that a review twin shows on its first control plane, by
// their marks: a control plane has all that machines trust. The function open returns the content
// of a file by its path below the twin's folder. What cannot be read shows nothing.
func Roots(open func(name string) ([]byte, error)) map[string]string {
	prints := map[string]string{}
	lines := func(name string) []string {
		text, _ := open(name)
		return wording.SplitLines(text)
	}
	read := func(list []string) {
		for _, line := range list {
			if m := rootLine.FindStringSubmatch(line); m != nil {
				prints[m[1]] = m[2]
			}
		}
	}
	for _, line := range lines(IndexFile) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "node" || words[2] != node.ControlPlane ||
			!config.IsMachineName(words[1]) {
			continue
		}
		own := lines(path.Join(plan.Folder(words[1], false), IndexFile))
		for _, line := range own {
			base, ok := strings.CutPrefix(line, "with "+sharedFolder+"/")
			if ok && isFolderName(base) {
				read(lines(path.Join(sharedFolder, base, IndexFile)))
			}
		}
		read(own)
		break
	}
	return prints
}
