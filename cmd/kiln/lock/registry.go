package lock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"kiln.dev/kiln/render/facts/target"
	"kiln.dev/kiln/render/machine/containerd"
	"kiln.dev/kiln/render/machine/images"
)

// MaxManifest is how many bytes of a manifest, and of the configuration of an image, are read.
// Registries take manifests of up to 4 MiB (distribution-spec 1.1, Pushing Manifests).
const MaxManifest = 4 << 20

// maxObjects bounds the objects of a manifest: decoded, one needs many times the memory of {}. A
// list for all platforms has some hundred.
const maxObjects = 50_000

// manifestTypes are the kinds of manifests that containerd asks for, lists first.
var manifestTypes = []string{
	"application/vnd.oci.image.index.v1+json",
	"application/vnd.docker.distribution.manifest.list.v2+json",
	"application/vnd.oci.image.manifest.v1+json",
	"application/vnd.docker.distribution.manifest.v2+json",
}

// registries asks registries about images, as containerd does. It logs in where it has credentials
// for a registry, and asks without a name elsewhere.
type registries struct {
	*client
	login   *auth.Client
	instead map[string]string // the URL to ask in place of a registry, by its host
}

// newRegistries returns registries that shares the connections of another client.
func newRegistries(
	c *client, instead map[string]string, credential auth.CredentialFunc,
) registries {
	a := &auth.Client{
		Client: c.http, Cache: auth.NewCache(), Credential: credential, ClientID: "kiln",
	}
	own := *c
	own.do = a.Do
	own.header = own.header.Clone()
	own.header.Set("Accept", strings.Join(manifestTypes, ", "))
	return registries{&own, a, instead}
}

// described is what a registry has under the name of an image.
type described struct {
	digest string
	arches []string // for which it has a build; nil if it does not say
}

// manifest is the part of a manifest or of a list of them that counts here.
type manifest struct {
	SchemaVersion int `json:"schemaVersion"`
	Config        *struct {
		Digest string `json:"digest"`
	} `json:"config"`
	Manifests []struct {
		Platform struct {
			OS           string `json:"os"`
			Architecture string `json:"architecture"`
		} `json:"platform"`
	} `json:"manifests"`
}

// DecodeManifest decodes a manifest or a list of them. It fails if that would need much more memory
// than the text has bytes.
func DecodeManifest(text []byte, into any) error {
	if bytes.Count(text, []byte("{")) > maxObjects {
		return fmt.Errorf("is a manifest of more than %d objects", maxObjects)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("is no manifest")
	}
	return nil
}

// describe asks for an image. The digest is computed from what came.
func (r *registries) describe(ctx context.Context, name string) (d described, err error) {
	ctx, cancel := r.within(ctx)
	defer cancel()
	base := r.repository(name)
	_, _, tag := target.ImageParts(name)
	from := base + "/manifests/" + tag
	text, digest, err := r.content(ctx, from)
	if err != nil {
		return d, err
	}
	var m manifest
	if err := DecodeManifest(text, &m); err != nil {
		return d, fmt.Errorf("%s: %w", from, err)
	}
	d.digest = digest
	switch {
	case m.SchemaVersion != 2:
		return d, fmt.Errorf("%s: is a manifest of a schema that containerd does not read; "+
			"push the image again", from)
	case m.Manifests != nil:
		d.arches = []string{}
		for _, entry := range m.Manifests {
			// What cannot be the name of an architecture would be shown in messages.
			if entry.Platform.OS == "linux" && isArch(entry.Platform.Architecture) {
				d.arches = append(d.arches, entry.Platform.Architecture)
			}
		}
	case m.Config != nil:
		if !target.IsDigest(m.Config.Digest) {
			return d, fmt.Errorf("%s: names a configuration without a SHA-256", from)
		}
		d.arches, err = r.arches(ctx, base+"/blobs/"+m.Config.Digest, m.Config.Digest)
	default:
		return d, fmt.Errorf("%s: is neither an image nor a list of images", from)
	}
	slices.Sort(d.arches)
	d.arches = slices.Compact(d.arches)
	return d, err
}

// isArch reports whether a word can be an architecture, such as arm64.
var isArch = regexp.MustCompile(`^[a-z0-9_]{1,20}$`).MatchString

