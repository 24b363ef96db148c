// Package gitleaks checks the review twins with gitleaks, which many people run over everything
// that goes into git. It is a module of its own because of its dependencies.
package gitleaks

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/zricethezav/gitleaks/v8/detect"
)

// TestTwins checks that gitleaks' default rules find nothing in the twin of any golden case or in
// the programs that the twins share, and that they do find a secret that is put there.
func TestTwins(t *testing.T) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	twins, err := filepath.Glob("../../testdata/clusters/*/want")
	if err != nil || len(twins) < 12 {
		t.Fatalf("%d twins: %v", len(twins), err)
	}
	files := 0
	for _, twin := range append(twins, "../../testdata/programs") {
		err := filepath.WalkDir(twin, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			for _, f := range detector.Detect(detect.Fragment{Raw: string(text), FilePath: path}) {
				t.Errorf("%s:%d: %s: %s", path, f.StartLine, f.RuleID, f.Match)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 1000 {
		t.Fatalf("only %d files", files)
	}
	bundle, err := os.ReadFile("../../testdata/clusters/single/bundle/secrets.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(detector.DetectString(string(bundle))) == 0 {
		t.Error("nothing found in a bundle: the detector does not detect")
	}
}
