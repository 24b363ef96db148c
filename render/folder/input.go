package folder

import "io"

// Stdin is the path that stands for standard input.
const Stdin = "-"

// stdinName stands for standard input in messages.
const stdinName = "standard input"

// Input is a file that the command line names, or standard input.
type Input struct {
	Path string    // the file, or Stdin for In
	In   io.Reader // the reader that Stdin stands for

	data []byte // what In gave, once it has been read: it can be read once only
}

// Read returns the content, of at most limit bytes. It fails as [Read] does.
func (i *Input) Read(limit int64) ([]byte, error) {
	if i.Path != Stdin {
		return Read(i.Path, limit)
	}
	if i.data == nil {
		data, err := ReadUpTo(stdinName, i.In, limit)
		if err != nil {
			return nil, err
		}
		i.data = data
	}
	return i.data, nil
}

// Name returns the input's name in messages.
func (i *Input) Name() string {
	if i.Path == Stdin {
		return stdinName
	}
	return i.Path
}
