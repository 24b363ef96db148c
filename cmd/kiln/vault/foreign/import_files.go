package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kiln.dev/kiln/pki"
	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/folder"
)

// importFile is a file that a bundle can be made from.
type importFile struct {
	flag string
	what string
	// path is where kubeadm has the file, in its folder pki; empty if that folder has none.
	path     string
	secret   bool
	optional bool // a cluster is whole without it
}

const encryptionFlag = "encryption-config"

// files are all of them, in the order of messages.
var files = []importFile{
	{flag: "ca", what: "the cluster's CA", path: "ca.crt"},
	{flag: "ca-key", what: "the key of the cluster's CA", path: "ca.key", secret: true},
	{flag: "etcd-ca", what: "etcd's CA", path: "etcd/ca.crt"},
	{flag: "etcd-ca-key", what: "the key of etcd's CA", path: "etcd/ca.key", secret: true},
	{flag: "front-proxy-ca", what: "the front proxy's CA", path: "front-proxy-ca.crt"},
	{flag: "front-proxy-ca-key", what: "the key of the front proxy's CA",
		path: "front-proxy-ca.key", secret: true},
	{flag: "service-account-key", what: "the key of service account tokens", path: "sa.key",
		secret: true},
	{flag: "service-account-public", what: "the public keys of service account tokens",
		path: "sa.pub", optional: true},
	{flag: encryptionFlag, what: "the API servers' EncryptionConfiguration", secret: true,
		optional: true},
}

// inside says where the file comes from if its flag is missing.
func (f *importFile) inside() string {
	if f.path == "" {
		return "Secrets in etcd are in the clear"
	}
	return "DIR/" + f.path
}

// maxForeign is how many bytes a file of keys may have.
const maxForeign = 1 << 20

// read reads the files. It returns a warning for each secret one that others may read, and an error
// for each one that is missing or cannot be read.
func (f *importFlags) read(c *config.Cluster) (all Files, warnings []string, err error) {
	all = Files{
		Certificates: map[pki.Signer]GivenFile{}, Keys: map[pki.Signer]GivenFile{},
	}
	var errs []error
	for i := range files {
		file := &files[i]
		path := *f.named[file.flag]
		named := path != ""
		if !named && f.pki != "" && file.path != "" {
			path = filepath.Join(f.pki, filepath.FromSlash(file.path))
		}
		if !named && f.elsewhere(file) {
			if _, err := os.Stat(path); path != "" && err == nil {
				warnings = append(warnings, fmt.Sprintf("%s is there, and was not read: "+
					"--external-ca %s", path, strings.TrimSuffix(file.flag, "-key")))
			}
			continue
		}
		if !named && strings.HasPrefix(file.flag, "etcd-ca") &&
			c.Spec.ControlPlane.Etcd.External != nil {
			continue
		}
		content, err := content(path, named)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !named:
			if !file.optional && (!f.formed || f.halved(file) || f.external(file.flag)) {
				errs = append(errs, missingFileError(file, path))
			}
		case err != nil:
			errs = append(errs, err)
		default:
			put(&all, file, path, content)
			if file.secret && readable(path) {
				warnings = append(warnings, fmt.Sprintf("%s: others may read it, and it holds %s; "+
					"chmod 600 it, and ask who has", path, file.what))
			}
		}
	}
	return all, warnings, errors.Join(errs...)
}

// content reads a file. If somebody named it, a pipe will do. Nobody may ever write to one that
// lies in the folder of --pki.
func content(path string, named bool) ([]byte, error) {
	switch {
	case path == "":
		return nil, fs.ErrNotExist
	case !named:
		return folder.Read(path, maxForeign)
	}
	data, _, err := folder.ReadGiven(path, maxForeign)
	return data, err
}

// external reports whether the key of a CA is elsewhere.
func (f *importFlags) external(ca string) bool { return slices.Contains(f.roots, ca) }

// elsewhere reports whether a file is the key of such a CA.
func (f *importFlags) elsewhere(file *importFile) bool {
	ca, isKey := strings.CutSuffix(file.flag, "-key")
	return isKey && f.external(ca)
}

// halved reports whether the other file of a CA is there, and so this one must be.
func (f *importFlags) halved(file *importFile) bool {
	other, isKey := strings.CutSuffix(file.flag, "-key")
	if !isKey {
		other = file.flag + "-key"
	}
	there := f.named[other]
	if there == nil {
		return false
	}
	if *there != "" {
		return true
	}
	for i := range files {
		if files[i].flag == other && f.pki != "" {
			_, err := os.Stat(filepath.Join(f.pki, filepath.FromSlash(files[i].path)))
			return err == nil
		}
	}
	return false
}

// missingFileError returns the error about a file that is not there.
func missingFileError(file *importFile, path string) error {
	why := "without it the cluster cannot be imported"
	if strings.HasSuffix(file.flag, "ca-key") {
		why = "without it kiln cannot sign what the machines need; if the key stays with " +
			"somebody else, who signs requests, add --external-ca " +
			strings.TrimSuffix(file.flag, "-key")
	}
	if path == "" {
		return fmt.Errorf("--%s is missing: it names the file with %s; %s", file.flag,
			file.what, why)
	}
	return fmt.Errorf("%s is missing: %s; %s. If it lies elsewhere, name it: --%s FILE", path,
		file.what, why, file.flag)
}

// put adds a file to the others.
func put(all *Files, file *importFile, path string, data []byte) {
	f := GivenFile{Path: path, Data: data}
	switch file.flag {
	case "service-account-key":
		all.ServiceAccountKey = f
	case "service-account-public":
		all.ServiceAccountPublic = f
	case encryptionFlag:
		all.Encryption = f
	default:
		of, isKey := strings.CutSuffix(file.flag, "-key")
		if isKey {
			all.Keys[signers[of]] = f
		} else {
			all.Certificates[signers[of]] = f
		}
	}
}

// readable reports whether other users may read a file.
func readable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o044 != 0
}
