package config

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"path"
	"regexp"
	"slices"
	"strings"

	"kiln.dev/kiln/render/text/yamltext"
)

// registryAccess checks what a row of registries says beyond its host and the form of its mirrors.
func (v *checker) registryAccess(r *Registry, at *yamltext.Location) {
	if r.CAFrom != "" {
		v.caFile(r.CAFrom, at.Key("caFrom"))
	}
	v.trustedCA(r.CA, r.CAFrom, "", at, "")
	switch {
	case len(r.Mirrors) > 0:
	case r.MirrorsOnly:
		v.report(at.Key("mirrors"), "is empty, with mirrorsOnly: true; "+
			"write at least one URL such as https://mirror.example.com")
	case r.CA+r.CAFrom+r.CertFrom+r.KeyFrom+r.Username+r.PasswordFrom == "":
		v.report(at.Key("mirrors"), "is empty, and the row says nothing else of %s; write at "+
			"least one URL such as https://mirror.example.com, or caFrom, or username",
			quote(r.Host))
	}
	verified := slices.ContainsFunc(r.Mirrors, func(url string) bool {
		return !strings.HasPrefix(url, "http://")
	})
	if r.MirrorsOnly && len(r.Mirrors) > 0 && !verified && r.CA+r.CAFrom+r.CertFrom != "" {
		v.report(at, "all servers begin with http://, and have no certificate; write https://, or "+
			"remove ca, caFrom and certFrom")
	}
	v.clientCert(r, at)
	v.login(r, at)
	if r.CA == "none" {
		v.warn(WarnUnverified, at.Key("ca"), "containerd takes images of %s from whoever answers; "+
			"write caFrom with the server's CA, or its own certificate", quote(r.Host))
	}
}

func (v *checker) clientCert(r *Registry, at *yamltext.Location) {
	if (r.CertFrom == "") != (r.KeyFrom == "") {
		missing := "keyFrom"
		if r.CertFrom == "" {
			missing = "certFrom"
		}
		v.report(at.Key(missing), "missing: a certificate and its key belong together; write both")
		return
	}
	v.clientPair(r.CertFrom, r.KeyFrom, "registry", at)
}

// clientPair checks the files of a certificate that a client shows a server, and of its key.
func (v *checker) clientPair(certFrom, keyFrom, server string, at *yamltext.Location) {
	cert, key := v.c.Text(certFrom), v.c.Text(keyFrom)
	if cert == nil || key == nil {
		return
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		v.report(at.Key("keyFrom"), "%s and %s are no certificate with its key (PEM, not "+
			"encrypted); name the two files of one pair", quote(certFrom), quote(keyFrom))
		return
	}
	uses := pair.Leaf.ExtKeyUsage
	if len(uses) > 0 && !slices.Contains(uses, x509.ExtKeyUsageClientAuth) &&
		!slices.Contains(uses, x509.ExtKeyUsageAny) {
		v.report(at.Key("certFrom"), "%s is a certificate for servers alone, which no %s takes "+
			"from a client; name one with the use clientAuth", quote(certFrom), server)
	}
}

var (
	userName = regexp.MustCompile(`^[!-9;-~]+$`)
	password = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
)

// login checks the user with which the kubelet has images pulled. The password goes to each server
// that containerd asks.
func (v *checker) login(r *Registry, at *yamltext.Location) {
	switch {
	case r.Username == "" && r.PasswordFrom == "":
		return
	case r.Username == "":
		v.report(at.Key("username"), "missing: passwordFrom is the password of a user; write both")
		return
	case r.PasswordFrom == "":
		v.report(at.Key("passwordFrom"), "missing: write the file with the password of %s",
			quote(r.Username))
		return
	case !userName.MatchString(r.Username):
		v.report(at.Key("username"), "has a colon, a space or a character that is not ASCII, "+
			"which no registry takes (value withheld); write the name alone")
	case r.Host == DefaultRegistry:
		v.report(at.Key("host"), "is of all registries, and a password goes to one; write a row "+
			"with the host of the registry")
	case len(r.Mirrors) > 0 && !r.MirrorsOnly:
		v.report(at.Key("username"), "the password would go to the mirrors and to %s; write "+
			"mirrorsOnly: true, or leave mirrors out", quote(r.Host))
	case r.CA == "none":
		v.report(at.Key("ca"), "the password would go to whoever answers; write caFrom with the "+
			"server's CA, or its own certificate")
	}
	for i, mirror := range r.Mirrors {
		if strings.HasPrefix(mirror, "http://") {
			v.report(at.Key("mirrors").Index(i), "begins with http://, where everybody on the way "+
				"reads the password; write https://")
		}
	}
	if text := v.c.Text(r.PasswordFrom); text != nil && !password.MatchString(v.c.Password(r)) {
		v.report(at.Key("passwordFrom"), "%s does not have the password alone, as one line of "+
			"ASCII characters without a blank at its ends; correct it", quote(r.PasswordFrom))
	}
}

