package assembly

import (
	"encoding/json"
	"maps"
	"path"
	"regexp"
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

// ofSystem are folders in which the system's own programs have files open when cloud-init mounts.
var ofSystem = []string{"/", "/etc", "/usr", "/var", "/var/lib"}

// hiddenByMounts returns a problem for each mount that hides a file of the document: cloud-init
// writes the files before it mounts. What a whole document writes is moved into the mount, but not
// from a folder of the system.
func (t *tree) hiddenByMounts(keys map[string]any) (problems config.Problems) {
	field := t.m.Settings.Source["cloudConfig.mounts"] + ".cloudConfig.mounts"
	for i, mount := range node.Mounts(keys) {
		folder := mount[1]
		if !path.IsAbs(folder) {
			continue
		}
		below := strings.TrimSuffix(path.Clean(folder), "/") + "/"
		hidden := slices.IndexFunc(t.n.Files, func(f node.File) bool {
			return strings.HasPrefix(f.Path, below)
		})
		remedy := ""
		switch {
		case hidden < 0:
		case slices.Contains(ofSystem, path.Clean(folder)):
			remedy = "mount a folder that is not the system's, such as /var/lib/kubelet, " +
				"/var/lib/etcd or /var/lib/containerd, or bring the mount with the image"
		case !slices.Contains([]string{"", "whole"}, t.m.Settings.Delivery.Mode):
			remedy = "write delivery.mode: whole, or mount a folder in which the document writes " +
				"nothing, such as /var/lib/etcd or /var/lib/containerd"
		}
		if remedy != "" {
			problems = append(problems, t.Plan.Config.Problemf(element(field, i),
				"hides %s, which cloud-init writes before it mounts %s; %s",
				t.n.Files[hidden].Path, folder, remedy))
		}
	}
	return problems
}

// sandboxed: kiln.service has mounts of its own there (ProtectSystem, ProtectHome, PrivateTmp).
var sandboxed = regexp.MustCompile(`^/(boot|efi|home|root|run|tmp|usr|var/tmp)(/|$)`)

// mounted returns the folders where cloud-init mounts a disk at boot, and the hook can see it.
func mounted(keys map[string]any) (folders []string) {
	for _, mount := range node.Mounts(keys) {
		isSwap := len(mount) > 2 && mount[2] == "swap"
		isLater := len(mount) > 3 && slices.Contains(strings.Split(mount[3], ","), "noauto")
		folder := path.Clean(mount[1])
		if path.IsAbs(folder) && !isSwap && !isLater && !sandboxed.MatchString(folder) {
			folders = append(folders, folder)
		}
	}
	return folders
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
