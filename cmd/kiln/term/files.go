package term

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// NamedPath is a path that the command line names.
type NamedPath struct {
	Path   string
	Flag   string // with its dashes; empty for an argument
	Output bool   // the verb writes there
	Stdin  bool   // the verb reads standard input if this is -
	// Word is the flag for names, such as --machine, to which a word in this place may belong.
	Word string
}

// ExplainFiles returns err with plain words in place of the operating system's message about a
// file: where it is, what is wrong, and what to do. named are the paths of the command line.
func ExplainFiles(err error, named []NamedPath) error {
	if isJoined(err) {
		parts := slices.Clone(err.(interface{ Unwrap() []error }).Unwrap())
		for i := range parts {
			parts[i] = ExplainFiles(parts[i], named)
		}
		return errors.Join(parts...)
	}
	raw, path, cause := fileError(err)
	if raw == "" || !strings.Contains(err.Error(), raw) {
		return irregular(err, named)
	}
	writes := strings.HasSuffix(path, folder.Suffix) // kiln makes its files under such names
	path, by := origin(path, cause, named)
	what, remedy := describe(path, cause, by), advice(path, cause, by)
	if writes && errors.Is(cause, fs.ErrPermission) {
		what, remedy = unwritable(path, cause, by)
	}
	before, after, _ := strings.Cut(err.Error(), raw)
	if after == "" {
		what += remedy
	}
	return &plainError{before + what + after, err}
}

// unwritable says that kiln may not make the file, and what to do.
func unwritable(path string, cause error, by *NamedPath) (what, remedy string) {
	what = fmt.Sprintf("%s: you may not write there (%v)", path, cause)
	remedy = fmt.Sprintf("; make the folder %s writable, or name another place", filepath.Dir(path))
	if by != nil && by.Flag != "" && by.Output {
		remedy += " with " + by.Flag
	}
	return what, remedy
}

// plainError is an error with another text.
type plainError struct {
	text  string
	cause error
}

func (e *plainError) Error() string { return e.text }

func (e *plainError) Unwrap() error { return e.cause }

// fileError returns the operating system's message in an error, with its path and cause. The
// message is empty if the error has none.
func fileError(err error) (raw, path string, cause error) {
	var one *fs.PathError
	var two *os.LinkError
	switch {
	case errors.As(err, &one):
		return one.Error(), one.Path, one.Err
	case errors.As(err, &two):
		return two.Error(), two.New, two.Err
	}
	return "", "", nil
}

// origin returns the path that the command line means by the path of an error, and the part of the
// command line that it comes from: of several, the longest path. That part is nil if the command
// line does not name it. Of two parts with one path, an output needs the folder that is a file.
func origin(path string, cause error, named []NamedPath) (meant string, by *NamedPath) {
	path = strings.TrimSuffix(path, folder.Suffix)
	path = strings.ReplaceAll(path, folder.Suffix+"/", "/") // while the folder is not whole
	for i := range named {
		n := &named[i]
		// The folder of a file that is to be written, or its name there.
		parent := n.Output && (path == filepath.Base(n.Path) || path == filepath.Dir(n.Path))
		if n.Path == "" || by != nil && len(n.Path) < len(by.Path) {
			continue
		}
		if by != nil && n.Path == by.Path && !(n.Output && errors.Is(cause, syscall.ENOTDIR)) {
			continue
		}
		if isIn(n.Path, path) {
			meant, by = path, n
		} else if parent {
			meant, by = n.Path, n
		}
	}
	if by == nil {
		meant = path
	}
	return meant, by
}

// isIn reports whether a path is a folder or lies in it.
func isIn(dir, path string) bool {
	below, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(below)
}

// describe says what is wrong with a path.
func describe(path string, cause error, by *NamedPath) string {
	output := by != nil && by.Output
	switch {
	case errors.Is(cause, syscall.ENOTDIR):
		for up := path; ; up = filepath.Dir(up) {
			info, err := os.Stat(up)
			switch isFile := err == nil && !info.IsDir(); {
			case isFile && up == path:
				return path + ": it is a file, and a folder is needed there"
			case isFile:
				return fmt.Sprintf("%s: %s is a file, and a folder is needed there", path, up)
			}
			if up == filepath.Dir(up) {
				break
			}
		}
	case errors.Is(cause, fs.ErrNotExist) && output && isFolder(filepath.Dir(path)):
		return path + ": nothing can be made there (no such file or directory)"
	case errors.Is(cause, fs.ErrNotExist) && output:
		return fmt.Sprintf("%s: there is no folder %s", path, filepath.Dir(path))
	case errors.Is(cause, fs.ErrPermission) && output:
		return fmt.Sprintf("%s: you may not write there (%v)", path, cause)
	case errors.Is(cause, fs.ErrPermission):
		return fmt.Sprintf("%s: you may not read it (%v)", path, cause)
	}
	return fmt.Sprintf("%s: %v", path, cause)
}

