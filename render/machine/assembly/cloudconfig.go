package assembly

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"kiln.dev/kiln/render/config"
	"kiln.dev/kiln/render/facts/node"
)

// addCloudConfig adds keys of cloud-init's user-data. It fails with config.Problems if a mount
// hides a file of the document.
func (t *tree) addCloudConfig(keys map[string]any) error {
	if len(keys) == 0 {
		return nil
	}
	if problems := t.hiddenByMounts(keys); len(problems) > 0 {
		return problems
	}
	if users, ok := keys["users"].([]any); ok && len(t.n.AuthorizedKeys) == 0 {
		// One more user with nothing but keys becomes Login, which kiln writes for every format.
		if name, authorized, ok := singleLogin(users); ok {
			keys = maps.Clone(keys)
			delete(keys, "users")
			t.n.Login, t.n.AuthorizedKeys = name, authorized
		}
	}
	if len(keys) == 0 {
		return nil
	}
	var err error
	t.n.CloudConfig, err = json.Marshal(keys)
	return err
}

// hiddenByMounts returns a problem for each mount that hides a file of the document: cloud-init
// writes the files before it mounts.
func (t *tree) hiddenByMounts(keys map[string]any) (problems config.Problems) {
	field := t.m.Settings.Source["cloudConfig.mounts"] + ".cloudConfig.mounts"
	mounts, _ := keys["mounts"].([]any)
	for i, mount := range mounts {
		columns, _ := mount.([]any)
		if len(columns) < 2 {
			continue
		}
		folder, _ := columns[1].(string)
		if !path.IsAbs(folder) {
			continue
		}
		below := strings.TrimSuffix(path.Clean(folder), "/") + "/"
		hidden := slices.IndexFunc(t.n.Files, func(f node.File) bool {
			return strings.HasPrefix(f.Path, below)
		})
		if hidden >= 0 {
			problems = append(problems, t.Plan.Config.Problemf(element(field, i),
				"hides %s, which cloud-init writes before it mounts %s; mount a folder in which "+
					"the document writes nothing, such as /var/lib/etcd or /var/lib/containerd",
				t.n.Files[hidden].Path, folder))
		}
	}
	return problems
}

// singleLogin returns the name and keys of the one user beside the default user. ok reports whether
// there is exactly one, and whether the user has nothing but a name and keys.
func singleLogin(users []any) (name string, authorized []string, ok bool) {
	if len(users) != 2 || users[0] != "default" {
		return "", nil, false
	}
	fields, _ := users[1].(map[string]any)
	name, named := fields["name"].(string)
	keys, _ := fields["ssh_authorized_keys"].([]any)
	for _, key := range keys {
		line, _ := key.(string)
		authorized = append(authorized, line)
	}
	return name, authorized, named && len(fields) == 2 && len(keys) > 0
}
