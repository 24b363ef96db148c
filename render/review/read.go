package review

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"kiln/render/change"
)

// Heading is what the INDEX of a review twin says of the twin.
type Heading struct {
	Name, Cluster string   // the cluster's name and UUID
	Folders       []string // the folders that are the twin's, below its own
}

// ParseHeading reads the INDEX of a twin. That of something else is an error.
func ParseHeading(name string, index []byte) (*Heading, error) {
	there, version := &Heading{Folders: []string{sharedFolder}}, ""
	if _, err := fmt.Sscanf(string(index), change.Mark, &there.Name, &there.Cluster, &version); err != nil {
		return nil, fmt.Errorf("%s: not the %s of a review twin; name a new folder with --review", name, IndexFile)
	}
	for line := range strings.Lines(string(index)) {
		switch words := strings.Fields(line); {
		case len(words) < 2 || !fs.ValidPath(words[1]) || strings.ContainsAny(words[1], "/\\") || words[1][0] == '.':
		case words[0] == "node":
			there.Folders = append(there.Folders, words[1])
		case words[0] == "pool":
			there.Folders = append(there.Folders, path.Join("pools", words[1]))
		}
	}
	return there, nil
}

// Read reads the review twin that consists of these files, by their paths below its folder.
func Read(files map[string][]byte) (*change.Cluster, error) { return change.Read(among(files)) }

// among opens files that are in memory.
func among(files map[string][]byte) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		if data, ok := files[name]; ok {
			return data, nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
}