// credentialProviders checks that the logins of a machine's registries and the user's own programs
// for credentials do not exclude each other: the kubelet has one configuration of such programs.
func (v *checker) credentialProviders(m settings) {
	if !slices.ContainsFunc(m.Registries, func(r Registry) bool { return r.Username != "" }) {
		return
	}
	for _, a := range m.KubeletExtraArgs {
		if strings.HasPrefix(a.Name, "image-credential-provider-") {
			v.reportLayer(m, narrower(m, "kubeletExtraArgs", "registries"), "%s is set together "+
				"with username in registries (%s), from which kiln makes such a program; let your "+
				"program answer for that registry too, or remove the flag",
				a.Name, layerOf(m, "registries"))
			return
		}
	}
}

// folderName matches a path that is a word for the first boot.
var folderName = regexp.MustCompile(`^(/[A-Za-z0-9._-]+)+$`)

func (v *checker) preload(m settings) {
	holds := func(folder string) bool { return strings.HasPrefix(m.Preload+"/", folder+"/") }
	switch clean := path.Clean(m.Preload); {
	case m.Preload == "" || m.Preload == "registry" || m.Preload == "medium":
	case folderName.MatchString(clean) && clean != m.Preload:
		v.reportLayer(m, "preload", "%s is not written plainly; write %s", quote(m.Preload), clean)
	case !folderName.MatchString(m.Preload), slices.ContainsFunc(kernelFolders, holds):
		v.reportLayer(m, "preload", "%s is neither registry, medium nor the path of a folder in "+
			"the image; write one, such as /opt/images", quote(m.Preload))
	}
}

// RegistryOf returns the index of a registry's row, or of that for all others; -1 without either.
func RegistryOf(rows []Registry, host string) int {
	i := slices.IndexFunc(rows, func(r Registry) bool { return r.Host == host })
	if i < 0 {
		i = slices.IndexFunc(rows, func(r Registry) bool { return r.Host == DefaultRegistry })
	}
	return i
}

// Password returns the password of a registry's user.
func (c *Cluster) Password(r *Registry) string {
	return strings.TrimRight(string(c.Text(r.PasswordFrom)), "\r\n")
}

// pem checks that a named file is PEM of the wanted kind, since people swap files.
func (v *checker) pem(name, want, kind string, at *yamltext.Location) {
	text := v.c.Text(name)
	if text == nil {
		return
	}
	has := func(s string) bool { return bytes.Contains(text, []byte(s)) }
	if !has("-----BEGIN ") || !has(kind) || has("ENCRYPTED") {
		v.report(at, "%s does not hold %s", quote(name), want)
	}
}

// trustedCA checks the CA that a machine trusts where it fetches. urlKey is the field with the URL.
func (v *checker) trustedCA(ca, caFrom, url string, at *yamltext.Location, urlKey string) {
	switch {
	case ca != "" && caFrom != "":
		v.report(at.Key("caFrom"), "is set together with ca; write one of the two")
	case strings.HasPrefix(url, "http://") && (ca != "" || caFrom != ""):
		v.report(at.Key(urlKey), "begins with http://, where the server has no certificate; "+
			"write https://, or remove the CA")
	}
}

// caFile checks that a named file has a certificate in PEM, and that each of its certificates can
// be read. A machine gets all of them.
func (v *checker) caFile(name string, at *yamltext.Location) {
	rest := v.c.Text(name)
	if rest == nil {
		return
	}
	const remedy = "write it as openssl x509 prints it"
	// What cannot be decoded would be left out without a word.
	begun, seen := bytes.Count(rest, []byte("-----BEGIN ")), map[string]bool{}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		begun--
		_, err := x509.ParseCertificate(block.Bytes)
		switch id := string(block.Bytes); {
		case block.Type == "TRUSTED CERTIFICATE":
			v.report(at, "%s holds a certificate with OpenSSL's own additions (BEGIN TRUSTED "+
				"CERTIFICATE); %s", quote(name), remedy)
			return
		case block.Type != "CERTIFICATE":
			continue
		case err != nil:
			v.report(at, "%s holds a certificate that cannot be read; %s", quote(name), remedy)
			return
		case seen[id]:
			v.report(at, "%s holds the same certificate twice; remove one", quote(name))
			return
		default:
			seen[id] = true
		}
	}
	switch {
	case begun > 0:
		v.report(at, "%s holds a certificate that cannot be read; %s", quote(name), remedy)
	case len(seen) == 0:
		v.report(at, "%s does not hold a certificate (BEGIN CERTIFICATE); %s", quote(name), remedy)
	}
}
