package review

import (
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/pack/document"
	"kiln.dev/kiln/render/secret"
	"kiln.dev/kiln/render/text/wording"
)

// Unpacked is the machine of a boot document, as people may look at it. A document does not say
// which of its files are secrets: conceal decides it.
type Unpacked struct {
	node        *node.Node // as the document has it; Secret marks the files that are concealed
	metaData    []byte     // what cloud-init got beside the document
	bodyCA      []byte     // the CA with which the machine fetches its body, after Fetch
	showSecrets bool
}

// ParseDocument reads a boot document in any form that document.Parser reads. It fails if the
// document is of no such form.
func ParseDocument(doc []byte) (*Unpacked, error) {
	n, err := new(document.Parser).Parse(doc)
	if err != nil {
		return nil, err
	}
	conceal(n)
	return &Unpacked{node: n}, nil
}

// Beside adds what cloud-init gets beside its user-data. Each of the two may be empty.
func (u *Unpacked) Beside(networkConfig, metaData []byte) {
	u.node.NetworkConfig, u.metaData = networkConfig, metaData
}

// ShowSecrets ends the concealment.
func (u *Unpacked) ShowSecrets() { u.showSecrets = true }

// conceal marks the files whose content must not be shown.
func conceal(n *node.Node) {
	for i := range n.Files {
		if f := &n.Files[i]; secret.IsConcealed(f) || secret.AssignsSecret(f) {
			f.Secret = secret.Redacted
		}
	}
}

// Node returns the machine with its secrets, for a verb that looks for something in its files and
// prints none of them.
func (u *Unpacked) Node() *node.Node { return u.node }

// BodyCA returns the certificates of the CA with which the machine verifies the server of its body,
// in PEM. It is empty if the machine fetches no body, or trusts the CAs of its system.
func (u *Unpacked) BodyCA() []byte {
	if u.node.Remote != nil {
		return u.node.Remote.CA
	}
	return u.bodyCA
}

// ErrBody is the error of a body that is not the one that its document names.
var ErrBody = errors.New("not the body that the document names: its SHA-512 is another; " +
	"render both again, or name the right one")

// Missing returns the body that the machine still has to fetch. It is nil if the document needs no
// body, and after Fetch.
func (u *Unpacked) Missing() *UnpackedBody {
	remote := u.node.Remote
	if remote == nil {
		return nil
	}
	url := wording.Visible(u.text(remote.URL), "")
	return &UnpackedBody{url, wording.Visible(remote.SHA512, "")}
}

// Fetch completes the machine with its body. It fails with ErrBody if the document names another
// body or none, and if the body cannot be read or names a further body.
func (u *Unpacked) Fetch(body []byte) error {
	sum := sha512.Sum512(body)
	if u.node.Remote == nil || hex.EncodeToString(sum[:]) != u.node.Remote.SHA512 {
		return ErrBody
	}
	rest, err := new(document.Parser).Decode(body)
	if err != nil {
		return errors.New(wording.Visible(err.Error(), "\n"))
	}
	if rest.Remote != nil {
		return errors.New("the body refers to another body")
	}
	u.bodyCA = u.node.Remote.CA
	joined := u.node.Join(rest)
	var kept []string // secrets, which nobody changes by hand; one of them is the last
	for _, f := range u.node.Files {
		kept = append(kept, f.Path)
	}
	if err := joined.CheckWhole(kept...); err != nil {
		return errors.New(wording.Visible(err.Error(), "\n"))
	}
	conceal(&joined)
	joined.NetworkConfig = u.node.NetworkConfig
	u.node = &joined
	return nil
}

// Folder returns the files of the machine by their paths below a folder, together with an INDEX of
// modes, owners, links and units. It also returns how many of the files are secrets. It fails for a
// path that leads out of the folder and for a path that is used twice.
func (u *Unpacked) Folder() (files map[string][]byte, secrets int, err error) {
	files = map[string][]byte{}
	for i := range u.node.Files {
		f := &u.node.Files[i]
		name := strings.TrimPrefix(f.Path, "/")
		if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
			return nil, 0, fmt.Errorf("file %q: not an absolute, clean path: "+
				"this is no document of kiln's; list it without --out", f.Path)
		}
		if _, taken := files[name]; taken || name == IndexFile {
			return nil, 0, fmt.Errorf("file %q: the path is used twice, "+
				"or is that of the list of files; list the document without --out", f.Path)
		}
		content, secret := u.content(f)
		if secret {
			secrets++
		}
		files[name] = content
	}
	files[IndexFile] = u.List()
	return files, secrets, nil
}

// Contents returns the contents of the files at paths, one after the other, with a line in place of
// each secret. It also returns how many of the files are secrets. It fails if a file is missing.
func (u *Unpacked) Contents(paths []string) (text []byte, secrets int, err error) {
	files, err := u.find(paths)
	for _, f := range files {
		content, secret := u.content(f)
		text = append(text, content...)
		if secret {
			secrets++
		}
	}
	return text, secrets, err
}

// find returns the files at paths. If any is missing, it returns an error that names each of those.
func (u *Unpacked) find(paths []string) (files []*node.File, err error) {
	var missing []error
	for _, p := range paths {
		f := u.node.File(p)
		if f == nil {
			missing = append(missing, fmt.Errorf("the document has no file %s%s",
				wording.Visible(p, ""), u.meant(p)))
			continue
		}
		files = append(files, f)
	}
	if len(missing) > 0 {
		missing = append(missing, errors.New("kiln unpack without a path lists what there is"))
		return nil, errors.Join(missing...)
	}
	return files, nil
}

// meant returns the end of a message about a path that no file has: the file that was probably
// meant, by its path or, if just one has it, by its last word; "" if there is none.
func (u *Unpacked) meant(p string) string {
	var files, same []string
	for i := range u.node.Files {
		file := wording.Visible(u.node.Files[i].Path, "")
		files = append(files, file)
		if path.Base(file) == path.Base(p) {
			same = append(same, file)
		}
	}
	if len(same) == 1 {
		return fmt.Sprintf("; did you mean %s?", same[0])
	}
	if near := wording.Nearest(p, files); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

// content returns the content of a file, or the line that stands in its place. It also reports
// whether the content is a secret.
func (u *Unpacked) content(f *node.File) (content []byte, secret bool) {
	if f.Secret != "" && !u.showSecrets {
		return []byte(f.Secret + "\n"), true
	}
	return f.Content, f.Secret != ""
}

// name returns the name of the machine. It is empty if the file that it comes from is concealed.
func (u *Unpacked) name() string {
	if f := u.node.File(nameFile); f != nil && f.Secret != "" && !u.showSecrets {
		return ""
	}
	return u.node.Name
}

// nameFile is the file from which a node.Node that was delivered has its name.
const nameFile = "/etc/hostname"

// text returns a string of the document, or a mark in its place if it may be a secret.
func (u *Unpacked) text(s string) string {
	if u.showSecrets {
		return s
	}
	return secret.RedactString(s)
}

// settings returns settings in YAML or JSON with their secrets redacted.
func (u *Unpacked) settings(text []byte) []byte {
	if u.showSecrets || len(text) == 0 {
		return text
	}
	return secret.Redact(text)
}
