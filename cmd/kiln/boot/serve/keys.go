package serve

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"kiln.dev/kiln/cmd/kiln/boot/announce"
	"kiln.dev/kiln/pki/private"
	"kiln.dev/kiln/render"
	"kiln.dev/kiln/render/facts/node"
	"kiln.dev/kiln/render/plan"
	"kiln.dev/kiln/render/twin/review"
	"kiln.dev/kiln/templates"
)

// addAnnounce adds the URL to which a machine announces the state of its first boot, with and
// without the path of machines.report.
func (c *catalogue) addAnnounce(e *render.Entry) error {
	if e.Announce == "" {
		return nil
	}
	it := &item{
		path: plan.AnnouncePath(e.Node, e.Pool), node: e.Node, pool: e.Pool,
		announces: &announce.Machine{Name: e.Node, Pool: e.Pool},
	}
	err := c.add(it)
	_, rest, _ := strings.Cut(e.Announce, "://")
	if _, path, found := strings.Cut(rest, "/"); found && "/"+path != it.path {
		err = errors.Join(err, c.addAt("/"+path, it))
	}
	return err
}

// announcing returns the machines and pools that announce, by name, without their documents.
func (c *catalogue) announcing() (list []announce.Machine) {
	for _, name := range slices.Sorted(maps.Keys(c.documents)) {
		it := c.items[plan.AnnouncePath(name, c.documents[name].pool)]
		if it != nil && it.announces != nil {
			list = append(list, *it.announces)
		}
	}
	return list
}

// announced is what a machine's document says of its announcements.
type announced struct {
	Key      private.Secret // exported, so that fmt does not print it
	document string         // its identity, as the hook knows it
}

// secrets returns the key of a machine's announcements and the identity of its document, from the
// document and its body. It remembers them: a render gives the machine another document, but as
// long as the server serves the old one that counts.
func (c *catalogue) secrets(name string) (key private.Secret, document string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.announced[name]; known != nil {
		return known.Key, known.document, nil
	}
	data, err := c.documents[name].read()
	if err != nil {
		return nil, "", err
	}
	u, err := review.ParseDocument(data)
	if err != nil {
		return nil, "", errors.New("its document cannot be read")
	}
	if u.Missing() != nil && c.bodies[name] != nil {
		if data, err = c.bodies[name].read(); err == nil {
			err = u.Fetch(data)
		}
		if err != nil {
			return nil, "", err
		}
	}
	a := &announced{}
	if f := u.Node().File(templates.AnnouncePath); f != nil {
		a.Key = templates.AnnounceKey(f.Content)
	}
	if f := u.Node().File(node.List); f != nil {
		a.document = hexSum(f.Content, 0)
	}
	if a.Key == nil {
		return nil, "", errors.New("its document has no key of announcements")
	}
	c.announced[name] = a
	return a.Key, a.document, nil
}