// arches returns the architecture that the configuration of an image names; nil if it names none.
func (r *registries) arches(ctx context.Context, url, digest string) ([]string, error) {
	text, got, err := r.content(ctx, url)
	if err != nil {
		return nil, err
	}
	if got != digest {
		return nil, fmt.Errorf("%s: has another digest", url)
	}
	var config struct {
		OS           string `json:"os"`
		Architecture string `json:"architecture"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("%s: is no configuration of an image", url)
	}
	switch {
	case config.Architecture == "": // of what is no image for containers
		return nil, nil
	case config.OS != "linux" || !isArch(config.Architecture):
		return []string{}, nil
	}
	return []string{config.Architecture}, nil
}

// content returns what a registry has at a URL, and its digest. The registry may say the digest as
// well, and has to say the same then.
func (r *registries) content(
	ctx context.Context, url string,
) (text []byte, digest string, err error) {
	var said string
	err = r.get(ctx, url, MaxManifest, func(header http.Header, body io.Reader) error {
		said = header.Get("Docker-Content-Digest")
		text, err = io.ReadAll(body)
		return err
	})
	if err != nil {
		return nil, "", r.explained(url, err)
	}
	sum := sha256.Sum256(text)
	digest = "sha256:" + hex.EncodeToString(sum[:])
	if strings.HasPrefix(said, "sha256:") && said != digest {
		return nil, "", fmt.Errorf("%s: the registry says the digest %s and sends what has %s: "+
			"somebody on the way has changed it; try again from another network", url, said, digest)
	}
	return text, digest, nil
}

// explained adds what helps to the errors that only registries have.
func (r *registries) explained(from string, err error) error {
	var status *statusError
	var sent *url.Error
	const realm = "; a registry must name an https:// URL to log in at; tell who runs the " +
		"registry, or name a mirror with --registry"
	switch {
	case errors.As(err, &sent) && (sent.URL == "" || sent.URL[0] == '?'): // a request to no server
		return oneLine{fmt.Errorf("%s: wants a login and says no realm"+realm, from)}
	case strings.Contains(err.Error(), "bearer realm"): // the words of oras, which has no type
		return oneLine{fmt.Errorf("%w"+realm, err)}
	case errors.Is(err, auth.ErrBasicCredentialNotFound),
		errors.As(err, &status) && (status.code == http.StatusUnauthorized ||
			status.code == http.StatusForbidden):
		return fmt.Errorf("%w; there is no such image, or it wants a login: podman login or "+
			"docker login writes one into a file that kiln reads (a credential helper is not "+
			"asked), and REGISTRY_AUTH_FILE names another file", err)
	case errors.As(err, &status) && status.code == http.StatusTooManyRequests:
		return fmt.Errorf("%w; try again later, log in, or name a mirror with --registry", err)
	}
	return oneLine{err}
}

// oneLine is an error with the words of a server, which could look like lines of kiln.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }
func (e oneLine) Unwrap() error { return e.error }

// repository returns the URL of an image's repository.
func (r *registries) repository(name string) string {
	host, repository, _ := target.ImageParts(name)
	base := r.instead[host]
	if base == "" {
		base = RegistryURL(target.RegistryServer(host))
	}
	api, project := containerd.API(base)
	if project {
		api = strings.TrimRight(base, "/") + "/"
	}
	return api + repository
}

// isLoopback reports whether a registry is on this computer: nobody is on the way to it, and it
// rarely has a certificate. containerd has the same rule (MatchLocalhost).
func isLoopback(host string) bool {
	u, err := url.Parse("//" + host)
	if err != nil {
		return false
	}
	address, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && address.IsLoopback()
}

// ParseRegistries reads the values of --registry, HOST=URL, and returns the URLs by host.
func ParseRegistries(list []string) (map[string]string, error) {
	instead := map[string]string{}
	for _, text := range list {
		host, base, err := parseRegistry(text)
		if err != nil {
			return nil, err
		}
		if _, twice := instead[host]; twice {
			return nil, fmt.Errorf("%q has two URLs; give one", host)
		}
		instead[host] = base
	}
	return instead, nil
}

// CheckRegistries returns an error if no image comes from a registry in whose place another server
// is to be asked: then its name is mistyped, and the registry itself would be asked.
func CheckRegistries(instead map[string]string, list []images.Image) error {
	var hosts []string
	for _, image := range list {
		host, _, _ := target.ImageParts(image.Reference)
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	hosts = slices.Compact(hosts)
	for _, host := range slices.Sorted(maps.Keys(instead)) {
		if !slices.Contains(hosts, host) {
			return fmt.Errorf("no image comes from %q; they come from %s", host,
				strings.Join(hosts, ", "))
		}
	}
	return nil
}

func parseRegistry(text string) (host, base string, err error) {
	host, base, ok := strings.Cut(text, "=")
	u, err := url.Parse(base)
	switch {
	case !ok || host == "" || strings.ContainsAny(host, "/@") || err != nil || u.Host == "":
		return "", "", fmt.Errorf("%q is not HOST=URL, such as "+
			"docker.io=https://mirror.example.com", text)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", "", fmt.Errorf("%q: the URL has more than a host and a path", host)
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Host)):
		return "", "", fmt.Errorf("%q: the URL must begin with https://, because what it says "+
			"decides what machines run", host)
	}
	return host, base, nil
}

// storedCredential returns the credential for a registry from the files of podman and docker: the
// first file that has one.
func storedCredential(_ context.Context, server string) (auth.Credential, error) {
	key := credentials.ServerAddressFromHostname(server)
	for _, file := range credentialFiles() {
		if _, err := os.Stat(file); err != nil {
			continue
		}
		found, err := storedIn(file, key)
		if err == nil && found == auth.EmptyCredential && key != server {
			found, err = storedIn(file, "docker.io") // podman's name for it
		}
		if err != nil || found != auth.EmptyCredential {
			return found, err
		}
	}
	return auth.EmptyCredential, nil
}

// storedIn returns the credential that a file has under a key.
func storedIn(file, key string) (auth.Credential, error) {
	var found auth.Credential
	store, err := credentials.NewFileStore(file)
	if err == nil {
		found, err = store.Get(context.Background(), key)
	}
	if err != nil {
		return auth.EmptyCredential, loginError{file}
	}
	return found, nil
}

// loginError says that a file of logins cannot be read. The cause may quote a password of it.
type loginError struct{ file string }

func (e loginError) Error() string {
	return e.file + ": what it has for this registry cannot be read; log in again with podman " +
		"login or docker login"
}

// credentialFiles returns the paths of the files in which podman and docker keep logins, in the
// order of podman (containers-auth.json(5)).
func credentialFiles() (files []string) {
	if file := os.Getenv("REGISTRY_AUTH_FILE"); file != "" {
		return []string{file}
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "containers", "auth.json"))
	}
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		files = append(files, filepath.Join(dir, "config.json"))
	} else if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".docker", "config.json"))
	}
	return files
}
