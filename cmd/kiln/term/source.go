package term

import (
	"io"

	"kiln/render"
	"kiln/render/config"
	"kiln/render/folder"
)

const (
	// Default is the configuration of a command line that names none.
	Default = "cluster.yaml"
	// Stdin is the path that stands for standard input.
	Stdin = "-"

	// stdinName stands for standard input in messages.
	stdinName = "standard input"
	// maxBytes is how many bytes of standard input are read. config.Parse has its own, smaller
	// limit.
	maxBytes = 8 << 20
)

// Configuration is the configuration that the command line means.
type Configuration struct {
	Path string    // the file, or Stdin for In
	In   io.Reader // the reader that Stdin stands for

	read []byte // what In gave, once it has been read: it can be read once only
}

// Config reads and parses the configuration. Mistakes in it come back as config.Problems. The files
// that it names lie in its own folder, or in the working folder if it comes from standard input.
func (s *Configuration) Config() (*config.Cluster, error) {
	if s.Path != Stdin {
		return render.Config(s.Path)
	}
	data, err := s.stdin()
	if err != nil {
		return nil, err
	}
	return render.ConfigData(stdinName, ".", data)
}

// Public is Config for a place without secrets: files with secrets that the configuration names may
// be missing.
func (s *Configuration) Public() (*config.Cluster, error) {
	if s.Path != Stdin {
		return render.ConfigPublic(s.Path)
	}
	data, err := s.stdin()
	if err != nil {
		return nil, err
	}
	return render.ConfigPublicData(stdinName, ".", data)
}

// Name returns the configuration's name in messages.
func (s *Configuration) Name() string {
	if s.Path == Stdin {
		return stdinName
	}
	return s.Path
}

// stdin returns what standard input holds.
func (s *Configuration) stdin() ([]byte, error) {
	if s.read == nil {
		data, err := folder.ReadUpTo(stdinName, s.In, maxBytes)
		if err != nil {
			return nil, err
		}
		s.read = data
	}
	return s.read, nil
}
