package config

import (
	"bytes"
	"slices"
	"strings"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/text/yamltext"
)

func (v *checker) binaries(b *Binaries, at *yamltext.Location) {
	if b.CAFrom != "" {
		v.caFile(b.CAFrom, at.Key("caFrom"))
	}
	if v.has(at.Key("source")) && !slices.Contains(target.Sources, b.Source) {
		return // the decoder has reported it
	}
	packages := b.Source == target.SourcePackages
	if !b.Fetches() && !packages {
		if *b != (Binaries{}) && *b != (Binaries{Source: b.Source}) {
			v.report(at, "says what is fetched, but with source preinstalled nothing is; "+
				"write source: download, sysext or packages, or remove the rest")
		}
		return
	}
	if problem := MirrorProblem(b.Mirror); b.Mirror != "" && problem != "" {
		v.report(at.Key("mirror"), "%s", problem)
	}
	v.trustedCA(b.CA, b.CAFrom, b.Mirror, at, "mirror")
	if packages && b.CA+b.CAFrom != "" {
		v.report(at, "the package manager trusts the CAs of the system; write the file into "+
			"trustedCAsFrom instead of ca or caFrom")
	}
	if i := strings.Index(b.Mirror, "/core:/"); packages && i >= 0 {
		v.report(at.Key("mirror"), "%s has the path that kiln appends; write %s",
			quote(b.Mirror), b.Mirror[:i])
	}
	if packages && strings.ContainsAny(b.Mirror, "$,") {
		v.report(at.Key("mirror"), "%s has a $ or a comma, which apt and dnf replace or split",
			quote(b.Mirror))
	}
	v.packageKey(b, at)
	for key, version := range b.versions() {
		problem := artifactVersionProblem(version)
		switch {
		case version == "":
		case b.Source != target.SourceDownload:
			v.report(at.Key(key), "with source %s it has the version of the image, the extension "+
				"or the repository, whatever is written here; remove it", b.Source)
		case problem != "":
			v.report(at.Key(key), "%s", problem)
		}
	}
}

func (v *checker) packageKey(b *Binaries, at *yamltext.Location) {
	const begin, end = "-----BEGIN PGP PUBLIC KEY BLOCK-----", "-----END PGP PUBLIC KEY BLOCK-----"
	switch key := v.c.Text(b.KeyFrom); {
	case b.Source != target.SourcePackages:
		if b.KeyFrom != "" {
			v.report(at.Key("keyFrom"), "is for packages, and with source %s none are installed; "+
				"remove it", b.Source)
		}
	case b.KeyFrom == "":
		v.report(at.Key("keyFrom"), "missing; fetch the Release.key of the repository, "+
			"and write the name of its file: docs/binaries.md")
	case key != nil:
		// apt takes neither another end of line nor a blank before the lines.
		lines := strings.Split(string(key), "\n")
		first, last := slices.Index(lines, begin), slices.Index(lines, end)
		if first < 0 || last <= first+1 || bytes.Contains(key, []byte("\r")) {
			v.report(at.Key("keyFrom"), "%s has no lines %s and %s with a key between them and "+
				"Unix line ends; fetch the Release.key of the repository", b.KeyFrom, begin, end)
		}
	}
}

// MirrorProblem returns why a string is not the URL of a mirror, "" if it is one.
func MirrorProblem(text string) string {
	problem := artifactURLProblem(text)
	if problem == "" && strings.HasSuffix(text, "/") {
		problem = quote(text) + " ends with a slash, and the path of each file begins with one; " +
			"remove it"
	}
	return problem
}

// machineArtifacts checks that the source of a machine's programs fits its system, and that each
// file which it fetches has a SHA-256.
func (v *checker) machineArtifacts(m settings) {
	source := m.Binaries.Source
	if !m.Binaries.Fetches() && source != target.SourcePackages {
		return
	}
	if layerOf(m, "kubeletPath") != layerDefault {
		v.reportLayer(m, narrower(m, "kubeletPath", "binaries"), "kubeletPath names a program of "+
			"the image, and with binaries.source %s the kubelet comes from elsewhere; remove one "+
			"of the two for %s", source, m.name)
	}
	fetched := v.c.MachineArtifacts(&m.Machine)
	system, known := m.System()
	switch {
	case !known: // reported at its place
	case source == target.SourceSysext && len(fetched) == 0:
		v.reportLayer(m, narrower(m, "os", "binaries"), "system extensions with Kubernetes are "+
			"for %s, and %s has the os %s; write source: download%s",
			strings.Join(target.ExtendedSystems(), ", "), m.name, m.OS,
			map[bool]string{true: " or packages"}[system.Packages != nil])
	case source == target.SourcePackages && m.Profile.ReadOnlyUsr:
		v.reportLayer(m, narrower(m, "profile", "binaries"), "%s has a read-only /usr, into which "+
			"no package can be installed; write source: download", m.name)
	case source == target.SourcePackages && system.Packages == nil:
		v.reportLayer(m, narrower(m, "os", "binaries"), "packages are for %s, and %s has the os "+
			"%s, which has no package of containerd or nowhere to install it; write "+
			"source: download", strings.Join(target.PackagedSystems(), ", "), m.name, m.OS)
	}
	if v.c.anyArtifact || m.Arch != "amd64" && m.Arch != "arm64" { // reported at its place
		return
	}
	var missing, there []string
	for _, a := range fetched {
		p, _ := target.ProgramNamed(a.Name)
		if artifactVersionProblem(a.Version) != "" || p.Version == "" && v.version == noVersion {
			continue // reported at its place
		}
		if _, ok := v.c.FindArtifact(a.Name, a.Version, a.Arch); !ok {
			missing = append(missing, a.Name+" "+a.Version)
			if known := v.c.known(a.Name, a.Version, a.Arch); known != "" {
				there = append(there, a.Name+" "+known)
			}
		}
	}
	if len(missing) == 0 {
		return
	}
	list := strings.Join(missing, ", ") + " for " + m.Arch
	if len(there) > 0 {
		list += " (there is " + strings.Join(there, "; ") + ")"
	}
	at := v.layerAt(m, layerOf(m, "binaries")).Key("binaries")
	id := at.String() + list
	if v.reported[id] {
		return
	}
	v.reported[id] = true
	lock, locked := v.c.LockName()
	p, _ := target.ProgramNamed(fetched[0].Name) // an extension comes alone
	switch {
	case p.URL == "":
		v.report(at, "%s: nobody publishes it for every release of the system; write an entry "+
			"with its URL and SHA-256 into %s: docs/binaries.md", list, lock)
	case locked:
		v.report(at, "%s: not in %s, which lists all that machines may fetch; kiln lock%s adds "+
			"it", list, lock, v.c.Flag())
	default:
		v.report(at, "%s: not in the table of this release of kiln; write a version that is "+
			"there, or run kiln lock%s: it writes %s beside this file, with the SHA-256 of each "+
			"version. If you have one elsewhere, put it beside this file", list, v.c.Flag(), lock)
	}
}

// known returns the versions of a program that there are instead: those of the same minor, or all
// if it has none. It is empty if there are none.
func (c *Cluster) known(name, version, arch string) string {
	var all, near []string
	minor := version[:strings.LastIndexByte(version, '.')+1]
	for _, a := range c.knownArtifacts() {
		if a.Name != name || a.Arch != arch {
			continue
		}
		all = append(all, a.Version)
		if strings.HasPrefix(a.Version, minor) {
			near = append(near, a.Version)
		}
	}
	if len(near) == 0 {
		near = all
	}
	return strings.Join(near, ", ")
}
