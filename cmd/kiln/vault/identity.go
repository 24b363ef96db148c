package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"filippo.io/age"
	"filippo.io/age/plugin"

	"kiln.dev/kiln/cmd/kiln/term"
	"kiln.dev/kiln/render/folder"
	"kiln.dev/kiln/render/text/wording"
)

// IdentityVariable is the environment variable that names a file with identities. It holds no key:
// others may read the environment of a process.
const IdentityVariable = "KILN_IDENTITY"

// maxIdentities bounds the file of --identity. An identity of a plugin has some kilobytes.
const maxIdentities = 1 << 20

// Keys are the identities of the user.
type Keys struct {
	Path string // --identity

	loaded []age.Identity // of path, once it has been read: it may be a pipe, or ask
}

// Given reports whether the user named identities.
func (k *Keys) Given() bool { return k != nil && k.path() != "" }

func (k *Keys) path() string {
	if k.Path != "" {
		return k.Path
	}
	return os.Getenv(IdentityVariable)
}

// CheckPath returns an error if --identity or Variable holds a key instead of naming a file. The
// error does not show it.
func (k *Keys) CheckPath() error {
	if k == nil {
		return nil
	}
	for _, from := range []struct{ what, path string }{
		{"--identity", k.Path}, {IdentityVariable, os.Getenv(IdentityVariable)},
	} {
		if secretKey.match(from.path) {
			return fmt.Errorf("%s names a file, and this is a key. Other programs of this "+
				"computer may have seen it: make a new one with age-keygen -o FILE", from.what)
		}
	}
	return nil
}

// PlainFile returns the file with the user's identities if whoever has it can use them; empty if it
// is no file, or is encrypted, or holds identities of plugins alone.
func (k *Keys) PlainFile() string {
	if !k.Given() {
		return ""
	}
	path := k.path()
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := folder.Read(path, maxIdentities)
	if err != nil || IsEncrypted(data) || !bytes.Contains(data, []byte(secretKey)) {
		return ""
	}
	return path
}

// load returns the identities for the age file name.
func (k *Keys) load(name string) ([]age.Identity, error) {
	if k.loaded != nil {
		return k.loaded, nil
	}
	path := k.path()
	if path == "" {
		return nil, &NoIdentityError{name}
	}
	data, stored, err := folder.ReadGiven(path, maxIdentities)
	if errors.Is(err, fs.ErrNotExist) { // it says nothing about the bundle
		return nil, fmt.Errorf("%s: no such file, and it is to have the identity that opens %s; "+
			"name another one with --identity", path, name)
	}
	if err != nil {
		return nil, err
	}
	encrypted := IsEncrypted(data)
	var list []age.Identity
	if !encrypted { // the mode of another file is nobody's business
		list, err = parseIdentities(path, data)
	}
	if err == nil && stored {
		err = CheckMode(path, encrypted, "it opens the bundle")
	}
	if err == nil && encrypted {
		if data, err = openIdentities(path, data); err == nil {
			list, err = parseIdentities(path, data)
		}
	}
	if err != nil {
		return nil, err
	}
	k.loaded = list
	return list, nil
}

// CheckMode returns an error if other users may read or change a file with secrets. If it is
// encrypted they may read it: git does not keep the mode of a file.
func CheckMode(path string, encrypted bool, why string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	mode := info.Mode().Perm()
	switch {
	case encrypted && mode&0o022 != 0:
		return fmt.Errorf("%s: others may change it (mode %04o), and %s; chmod go-w it",
			path, mode, why)
	case !encrypted && mode&0o077 != 0:
		return fmt.Errorf("%s: others may read or change it (mode %04o), and %s; chmod 600 it",
			path, mode, why)
	case !folder.OwnedByUser(info):
		return fmt.Errorf("%s: belongs to another user, who may read and change it, and %s; "+
			"chown it, and chmod 600 it", path, why)
	}
	return nil
}

// openIdentities decrypts a file of identities that has a passphrase, as age -p writes it.
func openIdentities(path string, data []byte) ([]byte, error) {
	file, withPassphrase, err := readHeader(path, data)
	if err != nil {
		return nil, err
	}
	if !withPassphrase {
		return nil, fmt.Errorf("%s: an age file that another identity opens, and kiln opens only "+
			"identities with a passphrase; pipe it: --identity <(age -d -i KEY %s)", path,
			wording.ShellWord(path))
	}
	passphrase, err := ask(path)
	if err != nil {
		return nil, err
	}
	identities, err := scryptIdentity(passphrase)
	if err != nil {
		return nil, err
	}
	plain, err := decrypt(file, identities)
	if err != nil {
		return nil, (&Keys{}).explain(path, err)
	}
	return plain, nil
}