// NoBundle says what to do if there is no bundle.
const NoBundle = "if the cluster exists, restore the bundle from its backup, or name it with " +
	"--secrets; for a new cluster the first kiln render --out makes it, encrypted at once if the " +
	"configuration has recipients"

// makers says what to do if an input is missing that kiln makes, by its flag; "" is for documents.
var makers = map[string]string{
	"":             "name one that exists; kiln render --out makes a folder for each machine",
	"--kubeconfig": "name one that exists with --kubeconfig; kiln render --out makes admin.conf",
	"--public":     "name one that exists with --public; kiln secrets public makes it",
	"--secrets":    NoBundle,
}

// configFlag is the flag for the configuration.
const configFlag = "--config"

// advice says what to do about it, after a semicolon. It is empty if there is nothing to say.
func advice(path string, cause error, by *NamedPath) string {
	if errors.Is(cause, fs.ErrNotExist) && (by == nil || !by.Output) {
		isWord := by != nil && by.Word != "" && !strings.ContainsAny(path, "./")
		if isWord && isFile(DefaultConfig) {
			return fmt.Sprintf("; did you mean %s %s?", by.Word, path)
		}
		if near := neighbour(path, by); near != "" {
			return fmt.Sprintf("; did you mean %s?", near)
		}
	}
	if by == nil {
		return ""
	}
	flag := ""
	if by.Flag != "" {
		flag = " with " + by.Flag
	}
	switch {
	case by.Output:
		return "; name another place" + flag
	case errors.Is(cause, syscall.ENOSPC) || errors.Is(cause, syscall.EDQUOT):
		return "; make room there"
	case errors.Is(cause, fs.ErrPermission):
		return "; change its mode or owner, or name another file" + flag
	case by.Flag == configFlag && errors.Is(cause, fs.ErrNotExist) && isFile(DefaultConfig):
		return "; name the configuration, such as " + DefaultConfig
	case by.Flag == configFlag && errors.Is(cause, fs.ErrNotExist):
		return "; name the configuration, or write a first one: kiln init --out " +
			DefaultConfig
	case errors.Is(cause, fs.ErrNotExist) && makers[by.Flag] != "":
		return "; " + makers[by.Flag]
	default:
		return "; name one that exists" + flag
	}
}

// parts are in the names of the files that kiln makes for a flag.
var parts = map[string]string{"--secrets": ".secrets.", "--public": ".public."}

// neighbour returns the path of a file in the same folder that was probably meant, or nothing: one
// with nearly the same name or, for a flag with files of its own, the only one of these.
func neighbour(path string, by *NamedPath) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return ""
	}
	part := ""
	if by != nil {
		part = parts[by.Flag]
	}
	var names []string
	for _, e := range entries {
		if strings.Contains(e.Name(), part) && !strings.HasSuffix(e.Name(), folder.Suffix) {
			names = append(names, e.Name())
		}
	}
	near := wording.Nearest(filepath.Base(path), names)
	if near == "" && part != "" && len(names) == 1 {
		near = names[0]
	}
	if near == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(path), wording.Visible(near, ""))
}

// irregular explains the error about a path of the command line that is no regular file. It returns
// any other error as it is.
func irregular(cause error, named []NamedPath) error {
	if !errors.Is(cause, folder.ErrIrregular) {
		return cause
	}
	for i := range named {
		n := &named[i]
		if cause.Error() == n.Path+": "+folder.ErrIrregular.Error() && !n.Output {
			return &plainError{n.Path + ": " + n.regular(), cause}
		}
	}
	return cause
}

// regular says what a path is that is no regular file, and what to name in its place.
func (n *NamedPath) regular() string {
	name := "name a file"
	if n.Flag != "" {
		name += " with " + n.Flag
	}
	if isFolder(n.Path) {
		inside := filepath.Join(n.Path, DefaultConfig)
		if _, err := os.Stat(inside); err == nil && n.Flag == configFlag {
			name = fmt.Sprintf("did you mean %s?", inside)
		}
		return "a folder, and a file is needed; " + name
	}
	if n.Stdin {
		name += ", or - for standard input"
	}
	return folder.ErrIrregular.Error() + "; " + name
}

// isFolder reports whether a path is that of a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// isFile reports whether a path is that of a regular file.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
