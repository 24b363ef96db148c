package architecture

import (
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// secretName finds names of fields that may hold a secret.
var secretName = regexp.MustCompile(
	`(?i)(key|token|password|passwd|secret|seed|passphrase|identity|identities|credential)s?$`)

// noSecrets lists the fields with such a name that may have a type that prints itself, and why.
var noSecrets = map[string]string{
	"cmd/kiln/vault.Source.Secrets":                     "a path",
	"render/config.InitOptions.SSHKey":                  "a public key",
	"manifests.BootstrapToken.Secret":                   sink,
	"manifests.EncryptionKey.Key":                       sink,
	"manifests.Credentials.Key":                         sink,
	"manifests.Credentials.Token":                       sink,
	"patches.reader.secrets":                            "names of the files with Secrets",
	"pki.Token.Secret":                                  "its Format conceals it",
	"pki.authorityFile.Key":                             stored,
	"pki.bundleFile.EncryptionKey":                      stored,
	"pki.bundleFile.LeafSeed":                           stored,
	"pki.bundleFile.ServiceAccountKey":                  stored,
	"cmd/kiln/vault/foreign.encryptionKey.Secret":       "the form in a file of the cluster",
	"pki/private.bareKey.PrivateKey":                    stored,
	"pki/root.File.Key":                                 stored,
	"render/twin/certs.File.Secret":                     "its name, which a reviewer may see",
	"render.Entry.Secrets":                              "names",
	"render/machine/addons.setting.key":                 word,
	"render/twin/change.Certificate.Key":                "the algorithm of a key",
	"render/twin/change.Entry.Secret":                   "a name",
	"render/check.bootstrapToken.secret":                "what the check reads back",
	"render/check.finding.Credential":                   "what kind of credential it is",
	"render/check.finding.Secrets":                      "names",
	"render/pack/cloudinit.config.AuthorizedKeys":       public,
	"render/pack/cloudinit.login.AuthorizedKeys":        public,
	"render/config.Machine.SSHAuthorizedKeys":           public,
	"render/config.Taint.Key":                           word,
	"render/pack/document.Entry.Secrets":                "names",
	"render/explain.Explanation.Secret":                 "a name",
	"render/facts/node.File.Secret":                     "a name",
	"render/facts/node.Node.AuthorizedKeys":             public,
	"render/twin/review.UnpackedMachine.AuthorizedKeys": public,
	"render/machine/assembly.form.key":                  word,
	"render/facts/target.NameSource.Token":              "how the metadata service gives a token",
	"render/facts/target.NetBoot.Seed":                  "a word of the kernel's command line",
	"render/text/yamltext.Location.key":                 word,
	"render/text/yamltext.segment.key":                  word,
}

// Reasons that several fields share.
const (
	stored = "the stored form: it lives while the bundle is written or read"
	sink   = "it becomes the content of a file of a machine at once"
	public = "public keys of SSH"
	word   = "the key of a map"
)

// TestSecretFields: a field whose name looks like a secret, and whose type is a string or bytes, is
// of a type that prints itself as one word, or the list above says why it need not be.
func TestSecretFields(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	eachStruct(t, func(name string, s *types.Struct) {
		for f := range s.Fields() {
			field := name + "." + f.Name()
			if !secretName.MatchString(f.Name()) || !holdsText(f.Type(), nil) {
				continue
			}
			found[field] = true
			if noSecrets[field] == "" {
				t.Errorf("%s: looks like a secret, and its type %s prints itself; "+
					"make it a private.Secret, or say in noSecrets why not", field, f.Type())
			}
		}
	})
	for field := range noSecrets {
		if !found[field] {
			t.Errorf("%s: is in noSecrets, and there is no such field", field)
		}
	}
}

// TestHiddenSecrets: no struct holds a type that prints itself as one word in a field that is not
// exported. Package fmt calls no method there, and prints the bytes.
func TestHiddenSecrets(t *testing.T) {
	t.Parallel()
	count := 0
	eachStruct(t, func(name string, s *types.Struct) {
		for f := range s.Fields() {
			if redacting(f.Type()) {
				count++
			}
			if !f.Exported() && holdsSecret(f.Type(), nil) && !hidden[name+"."+f.Name()] {
				t.Errorf("%s.%s: fmt prints the secret in a field that is not exported; "+
					"hold a pointer to it, or give the struct a Format", name, f.Name())
			}
		}
	})
	require.Greater(t, count, 5, "fields of redacting types")
}

// hidden lists structs that have a Format of their own.
var hidden = map[string]bool{
	"cmd/kiln/vault.Lock.passphrase": true,
}

// eachStruct calls see for every struct type of this module that has a name.
func eachStruct(t *testing.T, see func(name string, s *types.Struct)) {
	t.Helper()
	count := 0
	for _, pkg := range checked(t) {
		scope := pkg.Scope()
		for _, name := range scope.Names() {
			object, ok := scope.Lookup(name).(*types.TypeName)
			if !ok {
				continue
			}
			if s, ok := object.Type().Underlying().(*types.Struct); ok {
				count++
				see(strings.TrimPrefix(pkg.Path(), module)+"."+name, s)
			}
		}
	}
	require.Greater(t, count, 300, "structs")
}

// redacting reports whether a type of this module prints itself as one word: it has Format and
// MarshalText.
func redacting(t types.Type) bool {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || !strings.HasPrefix(named.Obj().Pkg().Path(), module) {
		return false // numbers of the standard library have such methods too
	}
	set := types.NewMethodSet(t)
	format, text := set.Lookup(nil, "Format"), set.Lookup(nil, "MarshalText")
	if format == nil || text == nil {
		return false
	}
	signature, ok := format.Type().(*types.Signature) // Format of time.Time takes a layout
	return ok && signature.Params().Len() == 2 && signature.Results().Len() == 0
}

// holdsText reports whether a type is a string, bytes, or a list, map or pointer of one, and does
// not redact itself.
func holdsText(t types.Type, seen []types.Type) bool {
	if redacting(t) || slices.Contains(seen, t) {
		return false
	}
	seen = append(seen, t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0
	case *types.Slice:
		return isByte(u.Elem()) || holdsText(u.Elem(), seen)
	case *types.Array:
		return isByte(u.Elem()) || holdsText(u.Elem(), seen)
	case *types.Map:
		return holdsText(u.Elem(), seen)
	case *types.Pointer:
		return holdsText(u.Elem(), seen)
	}
	return false
}

func isByte(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.Byte
}

// holdsSecret reports whether fmt reaches a redacting type from a value of this type without a
// pointer, which it prints as an address.
func holdsSecret(t types.Type, seen []types.Type) bool {
	if redacting(t) {
		return true
	}
	if slices.Contains(seen, t) {
		return false
	}
	seen = append(seen, t)
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if holdsSecret(f.Type(), seen) {
				return true
			}
		}
	case *types.Slice:
		return holdsSecret(u.Elem(), seen)
	case *types.Array:
		return holdsSecret(u.Elem(), seen)
	case *types.Map:
		return holdsSecret(u.Elem(), seen)
	}
	return false
}