// prefix is how a word begins, in upper or lower case.
type prefix string

const (
	secretKey prefix = "AGE-SECRET-KEY-" // #nosec G101 -- how a key begins
	hybridKey prefix = "AGE-SECRET-KEY-PQ-1"
	pluginKey prefix = "AGE-PLUGIN-"
	publicKey prefix = "AGE1"
)

func (p prefix) match(word string) bool {
	return len(word) >= len(p) && strings.EqualFold(word[:len(p)], string(p))
}

// parseIdentities reads a file of identities, one a line. Errors name lines and quote none.
func parseIdentities(path string, data []byte) (list []age.Identity, err error) {
	if bytes.Contains(data, []byte("PRIVATE KEY-----")) {
		return nil, fmt.Errorf("%s: an SSH key, or one of TLS; kiln takes identities of age alone "+
			"(age-keygen -o FILE). With such a key, pipe the bundle: --secrets <(age -d -i %s "+
			"FILE)", path, wording.ShellWord(path))
	}
	var errs []error
	number, holds := 0, false
	for line := range strings.Lines(string(data)) {
		number++
		word := strings.TrimSpace(line)
		if word == "" || word[0] == '#' {
			continue
		}
		i, err := parseIdentity(word)
		holds = holds || err == nil || !errors.Is(err, errNotAge)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: line %d: %w", path, number, err))
			continue
		}
		list = append(list, i)
	}
	if !holds {
		return nil, fmt.Errorf("%s: holds no age identity; age-keygen -o FILE writes one", path)
	}
	const most = 5
	return list, errors.Join(errs[:min(len(errs), most)]...)
}

var errNotAge = errors.New("not an identity of age; want AGE-SECRET-KEY-1… or AGE-PLUGIN-…")

// parseIdentity reads one identity. No error of it shows the line.
func parseIdentity(word string) (i age.Identity, err error) {
	switch {
	case hybridKey.match(word):
		i, err = age.ParseHybridIdentity(word)
	case secretKey.match(word):
		i, err = age.ParseX25519Identity(word)
	case pluginKey.match(word):
		var p *plugin.Identity
		p, err = plugin.NewIdentity(word, ui)
		i = pluginIdentity{p}
	case publicKey.match(word):
		return nil, errors.New("a recipient, which encrypts; the identity is the line that " +
			"begins with AGE-SECRET-KEY- or AGE-PLUGIN-")
	default:
		return nil, errNotAge
	}
	if err != nil {
		return nil, errors.New("an identity that is cut off or damaged; restore it from a copy")
	}
	return i, nil
}

// pluginError is the failure of a plugin.
type pluginError struct{ err error }

func (e *pluginError) Error() string { return e.err.Error() }
func (e *pluginError) Unwrap() error { return e.err }

// pluginIdentity runs a plugin where programs may run.
type pluginIdentity struct{ *plugin.Identity }

// Unwrap asks the plugin for the key of a file.
func (p pluginIdentity) Unwrap(stanzas []*age.Stanza) (key []byte, err error) {
	err = term.WithPrograms(func() error {
		key, err = p.Identity.Unwrap(stanzas)
		return err
	})
	if err != nil && !errors.Is(err, age.ErrIncorrectIdentity) {
		err = &pluginError{err}
	}
	return key, err
}

// pluginRecipient runs a plugin where programs may run.
type pluginRecipient struct{ *plugin.Recipient }

// WrapWithLabels asks the plugin to encrypt the key of a file.
func (p pluginRecipient) WrapWithLabels(key []byte) (s []*age.Stanza, labels []string, err error) {
	err = term.WithPrograms(func() error {
		s, labels, err = p.Recipient.WrapWithLabels(key)
		return err
	})
	return s, labels, err
}

// pluginRemedy adds to an error that a program of age is missing what to do.
func pluginRemedy(err error) error {
	var missing *plugin.NotFoundError
	if errors.As(err, &missing) {
		return fmt.Errorf("there is no program age-plugin-%s in PATH; install it", missing.Name)
	}
	return err
}
