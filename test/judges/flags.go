package judges

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http2"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	cliflag "k8s.io/component-base/cli/flag"
)

// flagsJudge parses the command line of every program with the program's own flags. The program's
// own code then checks the result and loads the certificates and keys that the flags name.
func flagsJudge(cluster []*Machine) (findings []string) {
	for _, m := range cluster {
		find := func(file string, err error) {
			findings = append(findings, fmt.Sprintf("%s: %s: %v", m.Name, file, err))
		}
		processes, err := m.processes()
		if err != nil {
			find("command lines", err)
			continue
		}
		for _, name := range required[m.Role] {
			if !slices.ContainsFunc(processes, func(p process) bool { return p.Name == name }) {
				find(name, errors.New("it does not run"))
			}
		}
		for _, p := range processes {
			for _, err := range p.checkFlags() {
				find(p.File, fmt.Errorf("%s: %w", p.Name, err))
			}
		}
	}
	return findings
}

// required lists the programs that a machine must run. etcd may run elsewhere, and kube-proxy and
// CoreDNS may come from others.
var required = map[string][]string{
	"control-plane": {"kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler"},
	"worker":        {"kubelet"},
	"etcd":          {"kubelet", "etcd"},
}

// checkFlags says what is wrong with the flags of a process, and with the files that they name.
func (p *process) checkFlags() (errs []error) {
	if p.Name == "coredns" {
		return p.checkCoreDNS()
	}
	newProgram := programs[p.Name]
	if newProgram == nil {
		return nil
	}
	root, err := os.MkdirTemp("", "flags")
	if err != nil {
		return []error{err}
	}
	defer os.RemoveAll(root)
	var args []string
	for _, arg := range p.Command[1:] {
		arg, err := p.layOut(root, arg)
		args, errs = append(args, arg), append(errs, err)
	}

	optionsLock.Lock()
	defer optionsLock.Unlock()
	program, err := newProgram()
	if err != nil {
		return []error{err}
	}
	errs = append(errs, parse(program.flags, args)...)
	errs = append(errs, program.check()...)
	errs = append(errs, loadKeys(program.flags)...)
	errs = append(errs, serve(program.flags))
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	for i, err := range errs {
		errs[i] = errors.New(strings.ReplaceAll(err.Error(), root, ""))
	}
	return errs
}

// layOut copies the file that an argument names to a path below root, where the program's own code
// will read it, and returns the argument with the new path. It creates a directory empty.
func (p *process) layOut(root, arg string) (string, error) {
	name, file, _ := strings.Cut(arg, "=")
	if !path.IsAbs(file) || name == "--etcd-prefix" {
		return arg, nil
	}
	at := filepath.Join(root, file)
	if p.makes(name) {
		file = path.Dir(file)
	}
	f := p.See(file)
	switch {
	case f == nil:
		return arg, fmt.Errorf("%s needs %s, which is not there", name, file)
	case f.Content == nil || p.makes(name):
		return name + "=" + at, os.MkdirAll(filepath.Join(root, file), 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return arg, err
	}
	return name + "=" + at, os.WriteFile(at, f.Content, 0o600)
}

// makes reports whether the process itself writes the file that a flag names, so that only the
// directory has to exist: an audit log, and the kubeconfig of a kubelet that has a bootstrap
// kubeconfig.
func (p *process) makes(flag string) bool {
	return flag == "--audit-log-path" ||
		flag == "--kubeconfig" && slices.ContainsFunc(p.Command, func(arg string) bool {
			return strings.HasPrefix(arg, "--bootstrap-kubeconfig=")
		})
}

// checkCoreDNS returns an error if the Corefile is absent. CoreDNS parses its own flags; its source
// is not part of Kubernetes.
func (p *process) checkCoreDNS() []error {
	i := slices.Index(p.Command, "-conf")
	if i < 0 || i+1 == len(p.Command) {
		return []error{errors.New("it is given no -conf")}
	}
	if f := p.See(p.Command[i+1]); f == nil || len(f.Content) == 0 {
		return []error{fmt.Errorf("-conf needs %s, which is not there", p.Command[i+1])}
	}
	return nil
}

// parse sets flags from arguments. It returns an error for each flag that is unknown, of the wrong
// type, deprecated, or given twice although only the last one counts.
func parse(flags *pflag.FlagSet, args []string) (errs []error) {
	given := map[*pflag.Flag]int{}
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if f := flags.Lookup(name); f != nil {
			given[f]++
		}
		if err := flags.Parse([]string{arg}); err != nil {
			errs = append(errs, err)
		} else if flags.NArg() > 0 {
			errs = append(errs, fmt.Errorf("%q is not a flag", arg))
		}
	}
	flags.Visit(func(f *pflag.Flag) {
		if f.Deprecated != "" {
			errs = append(errs, fmt.Errorf("--%s is deprecated: %s", f.Name, f.Deprecated))
		}
		if given[f] > 1 && !cumulative.MatchString(f.Value.Type()) {
			errs = append(errs, fmt.Errorf("--%s is given %d times", f.Name, given[f]))
		}
	})
	return errs
}

