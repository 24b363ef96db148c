package certs

import (
	"encoding/base64"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"kiln.dev/kiln/render/machine/layout"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/change"
)

// Machine is what is known of one machine, or of the operator if it has no name.
type Machine struct {
	Name  string
	Pool  bool
	Until time.Time // the end of its bootstrap token; zero if it has none or nobody knows
	Files []File
	Links map[string]string // targets by path
}

// File is a file of a machine. A part of a document that is no file has a path without a slash.
type File struct {
	Path    string
	Content []byte   // nil if it is not known
	Shown   []string // what a review twin shows in its place
	Secret  string   // name and generation of the secret in it, if they are known
}

// Scan is what was found on one machine. Tokens whose ends are elsewhere are completed by Join.
type Scan struct {
	entries []Entry
	machine Machine // without its files
	wanted  map[int]string
	ends    map[string]*time.Time // of tokens, by the public half or the name
}

// external is the secret of a client of an etcd that kiln did not make.
const external = "external-etcd-client"

// Find lists what has an end on one machine. It keeps nothing of the files' contents.
func Find(m Machine) *Scan {
	s := &scanner{
		Scan:  Scan{machine: m, wanted: map[int]string{}, ends: map[string]*time.Time{}},
		certs: map[string][]Entry{}, files: m.Files, authorities: map[string]bool{},
	}
	s.machine.Files = nil
	for i := range m.Files {
		s.certificates(&m.Files[i])
	}
	for i := range m.Files {
		f := &m.Files[i]
		if row := layout.FileAt(f.Path); row == nil || row.Authority == "" {
			continue
		}
		for j := range s.certs[f.Path] {
			s.authorities[s.certs[f.Path][j].identity()] = true
		}
	}
	for i := range m.Files {
		for _, e := range s.certs[m.Files[i].Path] {
			s.add(&m.Files[i], e)
		}
	}
	for i := range m.Files {
		s.objects(&m.Files[i])
	}
	return &s.Scan
}

// Join returns the entries of all machines, sorted.
func Join(scans []*Scan) []Entry {
	ends := map[string]*time.Time{}
	for _, s := range scans {
		for id, end := range s.ends {
			ends[id] = end
		}
		if s.machine.Until.IsZero() {
			continue
		}
		ends["token/"+s.machine.Name] = moment(s.machine.Until)
	}
	list := []Entry{}
	for _, s := range scans {
		for i, id := range s.wanted {
			switch end := ends[id]; {
			case end != nil:
				s.entries[i].Ends = end
			case !s.machine.Until.IsZero():
				s.entries[i].Ends = moment(s.machine.Until)
			}
		}
		list = append(list, s.entries...)
	}
	Sort(list)
	return list
}

type scanner struct {
	Scan
	files []File
	certs map[string][]Entry // by path
	// authorities are the identities of the cluster's CAs.
	authorities map[string]bool
}

func (s *scanner) add(f *File, e Entry) {
	e.Machine, e.Pool, e.Path = visible(s.machine.Name), s.machine.Pool, visible(f.Path)
	if e.Renewal == "" {
		e.Renewal = s.renewal(f, &e)
	}
	s.entries = append(s.entries, e)
}

// certificates finds the certificates of a file: those in its content, or else those that a review
// twin shows.
func (s *scanner) certificates(f *File) {
	var list []Entry
	for _, c := range find(f.Content) {
		list = append(list, c.entry())
	}
	if len(f.Content) == 0 {
		list = shown(f.Shown)
	}
	s.certs[f.Path] = list
}

// objects adds the kubeconfigs and bootstrap tokens of a file.
func (s *scanner) objects(f *File) {
	objects(f.Content, func(o *object, in []string) {
		if o.Kind == "Secret" {
			end := o.expiration()
			s.ends[o.value("token-id")] = end
			s.add(f, Entry{Kind: Token, In: slices.Clone(in), Subject: "bootstrap token", Ends: end,
				Renewal: tokenRenewal(f)})
			return
		}
		for i := range o.Users {
			s.user(f, o, i, slices.Clone(in))
		}
	})
	mark, _, _ := strings.Cut(f.Secret, " g")
	if len(f.Content) > 0 || mark == "" {
		return
	}
	if strings.HasPrefix(mark, "token/") {
		renewal := tokenRenewal(f)
		for _, kind := range []string{Token, Kubeconfig} {
			if kind == Token || f.Path == plan.BootstrapConf {
				if renewal != Replaced { // only the token in force is in the machine's document
					s.wanted[len(s.entries)] = mark
				}
				s.add(f, Entry{Kind: kind, Subject: "bootstrap token", Renewal: renewal})
			}
		}
	}
	if f.Path == plan.AdminFile && len(s.certs[f.Path]) > 0 {
		e := s.certs[f.Path][0]
		s.add(f, Entry{Kind: Kubeconfig, Subject: e.Subject, Issuer: e.Issuer, Begins: e.Begins,
			Ends: e.Ends})
	}
}

