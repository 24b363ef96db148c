package config

import (
	"crypto/tls"
	"crypto/x509"
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