// cumulative matches the types of flags that may be repeated, such as stringArray, mapStringBool
// and namedCertKey.
var cumulative = regexp.MustCompile("Array|Slice|[mM]ap|namedCertKey")

// serve makes the server of HTTP/2 that the programs of Kubernetes make when they begin to listen,
// after they have checked their flags. They exit if it refuses their cipher suites.
func serve(flags *pflag.FlagSet) error {
	names, oldest := flags.Lookup("tls-cipher-suites"), flags.Lookup("tls-min-version")
	if names == nil || oldest == nil { // such as etcd's
		return nil
	}
	suites, err := cliflag.TLSCipherSuites(values(names))
	if err != nil {
		return err
	}
	version, err := cliflag.TLSVersion(oldest.Value.String())
	if err != nil {
		return err
	}
	config := &tls.Config{CipherSuites: suites, MinVersion: version}
	return http2.ConfigureServer(&http.Server{TLSConfig: config}, nil)
}

// keyPairs are flags that name a certificate, with that which names its key.
var keyPairs = map[string]string{
	"tls-cert-file":              "tls-private-key-file",
	"kubelet-client-certificate": "kubelet-client-key",
	"etcd-certfile":              "etcd-keyfile",
	"proxy-client-cert-file":     "proxy-client-key-file",
	"cluster-signing-cert-file":  "cluster-signing-key-file",
	"cert-file":                  "key-file",
	"peer-cert-file":             "peer-key-file",
}

// keyFiles are other flags that name certificates or keys, with that which reads them.
var keyFiles = map[string]func(value string) error{
	"client-ca-file":                   readCertificates,
	"requestheader-client-ca-file":     readCertificates,
	"kubelet-certificate-authority":    readCertificates,
	"etcd-cafile":                      readCertificates,
	"oidc-ca-file":                     readCertificates,
	"root-ca-file":                     readCertificates,
	"trusted-ca-file":                  readCertificates,
	"peer-trusted-ca-file":             readCertificates,
	"service-account-key-file":         readPublicKeys,
	"service-account-signing-key-file": readPrivateKey,
	"service-account-private-key-file": readPrivateKey,
}

func readCertificates(file string) error { _, err := certutil.CertsFromFile(file); return err }
func readPublicKeys(file string) error   { _, err := keyutil.PublicKeysFromFile(file); return err }
func readPrivateKey(file string) error   { _, err := keyutil.PrivateKeyFromFile(file); return err }

// loadKeys loads the certificates and keys that the flags name, without the watchers that the
// programs add.
func loadKeys(flags *pflag.FlagSet) (errs []error) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.String() == "" {
			return // the feature is off
		}
		if key := flags.Lookup(keyPairs[f.Name]); key != nil {
			if _, err := tls.LoadX509KeyPair(f.Value.String(), key.Value.String()); err != nil {
				errs = append(errs, fmt.Errorf("--%s and --%s: %w", f.Name, key.Name, err))
			}
		}
		if read := keyFiles[f.Name]; read != nil {
			for _, file := range values(f) {
				if err := read(file); err != nil {
					errs = append(errs, fmt.Errorf("--%s: %w", f.Name, err))
				}
			}
		}
	})
	return errs
}

// values returns the values of a flag that may have several.
func values(f *pflag.Flag) []string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{f.Value.String()}
}
