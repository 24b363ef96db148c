// This file encrypts a bundle with age before it is stored, and decrypts it with the identity
// or the passphrase of the user. It is the edge of kiln that asks on the terminal and runs plugins
// of age; it neither reads nor writes a bundle's file.

package vault

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"filippo.io/age"
	"filippo.io/age/armor"

	"kiln.dev/kiln/pki/private"
)

const (
	// maxEncrypted bounds an age file, and maxPlain what is in it. Each stanza of its header costs
	// a key exchange for each identity, so a large file would take long before it is refused.
	maxEncrypted = 2 << 20
	maxPlain     = 1 << 20
	// maxWork is the largest work factor of scrypt that kiln accepts, as a power of two: 1 GiB of
	// memory and some seconds. age writes 18.
	maxWork = 20
	// binaryHeader is how an age file without armor begins.
	binaryHeader = "age-encryption.org/"
)

// IsEncrypted reports whether data is an age file, armored or not.
func IsEncrypted(data []byte) bool {
	return bytes.HasPrefix(data, []byte(binaryHeader)) ||
		bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte(armor.Header))
}

// Lock says how a bundle is encrypted where it is stored: to recipients, or with a passphrase. The
// zero Lock encrypts to nobody.
type Lock struct {
	Recipients []string
	passphrase private.Secret
}

// Format keeps the passphrase out of every message: package fmt does not ask a field that is not
// exported how to print itself.
func (l *Lock) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "a lock") }

// None reports whether the lock encrypts to nobody.
func (l *Lock) None() bool { return len(l.Recipients) == 0 && !l.ByPassphrase() }

// ByPassphrase reports whether a passphrase opens what the lock encrypts.
func (l *Lock) ByPassphrase() bool { return len(l.passphrase) > 0 }

// Seal encrypts a bundle into an armored age file. It fails if a recipient is malformed, or if the
// plugin of one is missing or fails.
func (l *Lock) Seal(plain []byte) ([]byte, error) {
	to, err := l.recipients()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, to...)
	if err != nil {
		return nil, pluginRemedy(fmt.Errorf("encrypt the bundle: %w", err))
	}
	_, err = w.Write(plain)
	if err := errors.Join(err, w.Close(), armored.Close()); err != nil {
		return nil, fmt.Errorf("encrypt the bundle: %w", err)
	}
	if out.Len() > maxEncrypted {
		return nil, fmt.Errorf("encrypt the bundle: more than %d MiB; name fewer recipients",
			maxEncrypted>>20)
	}
	return out.Bytes(), nil
}

// recipients returns what age encrypts to.
func (l *Lock) recipients() ([]age.Recipient, error) {
	if l.ByPassphrase() {
		r, err := age.NewScryptRecipient(string(l.passphrase))
		return []age.Recipient{r}, err
	}
	if l.None() {
		return nil, errors.New("encrypt the bundle: there are no recipients")
	}
	list := make([]age.Recipient, len(l.Recipients))
	for i, text := range l.Recipients {
		var err error
		if list[i], err = parseRecipient(text); err != nil {
			return nil, fmt.Errorf("recipients[%d]: %w", i, err)
		}
	}
	return list, nil
}

// NoIdentityError comes when an age file needs an identity, and none is given.
type NoIdentityError struct{ name string }

func (e *NoIdentityError) Error() string {
	return fmt.Sprintf("%s: encrypted with age; name the file with the identity that opens it: "+
		"--identity KEY, or %s=KEY in the environment", e.name, IdentityVariable)
}

// Open decrypts the age file data, which messages call name, with an identity of k, or with a
// passphrase that it asks for. lock is set only if a passphrase opened it: the file does not say
// who its recipients are.
func (k *Keys) Open(name string, data []byte) (plain []byte, lock *Lock, err error) {
	if k == nil {
		return nil, nil, &NoIdentityError{name}
	}
	if len(data) > maxEncrypted {
		return nil, nil, fmt.Errorf("%s: larger than %d MiB: not a bundle", name, maxEncrypted>>20)
	}
	file, withPassphrase, err := readHeader(name, data)
	if err != nil {
		return nil, nil, err
	}
	lock = &Lock{}
	var identities []age.Identity
	if withPassphrase {
		if lock.passphrase, err = ask(name); err != nil {
			return nil, nil, err
		}
		identities, err = scryptIdentity(lock.passphrase)
	} else {
		identities, err = k.load(name)
	}
	if err != nil {
		return nil, nil, err
	}
	if plain, err = decrypt(file, identities); err != nil {
		return nil, nil, k.explain(name, err)
	}
	return plain, lock, nil
}

// passphraseStanza finds the stanza of a passphrase in the header of an age file.
var passphraseStanza = regexp.MustCompile(`(?m)^-> scrypt `)

// readHeader returns the age file data, which messages call name, without its armor. It reports
// whether a passphrase opens it.
func readHeader(name string, data []byte) (file []byte, withPassphrase bool, err error) {
	if file = data; !bytes.HasPrefix(data, []byte(binaryHeader)) {
		if file, err = io.ReadAll(armor.NewReader(bytes.NewReader(data))); err != nil {
			return nil, false, damaged(name, err)
		}
	}
	header, err := age.ExtractHeader(bytes.NewReader(file))
	if err != nil {
		return nil, false, damaged(name, err)
	}
	return file, passphraseStanza.Match(header), nil
}

func decrypt(file []byte, identities []age.Identity) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(file), identities...)
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, maxPlain+1))
	if err == nil && len(plain) > maxPlain {
		err = errTooLarge
	}
	return plain, err
}

var errTooLarge = errors.New("too large")

// scryptIdentity returns the identity of a passphrase.
func scryptIdentity(passphrase private.Secret) ([]age.Identity, error) {
	i, err := age.NewScryptIdentity(string(passphrase))
	if err != nil {
		return nil, err
	}
	i.SetMaxWorkFactor(maxWork)
	return []age.Identity{i}, nil
}

// tooMuchWork finds the library's message about a work factor above maxWork.
var tooMuchWork = regexp.MustCompile(`scrypt work factor too large: (\d+)`)

// explain says why an age file did not open, and what to do.
func (k *Keys) explain(name string, err error) error {
	var none *age.NoIdentityMatchError
	var plugin *pluginError
	switch work := tooMuchWork.FindStringSubmatch(err.Error()); {
	case work != nil:
		return fmt.Errorf("%s: its passphrase asks for a work factor of %s, and kiln stops at %d "+
			"(1 GiB of memory); decrypt it with age, and encrypt it again", name, work[1], maxWork)
	case errors.As(err, &none) && len(none.StanzaTypes) == 1 && none.StanzaTypes[0] == "scrypt":
		return fmt.Errorf("%s: this is not its passphrase", name)
	case errors.As(err, &none):
		return fmt.Errorf("%s: encrypted to others: no identity in %s opens it; "+
			"name another file with --identity", name, k.path())
	case errors.As(err, &plugin):
		return fmt.Errorf("%s: %w", name, pluginRemedy(err))
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%s: more than %d MiB are in it: not a bundle", name, maxPlain>>20)
	}
	return damaged(name, err)
}

// damaged returns the error for an age file that is not whole.
func damaged(name string, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: the age file is not whole: its end is missing; "+
			"restore it from a copy", name)
	}
	return fmt.Errorf("%s: the age file is damaged (%w); restore it from a copy", name, err)
}