// user adds a user of a kubeconfig. It ends with the user's certificate or token, wherever that is.
func (s *scanner) user(f *File, o *object, i int, in []string) {
	u := &o.Users[i]
	e := Entry{Kind: Kubeconfig, In: in, Subject: "user " + visible(u.Name)}
	var of []Entry
	switch {
	case u.User.Data+u.User.File+u.User.Token == "":
		e.Renewal = NoEnd // a token in a file is that of a service account
	case u.User.Data != "":
		der, _ := base64.StdEncoding.DecodeString(u.User.Data)
		for _, c := range find(der) {
			of = append(of, c.entry())
		}
	case u.User.File != "":
		at := u.User.File
		for range 5 {
			target, ok := s.machine.Links[at]
			if !ok {
				break
			}
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(at), target)
			}
			at = target
		}
		of = s.certs[at]
		for j := range s.files {
			if s.files[j].Path == at && len(of) > 0 {
				e.Renewal = s.renewal(&s.files[j], &of[0])
			}
		}
	case u.User.Token != "":
		if id := tokenID(u.User.Token); id != "" {
			e.Renewal = tokenRenewal(f)
			token := Entry{Kind: Token, In: in, Subject: "bootstrap token", Renewal: e.Renewal}
			s.wanted[len(s.entries)] = id
			s.add(f, token)
			s.wanted[len(s.entries)] = id
		}
	}
	if len(of) > 0 {
		e.Begins, e.Ends, e.Issuer = of[0].Begins, of[0].Ends, of[0].Issuer
		e.Fault = of[0].Fault
	}
	s.add(f, e)
}

// tokenRenewal says what renews a bootstrap token.
func tokenRenewal(f *File) Renewal {
	switch {
	case strings.Contains(path.Base(f.Path), "-secret-"+plan.PreviousTokenFile):
		return Replaced
	case layout.FileAt(f.Path) == nil:
		return Yours
	}
	return PoolToken
}

// renewal says what renews the certificate e in the file f.
func (s *scanner) renewal(f *File, e *Entry) Renewal {
	row := layout.FileAt(f.Path)
	etcdClient, _ := plan.Cert("apiserver-etcd-client")
	install, _ := plan.Cert("install")
	switch {
	case s.machine.Name == "" && f.Path == plan.AdminFile && e.CA,
		row != nil && row.Authority != "":
		if s.external() && f.Path == plan.EtcdCA {
			return Yours
		}
		return NewCA
	case s.machine.Name == "" && f.Path == plan.AdminFile:
		return Render
	case e.CA && s.authorities[e.identity()]:
		return NewCA
	case row == nil || f.Path == etcdClient && s.external():
		return Yours
	case e.CA: // above a leaf
		return NewCA
	case f.Path == install || f.Path == plan.AdminConf:
		return FirstBoot
	case strings.HasPrefix(f.Path, plan.KubeletPKI+"/kubelet-client") && s.rotates():
		return Itself
	}
	return Renew
}

func (s *scanner) external() bool {
	return slices.ContainsFunc(s.files, func(f File) bool { return f.Secret == external })
}

// rotates reports whether the kubelet renews its client certificate.
func (s *scanner) rotates() bool {
	for i := range s.files {
		if s.files[i].Path == plan.KubeletConfig {
			var c struct {
				RotateCertificates bool `json:"rotateCertificates"`
			}
			return yaml.Unmarshal(s.files[i].Content, &c) == nil && c.RotateCertificates
		}
	}
	return false
}

// shown returns the certificates of the lines that a review twin shows.
func shown(lines []string) (list []Entry) {
	for _, c := range (&change.Entry{Shown: lines}).Certificates() {
		e := Entry{
			Kind: Certificate, Subject: visible(c.Subject), Issuer: visible(c.Issuer),
			CA: slices.Contains(strings.Split(c.For, ","), "ca"),
		}
		for _, name := range c.Names {
			e.SANs = append(e.SANs, visible(name))
		}
		if !c.NotBefore.IsZero() {
			e.Begins = moment(c.NotBefore)
		}
		if c.NotAfter.IsZero() {
			e.Fault = "the line of the review twin has no date"
		} else {
			e.Ends = moment(c.NotAfter)
		}
		list = append(list, e)
	}
	return list
}
